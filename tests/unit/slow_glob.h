/* Globs once more, the slow and obvious way: braces written out, components taken one by one, stars
 * tried at every length. */
#ifndef SANDGATE_TESTS_SLOW_GLOB_H
#define SANDGATE_TESTS_SLOW_GLOB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"
#include "base/utf8.h"

#define SLOW_TOKENS 64
#define SLOW_EXPANSIONS 64
#define SLOW_SETS (SLOW_TOKENS / 3 + 1)
#define SLOW_STEPS 20000

/* A token is a character, or one of these. A byte that is part of no character is negative too. */
enum {
    SLOW_BYTE = -1000,
    SLOW_STAR = -1,
    SLOW_STARS = -2,
    SLOW_ANY = -3,
    SLOW_OPEN = -4,
    SLOW_CLOSE = -5,
    SLOW_COMMA = -6,
    SLOW_SET = -100,
};

struct slow_list {
    int tokens[SLOW_TOKENS];
    size_t n;
};

struct slow_set {
    bool negated;
    int ends[SLOW_TOKENS][2];
    size_t n;
};

struct slow_component {
    const int *tokens;
    size_t n;
};

struct slow_path {
    struct slow_component components[SLOW_TOKENS + 2];
    size_t count;
    bool slash; /* one stands before the last component */
};

struct slow_glob {
    bool bad;      /* no pattern */
    bool too_much; /* for this one */
    bool folders_only;
    bool anywhere;
    struct slow_list expansions[SLOW_EXPANSIONS];
    struct slow_path paths[SLOW_EXPANSIONS];
    size_t count;
    struct slow_set sets[SLOW_SETS];
    size_t set_count;
    unsigned steps;
};

static inline int slow_character(struct str text, size_t *at)
{
    const unsigned char *u = (const unsigned char *)text.p + *at;
    size_t n = utf8_sequence(text.p + *at, text.n - *at);
    *at += n ? n : 1;
    if (n == 0)
        return SLOW_BYTE - u[0];
    int c = n == 1 ? u[0] : u[0] & (0xff >> (n + 1));
    for (size_t i = 1; i < n; i++)
        c = c * 64 + (u[i] & 63);
    return c;
}

/* So that bytes come behind all characters. */
static inline int slow_order(int c)
{
    return c < 0 ? 0x200000 - c : c;
}

static inline bool slow_read_set(struct slow_glob *g, struct str text, size_t *at)
{
    struct slow_set *set = &g->sets[g->set_count];
    size_t i = *at + 1;
    *set = (struct slow_set){0};
    if (i < text.n && (text.p[i] == '!' || text.p[i] == '^')) {
        set->negated = true;
        i++;
    }
    for (bool first = true;; first = false) {
        if (i >= text.n)
            return false;
        if (text.p[i] == ']' && !first)
            break;
        if (text.p[i] == '[' && i + 1 < text.n && text.p[i + 1] == ':' &&
            memmem(text.p + i + 2, text.n - i - 2, ":]", 2))
            return false;
        for (int end = 0; end < 2; end++) {
            if (i < text.n && text.p[i] == '\\')
                i++;
            if (i >= text.n)
                return false;
            set->ends[set->n][end] = slow_character(text, &i);
            if (end == 0) {
                set->ends[set->n][1] = set->ends[set->n][0];
                if (i + 1 >= text.n || text.p[i] != '-' || text.p[i + 1] == ']')
                    break;
                i++;
            }
        }
        if (slow_order(set->ends[set->n][0]) > slow_order(set->ends[set->n][1]))
            return false;
        set->n++;
    }
    *at = i + 1;
    return true;
}

/* Into tokens; false when it is no pattern. */
static inline bool slow_read(struct slow_glob *g, struct str text, struct slow_list *out)
{
    int depth = 0;
    for (size_t i = 0; i < text.n;) {
        char c = text.p[i];
        size_t run = 0;
        int token;
        while (c == '*' && i + run < text.n && text.p[i + run] == '*')
            run++;
        if (c == '\0') {
            return false;
        } else if (run) {
            token = run == 2 ? SLOW_STARS : SLOW_STAR;
            i += run;
        } else if (c == '[') {
            token = SLOW_SET - (int)g->set_count;
            if (!slow_read_set(g, text, &i))
                return false;
            g->set_count++;
        } else if (c == '?' || c == '{' || c == '}' || (c == ',' && depth)) {
            token = c == '?' ? SLOW_ANY : c == '{' ? SLOW_OPEN : c == '}' ? SLOW_CLOSE : SLOW_COMMA;
            depth += (c == '{') - (c == '}');
            if (depth < 0 || depth > 16)
                return false;
            i++;
        } else {
            i += c == '\\';
            if (i >= text.n)
                return false;
            token = slow_character(text, &i);
        }
        out->tokens[out->n++] = token;
    }
    return depth == 0 && text.n > 0;
}

static inline struct slow_list slow_join(const struct slow_list *list, size_t open, size_t from,
                                         size_t to, size_t close)
{
    struct slow_list joined = {.n = 0};
    for (size_t i = 0; i < list->n; i++) {
        if (i < open || (i >= from && i < to) || i > close)
            joined.tokens[joined.n++] = list->tokens[i];
    }
    return joined;
}

static inline void slow_expand(struct slow_glob *g, const struct slow_list *list)
{
    size_t open = 0;
    while (open < list->n && list->tokens[open] != SLOW_OPEN)
        open++;
    if (g->count == SLOW_EXPANSIONS) {
        g->too_much = true;
        return;
    }
    if (open == list->n) {
        g->expansions[g->count++] = *list;
        return;
    }
    size_t starts[SLOW_TOKENS + 1];
    size_t count = 0;
    size_t close = open;
    int depth = 0;
    starts[count++] = open + 1;
    for (;; close++) {
        depth += (list->tokens[close] == SLOW_OPEN) - (list->tokens[close] == SLOW_CLOSE);
        if (depth == 1 && list->tokens[close] == SLOW_COMMA)
            starts[count++] = close + 1;
        if (depth == 0)
            break;
    }
    starts[count] = close + 1;
    for (size_t i = 0; i < count && !g->too_much; i++) {
        struct slow_list joined = slow_join(list, open, starts[i], starts[i + 1] - 1, close);
        slow_expand(g, &joined);
    }
}

/* Into components, without those that are empty or a dot; sets whether a slash ended it. */
static inline void slow_split(const struct slow_list *list, struct slow_path *out, bool *ret_trail)
{
    *out = (struct slow_path){.count = 0};
    *ret_trail = false;
    for (size_t i = 0; i <= list->n;) {
        size_t from = i;
        while (i < list->n && list->tokens[i] != '/')
            i++;
        size_t n = i - from;
        i++;
        *ret_trail = n == 0 || (n == 1 && list->tokens[from] == '.');
        if (*ret_trail)
            continue;
        out->slash = from > 0;
        out->components[out->count++] = (struct slow_component){list->tokens + from, n};
    }
}

static inline void slow_check(struct slow_glob *g)
{
    bool trail = false;
    bool plain = false;
    g->anywhere = true;
    for (size_t i = 0; i < g->count; i++) {
        struct slow_path *path = &g->paths[i];
        bool this_trail;
        slow_split(&g->expansions[i], path, &this_trail);
        g->bad |= g->expansions[i].n && g->expansions[i].tokens[0] == '/';
        for (size_t k = 0; k < path->count; k++) {
            const struct slow_component *c = &path->components[k];
            g->bad |= c->n == 2 && c->tokens[0] == '.' && c->tokens[1] == '.';
        }
        if (path->count) {
            trail |= this_trail;
            plain |= !this_trail;
            g->anywhere &= !path->slash;
        }
    }
    g->bad |= trail == plain;
    g->folders_only = trail;
}

static inline void slow_compile(struct slow_glob *g, struct str text, bool anywhere)
{
    struct slow_list list = {.n = 0};
    *g = (struct slow_glob){.too_much = text.n > SLOW_TOKENS};
    if (g->too_much)
        return;
    g->bad = !slow_read(g, text, &list);
    if (g->bad)
        return;
    slow_expand(g, &list);
    if (g->too_much)
        return;
    slow_check(g);
    g->anywhere &= anywhere;
}

static inline bool slow_in_set(const struct slow_set *set, int c)
{
    for (size_t i = 0; i < set->n; i++) {
        if (slow_order(c) >= slow_order(set->ends[i][0]) &&
            slow_order(c) <= slow_order(set->ends[i][1]))
            return !set->negated;
    }
    return set->negated;
}

static inline bool slow_component_matches(struct slow_glob *g, struct slow_component pattern,
                                          struct slow_component name)
{
    if (++g->steps > SLOW_STEPS)
        return false;
    if (pattern.n == 0)
        return name.n == 0;
    int token = pattern.tokens[0];
    struct slow_component rest = {pattern.tokens + 1, pattern.n - 1};
    if (token == SLOW_STAR || token == SLOW_STARS) {
        for (size_t i = 0; i <= name.n; i++) {
            if (slow_component_matches(g, rest,
                                       (struct slow_component){name.tokens + i, name.n - i}))
                return true;
        }
        return false;
    }
    if (name.n == 0)
        return false;
    int c = name.tokens[0];
    bool one = token == SLOW_ANY || token == c;
    if (token <= SLOW_SET && token > SLOW_SET - SLOW_SETS)
        one = slow_in_set(&g->sets[SLOW_SET - token], c);
    return one &&
           slow_component_matches(g, rest, (struct slow_component){name.tokens + 1, name.n - 1});
}

static inline bool slow_path_matches(struct slow_glob *g, const struct slow_component *pattern,
                                     size_t n, const struct slow_component *names, size_t count)
{
    if (n == 0)
        return count == 0;
    if (pattern->n == 1 && pattern->tokens[0] == SLOW_STARS) {
        if (n == 1)
            return count > 0;
        for (size_t i = 0; i <= count; i++) {
            if (slow_path_matches(g, pattern + 1, n - 1, names + i, count - i))
                return true;
        }
        return false;
    }
    return count > 0 && slow_component_matches(g, pattern[0], names[0]) &&
           slow_path_matches(g, pattern + 1, n - 1, names + 1, count - 1);
}

/* Of a path whose components are neither empty nor dots. Sets too_much when it takes too long. */
static inline bool slow_match(struct slow_glob *g, struct str path)
{
    struct slow_list list = {.n = 0};
    struct slow_path names;
    bool trail;
    if (path.n > SLOW_TOKENS) {
        g->too_much = true;
        return false;
    }
    for (size_t i = 0; i < path.n;)
        list.tokens[list.n++] = slow_character(path, &i);
    slow_split(&list, &names, &trail);
    bool matches = false;
    g->steps = 0;
    for (size_t i = 0; i < g->count && !matches; i++) {
        const struct slow_path *p = &g->paths[i];
        for (size_t skip = 0; skip < (g->anywhere && names.count ? names.count : 1); skip++)
            matches |= p->count && slow_path_matches(g, p->components, p->count,
                                                     names.components + skip, names.count - skip);
    }
    g->too_much |= g->steps > SLOW_STEPS;
    return matches;
}

#endif
