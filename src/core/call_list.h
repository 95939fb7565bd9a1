/* Calls in a row; a call is in one list at most. */
#ifndef SANDGATE_CORE_CALL_LIST_H
#define SANDGATE_CORE_CALL_LIST_H

#include "core/call.h"

struct call_list {
    struct call *first;
    struct call *last;
    size_t count;
};

static inline void call_list_add(struct call_list *list, struct call *call)
{
    call->prev = list->last;
    call->next = NULL;
    if (list->last)
        list->last->next = call;
    else
        list->first = call;
    list->last = call;
    list->count++;
}

static inline void call_list_remove(struct call_list *list, struct call *call)
{
    if (call->prev)
        call->prev->next = call->next;
    else
        list->first = call->next;
    if (call->next)
        call->next->prev = call->prev;
    else
        list->last = call->prev;
    call->next = call->prev = NULL;
    list->count--;
}

static inline struct call_list call_list_take(struct call_list *list)
{
    struct call_list taken = *list;
    *list = (struct call_list){0};
    return taken;
}

#endif
