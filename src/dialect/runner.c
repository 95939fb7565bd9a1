#include <string.h>

#include "base/mem.h"
#include "core/call.h"
#include "dialect/dialects.h"
#include "tools/run.h"

/* A tool's `shape` writes the one string that is the answer. */
static void nothing(const struct call *call, struct json_out *j)
{
    (void)call;
    (void)j;
}

static const char *type_words[] = {
    [ARG_STRING] = "string", [ARG_INT] = "integer",   [ARG_BOOL] = "boolean",
    [ARG_CHOICE] = "string", [ARG_SHA256] = "string", [ARG_OBJECT] = "object",
    [ARG_OBJECTS] = "array", [ARG_LIST] = "array",
};

static const char *expected_type(const struct call *call, const char *field)
{
    for (size_t i = 0; call->tool && i < call->tool->args.count; i++) {
        if (strcmp(call->tool->args.args[i].name, field) == 0)
            return type_words[call->tool->args.args[i].type];
    }
    return "object";
}

/* The path as the caller wrote it. */
static char *path_said(const struct call *call)
{
    bool command = tool_runs_programs(call->tool);
    const char *name = command ? "working_directory" : "path";
    yyjson_val *path = yyjson_is_obj(call->arguments) ? yyjson_obj_get(call->arguments, name)
                                                      : NULL;
    return mem_dup(yyjson_is_str(path) ? yyjson_get_str(path) : ".");
}

static char *runner_sentence(const struct call *call, const struct err *err)
{
    FREE_AT_END char *path = path_said(call);
    if (err->code == ERR_NOT_FOUND)
        return mem_format("Error: file not found: %s", path);
    if (err->code == ERR_PATH_OUTSIDE_WORKSPACE || err->code == ERR_SYMLINK_OUTSIDE_WORKSPACE ||
        strcmp(err->reason, "nul_byte") == 0)
        return mem_dup("Error: path traversal not allowed");
    if (err->code == ERR_PERMISSION_DENIED)
        return mem_format("Error: permission denied: %s", path);
    if (err->code == ERR_UNKNOWN_TOOL)
        return mem_format("Error: unknown tool: %s", call->name ? call->name : "");
    if (err->code == ERR_INVALID_ARGUMENTS && strcmp(err->reason, "missing") == 0)
        return mem_format("Error: missing required parameter: %s", err->field);
    if (err->code == ERR_INVALID_ARGUMENTS && strcmp(err->reason, "type") == 0)
        return mem_format("Error: invalid type for parameter %s: expected %s", err->field,
                          expected_type(call, err->field));
    return mem_format("Error: %s", err->message);
}

static void write_runner_failure(const struct call *call, const struct err *err, struct json_out *j)
{
    FREE_AT_END char *sentence = runner_sentence(call, err);
    size_t room = strlen(sentence) + (call->command ? 2 * call->command->max_output + 8192 : 1);
    BUF_AT_END struct buf text = BUF_INIT(room);
    buf_add_text(&text, sentence);
    if (call->command && run_has_printed(call) && !j->redact) {
        run_end_line(&text);
        run_add_printed(call, &text);
    }
    jo_str(j, buf_str(&text));
}

const struct dialect dialect_runner = {
    .id = DIALECT_RUNNER,
    .name = "runner",
    .text = true,
    .open = nothing,
    .close = nothing,
    .fail = write_runner_failure,
    .instructions =
        "These tools work on one folder, the workspace. Paths are relative to it; nothing outside can "
        "be reached. The answer of a failed call begins with `Error: `.",
};
