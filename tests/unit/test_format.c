#include <cmocka.h>

#include "core/registry.h"
#include "dialect/dialects.h"
#include "dialect/format.h"
#include "json_text.h"
#include "tools/all.h"

static const struct root root = {"workspace", "/workspace", "/srv/work", true};
static struct workplace workplace = {&root, 1, NULL, {.id = TIER_FULL}, ""};

static int read_line(enum format_id format, const char *line, struct request *ret, struct err *err)
{
    *ret = (struct request){0};
    return format_read(format, parsed(line), ret, err);
}

/* The arguments as JSON text, "" where there are none; free it. */
static char *arguments_of(const struct request *request)
{
    return request->arguments ? yyjson_val_write(request->arguments, 0, NULL) : mem_dup("");
}

struct good {
    const char *line;
    const char *id_json; /* NULL: none */
    const char *id;
    const char *name;
    const char *arguments;
};

static void check_good(enum format_id format, const struct good *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CLEANUP(request_done) struct request request;
        struct err err;
        if (read_line(format, cases[i].line, &request, &err) < 0)
            fail_msg("%s: %s", cases[i].line, err.message);
        FREE_AT_END char *arguments = arguments_of(&request);
        FREE_AT_END char *expected = quoted(cases[i].arguments);
        assert_string_equal(request.name, cases[i].name);
        assert_string_equal(arguments, expected);
        assert_int_equal(!request.id_json, !cases[i].id_json);
        assert_int_equal(!request.id, !cases[i].id_json);
        if (request.id_json && cases[i].id_json) {
            FREE_AT_END char *id_json = quoted(cases[i].id_json);
            assert_string_equal(request.id_json, id_json);
            assert_string_equal(request.id, cases[i].id);
        }
    }
}

static void tool_calls_old_and_new(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"{'id':'1','tool_call':{'name':'stat','arguments':{'path':'a'}}}", "'1'", "1", "stat",
         "{'path':'a'}"},
        {"{'tool_call':{'name':'stat','arguments':{'path':'a'}}}", NULL, NULL, "stat",
         "{'path':'a'}"},
        {"{'tool_call':{'name':'time.now'}}", NULL, NULL, "time.now", ""},
        {"{'tool_call':'time.now'}", NULL, NULL, "time.now", ""},
        {"{'id':'x','tool_call':'time.now'}", "'x'", "x", "time.now", ""},
        {"{'tool_call':{'name':'stat','arguments':null}}", NULL, NULL, "stat", "null"},
        {"{'tool_call':{'name':'stat','arguments':{}},'more':1}", NULL, NULL, "stat", "{}"},
        {"{'tool_call':{'name':''}}", NULL, NULL, "", ""},
    };
    check_good(FORMAT_TOOL_CALL, cases, ARRAY_LEN(cases));
}

static void openai_calls_of_both_kinds(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"{'id':'call_1','type':'function','function':{'name':'stat','arguments':'{\\'path\\':\\'a\\'}'}}",
         "'call_1'", "call_1", "stat", "{'path':'a'}"},
        {"{'id':'call_1','function':{'name':'stat','arguments':{'path':'a'}}}", "'call_1'",
         "call_1", "stat", "{'path':'a'}"},
        {"{'id':'c','type':'function','function':{'name':'time_now','arguments':''}}", "'c'", "c",
         "time_now", ""},
        {"{'id':'c','type':'function','function':{'name':'time_now'}}", "'c'", "c", "time_now", ""},
        {"{'id':'c','type':'function','function':{'name':'time_now','arguments':'{}'}}", "'c'", "c",
         "time_now", "{}"},
        {"{'type':'function_call','id':'fc_1','call_id':'call_2','name':'stat','arguments':'{\\'path\\':\\'.\\'}'}",
         "'call_2'", "call_2", "stat", "{'path':'.'}"},
        {"{'type':'function_call','name':'stat','arguments':'[1]'}", NULL, NULL, "stat", "[1]"},
    };
    check_good(FORMAT_OPENAI, cases, ARRAY_LEN(cases));
    check_good(FORMAT_OPENAI_RESPONSES, cases, ARRAY_LEN(cases));
}

static void anthropic_blocks(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"{'type':'tool_use','id':'toolu_1','name':'stat','input':{'path':'a'}}", "'toolu_1'",
         "toolu_1", "stat", "{'path':'a'}"},
        {"{'type':'tool_use','id':'t','name':'stat','input':{},'caller':{'type':'direct'}}", "'t'",
         "t", "stat", "{}"},
        {"{'id':'t','name':'time_now'}", "'t'", "t", "time_now", ""},
        {"{'type':'tool_use','name':'time.now','input':null}", NULL, NULL, "time.now", "null"},
        {"{'type':'tool_use','id':7,'name':'stat','input':'{\\'path\\':\\'a\\'}'}", "7", "7",
         "stat", "{'path':'a'}"},
        {"{'type':'tool_use','id':'t','name':'time_now','input':''}", "'t'", "t", "time_now", ""},
    };
    check_good(FORMAT_ANTHROPIC, cases, ARRAY_LEN(cases));
}

static void ollama_calls_old_and_new(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"{'function':{'name':'fs.read','arguments':{'path':'a'}}}", NULL, NULL, "fs.read",
         "{'path':'a'}"},
        {"{'id':'call_1','function':{'index':0,'name':'stat','arguments':{'path':'a'}}}",
         "'call_1'", "call_1", "stat", "{'path':'a'}"},
        {"{'type':'function','function':{'name':'time_now'}}", NULL, NULL, "time_now", ""},
        {"{'function':{'name':'stat','arguments':'{\\'path\\':\\'a\\'}'}}", NULL, NULL, "stat",
         "{'path':'a'}"},
    };
    check_good(FORMAT_OLLAMA, cases, ARRAY_LEN(cases));
}

static void what_is_no_call_is_refused(void **state)
{
    (void)state;
    static const struct {
        enum format_id format;
        const char *line;
        const char *field;
    } cases[] = {
        {FORMAT_TOOL_CALL, "[]", ""},
        {FORMAT_TOOL_CALL, "'stat'", ""},
        {FORMAT_TOOL_CALL, "{}", "tool_call"},
        {FORMAT_TOOL_CALL, "{'id':'1'}", "tool_call"},
        {FORMAT_TOOL_CALL, "{'tool_call':[]}", "tool_call"},
        {FORMAT_TOOL_CALL, "{'tool_call':null}", "tool_call"},
        {FORMAT_TOOL_CALL, "{'tool_call':{}}", "name"},
        {FORMAT_TOOL_CALL, "{'tool_call':{'name':5}}", "name"},
        {FORMAT_TOOL_CALL, "{'id':1.5,'tool_call':'stat'}", "id"},
        {FORMAT_TOOL_CALL, "{'id':true,'tool_call':'stat'}", "id"},
        {FORMAT_TOOL_CALL, "{'id':{},'tool_call':'stat'}", "id"},
        {FORMAT_TOOL_CALL, "{'function':{'name':'stat'}}", "tool_call"},
        {FORMAT_OPENAI, "[]", ""},
        {FORMAT_OPENAI, "{}", "function"},
        {FORMAT_OPENAI, "{'function':'stat'}", "function"},
        {FORMAT_OPENAI, "{'function':{}}", "name"},
        {FORMAT_OPENAI, "{'type':'function_call'}", "name"},
        {FORMAT_OPENAI, "{'type':'function_call','call_id':[],'name':'stat'}", "call_id"},
        {FORMAT_OPENAI, "{'function':{'name':'stat','arguments':'{'}}", "arguments"},
        {FORMAT_OPENAI, "{'function':{'name':'stat','arguments':'{} x'}}", "arguments"},
        {FORMAT_OPENAI, "{'function':{'name':'stat','arguments':'{\\'a\\':1,\\'a\\':2}'}}",
         "arguments"},
        {FORMAT_OPENAI, "{'tool_call':'stat'}", "function"},
        {FORMAT_OPENAI_RESPONSES, "{}", "type"},
        {FORMAT_OPENAI_RESPONSES, "{'call_id':{}}", "call_id"},
        {FORMAT_OPENAI_RESPONSES, "{'type':'reasoning'}", "type"},
        {FORMAT_OPENAI_RESPONSES, "{'type':'function_call'}", "name"},
        {FORMAT_OPENAI_RESPONSES, "{'function':'stat'}", "function"},
        {FORMAT_ANTHROPIC, "[]", ""},
        {FORMAT_ANTHROPIC, "{}", "name"},
        {FORMAT_ANTHROPIC, "{'type':'tool_use','id':'t'}", "name"},
        {FORMAT_ANTHROPIC, "{'type':'tool_use','name':{}}", "name"},
        {FORMAT_ANTHROPIC, "{'type':'text','text':'stat'}", "type"},
        {FORMAT_ANTHROPIC, "{'type':'server_tool_use','id':'t','name':'stat','input':{}}", "type"},
        {FORMAT_ANTHROPIC, "{'type':5,'name':'stat'}", "type"},
        {FORMAT_ANTHROPIC, "{'type':'tool_use','id':[],'name':'stat'}", "id"},
        {FORMAT_ANTHROPIC, "{'type':'tool_use','name':'stat','input':'{'}", "input"},
        {FORMAT_OLLAMA, "[]", ""},
        {FORMAT_OLLAMA, "{}", "function"},
        {FORMAT_OLLAMA, "{'function':[]}", "function"},
        {FORMAT_OLLAMA, "{'name':'stat','arguments':{}}", "function"},
        {FORMAT_OLLAMA, "{'function':{'arguments':{}}}", "name"},
        {FORMAT_OLLAMA, "{'id':false,'function':{'name':'stat'}}", "id"},
        {FORMAT_OLLAMA, "{'function':{'name':'stat','arguments':'path'}}", "arguments"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(request_done) struct request request;
        struct err err = {0};
        if (read_line(cases[i].format, cases[i].line, &request, &err) == 0)
            fail_msg("taken: %s", cases[i].line);
        assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
        if (strcmp(err.field, cases[i].field) != 0)
            fail_msg("%s: field %s", cases[i].line, err.field);
    }
}

/* A name is compared as a whole, not up to its first NUL. */
static void a_name_with_a_nul_byte_is_no_tool(void **state)
{
    (void)state;
    static const struct {
        enum format_id format;
        const char *line;
    } cases[] = {
        {FORMAT_TOOL_CALL, "{'tool_call':'time.now\\u0000'}"},
        {FORMAT_TOOL_CALL, "{'tool_call':{'name':'time.now\\u0000x'}}"},
        {FORMAT_OPENAI, "{'function':{'name':'time_now\\u0000'}}"},
        {FORMAT_OPENAI_RESPONSES, "{'type':'function_call','name':'\\u0000'}"},
        {FORMAT_ANTHROPIC, "{'type':'tool_use','name':'time_now\\u0000'}"},
        {FORMAT_OLLAMA, "{'function':{'name':'\\u0000time_now'}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(request_done) struct request request;
        struct err err = {0};
        assert_int_equal(read_line(cases[i].format, cases[i].line, &request, &err), -1);
        assert_int_equal(err_row(err.code)->kind, KIND_MODEL);
    }
}

static void a_refused_call_still_has_its_id(void **state)
{
    (void)state;
    static const struct {
        enum format_id format;
        const char *line;
    } cases[] = {
        {FORMAT_TOOL_CALL, "{'id':'7','tool_call':5}"},
        {FORMAT_OPENAI, "{'id':'7','function':{'name':'stat','arguments':'{'}}"},
        {FORMAT_OPENAI_RESPONSES, "{'call_id':'7','name':'stat'}"},
        {FORMAT_ANTHROPIC, "{'id':'7','type':'text'}"},
        {FORMAT_OLLAMA, "{'id':'7','name':'stat'}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(request_done) struct request request;
        struct err err;
        assert_int_equal(read_line(cases[i].format, cases[i].line, &request, &err), -1);
        assert_string_equal(request.id_json, "\"7\"");
    }
}

/* --- answers */

static struct call *finished_call(bool failed)
{
    struct call *call = call_new();
    call->workplace = &workplace;
    call->dialect = &dialect_native;
    call->tool = &native_time_now;
    call->reply.time_ms = 1714564800123;
    call->failed = failed;
    if (failed)
        err_set(&call->err, ERR_NOT_FOUND, "it is \"gone\"");
    return call;
}

static yyjson_doc *answer_to(enum format_id format, const char *line, bool failed, bool bare)
{
    CLEANUP(request_done) struct request request;
    struct err err;
    assert_int_equal(read_line(format, line, &request, &err), 0);
    struct call *call = finished_call(failed);
    BUF_AT_END struct buf out = BUF_INIT(10000);
    call->name = TAKE_PTR(request.name);
    format_write(format, &request, call, bare, &out);
    call_free(call);
    assert_false(out.failed);
    assert_null(memchr(out.data, '\n', out.len));
    return parsed_bytes(buf_str(&out), JSON_STRICT);
}

static void assert_answer(yyjson_val *answer, bool failed)
{
    assert_int_equal(yyjson_get_bool(yyjson_obj_get(answer, "ok")), !failed);
    yyjson_val *part = yyjson_obj_get(answer, failed ? "error" : "result");
    if (failed)
        assert_true(yyjson_equals_str(yyjson_obj_get(part, "message"), "it is \"gone\""));
    else
        assert_int_equal(yyjson_get_sint(yyjson_obj_get(part, "unix_ms")), 1714564800123);
}

static void answers_of_tool_calls(void **state)
{
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        JSON_AT_END yyjson_doc *doc = answer_to(FORMAT_TOOL_CALL, "{'id':'q','tool_call':'x'}",
                                                failed, false);
        yyjson_val *line = yyjson_doc_get_root(doc);
        assert_int_equal(yyjson_obj_size(line), 2);
        assert_true(yyjson_equals_str(yyjson_obj_get(line, "id"), "q"));
        assert_answer(yyjson_obj_get(line, "result"), failed);
        JSON_AT_END yyjson_doc *bare = answer_to(FORMAT_TOOL_CALL, "{'id':'q','tool_call':'x'}",
                                                 failed, true);
        assert_answer(yyjson_doc_get_root(bare), failed);
    }
}

static void assert_inner_answer(yyjson_val *text, bool failed)
{
    assert_true(yyjson_is_str(text));
    JSON_AT_END yyjson_doc *inner = parsed_bytes(json_str(text), JSON_STRICT);
    assert_answer(yyjson_doc_get_root(inner), failed);
}

static void answers_of_openai_calls(void **state)
{
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        JSON_AT_END yyjson_doc *chat = answer_to(
            FORMAT_OPENAI, "{'id':'q','function':{'name':'x'}}", failed, false);
        yyjson_val *message = yyjson_doc_get_root(chat);
        assert_true(yyjson_equals_str(yyjson_obj_get(message, "role"), "tool"));
        assert_true(yyjson_equals_str(yyjson_obj_get(message, "tool_call_id"), "q"));
        assert_inner_answer(yyjson_obj_get(message, "content"), failed);
        JSON_AT_END yyjson_doc *responses = answer_to(
            FORMAT_OPENAI, "{'type':'function_call','call_id':'q','id':'z','name':'x'}", failed,
            false);
        yyjson_val *item = yyjson_doc_get_root(responses);
        assert_true(yyjson_equals_str(yyjson_obj_get(item, "type"), "function_call_output"));
        assert_true(yyjson_equals_str(yyjson_obj_get(item, "call_id"), "q"));
        assert_inner_answer(yyjson_obj_get(item, "output"), failed);
    }
}

static void answers_of_anthropic_blocks(void **state)
{
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        JSON_AT_END yyjson_doc *doc = answer_to(
            FORMAT_ANTHROPIC, "{'type':'tool_use','id':'q','name':'x'}", failed, false);
        yyjson_val *block = yyjson_doc_get_root(doc);
        assert_int_equal(yyjson_obj_size(block), 4);
        assert_true(yyjson_equals_str(yyjson_obj_get(block, "type"), "tool_result"));
        assert_true(yyjson_equals_str(yyjson_obj_get(block, "tool_use_id"), "q"));
        assert_inner_answer(yyjson_obj_get(block, "content"), failed);
        assert_true(yyjson_is_bool(yyjson_obj_get(block, "is_error")));
        assert_int_equal(yyjson_get_bool(yyjson_obj_get(block, "is_error")), failed);
    }
}

static void answers_of_ollama_calls(void **state)
{
    (void)state;
    for (int with_id = 0; with_id < 2; with_id++) {
        JSON_AT_END yyjson_doc *doc = answer_to(FORMAT_OLLAMA,
                                                with_id ? "{'id':'q','function':{'name':'x.y'}}"
                                                        : "{'function':{'name':'x.y'}}",
                                                with_id, false);
        yyjson_val *message = yyjson_doc_get_root(doc);
        assert_int_equal(yyjson_obj_size(message), 3 + with_id);
        assert_true(yyjson_equals_str(yyjson_obj_get(message, "role"), "tool"));
        assert_true(yyjson_equals_str(yyjson_obj_get(message, "tool_name"), "x.y"));
        assert_inner_answer(yyjson_obj_get(message, "content"), with_id);
        if (with_id)
            assert_true(yyjson_equals_str(yyjson_obj_get(message, "tool_call_id"), "q"));
    }
}

static void what_a_command_prints(void **state)
{
    (void)state;
    CLEANUP(request_done) struct request request;
    struct err err;
    struct printed printed = {STREAM_STDERR, STR("\"a\"\n\xff"), 0};
    assert_int_equal(read_line(FORMAT_TOOL_CALL, "{'id':'q\\n','tool_call':'x'}", &request, &err),
                     0);
    for (int i = 0; i < 2; i++) {
        BUF_AT_END struct buf out = BUF_INIT(10000);
        FREE_AT_END char *expected = quoted(
            i ? "{'id':'q\\n','event':'output','stream':'stdout','skipped':5,'data':''}"
              : "{'id':'q\\n','event':'output','stream':'stderr','data':'\\'a\\'\\n\xef\xbf\xbd'}");
        format_write_printed(FORMAT_TOOL_CALL, &request, &printed, &out);
        assert_string_equal(buf_text(&out), expected);
        printed = (struct printed){STREAM_STDOUT, STR(""), 5};
    }
    for (int format = 0; format < FORMAT_COUNT; format++)
        assert_int_equal(format_has_printed((enum format_id)format), format == FORMAT_TOOL_CALL);
}

/* What was not even read is answered in the API's own kind. */
static void answers_without_a_request(void **state)
{
    (void)state;
    static const char *const expected[FORMAT_COUNT] = {
        [FORMAT_TOOL_CALL] = "{'id':null,'result':",
        [FORMAT_OPENAI] = "{'role':'tool','tool_call_id':null,'content':'{",
        [FORMAT_OPENAI_RESPONSES] = "{'type':'function_call_output','call_id':null,'output':'{",
        [FORMAT_ANTHROPIC] = "{'type':'tool_result','tool_use_id':null,'content':'{",
        [FORMAT_OLLAMA] = "{'role':'tool','tool_name':null,'content':'{",
    };
    for (int format = 0; format < FORMAT_COUNT; format++) {
        struct call *call = finished_call(true);
        BUF_AT_END struct buf out = BUF_INIT(10000);
        format_write((enum format_id)format, &(struct request){0}, call, false, &out);
        FREE_AT_END char *start = quoted(expected[format]);
        buf_add_char(&out, '\0');
        assert_ptr_equal(strstr(out.data, start), out.data);
        call_free(call);
    }
}

static void open_string(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_str(j, STR("Wrote \"a\"\n\\ \xc3\xa9"));
}

static void close_string(const struct call *call, struct json_out *j)
{
    (void)call;
    (void)j;
}

static void fail_string(const struct call *call, const struct err *err, struct json_out *j)
{
    (void)call;
    BUF_AT_END struct buf text = BUF_INIT(1000);
    buf_addf(&text, "Error: %s", err->message);
    jo_str(j, buf_str(&text));
}

static int shape_nothing(const struct call *call, struct json_out *j, struct err *err)
{
    (void)call;
    (void)j;
    (void)err;
    return 0;
}

/* A dialect whose answers are plain strings: they stand in the envelope as they are. */
static void an_answer_that_is_a_string_is_not_quoted_twice(void **state)
{
    (void)state;
    static const struct dialect strings = {
        .name = "strings", .open = open_string, .close = close_string, .fail = fail_string};
    static const struct tool tool = {.name = "x", .shape = shape_nothing};
    for (int format = 0; format < FORMAT_COUNT; format++) {
        for (int failed = 0; failed < 2; failed++) {
            struct call *call = finished_call(failed);
            call->dialect = &strings;
            call->tool = &tool;
            BUF_AT_END struct buf out = BUF_INIT(10000);
            format_write((enum format_id)format, &(struct request){0}, call, false, &out);
            call_free(call);
            JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&out), JSON_STRICT);
            yyjson_val *line = yyjson_doc_get_root(doc);
            yyjson_val *content = yyjson_obj_get(line, format == FORMAT_TOOL_CALL ? "result"
                                                       : format == FORMAT_OPENAI_RESPONSES
                                                           ? "output"
                                                           : "content");
            assert_true(yyjson_equals_str(content, failed ? "Error: it is \"gone\""
                                                          : "Wrote \"a\"\n\\ \xc3\xa9"));
        }
    }
}

static int shape_quotes(const struct call *call, struct json_out *j, struct err *err)
{
    (void)call;
    (void)err;
    char quotes[400];
    memset(quotes, '"', sizeof quotes);
    jo_kstr(j, "content", (struct str){quotes, sizeof quotes});
    return 0;
}

/* 400 quotes are 800 bytes in an answer and 1600 in the string around it. */
static void an_answer_that_grows_over_the_limit_is_an_error(void **state)
{
    (void)state;
    static const struct tool tool = {.name = "x", .shape = shape_quotes};
    for (int format = FORMAT_OPENAI; format < FORMAT_COUNT; format++) {
        struct call *call = finished_call(false);
        call->tool = &tool;
        BUF_AT_END struct buf out = BUF_INIT(1200);
        buf_add_char(&out, ' ');
        format_write((enum format_id)format, &(struct request){0}, call, false, &out);
        assert_false(out.failed);
        assert_int_equal(call->err.code, ERR_OUTPUT_LIMIT);
        call_free(call);
        JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&out), JSON_STRICT);
        if (format == FORMAT_ANTHROPIC)
            assert_true(yyjson_get_bool(yyjson_obj_get(yyjson_doc_get_root(doc), "is_error")));
    }
}

/* What one gate sends to another is what that one reads. */
static void calls_as_they_are_passed_on(void **state)
{
    (void)state;
    for (int format = 0; format < FORMAT_COUNT; format++) {
        CLEANUP(request_done) struct request request = {0};
        struct err err = {0};
        BUF_AT_END struct buf out = BUF_INIT(10000);
        format_write_call((enum format_id)format, "stat", STR("{\n\"path\": \"a\"}"), &out);
        assert_null(memchr(out.data, '\n', out.len));
        assert_int_equal(format_read((enum format_id)format,
                                     parsed_bytes(buf_str(&out), JSON_STRICT), &request, &err),
                         0);
        FREE_AT_END char *arguments = arguments_of(&request);
        assert_string_equal(request.name, "stat");
        assert_string_equal(arguments, "{\"path\":\"a\"}");
        out.len = 0;
        format_write_call((enum format_id)format, "stat", STR("no \"JSON\""), &out);
        JSON_AT_END yyjson_doc *still_json = parsed_bytes(buf_str(&out), JSON_STRICT);
        assert_non_null(still_json);
    }
}

/* Given back as it came: a string stays a string, a number a number. */
static void ids_come_back_unchanged(void **state)
{
    (void)state;
    char long_id[1100];
    memset(long_id, 'i', sizeof long_id);
    long_id[0] = long_id[1025] = '\'';
    long_id[1026] = '\0';
    const char *const ids[] = {"'1'",
                               "1",
                               "0",
                               "-5",
                               "18446744073709551615",
                               "-9223372036854775808",
                               "''",
                               "'a\\u0000b'",
                               "'\\u2028\\n\\\\'",
                               "'\\u00e4 \\ud83d\\ude00'",
                               "null",
                               long_id};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        FREE_AT_END char *line = mem_format("{'id':%s,'tool_call':'x'}", ids[i]);
        JSON_AT_END yyjson_doc *request = parsed(line);
        JSON_AT_END yyjson_doc *answer = answer_to(FORMAT_TOOL_CALL, line, false, false);
        yyjson_val *sent = yyjson_obj_get(yyjson_doc_get_root(request), "id");
        yyjson_val *back = yyjson_obj_get(yyjson_doc_get_root(answer), "id");
        if (!yyjson_equals(sent, back))
            fail_msg("%s", line);
    }
    JSON_AT_END yyjson_doc *answer = answer_to(FORMAT_TOOL_CALL, "{'tool_call':'x'}", false, false);
    assert_true(yyjson_is_null(yyjson_obj_get(yyjson_doc_get_root(answer), "id")));
}

static void an_id_has_a_limit(void **state)
{
    (void)state;
    char line[1200];
    memset(line, 'i', sizeof line);
    memcpy(line, "{'id':'", 7);
    memcpy(line + 7 + 1025, "','tool_call':'x'}", 19);
    CLEANUP(request_done) struct request request;
    struct err err;
    assert_int_equal(read_line(FORMAT_TOOL_CALL, line, &request, &err), -1);
    assert_string_equal(err.field, "id");
    assert_null(request.id);
}

/* --- lists */

static void tools_are_listed_in_each_format(void **state)
{
    (void)state;
    static const struct dialect *const dialects[] = {&dialect_native, &dialect_toolhost};
    registry_use(tools_all);
    for (size_t d = 0; d < ARRAY_LEN(dialects); d++) {
        const struct tool *tools[32] = {NULL};
        for (size_t n = 0; n < ARRAY_LEN(tools) - 1; n++) {
            tools[n] = registry_next(dialects[d]->id, n ? tools[n - 1] : NULL);
            if (!tools[n])
                break;
        }
        for (int format = 0; format < FORMAT_COUNT; format++) {
            bool nested = format == FORMAT_OPENAI || format == FORMAT_OLLAMA;
            bool dots = format == FORMAT_TOOL_CALL || format == FORMAT_OLLAMA;
            const char *schema = nested || format == FORMAT_OPENAI_RESPONSES ? "parameters"
                                                                             : "input_schema";
            BUF_AT_END struct buf out = BUF_INIT(1u << 20);
            format_list((enum format_id)format, tools, false, &(struct json_out){.out = &out});
            JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&out), JSON_STRICT);
            yyjson_val *item = yyjson_arr_get_first(yyjson_doc_get_root(doc));
            size_t listed = 0;
            for (const struct tool *t = NULL; (t = registry_next(dialects[d]->id, t));) {
                yyjson_val *function = nested ? yyjson_obj_get(item, "function") : item;
                const char *name = !dots && t->alias ? t->alias : t->name;
                assert_true(dots || !strchr(name, '.'));
                assert_true(yyjson_equals_str(yyjson_obj_get(function, "name"), name));
                assert_true(
                    yyjson_equals_str(yyjson_obj_get(function, "description"), t->description));
                assert_true(yyjson_is_obj(yyjson_obj_get(function, schema)));
                item = unsafe_yyjson_get_next(item);
                listed++;
            }
            assert_int_equal(listed, yyjson_arr_size(yyjson_doc_get_root(doc)));
            assert_true(listed > 0);
        }
    }
}

static void formats_and_dialects_have_names(void **state)
{
    (void)state;
    enum format_id format = FORMAT_COUNT;
    struct err err = {0};
    assert_int_equal(format_find("tool_call", &format, &err), 0);
    assert_int_equal(format, FORMAT_TOOL_CALL);
    assert_int_equal(format_find("openai", &format, &err), 0);
    assert_int_equal(format, FORMAT_OPENAI);
    assert_int_equal(format_find("openai-responses", &format, &err), 0);
    assert_int_equal(format, FORMAT_OPENAI_RESPONSES);
    assert_int_equal(format_find("anthropic", &format, &err), 0);
    assert_int_equal(format, FORMAT_ANTHROPIC);
    assert_int_equal(format_find("ollama", &format, &err), 0);
    assert_int_equal(format, FORMAT_OLLAMA);
    assert_int_equal(format_find("open", &format, &err), -1);
    assert_non_null(strstr(err.message, "tool_call"));
    assert_non_null(strstr(err.message, "ollama"));
    assert_ptr_equal(dialect_find("native", &err), &dialect_native);
    assert_ptr_equal(dialect_find("toolhost", &err), &dialect_toolhost);
    assert_null(dialect_find("Native", &err));
    assert_non_null(strstr(err.message, "toolhost"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tool_calls_old_and_new),
        cmocka_unit_test(openai_calls_of_both_kinds),
        cmocka_unit_test(anthropic_blocks),
        cmocka_unit_test(ollama_calls_old_and_new),
        cmocka_unit_test(what_is_no_call_is_refused),
        cmocka_unit_test(a_name_with_a_nul_byte_is_no_tool),
        cmocka_unit_test(a_refused_call_still_has_its_id),
        cmocka_unit_test(answers_of_tool_calls),
        cmocka_unit_test(answers_of_openai_calls),
        cmocka_unit_test(answers_of_anthropic_blocks),
        cmocka_unit_test(answers_of_ollama_calls),
        cmocka_unit_test(what_a_command_prints),
        cmocka_unit_test(answers_without_a_request),
        cmocka_unit_test(an_answer_that_is_a_string_is_not_quoted_twice),
        cmocka_unit_test(an_answer_that_grows_over_the_limit_is_an_error),
        cmocka_unit_test(calls_as_they_are_passed_on),
        cmocka_unit_test(ids_come_back_unchanged),
        cmocka_unit_test(an_id_has_a_limit),
        cmocka_unit_test(tools_are_listed_in_each_format),
        cmocka_unit_test(formats_and_dialects_have_names),
    };
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
