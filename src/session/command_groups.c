#include "session/command_groups.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "session/command_order.h"

void command_groups_init(struct command_groups *g, const char *tag)
{
    *g = (struct command_groups){0};
    snprintf(g->tag, sizeof g->tag, "%s", tag);
}

void command_groups_done(struct command_groups *g)
{
    limits_give_back(g->limits, g->next);
    limits_close(g->limits);
}

/* Taking a group takes several system calls, and making a command's first process in it takes longer still. */
static int send_group(struct command_groups *g, struct cell *cell, struct err *err)
{
    struct frame_fds fds = {0};
    fds.n = (size_t)limit_group_fds(g->next, fds.fd);
    /* They stay the group's. */
    if (cell_order(cell, &(struct frame){.type = FRAME_GROUP}, &fds, err) < 0)
        return -1;
    g->ready_in = cell;
    return 0;
}

/* Its first process waits in it already: only the limits change. */
static bool change_next(struct command_groups *g, const struct limits_want *want)
{
    bool none = !g->limits || limits_is_empty(g->limits);
    if (!none && (!g->next || limit_group_change(g->next, want) < 0))
        return false;
    g->next_want = *want;
    return true;
}

/* A command without its group would run with less strict limits than the gate can give it. */
static int take_next(struct command_groups *g, const struct limits_want *want, struct err *err)
{
    g->next = g->limits ? limits_take(g->limits, want) : NULL;
    g->next_want = *want;
    if (g->next || !g->limits || !limits_was_short(g->limits))
        return 0;
    return err_set(err, ERR_SESSION_BUSY, "making a control group: %s", strerror(EMFILE));
}

void command_groups_drop_spare(struct command_groups *g)
{
    if (!g->limits || limits_is_empty(g->limits))
        return;
    limits_drop_spare(g->limits);
    if (limits_in_use(g->limits))
        return;
    limits_close(g->limits);
    g->limits = NULL; /* looked for again when a command starts */
}

int command_groups_prepare(struct command_groups *g, struct cell *cell,
                           const struct limits_want *want, struct err *err)
{
    int r = g->limits ? 0 : limits_open(&g->limits, g->tag);
    if (r == -EMFILE)
        return err_set(err, ERR_SESSION_BUSY, "looking for control groups: %s", strerror(EMFILE));
    if (r < 0)
        g->limits = NULL;
    bool same = command_same_limits(want, &g->next_want);
    if (g->ready_in == cell && (same || change_next(g, want)))
        return 0;
    if (!same || !g->next) {
        limits_give_back(g->limits, TAKE_PTR(g->next));
        if (take_next(g, want, err) < 0)
            return -1;
    }
    return send_group(g, cell, err);
}

bool command_groups_hold_cpu(struct command_groups *g)
{
    if (!g->limits && limits_open(&g->limits, g->tag) < 0)
        g->limits = NULL;
    return g->limits && limits_by_group(g->limits, LIMIT_CPU);
}

struct limit_group *command_groups_take(struct command_groups *g)
{
    g->ready_in = NULL;
    return TAKE_PTR(g->next);
}

void command_groups_put_back(struct command_groups *g, struct limit_group *group,
                             const struct cell *cell)
{
    g->next = group;
    g->ready_in = cell;
}
