/* Applies a unified diff, strictly: every line must be where the diff says. */
#ifndef SANDGATE_TESTS_APPLY_DIFF_H
#define SANDGATE_TESTS_APPLY_DIFF_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

struct lines {
    struct str text;
    size_t at;
    size_t line; /* lines passed */
};

static inline struct str next_line(struct lines *l)
{
    const char *p = l->text.p + l->at;
    const char *end = memchr(p, '\n', l->text.n - l->at);
    size_t n = end ? (size_t)(end - p) + 1 : l->text.n - l->at;
    l->at += n;
    l->line += n > 0;
    return (struct str){p, n};
}

static inline bool starts(const struct lines *l, const char *with)
{
    size_t n = strlen(with);
    return l->text.n - l->at >= n && memcmp(l->text.p + l->at, with, n) == 0;
}

static inline size_t read_number(struct lines *l)
{
    size_t value = 0;
    while (l->at < l->text.n && l->text.p[l->at] >= '0' && l->text.p[l->at] <= '9')
        value = value * 10 + (size_t)(l->text.p[l->at++] - '0');
    return value;
}

static inline bool read_range(struct lines *l, const char *sign, size_t *first, size_t *count)
{
    if (!starts(l, sign))
        return false;
    l->at += strlen(sign);
    *first = read_number(l);
    *count = 1;
    if (starts(l, ",")) {
        l->at++;
        *count = read_number(l);
    }
    return true;
}

static inline bool apply_lines(struct lines *diff, struct lines *from, size_t gone, size_t come,
                               struct buf *out)
{
    while (gone || come) {
        struct str line = next_line(diff);
        if (line.n < 2)
            return false;
        char sign = line.p[0];
        line = (struct str){line.p + 1, line.n - 1};
        if (starts(diff, "\\ No newline at end of file\n")) {
            next_line(diff);
            line.n--;
        }
        if (sign != '+') {
            struct str there = next_line(from);
            if (gone-- == 0 || there.n != line.n || memcmp(there.p, line.p, line.n) != 0)
                return false;
        }
        if (sign != '-') {
            if (come-- == 0)
                return false;
            buf_add(out, line.p, line.n);
        }
        if (sign != '+' && sign != '-' && sign != ' ')
            return false;
    }
    return true;
}

static inline bool apply_diff(struct str before, struct str text, struct buf *out)
{
    struct lines diff = {text, 0, 0};
    struct lines from = {before.n ? before : STR(""), 0, 0};
    size_t line_out = 0;
    if (text.n && (!starts(&diff, "--- a/") || (next_line(&diff), !starts(&diff, "+++ b/"))))
        return false;
    if (text.n)
        next_line(&diff);
    while (diff.at < diff.text.n) {
        size_t a, gone, b, come;
        if (!read_range(&diff, "@@ -", &a, &gone) || !read_range(&diff, " +", &b, &come) ||
            !starts(&diff, " @@\n"))
            return false;
        next_line(&diff);
        while (from.line + (gone > 0) < a) {
            struct str line = next_line(&from);
            if (line.n == 0)
                return false;
            buf_add(out, line.p, line.n);
            line_out++;
        }
        if (line_out + (come > 0) != b || !apply_lines(&diff, &from, gone, come, out))
            return false;
        line_out += come;
    }
    buf_add(out, from.text.p + from.at, from.text.n - from.at);
    return !out->failed;
}

#endif
