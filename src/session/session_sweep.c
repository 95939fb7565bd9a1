/* Has the temporary files removed that writes left behind when they were cut off. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle.h"
#include "base/mem.h"
#include "cell/cell.h"
#include "session/session_parts.h"

/* The cell of a gate that was killed ends a moment later, and may make a file until then. So those whose notes were passed
 * over are looked for again: for about ten seconds, the next gate does the rest. */
#define AGAIN_FIRST_MS 10
#define AGAIN_LAST_MS 6000
/* So many cells may die while they remove the same files. */
#define CELLS_LOST_MAX 2

struct sweep_again {
    uv_timer_t timer;
    uint64_t after_ms;
};

static void again_later(struct session *s);

static void put_back(struct session *s, const struct call *call, unsigned lost)
{
    const struct op_sweep_request *q = &call->request.sweep;
    struct leftover *l = leftover_add(&s->leftovers, call->path.root, q->path, q->tag);
    if (l)
        l->lost = lost;
}

static void swept(struct call *call)
{
    struct session *s = session_of_call(call);
    /* A folder that is gone holds nothing. Otherwise a later try, the next cell or the next gate may have more luck. */
    if (call->failed && call->err.code != ERR_NOT_FOUND) {
        put_back(s, call, call->restarts);
        if (!s->once)
            again_later(s);
    }
    call_free(call);
}

static void send_leftovers(struct session *s)
{
    /* One that the cell has no room for comes back to the list. */
    struct leftover *all = TAKE_PTR(s->leftovers);
    for (struct leftover *l; (l = leftover_take(&all));) {
        /* One that may itself end the cell is for the next gate. */
        if (l->lost > CELLS_LOST_MAX) {
            l->next = s->leftovers;
            s->leftovers = l;
            continue;
        }
        struct call *call = session_own_call(s, OP_SWEEP, l->root, l->path, swept);
        buf_init(&call->packed, sizeof l->tag);
        buf_add_text(&call->packed, l->tag);
        call->request.sweep = (struct op_sweep_request){(int64_t)l->root, call_path_text(call),
                                                        buf_str(&call->packed)};
        call->restarts = l->lost;
        session_send(s, call);
        leftover_free(l);
    }
}

static void collect_leftovers(struct session *s);

static void on_collect_timer(uv_timer_t *timer)
{
    struct session *s = timer->data;
    /* The next cell collects when it is open. */
    if (s->host.state == HOST_OPEN)
        collect_leftovers(s);
}

static void again_later(struct session *s)
{
    struct sweep_again *a = s->sweep_again;
    if (!a) {
        a = s->sweep_again = mem_zero(sizeof *a);
        uv_timer_init(s->loop, &a->timer);
        uv_unref((uv_handle_t *)&a->timer);
        a->timer.data = s;
        a->after_ms = AGAIN_FIRST_MS;
    }
    if (a->after_ms > AGAIN_LAST_MS)
        return;
    uv_timer_start(&a->timer, on_collect_timer, a->after_ms, 0);
    a->after_ms *= 2;
}

static void collect_leftovers(struct session *s)
{
    if (leftover_collect(&s->leftovers, s->state_fd, &s->spec) && !s->once)
        again_later(s);
    send_leftovers(s);
}

void session_sweep_begin(struct session *s)
{
    char group[PROCESS_GROUP_TEXT];
    process_group_write(cell_group(s->host.cell), group);
    for (size_t i = 0; i < s->spec.n_roots; i++)
        sweep_set_group(&s->sweeps[i], group);
    if (s->sweep_again)
        s->sweep_again->after_ms = AGAIN_FIRST_MS;
    collect_leftovers(s);
}

void session_sweep_lost(struct session *s, const struct call *call)
{
    if (call->answer == swept)
        put_back(s, call, call->restarts + 1);
}

void session_sweep_done(struct session *s)
{
    struct sweep_again *a = TAKE_PTR(s->sweep_again);
    if (!a)
        return;
    a->timer.data = a;
    uv_close((uv_handle_t *)&a->timer, handle_free_data);
}
