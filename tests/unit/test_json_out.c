#include <cmocka.h>
#include <inttypes.h>

#include "base/base64.h"
#include "base/json_out.h"
#include "json_text.h"
#include "random.h"
#include "slow_utf8.h"

#define TEXT_MAX 4096

static void comes_back_as(struct buf *json, enum json_mode mode, struct str expected)
{
    assert_false(json->failed);
    for (size_t i = 0; i < json->len; i++)
        assert_true((unsigned char)json->data[i] >= 0x20);
    JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(json), mode);
    struct str back = json_str(yyjson_doc_get_root(doc));
    assert_int_equal(back.n, expected.n);
    assert_memory_equal(back.p, expected.p, expected.n);
}

static void check_string(struct str s)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    BUF_AT_END struct buf bytes = BUF_INIT(TEXT_MAX);
    BUF_AT_END struct buf expected = BUF_INIT(TEXT_MAX);
    slow_replace(s, &expected);
    jo_str(&(struct json_out){.out = &text}, s);
    comes_back_as(&text, JSON_STRICT, buf_str(&expected));
    jo_bytes(&(struct json_out){.out = &bytes}, s);
    comes_back_as(&bytes, JSON_INTERNAL, s);
}

static void every_byte_at_every_place_comes_back(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        for (size_t at = 0; at < 17; at++) {
            char s[17];
            memset(s, 'a', sizeof s);
            s[at] = (char)byte;
            check_string((struct str){s, sizeof s});
            check_string((struct str){s, at + 1});
        }
    }
}

/* Terminals take some of U+0080 to U+009F for the beginning of a sequence. */
static void nothing_steers_a_terminal(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    jo_str(&(struct json_out){.out = &out}, STR("\x1b[2J\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"));
    assert_string_equal(buf_text(&out), "\"\\u001b[2J\\u0080\\u009b\\u009f\xc2\xa0\"");
}

/* Mostly plain text, now and then a run of anything. */
static void random_strings_come_back(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(30000); round++) {
        char s[200];
        size_t n = random_below(sizeof s + 1);
        size_t wild = 1 + random_below(20);
        for (size_t i = 0; i < n; i++)
            s[i] = random_below(wild) ? (char)(' ' + random_below(95)) : (char)random_next();
        check_string((struct str){s, n});
    }
}

static void random_characters_come_back(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(20000); round++) {
        char s[200];
        size_t n = 0;
        while (n < 190) {
            uint32_t c = (uint32_t)random_below(random_below(2) ? 0x300 : 0x110000);
            if (c < 0xd800 || c > 0xdfff)
                n += slow_encode(c, (unsigned char *)s + n);
        }
        BUF_AT_END struct buf json = BUF_INIT(TEXT_MAX);
        jo_str(&(struct json_out){.out = &json}, (struct str){s, n});
        comes_back_as(&json, JSON_STRICT, (struct str){s, n});
    }
}

static void integers_are_written_in_full(void **state)
{
    (void)state;
    static const int64_t edges[] = {0,   1,         -1,        9,         10,
                                    -10, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (size_t i = 0; i < 2000; i++) {
        int64_t value = i < ARRAY_LEN(edges) ? edges[i]
                                             : (int64_t)random_next() >> random_below(64);
        BUF_AT_END struct buf json = BUF_INIT(100);
        char expected[32];
        snprintf(expected, sizeof expected, "%" PRId64, value);
        jo_int(&(struct json_out){.out = &json}, value);
        assert_string_equal(buf_text(&json), expected);
    }
}

static void write_sample(struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "name", "a \"b\"\n");
    jo_ktext(j, "none", NULL);
    jo_kint(j, "size", -5);
    jo_kbool(j, "ok", true);
    jo_kcontent(j, "content", STR("private"));
    if (jo_karray(j, "lines", 2)) {
        jo_str(j, STR("private too"));
        jo_null(j);
        jo_close(j, ']');
    }
    jo_key(j, "more");
    jo_open(j, '{');
    jo_key(j, "raw");
    jo_raw(j, STR("[1,2]"));
    jo_key(j, "data");
    jo_base64(j, STR("foob"));
    jo_close(j, '}');
    jo_key(j, "empty");
    jo_open(j, '[');
    jo_close(j, ']');
    jo_kbool(j, "last", false);
    jo_close(j, '}');
}

static void commas_and_brackets_are_where_they_belong(void **state)
{
    (void)state;
    BUF_AT_END struct buf json = BUF_INIT(TEXT_MAX);
    struct json_out j = {.out = &json};
    write_sample(&j);
    assert_string_equal(
        buf_text(&json),
        "{\"name\":\"a \\\"b\\\"\\n\",\"none\":null,\"size\":-5,\"ok\":true,"
        "\"content\":\"private\",\"lines\":[\"private too\",null],"
        "\"more\":{\"raw\":[1,2],\"data\":\"Zm9vYg==\"},\"empty\":[],\"last\":false}");
}

static void a_log_gets_sizes_in_the_place_of_contents(void **state)
{
    (void)state;
    BUF_AT_END struct buf json = BUF_INIT(TEXT_MAX);
    struct json_out j = {.out = &json, .redact = true};
    write_sample(&j);
    assert_string_equal(
        buf_text(&json),
        "{\"name\":\"a \\\"b\\\"\\n\",\"none\":null,\"size\":-5,\"ok\":true,\"lines\":2,"
        "\"more\":{\"raw\":[1,2],\"data\":\"Zm9vYg==\"},\"empty\":[],\"last\":false}");
}

static void a_ceiling_is_never_passed(void **state)
{
    (void)state;
    BUF_AT_END struct buf whole = BUF_INIT(TEXT_MAX);
    struct json_out j = {.out = &whole};
    write_sample(&j);
    for (size_t max = 0; max <= whole.len; max++) {
        BUF_AT_END struct buf json = BUF_INIT(max);
        struct json_out less = {.out = &json};
        write_sample(&less);
        assert_int_equal(json.failed, max < whole.len);
        assert_true(json.len <= max);
    }
}

/* A string that holds JSON of the same buffer: every length, so that the last word of eight is part of
 * it in every way, and with every ceiling. */
static void json_in_a_string_comes_back(void **state)
{
    (void)state;
    static const char text[] = "\"\\a\n\xc3\xa4\"\"plain text, then\\\\\\\" and the end";
    for (size_t n = 0; n < sizeof text; n++) {
        BUF_AT_END struct buf whole = BUF_INIT(TEXT_MAX);
        struct json_out j = {.out = &whole};
        jo_open(&j, '[');
        size_t from = whole.len;
        jo_str(&j, (struct str){text, n});
        size_t written = whole.len - from;
        jo_written(&j, from, written);
        jo_close(&j, ']');
        JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&whole), JSON_STRICT);
        struct str inner = json_str(yyjson_arr_get(yyjson_doc_get_root(doc), 1));
        assert_int_equal(inner.n, written);
        assert_memory_equal(inner.p, whole.data + from, written);
        for (size_t max = from + written; max < whole.len - 1; max++) {
            BUF_AT_END struct buf less = BUF_INIT(max);
            struct json_out k = {.out = &less};
            buf_add(&less, whole.data, from + written);
            k.comma = true;
            jo_written(&k, from, written);
            assert_true(less.failed && less.len <= max);
        }
    }
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    slow_make_table();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(slow_table);
    return 0;
}

/* However a text is cut into pieces, it comes out as if it had come at once. */
static void pieces_come_out_as_one(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(20000); round++) {
        static const char *const bits[] = {"a",
                                           "bcdefghijklmnopqrstuvw",
                                           "\n",
                                           "\"",
                                           "\xc3\xa9",
                                           "\xe2\x82\xac",
                                           "\xf0\x9f\x98\x80",
                                           "\xe2",
                                           "\xf0\x9f",
                                           "\x80",
                                           "\xff",
                                           "\x01"};
        BUF_AT_END struct buf whole = BUF_INIT(TEXT_MAX);
        BUF_AT_END struct buf once = BUF_INIT(TEXT_MAX);
        BUF_AT_END struct buf pieces = BUF_INIT(TEXT_MAX);
        for (size_t left = random_below(20); left > 0; left--)
            buf_add_text(&whole, bits[random_below(ARRAY_LEN(bits))]);
        struct json_text text = {.out = BUF_INIT(TEXT_MAX)};
        for (size_t at = 0; at < whole.len;) {
            size_t n = 1 + random_below(random_below(2) ? 3 : 40);
            n = n < whole.len - at ? n : whole.len - at;
            json_text_add(&text, (struct str){whole.data + at, n});
            at += n;
        }
        struct json_out j = {.out = &once};
        jo_open(&j, '{');
        jo_kstr(&j, "x", buf_str(&whole));
        struct json_out k = {.out = &pieces};
        jo_open(&k, '{');
        jo_ktext_escaped(&k, "x", &text, false);
        assert_string_equal(buf_text(&pieces), buf_text(&once));
        assert_int_equal(k.replaced, j.replaced);
        assert_int_equal(text.bytes, whole.len);
        buf_done(&text.out);
    }
}

/* A text that was cut may end inside a character, which is then left out. */
static void half_a_character_is_left_out(void **state)
{
    (void)state;
    struct json_text text = {.out = BUF_INIT(TEXT_MAX)};
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    struct json_out j = {.out = &out};
    json_text_add(&text, STR("ab\xe2"));
    json_text_add(&text, STR("\x82"));
    jo_open(&j, '{');
    jo_ktext_escaped(&j, "x", &text, true);
    assert_string_equal(buf_text(&out), "{\"x\":\"ab\"");
    assert_false(j.replaced);
    buf_done(&text.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_steers_a_terminal),
        cmocka_unit_test(every_byte_at_every_place_comes_back),
        cmocka_unit_test(random_strings_come_back),
        cmocka_unit_test(random_characters_come_back),
        cmocka_unit_test(integers_are_written_in_full),
        cmocka_unit_test(commas_and_brackets_are_where_they_belong),
        cmocka_unit_test(a_log_gets_sizes_in_the_place_of_contents),
        cmocka_unit_test(a_ceiling_is_never_passed),
        cmocka_unit_test(json_in_a_string_comes_back),
        cmocka_unit_test(pieces_come_out_as_one),
        cmocka_unit_test(half_a_character_is_left_out),
    };
    return cmocka_run_group_tests_name("json_out", tests, set_up, tear_down);
}
