/* What stands in a record of texts, long ones and those with secrets. */
#include <cmocka.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/logged.h"
#include "random.h"

#define OUT_MAX ((size_t)64 << 20)

struct log {
    struct buf out;
    struct json_out j;
    struct logged to;
    yyjson_doc *doc;
};

static struct logged *begin(struct log *log, size_t left)
{
    *log = (struct log){.out = BUF_INIT(OUT_MAX)};
    log->j = (struct json_out){.out = &log->out, .hide = true};
    log->to = (struct logged){&log->j, left};
    return &log->to;
}

static yyjson_val *root_of(struct log *log)
{
    assert_int_equal(
        json_parse(log->out.data, log->out.len, log->out.len, JSON_STRICT, &log->doc, NULL), 0);
    return yyjson_doc_get_root(log->doc);
}

static void end(struct log *log)
{
    yyjson_doc_free(log->doc);
    buf_done(&log->out);
}

static void assert_hash(yyjson_val *object, struct str of)
{
    char hex[HASH_HEX + 1];
    hash_hex(of.p, of.n, hex);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(object, "sha256")), hex);
}

static void a_text_up_to_the_limit_is_whole(void **state)
{
    (void)state;
    FREE_AT_END char *text = mem_zero(LOGGED_MAX + 2);
    memset(text, 'a', LOGGED_MAX + 1);
    struct log log;
    logged_text(begin(&log, LOGGED_MAX), (struct str){text, LOGGED_MAX});
    assert_int_equal(yyjson_get_len(root_of(&log)), LOGGED_MAX);
    end(&log);
    logged_text(begin(&log, LOGGED_MAX), (struct str){text, LOGGED_MAX + 1});
    yyjson_val *cut = root_of(&log);
    assert_int_equal(yyjson_get_len(yyjson_obj_get(cut, "cut")), LOGGED_MAX);
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(cut, "bytes")), LOGGED_MAX + 1);
    assert_hash(cut, (struct str){text, LOGGED_MAX + 1});
    end(&log);
}

/* A hash of the whole text would confirm whoever guesses the secret. */
static void a_hash_says_nothing_of_a_secret(void **state)
{
    (void)state;
    static const char *const texts[] = {"x PASSWORD=1234 y", "x PASSWORD=8642 y"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct log log;
        struct str text = {texts[i], strlen(texts[i])};
        logged_input(begin(&log, LOGGED_MAX), text, LOGGED_NOBODY);
        yyjson_val *input = root_of(&log);
        assert_string_equal(yyjson_get_str(yyjson_obj_get(input, "text")),
                            "x PASSWORD=[redacted] y");
        assert_int_equal(yyjson_get_uint(yyjson_obj_get(input, "bytes")), text.n);
        assert_hash(input, STR("x PASSWORD=[redacted] y"));
        end(&log);
        logged_text(begin(&log, 5), text);
        assert_hash(root_of(&log), STR("x PASSWORD=[redacted] y"));
        end(&log);
    }
}

/* Secrets are looked for in the first MiB: what is behind it is counted and hashed, and never shown. */
static void what_was_not_looked_at_is_not_shown(void **state)
{
    (void)state;
    const size_t n = (3u << 20) / 2;
    const char secret[] = "PASSWORD=1234";
    FREE_AT_END char *key = mem_zero(n + 1);
    memset(key, 'k', n);
    memcpy(key, secret, 9);
    memcpy(key + n - 20, " PASSWORD=5678 ", 15);
    BUF_AT_END struct buf hashed = BUF_INIT(OUT_MAX);
    buf_add_text(&hashed, "PASSWORD=[redacted]");
    buf_add(&hashed, key + (1u << 20), n - (1u << 20));
    struct log log;
    logged_text(begin(&log, LOGGED_MAX), (struct str){key, n});
    yyjson_val *cut = root_of(&log);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(cut, "cut")), "PASSWORD=[redacted]");
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(cut, "bytes")), n);
    assert_hash(cut, buf_str(&hashed));
    end(&log);
    const struct str words[] = {STR("x"), {key, n}, STR("--password"), STR("5678")};
    logged_words(begin(&log, LOGGED_MAX), words, ARRAY_LEN(words));
    yyjson_val *list = root_of(&log);
    assert_int_equal(yyjson_arr_size(list), 3);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(yyjson_arr_get(list, 1), "cut")),
                        "PASSWORD=[redacted]");
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(yyjson_arr_get(list, 2), "words")), 2);
    assert_null(memmem(log.out.data, log.out.len, "5678", 4));
    end(&log);
}

/* `from` and `to`: words with `|` between them. */
static void check_words(const char *from, const char *to)
{
    struct log log;
    struct str words[16];
    size_t n = 0;
    for (const char *at = from;; n++) {
        words[n] = (struct str){at, strcspn(at, "|")};
        at += words[n].n;
        if (*at++ == '\0')
            break;
    }
    logged_words(begin(&log, LOGGED_MAX), words, n + 1);
    BUF_AT_END struct buf found = BUF_INIT(OUT_MAX);
    size_t idx;
    size_t max;
    yyjson_val *word;
    yyjson_val *all = root_of(&log);
    yyjson_arr_foreach(all, idx, max, word)
        buf_addf(&found, "%s%s", idx ? "|" : "", yyjson_get_str(word));
    assert_string_equal(buf_text(&found), to);
    end(&log);
}

static void secrets_in_words_are_hidden_to_their_end(void **state)
{
    (void)state;
    check_words("git|push|a b|", "git|push|a b|");
    check_words("x|--password|two words|y", "x|--password|[redacted]|y");
    check_words("x|--password=two words|y", "x|--password=[redacted]|y");
    check_words("env|TOKEN=two words|y z", "env|TOKEN=[redacted]|y z");
    check_words("sshpass|-p|a \"b' c|ssh", "sshpass|-p|[redacted]|ssh");
    check_words("sh|-c|TOKEN=abc curl x; rm y", "sh|-c|TOKEN=[redacted] curl x; rm y");
    check_words("curl|-H|Authorization: Bearer abc def|--token|xyz1|https://a/b",
                "curl|-H|Authorization: Bearer [redacted]|--token|[redacted]|https://a/b");
    check_words("curl|https://u:pass@h/x|ok", "curl|https://[redacted]@h/x|ok");
}

/* Whoever reads it, and whatever options stand before it. */
static void words_hide_no_command(void **state)
{
    (void)state;
    static const char *const before[] = {"bash|-c",   "bash|-c|--", "bash|-ce", "bash|-c|-e",
                                         "/bin/sh|-ec|--", "bash|-c|-o|pipefail", "env|A=1|sh|-ceu",
                                         "zsh|+x|-c|-x"};
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        FREE_AT_END char *from = mem_format("%s|password=x; rm -rf src", before[i]);
        FREE_AT_END char *to = mem_format("%s|password=[redacted]; rm -rf src", before[i]);
        check_words(from, to);
        FREE_AT_END char *first = mem_format("%s|password=x rm -rf src", before[i]);
        FREE_AT_END char *told = mem_format("%s|password=[redacted] rm -rf src", before[i]);
        check_words(first, told);
    }
    check_words("node|-e|password=1;require('child_process').execSync('rm -rf src')",
                "node|-e|password=[redacted];require('child_process').execSync('rm -rf src')");
    check_words("node|-e|password='1';require('child_process').execSync('rm -rf src')",
                "node|-e|password='[redacted]';require('child_process').execSync('rm -rf src')");
    check_words("node|-e|password=require('child_process').execSync('rm -rf src')",
                "node|-e|password=[redacted]('child_process').execSync('rm -rf src')");
    check_words("ruby|-x|password=1;system('rm -rf src')",
                "ruby|-x|password=[redacted];system('rm -rf src')");
    check_words("x|password=1\ntoken=2; rm y", "x|password=[redacted]\ntoken=[redacted]; rm y");
    check_words("ssh|h|password=1 rm -rf src", "ssh|h|password=[redacted] rm -rf src");
    check_words("ssh|h|env|password=1;rm -rf src", "ssh|h|env|password=[redacted];rm -rf src");
    /* An option's value is its word. */
    check_words("x|--password=a;b c|y", "x|--password=[redacted]|y");
}

static void what_is_behind_the_limit_is_counted(void **state)
{
    (void)state;
    struct log log;
    const struct str words[] = {STR("aaaa"), STR("bbbbbbbb"), STR(""), STR("cc")};
    logged_words(begin(&log, 10), words, ARRAY_LEN(words));
    yyjson_val *list = root_of(&log);
    assert_int_equal(yyjson_arr_size(list), 3);
    assert_string_equal(yyjson_get_str(yyjson_arr_get(list, 0)), "aaaa");
    yyjson_val *cut = yyjson_arr_get(list, 1);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(cut, "cut")), "bbbb");
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(cut, "bytes")), 8);
    yyjson_val *rest = yyjson_arr_get(list, 2);
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(rest, "words")), 2);
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(rest, "bytes")), 2);
    assert_hash(rest, STR("\0cc\0"));
    end(&log);
}

/* Whatever they are, words take no more than six bytes for each that is left, and the mark. */
static void words_have_a_bound(void **state)
{
    (void)state;
    static const char *const pieces[] = {"\x01", "\xc3\xa4", "--token", " ", "a", "TOKEN=", "\""};
    random_begin();
    for (unsigned round = 0; round < random_rounds(300); round++) {
        char texts[64][40] = {""};
        struct str words[64];
        struct log log;
        size_t left = random_below(200);
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
            for (size_t k = random_below(5); k > 0; k--)
                strcat(texts[i], pieces[random_below(ARRAY_LEN(pieces))]);
            words[i] = (struct str){texts[i], strlen(texts[i])};
        }
        logged_words(begin(&log, left), words, ARRAY_LEN(words));
        assert_true(log.out.len <= 6 * left + 400);
        assert_true(yyjson_is_arr(root_of(&log)));
        end(&log);
    }
}

/* What a shell would run is not hidden with a secret before it, wherever that seems to end. */
static void a_script_hides_no_command(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"true Cookie: a=1; rm x", "true Cookie: [redacted]; rm x"},
        {"true Authorization: a\nrm x", "true Authorization: [redacted]\nrm x"},
        {"find . -name Cookie: -exec rm x +", "find . -name Cookie: [redacted] rm x +"},
        {"eval 'PASSWORD=a; rm x'", "eval 'PASSWORD=[redacted]; rm x'"},
        {"eval 'PASSWORD=a\nrm x'", "eval 'PASSWORD=[redacted]\nrm x'"},
        {"eval \"Cookie: a=1; b=2; rm x\"", "eval \"Cookie: [redacted]; b=2; rm x\""},
        {"eval 'password=1;rm -rf src'", "eval 'password=[redacted];rm -rf src'"},
        {"eval 'password=1 rm -rf src'", "eval 'password=[redacted] rm -rf src'"},
        {"eval 'password=1&&rm -rf src'", "eval 'password=[redacted]&&rm -rf src'"},
        {"sh -c -- 'password=1;rm -rf src'", "sh -c -- 'password=[redacted];rm -rf src'"},
        {"sh -ce 'password=1 rm -rf src'", "sh -ce 'password=[redacted] rm -rf src'"},
        {"eval 'Cookie: a;rm -rf src'", "eval 'Cookie: [redacted];rm -rf src'"},
        {"f 'password=1;token=2;rm -rf src'", "f 'password=[redacted];token=[redacted];rm -rf src'"},
        {"PASSWORD=(a b; rm x)", "PASSWORD=[redacted]; rm x)"},
        {"TOKEN=a`rm x`", "TOKEN=[redacted]`rm x`"},
        {"TOKEN=$(rm x)", "TOKEN=$(rm x)"},
        {"TOKEN=$(echo a; rm x)", "TOKEN=$(echo a; rm x)"},
        {"--password=`rm x`", "--password=`rm x`"},
        {"echo \"Authorization: Bearer `rm x`\"", "echo \"Authorization: Bearer `rm x`\""},
        {"password: |\n  rm x", "password: |\n  rm x"},
        {"true '-----BEGIN PRIVATE KEY-----'; rm x #-----END PRIVATE KEY-----",
         "true '[redacted]'; rm x #-----END PRIVATE KEY-----"},
        {"bash <<E\npassword: |\n  a1\n  rm x\nE",
         "bash <<E\npassword: |\n  a1\n  rm x\nE"},
        /* And a secret stays one. */
        {"curl -H 'Cookie: a=1; b=2' h", "curl -H 'Cookie: [redacted]' h"},
        {"curl -H \"Authorization: Basic ab cd\" h",
         "curl -H \"Authorization: Basic [redacted]\" h"},
        {"PASSWORD='a b;c' ls", "PASSWORD='[redacted]' ls"},
        {"PASSWORD='a;b c d' ls", "PASSWORD='[redacted]' ls"},
        {"PASSWORD=$(echo a) ls", "PASSWORD=[redacted] ls"},
        {"cat > f <<E\npassword: |\n  a1\n  b2\nE", "cat > f <<E\npassword: |\n  [redacted]\nE"},
        {"cat > k <<'E'\n-----BEGIN PRIVATE KEY-----\nab\n-----END PRIVATE KEY-----\nE",
         "cat > k <<'E'\n[redacted]\nE"},
        {"ghp_0123456789abcdefghij", "[redacted]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct log log;
        const struct str words[] = {STR("bash"), STR("-c"), {rows[i][0], strlen(rows[i][0])}};
        logged_words(begin(&log, LOGGED_MAX), words, ARRAY_LEN(words));
        assert_string_equal(yyjson_get_str(yyjson_arr_get(root_of(&log), 2)), rows[i][1]);
        end(&log);
    }
}

/* More brackets in each other than are told apart, and a command in backticks in them. */
static void brackets_without_end(void **state)
{
    (void)state;
    char text[300];
    for (size_t n = 0; n < 200; n++) {
        struct log log;
        memset(text, '(', n);
        snprintf(text + n, sizeof text - n, "`a` TOKEN=a; rm x `b`");
        logged_script(begin(&log, LOGGED_MAX), (struct str){text, strlen(text)}, LOGGED_SHELL);
        assert_non_null(strstr(yyjson_get_str(root_of(&log)), "`a` TOKEN=[redacted]; rm x `b`"));
        end(&log);
    }
}

/* What stands behind a here-document is read as commands, however its end is written. */
static void here_documents_end(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"E", "E"},         {"'a b'", "a b"},   {"\"a\tb\"", "a\tb"}, {"a\\ b", "a b"},
        {"'a\\b'", "a\\b"}, {"'a\"b'", "a\"b"}, {"a'b'\"c\"", "abc"},  {"$'E'", "E"},
        {"'a;b'", "a;b"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        struct log log;
        FREE_AT_END char *text = mem_format("cat <<%s\nx\n%s\ntrue password: |\n  ./b",
                                            words[i][0], words[i][1]);
        logged_script(begin(&log, LOGGED_MAX), (struct str){text, strlen(text)}, LOGGED_SHELL);
        if (!strstr(yyjson_get_str(root_of(&log)), "\n  ./b")) fail_msg("%s", yyjson_get_str(root_of(&log)));
        end(&log);
    }
}

static void a_long_name_is_marked(void **state)
{
    (void)state;
    char name[301];
    char expected[500];
    char hex[HASH_HEX + 1];
    struct log log;
    memset(name, 'n', sizeof name - 1);
    name[300] = '\0';
    hash_hex(name, 300, hex);
    snprintf(expected, sizeof expected, "%.256s[cut, 300 bytes in all, sha256 %s]", name, hex);
    logged_name(begin(&log, 0)->j, (struct str){name, 300}, 256);
    assert_string_equal(yyjson_get_str(root_of(&log)), expected);
    end(&log);
    logged_name(begin(&log, 0)->j, (struct str){name, 256}, 256);
    assert_int_equal(yyjson_get_len(root_of(&log)), 256);
    end(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_up_to_the_limit_is_whole),
        cmocka_unit_test(a_hash_says_nothing_of_a_secret),
        cmocka_unit_test(what_was_not_looked_at_is_not_shown),
        cmocka_unit_test(secrets_in_words_are_hidden_to_their_end),
        cmocka_unit_test(words_hide_no_command),
        cmocka_unit_test(what_is_behind_the_limit_is_counted),
        cmocka_unit_test(words_have_a_bound),
        cmocka_unit_test(a_script_hides_no_command),
        cmocka_unit_test(brackets_without_end),
        cmocka_unit_test(here_documents_end),
        cmocka_unit_test(a_long_name_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
