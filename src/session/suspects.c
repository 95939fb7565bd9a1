#include "session/suspects.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/command.h"
#include "session/quarantine.h"
#include "session/scan.h"
#include "session/session_parts.h"

#define SUSPECTS_MAX ((size_t)1 << 20)

void suspects_init(struct suspects *suspects)
{
    *suspects = (struct suspects){.all = BUF_INIT(SUSPECTS_MAX)};
}

void suspects_done(struct suspects *suspects)
{
    buf_done(&suspects->all);
}

/* The next entry of a list that quarantine_add has packed, and its root. */
static bool next_suspect(struct str *rest, size_t *ret_root, struct op_guarded *ret)
{
    if (rest->n == 0)
        return false;
    *ret_root = (unsigned char)rest->p[0];
    *rest = (struct str){rest->p + 1, rest->n - 1};
    return op_guarded_next(rest, ret) > 0;
}

static bool is_suspect_known(const struct buf *all, size_t root, const struct op_guarded *entry)
{
    struct op_guarded one;
    size_t at;
    for (struct str rest = buf_str(all); next_suspect(&rest, &at, &one);) {
        if (at == root && one.id.inode == entry->id.inode && one.id.born_ns == entry->id.born_ns &&
            one.path.n == entry->path.n && memcmp(one.path.p, entry->path.p, one.path.n) == 0)
            return true;
    }
    return false;
}

static void add(const struct session *s, struct buf *all, size_t root,
                const struct op_guarded *entry)
{
    size_t before = all->len;
    quarantine_add(all, root, entry);
    if (!all->failed)
        return;
    all->failed = false;
    all->len = before;
    log_warning("commands make more git repositories than can be judged again: look at %.*s in %s "
                "before you use git there",
                (int)entry->path.n, entry->path.p, s->spec.roots[root].host);
}

void suspects_note(struct session *s, size_t root, const struct op_guarded *entry, int64_t since_ns)
{
    struct suspects *suspects = &s->suspects;
    if (is_suspect_known(&suspects->all, root, entry))
        return;
    if (suspects->all.len == 0 || since_ns < suspects->since_ns)
        suspects->since_ns = since_ns;
    add(s, &suspects->all, root, entry);
}

/* Where a git directory is now. */
struct place {
    struct op_identity id;
    struct str path;
};

static int compare_places(const void *a, const void *b)
{
    const struct op_identity *x = &((const struct place *)a)->id;
    const struct op_identity *y = &((const struct place *)b)->id;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return (x->born_ns > y->born_ns) - (x->born_ns < y->born_ns);
}

/* Without a time of birth another one may have the number by now. */
static bool is_known(const struct op_guarded *entry)
{
    return entry->kind == GUARDED_GIT && entry->id.born_ns != 0;
}

static struct place *list_places(struct str found, size_t *ret_count)
{
    struct op_guarded one;
    size_t count = 0;
    for (struct str rest = found; op_guarded_next(&rest, &one) > 0;)
        count += is_known(&one);
    struct place *places = mem_grow(NULL, count + 1, sizeof *places);
    *ret_count = 0;
    while (*ret_count < count && op_guarded_next(&found, &one) > 0) {
        if (is_known(&one))
            places[(*ret_count)++] = (struct place){one.id, one.path};
    }
    qsort(places, count, sizeof *places, compare_places);
    return places;
}

void suspects_found(struct session *s, size_t root, struct str found)
{
    BUF_AT_END struct buf fresh = BUF_INIT(SUSPECTS_MAX);
    struct op_guarded one;
    size_t count;
    size_t at;
    if (s->suspects.all.len == 0)
        return;
    FREE_AT_END struct place *places = list_places(found, &count);
    for (struct str rest = buf_str(&s->suspects.all); next_suspect(&rest, &at, &one);) {
        const struct place wanted = {.id = one.id};
        const struct place *now = at == root ? bsearch(&wanted, places, count, sizeof *places,
                                                       compare_places)
                                             : NULL;
        if (now)
            one.path = now->path;
        add(s, &fresh, at, &one);
    }
    struct buf old = s->suspects.all;
    s->suspects.all = fresh;
    fresh = old;
}

void suspects_give(struct session *s, struct call *call)
{
    struct command_after *after = &call->command->after;
    buf_reset(&after->suspects, 0);
    buf_add(&after->suspects, s->suspects.all.data, s->suspects.all.len);
    after->suspects_ns = s->suspects.since_ns;
    /* Nobody has a descriptor any more: this is the last look. */
    if (scan_is_settled(s))
        buf_reset(&s->suspects.all, 0);
}
