#include "session/turns.h"

#include <stdlib.h>

#include "base/mem.h"

struct turn {
    struct turn *next;
    struct turn *prev;
    uint32_t client;
    struct call *first;
    struct call **end;
};

static struct turn *find_turn(const struct turns *t, uint32_t client)
{
    struct turn *at = t->next;
    if (!at)
        return NULL;
    do {
        if (at->client == client)
            return at;
        at = at->next;
    } while (at != t->next);
    return NULL;
}

/* It comes after all others. */
static struct turn *turn_new(struct turns *t, uint32_t client)
{
    struct turn *turn = mem_zero(sizeof *turn);
    turn->client = client;
    turn->end = &turn->first;
    turn->next = t->next ? t->next : turn;
    turn->prev = t->next ? t->next->prev : turn;
    turn->next->prev = turn->prev->next = turn;
    if (!t->next)
        t->next = turn;
    return turn;
}

static void drop_if_empty(struct turns *t, struct turn *turn)
{
    if (turn->first)
        return;
    turn->next->prev = turn->prev;
    turn->prev->next = turn->next;
    if (t->next == turn)
        t->next = turn->next == turn ? NULL : turn->next;
    free(turn);
}

void turns_add(struct turns *t, struct call *call)
{
    struct turn *turn = find_turn(t, call->client);
    if (!turn)
        turn = turn_new(t, call->client);
    call->wait_next = NULL;
    *turn->end = call;
    turn->end = &call->wait_next;
}

static void unlink_call(struct turns *t, struct turn *turn, struct call **at)
{
    struct call *call = *at;
    *at = call->wait_next;
    if (!*at)
        turn->end = at;
    call->wait_next = NULL;
    drop_if_empty(t, turn);
}

struct call *turns_take(struct turns *t)
{
    struct turn *turn = t->next;
    if (!turn)
        return NULL;
    struct call *call = turn->first;
    t->next = turn->next;
    unlink_call(t, turn, &turn->first);
    return call;
}

bool turns_drop(struct turns *t, struct call *call)
{
    struct turn *turn = find_turn(t, call->client);
    struct call **at = turn ? &turn->first : NULL;
    while (at && *at && *at != call)
        at = &(*at)->wait_next;
    if (!at || !*at)
        return false;
    unlink_call(t, turn, at);
    return true;
}
