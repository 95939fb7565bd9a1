#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "work/work.h"

/* Folders that are still to be looked into. */
#define QUEUE_MAX ((size_t)64 << 20)
/* From so many folders on it takes more than a moment. */
#define SLOW_FOLDERS 64
#define SLOW_ENTRIES 5000

/* Behind each the path, without a NUL. */
struct queued {
    uint16_t length;
    uint8_t depth;
    bool covered; /* by a protected folder around it */
    bool in_git;
};

/* Folder by folder, those near the root first: what is found before the scan has to end is what counts most. */
struct scan {
    struct work *w;
    const struct op_scan_request *q;
    struct op_scan_reply *reply;
    struct buf queue;
    size_t next; /* in it */
    int64_t entries;
    struct queued folder;     /* the one at hand */
    char path[PATH_TEXT_MAX]; /* its path, and behind that the entry's name */
};

static void scan_done(struct scan *s)
{
    buf_done(&s->queue);
}

/* What machines put there, in numbers, and where nothing of ours is to be found. */
static bool is_passed_by(const struct scan *s, const char *name)
{
    static const char *const anywhere[] = {"node_modules", "bower_components", "__pycache__",
                                           "site-packages"};
    static const char *const in_git[] = {"objects", "lfs", "logs", "refs"};
    for (size_t i = 0; i < ARRAY_LEN(anywhere); i++) {
        if (strcmp(name, anywhere[i]) == 0)
            return true;
    }
    for (size_t i = 0; s->folder.in_git && i < ARRAY_LEN(in_git); i++) {
        if (strcmp(name, in_git[i]) == 0)
            return true;
    }
    return false;
}

static void add(struct scan *s, enum guarded_kind kind, struct str path, unsigned char type)
{
    if (s->reply->count == OP_SCAN_MAX) {
        s->reply->truncated = true;
        return;
    }
    op_guarded_add(&s->w->body, &(struct op_guarded){kind, work_file_type(DTTOIF(type)), path});
    s->reply->count++;
}

static void go_later(struct scan *s, struct str path, const char *name, bool covered)
{
    if (s->folder.depth + 1 > s->q->max_depth) {
        s->reply->truncated = true;
        return;
    }
    struct queued folder = {(uint16_t)path.n, (uint8_t)(s->folder.depth + 1), covered,
                            s->folder.in_git || strcmp(name, ".git") == 0};
    buf_add(&s->queue, &folder, sizeof folder);
    buf_add(&s->queue, path.p, path.n);
    s->reply->truncated |= s->queue.failed;
}

static void look_at(struct scan *s, const char *name, unsigned char type)
{
    size_t n = s->folder.length;
    size_t length = strlen(name);
    if (n + length + 2 > sizeof s->path) {
        s->reply->truncated = true;
        return;
    }
    if (n)
        s->path[n++] = '/';
    memcpy(s->path + n, name, length + 1);
    struct str path = {s->path, n + length};
    const struct guard *guard = s->w->guard;
    const char *rule;
    bool is_folder = type == DT_DIR;
    bool passed_by = is_folder && is_passed_by(s, name);
    enum guard_verdict verdict = GUARD_OPEN;
    if (guard_may_name(guard, (struct str){name, length}))
        verdict = guard_judge(guard, path, is_folder, &rule);
    bool covered = s->folder.covered || verdict == GUARD_PROTECTED;
    if (verdict == GUARD_SECRET)
        add(s, GUARDED_SECRET, path, type);
    else if (verdict == GUARD_PROTECTED && !s->folder.covered)
        add(s, GUARDED_PROTECTED, path, type);
    else if (type == DT_SOCK)
        add(s, GUARDED_SOCKET, path, type);
    else if ((is_folder || type == DT_LNK) && !covered && !passed_by &&
             guard_holds(guard, path, &rule) == GUARD_PROTECTED)
        add(s, GUARDED_WAY, path, type);
    if (is_folder && !passed_by && verdict != GUARD_SECRET)
        go_later(s, path, name, covered);
}

static unsigned char type_of(int dir, const struct dirent64 *d)
{
    struct stat st;
    if (d->d_type != DT_UNKNOWN)
        return d->d_type;
    return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? IFTODT(st.st_mode) : DT_UNKNOWN;
}

/* What may not be opened cannot be opened by others in the cell either. Any other error ends the scan: what is in the
 * folder would not be covered. */
static int look_into(struct scan *s, const struct beneath_root *root, struct err *err)
{
    FD_AT_END int fd = -1;
    s->path[s->folder.length] = '\0';
    const char *path = s->folder.length ? s->path : ".";
    if (beneath_open(root, path, O_RDONLY | O_DIRECTORY, &fd, err) < 0)
        return err->code == ERR_SESSION_BUSY || err->code == ERR_INTERNAL ? -1 : 0;
    for (;;) {
        ssize_t got = getdents64(fd, s->w->chunk, WORK_CHUNK);
        if (got < 0 && !beneath_is_gone(errno))
            return beneath_errno(err, errno, path);
        if (got <= 0)
            return 0;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *d = (const void *)(s->w->chunk + at);
            at += d->d_reclen;
            if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                continue;
            if (s->entries++ == s->q->max_entries) {
                s->reply->truncated = true;
                return 0;
            }
            if (s->entries == SLOW_ENTRIES)
                work_slow(s->w);
            look_at(s, d->d_name, type_of(fd, d));
        }
    }
}

static bool next_folder(struct scan *s)
{
    bool full = s->entries > s->q->max_entries || s->reply->count == OP_SCAN_MAX;
    if (s->next == s->queue.len || s->queue.failed || full) {
        s->reply->truncated |= s->next < s->queue.len;
        return false;
    }
    memcpy(&s->folder, s->queue.data + s->next, sizeof s->folder);
    s->next += sizeof s->folder;
    memcpy(s->path, s->queue.data + s->next, s->folder.length);
    s->next += s->folder.length;
    return true;
}

int work_scan(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_scan_request *q = &request->scan;
    const struct beneath_root *root = work_root(w, q->root, true, err);
    CLEANUP(scan_done)
    struct scan s = {.w = w, .q = q, .reply = &reply->scan, .queue = BUF_INIT(QUEUE_MAX)};
    if (!root)
        return -1;
    reply->scan = (struct op_scan_reply){0};
    int folders = 0;
    do {
        if (work_check_cancel(w, err) < 0)
            return -1;
        if (++folders == SLOW_FOLDERS)
            work_slow(w);
        if (look_into(&s, root, err) < 0)
            return -1;
    } while (next_folder(&s));
    if (w->body.failed)
        return err_set(err, ERR_OUTPUT_LIMIT,
                       "more protected and secret files than an answer holds");
    return 0;
}
