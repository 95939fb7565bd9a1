#include "tools/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/call.h"
#include "core/config.h"
#include "core/schema.h"

#define MEBIBYTE ((int64_t)1 << 20)

static const struct arg manifest_result[] = {
    {.name = "output", .type = ARG_OBJECT, .flags = ARG_REQUIRED, .doc = "What the tool answered."},
    {.name = "log",
     .type = ARG_STRING,
     .doc = "What it wrote to standard error, up to 16 KiB; left out where that is nothing."},
    {.name = "log_dropped", .type = ARG_INT, .def = ARG_ABSENT, .doc = "Bytes behind that."},
};

static const struct manifest *manifest_of(const struct call *call)
{
    return (const void *)call->tool;
}

static int refuse_runtime(const struct manifest *m, struct err *err)
{
    err_set(err, ERR_NOT_SUPPORTED,
            "`%.60s` comes with a manifest, and those are listed but not run here (runtime.tools, "
            "TOOL_RUNTIME: builtin)",
            m->tool.name);
    return err_reason(err, "runtime_builtin");
}

/* What a tool asks for and this version has nothing behind. */
static int refuse_capability(const struct manifest *m, struct err *err)
{
    const char *name = manifest_capability_name(m->asks & -m->asks);
    err_set(
        err, ERR_CAPABILITY_DENIED,
        "`%.60s` asks for `%s` (`capabilities` in its manifest), which this version can grant to "
        "no tool in WebAssembly",
        m->tool.name, name);
    return err_reason(err, name);
}

static int64_t smaller(int64_t limit, int64_t other)
{
    return limit && limit < other ? limit : other;
}

static int take_input(struct call *call, struct err *err)
{
    size_t n = 0;
    char *text = call->arguments ? yyjson_val_write(call->arguments, 0, &n) : NULL;
    buf_done(&call->decoded);
    call->decoded = BUF_INIT(n + 16);
    bool all = (text || !call->arguments) && buf_add_text(&call->decoded, text ? text : "{}") == 0;
    free(text);
    if (!all)
        return err_no_memory(err);
    call->request_body = buf_str(&call->decoded);
    return 0;
}

static int prepare_manifest_tool(struct call *call, struct err *err)
{
    const struct manifest *m = manifest_of(call);
    const struct config *config = call->workplace->config;
    if (strcmp(config_text(config, "runtime.tools"), "builtin") == 0)
        return refuse_runtime(m, err);
    if (m->asks)
        return refuse_capability(m, err);
    int64_t seconds = config_int(config, "runtime.timeoutSecs");
    call->op = &op_table[OP_RUN_TOOL];
    call->request.run_tool = (struct op_run_tool_request){
        .name = str_of(m->tool.name),
        .timeout_ms = smaller(call->verdict.max_ms, smaller(m->limits.timeout_ms, seconds * 1000)),
        .memory = smaller(m->limits.memory, config_int(config, "runtime.memoryMb") * MEBIBYTE),
        .fuel = m->limits.fuel,
        .output = smaller(m->limits.output, config_int(config, "limits.maxReplyBytes")),
    };
    call->reply_max = (size_t)call->request.run_tool.output + OP_TOOL_LOG_MAX;
    return take_input(call, err);
}

/* --- what came back */

static struct str answered_bytes(const struct call *call)
{
    return (struct str){call->reply_body.data, (size_t)call->reply.run_tool.output};
}

static yyjson_doc *read_output_json(const struct call *call, struct json_error *why)
{
    struct str text = answered_bytes(call);
    yyjson_doc *doc = NULL;
    return json_parse(text.p, text.n, text.n, JSON_STRICT, &doc, why) < 0 ? NULL : doc;
}

static int judge_manifest_tool(const struct call *call, struct err *err)
{
    struct json_error why = {0};
    struct err misfit;
    const struct manifest *m = manifest_of(call);
    JSON_AT_END yyjson_doc *doc = read_output_json(call, &why);
    if (!doc) {
        err_set(err, ERR_BAD_OUTPUT,
                "the tool wrote no JSON to standard output: %s (after %zu bytes of %zu)", why.what,
                why.at, answered_bytes(call).n);
        return err_reason(err, "no_json");
    }
    if (!m->output || schema_check(m->output, "result", yyjson_doc_get_root(doc), &misfit) == 0)
        return 0;
    err_set(err, ERR_BAD_OUTPUT, "the tool's answer is not what its manifest says: %.300s",
            misfit.message);
    return err_reason(err, "schema");
}

/* Written anew: a line of an answer has to stay one. */
static char *answered_text(const struct call *call, size_t *ret_n, struct err *err)
{
    struct json_error why;
    JSON_AT_END yyjson_doc *doc = read_output_json(call, &why);
    char *text = doc ? yyjson_write(doc, 0, ret_n) : NULL;
    if (!text)
        err_no_memory(err);
    return text;
}

static struct str log_of(const struct call *call)
{
    return str_behind(buf_str(&call->reply_body), (size_t)call->reply.run_tool.output);
}

static int shape_manifest_tool(const struct call *call, struct json_out *j, struct err *err)
{
    size_t n = 0;
    FREE_AT_END char *text = answered_text(call, &n, err);
    if (!text)
        return -1;
    if (j->redact)
        jo_kcontent(j, "output", (struct str){text, n});
    else {
        jo_key(j, "output");
        jo_raw(j, (struct str){text, n});
    }
    if (log_of(call).n)
        jo_kcontent(j, "log", log_of(call));
    if (call->reply.run_tool.dropped)
        jo_kint(j, "log_dropped", call->reply.run_tool.dropped);
    return 0;
}

static int show_manifest_tool(const struct call *call, struct buf *out, struct err *err)
{
    size_t n = 0;
    FREE_AT_END char *text = answered_text(call, &n, err);
    if (!text)
        return -1;
    buf_add(out, text, n);
    if (log_of(call).n) {
        buf_add_text(out, "\n[log]\n");
        buf_add(out, log_of(call).p, log_of(call).n);
    }
    return 0;
}

void manifest_tool_init(struct manifest *manifest)
{
    struct tool *tool = &manifest->tool;
    tool->result = (struct arg_table)ARG_TABLE(manifest_result, char);
    tool->runner = RUN_ROLE;
    tool->prepare = prepare_manifest_tool;
    tool->judge = judge_manifest_tool;
    tool->shape = shape_manifest_tool;
    tool->show = show_manifest_tool;
}
