#include "cell/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "cell/overlay.h"
#include "core/path.h"

#define PACKED_MAX ((size_t)OP_LAYERS_MAX * (PATH_TEXT_MAX + 8))

void layers_init(struct layers *layers)
{
    *layers = (struct layers){0};
    buf_init(&layers->packed, PACKED_MAX);
}

void layers_clear(struct layers *layers)
{
    buf_done(&layers->packed);
    layers_init(layers);
}

static int read_tag(struct layers *layers, struct str head)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    if (json_parse(head.p, head.n, FRAME_HEAD_MAX, JSON_INTERNAL, &doc, NULL) < 0)
        return -1;
    struct str tag = json_str(yyjson_obj_get(yyjson_doc_get_root(doc), "tag"));
    if (!tag.p || !op_is_layer_tag(tag))
        return -1;
    snprintf(layers->tag, sizeof layers->tag, "%.*s", (int)tag.n, tag.p);
    return 0;
}

static bool is_well_formed(struct str packed)
{
    struct op_layer layer;
    size_t count = 0;
    int r;
    while ((r = op_layer_next(&packed, &layer)) > 0)
        count++;
    return r == 0 && count > 0 && count <= OP_LAYERS_MAX;
}

void layers_set(struct layers *layers, const struct frame *frame)
{
    layers_clear(layers);
    layers->broken = read_tag(layers, frame->head) < 0 || !is_well_formed(frame->body) ||
                     buf_add(&layers->packed, frame->body.p, frame->body.n) < 0;
}

bool layers_any(const struct layers *layers)
{
    return layers->packed.len > 0 || layers->broken;
}

static int layer_mount_failed(struct err *err, const char *path)
{
    return err_set(err, ERR_SANDBOX_UNAVAILABLE,
                   "a layer for the git directory %.150s cannot be mounted: %s. It lies in "
                   "Sandgate's state folder, which has to be on a file system that can hold an "
                   "overlay (ext4, xfs, btrfs, tmpfs): set XDG_STATE_HOME to a folder on one",
                   path, strerror(errno));
}

static int open_layer_folder(int at, const char *path)
{
    return fd_open_beneath(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* An overlay shows what lies beneath the mounts in its lower folder. */
static int cover_again(const struct guards *guards, const struct op_layer *layer, int root,
                       struct err *err)
{
    struct str rest = buf_str(&guards->found[layer->root]);
    struct op_guarded entry;
    while (op_guarded_next(&rest, &entry) > 0) {
        if (path_lies_in(entry.path, layer->path) && guards_cover_in_layer(root, &entry, err) < 0)
            return -1;
    }
    return 0;
}

static int add_layer(const struct cell_spec *spec, const struct guards *guards,
                     const struct op_layer *layer, int from, struct err *err)
{
    FREE_AT_END char *path = mem_copy(layer->path.p, layer->path.n);
    if ((size_t)layer->root >= spec->n_roots || !spec->roots[layer->root].commands ||
        !spec->roots[layer->root].writable)
        return err_set(err, ERR_INTERNAL, "a layer for a folder that commands do not have");
    FD_AT_END int root = open(spec->roots[layer->root].inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    FD_AT_END int lower = root < 0 ? -1 : open_layer_folder(root, path);
    if (lower < 0)
        return layer_mount_failed(err, path);
    if (overlay_mount(lower, from, lower) < 0)
        return layer_mount_failed(err, path);
    return cover_again(guards, layer, root, err);
}

int layers_mount(const struct cell_spec *spec, const struct guards *guards,
                 const struct layers *layers, struct err *err)
{
    struct str rest = buf_str(&layers->packed);
    struct op_layer layer;
    if (layers->broken || spec_store(spec) >= ROOTS_MAX)
        return err_set(err, ERR_INTERNAL, "an order for layers that cannot be followed");
    FD_AT_END int store = open(SPEC_STORE, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; op_layer_next(&rest, &layer) > 0; i++) {
        char name[OP_LAYER_TAG_MAX + 32];
        snprintf(name, sizeof name, OP_LAYERS "/%s/%d", layers->tag, i);
        FD_AT_END int from = open_layer_folder(store, name);
        if (from < 0)
            return layer_mount_failed(err, name);
        if (add_layer(spec, guards, &layer, from, err) < 0)
            return -1;
    }
    return 0;
}
