#include "front/review_pager.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/shown.h"

#define PAGE_MAX ((size_t)16 << 20)
#define LINE_SHOWN 4096
/* Of a screen, for the line that asks. */
#define OWN_ROWS 2
#define PAGE_MIN 4

bool review_terminal_open(struct terminal *t)
{
    if (!terminal_open(t))
        return false;
    int flags = fcntl(t->fd, F_GETFL);
    if (flags >= 0 && fcntl(t->fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return true;
    terminal_close(t);
    return false;
}

bool review_read_answer(struct terminal *t, const char *question)
{
    for (;;) {
        terminal_forget_input(t);
        if (!terminal_say(t, (struct str){question, strlen(question)}))
            return false;
        enum terminal_input input;
        do
            input = terminal_read(t);
        while (input == INPUT_NONE);
        if (input == INPUT_LINE)
            return true;
        if (input == INPUT_END || !terminal_say(t, STR("sandgate: that was more than one line at "
                                                       "once; type the answer\n")))
            return false;
    }
}

/* What a line of a patch is, by its beginning. Headers stand before the first hunk of a file. */
static const char *patch_colour(struct str line, bool *in_hunk)
{
    static const char head[] = "diff --git ";
    if (line.n >= sizeof head - 1 && memcmp(line.p, head, sizeof head - 1) == 0)
        *in_hunk = false;
    if (line.n >= 2 && memcmp(line.p, "@@", 2) == 0) {
        *in_hunk = true;
        return "\x1b[36m";
    }
    if (!*in_hunk)
        return "\x1b[1m";
    return line.n && line.p[0] == '+' ? "\x1b[32m" : line.n && line.p[0] == '-' ? "\x1b[31m" : "";
}

static struct str take_line(struct str *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    struct str line = {rest->p, n};
    rest->p += n + (end != NULL);
    rest->n -= n + (end != NULL);
    return line;
}

/* A character is at least one byte and nearly always at most one column. */
static size_t rows_of(const struct buf *line, size_t from, size_t width)
{
    size_t columns = 0;
    for (size_t i = from; i < line->len; i++)
        columns += ((unsigned char)line->data[i] & 0xc0) != 0x80;
    return columns ? (columns + width - 1) / width : 1;
}

struct pager {
    struct terminal *terminal;
    struct str rest;
    bool patch;
    bool in_hunk;
    size_t total; /* lines */
    size_t at;
};

static void add_text_page(struct pager *p, size_t rows, struct buf *out)
{
    struct approval_style style = terminal_style(p->terminal);
    for (size_t used = 0; p->rest.n; p->at++) {
        BUF_AT_END struct buf line = BUF_INIT(4 * LINE_SHOWN);
        struct str rest = p->rest;
        struct str text = take_line(&rest);
        bool in_hunk = p->in_hunk;
        const char *colour = p->patch ? patch_colour(text, &in_hunk) : "";
        shown_line(text, LINE_SHOWN, &line);
        size_t n = rows_of(&line, 0, style.width);
        if (used && used + n > rows)
            return;
        used += n;
        p->rest = rest;
        p->in_hunk = in_hunk;
        bool coloured = style.colours && *colour;
        buf_addf(out, "%s%.*s%s\n", coloured ? colour : "", (int)line.len,
                 line.data ? line.data : "", coloured ? "\x1b[m" : "");
    }
}

static size_t count_lines(struct str text)
{
    size_t n = 0;
    while (text.n) {
        take_line(&text);
        n++;
    }
    return n;
}

bool review_page(struct terminal *t, struct str text, bool patch)
{
    struct pager p = {.terminal = t, .rest = text, .patch = patch, .total = count_lines(text)};
    while (p.rest.n) {
        BUF_AT_END struct buf out = BUF_INIT(PAGE_MAX);
        char question[96];
        size_t height = terminal_height(t);
        add_text_page(&p, height < PAGE_MIN + OWN_ROWS ? PAGE_MIN : height - OWN_ROWS, &out);
        if (!terminal_say(t, buf_str(&out)))
            return false;
        if (!p.rest.n)
            break;
        snprintf(question, sizeof question, "line %zu of %zu: Enter for more, q back: ", p.at,
                 p.total);
        if (!review_read_answer(t, question))
            return false;
        if (terminal_is_line(t, "q"))
            break;
    }
    return true;
}
