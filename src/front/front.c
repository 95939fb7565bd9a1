#include "front/front.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/fd.h"
#include "base/screen_reset.h"
#include "base/terminal.h"
#include "dialect/dialects.h"
#include "front/forward.h"
#include "front/guest_stop.h"
#include "front/session_commit.h"
#include "gate/state.h"

bool front_ignores(int signal)
{
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int front_usage_error(const struct err *err)
{
    log_error("%s", err->message);
    return EXIT_USAGE;
}

static int output_error; /* that the first failed write to standard output had */

void front_output_failed(int error)
{
    if (!output_error)
        output_error = error;
}

static int put_on_stdout(struct str text)
{
    int r = fd_write_all(STDOUT_FILENO, text.p, text.n);
    if (r < 0)
        front_output_failed(-r);
    return r;
}

static struct buf *put_into;

void front_put_into(struct buf *instead)
{
    put_into = instead;
}

int front_put(struct str text)
{
    if (put_into)
        return buf_add(put_into, text.p, text.n);
    if (!isatty(STDOUT_FILENO))
        return put_on_stdout(text);
    const char *reset = screen_reset_behind_output();
    struct terminal terminal = {0};
    BUF_AT_END struct buf out = BUF_INIT(2 * text.n + TERMINAL_SEQUENCE_MAX + strlen(reset));
    terminal_filter(&terminal, text, &out);
    if (terminal.passed)
        buf_add_text(&out, reset);
    return put_on_stdout(buf_str(&out));
}

int front_end(int status)
{
    if (!output_error)
        return status;
    /* A reader that has seen enough, as `head`, is told of by the status alone. */
    if (output_error != EPIPE)
        log_error("standard output cannot be written: %s", strerror(output_error));
    return status == EXIT_OK ? EXIT_TOOL_ERROR : status;
}

int front_print(struct str answer)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (answer.n && answer.p[0] == '"' &&
        json_parse(answer.p, answer.n, answer.n, JSON_STRICT, &doc, NULL) == 0)
        answer = json_str(yyjson_doc_get_root(doc));
    if (front_put(answer) < 0)
        return -1;
    bool ended = doc && answer.n && answer.p[answer.n - 1] == '\n';
    return ended ? 0 : put_on_stdout(STR("\n"));
}

/* Root makes it as the owner of the folder that it lies in, whose user the cell will be; from the beginning, since that user
 * could put something else in its place before it is given away. */
static int make_run_folder(const char *state, const char *path)
{
    struct stat st;
    bool as_owner = geteuid() == 0 && stat(state, &st) == 0 && st.st_uid != 0;
    if (as_owner) {
        setfsgid(st.st_gid);
        setfsuid(st.st_uid);
        int r = mkdir(path, 0755);
        int error = errno;
        setfsuid(0);
        setfsgid(getegid());
        errno = error;
        if (r == 0 || error != EACCES)
            return r;
    }
    return mkdir(path, 0755);
}

/* A run's own folder beneath --state, made when it is missing. */
static int run_folder(const struct options *o, char **ret_path, struct err *err)
{
    if (!o->run[0] || strchr(o->run, '/') || strcmp(o->run, ".") == 0 || strcmp(o->run, "..") == 0)
        return err_set(err, ERR_INVALID_ARGUMENTS, "--run must be a plain name without slashes");
    if (!o->state)
        return err_set(err, ERR_INVALID_ARGUMENTS, "--run needs --state, the folder of all runs");
    char *path = mem_format("%s/%s", o->state, o->run);
    struct stat st;
    /* A link of that name would make @state whatever it points to. */
    if ((make_run_folder(o->state, path) < 0 && errno != EEXIST) || lstat(path, &st) < 0 ||
        (!S_ISDIR(st.st_mode) && (errno = ENOTDIR))) {
        err_set(err, ERR_INVALID_ARGUMENTS, "the run's folder %s: %s", path, strerror(errno));
        free(path);
        return -1;
    }
    *ret_path = path;
    return 0;
}

int front_gate_options(const struct options *o, struct gate_options *ret, char **state_path,
                       struct err *err)
{
    const struct dialect *dialect = dialect_find(o->dialect ? o->dialect : "native", err);
    *state_path = NULL;
    if (!dialect || (o->run && run_folder(o, state_path, err) < 0))
        return -1;
    *ret = (struct gate_options){
        .dialect = dialect,
        .config_file = o->config,
        .workspace = o->workspace,
        .project = o->project,
        .pkg = o->pkg,
        .state = *state_path ? *state_path : o->state,
        .agent = o->agent,
        .session = o->session,
        .commands = true,
#ifdef SANDGATE_TEST_BROKEN_WORKER
        .show_system = getenv("SANDGATE_TEST_SHOW_SYSTEM") != NULL,
#endif
    };
    return 0;
}

int front_take_session(const struct options *o, bool once, struct named *ret, int *ret_owner,
                       struct err *err)
{
    FD_AT_END int state_fd = -1;
    if (o->workspace || o->project)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "a session has its folder: leave --workspace and --project out");
    if (state_open(&state_fd, err) < 0 || named_load(state_fd, o->session, ret, err) < 0 ||
        named_check_workspace(ret, err) < 0)
        return -1;
    if (!once)
        guest_stop_at_once();
    int r = forward_reach(ret, o, once, ret_owner, err);
    return r >= 0 && ret->lock_fd >= 0 && session_recover(ret, o, err) < 0 ? -1 : r;
}

void front_use_session(struct gate_options *go, const struct named *named)
{
    go->workspace = named->workspace;
    go->session = named->id;
    go->layer = named->layer;
    go->overlay = named->overlay;
}

struct call *front_failed_call(const struct dialect *dialect, const char *tool,
                               const struct err *err)
{
    static struct workplace nowhere = {.tier = {.id = TIER_NONE}, .session_id = ""};
    struct call *call = call_new();
    call->name = mem_dup(tool);
    call->dialect = dialect;
    call->workplace = &nowhere;
    call->failed = true;
    call->err = *err;
    return call;
}

int front_status_of(const struct call *call)
{
    if (!call->failed)
        return EXIT_OK;
    if (call->err.code == ERR_APPROVAL_TIMEOUT || call->err.code == ERR_APPROVAL_DENIED)
        return EXIT_NOT_APPROVED;
    /* A path that leads out is a wrong argument to the caller, not a rule someone wrote. */
    if (err_row(call->err.code)->kind == KIND_POLICY && call->err.code != ERR_READ_ONLY &&
        call->err.code != ERR_PATH_OUTSIDE_WORKSPACE &&
        call->err.code != ERR_SYMLINK_OUTSIDE_WORKSPACE)
        return EXIT_DENIED;
    return EXIT_TOOL_ERROR;
}
