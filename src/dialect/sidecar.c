#include "core/call.h"
#include "dialect/dialects.h"

static const char *sidecar_tool_name(const struct call *call)
{
    return call->tool ? call->tool->name : call->name;
}

static void open_sidecar_answer(const struct call *call, struct json_out *j)
{
    jo_open(j, '{');
    jo_kbool(j, "success", true);
    jo_ktext(j, "tool", sidecar_tool_name(call));
    jo_key(j, "output");
    jo_open(j, '{');
}

static void close_sidecar_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_close(j, '}');
    jo_ktext(j, "error", NULL);
    jo_close(j, '}');
}

/* The envelope of a call that was done. */
static void write_schema(const struct tool *tool, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "type", "object");
    jo_key(j, "properties");
    jo_open(j, '{');
    jo_key(j, "success");
    jo_raw(j, STR("{\"type\":\"boolean\"}"));
    jo_key(j, "tool");
    jo_raw(j, STR("{\"type\":\"string\"}"));
    jo_key(j, "output");
    arg_schema(&tool->result, j);
    jo_key(j, "error");
    jo_raw(j, STR("{\"type\":\"null\"}"));
    jo_close(j, '}');
    jo_key(j, "required");
    jo_raw(j, STR("[\"success\",\"tool\",\"output\",\"error\"]"));
    jo_kbool(j, "additionalProperties", false);
    jo_close(j, '}');
}

static void write_sidecar_failure(const struct call *call, const struct err *err,
                                  struct json_out *j)
{
    jo_open(j, '{');
    jo_kbool(j, "success", false);
    jo_ktext(j, "tool", sidecar_tool_name(call));
    jo_ktext(j, "output", NULL);
    jo_key(j, "error");
    jo_open(j, '{');
    jo_ktext(j, "code", err_row(err->code)->sidecar);
    jo_ktext(j, "message", err->message);
    jo_close(j, '}');
    jo_close(j, '}');
}

const struct dialect dialect_sidecar = {
    .id = DIALECT_SIDECAR,
    .name = "sidecar",
    .open = open_sidecar_answer,
    .close = close_sidecar_answer,
    .result_schema = write_schema,
    .fail = write_sidecar_failure,
    .instructions =
        "These tools work on one folder, the workspace. Paths are relative to it; nothing outside can "
        "be reached, also not through symbolic links. A failed call has `error` with `code` and "
        "`message`; the message says what to do.",
};
