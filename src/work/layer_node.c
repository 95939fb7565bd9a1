#include "work/layer_node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/to_end.h"

#define OPAQUE "user.overlay.opaque"
#define ORIGIN "user.overlay.origin"
#define MODE_BITS 07777u

bool layer_is_whiteout(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

bool layer_is_opaque(int folder)
{
    char value;
    return fgetxattr(folder, OPAQUE, &value, 1) == 1 && value == 'y';
}

/* In a user namespace the attribute is empty, and there all the same. */
bool layer_is_copy(int dir, const char *name)
{
    FD_AT_END int fd = beneath_open_child_any(dir, name);
    return fd >= 0 && fgetxattr(fd, ORIGIN, NULL, 0) >= 0;
}

static enum node_type node_type(mode_t mode)
{
    return S_ISREG(mode)   ? NODE_FILE
           : S_ISDIR(mode) ? NODE_FOLDER
           : S_ISLNK(mode) ? NODE_LINK
                           : NODE_OTHER;
}

static bool hash_node(struct work *w, int dir, const char *name, const char *path,
                      struct op_node *ret)
{
    char hex[HASH_HEX + 1];
    struct err err;
    FD_AT_END int fd = beneath_open_child_file(dir, name);
    if (fd < 0 || work_hash_file(w, fd, ret->size, path, hex, &err) < 0)
        return false;
    for (size_t i = 0; i < HASH_BYTES; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        ret->sha256[i] = (unsigned char)byte;
    }
    return true;
}

bool layer_node_look(struct work *w, int dir, const char *name, const struct stat *st,
                     const char *path, char *target, struct op_node *ret)
{
    *ret = (struct op_node){.type = NODE_NONE};
    if (!st)
        return true;
    ret->type = node_type(st->st_mode);
    ret->mode = ret->type == NODE_LINK ? 0 : st->st_mode & MODE_BITS;
    ret->size = ret->type == NODE_FILE ? st->st_size : 0;
    if (ret->type == NODE_FILE)
        return hash_node(w, dir, name, path, ret);
    if (ret->type != NODE_LINK)
        return true;
    ssize_t n = readlinkat(dir, name, target, PATH_TEXT_MAX - 1);
    ret->target = (struct str){target, n < 0 ? 0 : (size_t)n};
    return n >= 0;
}

bool layer_node_holds_same(const struct op_node *a, const struct op_node *b)
{
    return a->type == b->type && a->size == b->size &&
           memcmp(a->sha256, b->sha256, HASH_BYTES) == 0 && a->target.n == b->target.n &&
           (a->target.n == 0 || memcmp(a->target.p, b->target.p, a->target.n) == 0);
}

bool layer_node_is_same(const struct op_node *a, const struct op_node *b)
{
    return a->mode == b->mode && layer_node_holds_same(a, b);
}
