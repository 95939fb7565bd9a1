/* A move to quarantine whose gate or cell was killed. The gate noted the name that the entry gets aside before it asked for
 * the move; nobody could guess it. Afterwards anybody can see it, so what is found there counts only if it is what was to be
 * moved, and nothing is given a name that programs obey. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/guard_read.h"
#include "work/quarantine_parts.h"

static bool is_absent_error(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -ELOOP;
}

/* 1: it is there, 0: it is not. -errno: that cannot be told, and is no reason to forget the move. */
static int is_name_there(int dir, const char *name)
{
    struct statx st;
    int r = folder_stat(dir, name, &st);
    return r == 0 ? 1 : is_absent_error(r) ? 0 : r;
}

/* Whether there is a whole copy, as above; *ret_head: it is one of HEAD in the folder. */
static int is_stored(const struct beneath_root *store, const struct op_quarantine_request *q,
                     bool *ret_head)
{
    const char *slash = strrchr(q->path.p, '/');
    FREE_AT_END char *tag = mem_copy(q->tag.p, q->tag.n);
    FD_AT_END int folder = quarantine_open(store);
    if (folder < 0)
        return folder;
    FD_AT_END int copy = beneath_open_child(folder, tag);
    if (copy < 0)
        return is_absent_error(-errno) ? 0 : -errno;
    *ret_head = q->git && is_name_there(copy, "HEAD") > 0 &&
                strcmp(slash ? slash + 1 : q->path.p, "HEAD") != 0;
    return 1;
}

/* HEAD of a folder that is still the one that was found: its name aside is in that folder. As above. */
static int go_to_head_aside(const struct op_quarantine_request *q, const struct op_guarded *was,
                            const char *aside, struct beneath_place *place)
{
    if (!q->git)
        return 0;
    FD_AT_END int inner = beneath_open_child(place->dir, place->name);
    if (inner < 0)
        return is_absent_error(-errno) ? 0 : -errno;
    int r = quarantine_is_same(inner, "", was) ? is_name_there(inner, aside) : 0;
    if (r <= 0)
        return r;
    close(place->dir);
    place->dir = TAKE_FD(inner);
    snprintf(place->name, sizeof place->name, "HEAD");
    return 1;
}

static int refuse_other_aside(const struct op_quarantine_request *q, const char *aside,
                              struct err *err)
{
    return err_set(
        err, ERR_CONFLICT,
        "moving `%s` to quarantine was cut off, and `%s` beside it is something else: if "
        "it is yours, give it its name back",
        q->path.p, aside);
}

static int resume_quarantine(struct work *w, const struct beneath_root *store,
                             const struct op_quarantine_request *q, const struct op_guarded *was,
                             struct beneath_place *place, struct op_quarantine_reply *ret,
                             struct err *err)
{
    char aside[PATH_NAME_MAX + 1];
    bool stored = ret->outcome == QUARANTINE_MOVED;
    snprintf(aside, sizeof aside, OP_QUARANTINE_ASIDE, q->aside);
    int head = go_to_head_aside(q, was, aside, place);
    int there = head ? head : is_name_there(place->dir, aside);
    if (there <= 0)
        return there < 0 ? beneath_errno(err, -there, q->path.p) : 0;
    if (!head && !quarantine_is_same(place->dir, aside, was))
        return refuse_other_aside(q, aside, err);
    ret->head |= head;
    if (stored) {
        quarantine_remove_aside(w, q, place, aside, ret);
        return 0;
    }
    quarantine_take_head(place->dir, aside);
    ret->outcome = quarantine_move_out(w, store, q, place, aside, ret);
    return 0;
}

/* Where that cannot be told, something may be left. */
static bool is_nothing_left(const struct err *lost)
{
    return lost->code == ERR_NOT_FOUND || lost->code == ERR_NOT_A_DIRECTORY ||
           lost->code == ERR_CONFLICT;
}

int quarantine_resume(struct work *w, const struct beneath_root *store,
                      const struct beneath_root *root, const struct op_quarantine_request *q,
                      const struct op_guarded *was, struct op_quarantine_reply *ret,
                      struct err *err)
{
    struct err lost;
    struct beneath_place place = {.dir = -1};
    int stored = is_stored(store, q, &ret->head);
    if (stored < 0)
        return beneath_errno(err, -stored, q->path.p);
    ret->outcome = stored ? QUARANTINE_MOVED : QUARANTINE_LEFT;
    if (!stored)
        quarantine_drop_part(w, store, q);
    int r = quarantine_find_place(root, q->path.p, &place, &lost);
    if (r == 0)
        r = resume_quarantine(w, store, q, was, &place, ret, &lost);
    fd_closep(&place.dir);
    /* It is told with what is moved, or it is asked again. */
    ret->rest |= r < 0 && stored && !is_nothing_left(&lost);
    bool again = r < 0 && (!stored || lost.code == ERR_SESSION_BUSY || lost.code == ERR_CANCELLED);
    if (again)
        *err = lost;
    return again ? -1 : 0;
}
