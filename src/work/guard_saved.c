#include "work/guard_saved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "work/beneath_walk.h"
#include "work/guard_index.h"
#include "work/guard_known.h"
#include "work/work.h"

#define SEED_FILE "seed"
/* Somebody who made the file of the seed writes it at once. */
#define SEED_TRIES 100
#define SEED_WAIT_NS 100000
/* Other gates save as well; each time there is less that is new. */
#define WRITE_TRIES 8
#define NAME_BYTES 64

static void name_saved_index(size_t number, const char *suffix, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "guards-%zu%s", number, suffix);
}

/* Neither a rename nor another link to it changes these. */
static int look_at_saved(int dir, const char *name, struct saved_id *ret)
{
    struct statx st;
    int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
    if (statx(dir, name, flags, STATX_INO | STATX_BTIME | STATX_MTIME, &st) < 0)
        return -errno;
    *ret = (struct saved_id){.file = {.inode = st.stx_ino},
                             .written = {st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec}};
    if (st.stx_mask & STATX_BTIME)
        ret->file.born = (struct tree_time){st.stx_btime.tv_sec, st.stx_btime.tv_nsec};
    return 0;
}

static bool is_same_saved(const struct saved_id *a, const struct saved_id *b)
{
    return tree_same_id(&a->file, &b->file) && a->written.sec == b->written.sec &&
           a->written.nsec == b->written.nsec;
}

/* 0: there is none. */
static int read_saved_index(int store, const char *name, struct buf *ret, struct saved_id *ret_id)
{
    struct stat st;
    FD_AT_END int fd = beneath_open_child_file(store, name);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_is_shortage(errno) ? -errno : -EBADMSG;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size <= 0 || (size_t)st.st_size > INDEX_BYTES_MAX)
        return -EBADMSG;
    if (buf_reserve(ret, (size_t)st.st_size) < 0)
        return -ENOMEM;
    ssize_t n = fd_read_upto(fd, ret->data, (size_t)st.st_size);
    ret->len = n > 0 ? (size_t)n : 0;
    if (n < 0)
        return (int)n;
    int error = look_at_saved(fd, "", ret_id);
    return error < 0 ? error : 1;
}

int guard_saved_load(struct guard_root *at, int store, size_t number, struct tree *ret_other)
{
    char name[NAME_BYTES];
    struct tree_time time = tree_now();
    name_saved_index(number, "", name);
    at->saved = (struct saved_id){0};
    if (store < 0)
        return 0;
    BUF_AT_END struct buf bytes = BUF_INIT(INDEX_BYTES_MAX);
    int r = read_saved_index(store, name, &bytes, &at->saved);
    if (r <= 0)
        return r;
    if (index_read(buf_str(&bytes), at->rules, &time, &at->tree))
        return 1;
    if (index_read(buf_str(&bytes), NULL, NULL, ret_other))
        return 0;
    return index_is_whole(buf_str(&bytes)) ? 0 : -EBADMSG;
}

/* What another gate has put into the store under this name. */
static int merge_saved_index(struct guard_root *at, int store, const char *name)
{
    struct saved_id id = {0};
    CLEANUP(tree_done) struct tree other = {0};
    BUF_AT_END struct buf bytes = BUF_INIT(INDEX_BYTES_MAX);
    int r = read_saved_index(store, name, &bytes, &id);
    if (r <= 0)
        return r;
    bool alike = index_read(buf_str(&bytes), at->rules, NULL, &other);
    if (!alike && !index_read(buf_str(&bytes), NULL, NULL, &other))
        return index_is_whole(buf_str(&bytes)) ? 0 : -EBADMSG;
    at->saved = id;
    /* Somebody removed the index that this one began with: the hashes of the two mean different names. */
    if (other.seed != at->tree.seed)
        return 0;
    if (guard_known_merge(&at->tree, &other, !alike)) {
        at->look_again |= !guard_known_all_guarded(&at->tree);
        at->unsaved = true;
    }
    return 0;
}

int guard_saved_take(struct guard_root *at, int store, size_t number)
{
    char name[NAME_BYTES];
    struct saved_id now = {0};
    name_saved_index(number, "", name);
    if (store < 0 || look_at_saved(store, name, &now) < 0 || is_same_saved(&now, &at->saved))
        return 0;
    return merge_saved_index(at, store, name);
}

static int write_temporary(const struct guard_root *at, int store, const char *temporary,
                           struct saved_id *ret)
{
    struct tree_time time = tree_now();
    BUF_AT_END struct buf bytes = BUF_INIT(INDEX_BYTES_MAX);
    if (index_write(&at->tree, at->rules, &time, &bytes) < 0)
        return -ENOMEM;
    FD_AT_END int fd = -1;
    if (beneath_create(store, temporary, &fd) < 0)
        return -errno;
    int error = fd_write_all(fd, bytes.data, bytes.len);
    return error < 0 ? error : look_at_saved(fd, "", ret);
}

/* 1: what was there has the temporary name now. */
static int put_saved_in_place(int store, const char *temporary, const char *name)
{
    if (renameat2(store, temporary, store, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EEXIST && renameat2(store, temporary, store, name, RENAME_EXCHANGE) == 0)
        return 1;
    /* Not every file system has these. */
    return (errno == EINVAL || errno == ENOENT) && renameat(store, temporary, store, name) == 0
               ? 0
               : -errno;
}

/* The index that was replaced could not be read: it may be the only one that knows of some secrets, so it gets its name
 * again, and the temporary name is left to what was written. */
static void put_replaced_back(struct guard_root *at, int store, const char *temporary,
                              const char *name, const struct saved_id *written)
{
    struct saved_id there = {0};
    if (renameat2(store, temporary, store, name, RENAME_EXCHANGE) < 0) {
        renameat(store, temporary, store, name);
        return;
    }
    /* Unless a third gate saved in between: then that one's index is read. */
    bool own = look_at_saved(store, temporary, &there) == 0 && is_same_saved(&there, written);
    if (own || merge_saved_index(at, store, temporary) == 0)
        unlinkat(store, temporary, 0);
}

/* 1: what it replaced was another gate's, and is to be written as well. */
static int write_once(struct guard_root *at, int store, size_t number)
{
    char name[NAME_BYTES];
    char temporary[NAME_BYTES];
    char unique[32];
    struct saved_id written = {0};
    struct saved_id replaced = {0};
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) < 0)
        return -errno;
    snprintf(unique, sizeof unique, ".%llx", (unsigned long long)random);
    name_saved_index(number, "", name);
    name_saved_index(number, unique, temporary);
    int r = write_temporary(at, store, temporary, &written);
    if (r == 0)
        r = put_saved_in_place(store, temporary, name);
    if (r <= 0) {
        if (r < 0)
            unlinkat(store, temporary, 0);
        else
            at->saved = written;
        return r;
    }
    bool other = look_at_saved(store, temporary, &replaced) < 0 ||
                 !is_same_saved(&replaced, &at->saved);
    at->unsaved = false;
    r = other ? merge_saved_index(at, store, temporary) : 0;
    if (r < 0) {
        put_replaced_back(at, store, temporary, name, &written);
        return r;
    }
    at->saved = written;
    unlinkat(store, temporary, 0);
    return at->unsaved;
}

int guard_saved_write(struct guard_root *at, int store, size_t number)
{
    int r = store >= 0;
    for (int i = 0; r == 1 && i < WRITE_TRIES; i++)
        r = write_once(at, store, number);
    at->reread = 0;
    at->unsaved = r != 0;
    return r < 0 ? r : 0;
}

static bool read_seed(int store, uint64_t *ret)
{
    FD_AT_END int fd = beneath_open_child_file(store, SEED_FILE);
    return fd >= 0 && fd_read_upto(fd, (char *)ret, sizeof *ret) == sizeof *ret;
}

uint64_t guard_saved_seed(int store)
{
    uint64_t seed = 0;
    uint64_t there;
    FD_AT_END int fd = -1;
    if (getrandom(&seed, sizeof seed, 0) < 0)
        seed = (uint64_t)tree_now().nsec;
    if (store < 0)
        return seed;
    if (beneath_create(store, SEED_FILE, &fd) == 0) {
        if (fd_write_all(fd, (const char *)&seed, sizeof seed) == 0)
            return seed;
        /* The next one may have room for it. */
        unlinkat(store, SEED_FILE, 0);
    }
    for (int i = 0; i < SEED_TRIES; i++) {
        if (read_seed(store, &there))
            return there;
        const struct timespec moment = {.tv_nsec = SEED_WAIT_NS};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    }
    /* A gate that died in between: two that begin at the same moment remember less of each other. */
    return seed;
}
