#include "store/audit_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "store/audit_lane.h"

/* Without inotify. */
#define LOOK_EVERY_MS 250

struct audit_reader {
    int state_fd;
    int dir;   /* -1: there is none yet */
    int watch; /* -1: not yet, or not to be had */
    bool watching;
    struct audit_read_options options;
    struct audit_lane *lanes[AUDIT_LANES_MAX]; /* by slot */
    size_t slots[AUDIT_LANES_MAX];             /* those that there are */
    size_t n;
    struct audit_lane *last; /* what was returned is its */
    struct audit_gaps gaps;
    int64_t complete_from;
};

/* Only for those who wait: giving a watch up takes the kernel some 10 ms. */
static void begin_watching(struct audit_reader *r)
{
    char path[64];
    r->watching = true;
    r->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (r->watch < 0)
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", r->dir);
    if (inotify_add_watch(r->watch, path, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
        fd_closep(&r->watch);
}

static void add_lane(struct audit_reader *r, unsigned slot)
{
    if (slot >= AUDIT_LANES_MAX || r->lanes[slot])
        return;
    r->lanes[slot] = audit_lane_new(r->dir, slot, &r->options, &r->gaps);
    r->slots[r->n++] = slot;
}

/* New slots, and a look at the known ones. */
static void look_at_slots(struct audit_reader *r)
{
    if (r->dir < 0)
        r->dir = openat(r->state_fd, "audit", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (size_t i = 0; i < r->n; i++)
        r->lanes[r->slots[i]]->dry = false;
    DIR *folder = r->dir < 0 ? NULL : fd_list(r->dir);
    if (!folder)
        audit_gap_add(&r->gaps, "audit", errno);
    int unread = 0;
    for (struct dirent *d; folder && (d = fd_list_next(folder, &unread));) {
        int slot = audit_lane_slot(d->d_name);
        if (slot >= 0)
            add_lane(r, (unsigned)slot);
    }
    if (unread)
        audit_gap_add(&r->gaps, "audit", unread);
    if (folder)
        closedir(folder);
}

int audit_reader_new(struct audit_reader **ret, int state_fd,
                     const struct audit_read_options *options, struct err *err)
{
    struct audit_reader *r = mem_zero(sizeof *r);
    *r = (struct audit_reader){.state_fd = state_fd,
                               .dir = -1,
                               .watch = -1,
                               .options = *options,
                               .complete_from = INT64_MIN};
    look_at_slots(r);
    if (r->dir < 0 && r->gaps.unread) {
        err_set(err, ERR_INTERNAL, "`audit` in the state folder cannot be read: %s",
                strerror(r->gaps.error));
        audit_reader_free(r);
        return -1;
    }
    /* What comes later begins at its beginning. */
    r->options.window = 0;
    *ret = r;
    return 0;
}

void audit_reader_free(struct audit_reader *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++)
        audit_lane_free(r->lanes[r->slots[i]]);
    fd_closep(&r->dir);
    fd_closep(&r->watch);
    free(r);
}

static bool load(struct audit_reader *r, struct audit_lane *lane)
{
    bool first = !lane->begun;
    bool is = audit_lane_load(lane);
    if (is && first && lane->truncated && lane->head.at_ms > r->complete_from)
        r->complete_from = lane->head.at_ms;
    return is;
}

bool audit_reader_next(struct audit_reader *r, struct audit_entry *ret)
{
    struct audit_lane *first = NULL;
    if (r->last)
        audit_lane_drop(r->last);
    r->last = NULL;
    for (size_t i = 0; i < r->n; i++) {
        struct audit_lane *lane = r->lanes[r->slots[i]];
        if (!lane->has_head && (lane->dry || !load(r, lane)))
            continue;
        if (!first || lane->head.at_ms < first->head.at_ms)
            first = lane;
    }
    if (!first)
        return false;
    r->last = first;
    *ret = first->head;
    return true;
}

static void drain_audit_watch(int fd)
{
    char events[4096];
    while (read(fd, events, sizeof events) > 0)
        ;
}

bool audit_reader_wait(struct audit_reader *r, int timeout_ms, int output_fd)
{
    /* What came before the watch is there to be read. */
    bool first = r->dir >= 0 && !r->watching;
    if (first)
        begin_watching(r);
    struct pollfd fds[] = {{.fd = output_fd}, {.fd = r->watch, .events = POLLIN}};
    int usual = r->watch >= 0 || timeout_ms < LOOK_EVERY_MS ? timeout_ms : LOOK_EVERY_MS;
    poll(fds, ARRAY_LEN(fds), first ? 0 : usual);
    if (r->watch >= 0)
        drain_audit_watch(r->watch);
    look_at_slots(r);
    return !(fds[0].revents & (POLLERR | POLLNVAL));
}

const struct audit_gaps *audit_reader_gaps(const struct audit_reader *r)
{
    return &r->gaps;
}

int64_t audit_reader_complete_from(const struct audit_reader *r)
{
    return r->complete_from;
}
