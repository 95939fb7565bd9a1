#include "core/call.h"
#include "tools/all.h"

static const struct arg result[] = {
    {.name = "utc", .type = ARG_STRING, .flags = ARG_REQUIRED, .doc = "RFC 3339, in UTC."},
    {.name = "unix_ms",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .doc = "Milliseconds since 1970-01-01."},
};

static int prepare_native_time_now(struct call *call, struct err *err)
{
    (void)err;
    call->reply.time_ms = clock_unix_ms();
    return 0;
}

static int shape_native_time_now(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    char text[CLOCK_TEXT_MAX];
    clock_format_utc(call->reply.time_ms, text);
    jo_ktext(j, "utc", text);
    jo_kint(j, "unix_ms", call->reply.time_ms);
    return 0;
}

static int show_native_time_now(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    char text[CLOCK_TEXT_MAX];
    clock_format_utc(call->reply.time_ms, text);
    buf_add_text(out, text);
    return 0;
}

const struct tool native_time_now = {
    .dialect = DIALECT_NATIVE,
    .name = "time.now",
    .alias = "time_now",
    .title = "The time",
    .description = "Tells the current date and time in UTC.",
    .result = ARG_TABLE(result, char),
    .runner = RUN_BUILTIN,
    .prepare = prepare_native_time_now,
    .shape = shape_native_time_now,
    .show = show_native_time_now,
};
