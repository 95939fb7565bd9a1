#include "store/audit_calls.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int compare_open_calls(const void *a, const void *b)
{
    const struct str *x = &((const struct open_call *)a)->id;
    const struct str *y = &((const struct open_call *)b)->id;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return x->n ? memcmp(x->p, y->p, x->n) : 0;
}

static struct open_call *open_call_new(struct str id, struct str tool)
{
    struct open_call *call = mem_zero(sizeof *call + id.n + tool.n);
    memcpy(call->text, id.p, id.n);
    if (tool.n)
        memcpy(call->text + id.n, tool.p, tool.n);
    call->id = (struct str){call->text, id.n};
    call->tool = (struct str){call->text + id.n, tool.n};
    return call;
}

void audit_calls_begin(struct audit_calls *calls, struct str id, struct str tool)
{
    struct open_call probe = {.id = id};
    if (tfind(&probe, &calls->tree, compare_open_calls))
        return;
    if (calls->count >= OPEN_CALLS_MAX || id.n + tool.n > OPEN_BYTES_MAX - calls->bytes) {
        calls->not_followed++;
        return;
    }
    struct open_call *call = open_call_new(id, tool);
    if (!tsearch(call, &calls->tree, compare_open_calls))
        abort();
    call->prev = calls->last;
    *(calls->last ? &calls->last->next : &calls->first) = call;
    calls->last = call;
    calls->count++;
    calls->bytes += id.n + tool.n;
}

static void drop_open_call(struct audit_calls *calls, struct open_call *call)
{
    tdelete(call, &calls->tree, compare_open_calls);
    *(call->prev ? &call->prev->next : &calls->first) = call->next;
    *(call->next ? &call->next->prev : &calls->last) = call->prev;
    calls->count--;
    calls->bytes -= call->id.n + call->tool.n;
    free(call);
}

void audit_calls_end(struct audit_calls *calls, struct str id)
{
    struct open_call probe = {.id = id};
    struct open_call **found = tfind(&probe, &calls->tree, compare_open_calls);
    if (found)
        drop_open_call(calls, *found);
}

void audit_calls_done(struct audit_calls *calls)
{
    while (calls->first)
        drop_open_call(calls, calls->first);
    *calls = (struct audit_calls){0};
}
