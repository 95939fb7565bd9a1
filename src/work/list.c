#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/glob.h"
#include "work/work.h"

/* Names held at once; beyond it the listing says that it is cut. */
#define NAMES_MAX ((size_t)32 << 20)
/* Folders in one another that are gone into: each costs a descriptor. */
#define DEPTH_MAX 200
#define SECONDS_MAX 9000000000000000

/* One folder: its names are read, sorted and then gone through. */
struct level {
    int fd;
    size_t prefix;      /* length of the way to it in listing.path */
    struct buf text;    /* d_type, name, NUL */
    struct buf offsets; /* uint32_t into text */
    size_t next;
};

struct listing {
    struct work *w;
    const struct op_list_request *q;
    struct glob *glob;
    struct glob *exclude;
    struct level *levels;
    int depth;
    char path[PATH_TEXT_MAX]; /* of the entry at hand, seen from the folder that is listed */
    size_t names_bytes;
    int64_t count;
    bool truncated;
};

static void level_done(struct listing *l)
{
    struct level *level = &l->levels[--l->depth];
    l->names_bytes -= level->text.len;
    fd_closep(&level->fd);
    buf_done(&level->text);
    buf_done(&level->offsets);
}

static void listing_done(struct listing *l)
{
    while (l->depth > 0)
        level_done(l);
    free(l->levels);
    glob_free(l->glob);
    glob_free(l->exclude);
}

enum file_type work_file_type(mode_t mode)
{
    if (S_ISREG(mode))
        return TYPE_FILE;
    if (S_ISDIR(mode))
        return TYPE_DIRECTORY;
    return S_ISLNK(mode) ? TYPE_SYMLINK : TYPE_OTHER;
}

/* Some file systems keep any number of seconds, more than fit as milliseconds. */
static int64_t mtime_ms(const struct stat *st)
{
    int64_t seconds = st->st_mtim.tv_sec;
    if (seconds > SECONDS_MAX || seconds < -SECONDS_MAX)
        return seconds < 0 ? -SECONDS_MAX * 1000 : SECONDS_MAX * 1000;
    return seconds * 1000 + st->st_mtim.tv_nsec / 1000000;
}

static unsigned char type_of(int dir, const struct dirent64 *d)
{
    struct stat st;
    if (d->d_type != DT_UNKNOWN)
        return d->d_type;
    return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? IFTODT(st.st_mode) : DT_UNKNOWN;
}

static bool wanted(const struct op_list_request *q, const char *name, unsigned char type)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    if (name[0] == '.' && !q->hidden)
        return false;
    if (strncmp(name, OP_TEMP_PREFIX, strlen(OP_TEMP_PREFIX)) == 0)
        return false;
    return !q->skip_symlinks || type != DT_LNK;
}

static void add_name(struct listing *l, struct level *level, unsigned char type, const char *name)
{
    uint32_t offset = (uint32_t)level->text.len;
    size_t n = strlen(name) + 1;
    if (l->names_bytes + n + 1 > NAMES_MAX) {
        l->truncated = true;
        return;
    }
    buf_add(&level->text, &type, 1);
    buf_add(&level->text, name, n);
    buf_add(&level->offsets, &offset, sizeof offset);
    l->names_bytes += n + 1;
}

static int compare(const void *a, const void *b, void *text)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    return strcmp((const char *)text + *x + 1, (const char *)text + *y + 1);
}

static int read_names(struct listing *l, struct level *level, struct err *err)
{
    for (;;) {
        if (work_check_cancel(l->w, err) < 0)
            return -1;
        ssize_t got = getdents64(level->fd, l->w->chunk, WORK_CHUNK);
        if (got < 0)
            return beneath_errno(err, errno, l->q->path.p);
        if (got == 0)
            break;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *d = (const void *)(l->w->chunk + at);
            at += d->d_reclen;
            unsigned char type = type_of(level->fd, d);
            if (wanted(l->q, d->d_name, type))
                add_name(l, level, type, d->d_name);
        }
    }
    size_t count = level->offsets.len / sizeof(uint32_t);
    if (count)
        qsort_r(level->offsets.data, count, sizeof(uint32_t), compare, level->text.data);
    if (level->text.failed || level->offsets.failed)
        return err_set(err, ERR_OUTPUT_LIMIT, "the folder has too many entries for one answer");
    return 0;
}

static int enter(struct listing *l, int fd, size_t prefix, struct err *err)
{
    struct level *level = &l->levels[l->depth++];
    *level = (struct level){fd, prefix, BUF_INIT(NAMES_MAX + (1u << 20)), BUF_INIT(4 * NAMES_MAX),
                            0};
    return read_names(l, level, err);
}

static bool is_listed(const struct listing *l, struct str path, bool folder)
{
    if (!l->glob)
        return true;
    return (folder || !glob_folders_only(l->glob)) && glob_match(l->glob, path);
}

static bool is_excluded(const struct listing *l, struct str path, bool folder)
{
    return l->exclude && (folder || !glob_folders_only(l->exclude)) && glob_match(l->exclude, path);
}

static void add_entry(struct listing *l, const struct level *level, const char *name,
                      struct str path)
{
    struct stat st;
    if (l->count == l->q->max_entries) {
        l->truncated = true;
        return;
    }
    /* Gone since it was listed: then it is not there. */
    if (fstatat(level->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    struct op_entry entry = {
        .type = work_file_type(st.st_mode),
        .size = st.st_size,
        .mtime_ms = mtime_ms(&st),
        .name = path,
    };
    op_entry_add(&l->w->body, &entry);
    l->count++;
}

/* Into a folder of the one at hand. What cannot be opened is left out: it is listed by its name. */
static int go_into(struct listing *l, const struct level *level, const char *name, size_t length,
                   struct err *err)
{
    struct str path = {l->path, length};
    if (l->glob && !glob_may_match_beneath(l->glob, path))
        return 0;
    if (l->depth == DEPTH_MAX || length + PATH_NAME_MAX + 2 > sizeof l->path) {
        l->truncated = true;
        return 0;
    }
    int fd = beneath_open_child(level->fd, name);
    if (fd < 0)
        return 0;
    l->path[length] = '/';
    return enter(l, fd, length + 1, err);
}

static int next_entry(struct listing *l, struct err *err)
{
    struct level *level = &l->levels[l->depth - 1];
    if (level->next == level->offsets.len / sizeof(uint32_t)) {
        level_done(l);
        return 0;
    }
    uint32_t offset;
    memcpy(&offset, level->offsets.data + sizeof offset * level->next++, sizeof offset);
    const char *name = level->text.data + offset + 1;
    bool folder = level->text.data[offset] == DT_DIR;
    size_t length = level->prefix + strlen(name);
    memcpy(l->path + level->prefix, name, strlen(name));
    struct str path = {l->path, length};
    if (is_excluded(l, path, folder))
        return 0;
    if (is_listed(l, path, folder))
        add_entry(l, level, name, path);
    return folder && l->q->recursive && !l->truncated ? go_into(l, level, name, length, err) : 0;
}

static int compile(struct str pattern, bool anywhere, struct glob **ret, struct err *err)
{
    *ret = pattern.p ? glob_compile(pattern, anywhere, err) : NULL;
    return pattern.p && !*ret ? -1 : 0;
}

int work_list(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_list_request *q = &request->list;
    const struct beneath_root *root = work_root(w, q->root, q->no_links, err);
    CLEANUP(listing_done) struct listing l = {.w = w, .q = q};
    FD_AT_END int dir = -1;
    if (!root || compile(q->glob, false, &l.glob, err) < 0 ||
        compile(q->exclude, true, &l.exclude, err) < 0 ||
        beneath_open(root, q->path.p, O_RDONLY | O_DIRECTORY, &dir, err) < 0)
        return -1;
    if (q->recursive)
        work_slow(w);
    l.levels = mem_zero((q->recursive ? DEPTH_MAX : 1) * sizeof *l.levels);
    if (enter(&l, TAKE_FD(dir), 0, err) < 0)
        return -1;
    while (l.depth > 0 && !(l.truncated && l.count == q->max_entries)) {
        if (work_check_cancel(w, err) < 0 || next_entry(&l, err) < 0)
            return -1;
    }
    if (w->body.failed)
        return err_set(err, ERR_OUTPUT_LIMIT, "the folder has too many entries for one answer");
    reply->list = (struct op_list_reply){l.count, l.truncated};
    return 0;
}

int work_stat(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_stat_request *q = &request->stat;
    const struct beneath_root *root = work_root(w, q->root, q->no_links, err);
    bool link;
    FD_AT_END int fd = -1;
    CLEANUP(fd_closep) int dir = -1;
    struct beneath_place place = {.dir = -1};
    struct stat st;
    if (!root || beneath_is_link(root, q->path.p, &link, err) < 0)
        return -1;
    if (link && q->no_links) {
        if (beneath_entry(root, q->path.p, &place, err) < 0)
            return -1;
        dir = place.dir;
        if (fstatat(dir, place.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return beneath_errno(err, errno, q->path.p);
    } else if (beneath_open(root, q->path.p, O_PATH, &fd, err) < 0) {
        return -1;
    } else if (fstat(fd, &st) < 0) {
        return beneath_errno(err, errno, q->path.p);
    }
    reply->stat = (struct op_stat_reply){
        .type = work_file_type(st.st_mode),
        .size = st.st_size,
        .mode = st.st_mode & 07777,
        .mtime_ms = mtime_ms(&st),
        .symlink = link,
    };
    return 0;
}
