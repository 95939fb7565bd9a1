#include "core/call.h"
#include "dialect/dialects.h"

static void open_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_open(j, '{');
    jo_kbool(j, "success", true);
}

static void close_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_close(j, '}');
}

static void write_failure(const struct call *call, const struct err *err, struct json_out *j)
{
    (void)call;
    jo_open(j, '{');
    jo_kbool(j, "success", false);
    jo_key(j, "error");
    jo_open(j, '{');
    jo_ktext(j, "code", err_row(err->code)->name);
    jo_ktext(j, "message", err->message);
    jo_close(j, '}');
    jo_close(j, '}');
}

static const struct arg added[] = {{.name = "success", .type = ARG_BOOL, .flags = ARG_REQUIRED}};

const struct dialect dialect_system = {
    .id = DIALECT_SYSTEM,
    .name = "system",
    .open = open_answer,
    .close = close_answer,
    .added = ARG_TABLE(added, char),
    .fail = write_failure,
    .instructions =
        "Paths are relative to the workspace, or absolute in a folder that the operator allowed. A "
        "failed call has `error` with `code` and `message`; the message says what to do.",
};
