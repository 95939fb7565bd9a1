#include <string.h>

#include "core/call.h"
#include "policy/command_rules.h"
#include "tools/all.h"
#include "tools/run.h"

#define OUTPUT_MAX 100000

struct args {
    struct str command;
    struct str cwd;
    int64_t timeout_ms;
};

static const struct arg args[] = {
    {.name = "command",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_SHELL,
     .offset = offsetof(struct args, command),
     .doc = "One command; pipes and redirections work, further commands need calls of their own."},
    {.name = "cwd",
     .type = ARG_STRING,
     .use = ARG_FOLDER,
     .offset = offsetof(struct args, cwd),
     .doc = "Working directory, relative to the workspace."},
    {.name = "timeout_ms",
     .type = ARG_INT,
     .offset = offsetof(struct args, timeout_ms),
     .min = 1,
     .max = COMMAND_MAX_MS,
     .def = 30000,
     .doc = "After this long everything it started is stopped."},
};

static const struct arg result[] = {
    {.name = "exit_code", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "stdout", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "stderr", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "timed_out", .type = ARG_BOOL, .flags = ARG_REQUIRED},
    {.name = "duration_ms", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED},
};

static int prepare_sidecar_run_command(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    struct command_rules rules = command_rules_sidecar;
    rules.allow_chaining = config_bool(call->workplace->config, "commands.allowChaining");
    if (run_check_text(a->command, err) < 0)
        return -1;
    if (command_check(a->command, &rules, err) < 0 ||
        run_prepare(call, a->cwd, OUTPUT_MAX, a->timeout_ms, err) < 0)
        return -1;
    command_use_shell(call->command, a->command);
    return run_check_size(call, err);
}

static int shape_sidecar_run_command(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    jo_kint(j, "exit_code", run_exit_code(call));
    run_write_stream(call, "stdout", STREAM_STDOUT, j);
    run_write_stream(call, "stderr", STREAM_STDERR, j);
    jo_kbool(j, "timed_out", call->command->ended_by == COMMAND_TIMEOUT);
    jo_kint(j, "duration_ms", call_duration_ms(call));
    jo_kbool(j, "truncated", run_truncated(call));
    return 0;
}

const struct tool sidecar_run_command = {
    .dialect = DIALECT_SIDECAR,
    .name = "run_command",
    .title = "Run a command",
    .description =
        "Runs one command in the workspace and returns what it printed. Commands chained with ;, && or || "
        "are refused: make separate calls.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_COMMAND | CAP_FS_READ | CAP_FS_WRITE,
    .runner = RUN_COMMAND,
    .prepare = prepare_sidecar_run_command,
    .shape = shape_sidecar_run_command,
};
