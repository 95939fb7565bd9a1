#include "core/call.h"
#include "core/command.h"
#include "dialect/dialects.h"
#include "tools/run.h"

static void write_duration(const struct call *call, struct json_out *j)
{
    jo_ktext(j, "tier", call_tier(call));
    jo_kint(j, "duration_ms", call_duration_ms(call));
}

static void open_native_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_open(j, '{');
    jo_kbool(j, "ok", true);
    jo_key(j, "result");
    jo_open(j, '{');
}

static void close_native_answer(const struct call *call, struct json_out *j)
{
    write_duration(call, j);
    jo_close(j, '}');
    jo_close(j, '}');
}

static void open_result(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_open(j, '{');
}

static void close_result(const struct call *call, struct json_out *j)
{
    write_duration(call, j);
    jo_close(j, '}');
}

/* Of a command that ran, where the error is what came after it. */
static void write_native_printed(const struct call *call, struct json_out *j)
{
    const struct command *command = call->command;
    if (command->exit_code != ARG_ABSENT)
        jo_kint(j, "exit_code", command->exit_code);
    for (size_t i = 0; i < STREAMS; i++) {
        jo_key(j, stream_names[i]);
        output_write_json(&command->streams[i], j);
    }
    jo_kbool(j, "truncated", run_truncated(call));
}

static void write_native_failure(const struct call *call, const struct err *err, struct json_out *j)
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
    if (call->approval_id[0])
        jo_ktext(j, "request_id", call->approval_id);
    if (call->command && call->command->after.not_taken)
        write_native_printed(call, j);
    write_duration(call, j);
    jo_close(j, '}');
    jo_kbool(j, "retryable", err_may_work_later(err));
    if (err->retry_after_ms > 0)
        jo_kint(j, "retry_after_ms", err->retry_after_ms);
    else
        jo_ktext(j, "retry_after_ms", NULL);
    jo_close(j, '}');
    jo_close(j, '}');
}

static const struct arg added[] = {
    {.name = "tier",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .doc = "What the sandbox enforced."},
    {.name = "duration_ms", .type = ARG_INT, .flags = ARG_REQUIRED},
};

const struct dialect dialect_native = {
    .id = DIALECT_NATIVE,
    .name = "native",
    .strict = true,
    .adapts = true,
    .open = open_native_answer,
    .close = close_native_answer,
    .open_alone = open_result,
    .close_alone = close_result,
    .added = ARG_TABLE(added, char),
    .fail = write_native_failure,
    .instructions =
        "These tools work on one folder, the workspace. Paths are relative to it; nothing outside can "
        "be reached, also not through symbolic links. A result with `truncated` is not complete: its "
        "`hint` says how to get the rest.\n"
        "A failed call has `error` with `code` and `message`; the message says what to do. "
        "INVALID_ARGUMENTS: correct the argument that `details.field` names. NOT_FOUND, NOT_A_FILE, "
        "NOT_A_DIRECTORY, ALREADY_EXISTS: look at what is there with list_files. "
        "PATH_OUTSIDE_WORKSPACE, SYMLINK_OUTSIDE_WORKSPACE, PERMISSION_DENIED, READ_ONLY, "
        "POLICY_DENIED: not allowed here, do not try other ways to the same thing. "
        "PRECONDITION_FAILED: the file has changed, read it again. TOO_LARGE, OUTPUT_LIMIT: do it in "
        "smaller parts. INTERRUPTED: a write may have happened or not, look first. With `retryable` "
        "true the same call may succeed later.",
    .plain_instructions =
        "These tools work on one folder, the workspace. Paths are relative to it; nothing outside can "
        "be reached, also not through symbolic links. Of a long result a part is shown: its first and "
        "last line say so, and how to get the rest.\n"
        "A failed call is answered `CODE: what to do`. PATH_OUTSIDE_WORKSPACE, "
        "SYMLINK_OUTSIDE_WORKSPACE, PERMISSION_DENIED, READ_ONLY, POLICY_DENIED, APPROVAL_DENIED: "
        "not allowed here, do not try other ways to the same thing. INTERRUPTED: a write may have "
        "happened or not, look first.",
};
