#include "work/git_base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "work/beneath.h"
#include "work/git_files.h"

#define BASE_MAX ((size_t)256 << 20)
#define DEPTH_MAX 40
#define READ_BYTES (64u << 10)
#define IDENTITY_MAX (HASH_HEX + 1)

/* A log only grows, and may be long: it is known by its inode and times. */
static bool is_log_path(const char *path)
{
    const char *logs = strstr(path, "logs/");
    return logs && (logs == path || logs[-1] == '/');
}

static int hash_file(int fd, char out[IDENTITY_MAX])
{
    FREE_AT_END char *buffer = mem_zero(READ_BYTES);
    struct hash h;
    hash_begin(&h);
    for (ssize_t n; (n = read(fd, buffer, READ_BYTES)) != 0;) {
        if (n < 0)
            return -errno;
        hash_add(&h, buffer, (size_t)n);
    }
    hash_end_hex(&h, out);
    return 0;
}

/* Which directory it is: another may take its place, and be like it. */
static void identify_directory(int git, char out[IDENTITY_MAX])
{
    struct statx st;
    if (statx(git, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
        snprintf(out, IDENTITY_MAX, "?");
    else
        snprintf(out, IDENTITY_MAX, "%x:%x %llx %llx.%x", st.stx_dev_major, st.stx_dev_minor,
                 (unsigned long long)st.stx_ino, (unsigned long long)st.stx_btime.tv_sec,
                 st.stx_btime.tv_nsec);
}

/* `-` where there is none. */
static void identify_base_file(int git, const char *path, char out[IDENTITY_MAX])
{
    struct stat st;
    if (strcmp(path, GIT_BASE_DIRECTORY) == 0) {
        identify_directory(git, out);
        return;
    }
    FD_AT_END int fd = git_file_open(git, path, &st);
    if (fd < 0)
        snprintf(out, IDENTITY_MAX, "%s", fd == -ENOENT || fd == -ENOTDIR ? "-" : "?");
    else if (is_log_path(path))
        snprintf(out, IDENTITY_MAX, "%llx %llx %llx.%lx", (unsigned long long)st.st_ino,
                 (unsigned long long)st.st_size, (unsigned long long)st.st_ctim.tv_sec,
                 (unsigned long)st.st_ctim.tv_nsec);
    else if (hash_file(fd, out) < 0)
        snprintf(out, IDENTITY_MAX, "?");
}

struct walk {
    int git;
    struct buf out;
    char path[PATH_TEXT_MAX];
    int depth;
};

/* Packed: identity, path, a NUL behind each. */
static void note_base_file(struct walk *w)
{
    char identity[IDENTITY_MAX];
    identify_base_file(w->git, w->path, identity);
    if (strcmp(identity, "-") == 0)
        return;
    buf_add(&w->out, identity, strlen(identity) + 1);
    buf_add(&w->out, w->path, strlen(w->path) + 1);
}

typedef int (*visit_fn)(struct walk *w, size_t n, bool folder);

/* Calls `visit` with w->path set to each entry of the folder that its first `n` bytes name. */
static int visit_base_entries(struct walk *w, size_t n, visit_fn visit)
{
    BUF_AT_END struct buf names = BUF_INIT(BASE_MAX);
    w->path[n] = '\0';
    if (++w->depth > DEPTH_MAX)
        return -E2BIG;
    FD_AT_END int dir = beneath_open_child(w->git, n ? w->path : ".");
    int r = dir < 0 ? 0 : git_file_list(dir, &names);
    for (size_t at = 0; r == 0 && at < names.len; at += strlen(names.data + at) + 1) {
        struct stat st;
        const char *name = names.data + at;
        size_t length = strlen(name);
        if (n + length + 2 > sizeof w->path)
            return -ENAMETOOLONG;
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        snprintf(w->path + n, sizeof w->path - n, "%s%s", n ? "/" : "", name);
        r = visit(w, strlen(w->path), S_ISDIR(st.st_mode));
    }
    w->depth--;
    return w->out.failed ? -E2BIG : r;
}

static int visit_refs(struct walk *w, size_t n, bool folder)
{
    if (folder)
        return visit_base_entries(w, n, visit_refs);
    note_base_file(w);
    return 0;
}

static int visit_modules(struct walk *w, size_t n, bool folder);

static int look_at_repository(struct walk *w, size_t n)
{
    static const char *const files[] = {"HEAD", "index", "packed-refs"};
    static const struct {
        const char *name;
        visit_fn visit;
    } folders[] = {{"refs", visit_refs},
                   {"logs", visit_refs},
                   {"modules", visit_modules},
                   {"worktrees", visit_modules}};
    int r = 0;
    if (n + 16 > sizeof w->path)
        return -ENAMETOOLONG;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(w->path + n, sizeof w->path - n, "%s%s", n ? "/" : "", files[i]);
        note_base_file(w);
    }
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(folders); i++) {
        snprintf(w->path + n, sizeof w->path - n, "%s%s", n ? "/" : "", folders[i].name);
        r = visit_base_entries(w, strlen(w->path), folders[i].visit);
    }
    return r;
}

/* Submodules whose names have several parts lie deeper. */
static int visit_modules(struct walk *w, size_t n, bool folder)
{
    struct stat st;
    if (!folder || n + 6 > sizeof w->path)
        return 0;
    snprintf(w->path + n, sizeof w->path - n, "/HEAD");
    bool found = git_file_stat(w->git, w->path, &st) == 0;
    return found ? look_at_repository(w, n) : visit_base_entries(w, n, visit_modules);
}

int git_base_write(int git, int layer, const char *path, struct err *err)
{
    struct walk *w = mem_zero(sizeof *w);
    FD_AT_END int fd = -1;
    w->git = git;
    buf_init(&w->out, BASE_MAX);
    snprintf(w->path, sizeof w->path, GIT_BASE_DIRECTORY);
    note_base_file(w);
    int r = look_at_repository(w, 0);
    if (r == 0 && beneath_create(layer, GIT_BASE_FILE, &fd) < 0)
        r = -errno;
    if (r == 0)
        r = fd_write_all(fd, w->out.data, w->out.len);
    buf_done(&w->out);
    free(w);
    if (r == -E2BIG || r == -ENAMETOOLONG)
        return err_set(err, ERR_TOO_LARGE, "`%s` has more refs, or deeper ones, than can be noted",
                       path);
    return r < 0 ? err_set(err, ERR_INTERNAL, "noting the refs of `%s`: %s", path, strerror(-r))
                 : 0;
}

static const char *path_of(const char *row)
{
    return row + strlen(row) + 1;
}

static int compare_base_rows(const void *a, const void *b)
{
    return strcmp(path_of(*(char *const *)a), path_of(*(char *const *)b));
}

int git_base_read(struct git_base *base, int layer, struct err *err)
{
    *base = (struct git_base){.bytes = BUF_INIT(BASE_MAX + 1)};
    int r = git_file_read(layer, GIT_BASE_FILE, BASE_MAX, &base->bytes);
    if (r < 0)
        return err_set(err, ERR_INTERNAL, "reading what was noted of refs: %s", strerror(-r));
    size_t ends = 0;
    for (size_t i = 0; i < base->bytes.len; i++)
        ends += base->bytes.data[i] == '\0';
    base->rows = mem_zero((ends + 1) * sizeof *base->rows);
    for (size_t at = 0; ends >= 2; ends -= 2) {
        base->rows[base->n++] = base->bytes.data + at;
        const char *path = path_of(base->bytes.data + at);
        at = (size_t)(path - base->bytes.data) + strlen(path) + 1;
    }
    if (base->n)
        qsort(base->rows, base->n, sizeof *base->rows, compare_base_rows);
    return 0;
}

void git_base_done(struct git_base *base)
{
    buf_done(&base->bytes);
    free(base->rows);
    *base = (struct git_base){0};
}

bool git_base_holds(const struct git_base *base, int git, const char *path)
{
    char now[IDENTITY_MAX];
    const char *then = "-";
    for (size_t low = 0, high = base->n; low < high;) {
        size_t middle = (low + high) / 2;
        int r = strcmp(path, path_of(base->rows[middle]));
        if (r == 0) {
            then = base->rows[middle];
            break;
        }
        if (r < 0)
            high = middle;
        else
            low = middle + 1;
    }
    identify_base_file(git, path, now);
    return strcmp(now, "?") != 0 && strcmp(now, then) == 0;
}
