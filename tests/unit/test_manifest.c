#include <cmocka.h>
#include <string.h>

#include "core/manifest.h"
#include "json_text.h"

#define SHA "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\""
#define HEAD                                                                                       \
    "\"manifest\":1,\"version\":\"1\",\"description\":\"Counts.\",\"module\":\"a.wasm\","          \
    "\"sha256\":" SHA
#define INPUT                                                                                      \
    "\"input\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"text\"],"       \
    "\"properties\":{\"text\":{\"type\":\"string\",\"description\":\"What.\"},\"n\":{\"type\":"    \
    "\"integer\"},\"on\":{\"type\":\"boolean\"},\"list\":{\"type\":\"array\",\"items\":{\"type\":" \
    "\"string\"}},\"x\":{}}}"
#define NAME "\"name\":\"word.count\""

static struct manifest *read_good(const char *text)
{
    struct manifest *m = NULL;
    struct err err;
    if (manifest_read(text_str(text), &m, &err) < 0)
        fail_msg("%s", err.message);
    return m;
}

static void a_manifest_becomes_a_tool(void **state)
{
    (void)state;
    struct manifest *m = read_good(
        "{" HEAD "," NAME "," INPUT ",\"limits\":{\"timeoutMs\":5,\"memory\":65536,\"fuel\":7},"
        "\"capabilities\":{\"filesystem\":{},\"network\":true},\"examples\":[{\"input\":{},\"error\":"
        "\"TRAP\"}]}");
    const struct tool *tool = &m->tool;
    assert_string_equal(tool->name, "word.count");
    assert_string_equal(tool->alias, "word_count");
    assert_string_equal(tool->title, "word.count");
    assert_int_equal(tool->capabilities, CAP_FS_READ | CAP_FS_WRITE | CAP_NETWORK);
    assert_int_equal(m->asks, MANIFEST_FILESYSTEM | MANIFEST_NETWORK);
    assert_int_equal(m->limits.timeout_ms, 5);
    assert_int_equal(m->limits.memory, 65536);
    assert_int_equal(m->limits.fuel, 7);
    assert_int_equal(m->limits.output, 1 << 20);
    static const enum arg_type types[] = {ARG_STRING, ARG_INT, ARG_BOOL, ARG_LIST, ARG_OBJECT};
    assert_int_equal(tool->args.count, ARRAY_LEN(types));
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        assert_int_equal(tool->args.args[i].type, types[i]);
    assert_int_equal(tool->args.args[0].flags, ARG_REQUIRED);
    assert_int_equal(tool->args.args[3].items->type, ARG_STRING);
    manifest_free(m);
}

static void arguments_are_held_against_the_schema(void **state)
{
    (void)state;
    struct manifest *m = read_good("{" HEAD "," NAME "," INPUT "}");
    struct err err;
    JSON_AT_END yyjson_doc *good = yyjson_read("{\"text\":\"a\"}", 12, 0);
    assert_int_equal(tool_decode(&m->tool, false, yyjson_doc_get_root(good), NULL, &err), 0);
    assert_int_equal(tool_decode(&m->tool, false, NULL, NULL, &err), -1);
    assert_string_equal(err.message, "missing required argument `text`");
    JSON_AT_END yyjson_doc *more = yyjson_read("{\"text\":\"a\",\"y\":1}", 18, 0);
    assert_int_equal(tool_decode(&m->tool, false, yyjson_doc_get_root(more), NULL, &err), -1);
    assert_string_equal(err.reason, "unknown");
    manifest_free(m);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *field;
    } cases[] = {
        {"{" NAME "," INPUT "}", "manifest"},
        {"{" HEAD "," INPUT "}", "name"},
        {"{" HEAD "," NAME "}", "input"},
        {"{" HEAD ",\"name\":\"1a\"," INPUT "}", "name"},
        {"{" HEAD ",\"name\":\"a..b\"," INPUT "}", "name"},
        {"{" HEAD ",\"name\":\"a.\"," INPUT "}", "name"},
        {"{" HEAD ",\"name\":\"a/b\"," INPUT "}", "name"},
        {"{" HEAD "," NAME ",\"input\":{\"type\":\"object\"}}", "input"},
        {"{" HEAD "," NAME ",\"input\":{\"type\":\"object\",\"additionalProperties\":true}}",
         "input"},
        {"{" HEAD "," NAME ",\"input\":{\"type\":\"object\",\"additionalProperties\":false,"
         "\"properties\":{\"a\":{\"pattern\":\"x\"}}}}",
         "input.properties.a.pattern"},
        {"{" HEAD "," NAME "," INPUT ",\"output\":{\"oneOf\":[]}}", "output.oneOf"},
        {"{" HEAD "," NAME "," INPUT ",\"capabilities\":{\"gpu\":true}}", "capabilities"},
        {"{" HEAD "," NAME "," INPUT ",\"capabilities\":[]}", "capabilities"},
        {"{" HEAD "," NAME "," INPUT ",\"limits\":{\"timeout\":1}}", "limits"},
        {"{" HEAD "," NAME "," INPUT ",\"limits\":{\"memory\":0}}", "limits.memory"},
        {"{" HEAD "," NAME "," INPUT ",\"limits\":{\"fuel\":\"1\"}}", "limits.fuel"},
        {"{" HEAD "," NAME "," INPUT ",\"examples\":[{}]}", "examples"},
        {"{" HEAD "," NAME "," INPUT ",\"colour\":1}", "colour"},
        {"{\"manifest\":2,\"name\":\"a\"}", "manifest"},
        {"{\"manifest\":1,\"name\":\"a\",\"version\":\"1\",\"description\":\"\\u0007\"}",
         "description"},
        {"{\"manifest\":1,\"name\":\"a\",\"version\":\"1\",\"description\":\"d\"," INPUT
         ",\"module\":\"../a.wasm\",\"sha256\":" SHA "}",
         "module"},
        {"{\"manifest\":1,\"name\":\"a\",\"version\":\"1\",\"description\":\"d\"," INPUT
         ",\"module\":\"a.wasm\",\"sha256\":\"00\"}",
         "sha256"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct manifest *m = NULL;
        struct err err = {.code = ERR_COUNT};
        if (manifest_read(text_str(cases[i].text), &m, &err) == 0)
            fail_msg("%s is taken", cases[i].text);
        if (strcmp(err.field, cases[i].field) != 0)
            fail_msg("%s: %s: %s", cases[i].text, err.field, err.message);
    }
    struct manifest *m = NULL;
    struct err err;
    assert_int_equal(manifest_read(STR("{"), &m, &err), -1);
    assert_int_equal(manifest_read(STR("[]"), &m, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_becomes_a_tool),
        cmocka_unit_test(arguments_are_held_against_the_schema),
        cmocka_unit_test(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
