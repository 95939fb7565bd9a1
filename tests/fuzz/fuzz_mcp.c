/* Any line as a message of the Model Context Protocol: it is understood, passed over or refused with one of
 * the protocol's codes, and the answer is one line of JSON that bears the id the message had. */
#include <string.h>

#include "core/registry.h"
#include "dialect/dialects.h"
#include "dialect/mcp.h"
#include "target.h"
#include "tools/all.h"

#define ANSWER_MAX (1u << 20)

static const struct root root = {"workspace", "/workspace", "/srv/work", true};
static struct workplace workplace = {&root, 1, NULL, {.id = TIER_FULL}, ""};

static void check_answer(const struct buf *out, yyjson_val *id, const char *key)
{
    must(!out->failed && !memchr(out->data, '\n', out->len));
    JSON_AT_END yyjson_doc *doc = NULL;
    must(json_parse(out->data, out->len, out->len, JSON_STRICT, &doc, NULL) == 0);
    yyjson_val *answer = yyjson_doc_get_root(doc);
    must(yyjson_obj_size(answer) == 3 && yyjson_is_obj(yyjson_obj_get(answer, key)));
    must(yyjson_equals_str(yyjson_obj_get(answer, "jsonrpc"), "2.0"));
    yyjson_val *back = yyjson_obj_get(answer, "id");
    must(id ? yyjson_equals(id, back) : yyjson_is_null(back));
}

/* The text of a failed call is the dialect's error, whatever the arguments were. */
static void check_call(struct mcp_message *m, yyjson_val *id)
{
    struct call *call = call_new();
    struct err err;
    must(m->request.name && m->request.id && m->request.doc);
    call->workplace = &workplace;
    call->dialect = &dialect_native;
    call->failed = true;
    struct str name = {m->request.name, strlen(m->request.name)};
    call->tool = registry_find(DIALECT_NATIVE, name, &err);
    call->doc = TAKE_PTR(m->request.doc);
    call->arguments = m->request.arguments;
    if (strlen(m->request.id) % 3 == 0)
        mcp_want_plain(call, "cline");
    if (call->tool && call_adapt_arguments(call, &err) == 0 &&
        arg_decode(&call->tool->args, true, call->arguments, &call->args, &err) == 0)
        err_set(&err, ERR_INTERNAL, "understood");
    call->err = err;
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    mcp_write_result(m->request.id_json, call, m->request.id == NULL || strlen(m->request.id) % 2,
                     &out);
    check_answer(&out, id, call->tool ? "result" : "error");
    call_free(call);
}

static void write_list(const char *id_json, struct buf *out)
{
    const struct tool *tools[ARRAY_LEN(tools_all)];
    size_t n = 0;
    for (const struct tool *t = NULL; (t = registry_next(DIALECT_NATIVE, t));)
        tools[n++] = t;
    tools[n] = NULL;
    mcp_write_tools(id_json, &dialect_native, tools, strlen(id_json) % 2, out);
}

static void check_understood(struct mcp_message *m, yyjson_val *id)
{
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    switch (m->method) {
    case MCP_TOOLS_CALL:
        check_call(m, id);
        return;
    case MCP_CANCELLED:
        must(!id && m->cancel_json);
        return;
    case MCP_ANSWER:
        must(m->request.id_json && id && !m->request.name);
        must(strlen(m->answer.decision) < sizeof m->answer.decision);
        return;
    case MCP_NOTHING:
        must(!m->cancel_json && !m->request.name);
        return;
    case MCP_INITIALIZE:
        must(m->version != NULL);
        mcp_write_initialized(m->request.id_json, m->version, &dialect_native, m->client != NULL, "",
                              &out);
        break;
    case MCP_TOOLS_LIST:
        write_list(m->request.id_json, &out);
        break;
    case MCP_PING:
        mcp_write_pong(m->request.id_json, &out);
        break;
    }
    must(id != NULL);
    check_answer(&out, id, "result");
}

static void check_refused(const struct mcp_message *m, const struct mcp_error *error,
                          yyjson_doc *line, yyjson_val *id)
{
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    must((error->code == MCP_PARSE_ERROR) == !line && error->message[0]);
    must(error->code == MCP_PARSE_ERROR || error->code == MCP_INVALID_REQUEST || id);
    mcp_write_error(m->request.id_json, error, &out);
    check_answer(&out, m->request.id_json ? id : NULL, "error");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str line = {(const char *)data, size};
    CLEANUP(mcp_message_done) struct mcp_message message = {0};
    struct mcp_error error;
    JSON_AT_END yyjson_doc *doc = NULL;
    if (size == 0)
        return 0;
    registry_use(tools_all);
    json_parse(line.p, line.n, line.n, JSON_STRICT, &doc, NULL);
    yyjson_val *id = yyjson_obj_get(yyjson_doc_get_root(doc), "id");
    if (mcp_read(line, &message, &error) == 0)
        check_understood(&message, id);
    else
        check_refused(&message, &error, doc, id);
    return 0;
}
