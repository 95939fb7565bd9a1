/* What the upper layer of an overlay changes in the project. The layer is read as overlayfs keeps it: a device 0:0 stands
 * for what was removed, and an attribute says that a folder hides the one beneath it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/op_change.h"
#include "work/dir_entries.h"
#include "work/layer_marks.h"
#include "work/layer_node.h"

/* Folders that are open at once are twice as many. What lies deeper is told as not looked into; so is a folder in which a
 * name might not fit into a path. */
#define LIST_DEPTH_MAX 128

struct listing {
    struct work *w;
    int64_t count;
    int64_t max;
    int64_t bytes; /* of the layer's files */
    unsigned depth;
    struct layer_marks marks;
    char path[PATH_TEXT_MAX];
};

/* A folder in both, or in one of them (-1). `hidden`: what is in the project's is not seen through the layer. */
struct pair {
    int upper;
    int base;
    bool hidden;
    bool git; /* it is a git directory, or lies in one */
};

static int list_pair(struct listing *l, const struct pair *at, struct err *err);

static int add_changed_entry(struct listing *l, struct op_changed *c, struct err *err)
{
    if (c->secret) {
        memset(c->before.sha256, 0, HASH_BYTES);
        memset(c->after.sha256, 0, HASH_BYTES);
    }
    op_changed_add(&l->w->body, c);
    return ++l->count > l->max || l->w->body.failed
               ? err_set(err, ERR_TOO_LARGE, "the session has more than %lld changes",
                         (long long)l->max)
               : 0;
}

/* `from`, `to`: NULL where there is nothing at that side. */
static int list_node(struct listing *l, const struct pair *at, const char *name,
                     const struct stat *from, const struct stat *to, bool unread, struct err *err)
{
    char targets[2][PATH_TEXT_MAX];
    struct op_changed c = {.unread = unread, .git = at->git};
    c.unread |= !layer_node_look(l->w, at->base, name, from, l->path, targets[0], &c.before);
    c.unread |= !layer_node_look(l->w, at->upper, name, to, l->path, targets[1], &c.after);
    if (!c.unread && layer_node_is_same(&c.before, &c.after))
        return 0;
    c.path = (struct str){l->path, strlen(l->path)};
    layer_mark(&l->marks, &(struct layer_sides){at->base, at->upper, name, from, to}, &c);
    return add_changed_entry(l, &c, err);
}

static const struct stat *stat_child(int dir, const char *name, struct stat *ret)
{
    return dir >= 0 && fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) == 0 ? ret : NULL;
}

static bool is_folder_node(const struct stat *st)
{
    return st && S_ISDIR(st->st_mode);
}

/* -1: what is in it cannot be looked at, as in one of mode 0444. */
static int open_searchable(int dir, const char *name)
{
    struct stat st;
    FD_AT_END int fd = beneath_open_child(dir, name);
    return fd >= 0 && fstatat(fd, ".", &st, 0) == 0 ? TAKE_FD(fd) : -1;
}

/* Opens what is a folder at either side. False: one of them cannot be opened. */
static bool open_pair(const struct pair *at, const char *name, const struct stat *from,
                      const struct stat *to, struct pair *ret)
{
    *ret = (struct pair){-1, -1, at->hidden, at->git};
    if (is_folder_node(from))
        ret->base = open_searchable(at->base, name);
    if (is_folder_node(to))
        ret->upper = open_searchable(at->upper, name);
    bool opened = (ret->base >= 0) == is_folder_node(from) &&
                  (ret->upper >= 0) == is_folder_node(to);
    if (opened && ret->upper >= 0 && (ret->hidden || layer_is_opaque(ret->upper)))
        ret->hidden = true;
    /* In a folder that is gone all is hidden. */
    if (ret->upper < 0)
        ret->hidden = true;
    ret->git |= strcmp(name, ".git") == 0 || (opened && layer_makes_git(ret->base, ret->upper));
    return opened;
}

static void close_pair(struct pair *pair)
{
    fd_closep(&pair->base);
    fd_closep(&pair->upper);
}

static int list_child(struct listing *l, const struct pair *at, const char *name, struct err *err)
{
    struct stat base;
    struct stat upper;
    size_t n = strlen(l->path);
    const struct stat *from = stat_child(at->base, name, &base);
    const struct stat *to = stat_child(at->upper, name, &upper);
    if (to && layer_is_whiteout(to))
        to = NULL;
    else if (!to && !at->hidden)
        return 0; /* as it is in the project */
    if (!from && !to)
        return 0;
    if (n + strlen(name) + 2 > sizeof l->path)
        return err_set(err, ERR_TOO_LARGE, "a path in the session's layer is too long");
    snprintf(l->path + n, sizeof l->path - n, "%s%s", n ? "/" : "", name);
    CLEANUP(close_pair) struct pair in = {-1, -1, false, false};
    bool folder = is_folder_node(from) || is_folder_node(to);
    bool deep = folder &&
                (l->depth == LIST_DEPTH_MAX || strlen(l->path) + 1 + NAME_MAX + 1 > sizeof l->path);
    bool opened = !folder || (!deep && open_pair(at, name, from, to, &in));
    int r = list_node(l, at, name, from, to, !opened, err);
    if (r == 0 && folder && opened)
        r = list_pair(l, &in, err);
    l->path[n] = '\0';
    return r;
}

static int list_entries(struct listing *l, const struct pair *at, bool upper, struct err *err)
{
    DIR_ENTRIES_AT_END struct dir_entries entries = {.dir = upper ? at->upper : at->base};
    struct stat st;
    for (const struct dirent64 *d; (d = dir_entries_next(&entries));) {
        if (work_check_cancel(l->w, err) < 0)
            return -1;
        /* Those that both have were taken with the layer's. */
        if (!upper && stat_child(at->upper, d->d_name, &st))
            continue;
        if (upper && stat_child(at->upper, d->d_name, &st) && S_ISREG(st.st_mode))
            l->bytes += st.st_blocks * 512;
        if (list_child(l, at, d->d_name, err) < 0)
            return -1;
    }
    return entries.error ? beneath_errno(err, entries.error, *l->path ? l->path : ".") : 0;
}

static int list_pair(struct listing *l, const struct pair *at, struct err *err)
{
    l->depth++;
    int r = at->upper >= 0 ? list_entries(l, at, true, err) : 0;
    if (r == 0 && at->hidden && at->base >= 0)
        r = list_entries(l, at, false, err);
    l->depth--;
    return r;
}

static void listing_done(struct listing *l)
{
    layer_marks_done(&l->marks);
}

int work_layer_list(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err)
{
    const struct op_layer_list_request *q = &request->layer_list;
    CLEANUP(listing_done) struct listing l = {.w = w, .max = q->max};
    const struct beneath_root *layer = work_root(w, q->layer, true, err);
    FD_AT_END int upper = layer ? beneath_open_child(layer->fd, LAYER_UPPER) : -1;
    if (layer && layer_marks_read(&l.marks, w, layer->fd, q->since_ns, err) < 0)
        return -1;
    const struct beneath_root *root = layer ? work_root(w, q->root, true, err) : NULL;
    if (!root)
        return -1;
    l.marks.root = root;
    l.marks.found = body;
    FD_AT_END int base = beneath_open_child(root->fd, ".");
    if (upper < 0 || base < 0)
        return beneath_errno(err, errno, upper < 0 ? LAYER_UPPER : ".");
    work_slow(w);
    bool git = layer_makes_git(base, upper);
    if (list_pair(&l, &(struct pair){upper, base, false, git}, err) < 0)
        return -1;
    reply->layer_list = (struct op_layer_list_reply){.count = l.count, .bytes = l.bytes};
    return 0;
}
