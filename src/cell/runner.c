#include "cell/runner.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/command.h"
#include "cell/order.h"
#include "cell/report.h"

/* A command's first process. */
struct first {
    uint64_t token; /* 0: it waits for its order, or was discarded */
    pid_t pid;
    int socket;
    int mounts;            /* its mount namespace; -1: not asked for yet */
    bool killing;          /* it was told to kill all that it started */
    bool heard;            /* of its mount namespace, or that it cannot be had */
    uint32_t lists;        /* of guards, that were known when it started */
    bool layered;          /* its git directories are layers */
    int64_t points;        /* its set of mount points */
    uint64_t covers;       /* runner.covers when it was made; 0: not all of it was mounted */
    struct denied *denied; /* the list it began with */
    int listening; /* to its mounts, where that list is no longer the current one; else -1 */
};

int runner_init(struct runner *w, const struct cell_spec *spec)
{
    *w = (struct runner){.spec = spec, .denied = denied_new(), .listening = -1, .listening_in = -1};
    guards_init(&w->guards);
    layers_init(&w->layers);
    if (!spec->commands)
        return 0;
    if (points_init(&w->points, spec) < 0)
        return -1;
    w->listening = guards_listen();
    w->listening_in = epoll_create1(EPOLL_CLOEXEC);
    return w->listening < 0 || w->listening_in < 0 ? -1 : 0;
}

static struct first *find_first(struct runner *w, uint64_t token)
{
    for (size_t i = 0; i < w->n_firsts; i++) {
        if (w->firsts[i].token == token)
            return &w->firsts[i];
    }
    return NULL;
}

static struct first *find_spare(struct runner *w)
{
    for (size_t i = 0; w->spare && i < w->n_firsts; i++) {
        if (w->firsts[i].pid == w->spare)
            return &w->firsts[i];
    }
    return NULL;
}

static void count_cover(struct runner *w)
{
    w->covers++;
    rested_clear(&w->rested, &w->points);
}

/* Each round may make mounts, which are heard of as well; the last one has found everything covered. */
#define COVER_ROUNDS 8

/* In this process's own mount namespace, which every command's begins with: a mount goes along when a command moves
 * a folder around it. False: a command has to do it, and tells why not. */
static bool cover_for_commands(struct runner *w)
{
    struct err err;
    bool known = guards_complete(&w->guards, w->spec);
    for (int i = 0; i < COVER_ROUNDS && (guards_heard(w->listening) || (known && w->unmounted));
         i++) {
        int r = known ? guards_mount(w->spec, &w->guards, &err) : -1;
        /* Where that fails, the command is refused by its first process. */
        denied_cover(w->denied, w->spec);
        count_cover(w);
        w->unmounted = r < 0;
        w->missing = r > 0;
    }
    return known && !w->unmounted;
}

static int make_spare(struct runner *w)
{
    struct first first = {.token = 0, .mounts = -1, .listening = -1};
    bool covered = cover_for_commands(w);
    first.covers = covered ? w->covers : 0;
    struct rested_one rested = {.mounts = -1};
    if (covered && !layers_any(&w->layers))
        rested = rested_take(&w->rested);
    FD_AT_END int mounts = rested.mounts;
    first.points = mounts < 0 ? points_make(&w->points) : rested.points;
    if (first.points < 0)
        return (int)first.points;
    if (w->denied->why.message[0])
        denied_cover(w->denied, w->spec);
    first.pid = command_make(w->spec, &w->guards, w->denied, covered, mounts, first.points,
                             &w->groups, &w->layers, &first.socket);
    if (first.pid < 0) {
        points_remove(&w->points, first.points);
        return (int)first.pid;
    }
    first.denied = denied_ref(w->denied);
    w->firsts = mem_grow(w->firsts, w->n_firsts + 1, sizeof *w->firsts);
    w->firsts[w->n_firsts++] = first;
    w->spare = first.pid;
    w->spare_locked = covered;
    return 0;
}

static void discard_spare(struct runner *w)
{
    if (w->spare)
        kill(w->spare, SIGKILL);
    w->spare = 0;
}

static void take_groups(struct runner *w, struct frame_fds *fds)
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
    return first->mounts;
}

/* The launcher's own namespace has the covers of the current list only. */
static int listen_in(struct runner *w, struct first *first)
{
    if (first->denied == w->denied || first->denied->files.n == 0 || first->listening >= 0)
        return 0;
    first->listening = guards_listen_in(first->pid);
    return first->listening < 0 ? -1
                                : epoll_ctl(w->listening_in, EPOLL_CTL_ADD, first->listening,
                                            &(struct epoll_event){.events = EPOLLPRI});
}

static int cover_in(struct runner *w, struct first *first)
{
    struct guards_running running = {first->pid, mounts_of(first), first->lists, first->layered};
    if (running.mounts < 0 || listen_in(w, first) < 0)
        return -1;
    return guards_mount_in(w->spec, &w->guards, first->denied, &running);
}

/* In the commands that run, too. What could not be covered is not let run on. */
void runner_cover_running(struct runner *w)
{
    count_cover(w);
    for (size_t i = 0; i < w->n_firsts; i++) {
        struct first *first = &w->firsts[i];
        if (first->token && cover_in(w, first) < 0)
            kill(first->pid, SIGKILL);
    }
}

static void replace_spare(struct runner *w)
{
    if (!find_spare(w))
        return;
    discard_spare(w);
    /* Should it fail now, it may not when there is an order. */
    make_spare(w);
}

void runner_cover_again(struct runner *w)
{
    w->unmounted = true;
    runner_cover_running(w);
    cover_for_commands(w);
    replace_spare(w);
}

static void drop_layers(struct runner *w)
{
    layers_clear(&w->layers);
    w->layers_of = 0;
}

/* A first process may have been killed, by whom it may be, and not be buried yet: another one is made. */
#define ORDER_TRIES 3

static int order_first(struct runner *w, const struct frame *frame, const struct frame_fds *fds,
                       struct first **ret)
{
    int r = -EPIPE;
    for (int i = 0; i < ORDER_TRIES && (r == -EPIPE || r == -ECONNRESET); i++) {
        if (i)
            discard_spare(w);
        r = find_spare(w) ? 0 : make_spare(w);
        *ret = find_spare(w);
        if (r == 0)
            r = *ret ? frame_send_fds((*ret)->socket, frame, fds) : -ESRCH;
    }
    return r;
}

/* Groups that are not there were lost on the way, as the order's own descriptors may be. */
static void start_ordered_command(struct runner *w, const struct frame *frame,
                                  const struct frame_fds *fds)
{
    if (w->missing || guards_heard(w->listening) || denied_returned(w->denied))
        runner_cover_again(w);
    /* What is not covered where the scan found it may be open somewhere else. */
    if (w->missing) {
        report_send(FRAME_ENDED, frame->token, RAN_GUARDS_MOVED, true);
        drop_layers(w);
        return;
    }
    /* Layers of a command that was never ordered are not this one's. */
    if (w->layers_of && w->layers_of != frame->token) {
        discard_spare(w);
        drop_layers(w);
    }
    bool lost = fds->lost || !w->has_groups;
    struct first *first = NULL;
    int r = lost ? -EMFILE : order_first(w, frame, fds, &first);
    if (r < 0) {
        struct err err;
        err_set(&err, err_code_for(-r, ERR_INTERNAL), "starting a command: %s", strerror(-r));
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
static void take_layers(struct runner *w, const struct frame *frame)
{
    discard_spare(w);
    layers_set(&w->layers, frame);
    w->layers_of = frame->token;
}

/* The spare has a copy of the mounts as they were. Commands that run keep the list that they began with. */
static void take_denied(struct runner *w, const struct frame *frame)
{
    if (!denied_take(&w->denied, w->spec, frame->body))
        return;
    /* These mounts are heard of as well, and whatever else was: all guards are looked at now in the commands that run,
     * and here before the next one. */
    w->unmounted |= guards_heard(w->listening);
    runner_cover_running(w);
    replace_spare(w);
}

/* A spare that is not locked yet takes the list itself, and locks itself when it has all. */
static int take_guards(struct runner *w, const struct frame *frame, const struct frame_fds *fds)
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
    runner_cover_running(w);
    cover_for_commands(w);
    if (!told)
        replace_spare(w);
    return 0;
}

/* Its first process does it and gives its account, unless it was told before. */
static void kill_command(struct first *first, const struct frame *frame)
{
    if (first->killing || frame_send_fds(first->socket, frame, NULL) < 0)
        kill(first->pid, SIGKILL);
    first->killing = true;
}

int runner_take(struct runner *w, const struct frame *frame, struct frame_fds *fds)
{
    struct first *first = frame->token ? find_first(w, frame->token) : NULL;
    if (frame->type == FRAME_GROUP)
        take_groups(w, fds);
    else if (frame->type == FRAME_RUN && frame->token && !first)
        start_ordered_command(w, frame, fds);
    else if (frame->type == FRAME_GUARDS && frame->token && take_guards(w, frame, fds) < 0)
        return -1;
    else if (frame->type == FRAME_LAYERS)
        take_layers(w, frame);
    else if (frame->type == FRAME_DENIED)
        take_denied(w, frame);
    else if (frame->type == FRAME_STOP && first)
        frame_send_fds(first->socket, frame, NULL);
    else if (frame->type == FRAME_KILL && first)
        kill_command(first, frame);
    return 0;
}

/* With fewer covers a new mount namespace costs less than emptying one. */
#define COVERS_MANY 64

/* Of a command that has ended in order, since which nothing was covered. */
static bool may_rest(const struct runner *w, struct first *first, int status)
{
    return status == 0 && first->token && !first->layered && first->covers == w->covers &&
           guards_count(&w->guards) >= COVERS_MANY && mounts_of(first) >= 0;
}

int runner_bury(struct runner *w, pid_t pid, int status)
{
    if (w->spare == pid)
        w->spare = 0;
    for (size_t i = 0; i < w->n_firsts; i++) {
        struct first *first = &w->firsts[i];
        if (first->pid != pid)
            continue;
        int r = may_rest(w, first, status)
                    ? rested_keep(&w->rested, w->spec, &first->mounts, first->points)
                    : 0;
        /* Before the last descriptor of the namespace is closed: its end would take the covers off. */
        if (r == 0)
            points_remove(&w->points, first->points);
        close(first->socket);
        fd_closep(&first->mounts);
        if (first->listening >= 0)
            epoll_ctl(w->listening_in, EPOLL_CTL_DEL, first->listening, NULL);
        fd_closep(&first->listening);
        denied_unref(first->denied);
        if (first->token && status != 0)
            report_send(FRAME_ENDED, first->token,
                        WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                            : "it ended without its account",
                        WIFEXITED(status) && WEXITSTATUS(status) == COMMAND_NOT_BEGUN);
        *first = w->firsts[--w->n_firsts];
        return r < 0 ? -1 : 0;
    }
    return 0;
}
