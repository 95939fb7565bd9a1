#include <cmocka.h>

#include "core/registry.h"
#include "dialect/dialects.h"
#include "dialect/mcp.h"
#include "json_text.h"
#include "tools/all.h"

#define ANSWER_MAX (8u << 20)

static const struct root root = {"workspace", "/workspace", "/srv/work", true};
static struct workplace workplace = {&root, 1, NULL, {.id = TIER_FULL}, ""};

/* A list_files call that found `count` files. */
static struct call *listed(size_t count)
{
    struct call *call = call_new();
    struct err err;
    call->workplace = &workplace;
    call->dialect = &dialect_native;
    call->tool = registry_find(DIALECT_NATIVE, STR("list_files"), &err);
    assert_int_equal(call_take_path(call, STR("a \"folder\" \\"), (struct str){0}, &err), 0);
    call->reply.list.count = (int64_t)count;
    buf_init(&call->reply_body, ANSWER_MAX);
    for (size_t i = 0; i < count; i++) {
        struct op_entry entry = {.name = STR("name \" \n \xff"), .size = (int64_t)i};
        op_entry_add(&call->reply_body, &entry);
    }
    return call;
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *id_json;
        enum mcp_code code;
    } cases[] = {
        {"{'jsonrpc':'2.0','id':1", NULL, MCP_PARSE_ERROR},
        {"[{'jsonrpc':'2.0','id':1,'method':'ping'}]", NULL, MCP_INVALID_REQUEST},
        {"{'id':1,'method':'ping'}", "1", MCP_INVALID_REQUEST},
        {"{'jsonrpc':'2.0','id':{},'method':'ping'}", NULL, MCP_INVALID_REQUEST},
        {"{'jsonrpc':'2.0','id':'a'}", "'a'", MCP_INVALID_REQUEST},
        {"{'jsonrpc':'2.0','id':'a','method':'pong'}", "'a'", MCP_METHOD_NOT_FOUND},
        {"{'jsonrpc':'2.0','id':-1,'method':'tools/call'}", "-1", MCP_INVALID_PARAMS},
        {"{'jsonrpc':'2.0','id':-1,'method':'ping','params':[]}", "-1", MCP_INVALID_PARAMS},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        FREE_AT_END char *line = quoted(cases[i].line);
        FREE_AT_END char *id_json = cases[i].id_json ? quoted(cases[i].id_json) : NULL;
        CLEANUP(mcp_message_done) struct mcp_message message;
        struct mcp_error error;
        assert_int_equal(mcp_read(text_str(line), &message, &error), -1);
        assert_int_equal(error.code, cases[i].code);
        assert_int_equal(!message.request.id_json, !id_json);
        if (id_json)
            assert_string_equal(message.request.id_json, id_json);
    }
}

static void a_call_is_read(void **state)
{
    (void)state;
    FREE_AT_END char *line = quoted("{'jsonrpc':'2.0','id':'x','method':'tools/call','params':"
                                    "{'name':'stat','arguments':{'path':'a'},'_meta':{}}}");
    CLEANUP(mcp_message_done) struct mcp_message message;
    struct mcp_error error;
    assert_int_equal(mcp_read(text_str(line), &message, &error), 0);
    assert_int_equal(message.method, MCP_TOOLS_CALL);
    assert_string_equal(message.request.name, "stat");
    assert_string_equal(message.request.id, "x");
    assert_string_equal(message.request.id_json, "\"x\"");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(message.request.arguments, "path")), "a");
}

static void a_progress_token_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *meta;
        const char *token; /* NULL: none */
    } cases[] = {
        {"{'progressToken':'t'}", "'t'"},
        {"{'progressToken':-7}", "-7"},
        {"{'progressToken':{}}", NULL},
        {"{'progressToken':1.5}", NULL},
        {"{}", NULL},
        {"[]", NULL},
        {"null", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        FREE_AT_END char *text = mem_format(
            "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':"
            "{'name':'stat','_meta':%s}}",
            cases[i].meta);
        FREE_AT_END char *line = quoted(text);
        FREE_AT_END char *token = cases[i].token ? quoted(cases[i].token) : NULL;
        CLEANUP(mcp_message_done) struct mcp_message message;
        struct mcp_error error;
        assert_int_equal(mcp_read(text_str(line), &message, &error), 0);
        assert_int_equal(!message.progress_json, !token);
        if (token)
            assert_string_equal(message.progress_json, token);
    }
}

/* Of a long piece the end is told, and no character is cut in two. */
static void progress_is_short(void **state)
{
    (void)state;
    BUF_AT_END struct buf piece = BUF_INIT(100000);
    while (piece.len < 60000)
        buf_add_text(&piece, "\xf0\x9f\x98\x80");
    for (size_t n = 4000; n < 60000; n += 4001) {
        BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
        size_t whole = n - n % 4;
        mcp_write_progress("\"t\"", n, (struct str){piece.data, whole}, &out);
        JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&out), JSON_STRICT);
        yyjson_val *params = yyjson_obj_get(yyjson_doc_get_root(doc), "params");
        yyjson_val *message = yyjson_obj_get(params, "message");
        assert_true(yyjson_equals_str(yyjson_obj_get(params, "progressToken"), "t"));
        assert_int_equal(yyjson_get_uint(yyjson_obj_get(params, "progress")), n);
        assert_int_equal(yyjson_get_len(message), whole < 4096 ? whole : 4096);
        assert_memory_equal(yyjson_get_str(message), piece.data, yyjson_get_len(message));
    }
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    mcp_write_progress("1", 5000, (struct str){piece.data + 1, 5000}, &out);
    JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&out), JSON_STRICT);
    yyjson_val *params = yyjson_obj_get(yyjson_doc_get_root(doc), "params");
    /* It begins with a whole character; the one it was cut in is replaced. */
    assert_memory_equal(yyjson_get_str(yyjson_obj_get(params, "message")), piece.data, 4092);
}

/* Text for a model: one block, no object beside it, and a note before and behind what was cut. */
static void a_model_gets_text(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 7, 5000};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct call *call = listed(counts[i]);
        mcp_want_plain(call, i % 2 ? "Cline" : "another");
        size_t max = call->plain_max;
        BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
        mcp_write_result("7", call, true, &out);
        JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&out), JSON_STRICT);
        yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(doc), "result");
        yyjson_val *content = yyjson_obj_get(result, "content");
        struct str text = json_str(yyjson_obj_get(yyjson_arr_get(content, 0), "text"));
        assert_int_equal(yyjson_obj_size(result), 1);
        assert_int_equal(yyjson_arr_size(content), 1);
        assert_int_equal(max, i % 2 ? 7500 : 20000);
        assert_true(text.n > 0 && text.n <= max);
        assert_int_equal(strncmp(text.p, "[cut: ", 6) == 0, counts[i] == 5000);
        assert_int_equal(text.p[text.n - 1] == ']', counts[i] == 5000);
        call_free(call);
    }
}

static void a_model_gets_errors_as_text(void **state)
{
    (void)state;
    struct call *call = listed(0);
    call->failed = true;
    err_set(&call->err, ERR_TOO_LARGE, "it is too large");
    mcp_want_plain(call, NULL);
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    mcp_write_result("7", call, true, &out);
    assert_string_equal(buf_text(&out),
                        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
                        "\"text\":\"TOO_LARGE: it is too large\"}],\"isError\":true}}");
    call_free(call);
}

/* The text block holds the very object that stands beside it. */
static void object_and_text_agree(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 7, 1000};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct call *call = listed(counts[i]);
        BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
        mcp_write_result("7", call, true, &out);
        JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&out), JSON_STRICT);
        yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(doc), "result");
        yyjson_val *object = yyjson_obj_get(result, "structuredContent");
        yyjson_val *block = yyjson_arr_get(yyjson_obj_get(result, "content"), 0);
        JSON_AT_END yyjson_doc *text = parsed_bytes(json_str(yyjson_obj_get(block, "text")),
                                                    JSON_STRICT);
        assert_int_equal(yyjson_arr_size(yyjson_obj_get(object, "entries")), counts[i]);
        assert_true(yyjson_equals(object, yyjson_doc_get_root(text)));
        call_free(call);
    }
}

static yyjson_doc *answer_of(size_t count, bool structure)
{
    struct call *call = listed(count);
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    mcp_write_result("7", call, structure, &out);
    call_free(call);
    return parsed_bytes(buf_str(&out), JSON_STRICT);
}

/* Clients of a revision without objects get the text alone, whole, however long. */
static void older_clients_get_text(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 7, 1000};
    assert_false(mcp_has_structure("2024-11-05") || mcp_has_structure("2025-03-26"));
    assert_true(mcp_has_structure("2025-06-18") && mcp_has_structure("2025-11-25"));
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        JSON_AT_END yyjson_doc *doc = answer_of(counts[i], false);
        yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(doc), "result");
        yyjson_val *block = yyjson_arr_get(yyjson_obj_get(result, "content"), 0);
        assert_null(yyjson_obj_get(result, "structuredContent"));
        JSON_AT_END yyjson_doc *text = parsed_bytes(json_str(yyjson_obj_get(block, "text")),
                                                    JSON_STRICT);
        yyjson_val *entries = yyjson_obj_get(yyjson_doc_get_root(text), "entries");
        assert_int_equal(yyjson_arr_size(entries), counts[i]);
    }
}

/* A long result is not given twice: the text says where it is. */
static void a_long_result_stands_once(void **state)
{
    (void)state;
    JSON_AT_END yyjson_doc *doc = answer_of(4000, true);
    yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(doc), "result");
    yyjson_val *object = yyjson_obj_get(result, "structuredContent");
    yyjson_val *block = yyjson_arr_get(yyjson_obj_get(result, "content"), 0);
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(object, "entries")), 4000);
    assert_non_null(strstr(yyjson_get_str(yyjson_obj_get(block, "text")), "structuredContent"));
    assert_in_range(yyjson_get_len(yyjson_obj_get(block, "text")), 1, 200);
}

/* Whatever room there is: the answer is whole, or it says that it would be too large, and what was there
 * before it stays. */
static void what_does_not_fit_is_an_error(void **state)
{
    (void)state;
    bool fitted = false;
    for (size_t room = 2000; room < 20000; room += 37) {
        struct call *call = listed(20);
        BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
        buf_add_text(&out, "before\n");
        out.max = out.len + room;
        mcp_write_result("7", call, true, &out);
        assert_false(out.failed);
        assert_memory_equal(out.data, "before\n", 7);
        JSON_AT_END yyjson_doc *doc = parsed_bytes((struct str){out.data + 7, out.len - 7},
                                                   JSON_STRICT);
        yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(doc), "result");
        bool failed = yyjson_get_bool(yyjson_obj_get(result, "isError"));
        assert_int_equal(failed, !yyjson_obj_get(result, "structuredContent"));
        assert_int_equal(failed, call->failed && call->err.code == ERR_OUTPUT_LIMIT);
        assert_true(!failed || !fitted);
        fitted = !failed;
        call_free(call);
    }
    assert_true(fitted);
}

static int set_up(void **state)
{
    (void)state;
    registry_use(tools_all);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(a_call_is_read),
        cmocka_unit_test(a_progress_token_is_read),
        cmocka_unit_test(progress_is_short),
        cmocka_unit_test(a_model_gets_text),
        cmocka_unit_test(a_model_gets_errors_as_text),
        cmocka_unit_test(object_and_text_agree),
        cmocka_unit_test(older_clients_get_text),
        cmocka_unit_test(a_long_result_stands_once),
        cmocka_unit_test(what_does_not_fit_is_an_error),
    };
    return cmocka_run_group_tests_name("mcp", tests, set_up, NULL);
}
