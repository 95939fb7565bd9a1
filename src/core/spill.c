#include "core/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

const char *const stream_names[] = {"stdout", "stderr", NULL};

struct kept_stream {
    int64_t kept;
    int64_t total;
};

struct spill {
    struct spill *next;
    struct spills *all;
    char id[SPILL_ID_MAX];
    int fd; /* -1: none yet. Each stream has a part of its own, max_stream long; what is not written takes no room */
    struct kept_stream streams[STREAMS];
};

void spills_init(struct spills *spills, int dir_fd, int64_t max_stream, int64_t max_total)
{
    *spills = (struct spills){.dir_fd = dir_fd, .max_stream = max_stream, .max_total = max_total};
}

static void drop_spill(struct spill *spill)
{
    struct spills *all = spill->all;
    if (spill->fd >= 0)
        all->count--;
    for (size_t i = 0; i < STREAMS; i++)
        all->bytes -= spill->streams[i].kept;
    fd_closep(&spill->fd);
    free(spill);
}

static bool drop_oldest(struct spills *spills)
{
    struct spill *oldest = spills->finished;
    if (!oldest)
        return false;
    spills->finished = oldest->next;
    drop_spill(oldest);
    return true;
}

void spills_done(struct spills *spills)
{
    while (drop_oldest(spills))
        ;
}

static void make_spill_name(const char *prefix, char name[SPILL_ID_MAX])
{
    unsigned char random[6];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        abort();
    snprintf(name, SPILL_ID_MAX, "%s%02x%02x%02x%02x%02x%02x", prefix, random[0], random[1],
             random[2], random[3], random[4], random[5]);
}

struct spill *spill_open(struct spills *spills)
{
    struct spill *spill = mem_zero(sizeof *spill);
    spill->all = spills;
    spill->fd = -1;
    make_spill_name("out_", spill->id);
    spill->next = spills->running;
    spills->running = spill;
    return spill;
}

static int open_unnamed(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 || errno == ENOSPC || errno == EMFILE || errno == ENFILE)
        return fd;
    /* Not every file system can: there it has a name for a moment. */
    char name[SPILL_ID_MAX];
    make_spill_name(".out_", name);
    fd = openat(dir_fd, name, O_CREAT | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        unlinkat(dir_fd, name, 0);
    return fd;
}

static bool ensure_spill_file(struct spill *spill)
{
    struct spills *all = spill->all;
    if (spill->fd >= 0)
        return true;
    while (all->count >= SPILLS_MAX && drop_oldest(all))
        ;
    if (all->count < SPILLS_MAX)
        spill->fd = open_unnamed(all->dir_fd);
    all->count += spill->fd >= 0;
    return spill->fd >= 0;
}

/* How many of n bytes there is room for, in the stream and beside all others. */
static size_t make_spill_room(struct spills *all, const struct kept_stream *stream, size_t n)
{
    if ((uint64_t)n > (uint64_t)(all->max_stream - stream->kept))
        n = (size_t)(all->max_stream - stream->kept);
    while ((uint64_t)n > (uint64_t)(all->max_total - all->bytes) && drop_oldest(all))
        ;
    uint64_t room = (uint64_t)(all->max_total - all->bytes);
    return n < room ? n : (size_t)room;
}

/* How many bytes could be written. */
static size_t write_spill_at(int fd, const char *bytes, size_t n, int64_t offset)
{
    size_t done = 0;
    while (done < n) {
        ssize_t r = pwrite(fd, bytes + done, n - done, offset + (off_t)done);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        done += (size_t)r;
    }
    return done;
}

void spill_add(struct spill *spill, enum stream stream, struct str bytes)
{
    struct spills *all = spill->all;
    struct kept_stream *s = &spill->streams[stream];
    /* What is kept has no gaps: once something did not fit, nothing behind it is wanted. */
    bool whole = s->kept == s->total;
    s->total += (int64_t)bytes.n;
    if (!whole || bytes.n == 0)
        return;
    size_t n = make_spill_room(all, s, bytes.n);
    if (n == 0 || !ensure_spill_file(spill))
        return;
    size_t done = write_spill_at(spill->fd, bytes.p, n, stream * all->max_stream + s->kept);
    s->kept += (int64_t)done;
    all->bytes += (int64_t)done;
}

bool spill_used(const struct spill *spill)
{
    return spill->streams[STREAM_STDOUT].total > 0 || spill->streams[STREAM_STDERR].total > 0;
}

const char *spill_id(const struct spill *spill)
{
    return spill->id;
}

void spill_finish(struct spill *spill, char ret_id[SPILL_ID_MAX])
{
    struct spills *all = spill->all;
    struct spill **at = &all->running;
    while (*at != spill)
        at = &(*at)->next;
    *at = spill->next;
    ret_id[0] = '\0';
    if (spill->streams[STREAM_STDOUT].kept == 0 && spill->streams[STREAM_STDERR].kept == 0) {
        drop_spill(spill);
        return;
    }
    memcpy(ret_id, spill->id, sizeof spill->id);
    for (at = &all->finished; *at;)
        at = &(*at)->next;
    spill->next = NULL;
    *at = spill;
}

static const struct spill *find_spill(const struct spill *list, struct str id)
{
    while (list && (strlen(list->id) != id.n || memcmp(list->id, id.p, id.n) != 0))
        list = list->next;
    return list;
}

static int read_at(int fd, size_t n, int64_t offset, struct buf *out)
{
    int r = buf_reserve(out, n);
    for (size_t done = 0; r == 0 && done < n;) {
        ssize_t got = pread(fd, out->data + out->len, n - done, offset + (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            r = got < 0 ? -errno : -EIO; /* it ends before what was written to it */
            break;
        }
        done += (size_t)got;
        out->len += (size_t)got;
    }
    return r;
}

int spill_read(const struct spills *spills, struct str id, enum stream stream, int64_t offset,
               size_t max, struct buf *out, struct spill_page *ret, struct err *err)
{
    const struct spill *done = spills ? find_spill(spills->finished, id) : NULL;
    const struct spill *spill = spills && !done ? find_spill(spills->running, id) : done;
    if (!spill)
        return err_set(err, ERR_NOT_FOUND,
                       "no output `%.*s` is kept; only the latest long outputs of a session are: "
                       "run the command again with its output redirected into a file, and read "
                       "that file",
                       id.n < SPILL_ID_MAX ? (int)id.n : SPILL_ID_MAX, id.p);
    const struct kept_stream *s = &spill->streams[stream];
    size_t n = 0;
    if (offset >= 0 && offset < s->kept)
        n = (uint64_t)max < (uint64_t)(s->kept - offset) ? max : (size_t)(s->kept - offset);
    int r = n ? read_at(spill->fd, n, stream * spills->max_stream + offset, out) : 0;
    if (r < 0)
        return err_set(err, err_code_for_file(-r), "reading the kept output: %s", strerror(-r));
    *ret = (struct spill_page){
        .kept = s->kept,
        .total = s->total,
        .running = !done,
        .complete = done && s->kept == s->total,
    };
    return 0;
}
