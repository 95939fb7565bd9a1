#include "cell/guards.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "cell/denied.h"
#include "cell/failed.h"
#include "cell/frame.h"
#include "cell/mounts.h"
#include "core/op.h"

#define FOUND_MAX ((size_t)16 << 20)

void guards_init(struct guards *guards)
{
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        buf_init(&guards->found[i], FOUND_MAX);
        guards->known[i] = false;
        guards->added[i] = NULL;
        guards->count[i] = 0;
    }
    guards->lists = 0;
}

void guards_done(struct guards *guards)
{
    for (size_t i = 0; i < ROOTS_MAX; i++) {
        buf_done(&guards->found[i]);
        free(guards->added[i]);
    }
}

bool guards_complete(const struct guards *guards, const struct cell_spec *spec)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (spec->roots[i].commands && !guards->known[i])
            return false;
    }
    return true;
}

size_t guards_count(const struct guards *guards)
{
    size_t sum = 0;
    for (size_t i = 0; i < ROOTS_MAX; i++)
        sum += guards->count[i];
    return sum;
}

/* Both lists are sorted by path. An entry that was there before under the same path and kind keeps its number. */
static void note_added(struct guards *guards, size_t root, struct str found)
{
    struct str old = buf_str(&guards->found[root]);
    struct op_guarded before;
    struct op_guarded entry;
    uint32_t count = 0;
    for (struct str rest = found; op_guarded_next(&rest, &entry) > 0;)
        count++;
    uint32_t *added = mem_grow(NULL, (size_t)count + 1, sizeof *added);
    guards->lists++;
    uint32_t at = 0;
    bool more = op_guarded_next(&old, &before) > 0;
    for (uint32_t i = 0; op_guarded_next(&found, &entry) > 0; i++) {
        while (more && str_compare(before.path, entry.path) < 0) {
            more = op_guarded_next(&old, &before) > 0;
            at++;
        }
        bool same = more && str_compare(before.path, entry.path) == 0 && before.kind == entry.kind;
        added[i] = same ? guards->added[root][at] : guards->lists;
    }
    free(guards->added[root]);
    guards->added[root] = added;
    guards->count[root] = count;
}

int guards_set(struct guards *guards, size_t root, struct str found)
{
    struct str rest = found;
    struct op_guarded entry;
    int r;
    while ((r = op_guarded_next(&rest, &entry)) > 0)
        continue;
    if (root >= ROOTS_MAX)
        return -1;
    if (r < 0) {
        /* Nothing starts with a list that is not the newest. */
        guards->known[root] = false;
        return -1;
    }
    struct str old = buf_str(&guards->found[root]);
    if (guards->known[root] && old.n == found.n &&
        (old.n == 0 || memcmp(old.p, found.p, old.n) == 0))
        return 1;
    note_added(guards, root, found);
    buf_done(&guards->found[root]);
    buf_init(&guards->found[root], FOUND_MAX);
    guards->known[root] = found.n == 0 || buf_add(&guards->found[root], found.p, found.n) == 0;
    return guards->known[root] ? 0 : -1;
}

int guards_take(struct guards *guards, const struct frame *frame, int fd)
{
    struct stat st;
    size_t root = (size_t)frame->token - 1;
    if (fd < 0)
        return guards_set(guards, root, frame->body);
    if (root < ROOTS_MAX)
        guards->known[root] = false;
    if (fstat(fd, &st) < 0 || st.st_size <= 0 || (size_t)st.st_size > FOUND_MAX)
        return -1;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return -1;
    int r = guards_set(guards, root, (struct str){at, (size_t)st.st_size});
    munmap(at, (size_t)st.st_size);
    return r;
}

/* Who can write in the workspace meanwhile must not choose what is covered by what: no links. */
static int open_without_links(int root, const char *path)
{
    return fd_open_beneath(root, path, O_PATH | O_NOFOLLOW, 0);
}

static bool keeps_content(enum guarded_kind kind)
{
    return kind == GUARDED_PROTECTED || kind == GUARDED_GIT || kind == GUARDED_PART ||
           kind == GUARDED_WAY;
}

static const char *hidden_by(mode_t mode)
{
    return S_ISDIR(mode) ? PLAN_HIDDEN_FOLDER : PLAN_HIDDEN_FILE;
}

/* A cover lies there that hides a file. */
static bool is_hidden_by_cover(const struct statx *st)
{
    struct stat hidden;
    return st->stx_attributes & STATX_ATTR_MOUNT_ROOT &&
           stat(hidden_by(st->stx_mode), &hidden) == 0 && hidden.st_ino == st->stx_ino &&
           major(hidden.st_dev) == st->stx_dev_major && minor(hidden.st_dev) == st->stx_dev_minor;
}

static bool look_at_guarded(int fd, struct statx *ret)
{
    return statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO, ret) == 0;
}

/* A mount may lie there for another reason: a folder that was only kept in its place has to be read-only now, or
 * cannot be read any more. */
static bool is_entry_covered(int fd, enum guarded_kind kind)
{
    struct statx st;
    struct statfs fs;
    if (!look_at_guarded(fd, &st) || !(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
        return false;
    if (kind == GUARDED_WAY)
        return true;
    if (keeps_content(kind))
        return fstatfs(fd, &fs) == 0 && (fs.f_flags & ST_RDONLY);
    return is_hidden_by_cover(&st);
}

/* Asked of the descriptor that the mount is put on, so that no rename comes in between. A mount goes where its file goes and
 * ends with it: a folder that is laid over itself is the one that it was, and a cover that hides a file is proof enough. */
static bool is_other_guarded_file(int fd, const struct op_guarded *entry)
{
    struct statx st;
    const unsigned mask = STATX_TYPE | STATX_INO | STATX_BTIME;
    if (entry->id.inode == 0 || statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, mask, &st) < 0 ||
        is_hidden_by_cover(&st))
        return false;
    uint64_t born = (uint64_t)st.stx_btime.tv_sec * 1000000000u + (uint64_t)st.stx_btime.tv_nsec;
    return st.stx_ino != entry->id.inode ||
           (st.stx_mask & STATX_BTIME ? (int64_t)born : 0) != entry->id.born_ns;
}

static int cover_guarded_entry(int fd, const struct op_guarded *entry, const char *path,
                               struct err *err)
{
    struct stat st;
    FD_AT_END int tree = -1;
    if (fstat(fd, &st) < 0)
        return cell_failed_at(err, "covering", path);
    /* A mount cannot lie on a link, and a link runs and holds nothing by itself. */
    if (S_ISLNK(st.st_mode))
        return 0;
    int r = keeps_content(entry->kind)
                ? mounts_copy(fd, "", path, entry->kind != GUARDED_WAY, &tree, err)
                : mounts_copy(AT_FDCWD, hidden_by(st.st_mode), path, true, &tree, err);
    if (r < 0)
        return -1;
    if (move_mount(tree, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return cell_failed_at(err, "covering", path);
    return 0;
}

/* A folder that could not be read was hidden as a whole, and stays so in this namespace: nothing in it is left to cover. */
static bool is_in_hidden(int root, const char *path)
{
    FREE_AT_END char *around = mem_dup(path);
    for (char *slash; (slash = strrchr(around, '/'));) {
        struct statx st;
        *slash = '\0';
        FD_AT_END int fd = open_without_links(root, around);
        if (fd >= 0)
            return look_at_guarded(fd, &st) && is_hidden_by_cover(&st);
    }
    return false;
}

/* Between two looks it may have been replaced once more. */
#define COVER_TRIES 4

/* 1: there is nothing to cover, or it is not the file that the scan found. That is covered all the same: an editor may
 * have replaced it. */
static int guard_one(int root, const struct op_guarded *entry, bool compared, struct err *err)
{
    FREE_AT_END char *path = mem_copy(entry->path.p, entry->path.n);
    for (int i = 0; i < COVER_TRIES; i++) {
        FD_AT_END int fd = open_without_links(root, path);
        if (fd < 0 && errno == EAGAIN)
            continue;
        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
            return !is_in_hidden(root, path);
        if (fd < 0)
            return cell_failed_at(err, "covering", path);
        int other = compared && is_other_guarded_file(fd, entry);
        if (is_entry_covered(fd, entry->kind))
            return other;
        if (cover_guarded_entry(fd, entry, path, err) == 0)
            return other;
        if (errno != ENOENT && errno != EINVAL)
            return -1;
    }
    return cell_failed_at(err, "covering", path);
}

/* A command that runs may be in a folder that is about to be covered, and stays beneath the cover: what is hidden in the
 * folder is hidden there first, and then in the copy that covers it. `rest` are the entries behind the folder's. */
static int hide_beneath(int root, const struct op_guarded *folder, struct str rest, struct err *err)
{
    FREE_AT_END char *path = mem_copy(folder->path.p, folder->path.n);
    FD_AT_END int fd = open_without_links(root, path);
    struct op_guarded entry;
    if (fd < 0 || is_entry_covered(fd, folder->kind))
        return 0;
    while (op_guarded_next(&rest, &entry) > 0 && str_begins(entry.path, folder->path)) {
        bool inside = entry.path.n > folder->path.n && entry.path.p[folder->path.n] == '/';
        if (inside && !keeps_content(entry.kind) && guard_one(root, &entry, false, err) < 0)
            return -1;
    }
    return 0;
}

/* 1: some are not there any more, or are other files. `compared`: that is looked at. If not, commands run there. */
static int mount_all(const struct cell_spec *spec, const struct guards *guards, bool compared,
                     uint32_t lists, bool layered, struct err *err)
{
    int missing = 0;
    for (size_t i = 0; i < spec->n_roots; i++) {
        struct str rest = buf_str(&guards->found[i]);
        struct op_guarded entry;
        if (!spec->roots[i].commands || rest.n == 0)
            continue;
        FD_AT_END int root = open(spec->roots[i].inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
            return cell_failed_at(err, "covering", spec->roots[i].inside);
        for (uint32_t k = 0; op_guarded_next(&rest, &entry) > 0; k++) {
            bool left_alone = (keeps_content(entry.kind) && guards->added[i][k] > lists) ||
                              (layered && entry.kind == GUARDED_GIT);
            if (!compared && !left_alone && keeps_content(entry.kind) &&
                hide_beneath(root, &entry, rest, err) < 0)
                return -1;
            int r = left_alone ? 0 : guard_one(root, &entry, compared, err);
            if (r < 0)
                return -1;
            missing |= r;
        }
    }
    return missing;
}

int guards_mount(const struct cell_spec *spec, struct guards *guards, struct err *err)
{
    return mount_all(spec, guards, true, UINT32_MAX, false, err);
}

int guards_mount_in(const struct cell_spec *spec, const struct guards *guards,
                    struct denied *denied, const struct guards_running *running)
{
    /* Opened here, where it is not waited for yet: later the number may be another process's. */
    FD_AT_END int there = (int)syscall(SYS_pidfd_open, running->pid, 0);
    pid_t child = there < 0 ? -1 : fork();
    if (child != 0)
        return child < 0 ? -errno : 0;
    struct err err;
    /* The one there is of another namespace of processes. */
    denied->proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (denied->proc < 0 || setns(running->mounts, CLONE_NEWNS) < 0 ||
        denied_cover(denied, spec) < 0 ||
        mount_all(spec, guards, false, running->lists, running->layered, &err) < 0)
        syscall(SYS_pidfd_send_signal, there, SIGKILL, NULL, 0);
    _exit(0);
}

int guards_listen(void)
{
    return open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
}

int guards_listen_in(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool guards_heard(int listening)
{
    struct pollfd fds = {.fd = listening, .events = POLLPRI};
    return poll(&fds, 1, 0) > 0 && fds.revents & (POLLPRI | POLLERR);
}

int guards_cover_in_layer(int root, const struct op_guarded *entry, struct err *err)
{
    struct op_guarded now = *entry;
    if (entry->kind == GUARDED_PROTECTED || entry->kind == GUARDED_GIT)
        now.kind = GUARDED_WAY;
    return guard_one(root, &now, false, err) < 0 ? -1 : 0;
}
