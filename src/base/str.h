/* Texts as runs of bytes: what they are compared by. An absent one (NULL) counts as empty, save in str_is. */
#ifndef SANDGATE_BASE_STR_H
#define SANDGATE_BASE_STR_H

#include <stdbool.h>
#include <string.h>

#include "base/attr.h"

static inline struct str str_of(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

/* False for an absent text. */
static inline bool str_is(struct str s, const char *text)
{
    return s.p && strlen(text) == s.n && memcmp(s.p, text, s.n) == 0;
}

static inline bool str_equal(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* By bytes, the beginning of a text before the text. */
static inline int str_compare(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int r = n ? memcmp(a.p, b.p, n) : 0;
    return r ? r : (a.n > b.n) - (a.n < b.n);
}

static inline struct str str_behind(struct str text, size_t n)
{
    return (struct str){text.p + n, text.n - n};
}

static inline bool str_begins(struct str text, struct str start)
{
    return text.n >= start.n && (start.n == 0 || memcmp(text.p, start.p, start.n) == 0);
}

static inline bool str_ends(struct str text, struct str end)
{
    return text.n >= end.n && (end.n == 0 || memcmp(text.p + text.n - end.n, end.p, end.n) == 0);
}

/* `list` ends with NULL. */
static inline bool str_in(struct str text, const char *const *list)
{
    while (*list && !str_is(text, *list))
        list++;
    return *list;
}

#endif
