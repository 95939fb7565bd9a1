#include "work/git_layers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/beneath_walk.h"
#include "work/git_files.h"
#include "work/git_import.h"

#define NAMES_MAX ((size_t)1 << 20)
/* Which git directories the layers are for. */
#define LIST_FILE "layers"

static int tell_layer_failure(struct err *err, const char *what, int error)
{
    return err_set(err, err_is_full(error) ? ERR_DISK_FULL : ERR_INTERNAL, "%s: %s", what,
                   strerror(error));
}

int git_layers_open(struct work *w, int64_t root, struct err *err)
{
    const struct beneath_root *store = work_root(w, root, true, err);
    if (!store)
        return -1;
    if (mkdirat(store->fd, OP_LAYERS, 0700) < 0 && errno != EEXIST)
        return tell_layer_failure(err, "making a folder for layers", errno);
    int fd = beneath_open_child(store->fd, OP_LAYERS);
    return fd < 0 ? tell_layer_failure(err, "opening the folder of layers", errno) : fd;
}

int git_layers_check(struct str tag, struct err *err)
{
    return op_is_layer_tag(tag) ? 0 : err_set(err, ERR_INTERNAL, "a tag that is no name");
}

int git_layer_real(struct work *w, const struct op_layer *layer, struct err *err)
{
    FREE_AT_END char *path = mem_copy(layer->path.p, layer->path.n);
    const struct beneath_root *root = work_writable_root(w, layer->root, true, path, err);
    if (!root)
        return -1;
    int fd = beneath_open_at(root->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
                             RESOLVE_NO_SYMLINKS);
    return fd < 0 ? beneath_errno(err, errno, path) : fd;
}

/* Files that were being written beside their places. */
static void remove_temps(int git, const char *tag)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    FREE_AT_END char *start = mem_format(OP_TEMP_PREFIX "%s-", tag);
    if (git_file_list(git, &names) < 0)
        return;
    for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1) {
        if (strncmp(names.data + at, start, strlen(start)) == 0)
            (void)unlinkat(git, names.data + at, 0);
    }
}

static void undo(struct work *w, int folder, const char *tag)
{
    BUF_AT_END struct buf packed = BUF_INIT(NAMES_MAX);
    struct op_layer layer;
    struct err ignored;
    git_commit_undo(w, folder);
    if (git_file_read(folder, LIST_FILE, NAMES_MAX - 1, &packed) < 0)
        return;
    for (struct str rest = buf_str(&packed); op_layer_next(&rest, &layer) > 0;) {
        FD_AT_END int git = git_layer_real(w, &layer, &ignored);
        if (git >= 0)
            remove_temps(git, tag);
    }
}

void git_layers_remove(struct work *w, int layers, const char *tag)
{
    FD_AT_END int folder = beneath_open_child(layers, tag);
    if (folder < 0)
        return;
    undo(w, folder, tag);
    if (git_file_empty(folder) == 0)
        (void)unlinkat(layers, tag, AT_REMOVEDIR);
}

static int make_layer(struct work *w, int folder, const struct op_layer *layer, int number,
                      struct err *err)
{
    char name[16];
    FREE_AT_END char *path = mem_copy(layer->path.p, layer->path.n);
    FD_AT_END int git = git_layer_real(w, layer, err);
    if (git < 0)
        return -1;
    snprintf(name, sizeof name, "%d", number);
    if (mkdirat(folder, name, 0700) < 0)
        return tell_layer_failure(err, "making a layer", errno);
    FD_AT_END int fd = beneath_open_child(folder, name);
    if (fd < 0 || mkdirat(fd, "upper", 0755) < 0 || mkdirat(fd, "work", 0700) < 0)
        return tell_layer_failure(err, "making a layer", errno);
    return git_base_write(git, fd, path, err);
}

static int make_layers(struct work *w, int layers, const char *tag, struct str packed,
                       int64_t *ret_count, struct err *err)
{
    struct op_layer layer;
    int r;
    if (mkdirat(layers, tag, 0700) < 0)
        return tell_layer_failure(err, "making layers", errno);
    FD_AT_END int folder = beneath_open_child(layers, tag);
    FD_AT_END int list = -1;
    if (folder < 0 || beneath_create(folder, LIST_FILE, &list) < 0)
        return tell_layer_failure(err, "making layers", errno);
    if ((r = fd_write_all(list, packed.p, packed.n)) < 0)
        return tell_layer_failure(err, "making layers", -r);
    while ((r = op_layer_next(&packed, &layer)) > 0) {
        if (work_check_cancel(w, err) < 0 ||
            make_layer(w, folder, &layer, (int)(*ret_count)++, err) < 0)
            return -1;
    }
    return r < 0 ? err_set(err, ERR_INTERNAL, "a list of layers that cannot be read") : 0;
}

/* Their gates are dead: the one that asks holds the lock that they would hold. */
static void remove_leftovers(struct work *w, int layers)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    if (git_file_list(layers, &names) < 0)
        return;
    for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
        git_layers_remove(w, layers, names.data + at);
}

int work_git_begin(struct work *w, const union op_request *request, struct str body,
                   union op_reply *reply, struct err *err)
{
    const struct op_git_begin_request *q = &request->git_begin;
    reply->git_begin = (struct op_git_begin_reply){0};
    FD_AT_END int layers = git_layers_open(w, q->root, err);
    if (layers < 0 || git_layers_check(q->tag, err) < 0)
        return -1;
    remove_leftovers(w, layers);
    if (body.n == 0)
        return 0;
    FREE_AT_END char *tag = mem_copy(q->tag.p, q->tag.n);
    if (make_layers(w, layers, tag, body, &reply->git_begin.count, err) == 0)
        return 0;
    git_layers_remove(w, layers, tag);
    return -1;
}
