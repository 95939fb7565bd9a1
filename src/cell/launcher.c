#include "cell/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/frame.h"
#include "cell/identity.h"
#include "cell/lock.h"
#include "cell/mounts.h"

static int report(enum frame_type type, const char *key, const char *text, int64_t number)
{
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    struct json_out j = {.out = &head};
    jo_open(&j, '{');
    if (text)
        jo_ktext(&j, key, text);
    else if (key)
        jo_kint(&j, key, number);
    jo_close(&j, '}');
    struct frame frame = {.type = type, .head = buf_str(&head)};
    return frame_send(CELL_CONTROL_FD, &frame, -1);
}

static int give_up(const struct err *err)
{
    report(FRAME_FAILED, "message", err->message, 0);
    return 1;
}

static int receive_spec(struct cell_spec *ret, struct err *err)
{
    static char buffer[FRAME_BYTES_MAX];
    struct frame frame;
    int r = frame_receive(CELL_CONTROL_FD, buffer, 0, &frame, NULL);
    if (r != 1 || frame.type != FRAME_SPEC)
        return err_set(err, ERR_INTERNAL, "no specification from the gate");
    return spec_read(frame.head, ret, err);
}

static int open_roots(const struct cell_spec *spec, int roots[ROOTS_MAX],
                      struct landlock_rule rules[ROOTS_MAX], struct err *err)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        roots[i] = open(spec->roots[i].inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (roots[i] < 0)
            return err_set(err, ERR_SANDBOX_UNAVAILABLE, "opening %s in the cell: %s",
                           spec->roots[i].inside, strerror(errno));
        rules[i] = (struct landlock_rule){roots[i], spec->roots[i].writable};
    }
    return 0;
}

static int run_worker(const struct cell_spec *spec, worker_fn worker)
{
    struct err err;
    int roots[ROOTS_MAX];
    struct landlock_rule rules[ROOTS_MAX];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (open_roots(spec, roots, rules, &err) < 0 || lock_worker(rules, spec->n_roots, &err) < 0)
        return give_up(&err);
    if (report(FRAME_READY, NULL, NULL, 0) < 0)
        return 1;
    close(CELL_CONTROL_FD);
    return worker(CELL_WORK_FD, spec, roots);
}

static void describe_death(int status)
{
    struct err err;
    if (WIFSIGNALED(status))
        err_set(&err, ERR_INTERNAL, "the worker was ended by signal %d (%s)", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else
        err_set(&err, ERR_INTERNAL, "the worker ended with status %d", WEXITSTATUS(status));
    give_up(&err);
}

/* Until the gate closes the control socket or the worker ends. Ending ends everything in the cell,
 * because this is the first process of its pid namespace. */
static int watch(pid_t worker, int signals)
{
    for (;;) {
        struct pollfd fds[] = {{CELL_CONTROL_FD, POLLIN, 0}, {signals, POLLIN, 0}};
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return 1;
        if (fds[0].revents)
            return 0;
        struct signalfd_siginfo info;
        if (fds[1].revents && read(signals, &info, sizeof info) < 0)
            return 1;
        int status;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (pid == worker) {
                describe_death(status);
                return 1;
            }
        }
    }
}

static int launch(const struct cell_spec *spec, const int *trees, worker_fn worker)
{
    struct err err;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NAME, "sandgate-cell");
    umask(0);
    struct place places[PLACES_MAX];
    size_t n_places = 0;
    if (spec->system)
        mounts_look_at_system(places, &n_places);
    const char *staging = mounts_staging();
    if (!staging) {
        err_set(&err, ERR_SANDBOX_UNAVAILABLE, "no folder to build the sandbox on (/tmp, /run)");
        return give_up(&err);
    }
    struct plan plan;
    plan_make(spec, places, n_places, staging, &plan);
    int r = mounts_apply(&plan, spec, trees, &err);
    plan_done(&plan);
    if (r < 0)
        return give_up(&err);
    umask(spec->umask);

    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    pid_t pid = signals < 0 ? -1 : fork();
    if (pid == 0) {
        close(signals);
        _exit(run_worker(spec, worker));
    }
    close(CELL_WORK_FD);
    close(CELL_HELP_FD);
    close(CELL_HELP_SEND_FD);
    if (pid < 0) {
        err_set(&err, ERR_SANDBOX_UNAVAILABLE, "starting the worker: %s", strerror(errno));
        return give_up(&err);
    }
    return watch(pid, signals);
}

int launcher_main(worker_fn worker)
{
    struct err err;
    struct cell_spec spec = {0};
    int trees[ROOTS_MAX];
    struct identity_mapper mapper;
    if (close_range(CELL_LAST_FD + 1, ~0U, 0) < 0)
        return 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (receive_spec(&spec, &err) < 0 || identity_drop_root(&spec, trees, &mapper, &err) < 0)
        return give_up(&err);
    /* Changing uids cleared it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (identity_unshare(&spec, &mapper, &err) < 0)
        return give_up(&err);
    /* The launcher becomes the gate's own child, so that it dies with the gate and the gate can
     * wait for it; this process has then done its part. */
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(launch(&spec, trees, worker));
    if (pid < 0) {
        err_set(&err, ERR_SANDBOX_UNAVAILABLE, "starting the launcher: %s", strerror(errno));
        return give_up(&err);
    }
    report(FRAME_STARTED, "pid", NULL, pid);
    return 0;
}
