#include "cell/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/falloc.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/sanitized.h"
#include "cell/command_view.h"
#include "cell/failed.h"
#include "cell/folder.h"
#include "cell/held.h"
#include "cell/order.h"
#include "cell/program.h"
#include "cell/rlimits.h"
#include "cell/stub.h"
#include "cell/tty.h"
#include "cell/violations.h"
#include "cell/watch.h"

#define SOCKET_FD 3
#define WATCH_NS 100000000u

struct init {
    const struct cell_spec *spec;
    struct guards *guards;
    const struct denied *denied;
    bool locked;
    struct err why; /* it is not */
    struct order order;
    struct order_vectors vectors;
    struct frame_fds fds;
    int status_fd;
    int tty; /* the socket of its terminal; -1: it has none */
    int listener;
    int signals;
    int sockets; /* tells of memory that sockets hold */
    pid_t program;
    bool ended; /* the program */
    struct violations violations;
    struct watch watch;
    struct ran ran;
    char where[PATH_TEXT_MAX]; /* the command's folder, without links */
};

/* A buffer that needs no more memory. */
#define BUF_OVER(room)                                                                             \
    {                                                                                              \
        .data = (room), .cap = sizeof(room), .max = sizeof(room)                                   \
    }

/* The account, as one frame. The gate reads it as it comes: a pipe may have no room for all of it. */
static int send_account(struct init *init)
{
    static char rooms[3][RAN_BYTES_MAX];
    struct buf violations = BUF_OVER(rooms[0]);
    struct buf head = BUF_OVER(rooms[1]);
    struct buf message = BUF_OVER(rooms[2]);
    struct json_out list = {.out = &violations};
    violations_write(&init->violations, &list);
    struct json_out j = {.out = &head};
    ran_write(&init->ran, buf_str(&violations), &j);
    frame_add(&message, &(struct frame){.type = FRAME_RAN, .head = buf_str(&head)});
    if (violations.failed || head.failed || message.failed)
        return -1;
    return fd_write_all(init->status_fd, message.data, message.len);
}

static int give_up_command(struct init *init, enum ran_kind kind, const struct err *err)
{
    init->ran.kind = kind == RAN_FAILED && err->code == ERR_SESSION_BUSY ? RAN_BUSY : kind;
    init->ran.message = (struct str){err->message, strlen(err->message)};
    if (err->reason[0])
        init->ran.rule = (struct str){err->reason, strlen(err->reason)};
    return send_account(init) < 0 ? 1 : 0;
}

static int place_descriptors(struct init *init, struct err *err)
{
    struct frame_fds *fds = &init->fds;
    if (init->order.has_stdin && dup2(fds->fd[ORDER_REST], STDIN_FILENO) < 0)
        return cell_failed(err, "standard input");
    if (dup2(fds->fd[ORDER_STDOUT], STDOUT_FILENO) < 0 ||
        dup2(fds->fd[ORDER_STDERR], STDERR_FILENO) < 0)
        return cell_failed(err, "standard output");
    init->status_fd = TAKE_FD(fds->fd[ORDER_STATUS]);
    init->tty = init->order.terminal ? TAKE_FD(fds->fd[ORDER_REST]) : -1;
    frame_fds_close(fds);
    return init->tty < 0 ? 0 : tty_open(init->tty, init->order.terminal_errors, err);
}

/* Waits for whoever has ended; the program's own end is kept. True: nobody is left. */
static bool reap(struct init *init, int flags)
{
    int status;
    struct rusage usage;
    for (pid_t pid; (pid = wait4(-1, &status, flags, &usage)) != 0;) {
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0 && errno != ECHILD)
            _exit(1); /* without an account: the launcher then tells, and nothing is made up */
        if (pid < 0)
            return true;
        if (pid != init->program)
            continue;
        if (WIFSTOPPED(status)) {
            tty_send(init->tty, TTY_STOPPED, -1);
            continue;
        }
        init->ended = true;
        init->ran.status = status;
        init->ran.user_ms = usage.ru_utime.tv_sec * 1000 + usage.ru_utime.tv_usec / 1000;
        init->ran.system_ms = usage.ru_stime.tv_sec * 1000 + usage.ru_stime.tv_usec / 1000;
        init->ran.peak_memory = (int64_t)usage.ru_maxrss << 10;
    }
    return false;
}

/* SIGCONT behind it: who is stopped would not hear the SIGTERM. */
static void ask_to_end(void)
{
    kill(-1, SIGTERM);
    kill(-1, SIGCONT);
}

/* Once they are dead, the account is given as always. */
static void take_stop(void)
{
    char buffer[64];
    struct frame frame;
    ssize_t n = recv(SOCKET_FD, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n == 0)
        _exit(1); /* the launcher is gone, and with it the cell */
    if (n < 0 || frame_parse(buffer, (size_t)n, &frame) < 0)
        return;
    if (frame.type == FRAME_KILL)
        kill(-1, SIGKILL);
    else
        ask_to_end();
}

/* Opened before it is locked, though that would not keep it from reading there. */
static int prepare_watch(struct init *init, struct err *err)
{
    struct watch_limits limits = order_watch_limits(&init->order);
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0 || tmp < 0)
        return cell_failed(err, "opening /proc");
    watch_init(&init->watch, proc, &limits);
    watch_add_tmpfs(&init->watch, tmp);
    init->watch.sockets = init->sockets;
    return 0;
}

static int prepare_command(struct init *init, struct err *err)
{
    if (place_descriptors(init, err) < 0)
        return -1;
    umask(init->spec->umask);
    if (order_is_watched(&init->order) && prepare_watch(init, err) < 0)
        return -1;
    return rlimits_set(&init->order, err);
}

/* Ends everything when a limit is passed. */
static bool end_if_exceeded(struct init *init)
{
    const struct watch_limits limits = order_watch_limits(&init->order);
    enum watch_limit passed = watch_exceeded(&init->watch, &limits);
    if (passed == WATCH_OK)
        return false;
    init->ran.kind = passed == WATCH_MEMORY      ? RAN_MEMORY
                     : passed == WATCH_PROCESSES ? RAN_PROCESSES
                                                 : RAN_WRITTEN;
    kill(-1, SIGKILL);
    return true;
}

static bool look_at_watch(struct init *init)
{
    watch_look(&init->watch);
    return end_if_exceeded(init);
}

/* Punching and collapsing only give back. What is asked for twice counts twice. */
static bool may_allocate(struct init *init, uint64_t mode, uint64_t length)
{
    if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE))
        return true;
    if (init->order.watch_written)
        watch_add_allocated(&init->watch, length);
    return !end_if_exceeded(init);
}

static bool makes_descriptor(const char *call)
{
    return strncmp(call, "epoll_create", strlen("epoll_create")) == 0 ||
           strncmp(call, "inotify_init", strlen("inotify_init")) == 0;
}

/* Only a control group counts what these hold. */
static bool takes_uncounted_memory(const char *call)
{
    static const char *const calls[] = {"memfd_create", "vmsplice", "landlock_create_ruleset",
                                        "setsockopt"};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (strcmp(call, calls[i]) == 0)
            return true;
    }
    return false;
}

static bool allows(void *self, const char *call, const struct seccomp_data *data)
{
    struct init *init = self;
    if (strcmp(call, "fallocate") == 0)
        return may_allocate(init, data->args[1], data->args[3]);
    if (takes_uncounted_memory(call))
        return !init->order.watch_memory;
    if (makes_descriptor(call)) {
        if (init->order.watch_memory)
            watch_add_descriptors(&init->watch);
        return true;
    }
    return false;
}

/* A stub that was started in the place of a denied program. */
static const char *names_stub(void *self, const char *call, const struct seccomp_data *data)
{
    const struct init *init = self;
    return strcmp(call, "ptrace") == 0 && data->args[0] == STUB_MARK
               ? denied_name(init->denied, data->args[1])
               : NULL;
}

static int ms_until(uint64_t end)
{
    uint64_t now = clock_mono_ns();
    return now >= end ? 0 : (int)((end - now + 999999) / 1000000);
}

/* By the clock, not when nothing else happens: a command that makes refused calls, or sends SIGCHLD, in a
 * loop must not keep it from looking. */
static void serve_command(struct init *init)
{
    bool watched = order_is_watched(&init->order);
    uint64_t next = clock_mono_ns() + WATCH_NS;
    while (!init->ended) {
        struct pollfd fds[] = {{SOCKET_FD, POLLIN, 0},
                               {init->signals, POLLIN, 0},
                               {init->listener, POLLIN, 0},
                               {init->tty, POLLIN, 0}};
        int n = poll(fds, ARRAY_LEN(fds), watched ? ms_until(next) : -1);
        if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOMEM)
            _exit(1); /* as above: how the program would have ended is not known */
        struct signalfd_siginfo info;
        if (fds[1].revents && read(init->signals, &info, sizeof info) > 0)
            reap(init, init->tty < 0 ? WNOHANG : WNOHANG | WUNTRACED);
        if (fds[3].revents && !tty_obey(init->tty, init->program))
            fd_closep(&init->tty);
        if (fds[2].revents & POLLIN &&
            !violations_take(init->listener, &init->violations,
                             &(struct violations_judge){allows, names_stub, init}))
            fd_closep(&init->listener);
        if (fds[0].revents)
            take_stop();
        if (watched && clock_mono_ns() >= next) {
            watched = !look_at_watch(init);
            next = clock_mono_ns() + WATCH_NS;
        }
    }
}

static int start_program(struct init *init)
{
    struct err err;
    int r = folder_enter(&init->order, init->where);
    init->ran.folder = (struct str){r > 0 ? init->where : NULL, r > 0 ? strlen(init->where) : 0};
    if (r < 0) {
        init->ran.error = -r;
        err_set(&err, ERR_NOT_FOUND, "working directory: %s", strerror(-r));
        return give_up_command(init, err_is_shortage(-r) ? RAN_BUSY : RAN_NO_FOLDER, &err);
    }
    enum ran_kind kind = program_start(&init->order, &init->vectors, &init->program,
                                       &init->ran.error, &err);
    if (kind != RAN_ENDED)
        return give_up_command(init, kind, &err);
    watch_add_program(&init->watch, init->program);
    serve_command(init);
    /* Whoever is left: gone before anyone hears that the command has ended. */
    if (!reap(init, WNOHANG)) {
        kill(-1, SIGKILL);
        reap(init, 0);
    }
    if (order_is_watched(&init->order)) {
        watch_look_last(&init->watch);
        init->ran.written = (int64_t)(init->watch.written + init->watch.allocated);
        for (uint32_t i = 0; i < init->watch.hidden; i++)
            violations_count(&init->violations, "process:unreadable");
        if (init->watch.uncounted)
            violations_count(&init->violations, "sockets:uncounted");
        if ((int64_t)init->watch.memory_peak > init->ran.peak_memory)
            init->ran.peak_memory = (int64_t)init->watch.memory_peak;
    }
    return send_account(init) < 0 ? 1 : 0;
}

static int obey(struct init *init, const struct frame *frame)
{
    struct err err;
    yyjson_doc *doc = NULL;
    if (init->fds.lost)
        return COMMAND_NOT_BEGUN;
    if (init->fds.n < ORDER_REST)
        return 1;
    init->status_fd = init->fds.fd[ORDER_STATUS];
    if (!init->locked && !init->why.message[0])
        err_set(&init->why, ERR_SANDBOX_UNAVAILABLE, "which files are guarded is not known");
    if (!init->locked)
        return give_up_command(init, RAN_FAILED, &init->why);
    if (order_read(frame, &init->order, &doc, &err) < 0)
        return give_up_command(init, RAN_FAILED, &err);
    if ((init->order.terminal && init->order.has_stdin) ||
        init->fds.n != ORDER_REST + (size_t)(init->order.has_stdin || init->order.terminal) ||
        order_vectors(&init->order, &init->vectors) < 0) {
        err_set(&err, ERR_INTERNAL, "an order whose parts do not fit together");
        return give_up_command(init, RAN_FAILED, &err);
    }
    if (prepare_command(init, &err) < 0)
        return give_up_command(init, RAN_FAILED, &err);
    return start_program(init);
}

/* Its control groups first: from here on everything is counted there. Their names are then hidden. */
static int enter_groups(const struct frame_fds *groups, struct err *err)
{
    for (size_t i = 0; i < groups->n; i++) {
        if (write(groups->fd[i], "0", 1) != 1)
            return cell_failed(err, "entering a control group");
    }
    if (groups->n && unshare(CLONE_NEWCGROUP) < 0)
        return cell_failed(err, "hiding the control groups");
    return 0;
}

/* What is not covered where the scan found it may be open somewhere else: the command is not started then. */
static int cover_all_guarded(struct init *init)
{
    int r = guards_mount(init->spec, init->guards, &init->why);
    if (r <= 0)
        return r;
    err_set(&init->why, ERR_SESSION_BUSY, RAN_GUARDS_MOVED);
    return err_reason(&init->why, RAN_GUARDS_MOVED);
}

/* The last thing that needs a capability. */
static void guard_and_lock(struct init *init)
{
    if (init->why.message[0] || init->locked)
        return;
    init->locked = cover_all_guarded(init) == 0 &&
                   command_lock(init->spec, &init->listener, &init->why) == 0;
}

/* All guards are mounted. */
static void lock_only(struct init *init)
{
    if (!init->why.message[0])
        init->locked = command_lock(init->spec, &init->listener, &init->why) == 0;
}

static int wait_for_order(struct init *init)
{
    static char buffer[FRAME_BYTES_MAX];
    struct frame frame;
    while (frame_receive_fds(SOCKET_FD, buffer, &frame, &init->fds) == 1) {
        if (frame.type == FRAME_RUN)
            return obey(init, &frame);
        if (frame.type != FRAME_GUARDS || init->locked || init->fds.lost ||
            guards_take(init->guards, &frame, init->fds.n ? init->fds.fd[0] : -1) < 0)
            return COMMAND_NOT_BEGUN;
        frame_fds_close(&init->fds);
        if (guards_complete(init->guards, init->spec))
            guard_and_lock(init);
    }
    return COMMAND_NOT_BEGUN;
}

/* A layer stands on what covers its git directory. */
static int add_layers(struct init *init, const struct layers *layers, bool covered)
{
    if (!guards_complete(init->guards, init->spec))
        return err_set(&init->why, ERR_SANDBOX_UNAVAILABLE, "what is guarded is not known");
    if (!covered && cover_all_guarded(init) < 0)
        return -1;
    return layers_mount(init->spec, init->guards, layers, &init->why);
}

/* To the launcher, which cannot open it: this process is not dumpable. */
static int send_mounts(void)
{
    FD_AT_END int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    struct frame_fds fds = {.fd = {fd}, .n = 1};
    return fd < 0 ? -1 : frame_send_fds(SOCKET_FD, &(struct frame){.type = FRAME_READY}, &fds);
}

/* A namespace that has rested (no `points`) lacks only what is this command's own. */
static int make_view(struct init *init, bool covered, int64_t points, const struct layers *layers)
{
    if (!points)
        return command_mount_again(&init->why);
    if (command_mount(init->spec, points, &init->why) < 0)
        return -1;
    if (layers_any(layers) && add_layers(init, layers, covered) < 0)
        return -1;
    return command_leave_store(init->spec, &init->why);
}

static int run_first_process(const struct cell_spec *spec, struct guards *guards,
                             const struct denied *denied, bool covered, int64_t points,
                             const struct frame_fds *groups, const struct layers *layers)
{
    static struct init init;
    sigset_t child;
    init = (struct init){.spec = spec,
                         .guards = guards,
                         .denied = denied,
                         .why = denied->why,
                         .tty = -1,
                         .listener = -1,
                         .sockets = -1};
    int r = init.why.message[0] ? -1 : enter_groups(groups, &init.why);
    /* Nothing of the launcher's goes along: not its control socket, not other commands' sockets. */
    if (close_range(SOCKET_FD + 1, ~0U, 0) < 0 || send_mounts() < 0)
        return COMMAND_NOT_BEGUN;
    sanitized_enter_cell();
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    init.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (init.signals < 0 && r == 0)
        r = cell_failed(&init.why, "hearing of processes that end");
    init.sockets = held_open();
    /* Where the kernel has no such socket at all, the answer says that these were not counted. */
    if (init.sockets < 0 && err_is_shortage(-init.sockets) && r == 0)
        r = err_set(&init.why, ERR_SESSION_BUSY, "counting memory of sockets: %s",
                    strerror(-init.sockets));
    if (r == 0)
        make_view(&init, covered, points, layers);
    if (covered)
        lock_only(&init);
    else if (guards_complete(guards, spec))
        guard_and_lock(&init);
    return wait_for_order(&init);
}

pid_t command_make(const struct cell_spec *spec, struct guards *guards, const struct denied *denied,
                   bool covered, int rested, int64_t points, const struct frame_fds *groups,
                   const struct layers *layers, int *ret_socket)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    unsigned long flags = CLONE_NEWPID | CLONE_NEWIPC | (rested < 0 ? CLONE_NEWNS : 0) | SIGCHLD;
    pid_t pid = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (pid == 0) {
        if (rested >= 0 && setns(rested, CLONE_NEWNS) < 0)
            _exit(COMMAND_NOT_BEGUN);
        if (pair[1] != SOCKET_FD && dup3(pair[1], SOCKET_FD, O_CLOEXEC) < 0)
            _exit(COMMAND_NOT_BEGUN);
        _exit(run_first_process(spec, guards, denied, covered, rested >= 0 ? 0 : points, groups,
                                layers));
    }
    int error = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return -error;
    }
    *ret_socket = pair[0];
    return pid;
}
