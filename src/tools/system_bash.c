#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "core/call.h"
#include "policy/command_rules.h"
#include "tools/all.h"
#include "tools/run.h"

/* Of a path in a message. */
#define CWD_SHOWN 120

struct args {
    struct str command;
    yyjson_val *args;
    struct str cwd;
};

static const struct arg word = {.name = "word", .type = ARG_STRING};

static const struct arg args[] = {
    {.name = "command",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_PROGRAM,
     .offset = offsetof(struct args, command),
     .doc = "One program, by its name or path. There is no shell: `ls -l` is not a program."},
    {.name = "args",
     .type = ARG_LIST,
     .use = ARG_WORDS,
     .offset = offsetof(struct args, args),
     .items = &word,
     .max = 4096,
     .doc = "Its arguments, each as it is."},
    {.name = "cwd",
     .type = ARG_STRING,
     .use = ARG_FOLDER,
     .offset = offsetof(struct args, cwd),
     .doc = "Working directory: relative to the workspace, or absolute in an allowed folder."},
};

static const struct arg result[] = {
    {.name = "exitCode", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "stdout", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "stderr", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED},
    {.name = "duration", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "In milliseconds."},
};

/* A workspace's own settings may have taken folders away since the cell was planned. */
static int check_bash_folder(const struct call *call, struct err *err)
{
    const struct str *allowed;
    size_t count;
    if (!config_list(call->workplace->config, "tools.bash.allowedDirectories", &allowed, &count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (path_beneath(call->command->cwd, allowed[i].p))
            return 0;
    }
    err_set(err, ERR_PATH_OUTSIDE_WORKSPACE,
            "`%.200s` is in no folder of tools.bash.allowedDirectories", call->decoded.data);
    return err_reason(err, "not_allowed");
}

/* Both are the operator's: the caller gave neither and could not correct it. */
static int64_t time_limit(const struct config *config)
{
    int64_t own = config_int(config, "tools.bash.timeoutMs");
    int64_t most = config_int(config, "commands.maxTimeoutMs");
    return own < most ? own : most;
}

static int begin_in(struct call *call, struct str cwd, struct err *err)
{
    const struct config *config = call->workplace->config;
    return run_prepare(call, cwd, config_int(config, "tools.bash.maxOutputBytes"),
                       time_limit(config), err) < 0
               ? -1
               : check_bash_folder(call, err);
}

/* `command_base` is set where the folders are not simply the workspace. */
static int begin_bash(struct call *call, struct str cwd, struct err *err)
{
    const struct workplace *at = call->workplace;
    if (at->n_command_roots == 0) {
        err_set(err, ERR_POLICY_DENIED,
                "the tool `bash` is denied: no folder of tools.bash.allowedDirectories exists");
        return err_reason(err, "not_allowed");
    }
    if (begin_in(call, cwd, err) == 0)
        return 0;
    if (err->code != ERR_PATH_OUTSIDE_WORKSPACE || !at->command_base)
        return -1;
    for (size_t i = 0; !cwd.p && i < at->n_command_roots; i++) {
        const char *folder = at->command_roots[i].inside;
        if (begin_in(call, (struct str){folder, strlen(folder)}, err) == 0)
            return 0;
    }
    if (strcmp(err->reason, "not_allowed") != 0)
        snprintf(
            err->message, sizeof err->message,
            "cwd `%.*s` is in no folder of tools.bash.allowedDirectories; the first is `%.200s`",
            (int)utf8_cut(cwd.p, cwd.n < CWD_SHOWN ? cwd.n : CWD_SHOWN), cwd.p,
            at->command_roots[0].inside);
    return -1;
}

/* By the name that is called, before anybody is asked and anything is charged. Which file it leads to, the cell
 * finds out. */
static int check_bash_lists(const struct config *config, struct str command, struct err *err)
{
    struct command_lists lists = {0};
    lists.allow_all = !config_list(config, "tools.bash.allowedCommands", &lists.allowed,
                                   &lists.n_allowed);
    if (!config_list(config, "tools.bash.deniedCommands", &lists.denied, &lists.n_denied))
        lists.n_denied = 0;
    return command_check_name(command, &lists, err);
}

static int prepare_system_bash(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    const struct config *config = call->workplace->config;
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (!config_bool(config, "tools.bash.enabled")) {
        err_set(err, ERR_POLICY_DENIED, "the tool `bash` is switched off by tools.bash.enabled");
        return err_reason(err, "tool_disabled");
    }
    if (run_check_text(a->command, err) < 0)
        return -1;
    if (check_bash_lists(config, a->command, err) < 0 || begin_bash(call, a->cwd, err) < 0)
        return -1;
    command_add_arg(call->command, a->command);
    yyjson_arr_foreach(a->args, idx, max, item) {
        struct str arg = json_str(item);
        if (arg.n && memchr(arg.p, '\0', arg.n))
            return err_field(err, "args", "an argument cannot hold a NUL");
        command_add_arg(call->command, arg);
    }
    call->command->listed = true;
    return run_check_size(call, err);
}

static int judge_bash_end(const struct call *call, struct err *err)
{
    char rule[RUN_WORDS_MAX];
    if (call->command->ended_by != COMMAND_TIMEOUT)
        return 0;
    if (run_duration_rule(call, rule))
        return err_set(err, ERR_TIMEOUT,
                       "the program did not end in the time that %s allows and was stopped", rule);
    return err_set(err, ERR_TIMEOUT,
                   "the program did not end within %lld ms (tools.bash.timeoutMs) and was stopped",
                   (long long)time_limit(call->workplace->config));
}

static int shape_system_bash(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    jo_kint(j, "exitCode", run_exit_code(call));
    run_write_stream(call, "stdout", STREAM_STDOUT, j);
    run_write_stream(call, "stderr", STREAM_STDERR, j);
    jo_kbool(j, "truncated", run_truncated(call));
    jo_kint(j, "duration", call_duration_ms(call));
    return 0;
}

const struct tool system_bash = {
    .dialect = DIALECT_SYSTEM,
    .name = "bash",
    .title = "Run a program",
    .description =
        "Runs one program with its arguments, without a shell: nothing in them is expanded, chained or "
        "redirected.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_COMMAND | CAP_FS_READ | CAP_FS_WRITE,
    .runner = RUN_COMMAND,
    .prepare = prepare_system_bash,
    .judge = judge_bash_end,
    .shape = shape_system_bash,
};
