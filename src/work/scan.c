#include "work/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "work/encoding.h"
#include "work/finder.h"

/* What is read at once. A NUL in it means that the file is binary from there on, before any of it is searched:
 * as ripgrep does it, with the same number. It also stays within a processor's second cache. */
#define WINDOW (64u << 10)
#define STEP_MIN (4u << 10)
#define STEP_NS 4000000u
/* Of lines that may become context before a match, so much is kept. */
#define CONTEXT_BYTES ((size_t)1 << 20)
/* For more lines than these the buffer grows with them: with most of it kept, each read would bring little. */
#define FEW_LINES 20
/* Before a match in a line that is cut. */
#define SHOWN_BEFORE 256

/* The file at hand. What is searched of it is whole lines at the beginning of scan.buf. */
struct file {
    struct scan *scan;
    struct str path;
    struct matcher_text text;
    size_t from;      /* lines before it were searched already and are there as context only */
    size_t done;      /* lines before it were handed out, or cannot be context of anything */
    int64_t after;    /* so many lines from there on are context of the last match */
    size_t number_at; /* this line's */
    int64_t number;   /* number */
    int64_t bytes;    /* read so far */
    int64_t count;    /* lines that match */
    size_t record;    /* where the file's own record begins in scan.out */
    bool closing;     /* as many matches as are wanted were found, and one more */
    bool left;        /* no need to go on */
    unsigned kinds;   /* of bytes that stand in the buffer before those read last */
};

void scan_init(struct scan *scan, const struct matcher *matcher, const struct op_search_request *q,
               const atomic_bool *stop, const atomic_bool *cancelled)
{
    *scan = (struct scan){.matcher = matcher,
                          .q = q,
                          .stop = {stop, cancelled},
                          .buf = mem_zero(WINDOW),
                          .cap = WINDOW,
                          .step = STEP_MIN,
                          .limit = q->max_matches};
}

void scan_done(struct scan *scan)
{
    free(scan->buf);
}

bool scan_stopped(const struct scan *scan)
{
    return atomic_load_explicit(scan->stop[0], memory_order_relaxed) ||
           atomic_load_explicit(scan->stop[1], memory_order_relaxed);
}

static int64_t number_of_scan_line(struct file *f, size_t offset)
{
    f->number += (int64_t)finder_count_lines(f->text.p + f->number_at, offset - f->number_at);
    f->number_at = offset;
    return f->number;
}

static void begin_found_file(struct file *f)
{
    struct found record = {.kind = FOUND_FILE, .text = f->path};
    if (f->count++ == 0) {
        f->record = f->scan->out->len;
        found_add(f->scan->out, &record, NULL);
    }
}

/* Of a long line only a part is handed out: what is around its first match. */
static void add_found_line(struct file *f, const struct matcher_line *line, enum found_kind kind)
{
    struct found_span spans[FOUND_SPANS_MAX];
    struct found record = {.kind = kind, .number = number_of_scan_line(f, line->start)};
    const char *p = f->text.p + line->start;
    size_t n = line->end - line->start;
    size_t start = 0;
    if (kind == FOUND_MATCH)
        record.n_spans = matcher_spans(f->scan->matcher, &f->text, line, spans, FOUND_SPANS_MAX);
    if (n > SCAN_SHOWN) {
        if (record.n_spans && spans[0].start > SHOWN_BEFORE)
            start = utf8_cut(p, spans[0].start - SHOWN_BEFORE);
        if (start > n - SCAN_SHOWN)
            start = utf8_cut(p, n - SCAN_SHOWN);
    }
    size_t shown = n - start > SCAN_SHOWN ? utf8_cut(p + start, SCAN_SHOWN) : n - start;
    record.text = (struct str){p + start, shown};
    record.cut_before = (int64_t)start;
    record.cut_after = (int64_t)(n - start - shown);
    found_add(f->scan->out, &record, spans);
}

static void add_context(struct file *f, size_t until)
{
    while (f->done < until) {
        struct matcher_line line = matcher_line_at(f->scan->matcher, &f->text, f->done);
        add_found_line(f, &line, FOUND_CONTEXT);
        f->done = line.next;
    }
}

/* Where the line that is `lines` before the one at `offset` begins, but not before `least`. */
static size_t go_back(const struct file *f, size_t offset, int64_t lines, size_t least)
{
    for (; lines > 0 && offset > least; lines--) {
        const char *newline = memrchr(f->text.p + least, '\n', offset - 1 - least);
        offset = newline ? (size_t)(newline - f->text.p) + 1 : least;
    }
    return offset;
}

/* What is still due behind the last match, as far as `until`. */
static void add_after(struct file *f, size_t until)
{
    for (; f->after > 0 && f->done < until; f->after--) {
        struct matcher_line line = matcher_line_at(f->scan->matcher, &f->text, f->done);
        add_context(f, line.next);
    }
}

static void add_match(struct file *f, const struct matcher_line *line)
{
    struct scan *s = f->scan;
    begin_found_file(f);
    add_after(f, line->start);
    f->done = go_back(f, line->start, s->q->before, f->done);
    add_context(f, line->start);
    add_found_line(f, line, FOUND_MATCH);
    f->done = line->next;
    f->after = s->q->after;
    s->matches++;
    /* Only what is still context of the matches before is wanted from here on. */
    f->closing = s->matches > s->limit;
    f->left = s->out->failed || (f->closing && f->after == 0);
}

static void take_match(struct file *f, const struct matcher_line *line)
{
    if (f->scan->q->mode == SEARCH_LINES) {
        add_match(f, line);
        return;
    }
    begin_found_file(f);
    f->left = f->scan->q->mode == SEARCH_FILES;
}

/* A slow pattern is given less at once, so that a search can be stopped in the middle of a file. */
static void search_part(struct file *f, size_t until)
{
    struct scan *s = f->scan;
    uint64_t start = clock_mono_ns();
    size_t n = until - f->from;
    struct matcher_text part = {f->text.p, until, f->text.ascii};
    struct matcher_line line;
    while (!f->left && !f->closing && matcher_next(s->matcher, &part, f->from, &line)) {
        take_match(f, &line);
        f->from = line.next;
    }
    f->from = until;
    uint64_t spent = clock_mono_ns() - start;
    if (spent > STEP_NS)
        s->step = (n < s->step ? n : s->step) / 2;
    else if (spent < STEP_NS / 8 && n >= s->step)
        s->step *= 2;
    s->step = s->step < STEP_MIN ? STEP_MIN : s->step > WINDOW ? WINDOW : s->step;
}

static void search_window(struct file *f)
{
    while (f->from < f->text.n && !f->left && !f->closing) {
        size_t until = f->text.n;
        if (until - f->from > f->scan->step) {
            const char *at = f->text.p + f->from + f->scan->step;
            const char *newline = memchr(at, '\n', (size_t)(f->text.p + until - at));
            until = newline ? (size_t)(newline - f->text.p) + 1 : until;
        }
        search_part(f, until);
        f->left = f->left || scan_stopped(f->scan);
    }
    if (!f->left)
        add_after(f, f->text.n);
    f->left = f->left || (f->closing && f->after == 0);
}

/* Drops what was searched, but for lines that may be context of the next match. `filled` bytes are in the
 * buffer; returns how many stay. */
static size_t roll(struct file *f, size_t filled)
{
    struct scan *s = f->scan;
    size_t least = f->text.n > CONTEXT_BYTES ? f->text.n - CONTEXT_BYTES : 0;
    size_t keep = go_back(f, f->text.n, s->q->before, f->done > least ? f->done : least);
    if (s->q->mode == SEARCH_LINES)
        number_of_scan_line(f, keep);
    memmove(s->buf, s->buf + keep, filled - keep);
    f->number_at = 0;
    f->from = f->text.n - keep;
    f->done = f->done > keep ? f->done - keep : 0;
    f->kinds = finder_kinds(s->buf, filled - keep);
    if (s->q->before > FEW_LINES && f->from > s->cap / 2) {
        s->cap *= 2;
        s->buf = mem_grow(s->buf, s->cap, 1);
    }
    return filled - keep;
}

/* Room for more behind `filled`; 0: the line is too long. */
static int make_scan_room(struct scan *s, size_t filled)
{
    if (filled < s->cap)
        return 1;
    if (s->cap >= SCAN_LINE_MAX)
        return 0;
    char *more = realloc(s->buf, 2 * s->cap);
    if (!more)
        return -ENOMEM;
    s->buf = more;
    s->cap *= 2;
    return 1;
}

/* UTF-16 is put into UTF-8 first, as a whole. */
static int search_utf16(struct file *f, int fd, size_t filled)
{
    struct scan *s = f->scan;
    BUF_AT_END struct buf text = BUF_INIT((size_t)2 * SCAN_LINE_MAX);
    for (ssize_t got = 1; got > 0; filled += (size_t)got) {
        int room = make_scan_room(s, filled);
        if (room <= 0) {
            s->long_lines += room == 0;
            return room;
        }
        got = pread(fd, s->buf + filled, s->cap - filled, f->bytes);
        if (got < 0)
            return -errno;
        f->bytes += got;
    }
    struct str file = {s->buf, filled};
    encoding_from_utf16(file, encoding_of(file), &text);
    const size_t mark = 3;
    if (text.no_memory)
        return -ENOMEM;
    s->long_lines += text.failed;
    if (text.failed || text.len < mark)
        return 0;
    f->text = (struct matcher_text){text.data + mark, text.len - mark, false};
    if (finder_kinds(f->text.p, f->text.n) & FINDER_NUL)
        s->binary++;
    else
        search_window(f);
    return 0;
}

/* A byte order mark is no part of the text. */
static size_t drop_mark(char *p, size_t n)
{
    if (n < 3 || memcmp(p, "\xef\xbb\xbf", 3) != 0)
        return n;
    memmove(p, p + 3, n - 3);
    return n - 3;
}

/* One more read. 1: there is more to come, 0: that was all, or -errno. */
static int read_more_of_file(struct file *f, int fd, bool reads_whole, size_t *filled)
{
    struct scan *s = f->scan;
    /* Not read: from a FIFO that came in the place of a file, it would take something away. */
    ssize_t got = pread(fd, s->buf + *filled, s->cap - *filled, f->bytes);
    if (got < 0)
        return -errno;
    f->kinds |= finder_kinds(s->buf + *filled, (size_t)got);
    f->bytes += got;
    *filled += (size_t)got;
    return got > 0 && (!reads_whole || *filled == s->cap);
}

/* The lines that are there as a whole, or all that is left at the end. */
static void search_lines(struct file *f, size_t filled, bool all)
{
    const char *p = f->scan->buf;
    const char *newline = all ? NULL : memrchr(p, '\n', filled);
    size_t n = newline ? (size_t)(newline - p) + 1 : all ? filled : 0;
    f->text = (struct matcher_text){p, n, !(f->kinds & FINDER_HIGH)};
    search_window(f);
}

static int search_text(struct file *f, int fd, bool reads_whole)
{
    struct scan *s = f->scan;
    size_t filled = 0;
    for (int more = 1; more > 0 && !f->left;) {
        bool first = f->bytes == 0;
        int room = make_scan_room(s, filled);
        if (room <= 0) {
            s->long_lines += room == 0;
            return room;
        }
        more = read_more_of_file(f, fd, reads_whole, &filled);
        if (more < 0)
            return more;
        if (first && encoding_of((struct str){s->buf, filled}) != ENCODING_BYTES)
            return search_utf16(f, fd, filled);
        if (f->kinds & FINDER_NUL) {
            s->binary++;
            s->files -= first;
            return 0;
        }
        if (first)
            filled = drop_mark(s->buf, filled);
        search_lines(f, filled, more == 0);
        if (more && f->text.n)
            filled = roll(f, filled);
    }
    return 0;
}

static void finish_file(struct file *f)
{
    struct scan *s = f->scan;
    if (f->count == 0)
        return;
    if (s->q->mode == SEARCH_LINES)
        return;
    struct found record = {.kind = FOUND_FILE, .text = f->path, .number = f->count};
    s->out->len = f->record;
    found_add(s->out, &record, NULL);
    s->matches++;
}

int scan_file(struct scan *scan, int fd, bool reads_whole, struct str path)
{
    struct file f = {.scan = scan, .path = path, .number = 1};
    scan->files++;
    int r = search_text(&f, fd, reads_whole);
    scan->bytes += f.bytes;
    scan->files -= r < 0 && f.bytes == 0;
    finish_file(&f);
    if (scan->cap > (size_t)16 * WINDOW) {
        free(scan->buf);
        scan->buf = mem_zero(WINDOW);
    }
    /* How much is read at once decides where a NUL is seen: not by what file was searched before. */
    scan->cap = WINDOW;
    return r;
}
