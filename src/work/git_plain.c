#include "work/git_plain.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/beneath.h"
#include "work/git_index.h"
#include "work/git_text.h"

#define LISTING_BYTES (32u << 10)
#define CONFIG_BYTES_MAX (64u << 10)
#define INDEX_BYTES_MAX ((size_t)64 << 20)
/* Refs and logs, and how deep. */
#define ENTRIES_MAX 20000
#define DEPTH_MAX 32

struct look {
    size_t entries;
    int depth;
};

typedef bool (*entry_fn)(struct look *look, int dir, const char *name, mode_t mode);

static bool each_listed(struct look *look, int dir, const char *listing, ssize_t n, entry_fn fn)
{
    for (ssize_t at = 0; at < n;) {
        const struct dirent64 *d = (const void *)(listing + at);
        struct stat st;
        at += d->d_reclen;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (++look->entries > ENTRIES_MAX ||
            fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            /* By another name it could be changed later. */
            (S_ISREG(st.st_mode) && st.st_nlink != 1) || !fn(look, dir, d->d_name, st.st_mode))
            return false;
    }
    return true;
}

/* True: all entries of the folder pass. */
static bool each(struct look *look, int parent, const char *name, entry_fn fn)
{
    FD_AT_END int dir = beneath_open_child(parent, name);
    FREE_AT_END char *listing = mem_zero(LISTING_BYTES);
    ssize_t n = -1;
    if (dir < 0 || look->depth == DEPTH_MAX)
        return false;
    look->depth++;
    while ((n = getdents64(dir, listing, LISTING_BYTES)) > 0) {
        if (!each_listed(look, dir, listing, n, fn))
            break;
    }
    look->depth--;
    return n == 0;
}

static bool is_sample(struct look *look, int dir, const char *name, mode_t mode)
{
    (void)look;
    (void)dir;
    size_t n = strlen(name);
    return S_ISREG(mode) && n > 7 && strcmp(name + n - 7, ".sample") == 0;
}

static bool is_none(struct look *look, int dir, const char *name, mode_t mode)
{
    (void)look;
    (void)dir;
    (void)name;
    (void)mode;
    return false;
}

static bool is_info(struct look *look, int dir, const char *name, mode_t mode)
{
    (void)look;
    (void)dir;
    return S_ISREG(mode) && (strcmp(name, "exclude") == 0 || strcmp(name, "refs") == 0);
}

/* Files in folders, no links: what git writes there must not land elsewhere. */
static bool is_file_or_folder(struct look *look, int dir, const char *name, mode_t mode)
{
    return S_ISREG(mode) || (S_ISDIR(mode) && each(look, dir, name, is_file_or_folder));
}

/* What git gc writes about the objects. */
static bool is_about_objects(struct look *look, int dir, const char *name, mode_t mode)
{
    (void)look;
    (void)dir;
    return S_ISREG(mode) && (strcmp(name, "packs") == 0 || strcmp(name, "commit-graph") == 0);
}

/* Objects of other folders are brought in by objects/info/alternates. Of the objects themselves there may be many, and
 * git checks them when it reads them. */
static bool is_object_folder(struct look *look, int dir, const char *name, mode_t mode)
{
    if (!S_ISDIR(mode))
        return false;
    return strcmp(name, "info") != 0 || each(look, dir, name, is_about_objects);
}

/* False: it is not there, not a file, or larger than the buffer may get. */
static bool read_whole(int dir, const char *name, struct buf *ret)
{
    struct stat st;
    FD_AT_END int fd = beneath_open_child_file(dir, name);
    if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size >= ret->max ||
        buf_reserve(ret, (size_t)st.st_size + 1) < 0)
        return false;
    ssize_t n = fd_read_upto(fd, ret->data, (size_t)st.st_size + 1);
    ret->len = n > 0 ? (size_t)n : 0;
    return n >= 0 && n <= st.st_size;
}

static bool is_plain_config(int dir)
{
    BUF_AT_END struct buf text = BUF_INIT(CONFIG_BYTES_MAX);
    return read_whole(dir, "config", &text) && git_config_is_plain(buf_str(&text));
}

/* Git writes the files that an index lists without a look at their names. It may have submodules: their git directories
 * are looked at by themselves. */
static bool is_plain_index(int dir, unsigned hex)
{
    BUF_AT_END struct buf bytes = BUF_INIT(INDEX_BYTES_MAX);
    if (faccessat(dir, "index", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    return read_whole(dir, "index", &bytes) && !git_index_check(buf_str(&bytes), hex);
}

static bool is_plain_head(int dir, unsigned *ret_hex)
{
    BUF_AT_END struct buf config = BUF_INIT(CONFIG_BYTES_MAX);
    BUF_AT_END struct buf head = BUF_INIT(CONFIG_BYTES_MAX);
    if (!read_whole(dir, "config", &config) || !read_whole(dir, "HEAD", &head))
        return false;
    *ret_hex = git_config_has_sha256(buf_str(&config)) ? GIT_SHA256_HEX : GIT_SHA1_HEX;
    return git_is_ref(buf_str(&head), *ret_hex);
}

static const char *const plain_files[] = {"HEAD",           "config",      "description",
                                          "index",          "packed-refs", "ORIG_HEAD",
                                          "COMMIT_EDITMSG", "FETCH_HEAD",  "shallow"};

static const struct {
    const char *name;
    entry_fn fn;
} plain_folders[] = {
    {"hooks", is_sample},          {"info", is_info},           {"branches", is_none},
    {"objects", is_object_folder}, {"refs", is_file_or_folder}, {"logs", is_file_or_folder},
};

static bool is_plain_entry(struct look *look, int dir, const char *name, mode_t mode)
{
    for (size_t i = 0; S_ISREG(mode) && i < ARRAY_LEN(plain_files); i++) {
        if (strcmp(name, plain_files[i]) == 0)
            return true;
    }
    for (size_t i = 0; S_ISDIR(mode) && i < ARRAY_LEN(plain_folders); i++) {
        if (strcmp(name, plain_folders[i].name) == 0)
            return each(look, dir, name, plain_folders[i].fn);
    }
    return false;
}

bool git_directory_is_plain(int dir)
{
    struct look look = {0};
    unsigned hex;
    return each(&look, dir, ".", is_plain_entry) && is_plain_config(dir) &&
           is_plain_head(dir, &hex) && is_plain_index(dir, hex);
}
