/* Any line as a request of each format: what is read can be answered, and the answer bears the id
 * that the request had. */
#include <string.h>

#include "core/registry.h"
#include "dialect/dialects.h"
#include "dialect/format.h"
#include "target.h"
#include "tools/all.h"

#define ANSWER_MAX (1u << 20)

static const struct root root = {"workspace", "/workspace", "/srv/work", true};
static struct workplace workplace = {&root, 1, NULL, {.id = TIER_FULL}, ""};

/* Where a request has its id, and its answer. */
struct id_keys {
    const char *asked;
    const char *answered;
};

static struct id_keys id_keys(enum format_id format, const struct request *request)
{
    bool openai = format == FORMAT_OPENAI || format == FORMAT_OPENAI_RESPONSES;
    if (request->kind == REQUEST_ITEM ||
        (format == FORMAT_OPENAI_RESPONSES && request->kind == REQUEST_PLAIN))
        return (struct id_keys){"call_id", "call_id"};
    if (format == FORMAT_ANTHROPIC)
        return (struct id_keys){"id", "tool_use_id"};
    return (struct id_keys){"id", openai || format == FORMAT_OLLAMA ? "tool_call_id" : "id"};
}

/* The whole name counts: `stat` with a NUL and more behind it is another tool, not `stat`. */
static void check_name(enum format_id format, const struct request *request, yyjson_val *line)
{
    bool flat = format == FORMAT_ANTHROPIC || request->kind == REQUEST_ITEM;
    yyjson_val *call = flat ? line
                            : yyjson_obj_get(line,
                                             format == FORMAT_TOOL_CALL ? "tool_call" : "function");
    yyjson_val *name = yyjson_is_str(call) ? call : yyjson_obj_get(call, "name");
    must(yyjson_is_str(name) && str_is(json_str(name), request->name));
}

static void check_answer(enum format_id format, const struct request *request, struct call *call,
                         yyjson_val *line)
{
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    format_write(format, request, call, false, &out);
    must(!out.failed && !memchr(out.data, '\n', out.len));
    JSON_AT_END yyjson_doc *answer = NULL;
    must(json_parse(out.data, out.len, out.len, JSON_STRICT, &answer, NULL) == 0);
    struct id_keys keys = id_keys(format, request);
    yyjson_val *back = yyjson_obj_get(yyjson_doc_get_root(answer), keys.answered);
    if (request->id_json)
        must(yyjson_is_str(back) || yyjson_is_int(back));
    else
        must(format == FORMAT_OLLAMA ? !back : yyjson_is_null(back));
    must(!request->id_json || yyjson_equals(yyjson_obj_get(line, keys.asked), back));
}

static void check(enum format_id format, const char *text, size_t n)
{
    JSON_AT_END yyjson_doc *line = NULL;
    yyjson_doc *doc = NULL;
    if (json_parse(text, n, n, JSON_STRICT, &line, NULL) < 0 ||
        json_parse(text, n, n, JSON_STRICT, &doc, NULL) < 0)
        return;
    CLEANUP(request_done) struct request request = {0};
    struct call *call = call_new();
    call->workplace = &workplace;
    call->dialect = &dialect_native;
    call->failed = true;
    int r = format_read(format, doc, &request, &call->err);
    must(!request.id == !request.id_json);
    if (r == 0) {
        must(request.name && request.doc);
        check_name(format, &request, yyjson_doc_get_root(line));
        const struct tool *tool = registry_find(
            DIALECT_NATIVE, (struct str){request.name, strlen(request.name)}, &call->err);
        if (tool && arg_decode(&tool->args, true, request.arguments, &call->args, &call->err) == 0)
            err_set(&call->err, ERR_INTERNAL, "understood");
    } else {
        must(err_row(call->err.code)->kind == KIND_MODEL && call->err.message[0]);
    }
    check_answer(format, &request, call, yyjson_doc_get_root(line));
    call_free(call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    registry_use(tools_all);
    for (int format = 0; format < FORMAT_COUNT; format++)
        check((enum format_id)format, (const char *)data, size);
    return 0;
}
