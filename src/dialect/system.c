#include "core/call.h"
#include "dialect/dialects.h"
#include "tools/run.h"

static void open_system_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_open(j, '{');
    jo_kbool(j, "success", true);
}

/* Who was asked, or which rule it was, and when another try makes sense. */
static void write_decision(const struct call *call, const struct err *err, struct json_out *j)
{
    jo_key(j, "decision");
    jo_open(j, '{');
    if (err->code == ERR_APPROVAL_DENIED || err->code == ERR_APPROVAL_TIMEOUT) {
        jo_kbool(j, "approved", false);
        jo_kbool(j, "requiresPrompt", true);
        jo_ktext(j, "requestId", call->approval_id);
        jo_ktext(j, "message", err->message);
    } else {
        jo_kbool(j, "allowed", false);
        jo_ktext(j, "reason", err->message);
        if (err->retry_after_ms > 0)
            jo_kint(j, "retryAfter", err->retry_after_ms);
    }
    jo_close(j, '}');
}

static bool is_decision(enum err_code code)
{
    return code == ERR_APPROVAL_DENIED || code == ERR_APPROVAL_TIMEOUT ||
           code == ERR_POLICY_DENIED || code == ERR_CAPABILITY_DENIED || code == ERR_RATE_LIMITED ||
           code == ERR_BUDGET_EXCEEDED;
}

/* What a program printed before it was stopped. */
static void write_system_printed(const struct call *call, struct json_out *j)
{
    run_write_stream(call, "stdout", STREAM_STDOUT, j);
    run_write_stream(call, "stderr", STREAM_STDERR, j);
    jo_kbool(j, "truncated", run_truncated(call));
    jo_kint(j, "duration", call_duration_ms(call));
}

static void write_system_failure(const struct call *call, const struct err *err, struct json_out *j)
{
    jo_open(j, '{');
    jo_kbool(j, "success", false);
    jo_key(j, "error");
    jo_open(j, '{');
    jo_ktext(j, "code", err_row(err->code)->name);
    jo_ktext(j, "message", err->message);
    jo_close(j, '}');
    if (is_decision(err->code))
        write_decision(call, err, j);
    if (call->command && call->ran && (err->code == ERR_TIMEOUT || run_has_printed(call)))
        write_system_printed(call, j);
    jo_close(j, '}');
}

static const struct arg added[] = {{.name = "success", .type = ARG_BOOL, .flags = ARG_REQUIRED}};

const struct dialect dialect_system = {
    .id = DIALECT_SYSTEM,
    .name = "system",
    .open = open_system_answer,
    .close = dialect_close_object,
    .added = ARG_TABLE(added, char),
    .fail = write_system_failure,
    .instructions =
        "Paths are relative to the workspace, or absolute in a folder that the operator allowed. A "
        "failed call has `error` with `code` and `message`; the message says what to do.",
};
