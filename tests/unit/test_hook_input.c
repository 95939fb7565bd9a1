/* What the program of a hook reads about a call. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialect/dialects.h"
#include "gate/hook_input.h"

static const struct root root = {"workspace", "/workspace", "/home/me/project", true};
static struct workplace workplace = {.roots = &root, .n_roots = 1, .session_id = "s1"};
static const struct tool tool = {.name = "write_file"};

static struct call *call_with(const char *arguments)
{
    struct call *call = call_new();
    struct json_error why;
    snprintf(call->uid, sizeof call->uid, "abc-1");
    call->tool = &tool;
    call->dialect = &dialect_native;
    call->workplace = &workplace;
    if (arguments &&
        json_parse(arguments, strlen(arguments), SIZE_MAX, JSON_STRICT, &call->doc, &why) < 0)
        fail_msg("%.100s: %s", arguments, why.what);
    call->arguments = yyjson_doc_get_root(call->doc);
    return call;
}

static void assert_input(const char *arguments, bool after, bool failed, const char *expected)
{
    BUF_AT_END struct buf out = BUF_INIT(HOOK_INPUT_MAX);
    struct call *call = call_with(arguments);
    call->agent = after ? "coder" : NULL;
    call->failed = failed;
    call->err.code = ERR_NOT_FOUND;
    call->start_ns = 5000000;
    call->end_ns = 47000000;
    hook_input_write(call, after, &out);
    assert_string_equal(buf_text(&out), expected);
    call_free(call);
}

#define HEAD "\"call\":\"abc-1\",\"tool\":\"write_file\",\"dialect\":\"native\","
#define TAIL "\"session\":\"s1\",\"workspace\":\"/home/me/project\","

static void before_and_after(void **state)
{
    (void)state;
    assert_input("{\"path\":\"a\",\"n\":[1,2.5,-3,true,null,{\"x/y\":\"\\u001b\"}]}", false, false,
                 "{\"event\":\"tool:before\"," HEAD "\"agent\":null," TAIL
                 "\"arguments\":{\"path\":\"a\",\"n\":[1,2.5,-3,true,null,{\"x/y\":\"\\u001b\"}]}}"
                 "\n");
    assert_input("{}", true, false,
                 "{\"event\":\"tool:after\"," HEAD "\"agent\":\"coder\"," TAIL
                 "\"arguments\":{},\"ok\":true,\"code\":null,\"durationMs\":42}\n");
    assert_input(NULL, true, true,
                 "{\"event\":\"tool:after\"," HEAD "\"agent\":\"coder\"," TAIL
                 "\"arguments\":null,\"ok\":false,\"code\":\"NOT_FOUND\",\"durationMs\":42}\n");
}

/* Reads back what was written. */
static yyjson_doc *written(struct call *call)
{
    BUF_AT_END struct buf out = BUF_INIT(HOOK_INPUT_MAX);
    yyjson_doc *doc = NULL;
    hook_input_write(call, false, &out);
    assert_false(out.failed);
    assert_int_equal(json_parse(out.data, out.len, out.len, JSON_STRICT, &doc, NULL), 0);
    call_free(call);
    return doc;
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    FREE_AT_END char *longer = mem_format("%0*dä", (int)HOOK_TEXT_MAX - 1, 0);
    FREE_AT_END char *fits = mem_format("%0*d", (int)HOOK_TEXT_MAX, 0);
    FREE_AT_END char *arguments = mem_format("{\"a\":\"%s\",\"b\":[{\"x/~\":\"%s\"}]}", fits,
                                             longer);
    JSON_AT_END yyjson_doc *doc = written(call_with(arguments));
    yyjson_val *top = yyjson_doc_get_root(doc);
    assert_int_equal(yyjson_get_len(yyjson_ptr_get(top, "/arguments/a")), HOOK_TEXT_MAX);
    assert_int_equal(yyjson_get_len(yyjson_ptr_get(top, "/arguments/b/0/x~1~0")),
                     HOOK_TEXT_MAX - 1);
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(top, "cut")), 1);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(top, "/cut/0/at")), "/b/0/x~1~0");
    assert_int_equal(yyjson_get_int(yyjson_ptr_get(top, "/cut/0/bytes")), HOOK_TEXT_MAX + 1);
}

static void too_much_is_told(void **state)
{
    (void)state;
    BUF_AT_END struct buf text = BUF_INIT((size_t)2 * HOOK_INPUT_MAX);
    BUF_AT_END struct buf out = BUF_INIT(HOOK_INPUT_MAX);
    buf_add_text(&text, "{\"a\":[");
    for (unsigned i = 0; i <= HOOK_INPUT_MAX / HOOK_TEXT_MAX; i++)
        buf_addf(&text, "%s\"%0*d\"", i ? "," : "", (int)HOOK_TEXT_MAX + 1, 0);
    buf_add_text(&text, "]}");
    struct call *call = call_with(buf_text(&text));
    hook_input_write(call, false, &out);
    assert_true(out.failed);
    call_free(call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_and_after),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(too_much_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
