#include "work/git_plain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "work/beneath.h"
#include "work/dir_entries.h"
#include "work/git_index.h"
#include "work/git_names.h"

#define CONFIG_BYTES_MAX (64u << 10)
#define FILE_BYTES_MAX ((size_t)64 << 20)
/* Refs and logs, and how deep; and objects, of which there may be many. */
#define ENTRIES_MAX 20000
#define OBJECTS_MAX 2000000
#define DEPTH_MAX 32
#define NAME_BYTES_MAX 1024

struct look {
    unsigned hex;
    size_t entries;
    size_t objects;
    int depth;
    char path[NAME_BYTES_MAX]; /* of the entry, from the git directory on */
    size_t path_n;
};

/* What is in a folder. */
struct inside {
    bool head;
    bool rest; /* of what makes git take it for a repository */
};

/* False: it is not there, not a file, or larger than the buffer may get. */
static bool read_plain_git_file(int dir, const char *name, struct buf *ret)
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

static bool is_plain_packed_refs(struct str text, unsigned hex)
{
    return git_is_packed_refs(text, (struct str){0}, hex);
}

static const struct {
    const char *path;
    git_check check; /* NULL: it is looked at by itself, or git checks it */
} plain_files[] = {
    {"HEAD", NULL},
    {"config", NULL},
    {"index", NULL},
    {"description", git_is_text},
    {"packed-refs", is_plain_packed_refs},
    {"ORIG_HEAD", git_is_ids},
    {"COMMIT_EDITMSG", git_is_text},
    {"FETCH_HEAD", git_is_fetch_head},
    {"shallow", git_is_ids},
    {"info/exclude", git_is_text},
    {"info/refs", git_is_text},
    {"objects/info/packs", NULL},
    {"objects/info/commit-graph", NULL},
};

static const char *const plain_folders[] = {"hooks",        "info",         "branches", "objects",
                                            "objects/info", "objects/pack", "refs",     "logs"};

static bool never(void *arg, struct str path)
{
    (void)arg;
    (void)path;
    return false;
}

static bool is_sample(struct str path)
{
    static const char folder[] = "hooks/";
    static const char end[] = ".sample";
    size_t both = sizeof folder + sizeof end - 2;
    return path.n > both && memcmp(path.p, folder, sizeof folder - 1) == 0 &&
           memcmp(path.p + path.n - (sizeof end - 1), end, sizeof end - 1) == 0;
}

static bool holds_checked_text(int dir, const char *name, git_check check, unsigned hex)
{
    BUF_AT_END struct buf text = BUF_INIT(FILE_BYTES_MAX);
    return read_plain_git_file(dir, name, &text) && check(buf_str(&text), hex);
}

static bool is_plain_file(struct look *look, int dir, const char *name, const struct stat *st)
{
    struct str path = {look->path, look->path_n};
    struct git_name known = git_name_of(path, look->hex, never, NULL);
    if (known.kind == GIT_OBJECT || known.kind == GIT_PACK)
        return ++look->objects <= OBJECTS_MAX;
    /* By another name it could be changed later. A clone shares objects, which git checks, with the repository that it was
     * made from. */
    if (++look->entries > ENTRIES_MAX || (st->st_nlink != 1 && !git_is_among_objects(path)))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(plain_files); i++) {
        if (str_is(path, plain_files[i].path))
            return !plain_files[i].check ||
                   holds_checked_text(dir, name, plain_files[i].check, look->hex);
    }
    if (known.kind == GIT_REF || known.kind == GIT_LOG)
        return holds_checked_text(dir, name, known.check, look->hex);
    return is_sample(path);
}

static bool is_of_objects(struct str path)
{
    static const char digits[] = "0123456789abcdef";
    return path.n == 10 && memcmp(path.p, "objects/", 8) == 0 && memchr(digits, path.p[8], 16) &&
           memchr(digits, path.p[9], 16);
}

static bool is_of_refs(struct str path)
{
    static const char logs[] = "logs/";
    if (path.n > sizeof logs - 1 && memcmp(path.p, logs, sizeof logs - 1) == 0)
        path = (struct str){path.p + sizeof logs - 1, path.n - (sizeof logs - 1)};
    return str_is(path, "refs") || git_is_ref_name(path);
}

static bool are_all_entries_plain(struct look *look, int parent, const char *name);

static bool is_plain_folder(struct look *look, int dir, const char *name)
{
    struct str path = {look->path, look->path_n};
    bool known = is_of_objects(path) || is_of_refs(path);
    for (size_t i = 0; !known && i < ARRAY_LEN(plain_folders); i++)
        known = str_is(path, plain_folders[i]);
    return known && ++look->entries <= ENTRIES_MAX && are_all_entries_plain(look, dir, name);
}

static bool is_plain_entry(struct look *look, int dir, const char *name)
{
    struct stat st;
    size_t before = look->path_n;
    int n = snprintf(look->path + before, sizeof look->path - before, "%s%s", before ? "/" : "",
                     name);
    if ((size_t)n >= sizeof look->path - before || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    look->path_n = before + (size_t)n;
    bool plain = S_ISREG(st.st_mode)   ? is_plain_file(look, dir, name, &st)
                 : S_ISDIR(st.st_mode) ? is_plain_folder(look, dir, name)
                                       : false;
    look->path_n = before;
    return plain;
}

/* Names of refs can be those of a repository's parts: git would take the folder for one. */
static bool looks_like_repository(const struct look *look, struct inside *in, const char *name)
{
    in->head |= strcasecmp(name, "HEAD") == 0;
    in->rest |= strcasecmp(name, "objects") == 0 || strcasecmp(name, "commondir") == 0;
    return in->head && in->rest && look->path_n > 0;
}

/* No entry is left out, at any depth: links to a folder of it would make git read what is there. */
static bool are_all_entries_plain(struct look *look, int parent, const char *name)
{
    FD_AT_END int dir = beneath_open_child(parent, name);
    DIR_ENTRIES_AT_END struct dir_entries all = {.dir = dir};
    struct inside in = {0};
    bool plain = true;
    if (dir < 0 || look->depth == DEPTH_MAX)
        return false;
    look->depth++;
    for (const struct dirent64 *d; plain && (d = dir_entries_next(&all));)
        plain = !looks_like_repository(look, &in, d->d_name) &&
                is_plain_entry(look, dir, d->d_name);
    look->depth--;
    return plain && !all.error;
}

/* Git writes the files that an index lists without a look at their names. It may have submodules: their git directories
 * are looked at by themselves. */
static bool is_plain_index(int dir, unsigned hex)
{
    BUF_AT_END struct buf bytes = BUF_INIT(FILE_BYTES_MAX);
    if (faccessat(dir, "index", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    return read_plain_git_file(dir, "index", &bytes) && !git_index_check(buf_str(&bytes), hex);
}

static bool is_plain_config(int dir, unsigned *ret_hex)
{
    BUF_AT_END struct buf text = BUF_INIT(CONFIG_BYTES_MAX);
    if (!read_plain_git_file(dir, "config", &text) || !git_config_is_plain(buf_str(&text)))
        return false;
    *ret_hex = git_config_has_sha256(buf_str(&text)) ? GIT_SHA256_HEX : GIT_SHA1_HEX;
    return true;
}

bool git_directory_is_plain(int dir)
{
    struct look look = {0};
    return is_plain_config(dir, &look.hex) &&
           holds_checked_text(dir, "HEAD", git_is_ref, look.hex) && is_plain_index(dir, look.hex) &&
           are_all_entries_plain(&look, dir, ".");
}
