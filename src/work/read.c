#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/file_kind.h"
#include "work/work.h"

#define BINARY_LOOK 8192

/* Larger than this, another thread takes the next call meanwhile. */
#define SLOW_BYTES (256 << 10)

/* A file that does not tell its size has to end within this. */
#define UNSIZED_MAX (16 << 20)

/* One pass over the file, or over as much of it as is asked for: hash, line count and the wanted window together.
 * Content goes out to the gate as soon as a frame is full. */
struct reading {
    struct work *w;
    const struct op_read_request *q;
    int64_t size;
    bool unsized;    /* it is not empty, but says so: a file of procfs, or of FUSE */
    bool shrank;     /* it ended before its size */
    bool whole_file; /* read to its end */
    bool hashed;
    bool ended; /* the end was seen */
    bool binary;
    enum file_kind kind; /* of a binary file */
    struct hash hash;
    int64_t first; /* window, 1-based */
    int64_t last;  /* INT64_MAX: to the end */
    int64_t max;   /* bytes of content */
    int64_t kept;  /* of them so far */
    int64_t whole; /* of them up to the end of the last whole line */
    int64_t line;  /* number of the line at hand */
    bool at_start; /* nothing of that line was seen yet */
    int64_t end;   /* last line of which something was kept */
    bool truncated;
    bool over;    /* more than a reply may have */
    bool gone;    /* the gate takes no more */
    bool shelved; /* what is at hand lies on the shelf */
};

/* Less is sent as it is, of more the gate is told in between. */
#define SHELVED_MIN (16 << 10)
#define SHELVED_MAX (256 << 10)

static void put_read_bytes(struct reading *r, const char *p, size_t n)
{
    struct buf *body = &r->w->body;
    r->over |= r->kept + (int64_t)n > r->w->limit;
    if (r->over)
        return;
    bool shelved = r->shelved && n >= SHELVED_MIN;
    if (body->len > 0 && (shelved || body->len + n > FRAME_BODY_MAX)) {
        r->gone |= work_send_piece(r->w, buf_str(body)) < 0;
        body->len = 0;
    }
    if (shelved)
        r->gone |= work_send_shelved(r->w, (struct str){p, n}) < 0;
    else if (n == FRAME_BODY_MAX)
        r->gone |= work_send_piece(r->w, (struct str){p, n}) < 0;
    else
        buf_add(body, p, n);
    r->kept += (int64_t)n;
}

static void keep_line(struct reading *r, const char *p, size_t n, bool ends)
{
    int64_t room = r->max - r->kept;
    if ((int64_t)n > room) {
        r->truncated = true;
        n = (size_t)room;
        ends = false;
    }
    if (n == 0)
        return;
    put_read_bytes(r, p, n);
    r->end = r->line;
    if (ends)
        r->whole = r->kept;
}

static void take_lines(struct reading *r, const char *p, size_t n)
{
    while (n > 0) {
        const char *newline = memchr(p, '\n', n);
        size_t part = newline ? (size_t)(newline - p) + 1 : n;
        if (r->line >= r->first && r->line <= r->last)
            keep_line(r, p, part, newline != NULL);
        r->at_start = newline != NULL;
        if (newline)
            r->line++;
        p += part;
        n -= part;
    }
}

/* So that the compiler counts many at once: the sum of a stretch fits into a byte. */
#define STRETCH 240

static int64_t count_newlines(const char *p, size_t n)
{
    typedef unsigned char block __attribute__((vector_size(16)));
    int64_t count = 0;
    while (n >= sizeof(block)) {
        block sum = {0};
        for (unsigned i = 0; i < STRETCH && n >= sizeof(block); i++) {
            block b;
            memcpy(&b, p, sizeof b);
            sum -= (block)(b == '\n');
            p += sizeof b;
            n -= sizeof b;
        }
        for (unsigned i = 0; i < sizeof sum; i++)
            count += sum[i];
    }
    for (; n > 0; n--)
        count += *p++ == '\n';
    return count;
}

/* Lines outside of the window are only counted. */
static void take_window(struct reading *r, const char *p, size_t n)
{
    int64_t lines = r->line < r->first || r->line > r->last ? count_newlines(p, n) : 0;
    if (r->line > r->last || (r->line < r->first && r->line + lines < r->first)) {
        r->line += lines;
        r->at_start = p[n - 1] == '\n';
    } else {
        take_lines(r, p, n);
    }
}

/* Without a window the content is a prefix, so whole chunks can be taken. */
static void take_prefix(struct reading *r, const char *p, size_t n)
{
    int64_t room = r->max - r->kept;
    size_t part = (int64_t)n < room ? n : (size_t)room;
    int64_t lines = count_newlines(p, part);
    const char *newline = part ? memrchr(p, '\n', part) : NULL;
    if (newline)
        r->whole = r->kept + (newline + 1 - p);
    if (part > 0) {
        r->end = r->line + lines - (p[part - 1] == '\n');
        put_read_bytes(r, p, part);
    }
    r->truncated |= part < n;
    r->line += lines + count_newlines(p + part, n - part);
    r->at_start = p[n - 1] == '\n';
}

static bool is_window_read(const struct reading *r)
{
    return r->first > 1 || r->last != INT64_MAX;
}

/* How far there can be something to read. The size at opening is the end: a file that grows as fast as it is read must
 * not hold us. */
static int64_t end_of_reading(const struct reading *r)
{
    if (r->unsized)
        return UNSIZED_MAX;
    int64_t prefix = r->max > BINARY_LOOK ? r->max : BINARY_LOOK;
    return r->whole_file || is_window_read(r) || r->size < prefix ? r->size : prefix;
}

static bool is_enough(const struct reading *r)
{
    if (r->gone || r->over || (r->binary && r->q->text_only))
        return true;
    return !r->whole_file && (r->truncated || r->line > r->last);
}

static void take_read_bytes(struct reading *r, const char *p, size_t n)
{
    if (is_window_read(r))
        take_window(r, p, n);
    else
        take_prefix(r, p, n);
    if (r->hashed)
        hash_add(&r->hash, p, n);
}

static void look_at_beginning(struct reading *r, struct str beginning)
{
    r->binary = memchr(beginning.p, '\0', beginning.n) != NULL;
    if (r->binary)
        r->kind = file_kind_of(beginning);
}

static int read_through(struct reading *r, int fd, const char *path, struct err *err)
{
    struct work *w = r->w;
    int64_t end = end_of_reading(r);
    int64_t done = 0;
    while (done < end && !is_enough(r)) {
        if (work_check_cancel(w, err) < 0)
            return -1;
        r->shelved = w->shelf && done + SHELVED_MAX <= (int64_t)SHELF_BYTES;
        int64_t most = r->shelved ? SHELVED_MAX : WORK_CHUNK;
        size_t want = (size_t)(end - done < most ? end - done : most);
        char *chunk = r->shelved ? w->shelf + done : w->chunk;
        ssize_t n = read(fd, chunk, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return beneath_errno(err, errno, path);
        if (n == 0) {
            r->ended = true;
            break;
        }
        if (done == 0)
            look_at_beginning(r, (struct str){chunk, n < BINARY_LOOK ? (size_t)n : BINARY_LOOK});
        if (!r->binary || !r->q->text_only)
            take_read_bytes(r, chunk, (size_t)n);
        done += n;
    }
    if (r->unsized && !r->ended && !is_enough(r))
        return err_set(
            err, ERR_TOO_LARGE,
            "`%s` does not tell its size and has more than the %d bytes that are read of "
            "such a file",
            path, UNSIZED_MAX);
    r->shrank = r->ended && done < r->size;
    r->ended |= !r->unsized && done >= r->size;
    r->truncated |= end < r->size && done >= end;
    if (r->unsized || r->shrank)
        r->size = done;
    if (r->over)
        return err_set(err, ERR_OUTPUT_LIMIT,
                       "`%s` has more than the %lld bytes that an answer may carry; ask for less",
                       path, (long long)w->limit);
    return 0;
}

/* 0 is also what files say whose content is made when they are read. */
static bool is_unsized(int fd, struct stat *st)
{
    char byte;
    if (st->st_size > 0 || pread(fd, &byte, 1, 0) == 0)
        return false;
    /* It may have been written since it was opened. */
    return fstat(fd, st) < 0 || st->st_size == 0;
}

static bool is_hashed_read(const struct op_read_request *q, int64_t size)
{
    return q->hash_max > 0 && size <= q->hash_max && size <= q->whole_max;
}

int work_read(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_read_request *q = &request->read;
    const struct beneath_root *root = work_root(w, q->root, q->no_links, err);
    FD_AT_END int fd = -1;
    struct stat st;
    if (q->unguarded)
        w->at.guard = NULL;
    if (!root || beneath_open_file(root, q->path.p, &fd, &st, err) < 0)
        return -1;
    bool unsized = is_unsized(fd, &st);
    struct reading r = {
        .w = w,
        .q = q,
        .size = st.st_size,
        .unsized = unsized,
        .whole_file = unsized || st.st_size <= q->whole_max,
        .hashed = is_hashed_read(q, st.st_size),
        .first = q->start_line == ARG_ABSENT ? 1 : q->start_line,
        .last = q->end_line == ARG_ABSENT ? INT64_MAX : q->end_line,
        .max = q->max_bytes,
        .line = 1,
        .at_start = true,
    };
    if (end_of_reading(&r) > SLOW_BYTES)
        work_slow(w);
    if (end_of_reading(&r) > SLOW_BYTES && !unsized)
        work_take_shelf(w);
    if (r.hashed)
        hash_begin(&r.hash);
    if (read_through(&r, fd, q->path.p, err) < 0)
        return -1;
    bool skipped = r.binary && q->text_only;
    reply->read = (struct op_read_reply){
        .size = r.size,
        .total_lines = r.ended && !skipped ? r.line - (r.at_start ? 1 : 0) : ARG_ABSENT,
        .start_line = r.first,
        .end_line = r.end,
        .whole = r.truncated ? r.whole : r.kept,
        .truncated = r.truncated,
        .shrank = r.shrank,
        .binary = r.binary,
        .kind = r.kind,
    };
    if (r.hashed && is_hashed_read(q, r.size) && !skipped) {
        hash_end_hex(&r.hash, w->sha256);
        reply->read.sha256 = (struct str){w->sha256, HASH_HEX};
    }
    return 0;
}
