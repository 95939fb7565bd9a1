#include "session/suspects.h"

#include <string.h>

#include "base/log.h"
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

static bool is_there(const struct suspects *suspects, size_t root, const struct op_guarded *entry)
{
    struct op_guarded one;
    for (struct str rest = buf_str(&suspects->all); rest.n;) {
        bool same_root = (unsigned char)rest.p[0] == root;
        rest = (struct str){rest.p + 1, rest.n - 1};
        if (op_guarded_next(&rest, &one) <= 0)
            return false;
        if (same_root && one.id.inode == entry->id.inode && one.id.born_ns == entry->id.born_ns &&
            one.path.n == entry->path.n && memcmp(one.path.p, entry->path.p, one.path.n) == 0)
            return true;
    }
    return false;
}

void suspects_note(struct session *s, size_t root, const struct op_guarded *entry,
                   int64_t since_ns)
{
    struct suspects *suspects = &s->suspects;
    if (is_there(suspects, root, entry))
        return;
    if (suspects->all.len == 0 || since_ns < suspects->since_ns)
        suspects->since_ns = since_ns;
    size_t before = suspects->all.len;
    quarantine_add(&suspects->all, root, entry);
    if (!suspects->all.failed)
        return;
    suspects->all.failed = false;
    suspects->all.len = before;
    log_warning("commands make more git repositories than can be judged again: look at %.*s in %s "
                "before you use git there",
                (int)entry->path.n, entry->path.p, s->spec.roots[root].host);
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
