#include "store/audit_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/audit_chain.h"

#define BLOCK_BYTES (128u << 10)

ssize_t audit_read_at(int fd, void *bytes, size_t n, off_t at)
{
    ssize_t got;
    do
        got = pread(fd, bytes, n, at);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

void audit_lines_init(struct audit_lines *l, int fd, off_t from)
{
    *l = (struct audit_lines){.fd = fd, .at = from, .read_to = from};
}

void audit_lines_done(struct audit_lines *l)
{
    free(l->bytes);
    l->bytes = NULL;
}

/* For another block. Few lines are nearly as long as they may be. */
static int make_block_room(struct audit_lines *l)
{
    if (l->end + BLOCK_BYTES <= l->room)
        return 0;
    size_t room = 2 * (l->end + BLOCK_BYTES);
    char *bytes = realloc(l->bytes, room);
    if (!bytes)
        return -ENOMEM;
    l->bytes = bytes;
    l->room = room;
    return 0;
}

static int read_next_block(struct audit_lines *l)
{
    l->end -= l->start;
    if (l->end)
        memmove(l->bytes, l->bytes + l->start, l->end);
    l->start = 0;
    if (make_block_room(l) < 0)
        return -ENOMEM;
    ssize_t got = audit_read_at(l->fd, l->bytes + l->end, BLOCK_BYTES, l->read_to);
    if (got < 0)
        return (int)got;
    l->over = got == 0;
    l->end += (size_t)got;
    l->read_to += got;
    return 0;
}

static void give_audit_line(struct audit_lines *l, const char *newline, struct audit_line *ret)
{
    const char *at = l->bytes + l->start;
    size_t n = newline ? (size_t)(newline - at) : l->end - l->start;
    l->number += !l->inside;
    *ret = (struct audit_line){.text = {at, n},
                               .at = l->at,
                               .number = l->number,
                               .begins = !l->inside,
                               .ends = newline != NULL};
    size_t taken = n + (newline != NULL);
    l->start += taken;
    l->at += (off_t)taken;
    l->looked = 0;
    l->inside = !newline;
}

int audit_lines_next(struct audit_lines *l, struct audit_line *ret)
{
    for (;;) {
        size_t held = l->end - l->start;
        const char *at = l->bytes ? l->bytes + l->start : NULL;
        const char *newline = held > l->looked ? memchr(at + l->looked, '\n', held - l->looked)
                                               : NULL;
        if (newline || held >= AUDIT_RECORD_MAX || (l->over && held > 0)) {
            give_audit_line(l, newline, ret);
            return 1;
        }
        l->looked = held;
        if (l->over)
            return 0;
        int r = read_next_block(l);
        if (r < 0)
            return r;
    }
}

bool audit_line_whole(const struct audit_line *line)
{
    return line->begins && line->ends && line->text.n < AUDIT_RECORD_MAX;
}
