#include "base/shown.h"

#include <stdint.h>
#include <stdio.h>

#include "base/shown_table.h"
#include "base/utf8.h"

/* Marks on one character: more are stacked over the lines around it. */
#define MARKS_MAX 2
/* A run of spaces that is shown as it is; lines of text have their indentation. */
#define SPACES_IN_LINE 8
#define SPACES_IN_LINES 64
/* Above, planes hold nothing but tags and private use. */
#define LAST_SHOWN 0x3ffff
#define MARK_MAX 40 /* `\[N bytes left out]` */

/* A piece of text and how it is written. */
struct unit {
    size_t n;       /* bytes of the text */
    char name[40];  /* "": as it is */
    size_t written; /* bytes of that */
};

static bool in_table(const struct range *table, size_t count, uint32_t c)
{
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (table[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && table[low].first <= c;
}

static bool is_mark(uint32_t c)
{
    return c >= 0xa0 && in_table(marks, ARRAY_LEN(marks), c);
}

static bool is_hidden(uint32_t c)
{
    return c < ' ' || (c >= 0x7f && c < 0xa0) || c > LAST_SHOWN ||
           in_table(hidden, ARRAY_LEN(hidden), c);
}

/* The character of a valid sequence. */
static uint32_t decode(const char *p, size_t n)
{
    if (n == 1)
        return (unsigned char)p[0];
    uint32_t c = (unsigned char)p[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3f);
    return c;
}

static void write_name(struct unit *u, uint32_t c)
{
    static const char letters[] = "\n\t\r\x1b\\";
    static const char named[] = "ntre\\";
    const char *letter = c ? strchr(letters, (int)c) : NULL;
    if (c < 0x80 && letter)
        snprintf(u->name, sizeof u->name, "\\%c", named[letter - letters]);
    else if (c < 0x80)
        snprintf(u->name, sizeof u->name, "\\x%02x", (unsigned)c);
    else
        snprintf(u->name, sizeof u->name, "\\u{%x}", (unsigned)c);
}

static size_t with_marks(const char *p, size_t at, size_t n)
{
    for (int i = 0; i < MARKS_MAX && at < n; i++) {
        size_t length = utf8_sequence(p + at, n - at);
        if (length == 0 || !is_mark(decode(p + at, length)))
            break;
        at += length;
    }
    return at;
}

static size_t count_spaces(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] == ' ')
        i++;
    return i;
}

/* What stands at p. It depends on nothing before, so that reading may begin anywhere. */
static struct unit next_unit(const char *p, size_t n, size_t max_spaces)
{
    struct unit u = {.n = utf8_sequence(p, n)};
    uint32_t c = u.n ? decode(p, u.n) : 0;
    if (u.n == 0) {
        u.n = 1;
        snprintf(u.name, sizeof u.name, "\\x%02x", (unsigned)(unsigned char)p[0]);
    } else if (c == ' ') {
        u.n = count_spaces(p, n);
        if (u.n > max_spaces)
            snprintf(u.name, sizeof u.name, "\\[%zu spaces]", u.n);
    } else if (c == '\\' || is_hidden(c) || is_mark(c)) {
        write_name(&u, c);
    } else {
        u.n = with_marks(p, u.n, n);
    }
    u.written = u.name[0] ? strlen(u.name) : u.n;
    return u;
}

/* Writes what fits into `max` bytes; how much of the text that was. */
static size_t write_head(struct buf *out, struct str text, size_t max, size_t max_spaces)
{
    size_t at = 0;
    for (size_t used = 0; at < text.n;) {
        struct unit u = next_unit(text.p + at, text.n - at, max_spaces);
        if (used + u.written > max)
            break;
        if (out && u.name[0])
            buf_add_text(out, u.name);
        else if (out)
            buf_add(out, text.p + at, u.n);
        used += u.written;
        at += u.n;
    }
    return at;
}

/* Where the longest end begins that fits into `max` bytes, not before `from`. */
static size_t find_tail(struct str text, size_t from, size_t max, size_t max_spaces)
{
    size_t at = text.n - from > max ? text.n - max : from;
    while (at < text.n && at > from && ((unsigned char)text.p[at] & 0xc0) == 0x80 &&
           text.n - at > max - 3)
        at++;
    size_t used = 0;
    for (size_t i = at; i < text.n;) {
        struct unit u = next_unit(text.p + i, text.n - i, max_spaces);
        used += u.written;
        i += u.n;
    }
    while (used > max) {
        struct unit u = next_unit(text.p + at, text.n - at, max_spaces);
        used -= u.written;
        at += u.n;
    }
    return at;
}

static void write_line(struct buf *out, struct str text, size_t max, size_t max_spaces)
{
    max = max < SHOWN_MIN ? SHOWN_MIN : max;
    /* Looked at first: it may fit. */
    if (write_head(NULL, text, max, max_spaces) == text.n) {
        write_head(out, text, max, max_spaces);
        return;
    }
    size_t room = max - MARK_MAX;
    size_t tail_room = room / 3 < 4 ? 4 : room / 3;
    size_t head = write_head(out, text, room - tail_room, max_spaces);
    size_t tail = find_tail(text, head, tail_room, max_spaces);
    buf_addf(out, "\\[%zu bytes left out]", tail - head);
    write_head(out, (struct str){text.p + tail, text.n - tail}, tail_room, max_spaces);
}

void shown_line(struct str text, size_t max, struct buf *out)
{
    write_line(out, text, max, SPACES_IN_LINE);
}

/* The next line, without its end; false: there is none. */
static bool next_line(struct str *rest, struct str *line)
{
    if (rest->n == 0)
        return false;
    const char *end = memchr(rest->p, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    *line = (struct str){rest->p, n};
    n += end != NULL;
    *rest = (struct str){rest->p + n, rest->n - n};
    return true;
}

void shown_lines(struct str text, size_t max_lines, struct buf *out)
{
    struct str line;
    size_t total = 0;
    for (struct str rest = text; next_line(&rest, &line);)
        total++;
    max_lines = max_lines < 3 ? 3 : max_lines;
    bool all = total <= max_lines;
    /* One of them is the mark's. */
    size_t tail = all ? 0 : max_lines < 4 ? 1 : (max_lines - 1) / 3;
    size_t head = all ? total : max_lines - 1 - tail;
    size_t bytes = 0;
    struct str rest = text;
    for (size_t i = 0; next_line(&rest, &line); i++) {
        if (i >= head && i < total - tail) {
            bytes += line.n + 1;
            continue;
        }
        if (i > 0 && i == total - tail)
            buf_addf(out, "\\[%zu lines, %zu bytes left out]\n", total - head - tail, bytes);
        write_line(out, line, SHOWN_LINE_MAX, SPACES_IN_LINES);
        buf_add_char(out, '\n');
    }
}

bool shown_is_fit(struct str text, bool lines)
{
    for (size_t at = 0; at < text.n;) {
        struct unit u = next_unit(text.p + at, text.n - at,
                                  lines ? SPACES_IN_LINES : SPACES_IN_LINE);
        char c = text.p[at];
        if (u.name[0] && c != '\\' && !(lines && c == '\n'))
            return false;
        at += u.n;
    }
    return true;
}
