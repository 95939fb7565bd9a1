/* One rule about protected or secret files: a pattern over the components of a path.
 *
 *   name, a/b    at any depth; what lies beneath is meant too
 *   /name        only at the root
 *   name/        only a folder, and what lies beneath it
 *   !name        an exception from the rules before it, for what is not a folder: a folder can get that name
 *   !name/       one for a folder and what lies beneath it; and so is `!name/` with two stars behind it
 *
 * Within a component the globs of core/glob.h, without a slash in braces; `**` is any number of them.
 * Letters of ASCII are the same in either case: on some file systems `.GIT` is `.git`. */
#ifndef SANDGATE_CORE_GUARD_PATTERN_H
#define SANDGATE_CORE_GUARD_PATTERN_H

#include <stdint.h>

#include "core/glob.h"

/* One bit each, and one for the end. */
#define GUARD_PARTS_MAX 60

enum guard_part_kind {
    GUARD_NAME,   /* `head` */
    GUARD_AROUND, /* begins with `head`, ends with `tail` */
    GUARD_GLOB,
    GUARD_DEEP, /* any number of components */
};

struct guard_part {
    enum guard_part_kind kind;
    struct str head; /* in small letters, in guard_pattern.small */
    struct str tail;
    struct glob *glob;
};

struct guard_pattern {
    char *text; /* as it was written */
    char *small;
    bool except;
    bool anchored;
    bool folders;   /* only folders */
    bool no_folder; /* only what is not a folder */
    size_t count;
    struct guard_part *parts; /* the last is never GUARD_DEEP */
};

int guard_pattern_read(struct str text, struct guard_pattern *ret, struct err *err);
void guard_pattern_done(struct guard_pattern *pattern);

bool guard_part_matches(const struct guard_part *part, struct str name);
/* Whether the pattern names this path, or a folder that it lies in. */
bool guard_pattern_covers(const struct guard_pattern *pattern, struct str path, bool is_folder);
/* Whether the path is a folder that a path named by the pattern lies in, of those that the pattern spells out:
 * `.git` for `.git/hooks`, not the folder around it. */
bool guard_pattern_leads_through(const struct guard_pattern *pattern, struct str path);

/* The next component of a path; false behind the last. */
static inline bool guard_next_name(struct str path, size_t *at, struct str *ret_name)
{
    size_t from = *at;
    size_t to = from;
    while (to < path.n && path.p[to] != '/')
        to++;
    *ret_name = (struct str){path.p + from, to - from};
    *at = to + 1;
    return from < path.n;
}

#endif
