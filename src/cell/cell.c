#include "cell/cell.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/cell_spawn.h"
#include "cell/message_queue.h"
#include "cell/process_groups.h"
#include "core/arg.h"

#define SPAWN_TRIES 3
/* What may wait for a busy worker before calls are refused. */
#define QUEUE_BYTES_MAX (64u << 20)
/* Frames read in one go before others get their turn. */
#define READ_BURST 64
/* Frames are put together up to this; a larger one goes by itself. */
#define MESSAGE_BYTES (32u << 10)
#define MESSAGE_KEEP (64u << 10)

struct cell {
    uv_loop_t *loop;
    const struct cell_events *events;
    void *arg;
    int control_fd;
    int work_fd;
    int help_fd;
    uv_poll_t control;
    uv_poll_t work;
    unsigned open_handles;
    pid_t group;
    bool ready;
    bool deaf;  /* the worker's end of the work socket is closed: the launcher tells why */
    bool dying; /* no more frames; `dead` is due */
    bool told;
    bool freed;
    char why[256];
    bool was_short; /* `why` is something that may be otherwise later */
    struct cell *next_dying;
    struct message_queue calls;  /* for the worker */
    struct message_queue orders; /* for the launcher */
    struct buf out;              /* frames for the next message */
    struct cell *next_unflushed;
    bool unflushed;
};

/* Closed, but not yet known to be dead. */
static struct cell *dying_cells;
/* With frames in `out`. */
static struct cell *unflushed_cells;

/* A cell's death is told only when its first process has been waited for: by then the kernel has ended all
 * others in it, and no file changes any more. */
static bool is_cell_over(const struct cell *cell)
{
    return cell->open_handles == 0 && process_group_is_over(cell->group);
}

static void tell_cell_death(struct cell *cell)
{
    cell->told = true;
    cell->events->dead(cell->arg, cell->why);
}

static void close_sockets(struct cell *cell)
{
    fd_closep(&cell->control_fd);
    fd_closep(&cell->work_fd);
    fd_closep(&cell->help_fd);
}

static void on_cell_handle_closed(uv_handle_t *handle)
{
    struct cell *cell = handle->data;
    if (--cell->open_handles > 0)
        return;
    close_sockets(cell);
    if (cell->freed) {
        free(cell);
        return;
    }
    cell->next_dying = dying_cells;
    dying_cells = cell;
    cell_reap();
}

void cell_reap(void)
{
    process_groups_reap();
    for (struct cell **at = &dying_cells; *at;) {
        struct cell *cell = *at;
        if (!is_cell_over(cell)) {
            at = &cell->next_dying;
            continue;
        }
        *at = cell->next_dying;
        tell_cell_death(cell);
        at = &dying_cells; /* whoever was told may have changed the list */
    }
}

static void give_back_calls(struct cell *cell, struct str message)
{
    for (struct frame frame; !cell->freed && frame_next(&message, &frame);) {
        if (frame.type == FRAME_CALL)
            cell->events->unsent(cell->arg, frame.token);
    }
}

static void drop_unsent(struct cell *cell)
{
    while (cell->calls.first) {
        give_back_calls(cell, (struct str){cell->calls.first->bytes, cell->calls.first->n});
        message_queue_drop(&cell->calls);
    }
    while (cell->orders.first)
        message_queue_drop(&cell->orders);
    give_back_calls(cell, buf_str(&cell->out));
    buf_done(&cell->out);
    for (struct cell **at = &unflushed_cells; cell->unflushed && *at; at = &(*at)->next_unflushed) {
        if (*at == cell) {
            *at = cell->next_unflushed;
            break;
        }
    }
    cell->unflushed = false;
}

void cell_kill(struct cell *cell, const char *why)
{
    if (cell->dying)
        return;
    cell->dying = true;
    if (!cell->why[0])
        snprintf(cell->why, sizeof cell->why, "%s", why);
    process_group_kill(cell->group);
    drop_unsent(cell);
    if (cell->control.data)
        uv_close((uv_handle_t *)&cell->control, on_cell_handle_closed);
    if (cell->work.data)
        uv_close((uv_handle_t *)&cell->work, on_cell_handle_closed);
}

void cell_free(struct cell *cell)
{
    if (!cell)
        return;
    cell->freed = true;
    cell_kill(cell, "closed");
    if (cell->open_handles > 0)
        return;
    for (struct cell **at = &dying_cells; *at; at = &(*at)->next_dying) {
        if (*at == cell) {
            *at = cell->next_dying;
            break;
        }
    }
    close_sockets(cell);
    free(cell);
}

void cell_help(struct cell *cell)
{
    /* MSG_DONTWAIT, not O_NONBLOCK: the worker has this socket too and could change its flags. When
     * the queue is full there is help enough. */
    (void)!send(cell->help_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool cell_was_short(const struct cell *cell)
{
    return cell->was_short;
}

bool cell_is_ready(const struct cell *cell)
{
    return cell->ready;
}

pid_t cell_group(const struct cell *cell)
{
    return cell->group;
}

static void take_message(struct cell *cell, const struct frame *frame)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(frame->head.p, frame->head.n, FRAME_HEAD_MAX, JSON_INTERNAL, &doc, NULL) < 0)
        return;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *message = yyjson_obj_get(root, "message");
    /* The first is the cause. */
    if (frame->type == FRAME_FAILED && yyjson_is_str(message) && !cell->why[0]) {
        snprintf(cell->why, sizeof cell->why, "%s", yyjson_get_str(message));
        cell->was_short = yyjson_get_bool(yyjson_obj_get(root, "busy"));
    }
}

/* A message the socket has no room for now, or that there is no memory to receive: it is tried again in a later turn of
 * the loop, and nothing is lost. */
static bool is_cell_socket_full(ssize_t r)
{
    return r < 0 && err_is_shortage((int)-r);
}

static void on_control(uv_poll_t *handle, int status, int events);
static void update_interest(struct cell *cell);

static void update_control(struct cell *cell)
{
    uv_poll_start(&cell->control, UV_READABLE | (cell->orders.first ? UV_WRITABLE : 0), on_control);
}

static void send_orders(struct cell *cell)
{
    struct frame frame;
    for (struct queued_message *m; (m = cell->orders.first);) {
        /* Where the launcher is gone, its end is heard of by itself. */
        if (frame_parse(m->bytes, m->n, &frame) == 0 &&
            is_cell_socket_full(frame_send_fds(cell->control_fd, &frame, NULL)))
            break;
        message_queue_drop(&cell->orders);
    }
    update_control(cell);
}

/* For a socket with an error libuv reports UV_EBADF, whatever the error is, and stops watching. The error itself, and what
 * the peer sent before it ended, can still be received. */
static void on_control(uv_poll_t *handle, int status, int events)
{
    struct cell *cell = handle->data;
    static char buffer[FRAME_BYTES_MAX];
    struct frame frame;
    int r = 1;
    if (status < 0)
        update_control(cell);
    else if (events & UV_WRITABLE)
        send_orders(cell);
    while (r > 0 && !cell->dying) {
        r = frame_poll(cell->control_fd, buffer, &frame);
        if (r == 1 && frame.type == FRAME_READY)
            cell->ready = true;
        else if (r == 1 && frame.type == FRAME_ENDED)
            cell->events->ended(cell->arg, &frame);
        else if (r == 1)
            take_message(cell, &frame);
    }
    if (is_cell_socket_full(r))
        return;
    /* What cannot be had here is told. Whoever dies without a word had no memory or process left, or was killed. */
    if (!cell->ready && !cell->why[0])
        cell->was_short = true;
    cell_kill(cell, cell->ready ? "the cell ended" : "the cell ended before it was ready");
}

/* Whether the worker has the message. One that is gone takes none: what is queued is given back when the launcher has told
 * why, or is gone itself. Until then it is not known whether another cell would fare better. */
static bool send_work(struct cell *cell, struct str message, int fd)
{
    int r = message_send(cell->work_fd, message, fd);
    if (r == -EPIPE || r == -ECONNRESET)
        cell->deaf = true;
    else if (r < 0 && !is_cell_socket_full(r))
        cell_kill(cell, "the cell no longer takes calls");
    return r >= 0;
}

static void send_queued(struct cell *cell)
{
    for (struct queued_message *m; (m = cell->calls.first);) {
        if (!send_work(cell, (struct str){m->bytes, m->n}, m->fd))
            break;
        message_queue_drop(&cell->calls);
    }
    update_interest(cell);
}

static int take_frames(struct cell *cell, struct str message)
{
    int more = 0;
    for (struct frame frame; more >= 0 && !cell->dying && frame_next(&message, &frame);)
        more = cell->events->frame(cell->arg, &frame);
    return more;
}

static void on_work(uv_poll_t *handle, int status, int events)
{
    struct cell *cell = handle->data;
    static char buffer[FRAME_BYTES_MAX];
    ssize_t r = 1;
    if (status < 0)
        update_interest(cell);
    else if (events & UV_WRITABLE)
        send_queued(cell);
    for (unsigned i = 0; r > 0 && i < READ_BURST && !cell->dying; i++) {
        r = message_poll(cell->work_fd, buffer);
        int more = r > 0 ? take_frames(cell, (struct str){buffer, (size_t)r}) : 0;
        if (more < 0)
            r = -EPROTO;
        if (r > 0 && more == 0)
            return; /* nothing else is due: no need to look */
    }
    if (r == -EPROTO)
        cell_kill(cell, "the cell broke the protocol and was ended");
    else if (r < 0 && !is_cell_socket_full(r))
        cell_kill(cell, "answers from the cell could not be received");
    else if (r == 0) {
        /* The launcher's own account of the death comes on the control socket, if it lives. */
        cell->deaf = true;
        uv_poll_stop(handle);
    }
}

static void update_interest(struct cell *cell)
{
    if (!cell->deaf && !cell->dying)
        uv_poll_start(&cell->work, UV_READABLE | (cell->calls.first ? UV_WRITABLE : 0), on_work);
}

/* Sends the frames of `out` as one message, or queues it. */
static void flush_one(struct cell *cell, int fd_to_pass)
{
    FD_AT_END int fd = fd_to_pass;
    struct str message = buf_str(&cell->out);
    if (cell->calls.first || !send_work(cell, message, fd)) {
        if (cell->dying)
            return;
        message_queue_add(&cell->calls, message, TAKE_FD(fd));
        update_interest(cell);
    }
    buf_reset(&cell->out, MESSAGE_KEEP);
}

void cell_flush(void)
{
    while (unflushed_cells) {
        struct cell *cell = unflushed_cells;
        unflushed_cells = cell->next_unflushed;
        cell->unflushed = false;
        if (cell->out.len)
            flush_one(cell, -1);
    }
}

int cell_send(struct cell *cell, const struct frame *frame, int body_fd, struct err *err)
{
    FD_AT_END int fd = body_fd;
    size_t n = frame_bytes(frame);
    if (cell->dying)
        return err_set(err, ERR_INTERRUPTED, "the cell ended (%s)", cell->why);
    if (frame->head.n > FRAME_HEAD_MAX || frame->body.n > FRAME_BODY_MAX)
        return err_set(err, ERR_INTERNAL, "a call that does not fit a frame");
    /* A cancel is small, and there is at most one for each call. */
    if (frame->type != FRAME_CANCEL && cell->calls.bytes + cell->out.len + n > QUEUE_BYTES_MAX)
        return err_set(err, ERR_SESSION_BUSY, "the cell has too many calls waiting; try again");
    if (cell->out.len && (fd >= 0 || cell->out.len + n > MESSAGE_BYTES))
        flush_one(cell, -1);
    if (cell->dying)
        return err_set(err, ERR_INTERRUPTED, "the cell ended (%s)", cell->why);
    frame_add(&cell->out, frame);
    if (fd >= 0) {
        flush_one(cell, TAKE_FD(fd));
    } else if (!cell->unflushed) {
        cell->unflushed = true;
        cell->next_unflushed = unflushed_cells;
        unflushed_cells = cell;
    }
    return 0;
}

/* To stop a command, and what is guarded: nothing of that may be lost, and all of it keeps its order. */
static void queue_order(struct cell *cell, const struct frame *frame)
{
    BUF_AT_END struct buf message = BUF_INIT(FRAME_BYTES_MAX);
    frame_add(&message, frame);
    message_queue_add(&cell->orders, buf_str(&message), -1);
    update_control(cell);
}

int cell_order(struct cell *cell, const struct frame *frame, const struct frame_fds *fds,
               struct err *err)
{
    if (cell->dying)
        return err_set(err, ERR_INTERRUPTED, "the cell ended (%s)", cell->why);
    int r = cell->orders.first ? -EAGAIN : frame_send_fds(cell->control_fd, frame, fds);
    if (is_cell_socket_full(r) && !fds) {
        queue_order(cell, frame);
        return 0;
    }
    if (is_cell_socket_full(r))
        return err_set(err, ERR_SESSION_BUSY, "too many commands start at once; try again");
    if (r == -EMSGSIZE)
        return err_set(err, ERR_INVALID_ARGUMENTS, "the command is too long for one call");
    return r < 0 ? err_set(err, ERR_INTERRUPTED, "the cell ended (%s)", strerror(-r)) : 0;
}

static int not_started(int error, struct err *err)
{
    return err_set(err, err_code_for(error, ERR_SANDBOX_UNAVAILABLE), "starting a cell: %s%s",
                   strerror(error), err_is_shortage(error) ? "; try again" : "");
}

/* A helper that its owner knows of, and that does nothing yet. */
static int spawn_helper(bool network, const struct cell_events *events, void *arg,
                        struct cell_process *ret, struct err *err)
{
    int r = cell_spawn(network, ret);
    if (r < 0)
        return not_started(-r, err);
    if (!events->spawned || events->spawned(arg, ret->pid, err) == 0)
        return 0;
    cell_process_end(ret);
    return -1;
}

static int spawn_with(const struct cell_spec *spec, int shelf_fd, const struct cell_events *events,
                      void *arg, struct cell_process *ret, struct err *err)
{
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    struct json_out j = {.out = &head};
    spec_write(spec, &j);
    struct frame frame = {.type = FRAME_SPEC, .head = buf_str(&head)};
    int r = head.failed ? -EMSGSIZE : -EPIPE;
    /* The helper that was prepared may have been killed meanwhile: another one is started. */
    for (int i = 0; i < SPAWN_TRIES && (r == -EPIPE || r == -ECONNRESET); i++) {
        if (spawn_helper(spec->network, events, arg, ret, err) < 0)
            return -1;
        r = frame_send(ret->control, &frame, shelf_fd);
        if (r < 0)
            cell_process_end(ret);
    }
    return r < 0 ? not_started(-r, err) : 0;
}

/* A handle that was made has its `data`. */
static int watch_cell_sockets(struct cell *cell, struct err *err)
{
    int r = uv_poll_init(cell->loop, &cell->control, cell->control_fd);
    if (r < 0)
        return not_started(-r, err);
    cell->control.data = cell;
    cell->open_handles++;
    r = uv_poll_init(cell->loop, &cell->work, cell->work_fd);
    if (r < 0)
        return not_started(-r, err);
    cell->work.data = cell;
    cell->open_handles++;
    update_control(cell);
    update_interest(cell);
    return 0;
}

int cell_start(struct cell **ret_cell, uv_loop_t *loop, const struct cell_spec *spec, int shelf_fd,
               const struct cell_events *events, void *arg, struct err *err)
{
    FD_AT_END int shelf = shelf_fd;
    struct cell_process process;
    if (spawn_with(spec, shelf, events, arg, &process, err) < 0)
        return -1;
    FREE_AT_END struct cell *cell = mem_zero(sizeof *cell);
    *cell = (struct cell){.loop = loop,
                          .events = events,
                          .arg = arg,
                          .control_fd = process.control,
                          .work_fd = process.work,
                          .help_fd = process.help,
                          .group = process.pid,
                          .calls = MESSAGE_QUEUE_INIT(&cell->calls),
                          .orders = MESSAGE_QUEUE_INIT(&cell->orders),
                          .out = BUF_INIT(FRAME_BYTES_MAX)};
    process_groups_add(cell->group);
    fd_set_nonblock(cell->work_fd);
    if (watch_cell_sockets(cell, err) < 0) {
        cell_free(TAKE_PTR(cell));
        return -1;
    }
    *ret_cell = TAKE_PTR(cell);
    return 0;
}
