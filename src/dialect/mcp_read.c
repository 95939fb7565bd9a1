#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dialect/mcp.h"

/* Newest first: a client that asks for one we do not know is offered that. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

#define CLIENT_NAME_MAX 256

struct method {
    const char *name;
    enum mcp_method method;
    bool notification;
    /* Reads its parameters, an object or NULL. */
    int (*params)(yyjson_val *params, struct mcp_message *ret, struct mcp_error *error);
};

int mcp_fail(struct mcp_error *error, enum mcp_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    error->code = code;
    vsnprintf(error->message, sizeof error->message, fmt, ap);
    va_end(ap);
    return -1;
}

void mcp_message_done(struct mcp_message *m)
{
    request_done(&m->request);
    free(m->progress_json);
    free(m->cancel_json);
    free(m->client);
    m->progress_json = m->cancel_json = m->client = NULL;
}

static int read_initialize(yyjson_val *params, struct mcp_message *ret, struct mcp_error *error)
{
    yyjson_val *version = yyjson_obj_get(params, "protocolVersion");
    if (!yyjson_is_str(version))
        return mcp_fail(error, MCP_INVALID_PARAMS, "`protocolVersion` must be a string");
    ret->version = versions[0];
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        if (str_is(json_str(version), versions[i]))
            ret->version = versions[i];
    }
    ret->elicits = mcp_read_elicits(params, ret->version);
    yyjson_val *name = yyjson_obj_get(yyjson_obj_get(params, "clientInfo"), "name");
    if (yyjson_is_str(name) && yyjson_get_len(name) <= CLIENT_NAME_MAX)
        ret->client = mem_copy(yyjson_get_str(name), yyjson_get_len(name));
    return 0;
}

/* Everything is on one page, whatever cursor a client has kept. */
static int read_tools_list(yyjson_val *params, struct mcp_message *ret, struct mcp_error *error)
{
    (void)ret;
    yyjson_val *cursor = yyjson_obj_get(params, "cursor");
    if (cursor && !yyjson_is_str(cursor))
        return mcp_fail(error, MCP_INVALID_PARAMS, "`cursor` must be a string");
    return 0;
}

static int read_tools_call(yyjson_val *params, struct mcp_message *ret, struct mcp_error *error)
{
    yyjson_val *name = yyjson_obj_get(params, "name");
    yyjson_val *arguments = yyjson_obj_get(params, "arguments");
    if (!yyjson_is_str(name))
        return mcp_fail(error, MCP_INVALID_PARAMS, "`name` must be a string: which tool?");
    if (arguments && !yyjson_is_null(arguments) && !yyjson_is_obj(arguments))
        return mcp_fail(error, MCP_INVALID_PARAMS, "`arguments` must be an object");
    if (strlen(yyjson_get_str(name)) != yyjson_get_len(name))
        return mcp_fail(error, MCP_INVALID_PARAMS,
                        "there is no tool `%.60s…` with a NUL byte in its name",
                        yyjson_get_str(name));
    yyjson_val *id = yyjson_obj_get(yyjson_doc_get_root(ret->request.doc), "id");
    ret->request.id = yyjson_is_str(id) ? mem_copy(yyjson_get_str(id), yyjson_get_len(id))
                                        : mem_dup(ret->request.id_json);
    ret->request.name = mem_copy(yyjson_get_str(name), yyjson_get_len(name));
    ret->request.arguments = arguments;
    ret->progress_json = format_id_json(
        yyjson_obj_get(yyjson_obj_get(params, "_meta"), "progressToken"));
    return 0;
}

static int read_cancelled(yyjson_val *params, struct mcp_message *ret, struct mcp_error *error)
{
    ret->cancel_json = format_id_json(yyjson_obj_get(params, "requestId"));
    return ret->cancel_json ? 0 : mcp_fail(error, MCP_INVALID_PARAMS, "which request?");
}

static const struct method methods[] = {
    {"tools/call", MCP_TOOLS_CALL, false, read_tools_call},
    {"tools/list", MCP_TOOLS_LIST, false, read_tools_list},
    {"ping", MCP_PING, false, NULL},
    {"initialize", MCP_INITIALIZE, false, read_initialize},
    {"notifications/cancelled", MCP_CANCELLED, true, read_cancelled},
};

static const struct method *find_method(struct str name, bool notification)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (methods[i].notification == notification && str_is(name, methods[i].name))
            return &methods[i];
    }
    return NULL;
}

static int read_params(const struct method *method, yyjson_val *root, struct mcp_message *ret,
                       struct mcp_error *error)
{
    yyjson_val *params = yyjson_obj_get(root, "params");
    if (params && !yyjson_is_null(params) && !yyjson_is_obj(params))
        return mcp_fail(error, MCP_INVALID_PARAMS, "`params` must be an object");
    if (!yyjson_is_obj(params))
        params = NULL;
    if (method->params && method->params(params, ret, error) < 0)
        return -1;
    ret->method = method->method;
    return 0;
}

static int read_message(yyjson_val *root, struct mcp_message *ret, struct mcp_error *error)
{
    yyjson_val *id = yyjson_obj_get(root, "id");
    yyjson_val *name = yyjson_obj_get(root, "method");
    if (yyjson_is_arr(root))
        return mcp_fail(error, MCP_INVALID_REQUEST,
                        "batches are not part of the protocol: send one message a line");
    if (!yyjson_is_obj(root))
        return mcp_fail(error, MCP_INVALID_REQUEST, "a message must be a JSON object");
    /* An answer is never answered, however wrong: two sides could go on for ever. */
    if (!name && (yyjson_obj_get(root, "result") || yyjson_obj_get(root, "error"))) {
        ret->request.id_json = format_id_json(id);
        ret->method = ret->request.id_json ? MCP_ANSWER : MCP_NOTHING;
        mcp_read_answer(root, &ret->answer);
        return 0;
    }
    if (id && !(ret->request.id_json = format_id_json(id)))
        return mcp_fail(error, MCP_INVALID_REQUEST,
                        "`id` must be an integer or a string of at most 1024 bytes");
    if (!str_is(json_str(yyjson_obj_get(root, "jsonrpc")), "2.0"))
        return mcp_fail(error, MCP_INVALID_REQUEST, "`jsonrpc` must be \"2.0\"");
    if (!yyjson_is_str(name))
        return mcp_fail(error, MCP_INVALID_REQUEST, "`method` must be a string");
    const struct method *method = find_method(json_str(name), !id);
    if (!id) {
        /* A notification has no answer, so one that is wrong has none either. */
        if (method && read_params(method, root, ret, error) < 0)
            ret->method = MCP_NOTHING;
        return 0;
    }
    if (!method)
        return mcp_fail(error, MCP_METHOD_NOT_FOUND, "there is no method `%.60s` here",
                        yyjson_get_str(name));
    return read_params(method, root, ret, error);
}

int mcp_read(struct str line, struct mcp_message *ret, struct mcp_error *error)
{
    struct json_error why;
    *ret = (struct mcp_message){0};
    int r = json_parse(line.p, line.n, line.n, JSON_STRICT, &ret->request.doc, &why);
    if (r == -ENOMEM) {
        format_scan_id(line, &ret->request);
        return mcp_fail(error, MCP_BUSY, "not enough memory; try again");
    }
    if (r < 0)
        return mcp_fail(error, MCP_PARSE_ERROR, "the line is not valid JSON: %s (at byte %zu)",
                        why.what, why.at);
    return read_message(yyjson_doc_get_root(ret->request.doc), ret, error);
}
