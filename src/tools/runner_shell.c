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
     .offset = offsetof(struct args, command),
     .doc = "A command line for the shell."},
    {.name = "working_directory",
     .type = ARG_STRING,
     .offset = offsetof(struct args, working_directory),
     .doc = "Where it runs, relative to the workspace."},
    {.name = "timeout",
     .type = ARG_INT,
     .offset = offsetof(struct args, timeout),
     .min = 1,
     .max = 86400,
     .def = 60,
     .doc = "Seconds after which it is stopped."},
};

static const struct arg result[] = {
    {.name = "text", .type = ARG_STRING, .flags = ARG_REQUIRED},
};

static int prepare(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (a->command.n == 0 || memchr(a->command.p, '\0', a->command.n))
        return err_field(err, "command", "`command` is empty or holds a NUL: nothing to run");
    if (run_prepare(call, a->working_directory, OUTPUT_MAX, a->timeout * 1000, err) < 0)
        return -1;
    command_use_shell(call->command, a->command);
    return run_check_size(call, err);
}

static void end_line(struct buf *text)
{
    if (text->len && text->data[text->len - 1] != '\n')
        buf_add_char(text, '\n');
}

static int shape(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct args *a = (const void *)&call->args;
    const struct command *command = call->command;
    const char *limit = run_limit_words(call);
    BUF_AT_END struct buf text = BUF_INIT(2 * command->max_output + 8192);
    if (command->ended_by == COMMAND_TIMEOUT)
        buf_addf(&text, "Error: command timed out after %" PRId64 " seconds\n", a->timeout);
    else if (limit)
        buf_addf(&text, "Error: the command was ended: %s\n", limit);
    output_text(&command->streams[COMMAND_STDOUT], &text);
    if (command->streams[COMMAND_STDERR].total) {
        end_line(&text);
        buf_add_text(&text, "[stderr]\n");
        output_text(&command->streams[COMMAND_STDERR], &text);
    }
    if (run_exit_code(call) != 0 && command->ended_by != COMMAND_TIMEOUT) {
        end_line(&text);
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
    .prepare = prepare,
    .shape = shape,
};
