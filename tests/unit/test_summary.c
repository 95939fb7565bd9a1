/* What is shown of a call, and what an approval is bound to. */
#include <cmocka.h>

#include "base/mem.h"
#include "base/shown.h"
#include "dialect/dialects.h"
#include "gate/summary.h"
#include "tools/all.h"

static const struct root root = {"workspace", "/workspace", "/home/a/project", true};
static struct workplace place = {
    .roots = &root, .n_roots = 1, .command_roots = &root, .n_command_roots = 1, .session_id = ""};

static struct call *call_of(const struct tool *tool, const char *arguments)
{
    static const struct dialect *const dialects[] = {
        &dialect_native, &dialect_sidecar, &dialect_system, &dialect_toolhost, &dialect_runner};
    struct call *call = call_new();
    struct json_error why = {0};
    call->tool = tool;
    call->dialect = dialects[tool->dialect];
    call->workplace = &place;
    size_t n = strlen(arguments);
    if (json_parse(arguments, n, n, JSON_STRICT, &call->doc, &why) < 0)
        fail_msg("%s: %s", arguments, why.what);
    call->arguments = yyjson_doc_get_root(call->doc);
    return call;
}

static void check(const struct tool *tool, const char *arguments, const char *line,
                  const char *detail)
{
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    BUF_AT_END struct buf more = BUF_INIT(1 << 20);
    struct call *call = call_of(tool, arguments);
    summary_write(call, &out, &more);
    assert_string_equal(buf_text(&out), line);
    assert_string_equal(buf_text(&more), detail);
    assert_true(shown_is_fit(buf_str(&out), false) && shown_is_fit(buf_str(&more), true));
    call_free(call);
}

static void test_commands(void **state)
{
    (void)state;
    check(&native_run_command, "{\"command\":\"git push --force\"}",
          "run_command: git push --force", "");
    check(&native_run_command,
          "{\"cwd\":\"a b\",\"command\":\"make && echo 'x'\",\"timeout_ms\":5000}",
          "run_command in 'a b': make && echo 'x'", "timeout_ms: 5000\n");
    check(&sidecar_run_command, "{\"command\":\"ls\",\"cwd\":\"sub:x\"}",
          "run_command in 'sub:x': ls", "");
    check(&runner_shell, "{\"command\":\"ls\\nrm -rf .\",\"working_directory\":\"src\"}",
          "shell in src: ls\\nrm -rf .", "whole command (11 bytes):\n    ls\n    rm -rf .\n");
}

static void test_words(void **state)
{
    (void)state;
    check(&native_run_command,
          "{\"argv\":[\"git\",\"commit\",\"-m\",\"a b\",\"\",\"it's\",\"'$x'\"]}",
          "run_command: git commit -m 'a b' '' \"it's\" ''\\\\''$x'\\\\'''", "");
    check(&system_bash, "{\"command\":\"ls; rm\",\"args\":[\"-l\",\"a\\tb\",\"https://x.y:80/\"]}",
          "bash: 'ls; rm' -l 'a\\tb' https://x.y:80/", "");
    check(&system_bash, "{\"command\":\"ls\"}", "bash: ls", "");
}

static void test_what_a_command_gets(void **state)
{
    (void)state;
    check(
        &native_run_command,
        "{\"command\":\"sh\",\"stdin\":\"rm -rf .\\ntimeout_ms: 1\\n\",\"env\":{\"PATH\":\"/tmp/x y\",\"B=C\":\"\"},"
        "\"network\":[\"example.org\",\"*\"]}",
        "run_command: sh",
        "env: PATH='/tmp/x y'\nenv: 'B=C'=''\n"
        "stdin (23 bytes):\n    rm -rf .\n    timeout_ms: 1\n"
        "network: example.org '*'\n");
}

static void test_files(void **state)
{
    (void)state;
    check(&native_write_file, "{\"path\":\"notes.txt\",\"content\":\"hello\",\"append\":true}",
          "write_file: notes.txt (5 bytes, append)", "");
    check(&native_write_file,
          "{\"path_b64\":\"YS/\\/\",\"content\":\"aGk=\",\"encoding\":\"base64\"}",
          "write_file: a/\\xff (2 bytes)", "encoding: base64\n");
    check(&native_move, "{\"from\":\"a -> b\",\"to\":\"c\",\"overwrite\":true}",
          "move: 'a -> b' -> c (overwrite)", "");
    check(&native_delete, "{\"path\":\"x (recursive)\",\"recursive\":true}",
          "delete: 'x (recursive)' (recursive)", "");
    check(&system_filesystem, "{\"operation\":\"delete\",\"path\":\"/tmp/a\"}",
          "filesystem: delete /tmp/a", "");
    check(&native_edit_file,
          "{\"path\":\"a.c\",\"edits\":[{\"old_text\":\"a\",\"new_text\":\"b\"}]}",
          "edit_file: a.c (1 edits)", "edits: [{\"old_text\":\"a\",\"new_text\":\"b\"}]\n");
    check(&native_search, "{\"pattern\":\"a.*b\",\"path\":\"src\"}", "search: 'a.*b' in src", "");
    check(&runner_list_files, "{}", "list_files: .", "");
}

/* What the tool does not look at is not shown: it could only mislead. */
static void test_fields_of_no_use(void **state)
{
    (void)state;
    check(&runner_shell, "{\"command\":\"ls\",\"note\":\"harmless\",\"argv\":[\"x\"]}", "shell: ls",
          "");
    check(&native_time_now, "{}", "time.now", "");
}

static void test_long_commands(void **state)
{
    (void)state;
    BUF_AT_END struct buf command = BUF_INIT(1 << 20);
    BUF_AT_END struct buf arguments = BUF_INIT(1 << 20);
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    BUF_AT_END struct buf more = BUF_INIT(1 << 20);
    buf_add_text(&command, "echo ");
    for (int i = 0; i < 100000; i++)
        buf_add_char(&command, 'x');
    buf_add_text(&command, "; rm -rf .");
    buf_addf(&arguments, "{\"command\":\"%s\",\"timeout_ms\":5}", buf_text(&command));
    struct call *call = call_of(&native_run_command, buf_text(&arguments));
    assert_true(summary_write(call, &out, &more));
    assert_true(out.len < 400);
    assert_memory_equal(out.data, "run_command: echo xxx", 21);
    assert_memory_equal(out.data + out.len - 11, "x; rm -rf .", 11);
    assert_non_null(strstr(buf_text(&out), " bytes left out]"));
    /* What the line leaves out is here. */
    BUF_AT_END struct buf expected = BUF_INIT(1 << 20);
    buf_addf(&expected, "whole command (100015 bytes):\n    %s\ntimeout_ms: 5\n",
             buf_text(&command));
    assert_string_equal(buf_text(&more), buf_text(&expected));
    call_free(call);
}

/* Whatever is long is whole: a line of standard input, the working folder, a path, a value. */
static void test_nothing_is_left_out(void **state)
{
    (void)state;
    BUF_AT_END struct buf lines = BUF_INIT(1 << 20);
    BUF_AT_END struct buf set_in = BUF_INIT(1 << 20);
    BUF_AT_END struct buf arguments = BUF_INIT(4 << 20);
    BUF_AT_END struct buf expected = BUF_INIT(4 << 20);
    char folder[1001];
    char value[3001];
    memset(folder, 'f', sizeof folder - 1);
    memset(value, 'v', sizeof value - 1);
    folder[sizeof folder - 1] = value[sizeof value - 1] = '\0';
    for (int i = 0; i < 5000; i++) {
        buf_addf(&lines, "line %d\\n", i);
        buf_addf(&set_in, "    line %d\n", i);
    }
    buf_addf(&arguments,
             "{\"command\":\"sh\",\"cwd\":\"%s\",\"stdin\":\"%s\",\"env\":{\"A\":\"%s\"}}", folder,
             buf_text(&lines), value);
    buf_addf(&expected, "cwd (1000 bytes):\n    %s\nenv: A=%s\nstdin (48890 bytes):\n%s", folder,
             value, buf_text(&set_in));
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    BUF_AT_END struct buf more = BUF_INIT(4 << 20);
    struct call *call = call_of(&native_run_command, buf_text(&arguments));
    assert_true(summary_write(call, &out, &more));
    assert_non_null(strstr(buf_text(&out), " bytes left out]"));
    assert_string_equal(buf_text(&more), buf_text(&expected));
    call_free(call);
}

static void test_content_and_its_hash(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    struct call *call = call_of(&native_write_file, "{\"path\":\"a\",\"content\":\"hi\\n\"}");
    summary_content(call, &out);
    assert_string_equal(
        buf_text(&out),
        "content: 3 bytes, sha256 98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4\n"
        "content (3 bytes):\n    hi\n");
    call_free(call);
    buf_reset(&out, 0);
    call = call_of(&native_write_file,
                   "{\"path\":\"a\",\"content\":\"aGkK\",\"encoding\":\"base64\"}");
    summary_content(call, &out);
    assert_string_equal(
        buf_text(&out),
        "content: 3 bytes, sha256 98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4\n"
        "content (3 bytes):\n    hi\n");
    call_free(call);
}

/* Where there is no room for everything, that is said, and what identifies the call. */
static void test_too_long(void **state)
{
    (void)state;
    BUF_AT_END struct buf out = BUF_INIT(4096);
    BUF_AT_END struct buf more = BUF_INIT(40);
    struct call *call = call_of(
        &native_run_command,
        "{\"command\":\"sh\",\"stdin\":\"1\\n2\\n3 and more than has room\\n\"}");
    assert_false(summary_write(call, &out, &more));
    summary_too_long(call, &more);
    assert_false(more.failed);
    assert_memory_equal(buf_text(&more), "stdin (29 bytes):\n    1\n    2\n\\[the rest", 40);
    assert_non_null(strstr(buf_text(&more), "\nall arguments of the call: 59 bytes, sha256 "));
    call_free(call);
}

static void digest_of(const struct tool *tool, const char *arguments, const char *session,
                      const char *agent, char out[HASH_HEX + 1])
{
    struct call *call = call_of(tool, arguments);
    call->agent = agent;
    call_digest(call, session, out);
    call_free(call);
}

static void test_digest_is_the_same_for_the_same(void **state)
{
    (void)state;
    char a[HASH_HEX + 1];
    char b[HASH_HEX + 1];
    digest_of(&native_run_command, "{\"command\":\"ls\",\"env\":{\"A\":\"1\",\"B\":\"2\"}}", "s",
              "x", a);
    digest_of(&native_run_command,
              "{\"env\": {\"B\":\"2\",\"\\u0041\":\"1\"}, \"command\":\"l\\u0073\"}", "s", "x", b);
    assert_string_equal(a, b);
}

static void test_digest_tells_apart(void **state)
{
    (void)state;
    static const struct {
        const struct tool *tool;
        const char *arguments;
        const char *session;
        const char *agent;
    } all[] = {
        {&native_run_command, "{\"command\":\"ls\"}", "s", NULL},
        {&native_run_command, "{\"command\":\"ls\"}", "s", ""},
        {&native_run_command, "{\"command\":\"ls\"}", "t", NULL},
        {&native_run_command, "{\"command\":\"ls\"}", "", "s"},
        {&native_run_command, "{\"command\":\"ls \"}", "s", NULL},
        {&native_run_command, "{\"command\":\"ls\",\"cwd\":\".\"}", "s", NULL},
        {&native_run_command, "{\"command\":\"ls\",\"cwd\":null}", "s", NULL},
        {&native_run_command, "{\"command\":\"ls\\u0000\"}", "s", NULL},
        {&sidecar_run_command, "{\"command\":\"ls\"}", "s", NULL},
        {&native_run_command, "{\"argv\":[\"ls\"]}", "s", NULL},
        {&native_run_command, "{\"argv\":[\"l\",\"s\"]}", "s", NULL},
        {&native_run_command, "{\"argv\":[\"l\",\"\",\"s\"]}", "s", NULL},
        {&native_run_command, "{\"argv\":[[\"l\"],\"s\"]}", "s", NULL},
        {&native_run_command, "{\"argv\":[[\"l\",\"s\"]]}", "s", NULL},
        {&native_run_command, "{\"a\":1}", "s", NULL},
        {&native_run_command, "{\"a\":-1}", "s", NULL},
        {&native_run_command, "{\"a\":18446744073709551615}", "s", NULL},
        {&native_run_command, "{\"a\":1.5}", "s", NULL},
        {&native_run_command, "{\"a\":\"1\"}", "s", NULL},
        {&native_run_command, "{\"a\":true}", "s", NULL},
        {&native_run_command, "{\"a\":false}", "s", NULL},
        {&native_run_command, "{\"a\":null}", "s", NULL},
        {&native_run_command, "{\"a\":{}}", "s", NULL},
        {&native_run_command, "{\"a\":[]}", "s", NULL},
        {&native_run_command, "{}", "s", NULL},
    };
    char digests[ARRAY_LEN(all)][HASH_HEX + 1];
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        digest_of(all[i].tool, all[i].arguments, all[i].session, all[i].agent, digests[i]);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(digests[i], digests[k]) == 0)
                fail_msg("%zu and %zu: %s", i, k, all[i].arguments);
        }
    }
}

static void test_digest_knows_the_folder(void **state)
{
    (void)state;
    static const struct root other = {"workspace", "/workspace", "/home/a/other", true};
    char a[HASH_HEX + 1];
    char b[HASH_HEX + 1];
    digest_of(&native_run_command, "{\"command\":\"ls\"}", "s", NULL, a);
    place.roots = &other;
    digest_of(&native_run_command, "{\"command\":\"ls\"}", "s", NULL, b);
    place.roots = &root;
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_what_a_command_gets),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_fields_of_no_use),
        cmocka_unit_test(test_long_commands),
        cmocka_unit_test(test_nothing_is_left_out),
        cmocka_unit_test(test_content_and_its_hash),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_digest_is_the_same_for_the_same),
        cmocka_unit_test(test_digest_tells_apart),
        cmocka_unit_test(test_digest_knows_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
