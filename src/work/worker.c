#include "work/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/processor.h"
#include "cell/frame.h"
#include "cell/launcher.h"
#include "work/large_body.h"
#include "work/guard_trees.h"
#include "work/inbox.h"
#include "work/replies.h"
#include "work/work.h"

#define THREADS_MAX 33
/* For each call that waits for a lock another thread goes on, and one always receives. */
#define SPARE_THREADS 2
#define SLOTS (THREADS_MAX + SPARE_THREADS)
/* Regular expressions are compiled as deep as their brackets are nested, 250 levels. */
#define STACK_BYTES (1u << 20)
#define BODY_KEEP (256u << 10)

/* Which call each thread is at, so that another thread that reads the cancel can find it. */
struct slot {
    uint64_t token; /* 0: none; under the lock */
    bool may_wait;  /* that call, for the lock of a folder */
    atomic_bool cancelled;
};

/* What a thread needs, made before it starts: it may be that there is no memory for another one. */
struct thread {
    struct worker *worker;
    unsigned index;
    char *buffer; /* FRAME_BYTES_MAX */
    char *chunk;  /* WORK_CHUNK */
};

struct worker {
    int fd;
    struct beneath_root roots[ROOTS_MAX];
    size_t n_roots;
    pthread_mutex_t lock;
    struct guard *guard; /* under the lock; NULL: no rules yet */
    struct guard_trees trees;
    struct inbox inbox; /* under the lock */
    struct replies replies;
    struct slot slots[SLOTS];
    struct thread threads[SLOTS];
    unsigned wanted; /* threads, while no call waits for a lock */
    pthread_mutex_t start_lock;
    atomic_uint running; /* of them; more are started under start_lock */
    unsigned busy;       /* threads at a call; of several, one is always left to hear of cancels */
    unsigned may_wait;   /* of these, at calls that may wait for the lock of a folder */
    unsigned waiting;    /* of these, waiting for one. All three under the lock */
    int help_fd;
    /* One thread at a time receives, and sorts in what it received before another may: so a cancel finds its call in
     * the inbox or in a slot, or the call is over. Both under the lock. */
    bool receiving;
    bool help_due; /* somebody was called for, and the socket was not seen empty since */
};

void work_use_guard(struct work *w, struct guard *guard)
{
    pthread_mutex_lock(&w->worker->lock);
    guard_unref(w->worker->guard);
    w->worker->guard = guard;
    pthread_mutex_unlock(&w->worker->lock);
}

static void take_up(struct worker *worker, struct work *w)
{
    pthread_mutex_lock(&worker->lock);
    w->guard = guard_ref(worker->guard);
    pthread_mutex_unlock(&worker->lock);
}

static void put_down(struct worker *worker, struct slot *slot, struct work *w)
{
    pthread_mutex_lock(&worker->lock);
    slot->token = 0;
    worker->may_wait -= slot->may_wait;
    slot->may_wait = false;
    guard_unref(TAKE_PTR(w->guard));
    worker->busy--;
    pthread_mutex_unlock(&worker->lock);
    replies_leave_shelf(w);
}

static void let_go_of_call(struct worker *worker, struct received *call)
{
    fd_closep(&call->fd);
    if (!call->message)
        return;
    pthread_mutex_lock(&worker->lock);
    bool last = --call->message->calls == 0;
    pthread_mutex_unlock(&worker->lock);
    if (last)
        free(call->message);
}

/* A call that is neither in the inbox nor in a slot has been answered. One in the inbox is answered here: all threads
 * may be busy for longer than the gate waits for the answer. */
static void cancel_worker_call(struct worker *worker, uint64_t token)
{
    struct received taken = {.fd = -1};
    pthread_mutex_lock(&worker->lock);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (worker->slots[i].token == token)
            atomic_store(&worker->slots[i].cancelled, true);
    }
    struct received *found = inbox_find_token(&worker->inbox, token);
    if (found)
        taken = inbox_take(&worker->inbox, found);
    pthread_mutex_unlock(&worker->lock);
    if (!found)
        return;
    struct err err;
    err_set(&err, ERR_CANCELLED, "the call was cancelled");
    replies_error(&worker->replies, token, &err); /* a socket that is gone is noticed elsewhere */
    let_go_of_call(worker, &taken);
}

static void *serve_calls(void *arg);

static bool make_thread_room(struct thread *thread, struct worker *worker, unsigned index)
{
    thread->worker = worker;
    thread->index = index;
    if (!thread->buffer)
        thread->buffer = malloc(FRAME_BYTES_MAX);
    if (!thread->chunk)
        thread->chunk = malloc(WORK_CHUNK);
    return thread->buffer && thread->chunk;
}

/* Returns how many run then. */
static unsigned start_worker_threads(struct worker *worker, unsigned wanted)
{
    if (atomic_load(&worker->running) >= wanted)
        return wanted;
    pthread_mutex_lock(&worker->start_lock);
    pthread_attr_t attr;
    bool more = pthread_attr_init(&attr) == 0;
    bool ready = more && pthread_attr_setstacksize(&attr, STACK_BYTES) == 0;
    for (unsigned i = atomic_load(&worker->running); ready && i < wanted; i++) {
        pthread_t id;
        struct thread *thread = &worker->threads[i];
        ready = make_thread_room(thread, worker, i) &&
                pthread_create(&id, &attr, serve_calls, thread) == 0;
        if (ready)
            atomic_fetch_add(&worker->running, 1);
    }
    if (more)
        pthread_attr_destroy(&attr);
    unsigned running = atomic_load(&worker->running);
    pthread_mutex_unlock(&worker->start_lock);
    return running;
}

/* What the gate asks for itself, before others ask and before commands run, is done sooner without them. False:
 * there is no thread that could hear of a cancel; one call later there may be. */
static bool start_others(struct worker *worker)
{
    return start_worker_threads(worker, worker->wanted) > 1 || worker->wanted == 1;
}

static int serve_call(struct worker *worker, struct work *w, const struct frame *frame, int body_fd)
{
    struct err err;
    JSON_AT_END yyjson_doc *doc = NULL;
    union op_request request = {0};
    union op_reply fields = {0};
    struct json_error why;
    int r = json_parse(frame->head.p, frame->head.n, FRAME_HEAD_MAX, JSON_INTERNAL, &doc, &why);
    if (r < 0) {
        err_set(&err, err_code_for(-r, ERR_INTERNAL), "reading a frame: %s", why.what);
        return replies_error(&worker->replies, frame->token, &err);
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_get_bool(yyjson_obj_get(root, "quick")) && !start_others(worker)) {
        err_set(&err, ERR_SESSION_BUSY, "the cell cannot start a second thread; try again");
        return replies_error(&worker->replies, frame->token, &err);
    }
    const struct op *op = op_find_in(OP_IN_WORKER, json_str(yyjson_obj_get(root, "op")));
    CLEANUP(large_body_done) struct large_body large = {0};
    r = op ? 0 : err_set(&err, ERR_INTERNAL, "an operation the worker does not know");
    if (r == 0)
        r = arg_decode(&op->request, true, yyjson_obj_get(root, "args"), &request, &err);
    if (r == 0 && body_fd != -1)
        r = large_body_map(body_fd, &large, &err);
    struct str body = large.at ? (struct str){large.at, large.n} : frame->body;
    buf_reset(&w->body, BODY_KEEP);
    processor_follow((uint32_t)yyjson_get_uint(yyjson_obj_get(root, "processor")));
    work_begin(w, frame->token, root);
    if (body.n > FRAME_BODY_MAX)
        work_slow(w);
#ifdef SANDGATE_TEST_BROKEN_WORKER
    enum broken broken = r == 0 ? broken_serve(w, worker->fd, frame->token, &request, body, &fields)
                                : BROKEN_NOT;
    if (broken == BROKEN_SILENT)
        return 0;
    if (broken == BROKEN_ANSWER)
        return replies_result(w, op, &fields);
#endif
    if (r == 0 && (r = work_check_cancel(w, &err)) == 0)
        r = work_result(w, op, work_ops[op - op_table](w, &request, body, &fields, &err), &err);
    if (r < 0) {
        work_name_lost_root(w, &err);
        return replies_error(&worker->replies, frame->token, &err);
    }
    work_tell_real(w, op, &fields);
    return replies_result(w, op, &fields);
}

static void call_for_help(void)
{
    /* When the queue is full there is help enough. */
    (void)!send(CELL_HELP_SEND_FD, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void work_slow(struct work *w)
{
    if (w->slow)
        return;
    w->slow = true;
    start_others(w->worker);
    processor_avoid(w->gate);
    replies_flush(w->replies);
    call_for_help();
}

/* Where one call waits for the lock of a folder, at most half of the threads are at calls that may do so as well: the
 * others are for those that need no lock. Under the lock. */
static bool too_many_may_wait(const struct worker *worker)
{
    unsigned half = atomic_load(&worker->running) / 2;
    return worker->waiting > 0 && worker->may_wait >= (half ? half : 1);
}

/* Others go on meanwhile, however few threads were wanted. */
int work_begin_waiting(struct work *w, struct err *err)
{
    struct worker *worker = w->worker;
    if (!worker)
        return 0;
    pthread_mutex_lock(&worker->lock);
    unsigned needed = ++worker->waiting + SPARE_THREADS;
    pthread_mutex_unlock(&worker->lock);
    if (start_worker_threads(worker, needed < SLOTS ? needed : SLOTS) >= needed)
        return 0;
    work_end_waiting(w);
    err_set(err, ERR_SESSION_BUSY,
            "the folder is locked, and the cell cannot start a thread to wait for it; nothing was "
            "changed, try again");
    return err_reason(err, "no_resources");
}

void work_end_waiting(struct work *w)
{
    struct worker *worker = w->worker;
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->waiting--;
    bool left = inbox_find(&worker->inbox, false);
    pthread_mutex_unlock(&worker->lock);
    if (left)
        call_for_help();
}

/* Under the lock. */
static bool become_busy(struct worker *worker, struct slot *slot, const struct received *call)
{
    unsigned running = atomic_load(&worker->running);
    unsigned most = worker->wanted > 1 ? worker->wanted - 1 : 1;
    if ((running > 1 && worker->busy + 1 >= running) || worker->busy - worker->waiting >= most)
        return false;
    worker->busy++;
    slot->token = call->frame.token;
    slot->may_wait = received_may_wait(call);
    worker->may_wait += slot->may_wait;
    atomic_store(&slot->cancelled, false);
    return true;
}

/* `called`: this thread was called for. If it takes a call, another one has to read what is in the socket: a cancel may
 * be there, for which the gate called only once. */
static bool take_from_inbox(struct worker *worker, struct slot *slot, bool called,
                            struct received *ret)
{
    pthread_mutex_lock(&worker->lock);
    worker->help_due |= called;
    struct received *first = inbox_find(&worker->inbox, too_many_may_wait(worker));
    bool found = first && become_busy(worker, slot, first);
    if (found)
        *ret = inbox_take(&worker->inbox, first);
    /* Whoever receives sees to it otherwise. */
    bool pass_on = found && worker->help_due && !worker->receiving;
    worker->help_due &= !pass_on;
    pthread_mutex_unlock(&worker->lock);
    if (pass_on)
        call_for_help();
    return found;
}

static bool take_at_once(struct worker *worker, struct slot *slot, const struct received *call)
{
    pthread_mutex_lock(&worker->lock);
    bool may = !(too_many_may_wait(worker) && received_may_wait(call)) &&
               become_busy(worker, slot, call);
    pthread_mutex_unlock(&worker->lock);
    return may;
}

/* False where there is no memory for it; `message` may be NULL then. */
static bool put_into_inbox(struct worker *worker, struct message *message, struct frame frame,
                           int *fd)
{
    pthread_mutex_lock(&worker->lock);
    bool put = message && inbox_put(&worker->inbox, &(struct received){message, frame, *fd});
    if (put)
        message->calls++;
    pthread_mutex_unlock(&worker->lock);
    if (put)
        *fd = -1;
    return put;
}

static void refuse_for_memory(struct worker *worker, uint64_t token, int *fd)
{
    struct err err;
    err_no_memory(&err);
    fd_closep(fd);
    replies_error(&worker->replies, token, &err); /* a socket that is gone is noticed elsewhere */
}

/* Cancels and the like are done at once, calls go to the inbox, where any thread finds them. True when the message is
 * one call, which the thread that received it can take as it is, unless all others are busy. */
static bool sort_in(struct worker *worker, struct slot *slot, const char *buffer, size_t n,
                    struct received *ret)
{
    struct str rest = {buffer, n};
    frame_next(&rest, &ret->frame);
    if (rest.n == 0 && ret->frame.type == FRAME_CALL && take_at_once(worker, slot, ret))
        return true;
    struct message *message = calloc(1, sizeof *message + n);
    rest = (struct str){buffer, n};
    if (message) {
        memcpy(message->bytes, buffer, n);
        message->calls = 1; /* ours, until all are in */
        rest.p = message->bytes;
    }
    for (struct frame frame; frame_next(&rest, &frame);) {
        if (frame.type == FRAME_CANCEL)
            cancel_worker_call(worker, frame.token);
        else if (frame.type == FRAME_SHELF)
            replies_take_shelf_back(&worker->replies);
        else if (frame.type == FRAME_CALL && !put_into_inbox(worker, message, frame, &ret->fd))
            refuse_for_memory(worker, frame.token, &ret->fd);
    }
    let_go_of_call(worker, &(struct received){message, {0}, -1});
    return false;
}

/* *ret_due: the thread does now what somebody was called for. */
static bool begin_receiving(struct worker *worker, bool *ret_due)
{
    pthread_mutex_lock(&worker->lock);
    bool may = !worker->receiving;
    worker->receiving = true;
    *ret_due = may && worker->help_due;
    worker->help_due &= !may;
    pthread_mutex_unlock(&worker->lock);
    return may;
}

/* `busy`: with a call, so that another thread has to go on. It may have been called for meanwhile, and went to sleep
 * again, because this one was receiving. */
static void end_receiving(struct worker *worker, bool busy, bool due)
{
    pthread_mutex_lock(&worker->lock);
    due |= worker->help_due;
    worker->receiving = false;
    worker->help_due = due && !busy;
    pthread_mutex_unlock(&worker->lock);
    if (due && busy)
        call_for_help();
}

/* Where somebody was called for, *due is over once nothing is left in the socket. */
static ssize_t receive_for_worker(const struct worker *worker, char *buffer, bool *due, int *ret_fd)
{
    ssize_t n = *due ? message_receive(worker->fd, buffer, MSG_DONTWAIT, ret_fd) : -EAGAIN;
    if (n != -EAGAIN)
        return n;
    *due = false;
    return message_receive(worker->fd, buffer, 0, ret_fd);
}

/* One thread waits for calls: always the one that was last awake, whose memory is still warm. The others
 * stand by until a call turns out to be slow, which its own thread says (work_slow) or the gate
 * notices. 1 with a call, 0 or -errno at the end. */
static int next_call(struct worker *worker, struct slot *slot, char *buffer, struct received *ret)
{
    for (bool called = false;;) {
        bool due;
        if (take_from_inbox(worker, slot, called, ret))
            return 1;
        int r = replies_flush(&worker->replies);
        if (r < 0)
            return r;
        char one;
        if (!begin_receiving(worker, &due)) {
            called = read(worker->help_fd, &one, sizeof one) == 1;
            if (!called && errno != EINTR)
                return -errno;
            continue;
        }
        *ret = (struct received){.fd = -1};
        ssize_t n = receive_for_worker(worker, buffer, &due, &ret->fd);
        bool taken = n > 0 && sort_in(worker, slot, buffer, (size_t)n, ret);
        end_receiving(worker, taken, due);
        called = false;
        if (n <= 0)
            return (int)n;
        if (taken)
            return 1;
        fd_closep(&ret->fd);
    }
}

static void *serve_calls(void *arg)
{
    struct thread *thread = arg;
    struct worker *worker = thread->worker;
    struct slot *slot = &worker->slots[thread->index];
    /* Not before `running` counts this one: else it and the others could all become busy. */
    if (thread->index > 0) {
        pthread_mutex_lock(&worker->start_lock);
        pthread_mutex_unlock(&worker->start_lock);
    }
    struct work w = {.roots = worker->roots,
                     .n_roots = worker->n_roots,
                     .cancelled = &slot->cancelled,
                     .replies = &worker->replies,
                     .worker = worker,
                     .trees = &worker->trees,
                     .chunk = thread->chunk};
    buf_init(&w.body, OP_BODY_MAX);
    int r = 0;
    while (r >= 0) {
        struct received call = {.fd = -1};
        r = next_call(worker, slot, thread->buffer, &call);
        if (r <= 0)
            break;
        take_up(worker, &w);
        r = serve_call(worker, &w, &call.frame, call.fd);
        put_down(worker, slot, &w);
        let_go_of_call(worker, &call);
    }
    /* The other threads may all stand by, and then nobody hears of the next call. The first thread's return is the
     * process's end anyway. */
    if (r < 0 && thread->index > 0)
        _exit(1);
    work_done(&w);
    free(TAKE_PTR(thread->chunk));
    free(TAKE_PTR(thread->buffer));
    return NULL;
}

int worker_main(int work_fd, const struct cell_spec *spec, const int *roots, struct shelf shelf)
{
    static struct worker worker = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                   .start_lock = PTHREAD_MUTEX_INITIALIZER,
                                   .help_fd = CELL_HELP_FD};
    if (!make_thread_room(&worker.threads[0], &worker, 0))
        return 1;
    worker.fd = work_fd;
    replies_init(&worker.replies, work_fd, shelf);
    worker.n_roots = spec->n_roots;
    work_take_roots(spec, roots, worker.roots);
    size_t store = spec_store(spec);
    guard_trees_init(&worker.trees, store < spec->n_roots ? roots[store] : -1);
    worker.wanted = spec->threads < THREADS_MAX ? spec->threads : THREADS_MAX;
    atomic_store(&worker.running, 1);
    serve_calls(&worker.threads[0]);
    replies_done(&worker.replies);
    work_use_guard(&(struct work){.worker = &worker}, NULL);
    guard_trees_leave(&worker.trees, spec->threads);
    return 0;
}
