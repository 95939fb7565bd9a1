#include "work/git_import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/beneath_walk.h"
#include "work/git_files.h"
#include "work/git_layers.h"
#include "work/guard_reopen.h"

#define CONFIG_MAX ((size_t)1 << 20)
#define NAMES_MAX ((size_t)1 << 20)

void git_temp_name(struct git_import *im, char out[64])
{
    snprintf(out, 64, OP_TEMP_PREFIX "%.*s-g%x", (int)im->q->tag.n, im->q->tag.p, im->temps++);
}

int git_temp_write(const struct git_import *im, int git, const char *name, struct str content,
                   mode_t mode, uint64_t *ret_inode)
{
    struct stat st;
    FD_AT_END int fd = -1;
    if (beneath_create(git, name, &fd) < 0)
        return -errno;
    int r = fd_write_all(fd, content.p, content.n);
    if (r == 0 && (fchmod(fd, mode) < 0 || fstat(fd, &st) < 0))
        r = -errno;
    if (r == 0 && im->q->fsync && fsync(fd) < 0)
        r = -errno;
    if (r < 0)
        (void)unlinkat(git, name, 0);
    else
        *ret_inode = st.st_ino;
    return r;
}

static void layer_done(struct git_layer *layer)
{
    for (size_t i = 0; i < layer->n; i++) {
        free(layer->changes[i].path);
        buf_done(&layer->changes[i].content);
    }
    free(layer->changes);
    for (size_t i = 0; i < layer->n_left; i++)
        free(layer->left[i]);
    free(layer->left);
    free(layer->path);
    git_base_done(&layer->base);
    fd_closep(&layer->git);
    fd_closep(&layer->upper);
}

static void import_done(struct git_import *im)
{
    for (size_t i = 0; i < im->n_layers; i++)
        layer_done(&im->layers[i]);
    fd_closep(&im->folder);
}

static unsigned hex_of(int git)
{
    BUF_AT_END struct buf config = BUF_INIT(CONFIG_MAX + 1);
    return git_file_read(git, "config", CONFIG_MAX, &config) == 0 &&
                   git_config_has_sha256(buf_str(&config))
               ? GIT_SHA256_HEX
               : GIT_SHA1_HEX;
}

static int replaced(const struct git_layer *layer, struct err *err)
{
    err_set(
        err, ERR_CONFLICT,
        "`%s` was replaced by another git directory, or removed, while the command ran. Nothing "
        "that the command wrote to git directories was taken over; look at it and run the "
        "command again",
        layer->path);
    return err_reason(err, "git_replaced");
}

/* It could not be opened. A shortage says nothing about it. */
static int lost(const struct git_layer *layer, const struct err *why, struct err *err)
{
    if (why->code != ERR_SESSION_BUSY)
        return replaced(layer, err);
    *err = *why;
    return -1;
}

int git_layer_check(struct git_import *im, const struct git_layer *layer, struct err *err)
{
    struct err why;
    FD_AT_END int git = git_layer_real(im->w, &layer->of, &why);
    if (git < 0)
        return lost(layer, &why, err);
    bool same = git_base_holds(&layer->base, git, GIT_BASE_DIRECTORY) &&
                git_base_holds(&layer->base, layer->git, GIT_BASE_DIRECTORY);
    return same ? 0 : replaced(layer, err);
}

static int open_layer(struct git_import *im, const struct op_layer *of, struct err *err)
{
    struct git_layer *layer = &im->layers[im->n_layers];
    char name[32];
    *layer = (struct git_layer){.of = *of, .git = -1, .upper = -1};
    layer->path = mem_copy(of->path.p, of->path.n);
    im->n_layers++;
    snprintf(name, sizeof name, "%zu", im->n_layers - 1);
    FD_AT_END int folder = beneath_open_child(im->folder, name);
    if (folder < 0)
        return err_set(err, ERR_INTERNAL, "opening a layer: %s", strerror(errno));
    /* Its mode is that of the git directory as the command left it, which is not taken over. */
    (void)!fchmodat(folder, "upper", 0700, 0);
    layer->upper = beneath_open_child(folder, "upper");
    if (layer->upper < 0)
        return err_set(err, ERR_INTERNAL, "opening a layer: %s", strerror(errno));
    struct err why;
    layer->git = git_layer_real(im->w, of, &why);
    if (layer->git < 0)
        return lost(layer, &why, err);
    layer->hex = hex_of(layer->git);
    return git_base_read(&layer->base, folder, err) < 0 ? -1 : git_layer_check(im, layer, err);
}

static int open_all(struct git_import *im, struct str packed, struct err *err)
{
    struct op_layer of;
    int r;
    while ((r = op_layer_next(&packed, &of)) > 0) {
        if (im->n_layers == OP_LAYERS_MAX || open_layer(im, &of, err) < 0)
            return -1;
    }
    return r < 0 ? err_set(err, ERR_INTERNAL, "a list of layers that cannot be read") : 0;
}

static void count_shallow(struct git_import *im)
{
    for (size_t i = 0; i < im->n_layers; i++) {
        const struct git_layer *layer = &im->layers[i];
        for (size_t k = 0; !layer->refused && k < layer->n; k++)
            im->reply->shallow += layer->changes[k].shallow;
    }
}

/* Where nothing of a layer is taken over, one name is told as the cause; the others are counted. */
static void count_refused(struct git_import *im)
{
    for (size_t i = 0; i < im->n_layers; i++) {
        const struct git_layer *layer = &im->layers[i];
        for (size_t k = 0; layer->refused && k < layer->n; k++)
            im->reply->dropped += layer->changes[k].kind >= GIT_HEAD;
    }
}

/* Layers to which anything was written. */
static void count_discarded(struct git_import *im)
{
    char name[32];
    for (size_t i = 0; i < OP_LAYERS_MAX; i++) {
        BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
        snprintf(name, sizeof name, "%zu", i);
        FD_AT_END int folder = beneath_open_child(im->folder, name);
        if (folder < 0)
            return;
        (void)!fchmodat(folder, "upper", 0700, 0);
        FD_AT_END int upper = beneath_open_child(folder, "upper");
        im->reply->dropped += upper < 0 || git_file_list(upper, &names) < 0 || names.len > 0;
    }
}

static int take_over(struct git_import *im, struct str packed, struct err *err)
{
    if (open_all(im, packed, err) < 0)
        return -1;
    for (size_t i = 0; i < im->n_layers; i++) {
        if (git_plan(im, &im->layers[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < im->n_layers; i++) {
        if (!im->layers[i].refused && git_objects_take(im, &im->layers[i], err) < 0)
            return -1;
    }
    count_refused(im);
    count_shallow(im);
    return git_commit(im, err);
}

int work_git_import(struct work *w, const union op_request *request, struct str body,
                    union op_reply *reply, struct err *err)
{
    const struct op_git_import_request *q = &request->git_import;
    reply->git_import = (struct op_git_import_reply){0};
    FD_AT_END int layers = git_layers_open(w, q->root, err);
    if (layers < 0 || git_layers_check(q->tag, err) < 0)
        return -1;
    work_slow(w);
    guard_reopen_all(w->trees);
    FREE_AT_END char *tag = mem_copy(q->tag.p, q->tag.n);
    struct git_import *im = mem_zero(sizeof *im);
    *im = (struct git_import){.w = w, .q = q, .reply = &reply->git_import, .folder = -1};
    im->folder = beneath_open_child(layers, tag);
    int r = 0;
    if (im->folder < 0)
        r = q->discard ? 0 : err_set(err, ERR_INTERNAL, "there are no layers: %s", strerror(errno));
    else if (!q->discard)
        r = take_over(im, body, err);
    else
        count_discarded(im);
    import_done(im);
    free(im);
    /* What cannot be removed now is tried again when the next ones are made. */
    git_layers_remove(w, layers, tag);
    return r;
}
