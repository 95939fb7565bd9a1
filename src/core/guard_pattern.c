#include "core/guard_pattern.h"

#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "core/path.h"

static bool same_when_small(const char *small, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (small[i] != ascii_lower(text[i]))
            return false;
    }
    return true;
}

static bool matches_small_glob(const struct glob *glob, struct str name)
{
    char small[PATH_NAME_MAX];
    if (name.n > sizeof small)
        return false;
    for (size_t i = 0; i < name.n; i++)
        small[i] = ascii_lower(name.p[i]);
    return glob_match(glob, (struct str){small, name.n});
}

bool guard_part_matches(const struct guard_part *part, struct str name)
{
    switch (part->kind) {
    case GUARD_NAME:
        return name.n == part->head.n && same_when_small(part->head.p, name.p, name.n);
    case GUARD_AROUND:
        return name.n >= part->head.n + part->tail.n &&
               same_when_small(part->tail.p, name.p + name.n - part->tail.n, part->tail.n) &&
               same_when_small(part->head.p, name.p, part->head.n);
    case GUARD_GLOB:
        return matches_small_glob(part->glob, name);
    case GUARD_DEEP:
        break;
    }
    return true;
}

/* A set of places in the pattern: bit k says that the first k parts are matched. */
static uint64_t pass_deep(const struct guard_pattern *p, uint64_t places)
{
    for (size_t k = 0; k < p->count; k++) {
        if (places >> k & 1 && p->parts[k].kind == GUARD_DEEP)
            places |= (uint64_t)2 << k;
    }
    return places;
}

static uint64_t pass_name(const struct guard_pattern *p, uint64_t places, struct str name)
{
    uint64_t next = p->anchored ? 0 : 1;
    for (uint64_t left = places & (((uint64_t)1 << p->count) - 1); left; left &= left - 1) {
        unsigned k = (unsigned)__builtin_ctzll(left);
        if (p->parts[k].kind == GUARD_DEEP)
            next |= (uint64_t)1 << k;
        else if (guard_part_matches(&p->parts[k], name))
            next |= (uint64_t)2 << k;
    }
    return pass_deep(p, next);
}

bool guard_pattern_covers(const struct guard_pattern *p, struct str path, bool is_folder)
{
    uint64_t places = pass_deep(p, 1);
    struct str name;
    for (size_t at = 0; guard_next_name(path, &at, &name);) {
        places = pass_name(p, places, name);
        if (!(places >> p->count & 1))
            continue;
        bool folder = at <= path.n || is_folder;
        if (folder ? !p->no_folder : !p->folders)
            return true;
    }
    return false;
}

bool guard_pattern_leads_through(const struct guard_pattern *p, struct str path)
{
    uint64_t places = pass_deep(p, 1);
    struct str name;
    for (size_t at = 0; guard_next_name(path, &at, &name);)
        places = pass_name(p, places, name);
    return (places & ~(uint64_t)1 & (((uint64_t)1 << p->count) - 1)) != 0;
}

static int bad(struct err *err, struct str text, const char *what)
{
    return err_set(err, ERR_INVALID_PATTERN, "the pattern `%.*s` %s",
                   (int)(text.n > 120 ? 120 : text.n), text.p, what);
}

static int read_part(struct str text, struct guard_part *ret, struct err *err)
{
    const char *star = memchr(text.p, '*', text.n);
    if (!glob_is_pattern(text)) {
        *ret = (struct guard_part){.kind = GUARD_NAME, .head = text};
        return 0;
    }
    if (text.n == 2 && memcmp(text.p, "**", 2) == 0) {
        *ret = (struct guard_part){.kind = GUARD_DEEP};
        return 0;
    }
    if (star) {
        size_t n = (size_t)(star - text.p);
        struct str head = {text.p, n};
        struct str tail = {star + 1, text.n - n - 1};
        if (!glob_is_pattern(head) && !glob_is_pattern(tail)) {
            *ret = (struct guard_part){.kind = GUARD_AROUND, .head = head, .tail = tail};
            return 0;
        }
    }
    *ret = (struct guard_part){.kind = GUARD_GLOB, .glob = glob_compile(text, false, err)};
    return ret->glob ? 0 : -1;
}

static bool has_slash_in_braces(struct str text)
{
    int depth = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\\')
            i++;
        else if (text.p[i] == '{')
            depth++;
        else if (text.p[i] == '}')
            depth--;
        else if (text.p[i] == '/' && depth > 0)
            return true;
    }
    return false;
}

static int add_pattern_part(struct guard_pattern *p, struct str part, struct err *err)
{
    if (part.n == 0 || (part.n == 1 && part.p[0] == '.'))
        return 0;
    struct str text = {p->text, strlen(p->text)};
    if (part.n == 2 && memcmp(part.p, "..", 2) == 0)
        return bad(err, text, "has `..` in it");
    if (p->count == GUARD_PARTS_MAX)
        return bad(err, text, "has too many components");
    if (read_part(part, &p->parts[p->count], err) < 0)
        return -1;
    bool deep = p->parts[p->count].kind == GUARD_DEEP;
    /* At any depth is what a pattern means anyway, and two of them mean no more than one. */
    if (deep && p->count == 0)
        p->anchored = false;
    else if (!deep || p->parts[p->count - 1].kind != GUARD_DEEP)
        p->count++;
    return 0;
}

static int read_pattern_parts(struct guard_pattern *p, struct err *err)
{
    struct str rest = {p->small, strlen(p->small)};
    struct str part;
    bool all = false;
    p->except = rest.n && rest.p[0] == '!';
    rest.p += p->except;
    rest.n -= p->except;
    p->anchored = rest.n && rest.p[0] == '/';
    p->folders = rest.n && rest.p[rest.n - 1] == '/';
    for (size_t at = 0; guard_next_name(rest, &at, &part);) {
        all |= part.n == 2 && memcmp(part.p, "**", 2) == 0;
        if (add_pattern_part(p, part, err) < 0)
            return -1;
    }
    if (p->count == 0 && !all)
        return bad(err, (struct str){p->text, strlen(p->text)}, "names nothing");
    if (p->count == 0)
        p->parts[p->count++].kind = GUARD_DEEP;
    /* At the end it stands for whatever is there. */
    struct guard_part *last = &p->parts[p->count - 1];
    p->no_folder = p->except && !p->folders && last->kind != GUARD_DEEP;
    if (last->kind == GUARD_DEEP)
        *last = (struct guard_part){.kind = GUARD_AROUND, .head = STR(""), .tail = STR("")};
    return 0;
}

int guard_pattern_read(struct str text, struct guard_pattern *ret, struct err *err)
{
    if (text.n > GLOB_TEXT_MAX || (text.n && memchr(text.p, '\0', text.n)))
        return bad(err, text, "is too long or has a NUL byte in it");
    if (has_slash_in_braces(text))
        return bad(err, text, "has a slash in braces: write it as several");
    struct guard_pattern p = {
        .text = mem_copy(text.p, text.n),
        .small = mem_copy(text.p, text.n),
        .parts = mem_zero((GUARD_PARTS_MAX + 1) * sizeof(struct guard_part)),
    };
    for (char *at = p.small; *at; at++)
        *at = ascii_lower(*at);
    if (read_pattern_parts(&p, err) < 0) {
        guard_pattern_done(&p);
        return -1;
    }
    p.parts = mem_grow(p.parts, p.count, sizeof *p.parts);
    *ret = p;
    return 0;
}

void guard_pattern_done(struct guard_pattern *p)
{
    for (size_t i = 0; i < p->count; i++)
        glob_free(p->parts[i].glob);
    free(p->parts);
    free(p->text);
    free(p->small);
    *p = (struct guard_pattern){0};
}
