/* `sandgate run -- COMMAND…`: one command in a sandbox, its output on ours. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/screen_reset.h"
#include "base/terminal.h"
#include "cell/landlock.h"
#include "core/no_network.h"
#include "dialect/dialects.h"
#include "front/front.h"
#include "front/interrupt.h"
#include "front/notice.h"
#include "front/prompt.h"
#include "front/run_options.h"
#include "front/run_review.h"
#include "front/run_terminal.h"

#define OPTIONS (OPTIONS_FOLDER | OPTIONS_COMMAND)
/* As shells and env(1) have it. */
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127
#define EXIT_TIMEOUT 124 /* as timeout(1) has it */
#define EXIT_OF_SIGNAL 128
/* Of one piece of output, which is far shorter. */
#define FILTERED_MAX ((size_t)64 << 20)
#define FILTERED_KEPT (256u << 10)
/* A program that gives up says why at its end. */
#define SAID_MAX 4096
#define ANSWER_MAX ((size_t)1 << 30)

struct run {
    struct gate gate;
    struct call *call; /* NULL: it is answered */
    struct interrupt interrupt;
    struct run_terminal terminal;
    bool typed_to; /* the command has a terminal of its own */
    int input;     /* a person's terminal that it can only read; -1: standard input as it is */
    bool typed;    /* that one is a terminal */
    bool json;     /* its answer is printed at its end, in place of its output */
    bool timed;    /* by --timeout */
    int status;
    bool cut;  /* its output cannot be passed on */
    bool lost; /* for another reason than that nobody reads it */
    struct {
        bool filtered; /* it goes to a terminal */
        struct terminal terminal;
        struct buf out;
        char last[SAID_MAX]; /* of its output */
        size_t n_last;
    } streams[STREAMS];
};

/* A command is not the user: it shall not set the clipboard, or type. */
static void choose_filters(struct run *run, bool raw)
{
    run->streams[STREAM_STDOUT].filtered = !raw && isatty(STDOUT_FILENO);
    run->streams[STREAM_STDERR].filtered = !raw && isatty(STDERR_FILENO);
    for (size_t i = 0; i < STREAMS; i++) {
        run->streams[i].out = BUF_INIT(FILTERED_MAX);
        run->streams[i].terminal.typed_to = run->typed_to;
    }
}

static struct str filtered(struct run *run, enum stream stream, struct str bytes)
{
    if (!run->streams[stream].filtered)
        return bytes;
    struct buf *out = &run->streams[stream].out;
    buf_reset(out, FILTERED_KEPT);
    terminal_filter(&run->streams[stream].terminal, bytes, out);
    return buf_str(out);
}

/* What the command set on a terminal ends with it. */
static void reset_terminals(struct run *run)
{
    static const int fds[STREAMS] = {
        [STREAM_STDOUT] = STDOUT_FILENO,
        [STREAM_STDERR] = STDERR_FILENO,
    };
    const char *reset = screen_reset_behind_output();
    for (size_t i = 0; i < STREAMS; i++) {
        if (run->streams[i].terminal.passed)
            (void)fd_write_all(fds[i], reset, strlen(reset));
    }
}

static void keep_last(struct run *run, enum stream stream, struct str bytes)
{
    char *last = run->streams[stream].last;
    size_t *n = &run->streams[stream].n_last;
    size_t take = bytes.n < SAID_MAX ? bytes.n : SAID_MAX;
    size_t keep = *n < SAID_MAX - take ? *n : SAID_MAX - take;
    memmove(last, last + *n - keep, keep);
    memcpy(last + keep, bytes.p + bytes.n - take, take);
    *n = keep + take;
}

/* A guess by the end of what it printed. */
static void tell_no_network(const struct run *run)
{
    for (size_t i = 0; i < STREAMS; i++) {
        if (!no_network_said((struct str){run->streams[i].last, run->streams[i].n_last}))
            continue;
        log_warning("the sandbox has no network, and none can be granted yet: what the command "
                    "needs has to be there already, or be fetched outside");
        return;
    }
}

static void print_run_output(struct call *call, enum stream stream, struct str bytes)
{
    struct run *run = call->front;
    int fd = stream == STREAM_STDOUT ? STDOUT_FILENO : STDERR_FILENO;
    keep_last(run, stream, bytes);
    struct str passed = filtered(run, stream, bytes);
    int r = fd_write_all(fd, passed.p, passed.n);
    if (r == 0 || run->cut)
        return;
    run->cut = true;
    run->lost = r != -EPIPE;
    if (fd == STDOUT_FILENO)
        front_output_failed(-r);
    pipeline_cancel(call, ERR_CANCELLED, "its output cannot be passed on");
}

static int failed_status(const struct err *err)
{
    if (err->code == ERR_CANCELLED)
        return EXIT_OF_SIGNAL + SIGTERM;
    if (err->code == ERR_NOT_FOUND && strcmp(err->reason, "program_not_found") == 0)
        return EXIT_NOT_FOUND;
    return err_row(err->code)->kind == KIND_POLICY ? EXIT_DENIED : EXIT_CANNOT_RUN;
}

#define DROPPED "git:dropped"

static bool is_dropped(const struct command_violation *v)
{
    return strncmp(v->what, DROPPED, strlen(DROPPED)) == 0;
}

/* The session has told it, with where it went. */
static bool is_logged(const struct command_violation *v)
{
    return strcmp(v->what, "cut_off") == 0 || strcmp(v->what, "git:kept") == 0 ||
           strcmp(v->what, "scan:failed") == 0 || strcmp(v->what, "scan:unsure") == 0 ||
           strncmp(v->what, "quarantined:", strlen("quarantined:")) == 0;
}

static bool has_quarantined(const struct command *command)
{
    static const char kind[] = "quarantined:";
    for (size_t i = 0; i < command->violations.count; i++) {
        if (strncmp(command->violations.list[i].what, kind, sizeof kind - 1) == 0)
            return true;
    }
    return false;
}

/* What a person who sees only the output would miss, also where the command itself saw no error. */
static void tell_dropped(const struct command *command)
{
    for (size_t i = 0; i < command->violations.count && i < COMMAND_VIOLATIONS_SHOWN; i++) {
        const struct command_violation *v = &command->violations.list[i];
        if (strcmp(v->what, "git:kept") == 0)
            log_warning("%lld objects and packs that it removed stay in the git directory",
                        (long long)v->count);
        if (!is_dropped(v))
            continue;
        const char *path = v->what + strlen(DROPPED);
        if (*path == ':')
            log_warning("not taken over into the git directory: %s", path + 1);
        else
            log_warning("not taken over into the git directory: %lld more", (long long)v->count);
    }
    if (command->layers.len && has_quarantined(command))
        log_warning(
            "if git brought what was moved to quarantine (checkout, merge, pull, stash), it "
            "takes it for deleted now: run `git restore PATH` before `git commit -a`");
    if (command->git_refused)
        log_warning("because of that nothing that it wrote to the git directory was taken over");
}

/* What a command made or found that its user has to know of, whatever its status. NULL: a call that was refused, which
 * explains a failure and is nothing to tell of otherwise. */
static const char *words_for(const struct command_violation *v, bool cut_off, const char **ret_path)
{
    static const struct {
        const char *kind;
        const char *words;
        const char *
            cut_off; /* where others may have made it since a command was cut off; NULL: the same */
    } rows[] = {
        {"repository:", "a git repository is hidden in what the command made",
         "a git repository is hidden in what was made since a command was cut off"},
        {"replaced:", "replaced by something else and left in its place", NULL},
        {"unchecked:", "made by the command, and too large to be looked through",
         "made since a command was cut off, and too large to be looked through"},
        {"unjudged:", "this may have been made by a command that was cut off", NULL},
        {"git:unread:",
         "git runs a program that its configuration does not name in its text; if that "
         "lies in the workspace, add it to files.protected",
         NULL},
        {"git:changed:",
         "the history that git shows ends at other commits than before the command: `git log` shows "
         "what is left, `git fetch --unshallow` brings the rest",
         NULL},
        {"opened:", "closed by the command, and opened again to look into it", NULL},
        {"created:", "made by the command, and programs may obey it",
         "made since a command was cut off, by it or by somebody else, and programs may obey it"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = strlen(rows[i].kind);
        if (strncmp(v->what, rows[i].kind, n) == 0) {
            *ret_path = v->what + n;
            return cut_off && rows[i].cut_off ? rows[i].cut_off : rows[i].words;
        }
    }
    return NULL;
}

static void tell_violations(const struct command *command, bool refused)
{
    int64_t more = command_violations_unshown(command);
    bool cut_off = false; /* it stands first */
    for (size_t i = 0; i < command->violations.count && i < COMMAND_VIOLATIONS_SHOWN; i++) {
        const struct command_violation *v = &command->violations.list[i];
        const char *path = "";
        cut_off |= strcmp(v->what, "cut_off") == 0;
        const char *words = words_for(v, cut_off, &path);
        if (words)
            log_warning("%s%s%s", words, *path ? ": " : "", path);
        else if (refused && !is_dropped(v) && !is_logged(v))
            log_warning("the sandbox refused %s (%lld times)", v->what, (long long)v->count);
    }
    if (more)
        log_warning("%lld more: see the audit log", (long long)more);
}

static void print_run_answer(struct call *call)
{
    struct run *run = call->front;
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    struct json_out j = {.out = &out};
    call_write_answer(call, &j);
    run->lost = out.failed || front_print(buf_str(&out)) < 0;
}

static void finish_run_call(struct call *call)
{
    struct run *run = call->front;
    const struct command *command = call->command;
    if (run->typed_to)
        run_terminal_end(&run->terminal);
    else
        reset_terminals(run);
    if (call->failed) {
        if (call->err.code != ERR_CANCELLED)
            log_error("%s", call->err.message);
        else if (command)
            tell_violations(command, false);
        run->status = failed_status(&call->err);
    } else {
        if (command->ended_by != COMMAND_EXIT && command->ended_by != COMMAND_SIGNAL)
            log_error("the command was ended: %s", command_end_names[command->ended_by]);
        run->status = run->timed && command->ended_by == COMMAND_TIMEOUT ? EXIT_TIMEOUT
                      : command->exit_code != ARG_ABSENT                 ? (int)command->exit_code
                                                         : EXIT_OF_SIGNAL + (int)command->signal;
        tell_violations(command, run->status != 0);
        tell_dropped(command);
        if (run->status != 0)
            tell_no_network(run);
    }
    if (run->json)
        print_run_answer(call);
    if (run->lost)
        run->status = EXIT_TOOL_ERROR;
    run->call = NULL;
    uv_stop(&run->gate.loop);
    call_free(call);
}

/* From a folder outside a command finds names around it, whatever it may not open there. */
static bool is_folder_descriptor(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A command that is given a terminal could draw on it past the filter, and set its modes: it can only read from it, or
 * has no input where the kernel cannot give it that. */
static void choose_input(struct run *run)
{
    run->input = -1;
    if (run->typed_to || !isatty(STDIN_FILENO))
        return;
    /* The first where it is this process's own: inside, that name leads to no other terminal. */
    run->input = landlock_open_device(tcgetpgrp(STDIN_FILENO) >= 0 ? "/dev/tty"
                                                                   : "/proc/self/fd/0");
    run->typed = run->input >= 0;
    if (!run->typed)
        run->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Its input, and what it is shown on. */
static void connect_command(struct run *run)
{
    if (run->typed_to) {
        run->call->terminal = &run->terminal.link;
        run_terminal_start(&run->terminal, &run->gate.loop, &run->call,
                           &run->streams[STREAM_STDOUT].terminal.passed);
    } else {
        run->call->input_fd = run->input >= 0 ? run->input : STDIN_FILENO;
        run->call->typed = run->typed;
    }
}

static void make_run_call(struct run *run, const struct options *o, int64_t timeout_ms)
{
    struct call *call = run->call = gate_call_new(&run->gate, run->gate.session);
    call->name = mem_dup("run_command");
    call->front = run;
    call->answer = finish_run_call;
    call->output = run->json ? NULL : print_run_output;
    call->pass_on = !run->json;
    call->own_time = true;
    call->time_ms = timeout_ms;
    connect_command(run);
    if (run_options_call(o, call, &call->err) < 0)
        call->failed = true;
}

static int run_command(const struct options *o, const struct gate_options *plain)
{
    struct err err;
    CLEANUP(run_options_done) struct run_options more = {.timeout_ms = 0};
    struct run run = {.status = EXIT_CANNOT_RUN, .json = o->json, .timed = o->timeout};
    struct gate_options with = *plain;
    if (run_options_read(o, &more, &err) < 0)
        return front_usage_error(&err);
    with.extra = &more.extra;
    run.typed_to = run_terminal_open(&run.terminal, !run.json);
    choose_input(&run);
    choose_filters(&run, o->raw);
    if (gate_open(&run.gate, &with, &err) < 0) {
        run_terminal_stop(&run.terminal);
        return front_usage_error(&err);
    }
    interrupt_start(&run.interrupt, &run.gate.loop, &run.call);
    struct prompt *prompt = prompt_start(&run.gate);
    struct notice notice;
    notice_start(&notice, &run.gate);
    make_run_call(&run, o, more.timeout_ms);
    pipeline_submit(&run.gate.pipeline, run.call);
    while (run.call)
        uv_run(&run.gate.loop, UV_RUN_DEFAULT);
    notice_stop(&notice);
    prompt_stop(prompt);
    interrupt_stop(&run.interrupt);
    run_terminal_stop(&run.terminal);
    gate_close(&run.gate);
    fd_closep(&run.input);
    for (size_t i = 0; i < STREAMS; i++)
        buf_done(&run.streams[i].out);
    return run.status;
}

static int help_run(void)
{
    BUF_AT_END struct buf out = BUF_INIT(16u << 10);
    buf_add_text(
        &out,
        "usage: sandgate run [options] -- COMMAND [ARGUMENT…]\n\n"
        "Runs a command in a sandbox: it can change the workspace, sees the system's programs, "
        "and reaches\nno network. Its output and exit status are passed on; 126 and 127 say that "
        "it could not be run or\nwas not found. Where standard input and output are a terminal, it "
        "has one of its own: shells and\neditors work, Ctrl-C and Ctrl-Z go to it. What it prints "
        "can draw and colour; sequences that set\nthe clipboard, the title or the like are left "
        "out (--raw lets them pass).\n\n");
    options_help(OPTIONS, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

/* In a session that nobody else has: input and output of a command are not passed from gate to gate. */
static int run_in_named(const struct options *o, struct gate_options *go)
{
    struct err err;
    CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
    FD_AT_END int owner = -1;
    int r = front_take_session(o, true, &named, &owner, &err);
    if (r == 0)
        err_set(&err, ERR_SESSION_BUSY,
                "session %s is in use by another process: `sandgate call run_command --session %s` "
                "runs a command in it",
                o->session, o->session);
    if (r <= 0)
        return front_usage_error(&err);
    front_use_session(go, &named);
    return run_command(o, go);
}

int front_run(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    if (options_read(argc, argv, OPTIONS | OPTIONS_REST, 0, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return help_run();
    if (o.n_rest == 0) {
        log_error("which command? see `sandgate run --help`");
        return EXIT_USAGE;
    }
    if (is_folder_descriptor(STDIN_FILENO)) {
        log_error("standard input is a folder, which a sandbox must not be given");
        return EXIT_USAGE;
    }
    if (o.quiet)
        log_quiet();
    if (o.review && (o.session || o.rw.n)) {
        log_error("--review has a session of its own, and takes changes in the workspace alone: "
                  "leave --session and --rw out");
        return EXIT_USAGE;
    }
    if (o.review)
        return run_review(&o, run_command);
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    if (front_gate_options(&o, &go, &state_path, &err) < 0)
        return front_usage_error(&err);
    go.once = true;
    go.own_hand = true;
    return o.session ? run_in_named(&o, &go) : run_command(&o, &go);
}
