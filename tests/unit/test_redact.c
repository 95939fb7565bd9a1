#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_out.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "core/arg.h"

/* In two parts, so that no scanner takes this file for one with keys in it. */
#define R REDACTED
#define A36 "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
#define AWS_SECRET "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

static void redacted(const char *from, const char *to)
{
    BUF_AT_END struct buf out = BUF_INIT(1u << 20);
    size_t n = strlen(from);
    bool any = redact((struct str){from, n}, n, &out);
    const char *got = any ? buf_text(&out) : from;
    if (strcmp(got, to) != 0)
        fail_msg("%s\n  became %s\n  not    %s", from, got, to);
    assert_true(any || out.len == 0);
}

static const char *const hidden[][2] = {
    /* by shape */
    {"sk-"
     "proj-" A36,
     R},
    {"sk-"
     "ant-api03-" A36 "-" A36,
     R},
    {"key is sk-" A36 ".", "key is " R "."},
    {"curl -d k=sk-" A36, "curl -d k=" R},
    {"x_sk-" A36, "x_" R},
    {"ghp"
     "_" A36,
     R},
    {"gho"
     "_" A36,
     R},
    {"ghu"
     "_" A36,
     R},
    {"ghs"
     "_" A36 " and more",
     R " and more"},
    {"ghr"
     "_" A36,
     R},
    {"github"
     "_pat_11ABCDEFG0" A36 "_" A36,
     R},
    {"glpat"
     "-"
     "aB3dE6gH9jK2mN5pQ8sT",
     R},
    {"xoxb"
     "-123456789012-abcDEF",
     R},
    {"xoxp"
     "-1-2-3-abcdef0123",
     R},
    {"AKIA"
     "IOSFODNN7EXAMPLE",
     R},
    {"ASIA"
     "IOSFODNN7EXAMPLE!",
     R "!"},
    {"AKIA"
     "IOSFODNN7EXAMPLE " AWS_SECRET,
     R " " R},
    {AWS_SECRET "\nAKIA"
                "IOSFODNN7EXAMPLE",
     R "\n" R},
    {"id,AKIA"
     "IOSFODNN7EXAMPLE,x," AWS_SECRET ",y",
     "id," R ",x," R ",y"},
    {"AIza"
     "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
     R},
    {"https://maps/api?key=AIza"
     "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q&x=1",
     "https://maps/api?key=" R "&x=1"},
    {"sk_live"
     "_4eC39HqLyjWDarjtT1zdp7dc",
     R},
    {"rk_live"
     "_4eC39HqLyjWDarjtT1zdp7dc",
     R},
    {"npm"
     "_" A36,
     R},
    {"//registry/:_authToken=npm"
     "_" A36,
     "//registry/:_authToken=" R},
    {"pypi"
     "-AgEIcHlwaS5vcmcCJGE1B2c3D4e5F6g7H8i9J0",
     R},
    {"hf"
     "_" A36,
     R},
    {"eyJ"
     "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
     R},
    {"t=eyJ"
     "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN;",
     "t=" R ";"},
    {"-----BEGIN "
     "RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nend",
     R "\nend"},
    {"-----BEGIN "
     "OPENSSH PRIVATE KEY-----\nb3Blbn",
     R},
    {"echo '-----BEGIN "
     "PRIVATE KEY-----\\nMII' > k",
     "echo '" R},
    {"SG"
     ".aB3dE6gH9jK2mN5pQ8sT1u.aB3dE6gH9jK2mN5pQ8sT1uaB3dE6gH9jK2mN5",
     R},
    /* by what stands around */
    {"Authorization: Bearer abc", "Authorization: Bearer " R},
    {"curl -H \"authorization: Basic dXNlcjpwYXNz\" http://x",
     "curl -H \"authorization: Basic " R "\" http://x"},
    {"-H 'Authorization: token abc def' -v", "-H 'Authorization: token " R "' -v"},
    {"Proxy-Authorization:xyz\nHost: a", "Proxy-Authorization:" R "\nHost: a"},
    {"{\"Authorization\":\"Bearer q\"}", "{\"Authorization\":\"Bearer " R "\"}"},
    {"Bearer a1b2c3d4e5f6a7b8", "Bearer " R},
    {"https://user:pass@host/p", "https://" R "@host/p"},
    {"git clone https://oauth2:x@y@gitlab/x.git", "git clone https://" R "@gitlab/x.git"},
    {"postgres://app:s3cr3t@db:5432/x", "postgres://" R "@db:5432/x"},
    {"`https:/u:hunter2@h/x` does not exist", "`https:/" R "@h/x` does not exist"},
    {"redis://:hunter2@cache", "redis://" R "@cache"},
    {"https://" A36 "@github/x", "https://" R "@github/x"},
    {"password=hunter2", "password=" R},
    {"?user=bob&password=hunter2&x=1", "?user=bob&password=" R "&x=1"},
    {"export DB_PASSWORD='a b' && ls", "export DB_PASSWORD='" R "' && ls"},
    {"MYSQL_PWD=1 PGPASSWORD=\"it's\" psql", "MYSQL_PWD=1 PGPASSWORD=\"" R "\" psql"},
    {"MY_SECRET=ab\"c d\"ef ls", "MY_SECRET=" R " ls"},
    {"AWS_SECRET_ACCESS_KEY=" AWS_SECRET, "AWS_SECRET_ACCESS_KEY=" R},
    {"OPENAI_API_KEY=abc", "OPENAI_API_KEY=" R},
    {"apiKey: \"abc\"", "apiKey: \"" R "\""},
    {"X-Api-Key: abc", "X-Api-Key: " R},
    {"{\"client_secret\": \"a\\\"b\", \"x\": 1}", "{\"client_secret\": \"" R "\", \"x\": 1}"},
    {"{\\\"password\\\":\\\"abc\\\",\\\"x\\\":1}", "{\\\"password\\\":\\\"" R "\\\",\\\"x\\\":1}"},
    {"os.environ['GH_TOKEN'] = 'abc'", "os.environ['GH_TOKEN'] = '" R "'"},
    {"'password' => 'abc'", "'password' => '" R "'"},
    {"if password == 'abc':", "if password == '" R "':"},
    {"spring.datasource.password: tiger", "spring.datasource.password: " R},
    {"password: tiger scott", "password: " R},
    {"  - password: a b\nuser: x", "  - password: " R "\nuser: x"},
    {"password: a b; rm x", "password: " R "; rm x"},
    {"echo 'password: a b' >> f", "echo 'password: " R "' >> f"},
    {"curl -H Authorization:abc h", "curl -H Authorization:" R},
    {"Authorization: abc def", "Authorization: " R},
    {"curl --oauth2-bearer abc h", "curl --oauth2-bearer " R " h"},
    {"twine upload -u x -p abc f", "twine upload -u x -p " R " f"},
    {"redis-cli -h x AUTH abc", "redis-cli -h x AUTH " R},
    {"mysqladmin -u root password abc", "mysqladmin -u root password " R},
    {"vault login abc", "vault login " R},
    {"git clone https://abc@h/r", "git clone https://" R "@h/r"},
    {"cmd '/password:abc' x", "cmd '/password:" R "' x"},
    {"cmd /password:abc x", "cmd /password:" R " x"},
    {"curl -b 'sid=a1; csrf=b2' h", "curl -b '" R "' h"},
    {"curl 'h?X-Amz-Signature=ab12&x=1'", "curl 'h?X-Amz-Signature=" R "&x=1'"},
    {"AccountName=x;AccountKey=ab==;E=y", "AccountName=x;AccountKey=" R ";E=y"},
    {"curl https://hooks.slack.com/services/T0/B0/XxYyZzXxYyZzXxYyZzXx", "curl https://" R},
    {"GOOGLE_CREDENTIALS={a}", "GOOGLE_CREDENTIALS=" R},
    {"TOKEN=abc", "TOKEN=" R},
    {"token: ab12", "token: " R},
    {"DB_PASS=abc", "DB_PASS=" R},
    {"login --password hunter2 -u x", "login --password " R " -u x"},
    {"login --password=hunter2", "login --password=" R},
    {"x --token 'a b' --y", "x --token '" R "' --y"},
    {"[\"--api-key\", \"abc\", \"x\"]", "[\"--api-key\", \"" R "\", \"x\"]"},
    {"tool --secret abc", "tool --secret " R},
    {"tool --db-password \"a b\"", "tool --db-password \"" R "\""},
    {"password=Bearer a1b2c3d4e5f6a7b8 x", "password=" R " " R " x"},
    /* assignments of every shape */
    {"PASSWORD='a'rest x", "PASSWORD=" R " x"},
    {"PASSWORD=''rest x", "PASSWORD=''" R " x"},
    {"PASSWORD=\"a\"'b c' x", "PASSWORD=" R " x"},
    {"PASSWORD=$XY'rest' x", "PASSWORD=" R " x"},
    {"PASSWORD+=x", "PASSWORD+=" R},
    {"PASSWORD ?= x", "PASSWORD ?= " R},
    {"password := 'x'", "password := '" R "'"},
    {"PASSWORD[0]=x", "PASSWORD[0]=" R},
    {"PASSWORD[$i]+=x", "PASSWORD[$i]+=" R},
    {"$env{password} = 'x'", "$env{password} = '" R "'"},
    {"PASSWORD=(a b) ls", "PASSWORD=" R ") ls"},
    {": ${PASSWORD:=x} y", ": ${PASSWORD:=" R "} y"},
    {"${PASSWORD=x}", "${PASSWORD=" R "}"},
    {"${PASSWORD:-a b}", "${PASSWORD:-" R "}"},
    {"${MY_TOKEN-x}", "${MY_TOKEN-" R "}"},
    {"${MY_TOKEN:+x}", "${MY_TOKEN:+" R "}"},
    {"setenv MY_TOKEN x", "setenv MY_TOKEN " R},
    {"setenv(\"MY_TOKEN\", \"x\", 1)", "setenv(\"MY_TOKEN\", \"" R "\", 1)"},
    {"set -x MY_TOKEN x", "set -x MY_TOKEN " R},
    {"set -g --export MY_TOKEN 'x y'", "set -g --export MY_TOKEN '" R "'"},
    {"aws configure set aws_secret_access_key x", "aws configure set aws_secret_access_key " R},
    {"set -x ghp_" A36 "/MY_TOKEN x", "set -x " R "/MY_TOKEN " R},
    {"ENV MY_TOKEN x", "ENV MY_TOKEN " R},
    /* headers */
    {"Authorization: Digest username=\"u\", response=\"x\"", "Authorization: Digest " R},
    {"-H 'Authorization: Digest a=\"u\", response=\"x\"' -v",
     "-H 'Authorization: Digest " R "' -v"},
    {"-H \"Authorization: Digest a=\\\"u\\\", b=\\\"x\\\"\" -v",
     "-H \"Authorization: Digest " R "\" -v"},
    {"-H 'Authorization: Bearer '\"x\" -v", "-H 'Authorization: Bearer " R " -v"},
    {"X-Auth-Token: word", "X-Auth-Token: " R},
    /* options of commands */
    {"curl -u user:x http://h", "curl -u " R " http://h"},
    {"curl -sSuuser:x http://h", "curl -sSu" R " http://h"},
    {"curl --user 'user:x y' http://h", "curl --user '" R "' http://h"},
    {"/usr/bin/sshpass -p x ssh h", "/usr/bin/sshpass -p " R " ssh h"},
    {"sshpass -px ssh h", "sshpass -p" R " ssh h"},
    {"docker login -u a -p x r", "docker login -u a -p " R " r"},
    {"mysql -u a -px db", "mysql -u a -p" R " db"},
    {"[\"sshpass\", \"-p\", \"x\"]", "[\"sshpass\", \"-p\", \"" R "\"]"},
    {"keytool -storepass x", "keytool -storepass " R},
    /* in a word */
    {"zghp"
     "_" A36,
     "z" R},
    {"zsk-" A36, "z" R},
    {"password=p\xc3\xa4ss w\xc3\xb6rt", "password=" R " w\xc3\xb6rt"},
};

static const char *const kept[] = {
    "",
    "ls -la",
    "task-force-one-two-three-four-five",
    "risk-assessment-of-the-whole-2024-portfolio",
    "desk-lamp",
    "sk-learn",
    "sk-",
    "sk-this-is-a-long-name-of-a-branch",
    "disk-usage-report-20240101-000000-final",
    "e83c5163316f89bfbde7d9ab23ca2e25604af290",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "123e4567-e89b-12d3-a456-426614174000",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0a",
    "AAAAB3NzaC1yc2EAAAADAQABAAABgQC7",
    "npm_config_cache=/tmp/x",
    "npm_lifecycle_event",
    "npm install -g pnpm",
    "pypi-mirror",
    "hf_hub_download",
    "ghp_",
    "the ghost_writer",
    "glpat-",
    "xoxo-hugs-and-kisses",
    "AKIA",
    "AKIAIOSFODNN7EXAMPLEANDMORE",
    "ASIAN markets",
    "AIzawa",
    "eyJhbGciOiJIUzI1NiJ9",
    "eyJ is how base64 of JSON begins",
    "https://example.com/path?q=1#x",
    "https://example.com:8443/x@y",
    "ssh://git@github.com/a/b.git",
    "git@github.com:a/b.git",
    "http://localhost:3000",
    "scheme://",
    "C:/users/x:y@z",
    "PWD=/home/x",
    "cat: /etc/passwd: No such file or directory",
    "docker run -v /etc/passwd:/etc/passwd:ro",
    "grep -n token src/token.c",
    "token.c: In function main",
    "secret.c: In function main",
    "unexpected token: end of input",
    "syntax error near unexpected token `('",
    "max_tokens=4096",
    "{\"max_tokens\": 100}",
    "total_tokens: 1500",
    "tokenizer=bert-base",
    "secretary=Bob",
    "BYPASS=1",
    "compass: north",
    "password=",
    "PASSWORD=$DB_PASSWORD",
    "TOKEN=${GH_TOKEN}",
    "PASSWORD=$1",
    "PASSWORD=$x; echo",
    "TOKEN=${1}",
    "--password $@",
    "TOKEN=$T",
    "TOKEN=${T}",
    "TOKEN=$(gh auth status)",
    "if token == None:",
    "password: null",
    "def login(user, password: str)",
    "--password-stdin",
    "docker login --password-stdin registry",
    "--token-file /run/x",
    "GITHUB_TOKEN_PATH=/run/x",
    "--password --verbose",
    "--passwordless yes",
    "git -c credential.helper=store push",
    "the bearer of good news was here",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "--- a/file\n+++ b/file\n-----",
    "Authorization",
    "authorization is needed for this",
    "missing required argument `password` (string)",
    "a=b c=d",
    "task_test_of_the_parser_1",
    "${TOKEN:-$GH_TOKEN}",
    "${TOKEN:-}",
    "curl -u user http://h",
    "docker run -p 80:80 --user 10:10 x",
    "docker login r && ssh -p 22 h",
    "mysql -p db",
    "set password for user",
    "sh -c \"TOKEN=$GH\" x",
    "x: y",
    "12:30:45",
    "std::string",
    "fish and chips, whichever donors begin",
};

static void secrets_are_hidden(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        redacted(hidden[i][0], hidden[i][1]);
}

static void the_rest_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        redacted(kept[i], kept[i]);
}

/* What was hidden once is not hidden again. */
static void twice_is_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
        BUF_AT_END struct buf out = BUF_INIT(1u << 20);
        redact((struct str){hidden[i][1], strlen(hidden[i][1])}, SIZE_MAX, &out);
        if (out.len && strcmp(buf_text(&out), hidden[i][1]) != 0)
            fail_msg("%s became %s", hidden[i][1], buf_text(&out));
    }
}

static void a_cut_leaves_no_half_of_a_secret(void **state)
{
    (void)state;
    static const char secret[] = "ghp"
                                 "_" A36;
    for (size_t before = 0; before < 300; before++) {
        char text[2000];
        memset(text, '.', sizeof text);
        memcpy(text + before, secret, sizeof secret - 1);
        BUF_AT_END struct buf out = BUF_INIT(1u << 20);
        bool any = redact((struct str){text, sizeof text}, 256, &out);
        assert_int_equal(any, before + sizeof "ghp" <= 256);
        assert_null(memmem(out.data ? out.data : "", out.len, "_a", 2));
        assert_true(out.len <= REDACT_OUT_MAX(256));
    }
}

static void names(void **state)
{
    (void)state;
    static const struct str own[] = {STR_INIT("PIN"), STR_INIT("customer-id")};
    assert_true(redact_is_name(STR("DB_PASSWORD")));
    assert_true(redact_is_name(STR("accessKey")));
    assert_true(redact_is_name(STR("private.key")));
    assert_true(redact_is_name(STR("cookie")));
    assert_false(redact_is_name(STR("path")));
    assert_false(redact_is_name(STR("max_tokens")));
    assert_false(redact_is_name(STR("---")));
    assert_false(redact_is_name(STR("pin")));
    redacted("pin=1234", "pin=1234");
    assert_true(redact_use_names(own, 2));
    assert_true(redact_is_name(STR("pin")));
    assert_true(redact_is_name(STR("Customer_ID")));
    assert_false(redact_is_name(STR("spin")));
    redacted("pin=1234 spin=1", "pin=" R " spin=1");
    redacted("--customer-id 77", "--customer-id " R);
    char lengthy[REDACT_NAME_MAX + 1];
    memset(lengthy, 'a', sizeof lengthy);
    lengthy[REDACT_NAME_MAX] = '\0';
    const struct str bad[] = {{lengthy, REDACT_NAME_MAX}, STR("_")};
    assert_false(redact_use_names(bad, 1));
    assert_false(redact_use_names(bad + 1, 1));
    assert_true(redact_use_names(NULL, 0));
    assert_false(redact_is_name(STR("pin")));
}

/* Of the processor: others may be at work. */
static double seconds_for(const char *text, size_t n)
{
    clock_t start = clock();
    BUF_AT_END struct buf out = BUF_INIT(REDACT_OUT_MAX(n));
    redact((struct str){text, n}, n, &out);
    assert_false(out.failed);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* Texts made so that a look at each place would go on to the end: four times the length may take about four times
 * as long, not sixteen. */
static void time_is_linear(void **state)
{
    (void)state;
    static const char *const parts[] = {"sk-",
                                        "sk-a",
                                        "-eyJ",
                                        "eyJaaaaaaaaaa.bbbbb",
                                        "token==",
                                        "token=$(",
                                        "token:\\",
                                        "password=",
                                        "://",
                                        "://a:",
                                        "--token ",
                                        "pass=a\"",
                                        "token: a",
                                        "=",
                                        ": ",
                                        "-----BEGIN ",
                                        "bearer ",
                                        "AKIA",
                                        "authorization:",
                                        "pass=\\\"",
                                        "pass=a\\\"",
                                        "${TOKEN:-",
                                        "curl -u ",
                                        ",curl,-u,x",
                                        ",sshpass,-p,-",
                                        "set -x TOKEN ",
                                        "pass=( ",
                                        "authorization: a=\" "};
    const size_t n = 1u << 20;
    char *text = malloc(n);
    assert_non_null(text);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        size_t length = strlen(parts[i]);
        for (size_t at = 0; at < n; at++)
            text[at] = parts[i][at % length];
        /* A look from each place to the end would take minutes. */
        if (seconds_for(text, n) > 4)
            fail_msg("`%s` again and again takes too long", parts[i]);
    }
    free(text);
}

static void strings_of_a_log_are_without_secrets(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(1u << 20);
    struct json_out j = {.out = &out, .hide = true};
    jo_open(&j, '{');
    jo_ktext(&j, "message", "no such host: https://u:p@h/");
    jo_ktext(&j, "plain", "a \"b\"");
    jo_close(&j, '}');
    assert_string_equal(buf_text(&out), "{\"message\":\"no such host: https://" R
                                        "@h/\",\"plain\":\"a \\\"b\\\"\"}");
}

struct args {
    struct str command;
    struct str api_token;
};

static void arguments_are_logged_without_secrets(void **state)
{
    (void)state;
    static const struct arg rows[] = {
        {.name = "command", .type = ARG_STRING, .offset = offsetof(struct args, command)},
        {.name = "api_token", .type = ARG_STRING, .offset = offsetof(struct args, api_token)},
    };
    static const struct arg_table table = ARG_TABLE(rows, struct args);
    static const char text[] = "{\"command\":\"curl -u x --token abc\",\"api_token\":\"hello\"}";
    JSON_AT_END yyjson_doc *doc = NULL;
    assert_int_equal(json_parse(text, sizeof text - 1, 1000, JSON_STRICT, &doc, NULL), 0);
    BUF_AT_END struct buf out = BUF_INIT(1u << 20);
    struct json_out j = {.out = &out};
    arg_redact(&table, yyjson_doc_get_root(doc), 0, &j);
    assert_string_equal(buf_text(&out),
                        "{\"command\":\"curl -u x --token " R "\",\"api_token\":\"" R "\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_hidden),
        cmocka_unit_test(the_rest_stays),
        cmocka_unit_test(twice_is_once),
        cmocka_unit_test(a_cut_leaves_no_half_of_a_secret),
        cmocka_unit_test(names),
        cmocka_unit_test(time_is_linear),
        cmocka_unit_test(strings_of_a_log_are_without_secrets),
        cmocka_unit_test(arguments_are_logged_without_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
