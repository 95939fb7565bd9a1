/* One file of a session's layer, against that of the project. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/diff.h"
#include "work/to_end.h"

/* Larger files are compared by their hashes. */
#define DIFF_FILE_MAX ((size_t)8 << 20)

static int add_to_text(void *arg, struct str bytes, struct err *err)
{
    (void)err;
    buf_add(arg, bytes.p, bytes.n);
    return 0;
}

/* A whiteout cannot be opened on a mount without devices; nor can what its modes protect, which may have lines. */
static bool is_no_file(int dir, const char *path)
{
    struct stat st;
    FD_AT_END int fd = fd_open_beneath(dir, path, O_PATH | O_NOFOLLOW, 0);
    return fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode);
}

/* What is not there, or is no file, has no lines. 1: it is too large, or its modes keep its owner out. */
static int read_side(struct work *w, int dir, const char *path, struct buf *ret, struct err *err)
{
    struct stat st;
    FD_AT_END int fd = fd_open_beneath(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 && errno == EACCES)
        return !is_no_file(dir, path);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO
                   ? 0
                   : beneath_errno(err, errno, path);
    if (fstat(fd, &st) < 0)
        return beneath_errno(err, errno, path);
    if (!S_ISREG(st.st_mode))
        return 0;
    return work_read_to_end(w, fd, path, DIFF_FILE_MAX, add_to_text, ret, err);
}

static bool is_binary_text(const struct buf *text)
{
    return text->len && memchr(text->data, '\0', text->len);
}

int work_layer_diff(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_layer_diff_request *q = &request->layer_diff;
    const char *rule;
    BUF_AT_END struct buf before = BUF_INIT(DIFF_FILE_MAX + WORK_CHUNK);
    BUF_AT_END struct buf after = BUF_INIT(DIFF_FILE_MAX + WORK_CHUNK);
    if (!op_is_relative_path(q->path))
        return err_field(err, "path", "not a path in the layer");
    FREE_AT_END char *path = mem_copy(q->path.p, q->path.n);
    FREE_AT_END char *in_layer = mem_format("upper/%s", path);
    const struct beneath_root *layer = work_root(w, q->layer, true, err);
    int dir = layer ? layer->fd : -1;
    const struct beneath_root *root = layer ? work_root(w, q->root, true, err) : NULL;
    if (!root)
        return -1;
    work_slow(w);
    reply->layer_diff = (struct op_layer_diff_reply){.binary = true};
    if (guard_judge(w->guard, q->path, false, &rule) == GUARD_SECRET)
        return 0;
    int old = read_side(w, root->fd, path, &before, err);
    int now = old < 0 ? -1 : read_side(w, dir, in_layer, &after, err);
    if (old < 0 || now < 0)
        return -1;
    if (old || now || is_binary_text(&before) || is_binary_text(&after))
        return 0;
    reply->layer_diff.binary = false;
    reply->layer_diff.cut = diff_unified(buf_str(&before), buf_str(&after), path, &w->body);
    return 0;
}
