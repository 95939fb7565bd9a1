#include "core/call.h"
#include "dialect/dialects.h"

static void write_duration(const struct call *call, struct json_out *j)
{
    jo_ktext(j, "tier", call_tier(call));
    jo_kint(j, "duration_ms", call_duration_ms(call));
}

static void open_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_open(j, '{');
    jo_kbool(j, "ok", true);
    jo_key(j, "result");
    jo_open(j, '{');
}

static void close_answer(const struct call *call, struct json_out *j)
{
    write_duration(call, j);
    jo_close(j, '}');
    jo_close(j, '}');
}

static void write_failure(const struct call *call, const struct err *err, struct json_out *j)
{
    const struct err_row *row = err_row(err->code);
    jo_open(j, '{');
    jo_kbool(j, "ok", false);
    jo_key(j, "error");
    jo_open(j, '{');
    jo_ktext(j, "code", row->name);
    jo_ktext(j, "message", err->message);
    jo_key(j, "details");
    jo_open(j, '{');
    if (err->field[0])
        jo_ktext(j, "field", err->field);
    if (err->reason[0])
        jo_ktext(j, "reason", err->reason);
    write_duration(call, j);
    jo_close(j, '}');
    jo_kbool(j, "retryable", row->retryable);
    if (err->retry_after_ms > 0)
        jo_kint(j, "retry_after_ms", err->retry_after_ms);
    else
        jo_ktext(j, "retry_after_ms", NULL);
    jo_close(j, '}');
    jo_close(j, '}');
}

const struct dialect dialect_native = {
    .id = DIALECT_NATIVE,
    .name = "native",
    .strict = true,
    .open = open_answer,
    .close = close_answer,
    .fail = write_failure,
};
