#include "pending.h"

#include <stdlib.h>

void sandgate_list_add(struct sandgate_list *list, struct sandgate_pending *p)
{
    p->next = NULL;
    if (list->last)
        list->last->next = p;
    else
        list->first = p;
    list->last = p;
}

struct sandgate_pending *sandgate_list_new(struct sandgate_list *list, uint64_t id)
{
    struct sandgate_pending *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->id = id;
    sandgate_list_add(list, p);
    return p;
}

void sandgate_list_remove(struct sandgate_list *list, struct sandgate_pending *p)
{
    struct sandgate_pending *before = NULL;
    for (struct sandgate_pending *i = list->first; i != p; i = i->next)
        before = i;
    if (before)
        before->next = p->next;
    else
        list->first = p->next;
    if (list->last == p)
        list->last = before;
}

struct sandgate_pending *sandgate_list_find(const struct sandgate_list *list, uint64_t id)
{
    struct sandgate_pending *p = list->first;
    while (p && p->id != id)
        p = p->next;
    return p;
}

struct sandgate_pending *sandgate_list_at(const struct sandgate_list *list, size_t place)
{
    struct sandgate_pending *p = list->first;
    while (p && place--)
        p = p->next;
    return p;
}

size_t sandgate_list_count(const struct sandgate_list *list, uint64_t last_id)
{
    size_t count = 0;
    for (struct sandgate_pending *p = list->first; p && p->id <= last_id; p = p->next)
        count++;
    return count;
}

void sandgate_pending_free(struct sandgate_pending *p)
{
    if (p)
        free(p->json);
    free(p);
}

void sandgate_list_done(struct sandgate_list *list)
{
    for (struct sandgate_pending *p = list->first, *next; p; p = next) {
        next = p->next;
        sandgate_pending_free(p);
    }
    *list = (struct sandgate_list){0};
}
