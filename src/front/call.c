/* `sandgate call TOOL [JSON|-]`: one call, its answer on standard output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/registry.h"
#include "dialect/format.h"
#include "front/forward.h"
#include "front/front.h"
#include "front/interrupt.h"
#include "front/notice.h"
#include "front/prompt.h"

/* Of the command line or standard input. */
#define ARGUMENTS_MAX (64u << 20)
#define OPTIONS (OPTIONS_SHAPE | OPTIONS_PLACE | OPTIONS_IDENTITY)

struct one_call {
    enum format_id format;
    struct request request;
    struct call *call; /* NULL: not begun, or answered */
    bool answered;
    int status;
};

static void print_answer(struct call *call)
{
    struct one_call *one = call->front;
    BUF_AT_END struct buf out = BUF_INIT(1u << 30);
    format_write(one->format, &one->request, call, true, &out);
    one->status = front_status_of(call);
    if (front_print(buf_str(&out)) < 0)
        one->status = EXIT_TOOL_ERROR;
    one->answered = true;
    one->call = NULL;
    if (call->pipeline)
        uv_stop(call->pipeline->loop);
    call_free(call);
}

/* The arguments as text: the word itself, or all of standard input. */
static int read_arguments(const char *word, size_t max, struct buf *out, struct err *err)
{
    buf_init(out, max + 1);
    if (strcmp(word, "-") != 0)
        return buf_add_text(out, word) < 0 ? err_field(err, "arguments", "they are too long") : 0;
    for (;;) {
        if (buf_reserve(out, 1) < 0)
            return err_set(err, ERR_TOO_LARGE, "standard input is longer than %zu bytes", max);
        ssize_t n = fd_read_upto(STDIN_FILENO, out->data + out->len, out->cap - out->len);
        if (n < 0)
            return err_set(err, ERR_INTERNAL, "reading standard input: %s", strerror((int)-n));
        if (n == 0)
            return 0;
        out->len += (size_t)n;
    }
}

static void submit_one_call(struct gate *gate, const char *tool, struct str arguments,
                            struct one_call *one)
{
    struct call *call = one->call = gate_call_new(gate, gate->session);
    struct json_error why;
    call->name = mem_dup(tool);
    call->front = one;
    call->answer = print_answer;
    size_t max = (size_t)config_int(gate->config, "limits.maxRequestBytes");
    if (arguments.n > max) {
        err_set(&call->err, ERR_TOO_LARGE,
                "the arguments are %zu bytes long, at most %zu are taken", arguments.n, max);
        call->failed = true;
    } else if (json_parse(arguments.p, arguments.n, arguments.n, JSON_STRICT, &call->doc, &why) <
               0) {
        err_field(&call->err, "arguments", "the arguments are not valid JSON: %s (at byte %zu)",
                  why.what, why.at);
        call->failed = true;
    }
    call->arguments = yyjson_doc_get_root(call->doc);
    pipeline_submit(&gate->pipeline, call);
}

static int tool_help(const struct options *o)
{
    struct err err;
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    BUF_AT_END struct buf out = BUF_INIT(64u << 10);
    if (front_gate_options(o, &go, &state_path, &err) < 0)
        return front_usage_error(&err);
    if (o->n_words == 0) {
        buf_add_text(&out,
                     "usage: sandgate call TOOL [JSON|-] [options]\n\n"
                     "Runs one tool call and prints its answer. JSON are the arguments; - reads "
                     "them from standard input.\n`sandgate call TOOL --help` explains a tool.\n\n");
        options_help(OPTIONS, &out);
    } else {
        struct str name = {o->words[0], strlen(o->words[0])};
        const struct tool *tool = registry_find(go.dialect->id, name, &err);
        if (!tool)
            return front_usage_error(&err);
        buf_addf(&out, "%s: %s\n\narguments:\n", tool->name, tool->description);
        arg_help(&tool->args, &out);
    }
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

/* In a gate of its own. */
static int run_here(const struct gate_options *go, const char *tool, struct str arguments,
                    struct one_call *one)
{
    struct gate gate;
    struct err err;
    if (gate_open(&gate, go, &err) < 0)
        return front_usage_error(&err);
    struct interrupt interrupt = {0};
    /* Only what a command made has to be looked at before this process ends. */
    if (go->commands)
        interrupt_start(&interrupt, &gate.loop, &one->call);
    struct prompt *prompt = prompt_start(&gate);
    struct notice notice;
    notice_start(&notice, &gate);
    submit_one_call(&gate, tool, arguments, one);
    while (!one->answered)
        uv_run(&gate.loop, UV_RUN_DEFAULT);
    notice_stop(&notice);
    prompt_stop(prompt);
    interrupt_stop(&interrupt);
    gate_close(&gate);
    return one->status;
}

static int answer_failure(const struct gate_options *go, const char *tool, const struct err *err,
                          struct one_call *one)
{
    struct call *call = front_failed_call(go->dialect, tool, err);
    call->front = one;
    print_answer(call);
    return one->status;
}

/* An owner may end before it has the call: then the session is free, or has another owner. */
#define OWNERS_MAX 10

static int run_in_session(const struct options *o, struct gate_options *go, struct str arguments,
                          struct one_call *one)
{
    struct err err;
    for (int i = 0; i < OWNERS_MAX; i++) {
        CLEANUP(named_done) struct named named = {.dir_fd = -1, .lock_fd = -1};
        FD_AT_END int owner = -1;
        int r = front_take_session(o, true, &named, &owner, &err);
        if (r < 0)
            return err.code == ERR_INVALID_ARGUMENTS ? front_usage_error(&err)
                                                     : answer_failure(go, o->words[0], &err, one);
        if (r > 0) {
            front_use_session(go, &named);
            return run_here(go, o->words[0], arguments, one);
        }
        r = forward_one(owner, one->format, o->words[0], arguments, &one->status, &err);
        if (r <= 0)
            return r == 0 ? one->status : answer_failure(go, o->words[0], &err, one);
    }
    err_set(&err, ERR_SESSION_BUSY,
            "the session's owners end before they take the call; try again");
    return answer_failure(go, o->words[0], &err, one);
}

int front_call(int argc, char *const *argv)
{
    struct options o;
    struct err err;
    struct one_call one = {.status = EXIT_TOOL_ERROR};
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    BUF_AT_END struct buf text = BUF_INIT(0);
    if (options_read(argc, argv, OPTIONS, 2, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return tool_help(&o);
    if (o.n_words == 0) {
        log_error("which tool? see `sandgate call --help` and `sandgate tools`");
        return EXIT_USAGE;
    }
    if (format_find(o.format ? o.format : "tool_call", &one.format, &err) < 0 ||
        front_gate_options(&o, &go, &state_path, &err) < 0 ||
        read_arguments(o.n_words > 1 ? o.words[1] : "{}", ARGUMENTS_MAX, &text, &err) < 0)
        return front_usage_error(&err);
    /* A cell for commands takes longer to make. */
    const struct tool *tool = registry_find(go.dialect->id,
                                            (struct str){o.words[0], strlen(o.words[0])}, &err);
    go.commands = tool_runs_programs(tool);
    go.once = !o.session;
    if (o.session)
        return run_in_session(&o, &go, buf_str(&text), &one);
    return run_here(&go, o.words[0], buf_str(&text), &one);
}
