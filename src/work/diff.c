#include "work/diff.h"

#include "work/diff_script.h"

#define CONTEXT ((size_t)3)
/* Enough for a change on every second of the lines that are compared one by one. */
#define RUNS_MAX ((size_t)32 << 20)
#define CUT "... the diff is longer; these are its first %zu bytes\n"
#define CUT_ROOM 80

/* How far the diff is written. */
struct place {
    struct str before;
    struct str after;
    size_t a; /* offsets */
    size_t b;
    size_t line_a; /* lines up to there */
    size_t line_b;
    struct buf *out;
    size_t whole; /* length of `out` with only lines behind which a last line still fits */
};

static bool is_odd(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f || c == '"' || c == '\\';
}

/* A name with odd characters is quoted, one with a space has a tab behind it, both as in git. */
static void add_diff_name(struct buf *out, const char *head, const char *path)
{
    bool odd = false;
    for (const char *c = path; *c; c++)
        odd = odd || is_odd(*c);
    buf_add(out, head, 4);
    buf_add_text(out, odd ? "\"" : "");
    buf_add_text(out, head + 4);
    for (const char *c = path; *c; c++) {
        if (is_odd(*c))
            buf_addf(out, "\\%03o", (unsigned)(unsigned char)*c);
        else
            buf_add_char(out, *c);
    }
    buf_add_text(out, odd ? "\"" : "");
    buf_add_text(out, strchr(path, ' ') ? "\t\n" : "\n");
}

static bool add_diff_line(struct place *at, char sign, const char *p, size_t n)
{
    buf_add_char(at->out, sign);
    buf_add(at->out, p, n);
    if (p[n - 1] != '\n')
        buf_add_text(at->out, "\n\\ No newline at end of file\n");
    if (at->out->failed)
        return false;
    if (at->out->max - at->out->len >= CUT_ROOM)
        at->whole = at->out->len;
    return true;
}

/* Passes lines that both have. */
static bool pass_same(struct place *at, size_t lines, bool show)
{
    for (size_t i = 0; i < lines; i++) {
        size_t n = diff_line(at->before, at->a);
        if (show && !add_diff_line(at, ' ', at->before.p + at->a, n))
            return false;
        at->a += n;
        at->b += n;
    }
    at->line_a += lines;
    at->line_b += lines;
    return true;
}

static bool add_changed(struct place *at, const struct diff_run *run)
{
    for (size_t i = 0; i < run->gone; i++) {
        size_t n = diff_line(at->before, at->a);
        if (!add_diff_line(at, '-', at->before.p + at->a, n))
            return false;
        at->a += n;
    }
    for (size_t i = 0; i < run->come; i++) {
        size_t n = diff_line(at->after, at->b);
        if (!add_diff_line(at, '+', at->after.p + at->b, n))
            return false;
        at->b += n;
    }
    at->line_a += run->gone;
    at->line_b += run->come;
    return true;
}

static void add_hunk_range(struct buf *out, char sign, size_t line, size_t count)
{
    /* A range of no lines is named by the line before it. */
    buf_addf(out, "%c%zu", sign, count ? line + 1 : line);
    if (count != 1)
        buf_addf(out, ",%zu", count);
}

static void add_head(struct place *at, const struct diff_run *runs, size_t count, size_t context)
{
    size_t a = context;
    size_t b = context;
    for (size_t i = 0; i < count; i++) {
        size_t between = i ? runs[i].same : 0;
        a += between + runs[i].gone;
        b += between + runs[i].come;
    }
    buf_add_text(at->out, "@@ ");
    add_hunk_range(at->out, '-', at->line_a, a);
    buf_add_char(at->out, ' ');
    add_hunk_range(at->out, '+', at->line_b, b);
    buf_add_text(at->out, " @@\n");
}

static size_t at_most_lines(size_t n, size_t most)
{
    return n < most ? n : most;
}

/* Runs with few lines between them share a hunk. The last run has no change. */
static bool add_hunks(struct place *at, const struct diff_run *runs, size_t n)
{
    size_t shown = 0; /* lines of the next run that the hunk before has as its context */
    for (size_t i = 0; i + 1 < n;) {
        size_t end = i + 1;
        while (end + 1 < n && runs[end].same <= 2 * CONTEXT)
            end++;
        size_t lead = at_most_lines(runs[i].same, CONTEXT);
        size_t tail = at_most_lines(runs[end].same, CONTEXT);
        pass_same(at, runs[i].same - shown - lead, false);
        add_head(at, runs + i, end - i, lead + tail);
        for (; i < end; lead = runs[++i].same) {
            if (!pass_same(at, lead, true) || !add_changed(at, &runs[i]))
                return false;
        }
        if (!pass_same(at, tail, true))
            return false;
        shown = tail;
    }
    return true;
}

bool diff_unified(struct str before, struct str after, const char *path, struct buf *out)
{
    BUF_AT_END struct buf runs = BUF_INIT(RUNS_MAX);
    struct place at = {.before = before, .after = after, .out = out, .whole = out->len};
    size_t begin = out->len;
    bool known = diff_script(before, after, &runs) == 0;
    if (known && runs.len == 0)
        return false;
    add_diff_name(out, "--- a/", path);
    add_diff_name(out, "+++ b/", path);
    if (known && add_hunks(&at, (const void *)runs.data, runs.len / sizeof(struct diff_run)))
        return false;
    out->failed = false;
    out->len = at.whole;
    if (out->max - out->len >= CUT_ROOM)
        buf_addf(out, CUT, at.whole - begin);
    return true;
}
