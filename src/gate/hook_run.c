#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "dialect/dialects.h"
#include "gate/hooks_parts.h"
#include "tools/run.h"

#define FOLDER "hooks"
#define INSIDE "/hooks"
#define COMPLAINED_MAX 1024
#define DENIED_STATUS 2
/* A program that is late is told to end, and killed so much later. */
#define GRACE_NS 250000000u

/* --- one run */

static void take_hook_output(struct call *call, enum stream stream, struct str bytes)
{
    struct job *job = call->front;
    struct hook_run *run = &job->run;
    if (stream == STREAM_STDERR) {
        size_t room = COMPLAINED_MAX - run->complained.len;
        buf_add(&run->complained, bytes.p, bytes.n < room ? bytes.n : room);
        return;
    }
    /* What it prints is of no use any more. */
    if (buf_add(&run->printed, bytes.p, bytes.n) < 0)
        pipeline_cancel(call, ERR_OUTPUT_LIMIT, "the hook printed too much");
}

static yyjson_doc *make_hook_arguments(const struct hook *hook, struct str input)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *argv = yyjson_mut_arr(doc);
    yyjson_mut_doc_set_root(doc, root);
    for (char *const *word = hook->argv; *word; word++)
        yyjson_mut_arr_add_str(doc, argv, *word);
    yyjson_mut_obj_add_val(doc, root, "argv", argv);
    yyjson_mut_obj_add_strn(doc, root, "stdin", input.p, input.n);
    yyjson_mut_obj_add_int(doc, root, "timeout_ms", hook->timeout_ms);
    yyjson_mut_obj_add_int(doc, root, "max_output", HOOK_PRINTED_MAX);
    yyjson_doc *copy = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    if (!copy)
        abort();
    return copy;
}

struct call *hook_run_begin(struct hook_run *run, const struct hook *hook, struct str input)
{
    struct call *call = call_new();
    buf_init(&run->printed, HOOK_PRINTED_MAX);
    buf_init(&run->complained, COMPLAINED_MAX);
    call->dialect = &dialect_native;
    call->name = mem_dup("run_command");
    call->doc = make_hook_arguments(hook, input);
    call->arguments = yyjson_doc_get_root(call->doc);
    call->output = take_hook_output;
    call->grace_ns = GRACE_NS;
    return call;
}

/* How it ended, where that is no answer; nothing: with an exit code. */
static void name_end(const struct hook_run *run, const struct call *call, const struct hook *hook,
                     struct buf *out)
{
    const struct command *command = call->command;
    char words[RUN_WORDS_MAX];
    if (run->printed.failed)
        buf_addf(out, "it printed more than %u bytes", HOOK_PRINTED_MAX);
    else if (call->failed)
        buf_add_text(out, call->err.message);
    else if (command->ended_by == COMMAND_TIMEOUT)
        buf_addf(out, "it did not end within %lld ms (timeoutMs)", (long long)hook->timeout_ms);
    else if (run_limit_words(call, words))
        buf_add_text(out, words);
    else if (command->exit_code == ARG_ABSENT)
        buf_addf(out, "it was ended by signal %lld (%s)", (long long)command->signal,
                 strsignal((int)command->signal));
    else if (command->exit_code != 0 && command->exit_code != DENIED_STATUS)
        buf_addf(out, "exit code %lld", (long long)command->exit_code);
}

static void fail_hook(struct hook_answer *ret, struct str what, struct str complained)
{
    BUF_AT_END struct buf text = BUF_INIT(4096);
    buf_addf(&text, "%s failed: ", ret->rule);
    buf_add(&text, what.p, what.n);
    if (complained.n)
        buf_add_text(&text, ": ");
    buf_add(&text, complained.p, complained.n);
    ret->kind = VERDICT_DENY;
    hook_clean(ret->reason, sizeof ret->reason, buf_str(&text));
}

static void take_hook_end(const struct hook_run *run, const struct call *call,
                          const struct hook *hook, struct hook_answer *ret)
{
    struct err err;
    struct hook_answer said;
    BUF_AT_END struct buf what = BUF_INIT(1024);
    struct str complained = buf_str(&run->complained);
    name_end(run, call, hook, &what);
    if (what.len) {
        fail_hook(ret, buf_str(&what), complained);
        return;
    }
    if (call->command->exit_code == DENIED_STATUS) {
        ret->kind = VERDICT_DENY;
        hook_clean(ret->reason, sizeof ret->reason, complained.n ? complained : STR("exit code 2"));
        return;
    }
    if (hook_answer_read(buf_str(&run->printed), &said, &err) < 0) {
        fail_hook(ret, (struct str){err.message, strlen(err.message)}, (struct str){0});
        return;
    }
    memcpy(said.rule, ret->rule, sizeof said.rule);
    *ret = said;
}

void hook_run_end(struct hook_run *run, const struct call *call, size_t number,
                  const struct hook *hook, struct hook_answer *ret)
{
    *ret = (struct hook_answer){0};
    snprintf(ret->rule, sizeof ret->rule, "hooks[%zu]", number);
    take_hook_end(run, call, hook, ret);
    buf_done(&run->printed);
    buf_done(&run->complained);
}

/* --- where they run */

/* An empty folder of the cell's own user, in the place of a workspace. */
static int make_hook_folder(const struct config *config, int state_fd, char host[PATH_MAX],
                            struct err *err)
{
    char link[64];
    uid_t uid = (uid_t)config_int(config, "cell.uid");
    if (mkdirat(state_fd, FOLDER, 0700) < 0 && errno != EEXIST)
        return err_file_failed(err, "the state folder's " FOLDER);
    FD_AT_END int fd = openat(state_fd, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (geteuid() == 0 && fchown(fd, uid, uid) < 0))
        return err_file_failed(err, "the state folder's " FOLDER);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, host, PATH_MAX);
    if (n == PATH_MAX) {
        errno = ENAMETOOLONG;
        n = -1;
    }
    if (n <= 0)
        return err_file_failed(err, "the state folder's " FOLDER);
    host[n] = '\0';
    return 0;
}

static void write_folders(struct json_out *j, const struct str *shown, size_t n_shown, char **own,
                          size_t n_own)
{
    jo_key(j, "show");
    jo_open(j, '[');
    for (size_t i = 0; i < n_shown; i++)
        jo_str(j, shown[i]);
    for (size_t i = 0; i < n_own; i++)
        jo_text(j, own[i]);
    jo_close(j, ']');
}

/* What differs for their cell. The folder has no files to guard, and hooks have time limits of their own. */
static int adapt(struct hooks *h, struct err *err)
{
    char *own[SHOWN_MAX];
    const struct str *shown = NULL;
    size_t n_shown = 0;
    BUF_AT_END struct buf text = BUF_INIT(CONFIG_BYTES_MAX);
    struct json_out j = {.out = &text};
    config_list(h->config, "commands.show", &shown, &n_shown);
    int n = hook_list_folders(&h->list, shown, n_shown, own, SHOWN_MAX, err);
    if (n < 0)
        return -1;
    jo_open(&j, '{');
    jo_key(&j, "commands");
    jo_open(&j, '{');
    write_folders(&j, shown, n_shown, own, (size_t)n);
    jo_raw(&j, STR("\"maxTimeoutMs\":86400000,\"outputKept\":1024"));
    jo_close(&j, '}');
    jo_raw(&j, STR("\"files\":{\"protected\":[],\"secret\":[]},\"limits\":{\"workerThreads\":1},"
                   "\"policy\":{\"capabilities\":{\"env\":[\"*\"]}}"));
    jo_close(&j, '}');
    for (int i = 0; i < n; i++)
        free(own[i]);
    return config_apply(h->config, buf_str(&text), "hooks", CONFIG_OPERATOR, NULL, NULL, err);
}

int hook_session_new(struct hooks *h, uv_loop_t *loop, const struct config *config, int state_fd,
                     const struct workplace *hidden, struct err *err)
{
    char host[PATH_MAX];
    h->config = config_clone(config);
    if (adapt(h, err) < 0 || make_hook_folder(config, state_fd, host, err) < 0)
        return -1;
    struct root root = {.name = FOLDER, .inside = INSIDE, .host = host};
    struct session_options options = {
        .config = h->config,
        .state_fd = state_fd,
        .id = "",
        .roots = {root},
        .n_roots = 1,
        .commands = true,
        .command_roots = {root},
        .n_command_roots = 1,
        .hidden = hidden,
    };
    return session_new(&h->session, loop, &options, err);
}
