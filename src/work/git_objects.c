/* Objects and packs: new ones are copied, those that are there are never touched. A pack and what belongs to it is held
 * to the checksum at its end. That an object is what its name says is not looked at: `git fsck` does that. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/sha1.h"
#include "base/str.h"
#include "work/git_files.h"
#include "work/git_import.h"

#define READ_BYTES (256u << 10)

struct copy {
    struct git_import *im;
    struct git_layer *layer;
    int64_t size;
    int64_t done;
    struct sha1 sha1;
    struct hash sha256;
    unsigned char end[HASH_BYTES]; /* the file's last bytes */
    unsigned char start[4];
};

static void take_bytes(struct copy *c, const char *bytes, size_t n)
{
    unsigned id = c->layer->hex / 2;
    int64_t hashed = c->size - id;
    for (size_t i = 0; i < n && c->done + (int64_t)i < (int64_t)sizeof c->start; i++)
        c->start[c->done + (int64_t)i] = (unsigned char)bytes[i];
    size_t part = c->done >= hashed               ? 0
                  : c->done + (int64_t)n > hashed ? (size_t)(hashed - c->done)
                                                  : n;
    if (id == SHA1_BYTES)
        sha1_add(&c->sha1, bytes, part);
    else
        hash_add(&c->sha256, bytes, part);
    for (size_t i = part; i < n; i++)
        c->end[c->done + (int64_t)i - hashed] = (unsigned char)bytes[i];
    c->done += (int64_t)n;
}

/* 0, -errno, or -ECANCELED. */
static int copy_object_bytes(struct copy *c, int from, int to)
{
    FREE_AT_END char *buffer = mem_zero(READ_BYTES);
    struct err ignored;
    sha1_begin(&c->sha1);
    hash_begin(&c->sha256);
    while (c->done < c->size) {
        int64_t left = c->size - c->done;
        ssize_t n = read(from, buffer, left < (int64_t)READ_BYTES ? (size_t)left : READ_BYTES);
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        take_bytes(c, buffer, (size_t)n);
        int r = fd_write_all(to, buffer, (size_t)n);
        if (r < 0)
            return r;
        if (work_check_cancel(c->im->w, &ignored) < 0)
            return -ECANCELED;
    }
    return 0;
}

static bool has_object_form(struct copy *c, const struct git_change *change)
{
    unsigned char sum[HASH_BYTES];
    unsigned id = c->layer->hex / 2;
    /* A zlib stream begins so. */
    if (change->kind == GIT_OBJECT)
        return c->size > 2 && (c->start[0] & 0x0f) == 8 &&
               (c->start[0] * 256 + c->start[1]) % 31 == 0;
    if (str_ends(str_of(change->path), STR(".pack")) && memcmp(c->start, "PACK", 4) != 0)
        return false;
    if (id == SHA1_BYTES)
        sha1_end(&c->sha1, sum);
    else
        hash_end_raw(&c->sha256, sum);
    return memcmp(sum, c->end, id) == 0;
}

static int put_object_in_place(struct git_layer *layer, const struct git_change *c)
{
    const char *name;
    FD_AT_END int parent = git_file_parent(layer->git, c->path, true, &name);
    if (parent < 0)
        return parent;
    if (renameat2(layer->git, c->temp, parent, name, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == EEXIST ? 0 : -errno;
}

/* 1: it has not the form it should have. */
static int copy_object_file(struct git_import *im, struct git_layer *layer, struct git_change *c)
{
    struct stat st;
    FD_AT_END int from = git_file_open(layer->upper, c->path, &st);
    FD_AT_END int to = -1;
    if (from < 0)
        return 1;
    struct copy *copy = mem_zero(sizeof *copy);
    *copy = (struct copy){.im = im, .layer = layer, .size = st.st_size};
    int r = c->kind == GIT_PACK && st.st_size <= (int64_t)(layer->hex / 2);
    if (r == 0 && beneath_create(layer->git, c->temp, &to) < 0)
        r = -errno;
    if (r == 0)
        r = copy_object_bytes(copy, from, to);
    if (r == 0 && !has_object_form(copy, c))
        r = 1;
    if (r == 0 && fchmod(to, c->mode) < 0)
        r = -errno;
    if (r == 0 && im->q->fsync && fsync(to) < 0)
        r = -errno;
    free(copy);
    return r;
}

static int take_one(struct git_import *im, struct git_layer *layer, struct git_change *c,
                    struct err *err)
{
    git_temp_name(im, c->temp);
    int r = copy_object_file(im, layer, c);
    if (r == 0)
        r = put_object_in_place(layer, c);
    /* It is gone where it was put in its place. */
    (void)unlinkat(layer->git, c->temp, 0);
    if (r > 0) {
        /* What refers to it would find nothing. */
        git_drop(im, layer, c->path, true);
        return 0;
    }
    im->reply->taken += r == 0;
    if (r == -ECANCELED)
        return work_check_cancel(im->w, err);
    return r < 0 ? beneath_errno(err, -r, layer->path) : 0;
}

/* Git finds a pack by its index, so that comes last. */
static bool is_turn_of(const struct git_change *c, int turn)
{
    if (c->kind == GIT_OBJECT)
        return turn == 0;
    return c->kind == GIT_PACK && (str_ends(str_of(c->path), STR(".idx")) ? turn == 2 : turn == 1);
}

int git_objects_take(struct git_import *im, struct git_layer *layer, struct err *err)
{
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < layer->n; i++) {
            if (is_turn_of(&layer->changes[i], turn) &&
                take_one(im, layer, &layer->changes[i], err) < 0)
                return -1;
        }
    }
    return 0;
}
