#include <cmocka.h>
#include <errno.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "json_text.h"
#include "random.h"

#define MIB (1u << 20)

/* AddressSanitizer holds freed memory back. */
#ifdef SANDGATE_SANITIZED
#define PEAK_MAX 1000
#else
#define PEAK_MAX 250
#endif

static yyjson_doc *const untouched = (yyjson_doc *)&(char){0};

/* 0, or the error; a refusal says why and leaves the result alone. */
static int parse(struct str text, enum json_mode mode)
{
    yyjson_doc *doc = untouched;
    struct json_error error = {0};
    int r = json_parse(text.p, text.n, text.n, mode, &doc, &error);
    if (r == 0) {
        yyjson_doc_free(doc);
        return 0;
    }
    assert_ptr_equal(doc, untouched);
    assert_true(error.what[0] != '\0');
    assert_true(error.at <= text.n);
    return r;
}

static void taken(const char *text)
{
    if (parse(text_str(text), JSON_STRICT) != 0)
        fail_msg("refused: %s", text);
}

static void refused(const char *text)
{
    if (parse(text_str(text), JSON_STRICT) != -EINVAL)
        fail_msg("taken: %s", text);
    if (parse(text_str(text), JSON_INTERNAL) != -EINVAL)
        fail_msg("taken among ourselves: %s", text);
}

static void takes_json_and_nothing_else(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{}",
        "[]",
        "\"\"",
        "0",
        "-0",
        "true",
        "null",
        " \t\r\n[1 , 2]\n",
        "[1e5,-1.5E-3,0.1]",
        "{\"\":{\"\":[]}}",
        "\"\\u00e4\\ud83d\\ude00\\/\"",
        "\"\xf0\x9f\x98\x80\"",
        "\"\x7f\"",
    };
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{\"a\" 1}",
        "[1 2]",
        "nul",
        "True",
        "NaN",
        "[Infinity]",
        "-Infinity",
        "+1",
        "01",
        ".5",
        "1.",
        "1e",
        "0x10",
        "\"a",

        "\"\\x41\"",
        "\"\\u12g4\"",
        "// x\n1",
        "/* */1",
        "[1]//",
        "{}x",
        "{} {}",
        "1 2",
        "[]]",
        "\xef\xbb\xbf{}",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\\ud800\\ud800\"",
        "1e999",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        taken(good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        refused(bad[i]);
}

static void nul_bytes_do_not_end_a_text(void **state)
{
    (void)state;
    static const struct str bad[] = {
        {"{}\0", 3},
        {"{}\0{}", 5},
        {"\0{}", 3},
        {"[1,\0 2]", 7},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(parse(bad[i], JSON_STRICT), -EINVAL);
        assert_int_equal(parse(bad[i], JSON_INTERNAL), -EINVAL);
    }
    JSON_AT_END yyjson_doc *doc = parsed("'a\\u0000b'");
    struct str s = json_str(yyjson_doc_get_root(doc));
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.p, "a\0b", 3);
}

static void control_characters_must_be_escaped(void **state)
{
    (void)state;
    for (char c = 0; c < ' '; c++) {
        char text[] = {'"', 'a', c, 'b', '"'};
        assert_int_equal(parse((struct str){text, sizeof text}, JSON_STRICT), -EINVAL);
    }
}

static void bytes_that_are_not_utf8_are_for_ourselves(void **state)
{
    (void)state;
    static const char *const bytes[] = {
        "\xff",      "\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "a\xe2\x82",
    };
    for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
        FREE_AT_END char *value = mem_format("[\"%s\"]", bytes[i]);
        FREE_AT_END char *key = mem_format("{\"%s\":1}", bytes[i]);
        assert_int_equal(parse(text_str(value), JSON_STRICT), -EINVAL);
        assert_int_equal(parse(text_str(key), JSON_STRICT), -EINVAL);
        JSON_AT_END yyjson_doc *doc = parsed_bytes(text_str(value), JSON_INTERNAL);
        struct str s = json_str(yyjson_arr_get_first(yyjson_doc_get_root(doc)));
        assert_int_equal(s.n, strlen(bytes[i]));
        assert_memory_equal(s.p, bytes[i], s.n);
    }
}

static void nested(struct buf *out, const char *open, const char *middle, const char *close,
                   int depth)
{
    buf_reset(out, SIZE_MAX);
    for (int i = 0; i < depth; i++)
        buf_add_text(out, open);
    buf_add_text(out, middle);
    for (int i = 0; i < depth; i++)
        buf_add_text(out, close);
}

static void nesting_has_a_limit(void **state)
{
    (void)state;
    static const char *const kinds[][3] = {
        {"[", "", "]"},
        {"[", "1", "]"},
        {"{\"a\":", "1", "}"},
        {"[0,", "\"x\"", ",0]"},
        {"{\"b\":2,\"a\":", "null", ",\"c\":2}"},
    };
    BUF_AT_END struct buf text = BUF_INIT(10000);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        nested(&text, kinds[i][0], kinds[i][1], kinds[i][2], 64);
        assert_int_equal(parse(buf_str(&text), JSON_STRICT), 0);
        assert_int_equal(parse(buf_str(&text), JSON_INTERNAL), 0);
        nested(&text, kinds[i][0], kinds[i][1], kinds[i][2], 65);
        assert_int_equal(parse(buf_str(&text), JSON_STRICT), -EINVAL);
        assert_int_equal(parse(buf_str(&text), JSON_INTERNAL), -EINVAL);
    }
    /* A branch of its own does not count for its neighbour. */
    nested(&text, "[[[]],", "0", "]", 61);
    assert_int_equal(parse(buf_str(&text), JSON_STRICT), 0);
}

static void a_key_stands_once(void **state)
{
    (void)state;
    refused("{\"a\":1,\"a\":1}");
    refused("{\"a\":1,\"b\":2,\"a\":[]}");
    refused("{\"a\":1,\"\\u0061\":2}");
    refused("{\"\":1,\"\":2}");
    refused("{\"\\u0000\":1,\"\\u0000\":2}");
    refused("[[{\"x\":{\"a\":1,\"a\":1}}]]");
    taken("{\"a\":1,\"A\":1,\"a \":1,\"\":1,\"aa\":1}");
    taken("{\"a\\u0000b\":1,\"a\\u0000c\":1,\"a\":1}");
    taken("[{\"a\":1},{\"a\":1,\"b\":{\"a\":{\"a\":2}}}]");
}

static void the_repeated_key_is_named(void **state)
{
    (void)state;
    yyjson_doc *doc = NULL;
    struct json_error error;
    const char *text = "{\"colour\":1,\"size\":1,\"colour\":2}";
    assert_int_equal(json_parse(text, strlen(text), 100, JSON_STRICT, &doc, &error), -EINVAL);
    assert_non_null(strstr(error.what, "colour"));
    assert_non_null(strstr(error.what, "duplicate"));
}

/* Keys 0 … count - 1 in a mixed order; `twice` stands at two places. */
static void many_keys(struct buf *out, size_t count, size_t twice)
{
    size_t step = count % 7 ? 7 : 1;
    buf_reset(out, SIZE_MAX);
    buf_add_char(out, '{');
    for (size_t i = 0; i < count; i++)
        buf_addf(out, "%s\"key%zu\":%zu", i ? "," : "", i * step % count, i);
    if (twice < count)
        buf_addf(out, ",\"key%zu\":0", twice);
    buf_add_char(out, '}');
}

static void a_key_stands_once_in_objects_of_any_size(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 14, 15, 16, 17, 18, 31, 100, 1000, 50000};
    BUF_AT_END struct buf text = BUF_INIT(4 * MIB);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        many_keys(&text, counts[i], SIZE_MAX);
        assert_int_equal(parse(buf_str(&text), JSON_STRICT), 0);
        for (int round = 0; round < 20; round++) {
            many_keys(&text, counts[i], random_below(counts[i]));
            assert_int_equal(parse(buf_str(&text), JSON_STRICT), -EINVAL);
        }
    }
}

static void objects_have_a_bounded_number_of_keys(void **state)
{
    (void)state;
    BUF_AT_END struct buf text = BUF_INIT(4 * MIB);
    many_keys(&text, 65536, SIZE_MAX);
    assert_int_equal(parse(buf_str(&text), JSON_STRICT), 0);
    many_keys(&text, 65537, SIZE_MAX);
    assert_int_equal(parse(buf_str(&text), JSON_STRICT), -EINVAL);
}

static void long_texts_are_not_read(void **state)
{
    (void)state;
    yyjson_doc *doc = untouched;
    struct json_error error;
    memset(&error, 'x', sizeof error);
    assert_int_equal(json_parse("[1,2]", 5, 4, JSON_STRICT, &doc, &error), -E2BIG);
    assert_ptr_equal(doc, untouched);
    assert_int_equal(error.at, 0);
    assert_non_null(memchr(error.what, '\0', sizeof error.what));
    assert_non_null(strstr(error.what, "4"));
    assert_int_equal(json_parse("[1,2]", 5, 4, JSON_STRICT, &doc, NULL), -E2BIG);
    assert_int_equal(json_parse("[1,2]", 5, 5, JSON_STRICT, &doc, NULL), 0);
    yyjson_doc_free(doc);
}

/* In a process of its own, whose memory can be measured: its peak in MiB; *ret is what json_parse
 * said. */
static size_t peak_of(struct str text, int *ret)
{
    pid_t child = fork();
    if (child == 0) {
        yyjson_doc *doc = NULL;
        struct json_error error;
        int r = json_parse(text.p, text.n, text.n, JSON_STRICT, &doc, &error);
        if (r == 0)
            yyjson_doc_free(doc);
        _exit(-r);
    }
    int status;
    struct rusage usage;
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    assert_true(WIFEXITED(status));
    *ret = -WEXITSTATUS(status);
    return (size_t)usage.ru_maxrss / 1024;
}

static void few_bytes_do_not_become_much_memory(void **state)
{
    (void)state;
    static const char *const pieces[] = {"[", "1,", "{\"\":", "[],", "[[", "\"\","};
    size_t n = 30 * MIB;
    FREE_AT_END char *text = mem_zero(n);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        size_t length = strlen(pieces[i]);
        text[0] = '[';
        for (size_t at = 1; at < n; at++)
            text[at] = pieces[i][(at - 1) % length];
        int r;
        size_t peak = peak_of((struct str){text, n}, &r);
        assert_int_equal(r, -EINVAL);
        /* A value takes 16 bytes: without a limit `[[[[` would take 480 MiB. */
        if (peak > PEAK_MAX)
            fail_msg("%s: %zu MiB", pieces[i], peak);
    }
}

static void many_values_are_fine(void **state)
{
    (void)state;
    BUF_AT_END struct buf text = BUF_INIT(4 * MIB);
    buf_add_text(&text, "[0");
    while (text.len < 2 * MIB)
        buf_add_text(&text, ",1");
    buf_add_text(&text, "]");
    assert_int_equal(parse(buf_str(&text), JSON_STRICT), 0);
}

/* A file's content in a request is one value, however long. */
static void one_long_string_is_one_value(void **state)
{
    (void)state;
    for (size_t n = 8 * MIB; n <= 32 * MIB; n += 8 * MIB) {
        FREE_AT_END char *text = mem_zero(n);
        memset(text, 'x', n);
        memcpy(text, "{\"a\":\"", 6);
        memcpy(text + n - 2, "\"}", 2);
        if (parse((struct str){text, n}, JSON_STRICT) != 0)
            fail_msg("%zu MiB are refused", n / MIB);
    }
}

static int parse_without_memory(const char *text, size_t n)
{
    struct rlimit before;
    malloc_trim(0); /* what the tests before gave back */
    getrlimit(RLIMIT_AS, &before);
    setrlimit(RLIMIT_AS, &(struct rlimit){1, before.rlim_max});
    int r = parse((struct str){text, n}, JSON_STRICT);
    setrlimit(RLIMIT_AS, &before);
    return r;
}

/* It is no mistake of who sent it. */
static void too_little_memory_is_not_wrong_json(void **state)
{
    (void)state;
#ifdef SANDGATE_SANITIZED
    skip();
#endif
    const size_t n = 8 * MIB;
    FREE_AT_END char *text = mem_zero(n);
    memset(text, 'x', n);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + n - 2, "\"}", 2);
    assert_int_equal(parse_without_memory(text, n), -ENOMEM);
    assert_int_equal(parse((struct str){text, n}, JSON_STRICT), 0);
}

static void a_member_is_found_without_memory(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *found; /* NULL: none */
    } cases[] = {
        {"{\"id\":7}", "7"},
        {" { \"a\" : [1,{\"id\":2}] , \"id\" : \"x\\\"}\" }", "\"x\\\"}\""},
        {"{\"tool_call\":{\"id\":1,\"b\":\"}{\\\\\"},\"id\":-3,\"c\":4}", "-3"},
        {"{\"id\":{\"id\":1}}", NULL},
        {"{\"a\":{\"id\":1}}", NULL},
        {"[{\"id\":1}]", NULL},
        {"{\"a\":\"id\"", NULL},
        {"{\"id\":", NULL},
        {"{\"id", NULL},
        {"{\"id\\", NULL},
        {"", NULL},
        {"{", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str found = {0};
        /* Of its own length, so that a read behind it is seen. */
        size_t n = strlen(cases[i].text);
        FREE_AT_END char *text = malloc(n ? n : 1);
        memcpy(text, cases[i].text, n);
        bool is = json_scan_member((struct str){text, n}, "id", &found);
        while (is && found.n && found.p[found.n - 1] == ' ')
            found.n--;
        if (is != (cases[i].found != NULL) || (is && !str_is(found, cases[i].found)))
            fail_msg("%s: %.*s", cases[i].text, (int)found.n, found.p ? found.p : "");
    }
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_json_and_nothing_else),
        cmocka_unit_test(nul_bytes_do_not_end_a_text),
        cmocka_unit_test(control_characters_must_be_escaped),
        cmocka_unit_test(bytes_that_are_not_utf8_are_for_ourselves),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(a_key_stands_once),
        cmocka_unit_test(the_repeated_key_is_named),
        cmocka_unit_test(a_key_stands_once_in_objects_of_any_size),
        cmocka_unit_test(objects_have_a_bounded_number_of_keys),
        cmocka_unit_test(long_texts_are_not_read),
        cmocka_unit_test(few_bytes_do_not_become_much_memory),
        cmocka_unit_test(many_values_are_fine),
        cmocka_unit_test(one_long_string_is_one_value),
        cmocka_unit_test(too_little_memory_is_not_wrong_json),
        cmocka_unit_test(a_member_is_found_without_memory),
    };
    return cmocka_run_group_tests_name("json", tests, set_up, NULL);
}
