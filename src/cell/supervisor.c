#include "cell/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/command.h"
#include "cell/frame.h"
#include "cell/launcher.h"
#include "cell/report.h"

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

/* A command's first process. */
struct first {
    uint64_t token; /* 0: it waits for its order, or was discarded */
    pid_t pid;
    int socket;
    int mounts;     /* its mount namespace; -1: not asked for yet */
    bool heard;     /* of its mount namespace, or that it cannot be had */
    uint32_t lists; /* of guards, that were known when it started */
    bool layered;   /* its git directories are layers */
};

struct watched {
    const struct cell_spec *spec;
    pid_t worker;
    int signals;
    struct first *firsts;
    size_t n_firsts;
    struct guards guards;
    int listening;  /* to mounts that go away */
    bool unmounted; /* guards were told that are not mounted yet */
    bool missing;   /* some were not there to be covered: they may be back */
    pid_t spare;    /* waits for its order; 0: there is none */
    bool spare_locked;
    /* Where the next command is counted. They are kept until one has its order: a spare may have to be made anew. */
    struct frame_fds groups;
    bool has_groups;
    struct layers layers; /* of the command that comes next; none: it writes to no git directory */
    uint64_t layers_of;   /* the token of the command that they are for; 0: there are none */
};

static struct first *find_first(struct watched *w, uint64_t token)
{
    for (size_t i = 0; i < w->n_firsts; i++) {
        if (w->firsts[i].token == token)
            return &w->firsts[i];
    }
    return NULL;
}

static struct first *find_spare(struct watched *w)
{
    for (size_t i = 0; w->spare && i < w->n_firsts; i++) {
        if (w->firsts[i].pid == w->spare)
            return &w->firsts[i];
    }
    return NULL;
}

/* Each round may make mounts, which are heard of as well; the last one has found everything covered. */
#define COVER_ROUNDS 8

/* In this process's own mount namespace, which every command's begins with: a mount goes along when a command moves
 * a folder around it. False: a command has to do it, and tells why not. */
static bool cover(struct watched *w)
{
    struct err err;
    bool known = guards_complete(&w->guards, w->spec);
    for (int i = 0; known && i < COVER_ROUNDS && (guards_heard(w->listening) || w->unmounted);
         i++) {
        int r = guards_mount(w->spec, &w->guards, &err);
        w->unmounted = r < 0;
        w->missing = r > 0;
    }
    return known && !w->unmounted;
}

static int make_spare(struct watched *w)
{
    struct first first = {.token = 0, .mounts = -1};
    bool covered = cover(w);
    first.pid = command_make(w->spec, &w->guards, covered, &w->groups, &w->layers, &first.socket);
    if (first.pid < 0)
        return (int)first.pid;
    w->firsts = mem_grow(w->firsts, w->n_firsts + 1, sizeof *w->firsts);
    w->firsts[w->n_firsts++] = first;
    w->spare = first.pid;
    w->spare_locked = covered;
    return 0;
}

static void discard_spare(struct watched *w)
{
    if (w->spare)
        kill(w->spare, SIGKILL);
    w->spare = 0;
}

static void take_groups(struct watched *w, struct frame_fds *fds)
{
    discard_spare(w);
    frame_fds_close(&w->groups);
    w->has_groups = !fds->lost;
    if (fds->lost)
        return;
    w->groups = *fds;
    *fds = (struct frame_fds){0};
    /* Should it fail now, it may not when there is an order. */
    make_spare(w);
}

/* It is the first that such a process sends. */
static int mounts_of(struct first *first)
{
    static char buffer[FRAME_BYTES_MAX];
    FRAME_FDS_AT_END struct frame_fds fds = {0};
    struct frame frame;
    if (first->heard)
        return first->mounts;
    /* A second message would be waited for in vain. */
    first->heard = true;
    if (frame_receive_fds(first->socket, buffer, &frame, &fds) == 1 && fds.n)
        first->mounts = TAKE_FD(fds.fd[0]);
    else
        kill(first->pid, SIGKILL); /* what it does could not be covered */
    return first->mounts;
}

/* In the commands that run, too. One that is ending has no mounts any more. */
static void cover_running(struct watched *w)
{
    for (size_t i = 0; i < w->n_firsts; i++) {
        struct first *first = &w->firsts[i];
        if (!first->token || mounts_of(first) < 0)
            continue;
        struct guards_running running = {first->pid, first->mounts, first->lists, first->layered};
        if (guards_mount_in(w->spec, &w->guards, &running) < 0)
            kill(first->pid, SIGKILL);
    }
}

static void replace_spare(struct watched *w)
{
    if (!find_spare(w))
        return;
    discard_spare(w);
    /* Should it fail now, it may not when there is an order. */
    make_spare(w);
}

/* Something that was covered has been replaced on the host, and the mount went with it, in every command's mount
 * namespace. */
static void cover_again(struct watched *w)
{
    cover_running(w);
    cover(w);
    replace_spare(w);
}

static void drop_layers(struct watched *w)
{
    layers_clear(&w->layers);
    w->layers_of = 0;
}

/* Groups that are not there were lost on the way, as the order's own descriptors may be. */
static void start_command(struct watched *w, const struct frame *frame, const struct frame_fds *fds)
{
    if (w->missing || guards_heard(w->listening)) {
        w->unmounted = true;
        cover_again(w);
    }
    /* Layers of a command that was never ordered are not this one's. */
    if (w->layers_of && w->layers_of != frame->token) {
        discard_spare(w);
        drop_layers(w);
    }
    bool lost = fds->lost || !w->has_groups;
    int r = lost ? -EMFILE : find_spare(w) ? 0 : make_spare(w);
    struct first *first = r < 0 ? NULL : find_spare(w);
    if (first)
        r = frame_send_fds(first->socket, frame, fds);
    if (!first || r < 0) {
        struct err err;
        err_set(&err, ERR_INTERNAL, "starting a command: %s", strerror(-r));
        report_send(FRAME_ENDED, frame->token, err.message, err_is_shortage(-r));
        drop_layers(w);
        return;
    }
    first->token = frame->token;
    first->lists = w->guards.lists;
    first->layered = layers_any(&w->layers);
    w->spare = 0;
    drop_layers(w);
    frame_fds_close(&w->groups);
    w->has_groups = false;
}

/* The spare is locked: the next command gets a first process that is made with its layers. */
static void take_layers(struct watched *w, const struct frame *frame)
{
    discard_spare(w);
    layers_set(&w->layers, frame);
    w->layers_of = frame->token;
}

/* A spare that is not locked yet takes the list itself, and locks itself when it has all. */
static int take_guards(struct watched *w, const struct frame *frame, const struct frame_fds *fds)
{
    /* A list that was lost on the way is not an empty one. The gate tells a new cell everything. */
    int r = fds->lost ? -1 : guards_take(&w->guards, frame, fds->n ? fds->fd[0] : -1);
    /* The same list again, where a file was not there to be covered: it may be now. */
    if (r < 0 || (r > 0 && !w->missing))
        return r;
    w->unmounted = true;
    struct first *spare = find_spare(w);
    bool told = spare && !w->spare_locked && frame_send_fds(spare->socket, frame, fds) == 0;
    if (told)
        w->spare_locked = guards_complete(&w->guards, w->spec);
    cover_running(w);
    cover(w);
    if (!told)
        replace_spare(w);
    return 0;
}

/* 0: the gate is gone, or this cell cannot go on. */
static int take_order(struct watched *w)
{
    static char buffer[FRAME_BYTES_MAX];
    FRAME_FDS_AT_END struct frame_fds fds = {0};
    struct frame frame;
    int r = frame_receive_fds(CELL_CONTROL_FD, buffer, &frame, &fds);
    if (r <= 0)
        return r;
    if (!w->spec->commands)
        return 1;
    struct first *first = frame.token ? find_first(w, frame.token) : NULL;
    if (frame.type == FRAME_GROUP)
        take_groups(w, &fds);
    else if (frame.type == FRAME_RUN && frame.token && !first)
        start_command(w, &frame, &fds);
    else if (frame.type == FRAME_GUARDS && frame.token && take_guards(w, &frame, &fds) < 0)
        return 0;
    else if (frame.type == FRAME_LAYERS)
        take_layers(w, &frame);
    else if (frame.type == FRAME_STOP && first)
        frame_send_fds(first->socket, &frame, NULL);
    else if (frame.type == FRAME_KILL && first)
        kill(first->pid, SIGKILL);
    return 1;
}

/* By now the kernel has ended all that was in its pid namespace. */
static void bury(struct watched *w, pid_t pid, int status)
{
    if (w->spare == pid)
        w->spare = 0;
    for (size_t i = 0; i < w->n_firsts; i++) {
        struct first *first = &w->firsts[i];
        if (first->pid != pid)
            continue;
        close(first->socket);
        fd_closep(&first->mounts);
        if (first->token && status != 0)
            report_send(FRAME_ENDED, first->token,
                        WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                            : "it ended without its account",
                        WIFEXITED(status) && WEXITSTATUS(status) == COMMAND_NOT_BEGUN);
        *first = w->firsts[--w->n_firsts];
        return;
    }
}

/* Until the gate closes the control socket or the worker ends. Ending ends everything in the cell,
 * because this is the first process of its pid namespace. */
static int watch(struct watched *w)
{
    for (;;) {
        struct pollfd fds[] = {
            {CELL_CONTROL_FD, POLLIN, 0}, {w->signals, POLLIN, 0}, {w->listening, POLLPRI, 0}};
        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return 1;
        if (fds[2].revents) {
            w->unmounted = true;
            cover_again(w);
        }
        if (fds[0].revents && take_order(w) <= 0)
            return 0;
        struct signalfd_siginfo info;
        if (fds[1].revents && read(w->signals, &info, sizeof info) < 0)
            return 1;
        int status;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (pid == w->worker) {
                describe_death(status);
                return 1;
            }
            bury(w, pid, status);
        }
    }
}

int supervise(const struct cell_spec *spec, pid_t worker, int signals)
{
    struct watched watched = {.spec = spec, .worker = worker, .signals = signals, .listening = -1};
    struct err err;
    guards_init(&watched.guards);
    layers_init(&watched.layers);
    if (spec->commands && (watched.listening = guards_listen()) < 0) {
        err_set(&err, ERR_SANDBOX_UNAVAILABLE, "watching the mounts: %s", strerror(errno));
        return report_failure(&err);
    }
    return watch(&watched);
}
