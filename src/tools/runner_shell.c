#include <inttypes.h>
#include <string.h>

#include "core/call.h"
#include "tools/all.h"
#include "tools/run.h"

#define OUTPUT_MAX 100000

struct args {
    struct str command;
    struct str working_directory;
    int64_t timeout;
};

static const struct arg args[] = {
    {.name = "command",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_SHELL,
     .offset = offsetof(struct args, command),
     .doc = "A command line for the shell."},
    {.name = "working_directory",
     .type = ARG_STRING,
     .use = ARG_FOLDER,
     .offset = offsetof(struct args, working_directory),
     .doc = "Where it runs, relative to the workspace."},
    {.name = "timeout",
     .type = ARG_INT,
     .offset = offsetof(struct args, timeout),
     .min = 1,
     .max = COMMAND_MAX_MS / 1000,
     .def = 60,
     .doc = "Seconds after which it is stopped."},
};

static const struct arg result[] = {
    {.name = "text", .type = ARG_STRING, .flags = ARG_REQUIRED},
};

static int prepare_runner_shell(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (run_check_text(a->command, err) < 0)
        return -1;
    if (run_prepare(call, a->working_directory, OUTPUT_MAX, a->timeout * 1000, err) < 0)
        return -1;
    command_use_shell(call->command, a->command);
    return run_check_size(call, err);
}

static int judge_shell_end(const struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    char words[RUN_WORDS_MAX];
    if (call->command->ended_by == COMMAND_TIMEOUT && run_duration_rule(call, words))
        return err_set(err, ERR_TIMEOUT, "command timed out by the rule %s", words);
    if (call->command->ended_by == COMMAND_TIMEOUT)
        return err_set(err, ERR_TIMEOUT, "command timed out after %" PRId64 " seconds", a->timeout);
    return run_limit_words(call, words)
               ? err_set(err, run_limit_code(call), "the command was ended: %s", words)
               : 0;
}

static int shape_runner_shell(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    BUF_AT_END struct buf text = BUF_INIT(2 * call->command->max_output + RUN_ADDED_MAX);
    run_add_printed(call, &text);
    if (run_exit_code(call) != 0) {
        run_end_line(&text);
        buf_addf(&text, "[exit code: %" PRId64 "]", run_exit_code(call));
    }
    jo_content(j, buf_str(&text));
    return 0;
}

const struct tool runner_shell = {
    .dialect = DIALECT_RUNNER,
    .name = "shell",
    .title = "Run a command",
    .description =
        "Runs a command line in the workspace and returns what it printed; `[exit code: N]` stands at the "
        "end when it failed.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_COMMAND | CAP_FS_READ | CAP_FS_WRITE,
    .runner = RUN_COMMAND,
    .prepare = prepare_runner_shell,
    .judge = judge_shell_end,
    .shape = shape_runner_shell,
};
