#include "front/live.h"

#include "base/utf8.h"

/* The longest piece: what a pipe holds. */
#define PIECE_BYTES (64u << 10)

void live_init(struct live *live, struct lines *lines,
               bool (*write_held_output)(void *arg, const struct printed *printed, struct buf *out),
               void *arg)
{
    *live = (struct live){.lines = lines, .tell = write_held_output, .arg = arg};
    for (size_t i = 0; i < STREAMS; i++)
        buf_init(&live->streams[i].held, PIECE_BYTES);
}

void live_done(struct live *live)
{
    for (size_t i = 0; i < STREAMS; i++)
        buf_done(&live->streams[i].held);
}

static void skip_held_output(struct live *live, enum stream stream, size_t more)
{
    struct buf *held = &live->streams[stream].held;
    live->streams[stream].skipped += held->len + more;
    buf_cut(held, 0);
}

static bool write_piece(struct live *live, const struct printed *printed)
{
    struct buf *out = lines_begin_answer(live->lines);
    if (!out)
        return false;
    size_t mark = out->len;
    if (!live->tell(live->arg, printed, out))
        return true;
    if (out->failed) {
        buf_cut(out, mark);
        return false;
    }
    lines_end_answer(live->lines);
    return true;
}

static void write_held_output(struct live *live, enum stream stream, bool end)
{
    struct buf *held = &live->streams[stream].held;
    uint64_t *skipped = &live->streams[stream].skipped;
    if (!lines_has_room(live->lines))
        skip_held_output(live, stream, 0);
    size_t n = end ? held->len : utf8_cut(held->data, held->len);
    if (n == 0 && !(end && *skipped))
        return;
    struct printed printed = {stream, {buf_str(held).p, n}, *skipped};
    if (write_piece(live, &printed)) {
        *skipped = 0;
        buf_consume(held, n);
    } else {
        skip_held_output(live, stream, 0);
    }
}

/* Behind a gap the rest of a character means nothing. */
static struct str skip_rest(struct live *live, enum stream stream, struct str bytes)
{
    size_t n = 0;
    while (n < 3 && n < bytes.n && ((unsigned char)bytes.p[n] & 0xc0) == 0x80)
        n++;
    live->streams[stream].skipped += n;
    return (struct str){bytes.p + n, bytes.n - n};
}

void live_add(struct live *live, enum stream stream, struct str bytes)
{
    struct buf *held = &live->streams[stream].held;
    if (held->len == 0 && live->streams[stream].skipped)
        bytes = skip_rest(live, stream, bytes);
    while (bytes.n) {
        size_t room = PIECE_BYTES - held->len;
        size_t n = bytes.n < room ? bytes.n : room;
        if (!lines_has_room(live->lines) || buf_add(held, bytes.p, n) < 0) {
            skip_held_output(live, stream, bytes.n);
            return;
        }
        bytes = (struct str){bytes.p + n, bytes.n - n};
        if (held->len == PIECE_BYTES)
            write_held_output(live, stream, false);
    }
}

void live_flush(struct live *live)
{
    for (enum stream i = 0; i < STREAMS; i++)
        write_held_output(live, i, false);
}

void live_end(struct live *live)
{
    for (enum stream i = 0; i < STREAMS; i++)
        write_held_output(live, i, true);
}
