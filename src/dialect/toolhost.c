#include "core/call.h"
#include "dialect/dialects.h"

static void open_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_open(j, '{');
    jo_kbool(j, "ok", true);
}

static void close_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_close(j, '}');
}

static void write_details(const struct call *call, const struct err *err, struct json_out *j)
{
    jo_key(j, "details");
    jo_open(j, '{');
    if (call->has_path) {
        jo_ktext(j, "mount", call->workplace->roots[call->path.root].name);
        call_write_path(call, j, "path");
    }
    if (err->field[0])
        jo_ktext(j, "field", err->field);
    if (err->reason[0])
        jo_ktext(j, "reason", err->reason);
    jo_close(j, '}');
}

static void write_failure(const struct call *call, const struct err *err, struct json_out *j)
{
    jo_open(j, '{');
    jo_kbool(j, "ok", false);
    jo_key(j, "error");
    jo_open(j, '{');
    jo_ktext(j, "code", err_row(err->code)->toolhost);
    jo_ktext(j, "message", err->message);
    write_details(call, err, j);
    jo_close(j, '}');
    jo_close(j, '}');
}

const struct dialect dialect_toolhost = {
    .id = DIALECT_TOOLHOST,
    .name = "toolhost",
    .open = open_answer,
    .close = close_answer,
    .fail = write_failure,
};
