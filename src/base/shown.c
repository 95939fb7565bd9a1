#include "base/shown.h"

#include <stdint.h>
#include <stdio.h>

#include "base/shown_table.h"
#include "base/utf8.h"

/* Marks on one character: more are stacked over the lines around it. */
#define MARKS_MAX 2
/* Columns of a run of blanks that is shown as it is; lines of a text have their indentation. */
#define BLANKS_IN_LINE 8
#define BLANKS_IN_TEXT 64
#define TAB_COLUMNS 8
/* What may stand before each line of a text. */
#define MARGIN_MAX 8
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

static bool is_hidden_character(uint32_t c)
{
    return c < ' ' || (c >= 0x7f && c < 0xa0) || c > LAST_SHOWN ||
           in_table(hidden, ARRAY_LEN(hidden), c);
}

/* The character of a valid sequence. */
static uint32_t decode_utf8_sequence(const char *p, size_t n)
{
    if (n == 1)
        return (unsigned char)p[0];
    uint32_t c = (unsigned char)p[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3f);
    return c;
}

/* By hand, since a hostile text can have millions of these. */
static char *put_number(char *at, size_t number, unsigned base)
{
    char digits[24];
    size_t n = 0;
    do {
        digits[n++] = "0123456789abcdef"[number % base];
    } while ((number /= base));
    while (n)
        *at++ = digits[--n];
    return at;
}

static void write_byte(struct unit *u, unsigned char c)
{
    char *at = stpcpy(u->name, c < 0x10 ? "\\x0" : "\\x");
    *put_number(at, c, 16) = '\0';
}

static void write_name(struct unit *u, uint32_t c)
{
    static const char letters[] = "\n\t\r\x1b\\";
    static const char named[] = "ntre\\";
    const char *letter = c && c < 0x80 ? strchr(letters, (int)c) : NULL;
    if (letter)
        memcpy(u->name, (char[]){'\\', named[letter - letters], '\0'}, 3);
    else if (c < 0x80)
        write_byte(u, (unsigned char)c);
    else
        stpcpy(put_number(stpcpy(u->name, "\\u{"), c, 16), "}");
}

static size_t with_marks(const char *p, size_t at, size_t n)
{
    for (int i = 0; i < MARKS_MAX && at < n; i++) {
        size_t length = utf8_sequence(p + at, n - at);
        if (length == 0 || !is_mark(decode_utf8_sequence(p + at, length)))
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

/* Spaces and tabs, as many as take at most `max` columns and one more. */
static size_t count_blanks(const char *p, size_t n, size_t max, size_t *ret_columns)
{
    bool tabs = max > BLANKS_IN_LINE;
    size_t i = 0;
    *ret_columns = 0;
    for (; i < n && *ret_columns <= max && (p[i] == ' ' || (tabs && p[i] == '\t')); i++)
        *ret_columns += p[i] == ' ' ? 1 : TAB_COLUMNS;
    return i;
}

static void write_spaces(struct unit *u)
{
    stpcpy(put_number(stpcpy(u->name, "\\["), u->n, 10), u->n == 1 ? " space]" : " spaces]");
}

/* A run of blanks, as it is; of one that is too long the first spaces or the first tab, written out. */
static struct unit next_blanks(const char *p, size_t n, size_t max_blanks)
{
    struct unit u = {0};
    size_t columns;
    u.n = count_blanks(p, n, max_blanks, &columns);
    if (columns <= max_blanks)
        return u;
    u.n = p[0] == ' ' ? count_spaces(p, n) : 1;
    if (p[0] == ' ')
        write_spaces(&u);
    else
        write_name(&u, '\t');
    return u;
}

/* What stands at p. It depends on nothing before, so that reading may begin anywhere. Tabs are blanks in a text only. */
static struct unit next_unit(const char *p, size_t n, size_t max_blanks)
{
    struct unit u = {.n = utf8_sequence(p, n)};
    uint32_t c = u.n ? decode_utf8_sequence(p, u.n) : 0;
    if (u.n == 0) {
        u.n = 1;
        write_byte(&u, (unsigned char)p[0]);
    } else if (c == ' ' || (max_blanks > BLANKS_IN_LINE && c == '\t')) {
        u = next_blanks(p, n, max_blanks);
    } else if (c == '\\' || is_hidden_character(c) || is_mark(c)) {
        write_name(&u, c);
    } else {
        u.n = with_marks(p, u.n, n);
    }
    u.written = u.name[0] ? strlen(u.name) : u.n;
    return u;
}

/* Visible ASCII that stands for itself. Its last character may have marks behind it: then it is left to next_unit. */
static size_t count_plain(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] > ' ' && p[i] < 0x7f && p[i] != '\\')
        i++;
    return i && i < n && (unsigned char)p[i] >= 0x80 ? i - 1 : i;
}

/* Writes what fits into `max` bytes; how much of the text that was. */
static size_t write_head(struct buf *out, struct str text, size_t max)
{
    size_t at = 0;
    for (size_t used = 0; at < text.n;) {
        struct unit u = next_unit(text.p + at, text.n - at, BLANKS_IN_LINE);
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
static size_t find_tail(struct str text, size_t from, size_t max)
{
    size_t at = text.n - from > max ? text.n - max : from;
    while (at < text.n && at > from && ((unsigned char)text.p[at] & 0xc0) == 0x80 &&
           text.n - at > max - 3)
        at++;
    size_t used = 0;
    for (size_t i = at; i < text.n;) {
        struct unit u = next_unit(text.p + i, text.n - i, BLANKS_IN_LINE);
        used += u.written;
        i += u.n;
    }
    while (used > max) {
        struct unit u = next_unit(text.p + at, text.n - at, BLANKS_IN_LINE);
        used -= u.written;
        at += u.n;
    }
    return at;
}

void shown_line(struct str text, size_t max, struct buf *out)
{
    max = max < SHOWN_MIN ? SHOWN_MIN : max;
    /* Looked at first: it may fit. */
    if (write_head(NULL, text, max) == text.n) {
        write_head(out, text, max);
        return;
    }
    size_t room = max - MARK_MAX;
    size_t tail_room = room / 3 < 4 ? 4 : room / 3;
    size_t head = write_head(out, text, room - tail_room);
    size_t tail = find_tail(text, head, tail_room);
    buf_addf(out, "\\[%zu bytes left out]", tail - head);
    write_head(out, (struct str){text.p + tail, text.n - tail}, tail_room);
}

/* The next line, without its end; false: there is none. */
static bool next_shown_line(struct str *rest, struct str *line)
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

/* Blanks that nothing follows, which nobody sees. */
static void add_trailing(struct str blanks, struct buf *out)
{
    for (size_t at = 0; at < blanks.n;) {
        struct unit u = {.n = count_spaces(blanks.p + at, blanks.n - at)};
        if (u.n)
            write_spaces(&u);
        else
            write_name(&u, '\t');
        buf_add_text(out, u.name);
        at += u.n ? u.n : 1;
    }
}

static void add_text_line(struct str line, struct buf *out)
{
    size_t end = line.n;
    while (end && (line.p[end - 1] == ' ' || line.p[end - 1] == '\t'))
        end--;
    /* In a diff the first character is none of the line. */
    if (end == 0 && line.n && line.p[0] == ' ')
        end = 1;
    for (size_t at = 0; at < end;) {
        size_t plain = count_plain(line.p + at, end - at);
        buf_add(out, line.p + at, plain);
        at += plain;
        if (at == end)
            break;
        struct unit u = next_unit(line.p + at, end - at, BLANKS_IN_TEXT);
        if (u.name[0])
            buf_add_text(out, u.name);
        else
            buf_add(out, line.p + at, u.n);
        at += u.n;
    }
    add_trailing((struct str){line.p + end, line.n - end}, out);
}

void shown_text(struct str text, const char *margin, struct buf *out)
{
    struct str line;
    while (!out->failed && next_shown_line(&text, &line)) {
        buf_add_text(out, margin);
        add_text_line(line, out);
        buf_add_char(out, '\n');
    }
}

bool shown_is_fit(struct str text, bool lines)
{
    for (size_t at = 0; at < text.n;) {
        at += count_plain(text.p + at, text.n - at);
        if (at == text.n)
            break;
        struct unit u = next_unit(text.p + at, text.n - at,
                                  lines ? BLANKS_IN_TEXT + MARGIN_MAX : BLANKS_IN_LINE);
        char c = text.p[at];
        if (u.name[0] && c != '\\' && !(lines && c == '\n'))
            return false;
        at += u.n;
    }
    return true;
}
