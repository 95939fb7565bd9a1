#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/work.h"

/* Names of one folder held at once; beyond it the listing says that it is cut. */
#define NAMES_MAX ((size_t)32 << 20)
#define SECONDS_MAX 9000000000000000

struct names {
    struct buf text;    /* names with a NUL behind each */
    struct buf offsets; /* uint32_t into text */
    bool overflow;
};

static void names_done(struct names *names)
{
    buf_done(&names->text);
    buf_done(&names->offsets);
}

static enum file_type type_of(mode_t mode)
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

static bool is_link(int dir, const struct dirent64 *d)
{
    struct stat st;
    if (d->d_type != DT_UNKNOWN)
        return d->d_type == DT_LNK;
    return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

static bool wanted(const struct op_list_request *q, int dir, const struct dirent64 *d)
{
    const char *name = d->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    if (name[0] == '.' && !q->hidden)
        return false;
    if (strncmp(name, OP_TEMP_PREFIX, strlen(OP_TEMP_PREFIX)) == 0)
        return false;
    return !q->skip_symlinks || !is_link(dir, d);
}

static void add_name(struct names *names, const char *name)
{
    uint32_t offset = (uint32_t)names->text.len;
    size_t n = strlen(name) + 1;
    if (names->text.len + n > NAMES_MAX) {
        names->overflow = true;
        return;
    }
    buf_add(&names->text, name, n);
    buf_add(&names->offsets, &offset, sizeof offset);
}

static int collect(struct work *w, int dir, const struct op_list_request *q, struct names *names,
                   struct err *err)
{
    for (;;) {
        if (work_check_cancel(w, err) < 0)
            return -1;
        ssize_t got = getdents64(dir, w->chunk, WORK_CHUNK);
        if (got < 0)
            return beneath_errno(err, errno, q->path.p);
        if (got == 0)
            return 0;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *d = (const void *)(w->chunk + at);
            at += d->d_reclen;
            if (wanted(q, dir, d))
                add_name(names, d->d_name);
        }
    }
}

static int compare(const void *a, const void *b, void *text)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    return strcmp((const char *)text + *x, (const char *)text + *y);
}

static void add_entry(struct work *w, int dir, const char *name)
{
    struct stat st;
    /* Gone since it was listed: then it is not there. */
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    struct op_entry entry = {
        .type = type_of(st.st_mode),
        .size = st.st_size,
        .mtime_ms = mtime_ms(&st),
        .name = {name, strlen(name)},
    };
    op_entry_add(&w->body, &entry);
}

int work_list(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_list_request *q = &request->list;
    const struct beneath_root *root = work_root(w, q->root, err);
    FD_AT_END int dir = -1;
    if (!root || beneath_open(root, q->path.p, O_RDONLY | O_DIRECTORY, &dir, err) < 0)
        return -1;
    CLEANUP(names_done)
    struct names names = {.text = BUF_INIT(NAMES_MAX), .offsets = BUF_INIT(4 * NAMES_MAX)};
    if (collect(w, dir, q, &names, err) < 0)
        return -1;
    size_t count = names.offsets.len / sizeof(uint32_t);
    uint32_t *offsets = (void *)names.offsets.data;
    if (count)
        qsort_r(offsets, count, sizeof *offsets, compare, names.text.data);
    size_t shown = (int64_t)count < q->max_entries ? count : (size_t)q->max_entries;
    for (size_t i = 0; offsets && i < shown; i++)
        add_entry(w, dir, names.text.data + offsets[i]);
    if (w->body.failed || names.text.failed || names.offsets.failed)
        return err_set(err, ERR_OUTPUT_LIMIT, "the folder has too many entries for one answer");
    reply->list = (struct op_list_reply){(int64_t)shown, shown < count || names.overflow};
    return 0;
}

int work_stat(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_stat_request *q = &request->stat;
    const struct beneath_root *root = work_root(w, q->root, err);
    bool link;
    FD_AT_END int fd = -1;
    struct stat st;
    if (!root || beneath_is_link(root, q->path.p, &link, err) < 0 ||
        beneath_open(root, q->path.p, O_PATH, &fd, err) < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return beneath_errno(err, errno, q->path.p);
    reply->stat = (struct op_stat_reply){
        .type = type_of(st.st_mode),
        .size = st.st_size,
        .mode = st.st_mode & 07777,
        .mtime_ms = mtime_ms(&st),
        .symlink = link,
    };
    return 0;
}
