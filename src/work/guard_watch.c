#include "work/guard_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/beneath_walk.h"

#define EVENTS                                                                                     \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF |            \
     IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)
/* Numbers of watches only ever grow, in one inotify instance. */
#define WATCHES_MAX (1u << 24)

/* The working directory belongs to the whole process; nothing else in a worker uses it. */
static pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER;

void guard_watch_init(struct guard_watch *w)
{
    *w = (struct guard_watch){.fd = -1};
}

void guard_watch_done(struct guard_watch *w)
{
    fd_closep(&w->fd);
    free(w->folders);
    guard_watch_init(w);
}

static void give_up_watching(struct guard_watch *w)
{
    guard_watch_done(w);
    w->failed = true;
}

static void note_folder_watch(struct guard_watch *w, uint32_t watch, uint32_t folder)
{
    if (watch >= w->room) {
        uint32_t room = w->room ? w->room : 1024;
        while (room <= watch)
            room *= 2;
        w->folders = mem_grow(w->folders, room, sizeof *w->folders);
        for (uint32_t i = w->room; i < room; i++)
            w->folders[i] = TREE_NONE;
        w->room = room;
    }
    w->folders[watch] = folder;
}

/* By descriptor, so that it is this folder whatever is renamed meanwhile: inotify itself knows only paths. */
static int add_here(int inotify, int fd)
{
    pthread_mutex_lock(&here);
    int watch = fchdir(fd) < 0 ? -1 : inotify_add_watch(inotify, ".", EVENTS);
    int error = errno;
    pthread_mutex_unlock(&here);
    return watch < 0 ? -error : watch;
}

/* A folder has one watch, and may be in the tree twice while it is moved. The place that it was in before is watched and
 * read anew if it comes back. */
static void give_away(struct guard_watch *w, struct tree *t, int watch)
{
    uint32_t before = (uint32_t)watch < w->room ? w->folders[watch] : TREE_NONE;
    if (before >= t->n_folders || t->folders[before].watch != watch ||
        t->folders[before].flags & TREE_FREE)
        return;
    t->folders[before].watch = -1;
    w->missed = true;
}

/* What cannot be watched because it is not there will be missing when its parent is read. */
static int add_folder_watch(struct guard_watch *w, struct tree *t, int root, uint32_t folder)
{
    char path[PATH_TEXT_MAX];
    tree_path(t, folder, path);
    FD_AT_END int fd = beneath_open_at(root, path[0] ? path : ".",
                                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
    int watch = fd < 0 ? -errno : add_here(w->fd, fd);
    if (watch < 0)
        return watch == -ENOENT || watch == -ENOTDIR || watch == -ELOOP || watch == -EACCES ? 0
                                                                                            : watch;
    if ((uint32_t)watch >= WATCHES_MAX)
        return -ENOSPC;
    give_away(w, t, watch);
    t->folders[folder].watch = watch;
    note_folder_watch(w, (uint32_t)watch, folder);
    return 0;
}

static bool is_to_watch(const struct tree_folder *f)
{
    return f->watch < 0 && f->kind != GUARDED_SECRET &&
           !(f->flags & (TREE_FREE | TREE_CLOSED | TREE_TOO_LONG));
}

bool guard_watch_add(struct guard_watch *w, struct tree *t, int root, uint32_t max, struct buf *ret)
{
    bool foreign = t->n_folders && t->folders[0].flags & TREE_FOREIGN;
    if (!w->failed && w->fd < 0) {
        w->fd = foreign ? -1 : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (w->fd < 0)
            give_up_watching(w);
    }
    w->missed = false;
    for (uint32_t i = 0; !w->failed && i < t->n_folders; i++) {
        if (!is_to_watch(&t->folders[i]))
            continue;
        if (max-- == 0)
            return false;
        if (t->folders[i].flags & TREE_FOREIGN || add_folder_watch(w, t, root, i) < 0) {
            for (uint32_t k = 0; k < t->n_folders; k++)
                t->folders[k].watch = -1;
            give_up_watching(w);
        } else if (ret && t->folders[i].watch >= 0) {
            t->folders[i].flags |= TREE_READ;
            buf_add(ret, &i, sizeof i);
        }
        w->missed |= !w->failed && t->folders[i].watch < 0;
    }
    return true;
}

static void take_watch_event(struct guard_watch *w, struct tree *t,
                             const struct inotify_event *event, struct buf *ret)
{
    uint32_t folder = event->wd >= 0 && (uint32_t)event->wd < w->room ? w->folders[event->wd]
                                                                      : TREE_NONE;
    if (folder == TREE_NONE || folder >= t->n_folders || t->folders[folder].watch != event->wd ||
        t->folders[folder].flags & TREE_FREE)
        return;
    if (event->mask & IN_IGNORED) {
        t->folders[folder].watch = -1;
        w->folders[event->wd] = TREE_NONE;
    }
    /* Modes and times of files mean nothing here. */
    if (event->len > 0 && (event->mask & IN_ATTRIB) && !(event->mask & IN_ISDIR))
        return;
    if (!(t->folders[folder].flags & TREE_READ))
        buf_add(ret, &folder, sizeof folder);
    t->folders[folder].flags |= TREE_READ;
}

bool guard_watch_take(struct guard_watch *w, struct tree *t, struct buf *ret)
{
    _Alignas(struct inotify_event) char buffer[16 << 10];
    ssize_t n;
    w->moved = false;
    while ((n = read(w->fd, buffer, sizeof buffer)) > 0) {
        for (char *at = buffer; at < buffer + n;) {
            const struct inotify_event *event = (const void *)at;
            if (event->mask & IN_Q_OVERFLOW)
                return false;
            w->moved |= (event->mask & IN_ISDIR && event->mask & (IN_MOVED_FROM | IN_MOVED_TO)) ||
                        event->mask & IN_MOVE_SELF;
            take_watch_event(w, t, event, ret);
            at += sizeof *event + event->len;
        }
    }
    return !ret->failed && n < 0 && errno == EAGAIN;
}
