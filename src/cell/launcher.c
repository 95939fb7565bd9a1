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
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "base/sanitized.h"
#include "cell/aliases.h"
#include "cell/failed.h"
#include "cell/frame.h"
#include "cell/handover.h"
#include "cell/identity.h"
#include "cell/lock.h"
#include "cell/loopback.h"
#include "cell/mounts.h"
#include "cell/program_files.h"
#include "cell/report.h"
#include "cell/runner.h"
#include "cell/user_limits.h"

#define WORKER_RESERVE ((size_t)8 << 20)
#define LAUNCHER_RESERVE ((size_t)256 << 10)
/* What a worker takes to receive its first call. */
#define WORKER_ROOM (FRAME_BYTES_MAX + FRAME_BODY_MAX + ((size_t)64 << 10))

/* Without mounts they were opened before, and `trees` has them. */
static int open_roots(const struct cell_spec *spec, const struct trees *trees, int roots[ROOTS_MAX],
                      struct landlock_rule rules[ROOTS_MAX], struct err *err)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        roots[i] = spec->tier == TIER_FULL
                       ? open(spec->roots[i].inside, O_PATH | O_DIRECTORY | O_CLOEXEC)
                       : trees->root[i];
        if (roots[i] < 0)
            return err_set(err, err_code_for(errno, ERR_SANDBOX_UNAVAILABLE),
                           "opening %s in the cell: %s", spec->roots[i].inside, strerror(errno));
        rules[i] = (struct landlock_rule){.folder = roots[i], .writable = spec->roots[i].writable};
    }
    return 0;
}

/* Afterwards nothing can be shared any more. */
static int map_shelf(int fd, struct shelf *ret, struct err *err)
{
    if (fd < 0)
        return 0;
    int r = shelf_map(fd, ret);
    close(fd);
    return r < 0 ? err_set(err, err_code_for(-r, ERR_SANDBOX_UNAVAILABLE), "sharing memory: %s",
                           strerror(-r))
                 : 0;
}

/* Once it is ready, a worker without memory for its first call would end the call with the cell. */
static int check_worker_room(struct err *err)
{
    void *room = malloc(WORKER_ROOM);
    free(room);
    return room ? 0
                : err_set(err, ERR_SESSION_BUSY,
                          "the worker has no memory (RLIMIT_AS, `ulimit -v`); try again");
}

static int lock_worker(const struct cell_spec *spec, const struct landlock_rule *rules,
                       struct err *err)
{
    if (spec->tier == TIER_FULL && spec->commits)
        return lock_as(ROLE_COMMITTER, rules, spec->n_roots, NULL, err);
    if (spec->tier == TIER_FULL)
        return lock_as(ROLE_WORKER, rules, spec->n_roots, NULL, err);
    if (spec->commits)
        return err_set(err, ERR_SANDBOX_UNAVAILABLE,
                       "changes of a session are taken over in the tier full alone");
    return lock_as(ROLE_LONE_WORKER, rules, spec->n_roots, NULL, err);
}

static int run_worker(const struct start *start, worker_fn worker)
{
    const struct cell_spec *spec = &start->spec;
    struct err err;
    struct shelf shelf = {0};
    int roots[ROOTS_MAX];
    struct landlock_rule rules[ROOTS_MAX];
    sanitized_enter_cell();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    reserve_make(WORKER_RESERVE);
    if (map_shelf(start->shelf_fd, &shelf, &err) < 0 || check_worker_room(&err) < 0 ||
        open_roots(spec, &start->trees, roots, rules, &err) < 0 ||
        lock_worker(spec, rules, &err) < 0)
        return report_failure(&err);
    if (report_send(FRAME_READY, 0, NULL, false) < 0)
        return 1;
    close(CELL_CONTROL_FD);
    return worker(CELL_WORK_FD, spec, roots, shelf);
}

/* It locks itself when its libraries are loaded, before it reads a call (roles/serve.c). */
static int run_program(const struct cell_spec *spec)
{
    struct err err;
    const char *name = strrchr(spec->program, '/');
    char *argv[] = {mem_dup(name ? name + 1 : spec->program), NULL};
    static char libraries[] = "LD_LIBRARY_PATH=" SPEC_LIBRARIES;
    char *envp[] = {libraries, NULL};
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (close_range(CELL_LAST_FD + 1, ~0U, 0) == 0)
        execve(SPEC_PROGRAM, argv, envp);
    cell_failed(&err, "starting the role's program");
    return report_failure(&err);
}

static void describe_death(int status)
{
    struct err err;
    if (WIFSIGNALED(status))
        err_set(&err, ERR_INTERNAL, "the worker was ended by signal %d (%s)", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else
        err_set(&err, ERR_INTERNAL, "the worker ended with status %d", WEXITSTATUS(status));
    report_failure(&err);
}

struct watched {
    pid_t worker;
    int signals;
    struct runner runner;
};

/* 0: the gate is gone, or this cell cannot go on. */
static int take_order(struct runner *runner)
{
    static char buffer[FRAME_BYTES_MAX];
    FRAME_FDS_AT_END struct frame_fds fds = {0};
    struct frame frame;
    int r = frame_receive_fds(CELL_CONTROL_FD, buffer, &frame, &fds);
    if (r <= 0 || !runner->spec->commands)
        return r;
    return runner_take(runner, &frame, &fds) == 0;
}

/* Until the gate closes the control socket or the worker ends. Ending ends everything in the cell,
 * because this is the first process of its pid namespace. */
static int watch_launched_cell(struct watched *w)
{
    for (;;) {
        struct pollfd fds[] = {{CELL_CONTROL_FD, POLLIN, 0},
                               {w->signals, POLLIN, 0},
                               {w->runner.listening, POLLPRI, 0},
                               {w->runner.listening_in, POLLIN, 0}};
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return 1;
        if (fds[2].revents)
            runner_cover_again(&w->runner);
        else if (fds[3].revents)
            runner_cover_running(&w->runner);
        if (fds[0].revents && take_order(&w->runner) <= 0)
            return 0;
        struct signalfd_siginfo info;
        if (fds[1].revents && read(w->signals, &info, sizeof info) < 0)
            return 1;
        int status;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (pid == w->worker) {
                w->worker = 0;
                describe_death(status);
                return 1;
            }
            if (runner_bury(&w->runner, pid, status) < 0)
                return report_failure(
                    &(struct err){.code = ERR_INTERNAL, .message = "the launcher lost its mounts"});
        }
    }
}

/* The worker has nothing to do with what is mounted for commands. */
static int prepare_for_commands(struct mounting *mounting, struct err *err)
{
    if (unshare(CLONE_NEWNS) < 0)
        return cell_failed(err, "mounts for commands");
    if (mounting_continue(mounting, err) < 0 || aliases_cover(mounting, err) < 0)
        return -1;
    return loopback_raise(err);
}

/* `mounting`: NULL where there is none. */
static pid_t start_worker(const struct start *start, struct mounting *mounting, worker_fn worker,
                          int *ret_signals, struct err *err)
{
    pid_t launcher = getpid();
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    *ret_signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    pid_t pid = *ret_signals < 0 ? -1 : fork();
    if (pid == 0) {
        close(*ret_signals);
        if (mounting)
            mounting_done(mounting);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* A launcher that died before that sends no signal any more. */
        if (getppid() != launcher)
            _exit(1);
        _exit(start->spec.program ? run_program(&start->spec) : run_worker(start, worker));
    }
    if (pid < 0)
        cell_failed(err, "starting the worker");
    return pid;
}

static int make_plan(const struct cell_spec *spec, struct plan *ret, struct err *err)
{
    struct place places[PLACES_MAX];
    size_t n_places = 0;
    if (spec->commands)
        mounts_look_at_system(places, &n_places);
    const char *staging = mounts_staging();
    if (!staging)
        return err_set(err, ERR_SANDBOX_UNAVAILABLE,
                       "no folder to build the sandbox on (/tmp, /run)");
    plan_make(spec, places, n_places, staging, ret);
    return 0;
}

/* What only the worker needs. */
static void close_for_worker(struct start *start)
{
    fd_closep(&start->shelf_fd);
    close(CELL_WORK_FD);
    close(CELL_HELP_FD);
    close(CELL_HELP_SEND_FD);
}

static int launch(int go, worker_fn worker)
{
    static struct start start;
    const struct cell_spec *spec = &start.spec;
    struct err err;
    struct plan plan;
    struct mounting mounting;
    sanitized_enter_cell();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    reserve_make(LAUNCHER_RESERVE);
    if (handover_take(go, &start, &err) < 0 || make_plan(spec, &plan, &err) < 0 ||
        identity_become(spec, &err) < 0)
        return report_failure(&err);
    /* Changing uids cleared it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (spec->commands)
        user_limits_set();
    prctl(PR_SET_NAME, "sandgate-cell");
    umask(0);
    mounting_init(&mounting, &plan, spec, &start.trees);
    if (mounting_continue(&mounting, &err) < 0 || lock_bounds(&err) < 0)
        return report_failure(&err);
    umask(spec->umask);
    int signals;
    pid_t pid = start_worker(&start, &mounting, worker, &signals, &err);
    close_for_worker(&start);
    if (pid < 0 || (spec->commands && prepare_for_commands(&mounting, &err) < 0))
        return report_failure(&err);
    mounting_done(&mounting);
    plan_done(&plan);
    struct watched watched = {.worker = pid, .signals = signals};
    if (runner_init(&watched.runner, spec) < 0) {
        cell_failed(&err, "watching the mounts");
        return report_failure(&err);
    }
    return watch_launched_cell(&watched);
}

/* --- without namespaces */

/* Opened as whoever the gate is, which may be allowed to go where the cell's user is not. */
static int open_folders(const struct cell_spec *spec, struct trees *ret, struct err *err)
{
    trees_init(ret);
    for (size_t i = 0; i < spec->n_roots; i++) {
        ret->root[i] = open(spec->roots[i].host, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (ret->root[i] < 0)
            return cell_failed_at(err, "opening", spec->roots[i].host);
        if (mounts_check_identity(ret->root[i], &spec->roots[i], err) < 0)
            return -1;
    }
    return 0;
}

/* This process itself is the launcher then; it was started as the gate's child. Its locked worker is all there is in the
 * cell. */
static int launch_lone(struct start *start, worker_fn worker)
{
    struct err err;
    struct watched watched = {
        .runner = {.spec = &start->spec, .listening = -1, .listening_in = -1}};
    /* No command is started: what the gate prepares for some is not looked at. */
    start->spec.commands = false;
    if (open_folders(&start->spec, &start->trees, &err) < 0)
        return report_failure(&err);
    lock_bounds_if_allowed();
    if (identity_drop(&start->spec, &err) < 0)
        return report_failure(&err);
    /* The gate's end is heard of on the control socket, so that this process lives to end its worker and wait for it. */
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_NAME, "sandgate-cell");
    umask(start->spec.umask);
    watched.worker = start_worker(start, NULL, worker, &watched.signals, &err);
    close_for_worker(start);
    for (size_t i = 0; i < start->spec.n_roots; i++)
        fd_closep(&start->trees.root[i]);
    if (watched.worker < 0)
        return report_failure(&err);
    int r = watch_launched_cell(&watched);
    if (watched.worker > 0) {
        kill(watched.worker, SIGKILL);
        waitpid(watched.worker, NULL, 0);
    }
    return r;
}

int launcher_main(bool network, worker_fn worker)
{
    static struct start start;
    struct err err;
    struct err later;
    struct str text = {0};
    int go = -1;
    start.shelf_fd = -1;
    if (close_range(CELL_LAST_FD + 1, ~0U, 0) < 0)
        return 1;
    sanitized_enter_cell();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The launcher is the gate's own child, so that it dies with the gate and the gate can wait for it. Its namespaces
     * are made while the gate may still be finding out what is to be in them. */
    pid_t pid;
    int made = identity_start(network, &pid, &go, &err);
    if (pid == 0)
        _exit(made < 0 ? report_failure(&err) : launch(go, worker));
    /* A gate that has asked for nothing hears of no failure. */
    if (handover_receive(CELL_CONTROL_FD, &text, &start, &later) < 0)
        return report_failure(&later);
    if (geteuid() == 0 && start.spec.gid == 0) {
        err_set(&later, ERR_INTERNAL, "a cell of root's group");
        return report_failure(&later);
    }
    if (start.spec.tier != TIER_FULL) {
        fd_closep(&go); /* a launcher that waits in its namespaces ends */
        return launch_lone(&start, worker);
    }
    if (made < 0)
        return report_failure(&err);
    if (start.spec.program && program_files_add(&start.spec, &err) < 0)
        return report_failure(&err);
    if (identity_take_trees(&start.spec, &start.trees, &err) < 0 ||
        identity_map(&start.spec, pid, &err) < 0 || handover_send(go, text, &start, &err) < 0)
        return report_failure(&err);
    identity_done();
    return 0;
}
