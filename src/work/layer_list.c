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
#include "work/to_end.h"

#define UPPER "upper"
#define OPAQUE "user.overlay.opaque"
/* Folders that are open at once are twice as many. What lies deeper is told as not looked into; so is a folder in which a
 * name might not fit into a path. */
#define LIST_DEPTH_MAX 128
#define MODE_BITS 07777u

struct listing {
    struct work *w;
    int64_t count;
    int64_t max;
    int64_t bytes; /* of the layer's files */
    unsigned depth;
    char path[PATH_TEXT_MAX];
};

/* A folder in both, or in one of them (-1). `hidden`: what is in the project's is not seen through the layer. */
struct pair {
    int upper;
    int base;
    bool hidden;
};

static int list_pair(struct listing *l, const struct pair *at, struct err *err);

static bool is_whiteout(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

static enum node_type node_type(mode_t mode)
{
    return S_ISREG(mode)   ? NODE_FILE
           : S_ISDIR(mode) ? NODE_FOLDER
           : S_ISLNK(mode) ? NODE_LINK
                           : NODE_OTHER;
}

/* A layer that is in use changes while it is read: what is gone again is left out. False: it cannot be read. */
static bool hash_node(struct listing *l, int dir, const char *name, struct op_node *ret)
{
    char hex[HASH_HEX + 1];
    struct err err;
    FD_AT_END int fd = beneath_open_child_file(dir, name);
    if (fd < 0 || work_hash_file(l->w, fd, ret->size, l->path, hex, &err) < 0)
        return false;
    for (size_t i = 0; i < HASH_BYTES; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        ret->sha256[i] = (unsigned char)byte;
    }
    return true;
}

/* The node as it is at one side. `target` has PATH_TEXT_MAX bytes. False: it is there and cannot be read. */
static bool look_at_node(struct listing *l, int dir, const char *name, const struct stat *st,
                         char *target, struct op_node *ret)
{
    *ret = (struct op_node){.type = NODE_NONE};
    if (!st)
        return true;
    ret->type = node_type(st->st_mode);
    ret->mode = ret->type == NODE_LINK ? 0 : st->st_mode & MODE_BITS;
    ret->size = ret->type == NODE_FILE ? st->st_size : 0;
    if (ret->type == NODE_FILE)
        return hash_node(l, dir, name, ret);
    if (ret->type != NODE_LINK)
        return true;
    ssize_t n = readlinkat(dir, name, target, PATH_TEXT_MAX - 1);
    ret->target = (struct str){target, n < 0 ? 0 : (size_t)n};
    return n >= 0;
}

static bool is_same_node(const struct op_node *a, const struct op_node *b)
{
    return a->type == b->type && a->mode == b->mode && a->size == b->size &&
           memcmp(a->sha256, b->sha256, HASH_BYTES) == 0 && a->target.n == b->target.n &&
           (a->target.n == 0 || memcmp(a->target.p, b->target.p, a->target.n) == 0);
}

static int add_changed_entry(struct listing *l, struct op_changed *c, struct err *err)
{
    const char *rule;
    c->path = (struct str){l->path, strlen(l->path)};
    bool folder = c->before.type == NODE_FOLDER || c->after.type == NODE_FOLDER;
    c->secret = guard_judge(l->w->guard, c->path, folder, &rule) == GUARD_SECRET;
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
    struct op_changed c = {.unread = unread};
    c.unread |= !look_at_node(l, at->base, name, from, targets[0], &c.before);
    c.unread |= !look_at_node(l, at->upper, name, to, targets[1], &c.after);
    if (!c.unread && is_same_node(&c.before, &c.after))
        return 0;
    return add_changed_entry(l, &c, err);
}

static const struct stat *stat_child(int dir, const char *name, struct stat *ret)
{
    return dir >= 0 && fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) == 0 ? ret : NULL;
}

static bool hides_lower(int folder)
{
    char value;
    return fgetxattr(folder, OPAQUE, &value, 1) == 1 && value == 'y';
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
    *ret = (struct pair){-1, -1, at->hidden};
    if (is_folder_node(from))
        ret->base = open_searchable(at->base, name);
    if (is_folder_node(to))
        ret->upper = open_searchable(at->upper, name);
    bool opened = (ret->base >= 0) == is_folder_node(from) &&
                  (ret->upper >= 0) == is_folder_node(to);
    if (opened && ret->upper >= 0 && (ret->hidden || hides_lower(ret->upper)))
        ret->hidden = true;
    /* In a folder that is gone all is hidden. */
    if (ret->upper < 0)
        ret->hidden = true;
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
    if (to && is_whiteout(to))
        to = NULL;
    else if (!to && !at->hidden)
        return 0; /* as it is in the project */
    if (!from && !to)
        return 0;
    if (n + strlen(name) + 2 > sizeof l->path)
        return err_set(err, ERR_TOO_LARGE, "a path in the session's layer is too long");
    snprintf(l->path + n, sizeof l->path - n, "%s%s", n ? "/" : "", name);
    CLEANUP(close_pair) struct pair in = {-1, -1, false};
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

int work_layer_list(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_layer_list_request *q = &request->layer_list;
    struct listing l = {.w = w, .max = q->max};
    const struct beneath_root *layer = work_root(w, q->layer, true, err);
    FD_AT_END int upper = layer ? beneath_open_child(layer->fd, UPPER) : -1;
    const struct beneath_root *root = layer ? work_root(w, q->root, true, err) : NULL;
    if (!root)
        return -1;
    FD_AT_END int base = beneath_open_child(root->fd, ".");
    if (upper < 0 || base < 0)
        return beneath_errno(err, errno, upper < 0 ? UPPER : ".");
    work_slow(w);
    if (list_pair(&l, &(struct pair){upper, base, false}, err) < 0)
        return -1;
    reply->layer_list = (struct op_layer_list_reply){.count = l.count, .bytes = l.bytes};
    return 0;
}
