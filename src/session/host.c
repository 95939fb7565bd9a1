#include "session/host.h"

#include "base/processor.h"
#include "cell/probe.h"
#include "core/pipeline.h"

/* How many cells may die under a call that waits for one. */
#define PATIENCE 2
/* So many calls of the pipeline are in a cell's hands, which takes them in their order: of one caller; of several, who
 * then take turns here. */
#define IN_HANDS 64
#define IN_HANDS_OF_SEVERAL 8

void host_init(struct host *h, uv_loop_t *loop, const struct cell_spec *spec,
               const struct host_owner *functions, void *owner)
{
    *h = (struct host){.loop = loop, .spec = spec, .functions = functions, .owner = owner};
    h->waiting_end = &h->waiting;
    flight_init(&h->flight);
}

void host_done(struct host *h)
{
    cell_free(h->cell);
    for (struct call *call; (call = flight_first(&h->flight));) {
        flight_remove(&h->flight, call);
        h->functions->lost(h->owner, call);
        call_free(call);
    }
    flight_done(&h->flight);
    shelving_close(&h->shelving);
}

/* --- calls that wait */

void host_wait(struct host *h, struct call *call)
{
    call->wait_next = NULL;
    *h->waiting_end = call;
    h->waiting_end = &call->wait_next;
}

bool host_unwait(struct host *h, struct call *call)
{
    struct call **at = &h->waiting;
    while (*at && *at != call)
        at = &(*at)->wait_next;
    if (!*at)
        return false;
    *at = call->wait_next;
    if (!*at)
        h->waiting_end = at;
    return true;
}

static struct call *take_waiting(struct host *h)
{
    struct call *first = h->waiting;
    h->waiting = NULL;
    h->waiting_end = &h->waiting;
    return first;
}

static void give_up_waiting(struct host *h, const struct err *err, unsigned patience)
{
    for (struct call *call = take_waiting(h), *next; call; call = next) {
        next = call->wait_next;
        call->token = 0;
        if (call->restarts++ < patience)
            host_wait(h, call);
        else
            h->functions->give_up(h->owner, call, err);
    }
}

void host_give_up(struct host *h, const struct err *err)
{
    give_up_waiting(h, err, 0);
}

void host_go_on(struct host *h)
{
    for (struct call *call = take_waiting(h), *next; call; call = next) {
        next = call->wait_next;
        h->functions->go_on(h->owner, call);
    }
}

/* --- calls that are sent */

static void prepare_reply(struct call *call)
{
    call->shelved = 0;
    buf_done(&call->reply_body);
    call->reply_lost = false;
    buf_init(&call->reply_body, call->op->body == OP_BODY_NONE ? 0 : call->reply_max);
    if (!call->as_text)
        return;
    buf_done(&call->text.out);
    call->text = (struct json_text){.out = BUF_INIT(6 * call->reply_body.max + 64)};
}

static void come_back(struct host *h, struct call *call)
{
    call->reply_max = 0;
    h->functions->came_back(h->owner, call);
    host_wait(h, call);
}

static void send_now(struct host *h, struct call *call)
{
    struct err err;
    int body_fd = -1;
    struct frame frame;
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    prepare_reply(call);
    uint32_t processor = processor_for_call(!h->several && flight_count(&h->flight) == 0);
    call->sent_from = processor_here();
    if (flight_frame(call, processor, &head, &frame, &body_fd, &err) < 0) {
        h->functions->replied(h->owner, call, &err);
        return;
    }
    if (call->request_fd >= 0)
        body_fd = TAKE_FD(call->request_fd);
    shelving_give_back(&h->shelving, h->cell);
    frame.token = call->token = flight_add(&h->flight, call);
    if (cell_send(h->cell, &frame, body_fd, &err) == 0)
        return;
    flight_remove(&h->flight, call);
    /* A cell that is ending: the next one gets what a caller asked for. */
    if (err.code == ERR_INTERRUPTED && call->pipeline)
        come_back(h, call);
    else
        h->functions->replied(h->owner, call, &err);
}

/* A call that may wait for the lock of a folder needs no place and takes none: otherwise such calls fill all of them, and
 * reads that could pass them in the worker would not reach it. */
static bool needs_place(const struct call *call)
{
    return call->pipeline && !call->op->waits;
}

static bool has_place(const struct host *h)
{
    size_t taken = flight_count(&h->flight) - h->flight.n_locking;
    return taken < (h->several ? IN_HANDS_OF_SEVERAL : IN_HANDS);
}

void host_send(struct host *h, struct call *call, size_t reply_max)
{
    if (!call->reply_max)
        call->reply_max = reply_max;
    if (call->pipeline)
        h->several = call->pipeline->clients > 1;
    if (!needs_place(call) || (!h->turns.next && has_place(h)))
        send_now(h, call);
    else
        turns_add(&h->turns, call);
}

static void send_turns(struct host *h)
{
    while (h->state == HOST_OPEN && h->turns.next && has_place(h))
        send_now(h, turns_take(&h->turns));
}

bool host_unsend(struct host *h, struct call *call)
{
    bool was = turns_drop(&h->turns, call);
    if (was)
        h->functions->came_back(h->owner, call);
    return was;
}

void host_cancel(struct host *h, const struct call *call)
{
    struct frame frame = {.type = FRAME_CANCEL, .token = call->token};
    struct err err;
    if (!h->cell || !call->token)
        return;
    cell_send(h->cell, &frame, -1, &err);
    /* The thread that is at the call reads no frames. */
    cell_help(h->cell);
}

void host_help(struct host *h)
{
    processor_part();
    if (h->cell && flight_count(&h->flight) > 1)
        cell_help(h->cell);
}

/* --- what the cell says */

static int host_takes_frame(void *arg, const struct frame *frame)
{
    struct host *h = arg;
    struct err err;
    struct call *call = flight_find(&h->flight, frame->token);
    if (!call)
        return -1;
    if (frame->type == FRAME_SHELVED && !shelving_take(&h->shelving, frame->token))
        return -1;
    int r = flight_take(call, frame, &h->shelving.shelf, &err);
    if (r == FLIGHT_MORE) {
        processor_stay(call->sent_from);
        return (int)flight_count(&h->flight);
    }
    if (r == FLIGHT_BROKEN)
        return -1;
    h->shelving.taken |= call->shelved > 0;
    flight_remove(&h->flight, call);
    h->functions->replied(h->owner, call, r == FLIGHT_FAILED ? &err : NULL);
    send_turns(h);
    return (int)flight_count(&h->flight);
}

static void host_takes_unsent(void *arg, uint64_t token)
{
    struct host *h = arg;
    struct call *call = flight_find(&h->flight, token);
    if (!call || !call->pipeline)
        return;
    flight_remove(&h->flight, call);
    come_back(h, call);
}

static void host_takes_end(void *arg, const struct frame *frame)
{
    struct host *h = arg;
    h->functions->command_ended(h->owner, frame);
}

static void lose_calls(struct host *h, const struct err *err)
{
    for (struct call *call; (call = flight_first(&h->flight));) {
        flight_remove(&h->flight, call);
        h->functions->lost(h->owner, call);
        if (call->pipeline || call->awaited)
            h->functions->replied(h->owner, call, err);
        else
            call_free(call);
    }
}

/* What the machine lacks says more than the step that failed for it. */
static void tell_no_cell(const struct host *h, const char *why, struct err *err)
{
    char cause[400];
    enum need need = h->spec->tier == TIER_FULL ? NEED_FULL : NEED_CELL;
    if (cell_was_short(h->cell))
        err_set(err, ERR_SESSION_BUSY, "no sandbox, so nothing runs: %s", why);
    else if (probe_cause(need, cause, sizeof cause))
        err_set(err, ERR_SANDBOX_UNAVAILABLE,
                "%s (no sandbox, so nothing runs; `sandgate doctor` tells more)", cause);
    else
        err_set(err, ERR_SANDBOX_UNAVAILABLE,
                "no sandbox, so nothing runs: %s; `sandgate doctor` tells more", why);
}

static void host_takes_death(void *arg, const char *why)
{
    struct host *h = arg;
    struct err err;
    bool weaker = !cell_is_ready(h->cell) && !cell_was_short(h->cell) && !h->served &&
                  h->functions->weaken(h->owner);
    if (weaker)
        err_set(&err, ERR_INTERRUPTED, "no cell of the full tier can start here: %s", why);
    else if (cell_is_ready(h->cell) && h->spec->program)
        err_set(&err, ERR_INTERRUPTED, "the sandbox cell ended during this call (%s)", why);
    else if (cell_is_ready(h->cell))
        err_set(&err, ERR_INTERRUPTED,
                "the sandbox cell ended during this call (%s); files are either as before or as "
                "asked, look before repeating it",
                why);
    else
        tell_no_cell(h, why, &err);
    /* `why` is the cell's own and goes with it. */
    cell_free(h->cell);
    h->cell = NULL;
    shelving_close(&h->shelving);
    h->state = HOST_EMPTY;
    h->functions->gone(h->owner);
    for (struct call *call; (call = turns_take(&h->turns));)
        come_back(h, call);
    lose_calls(h, &err);
    bool needed = h->functions->died(h->owner, &err);
    /* Those that were never sent to it only need another one, but not for ever. */
    give_up_waiting(h, &err, PATIENCE);
    if ((h->waiting || needed || weaker) && host_begin(h, &err) < 0) {
        give_up_waiting(h, &err, 0);
        h->functions->no_cell(h->owner, &err);
    }
    /* Half of what the next call would wait for is done by then. */
    if (h->state == HOST_EMPTY)
        cell_prepare();
}

static int host_takes_spawn(void *arg, pid_t group, struct err *err)
{
    struct host *h = arg;
    return h->functions->spawned ? h->functions->spawned(h->owner, group, err) : 0;
}

static const struct cell_events cell_events = {.frame = host_takes_frame,
                                               .unsent = host_takes_unsent,
                                               .ended = host_takes_end,
                                               .dead = host_takes_death,
                                               .spawned = host_takes_spawn};

/* --- its beginning and end */

int host_begin(struct host *h, struct err *err)
{
    int shelf_fd = -1;
    if (h->state != HOST_EMPTY)
        return 0;
    /* It is worth while only when it is used again. Without it replies take the longer way. */
    if (!h->once)
        shelving_open(&h->shelving, &shelf_fd);
    if (cell_start(&h->cell, h->loop, h->spec, shelf_fd, &cell_events, h, err) < 0) {
        shelving_close(&h->shelving);
        return -1;
    }
    h->state = HOST_OPENING;
    h->cells++;
    h->functions->opening(h->owner);
    return 0;
}

void host_open(struct host *h)
{
    h->state = HOST_OPEN;
    h->served = true;
}

void host_kill(struct host *h, const char *why)
{
    if (h->cell)
        cell_kill(h->cell, why);
}
