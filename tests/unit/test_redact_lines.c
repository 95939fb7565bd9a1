/* Secrets that do not stand in one word behind their name: on other lines, in words with blanks, in commands that print
 * them. */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "base/redact.h"
#include "core/arg.h"

#define R REDACTED

static void redacted(const char *from, const char *to)
{
    BUF_AT_END struct buf out = BUF_INIT(1u << 20);
    size_t n = strlen(from);
    bool any = redact((struct str){from, n}, n, &out);
    const char *got = any ? buf_text(&out) : from;
    if (strcmp(got, to) != 0)
        fail_msg("%s\n  became %s\n  not    %s", from, got, to);
}

static const char *const hidden[][2] = {
    /* not on the name's line */
    {"x --password \\\n   abc y", "x --password \\\n   " R " y"},
    {"x --token \\\r\n\tabc", "x --token \\\r\n\t" R},
    {"sshpass -p \\\n abc ssh h", "sshpass -p \\\n " R " ssh h"},
    {"curl -u \\\n  u:abc x", "curl -u \\\n  " R " x"},
    {"x --password              abc", "x --password              " R},
    {"password: |\n  a b\n\n  c\nuser: x", "password: |\n  " R "\nuser: x"},
    {"  - secret: >-\n      a\n    b: c", "  - secret: >-\n      " R},
    {"\"password\":\n  \"abc\",\n\"x\": 1", "\"password\":\n  \"" R "\",\n\"x\": 1"},
    {"password:\n  abc1\nx: y", "password:\n  " R "\nx: y"},
    {"Authorization: Basic\n abc\nHost: a", "Authorization: " R "\nHost: a"},
    {"Authorization: Basic a\n\tb\n c\nHost: a", "Authorization: Basic " R "\nHost: a"},
    {"Authorization:\n Basic abc\nHost: a", "Authorization:\n " R "\nHost: a"},
    {"-H \"Authorization: Basic\n abc\" x", "-H \"Authorization: " R "\" x"},
    /* without a blank */
    {"x password:abc y", "x password:" R " y"},
    {"db_password:abc", "db_password:" R},
    {"token:abc1", "token:" R},
    /* options by name */
    {"x --access-key abc", "x --access-key " R},
    {"x --private-key abc", "x --private-key " R},
    {"x --credential abc", "x --credential " R},
    {"x --credentials abc", "x --credentials " R},
    {"x --secret-access-key abc", "x --secret-access-key " R},
    {"aws put-secret-value --secret-string abc", "aws put-secret-value --secret-string " R},
    /* printed by a command */
    {"TOKEN=$(echo abc) x", "TOKEN=" R " x"},
    {"TOKEN=$( printf %s \"$(echo a)b\" | tr a b ) x", "TOKEN=" R " x"},
    {"x --token $(base64 -d <<<abc) y", "x --token " R " y"},
    {"env 'DB_PASSWORD=a b' x", "env 'DB_PASSWORD=" R "' x"},
    {"git config --global github.token abc", "git config --global github.token " R},
    {"git config --file x/y \"a.b.password\" 'a b' z",
     "git config --file x/y \"a.b.password\" '" R "' z"},
    {"https://u:a/b@h/x", "https://" R "@h/x"},
    {"https://u:a?b#c@h/x", "https://" R "@h/x"},
};

static const char *const kept[] = {
    "src/password:12: error",
    "password:12",
    "docker run -v my-secret:/run/secret x",
    "password::new",
    "secretsmanager:GetSecretValue",
    "arn:aws:secretsmanager:us-east-1:1:secret:name",
    "if not password:\n    return\n",
    "password:\n\nx: y1",
    "tokens: |\n  1\n",
    "cat |\n  x1",
    "headers:\n  x-secret: null\n  Host: a1",
    "TOKEN=$(cat file) x",
    "git config user.name abc",
    "config.token: see above",
    "http://localhost:3000/@scope/x",
    "https://example.com:8443/a?b=c@d",
    "--credential-helper store",
    "bash -c \"TOKEN=$X make test\"",
};

static void secrets_are_hidden(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        redacted(hidden[i][0], hidden[i][1]);
}

static void what_was_hidden_is_not_hidden_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        redacted(hidden[i][1], hidden[i][1]);
}

static void the_rest_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        redacted(kept[i], kept[i]);
}

/* A list's words end where they end. */
static void words_are_hidden_whole(void **state)
{
    (void)state;
    static const struct arg items = {.type = ARG_STRING};
    static const struct arg rows[] = {
        {.name = "argv", .type = ARG_LIST, .items = &items, .n_items = 1, .use = ARG_ARGV},
    };
    static const struct arg_table table = {rows, 1, 0};
    static const char *const cases[][2] = {
        {"[\"x\",\"--password\",\"my pass abc\",\"y\"]",
         "[\"x\",\"--password\",\"[redacted]\",\"y\"]"},
        {"[\"x\",\"--password\",\"a\\nabc\",\"y\"]", "[\"x\",\"--password\",\"[redacted]\",\"y\"]"},
        {"[\"x\",\"--password\",\"a\\\"b abc\\\"\",\"y\"]",
         "[\"x\",\"--password\",\"[redacted]\",\"y\"]"},
        {"[\"x\",\"--password=a b\",\"y\"]", "[\"x\",\"--password=[redacted]\",\"y\"]"},
        {"[\"env\",\"DB_PASSWORD=a; b\",\"y\"]", "[\"env\",\"DB_PASSWORD=[redacted]\",\"y\"]"},
        {"[\"x\",\"password: ab\",\"y\"]", "[\"x\",\"password: [redacted]\",\"y\"]"},
        {"[\"mysql\",\"-pa b\",\"y\"]", "[\"mysql\",\"-p[redacted]\",\"y\"]"},
        {"[\"sshpass\",\"-p\",\"a b\",\"y\"]", "[\"sshpass\",\"-p\",\"[redacted]\",\"y\"]"},
        {"[\"curl\",\"-u\",\"u:a b\",\"y\"]", "[\"curl\",\"-u\",\"[redacted]\",\"y\"]"},
        {"[\"sh\",\"-c\",\"TOKEN=abc make test\"]",
         "[\"sh\",\"-c\",\"TOKEN=[redacted] make test\"]"},
        {"[\"x\",\"a b\",\"USER=a b\",\"--name\",\"c d\"]",
         "[\"x\",\"a b\",\"USER=a b\",\"--name\",\"c d\"]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[256];
        char expected[256];
        int n = snprintf(text, sizeof text, "{\"argv\":%s}", cases[i][0]);
        snprintf(expected, sizeof expected, "{\"argv\":%s}", cases[i][1]);
        JSON_AT_END yyjson_doc *doc = NULL;
        assert_int_equal(json_parse(text, (size_t)n, 1000, JSON_STRICT, &doc, NULL), 0);
        BUF_AT_END struct buf out = BUF_INIT(1u << 20);
        struct json_out j = {.out = &out};
        arg_redact(&table, yyjson_doc_get_root(doc), 0, &j);
        assert_string_equal(buf_text(&out), expected);
    }
}

/* Who reads it is among the other texts, however many these are. */
static void an_input_hides_no_command(void **state)
{
    (void)state;
    static const struct arg items = {.type = ARG_STRING};
    static const struct arg rows[] = {
        {.name = "argv", .type = ARG_LIST, .items = &items, .n_items = 1, .use = ARG_ARGV},
        {.name = "stdin", .type = ARG_STRING, .use = ARG_INPUT},
    };
    static const struct arg_table table = {rows, 2, 0};
    for (size_t n = 1; n < 1000; n = 2 * n + 1) {
        BUF_AT_END struct buf text = BUF_INIT(1u << 20);
        BUF_AT_END struct buf out = BUF_INIT(1u << 20);
        JSON_AT_END yyjson_doc *doc = NULL;
        buf_add_text(&text, "{\"argv\":[");
        for (size_t i = 0; i < n; i++)
            buf_add_text(&text, "\"x\",");
        buf_add_text(&text, "\"sh\"],\"stdin\":\"password: |\\n  rm y\"}");
        assert_int_equal(json_parse(text.data, text.len, text.len, JSON_STRICT, &doc, NULL), 0);
        struct json_out j = {.out = &out};
        arg_redact(&table, yyjson_doc_get_root(doc), 0, &j);
        if (!strstr(buf_text(&out), "rm y"))
            fail_msg("behind %zu words: %s", n, buf_text(&out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_hidden),
        cmocka_unit_test(what_was_hidden_is_not_hidden_again),
        cmocka_unit_test(the_rest_stays),
        cmocka_unit_test(words_are_hidden_whole),
        cmocka_unit_test(an_input_hides_no_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
