#include "work/to_end.h"

#include <errno.h>
#include <unistd.h>

/* A file that grows faster than it is read has no end: so much is read beyond the size that it had. */
#define GROWTH_MAX (16 << 20)

int work_read_to_end(struct work *w, int fd, const char *path, int64_t max, take_bytes_fn take,
                     void *arg, struct err *err)
{
    for (int64_t done = 0;;) {
        if (work_check_cancel(w, err) < 0)
            return -1;
        ssize_t n = read(fd, w->chunk, WORK_CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return beneath_errno(err, errno, path);
        if (n == 0)
            return 0;
        done += n;
        if (done > max)
            return 1;
        if (take(arg, (struct str){w->chunk, (size_t)n}, err) < 0)
            return -1;
    }
}

static int add_to_hash(void *arg, struct str bytes, struct err *err)
{
    (void)err;
    hash_add(arg, bytes.p, bytes.n);
    return 0;
}

int work_grows(struct err *err, const char *path)
{
    err_set(err, ERR_CONFLICT, "`%s` grows while it is read: try again", path);
    return err_reason(err, "replaced");
}

int64_t work_growth_max(int64_t size)
{
    return size > INT64_MAX - GROWTH_MAX ? INT64_MAX : size + GROWTH_MAX;
}

int work_hash_file(struct work *w, int fd, int64_t size, const char *path, char out[HASH_HEX + 1],
                   struct err *err)
{
    struct hash h;
    hash_begin(&h);
    int r = work_read_to_end(w, fd, path, work_growth_max(size), add_to_hash, &h, err);
    if (r != 0)
        return r < 0 ? -1 : work_grows(err, path);
    hash_end_hex(&h, out);
    return 0;
}
