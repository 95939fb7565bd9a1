#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/call.h"
#include "core/no_network.h"
#include "tools/all.h"
#include "tools/run.h"
#include "tools/show.h"

#define NOT_FOUND_STATUS 127
#define HINT_MAX 1000

struct args {
    struct str command;
    yyjson_val *argv;
    struct str cwd;
    yyjson_val *env;
    struct str input;
    int64_t timeout_ms;
    int64_t max_output;
    yyjson_val *network;
    bool git;
};

static const struct arg word = {.name = "word", .type = ARG_STRING};
static const struct arg domain = {.name = "domain", .type = ARG_STRING, .use = ARG_DOMAIN};

static const struct arg args[] = {
    {.name = "command",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_SHELL,
     .offset = offsetof(struct args, command),
     .doc = "A command line for bash."},
    {.name = "argv",
     .type = ARG_LIST,
     .use = ARG_ARGV,
     .offset = offsetof(struct args, argv),
     .items = &word,
     .min = 1,
     .max = 4096,
     .doc = "In place of `command`: a program and its arguments, without a shell."},
    {.name = "cwd",
     .type = ARG_STRING,
     .use = ARG_FOLDER,
     .offset = offsetof(struct args, cwd),
     .doc = "Working directory."},
    {.name = "env",
     .type = ARG_OBJECT,
     .use = ARG_ENV,
     .offset = offsetof(struct args, env),
     .doc = "More environment variables."},
    {.name = "stdin",
     .type = ARG_STRING,
     .flags = ARG_CONTENT,
     .use = ARG_INPUT,
     .offset = offsetof(struct args, input),
     .doc = "Its standard input; without, it is empty."},
    {.name = "timeout_ms",
     .type = ARG_INT,
     .offset = offsetof(struct args, timeout_ms),
     .min = 1,
     .max = 86400000,
     .def = 60000,
     .doc = "After this long everything it started is stopped."},
    {.name = "max_output",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_output),
     .max = 1000000,
     .def = 100000,
     .doc =
         "Bytes kept of each of its two outputs; of more, the first and the last part, and `read_output` has the rest."},
    {.name = "network",
     .type = ARG_LIST,
     .flags = ARG_UNLISTED,
     .offset = offsetof(struct args, network),
     .items = &domain,
     .max = 64,
     .doc =
         "Domains it has to reach. None can be granted yet: it has a loopback of its own, nothing else."},
    {.name = "git",
     .type = ARG_BOOL,
     .use = ARG_GIT,
     .offset = offsetof(struct args, git),
     .doc =
         "It has to write to git directories, which are read-only otherwise: commit, checkout, merge, fetch. Has to be approved."},
};

static const struct arg violation_fields[] = {
    {.name = "call", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "count", .type = ARG_INT, .flags = ARG_REQUIRED},
};

static const struct arg result[] = {
    {.name = "exit_code", .type = ARG_INT, .doc = "Absent where a signal ended it."},
    {.name = "signal", .type = ARG_STRING, .doc = "The signal that ended it: `SIGKILL`."},
    {.name = "stdout", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "stderr", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED},
    {.name = "output_id", .type = ARG_STRING, .doc = "For `read_output`, where output was cut."},
    {.name = "ended_by",
     .type = ARG_CHOICE,
     .flags = ARG_REQUIRED,
     .choices = command_end_names,
     .doc = "What ended it."},
    {.name = "peak_memory", .type = ARG_INT, .doc = "In bytes; absent: not known."},
    {.name = "cpu_ms", .type = ARG_INT, .doc = "Absent: not known."},
    {.name = "violations",
     .type = ARG_OBJECTS,
     .flags = ARG_REQUIRED,
     .items = violation_fields,
     .n_items = ARRAY_LEN(violation_fields),
     .doc = "What the sandbox refused it, and how often."},
    {.name = "limits",
     .type = ARG_STRING,
     .doc = "`watched` where no control group can be used, so that the limits in `weaker` are."},
    {.name = "weaker",
     .type = ARG_LIST,
     .items = &word,
     .max = 3,
     .doc =
         "`memory:watched` and `processes:watched`: looked at ten times a second, and more can be "
         "used in between. `cpus:none`: not limited."},
    {.name = "hint", .type = ARG_STRING},
};

static int add_argv(struct call *call, yyjson_val *argv, struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(argv, idx, max, item) {
        struct str arg = json_str(item);
        if (idx == 0 && arg.n == 0)
            return err_field(err, "argv", "the first of `argv` is the program: it cannot be empty");
        if (arg.n && memchr(arg.p, '\0', arg.n))
            return err_field(err, "argv", "an argument cannot hold a NUL");
        command_add_arg(call->command, arg);
    }
    return 0;
}

static int add_env(struct call *call, yyjson_val *env, struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    if (!env)
        return 0;
    yyjson_obj_foreach(env, idx, max, key, val) {
        struct str value = json_str(val);
        if (!yyjson_is_str(val) || (value.n && memchr(value.p, '\0', value.n)))
            return err_field(err, "env", "`env.%.60s` must be a string without NUL",
                             yyjson_get_str(key));
        if (command_add_env(call->command, json_str(key), value) < 0 && !call->command->env.failed)
            return err_field(err, "env", "`%.60s` is no name for a variable", yyjson_get_str(key));
    }
    return 0;
}

static int prepare_native_run_command(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (a->command.p && a->argv)
        return err_field(err, "argv", "give `command` or `argv`, not both");
    if (a->command.p && run_check_text(a->command, err) < 0)
        return -1;
    if (a->network && yyjson_arr_size(a->network)) {
        err_set(
            err, ERR_NETWORK_DENIED,
            "commands have no network yet; leave `network` out. What they need has to be in the "
            "workspace already");
        return err_reason(err, "no_network");
    }
    int64_t max = call->plain_max ? (int64_t)show_room(call, "max_output", a->max_output)
                                  : a->max_output;
    if (run_prepare(call, a->cwd, max, a->timeout_ms, err) < 0)
        return -1;
    call->command->max_both = call->plain_max ? (size_t)max : 0;
    call->command->input = a->input;
    if (a->command.p)
        command_use_shell(call->command, a->command);
    else if (add_argv(call, a->argv, err) < 0)
        return -1;
    if (add_env(call, a->env, err) < 0)
        return -1;
    return run_check_size(call, err);
}

#define SIGNAL_NAME_MAX 32
static void signal_name(const struct command *command, char name[SIGNAL_NAME_MAX])
{
    const char *abbreviation = sigabbrev_np((int)command->signal);
    if (abbreviation)
        snprintf(name, SIGNAL_NAME_MAX, "SIG%s", abbreviation);
    else /* a real-time signal */
        snprintf(name, SIGNAL_NAME_MAX, "SIG%lld", (long long)command->signal);
}

static void write_signal(const struct command *command, struct json_out *j)
{
    char name[SIGNAL_NAME_MAX];
    if (command->exit_code != ARG_ABSENT) {
        jo_kint(j, "exit_code", command->exit_code);
        return;
    }
    signal_name(command, name);
    jo_ktext(j, "signal", name);
}

static bool has_kind(const struct command *command, const char *kind)
{
    for (size_t i = 0; i < command->violations.count; i++) {
        if (strncmp(command->violations.list[i].what, kind, strlen(kind)) == 0)
            return true;
    }
    return false;
}

/* As git says it, near the beginning. */
static bool said_denied(const struct command *command)
{
    static const char words[] = "Permission denied";
    const struct buf *text = &command->streams[1].head;
    return text->len && memmem(text->data, text->len, words, sizeof words - 1);
}

static bool wanted_network(const struct command *command)
{
    for (size_t i = 0; i < STREAMS; i++) {
        const struct output *o = &command->streams[i];
        if (no_network_said(buf_str(&o->head)) || no_network_said(buf_str(&o->tail)))
            return true;
    }
    return false;
}

/* What the caller can do about how it ended; empty: nothing. */
static void command_hint(const struct call *call, struct buf *hint)
{
    const struct command *command = call->command;
    char words[RUN_WORDS_MAX];
    if (run_limit_words(call, words))
        buf_add_text(hint, words);
    else if (command->ended_by == COMMAND_TIMEOUT && run_duration_rule(call, words))
        buf_addf(hint, "it did not end in the time that %s allows", words);
    else if (command->ended_by == COMMAND_TIMEOUT)
        buf_add_text(hint, "it did not end in time; `timeout_ms` gives it longer");
    else if (command->git_refused)
        buf_add_text(
            hint, "nothing of what it wrote to the git directory was taken over, because of what "
                  "`violations` names");
    else if (has_kind(command, "quarantined:") && command->layers.len)
        buf_add_text(
            hint,
            "files that programs of the user would obey were moved out of the workspace (see "
            "`violations`). If git brought them (checkout, merge, pull, stash), it takes them for "
            "deleted now: commit by naming files, not with `git commit -a` or `git add -A`, and "
            "ask the user to run `git restore PATH`, or `sandgate quarantine restore`");
    else if (has_kind(command, "quarantined:"))
        buf_add_text(
            hint, "files that programs of the user would obey were moved out of the workspace (see "
                  "`violations`). Do not make them again: the user can look at them with `sandgate "
                  "quarantine list` and put them back with `sandgate quarantine restore`");
    else if (command_violations_unshown(command))
        buf_add_text(
            hint, "there are more violations than `violations` names; the gravest stand first, and "
                  "the audit record has the others");
    else if (command->output_id[0])
        buf_add_text(hint, "what was left out can be read in parts with read_output");
    else if (command->exit_code == NOT_FOUND_STATUS)
        buf_add_text(
            hint,
            "a program was not found. The sandbox shows the system's programs; one in a home folder "
            "is there where its folder is on the PATH that Sandgate was started with, or by "
            "commands.show and commands.path of the operator");
    else if (command->exit_code != 0 && command->layers.len && said_denied(command))
        buf_add_text(
            hint,
            "git opens every tracked or new file, and files with the names of secrets "
            "(files.secret) are closed here: name the files that are meant (`git add PATH`, `git "
            "diff -- PATH`, `git stash push -- PATH`), or ask the user to do it or to except the "
            "name (`!NAME` in files.secret)");
    else if (command->exit_code != 0 && wanted_network(command))
        buf_add_text(
            hint,
            "commands have no network but a loopback of their own, and none can be granted yet: do "
            "not try again. What it needs has to be in the workspace already, or the user has to "
            "fetch it");
    else if (command->exit_code != 0 && command_violations_have(&command->violations, "ptrace"))
        buf_add_text(
            hint,
            "nothing can be traced in the sandbox: debuggers and strace do not work, and programs "
            "built with AddressSanitizer need ASAN_OPTIONS=detect_leaks=0");
}

static void write_command_hint(const struct call *call, struct json_out *j)
{
    BUF_AT_END struct buf hint = BUF_INIT(HINT_MAX);
    command_hint(call, &hint);
    if (hint.len)
        jo_kstr(j, "hint", buf_str(&hint));
}

static void write_violation(const char *what, int64_t count, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "call", what);
    jo_kint(j, "count", count);
    jo_close(j, '}');
}

static void write_command_violations(const struct command *command, struct json_out *j)
{
    int64_t more = command_violations_unshown(command);
    jo_key(j, "violations");
    jo_open(j, '[');
    for (size_t i = 0; i < command->violations.count && i < COMMAND_VIOLATIONS_SHOWN; i++)
        write_violation(command->violations.list[i].what, command->violations.list[i].count, j);
    if (more)
        write_violation("more", more, j);
    jo_close(j, ']');
}

static void write_weaker(unsigned weaker, struct json_out *j)
{
    static const struct {
        enum command_weak bit;
        const char *word;
    } words[] = {
        {COMMAND_WEAK_MEMORY, "memory:watched"},
        {COMMAND_WEAK_PROCESSES, "processes:watched"},
        {COMMAND_WEAK_CPUS, "cpus:none"},
    };
    if (!weaker)
        return;
    jo_ktext(j, "limits", "watched");
    jo_key(j, "weaker");
    jo_open(j, '[');
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (weaker & words[i].bit)
            jo_text(j, words[i].word);
    }
    jo_close(j, ']');
}

static int shape_native_run_command(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct command *command = call->command;
    write_signal(command, j);
    for (size_t i = 0; i < STREAMS; i++) {
        jo_key(j, stream_names[i]);
        output_write_json(&command->streams[i], j);
    }
    jo_kbool(j, "truncated", run_truncated(call));
    if (command->output_id[0])
        jo_ktext(j, "output_id", command->output_id);
    jo_ktext(j, "ended_by", command_end_names[command->ended_by]);
    if (command->peak_memory != ARG_ABSENT)
        jo_kint(j, "peak_memory", command->peak_memory);
    if (command->cpu_ms != ARG_ABSENT)
        jo_kint(j, "cpu_ms", command->cpu_ms);
    write_command_violations(command, j);
    write_weaker(command->weaker, j);
    write_command_hint(call, j);
    return 0;
}

/* --- as text */

static void show_end(const struct command *command, struct buf *out)
{
    char name[SIGNAL_NAME_MAX];
    signal_name(command, name);
    if (command->exit_code != ARG_ABSENT)
        buf_addf(out, "exit %" PRId64, command->exit_code);
    else
        buf_addf(out, "killed by %s", name);
    if (command->ended_by == COMMAND_TIMEOUT)
        buf_add_text(out, ", timed out");
    else if (command->ended_by != COMMAND_EXIT && command->ended_by != COMMAND_SIGNAL)
        buf_addf(out, ", %s", command_end_names[command->ended_by]);
}

static void show_violations(const struct command *command, struct buf *out)
{
    int64_t more = command_violations_unshown(command);
    size_t n = command->violations.count;
    if (n == 0)
        return;
    buf_add_text(out, "the sandbox refused: ");
    for (size_t i = 0; i < n && i < COMMAND_VIOLATIONS_SHOWN; i++) {
        const struct command_violation *v = &command->violations.list[i];
        buf_addf(out, "%s%s", i ? ", " : "", v->what);
        if (v->count > 1)
            buf_addf(out, " (%" PRId64 " times)", v->count);
    }
    if (more)
        buf_addf(out, ", %" PRId64 " more", more);
    buf_add_char(out, '\n');
}

/* What was cut is said before and behind the output. */
static void show_command_cut(const struct command *command, struct buf *note)
{
    show_end(command, note);
    buf_add_text(note, "; output cut: ");
    for (size_t i = 0; i < STREAMS; i++)
        if (output_truncated(&command->streams[i]))
            buf_addf(note, "%s has %" PRId64 " bytes, ", stream_names[i],
                     command->streams[i].total);
    if (command->output_id[0])
        buf_addf(note, "the rest: read_output with output_id %s", command->output_id);
    else
        buf_add_text(note, "the rest is not kept");
}

static void show_printed(const struct call *call, struct buf *text)
{
    const struct command *command = call->command;
    output_text(&command->streams[STREAM_STDOUT], text);
    run_end_line(text);
    if (command->streams[STREAM_STDERR].total) {
        buf_add_text(text, "--- stderr\n");
        output_text(&command->streams[STREAM_STDERR], text);
        run_end_line(text);
    }
}

static int show_native_run_command(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    const struct command *command = call->command;
    BUF_AT_END struct buf text = BUF_INIT(out->max);
    BUF_AT_END struct buf note = BUF_INIT(HINT_MAX);
    BUF_AT_END struct buf hint = BUF_INIT(HINT_MAX);
    bool cut = run_truncated(call);
    if (cut)
        show_command_cut(command, &note);
    show_printed(call, &text);
    show_violations(command, &text);
    command_hint(call, &hint);
    if (hint.len && !(cut && command->output_id[0] && command->exit_code == 0))
        buf_addf(&text, "hint: %s\n", buf_text(&hint));
    buf_fail_as(out, &text);
    show_between(buf_str(&note), buf_str(&text), out);
    if (!cut)
        show_end(command, out);
    return 0;
}

const struct tool native_run_command = {
    .dialect = DIALECT_NATIVE,
    .name = "run_command",
    .title = "Run a command",
    .description =
        "Runs a command line with bash, or one program, in the workspace: `command` or `argv` is required. It sees the workspace and the system's programs, has its own /tmp and home, and no network. Everything it started ends with it.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_COMMAND | CAP_FS_READ | CAP_FS_WRITE,
    .flags = TOOL_LONG,
    .runner = RUN_COMMAND,
    .prepare = prepare_native_run_command,
    .shape = shape_native_run_command,
    .show = show_native_run_command,
};
