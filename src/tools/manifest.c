#include "tools/manifest.h"

#include "core/call.h"

static const struct arg manifest_result[] = {
    {.name = "output", .type = ARG_OBJECT, .flags = ARG_REQUIRED, .doc = "What the tool answered."},
    {.name = "log",
     .type = ARG_STRING,
     .doc = "What it wrote to standard error, up to 16 KiB; left out where that is nothing."},
};

static const struct manifest *manifest_of(const struct call *call)
{
    return (const void *)call->tool;
}

static int prepare_manifest_tool(struct call *call, struct err *err)
{
    err_set(err, ERR_NOT_SUPPORTED,
            "`%.60s` comes with a manifest, and those are listed but not run here (runtime.tools, "
            "TOOL_RUNTIME: builtin)",
            manifest_of(call)->tool.name);
    return err_reason(err, "runtime_builtin");
}

static int shape_manifest_tool(const struct call *call, struct json_out *j, struct err *err)
{
    (void)call;
    (void)j;
    return err_set(err, ERR_NOT_SUPPORTED, "it was not run");
}

void manifest_tool_init(struct manifest *manifest)
{
    struct tool *tool = &manifest->tool;
    tool->result = (struct arg_table)ARG_TABLE(manifest_result, char);
    tool->runner = RUN_BUILTIN;
    tool->prepare = prepare_manifest_tool;
    tool->shape = shape_manifest_tool;
}
