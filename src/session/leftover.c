#include "session/leftover.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "session/sweep.h"

struct leftover *leftover_add(struct leftover **list, size_t root, struct str path, struct str tag)
{
    struct leftover *l;
    /* No gate leaves such a note: a part of it would name another file. */
    if (path.n >= PATH_TEXT_MAX || tag.n >= sizeof l->tag)
        return NULL;
    l = mem_zero(sizeof *l);
    l->root = root;
    l->path = mem_copy(path.p, path.n);
    memcpy(l->tag, tag.p, tag.n);
    l->next = *list;
    return *list = l;
}

struct leftover *leftover_take(struct leftover **list)
{
    struct leftover *first = *list;
    if (first)
        *list = first->next;
    return first;
}

void leftover_free(struct leftover *l)
{
    free(l->path);
    free(l);
}

struct collecting {
    struct leftover **list;
    size_t root;
};

static void found(void *arg, struct str path, const char *tag)
{
    struct collecting *c = arg;
    leftover_add(c->list, c->root, path, str_of(tag));
}

bool leftover_collect(struct leftover **list, int state_fd, const struct cell_spec *spec)
{
    bool more = false;
    for (size_t i = 0; i < spec->n_roots; i++) {
        const struct cell_root *root = spec_changed(spec, i);
        struct collecting c = {list, i};
        if (root->writable)
            more |= sweep_collect(state_fd, root->device, root->inode, found, &c);
    }
    return more;
}

void leftover_leave(struct leftover **list, int state_fd, const struct cell_spec *spec)
{
    for (struct leftover *l; (l = leftover_take(list));) {
        const struct cell_root *root = spec_changed(spec, l->root);
        struct sweep note;
        struct err err;
        /* As a dead gate would have left it. If that fails, the file stays: no worse than before. */
        sweep_init(&note, state_fd, root->device, root->inode, l->tag);
        sweep_note(&note, (struct str){l->path, strlen(l->path)}, &err);
        fd_closep(&note.files[0].fd);
        leftover_free(l);
    }
}
