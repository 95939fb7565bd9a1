#include "core/output.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"

/* How far a cut moves to be between two lines. Never over more than a quarter of a part. */
#define NEAR ((size_t)200)
#define MARKER_MAX 64

void output_init(struct output *o, size_t cap)
{
    *o = (struct output){.head = BUF_INIT(cap - cap / 2), .tail = BUF_INIT(cap / 2)};
}

void output_done(struct output *o)
{
    buf_done(&o->head);
    buf_done(&o->tail);
}

void output_spill(struct output *o, struct spill *spill, enum stream stream)
{
    o->spill = spill;
    o->stream = stream;
}

/* Takes what there is room for; returns the rest. */
static struct str fill_up_to_cap(struct buf *b, struct str bytes)
{
    size_t n = bytes.n < b->max - b->len ? bytes.n : b->max - b->len;
    if (n && buf_reserve(b, n) < 0) {
        /* No memory: what there is has to do, as if the cap had been lower. */
        buf_cut(b, b->len);
        b->max = b->cap;
        n = b->cap - b->len;
    }
    if (n)
        buf_add(b, bytes.p, n);
    return (struct str){bytes.p + n, bytes.n - n};
}

/* The full tail moves on over `bytes`. */
static void move_tail(struct output *o, struct str bytes)
{
    size_t size = o->tail.len;
    if (size == 0)
        return;
    if (bytes.n > size)
        bytes = (struct str){bytes.p + bytes.n - size, size};
    size_t first = bytes.n < size - o->tail_start ? bytes.n : size - o->tail_start;
    memcpy(o->tail.data + o->tail_start, bytes.p, first);
    memcpy(o->tail.data, bytes.p + first, bytes.n - first);
    o->tail_start = (o->tail_start + bytes.n) % size;
}

static void spill_held(struct output *o)
{
    if (!o->spill || o->spilled)
        return;
    o->spilled = true;
    spill_add(o->spill, o->stream, buf_str(&o->head));
    spill_add(o->spill, o->stream, buf_str(&o->tail));
}

void output_add(struct output *o, struct str bytes)
{
    if (bytes.n == 0)
        return;
    o->total += (int64_t)bytes.n;
    struct str rest = fill_up_to_cap(&o->tail, fill_up_to_cap(&o->head, bytes));
    if (rest.n == 0)
        return;
    spill_held(o);
    if (o->spill)
        spill_add(o->spill, o->stream, rest);
    move_tail(o, rest);
}

static size_t held(const struct output *o)
{
    return o->head.len + o->tail.len;
}

static void add_tail(const struct output *o, size_t skip, struct buf *out)
{
    size_t start = o->tail_start + skip;
    size_t size = o->tail.len;
    if (start < size)
        buf_add(out, o->tail.data + start, size - start);
    size_t again = start < size ? 0 : start - size;
    if (again < o->tail_start)
        buf_add(out, o->tail.data + again, o->tail_start - again);
}

void output_shrink(struct output *o, size_t cap)
{
    size_t kept = held(o);
    BUF_AT_END struct buf whole = BUF_INIT(kept);
    if (kept <= cap)
        return;
    spill_held(o);
    buf_add(&whole, o->head.data, o->head.len);
    add_tail(o, 0, &whole);
    struct buf head = BUF_INIT(cap - cap / 2);
    struct buf tail = BUF_INIT(cap / 2);
    if (whole.failed || buf_add(&head, whole.data, head.max) < 0 ||
        buf_add(&tail, whole.data + kept - tail.max, tail.max) < 0) {
        /* No memory: it stays as long as it is. */
        buf_done(&head);
        buf_done(&tail);
        return;
    }
    output_done(o);
    o->head = head;
    o->tail = tail;
    o->tail_start = 0;
}

void output_end(struct output *o)
{
    if (o->spill && spill_used(o->spill))
        spill_held(o);
}

bool output_truncated(const struct output *o)
{
    return o->total > (int64_t)held(o);
}

static size_t nearby(size_t part)
{
    return part / 4 < NEAR ? part / 4 : NEAR;
}

static struct str cut_head(const struct output *o)
{
    struct str head = buf_str(&o->head);
    head.n = utf8_cut(head.p, head.n);
    size_t near = nearby(head.n);
    const char *end = memrchr(head.p + head.n - near, '\n', near);
    if (end)
        head.n = (size_t)(end + 1 - head.p);
    return head;
}

static char tail_byte(const struct output *o, size_t i)
{
    return o->tail.data[(o->tail_start + i) % o->tail.len];
}

/* How much of the tail is left out so that it begins with a line, or at least with a character. */
static size_t tail_skip(const struct output *o)
{
    for (size_t i = 0, near = nearby(o->tail.len); i < near; i++) {
        if (tail_byte(o, i) == '\n')
            return i + 1;
    }
    size_t skip = 0;
    while (skip < 3 && skip < o->tail.len && ((unsigned char)tail_byte(o, skip) & 0xc0) == 0x80)
        skip++;
    return skip;
}

/* The text with bytes as they are. */
static void assemble(const struct output *o, struct buf *out)
{
    buf_init(out, held(o) + MARKER_MAX);
    if (!output_truncated(o)) {
        buf_add(out, o->head.data, o->head.len);
        add_tail(o, 0, out);
        return;
    }
    struct str head = cut_head(o);
    size_t skip = tail_skip(o);
    buf_add(out, head.p, head.n);
    buf_addf(out, "%s[... %" PRId64 " bytes left out ...]\n",
             head.n && head.p[head.n - 1] != '\n' ? "\n" : "",
             o->total - (int64_t)(head.n + o->tail.len - skip));
    add_tail(o, skip, out);
}

void output_text(const struct output *o, struct buf *out)
{
    BUF_AT_END struct buf bytes = BUF_INIT(0);
    assemble(o, &bytes);
    struct str s = buf_str(&bytes);
    buf_fail_as(out, &bytes);
    if (utf8_valid(s.p, s.n)) {
        buf_add(out, s.p, s.n);
        return;
    }
    while (s.n && !out->failed) {
        size_t n = utf8_sequence(s.p, s.n);
        buf_add(out, n ? s.p : "\xef\xbf\xbd", n ? n : 3);
        n = n ? n : utf8_broken(s.p, s.n);
        s = (struct str){s.p + n, s.n - n};
    }
}

void output_write_json(const struct output *o, struct json_out *j)
{
    if (j->redact) {
        jo_open(j, '{');
        jo_kint(j, "bytes", o->total);
        jo_close(j, '}');
        return;
    }
    BUF_AT_END struct buf bytes = BUF_INIT(0);
    assemble(o, &bytes);
    jo_str(j, buf_str(&bytes));
    buf_fail_as(j->out, &bytes);
}
