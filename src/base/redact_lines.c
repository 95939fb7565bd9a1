/* Values that do not stand on the line of their name. */
#include <stdint.h>

#include "base/ascii.h"
#include "base/redact_parts.h"

/* Longest gap between a name and its value, and longest block that is looked through. */
#define GAP_MAX 256
#define BLOCK_MAX 16384

/* Behind the end of the line at `at`; 0: no line ends there. */
static size_t behind_line_end(const struct redact_text *t, size_t at)
{
    at += at < t->n && t->p[at] == '\r';
    return at < t->n && t->p[at] == '\n' ? at + 1 : 0;
}

size_t redact_gap(const struct redact_text *t, size_t at)
{
    size_t limit = at + GAP_MAX;
    while (at < t->n && at < limit) {
        size_t next = ascii_is_blank(t->p[at]) ? at + 1
                      : t->p[at] == '\\'       ? behind_line_end(t, at + 1)
                                               : 0;
        if (!next)
            break;
        at = next;
    }
    return at;
}

size_t redact_argument(const struct redact_text *t, size_t end)
{
    size_t i = end;
    while (i < t->n && i - end < 2 &&
           (t->p[i] == '\\' || t->p[i] == '"' || t->p[i] == '\'' || t->p[i] == '`'))
        i++;
    size_t behind = i;
    while (i < t->n && i - behind < GAP_MAX) {
        size_t next = t->p[i] == ',' || t->p[i] == '\n' ? i + 1 : redact_gap(t, i);
        if (next == i)
            break;
        i = next;
    }
    return i == behind ? 0 : i;
}

/* How far the line that begins at `at` is indented; SIZE_MAX: it is empty. */
static size_t indent_of(const struct redact_text *t, size_t at)
{
    size_t i = at;
    while (i < t->n && i - at < GAP_MAX && ascii_is_blank(t->p[i]))
        i++;
    return i == t->n || ascii_ends_line(t->p[i]) ? SIZE_MAX : i - at;
}

static size_t indent_around(const struct redact_text *t, struct str name)
{
    size_t at = (size_t)(name.p - t->p);
    size_t low = at > GAP_MAX ? at - GAP_MAX : 0;
    while (at > low && !ascii_ends_line(t->p[at - 1]))
        at--;
    size_t indent = indent_of(t, at);
    return indent == SIZE_MAX ? 0 : indent;
}

static size_t end_of_line(const struct redact_text *t, size_t at)
{
    while (at < t->n && !ascii_ends_line(t->p[at]))
        at++;
    return at;
}

/* Behind `|` or `>-` and the like of YAML. */
static size_t skip_indicator(const struct redact_text *t, size_t at)
{
    if (at == t->n || (t->p[at] != '|' && t->p[at] != '>'))
        return at;
    size_t i = at + 1;
    while (i < t->n && i - at <= 2 && (strchr("+-", t->p[i]) || (t->p[i] >= '1' && t->p[i] <= '9')))
        i++;
    while (i < t->n && i - at < GAP_MAX && ascii_is_blank(t->p[i]))
        i++;
    return i;
}

/* The lines from `at` on that are indented by more than the name's, and the empty ones between. */
static bool block(const struct redact_text *t, size_t at, size_t indent, struct redact_span *ret)
{
    *ret = (struct redact_span){0};
    for (size_t from = at; at && at < t->n && at - from < BLOCK_MAX;) {
        size_t own = indent_of(t, at);
        size_t end = own == SIZE_MAX ? at : end_of_line(t, at);
        if (own != SIZE_MAX && own <= indent)
            break;
        if (own != SIZE_MAX) {
            ret->from = ret->to ? ret->from : at + own;
            ret->to = end;
        }
        at = behind_line_end(t, end_of_line(t, end));
    }
    return ret->to > 0;
}

/* A word with a digit that has the line for itself: other words may be the code of a program. */
static bool is_lone_word(const struct redact_text *t, size_t at)
{
    bool digit = false;
    size_t i = at;
    for (; i < t->n && i - at < GAP_MAX && (unsigned char)t->p[i] > ' '; i++)
        digit |= t->p[i] >= '0' && t->p[i] <= '9';
    return digit && t->p[i - 1] != ':' && (i == t->n || ascii_ends_line(t->p[i]));
}

bool redact_below(const struct redact_text *t, size_t colon, enum redact_name kind, struct str name,
                  struct redact_span *ret)
{
    size_t at = colon + 1;
    while (at < t->n && at - colon < GAP_MAX && ascii_is_blank(t->p[at]))
        at++;
    size_t behind = skip_indicator(t, at);
    size_t line = behind_line_end(t, behind);
    size_t indent = indent_around(t, name);
    if (!line || kind == NAME_COUNTS)
        return false;
    if (behind > at)
        return block(t, line, indent, ret);
    size_t own = indent_of(t, line);
    if (own == SIZE_MAX)
        return false;
    at = line + own;
    if (t->p[at] == '"' || t->p[at] == '\'')
        return redact_value(t, at, ret);
    if (own <= indent || (kind != NAME_LINE && !is_lone_word(t, at)))
        return false;
    *ret = (struct redact_span){at, end_of_line(t, at)};
    return true;
}

size_t redact_folded(const struct redact_text *t, size_t end, struct str name, bool quoted)
{
    size_t line = behind_line_end(t, end);
    size_t own = line && line < t->n ? indent_of(t, line) : SIZE_MAX;
    return own != SIZE_MAX && own > (quoted ? 0 : indent_around(t, name)) ? line : 0;
}
