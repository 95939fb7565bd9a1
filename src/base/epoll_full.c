#include "base/epoll_full.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

/* The bits of poll(2) and epoll are the same ones. */
_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLPRI == POLLPRI &&
                   EPOLLERR == POLLERR && EPOLLHUP == POLLHUP,
               "events need no translation");

struct left_out {
    int set;
    int fd;
    struct epoll_event event;
};

static struct left_out *rows;
static struct pollfd *asked; /* one for each row, and one for the set itself */
static size_t n_rows, n_room;

void epoll_full_use(void)
{
    n_rows = 0;
}

size_t epoll_full_count(void)
{
    return n_rows;
}

static int ctl(int set, int op, int fd, struct epoll_event *event)
{
    return (int)syscall(SYS_epoll_ctl, set, op, fd, event);
}

static int wait_in_kernel(int set, struct epoll_event *events, int max, int timeout,
                          const sigset_t *mask)
{
    return (int)syscall(SYS_epoll_pwait, set, events, max, timeout, mask, _NSIG / 8);
}

static bool is_epoll_full(int r)
{
    return r < 0 && (errno == ENOSPC || errno == ENOMEM);
}

static struct left_out *find_left_out(int set, int fd)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].set == set && rows[i].fd == fd)
            return &rows[i];
    }
    return NULL;
}

static void add_left_out(int set, int fd, const struct epoll_event *event)
{
    if (n_rows == n_room) {
        n_room = n_room ? 2 * n_room : 16;
        rows = mem_grow(rows, n_room, sizeof *rows);
        asked = mem_grow(asked, n_room + 1, sizeof *asked);
    }
    rows[n_rows++] = (struct left_out){set, fd, *event};
}

static void drop_left_out(struct left_out *row)
{
    *row = rows[--n_rows];
}

static int change_left_out(struct left_out *row, int op, const struct epoll_event *event)
{
    if (op == EPOLL_CTL_ADD) {
        errno = EEXIST;
        return -1;
    }
    if (op == EPOLL_CTL_MOD)
        row->event = *event;
    else
        drop_left_out(row);
    return 0;
}

int epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
    struct left_out *row = find_left_out(set, fd);
    if (row)
        return change_left_out(row, op, event);
    int r = ctl(set, op, fd, event);
    if (op == EPOLL_CTL_DEL || !is_epoll_full(r))
        return r;
    /* It is in one of the two only, or it would be told twice. */
    if (op == EPOLL_CTL_MOD)
        ctl(set, EPOLL_CTL_DEL, fd, event);
    add_left_out(set, fd, event);
    return 0;
}

/* False: descriptors of this set are still left out. One that was closed since goes, as it would from a set. */
static bool all_fit(int set)
{
    bool all = true;
    for (size_t i = n_rows; i-- > 0;) {
        if (rows[i].set != set)
            continue;
        if (is_epoll_full(ctl(set, EPOLL_CTL_ADD, rows[i].fd, &rows[i].event)))
            all = false;
        else
            drop_left_out(&rows[i]);
    }
    return all;
}

static int poll_left_out(int set, int timeout, const sigset_t *mask)
{
    struct timespec time = {timeout / 1000, timeout % 1000 * 1000000L};
    for (size_t i = 0; i < n_rows; i++) {
        bool own = rows[i].set == set;
        asked[i] = (struct pollfd){own ? rows[i].fd : -1, (short)rows[i].event.events, 0};
    }
    asked[n_rows] = (struct pollfd){set, POLLIN, 0};
    return ppoll(asked, n_rows + 1, timeout < 0 ? NULL : &time, mask);
}

int epoll_pwait(int set, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
    if (n_rows == 0 || all_fit(set))
        return wait_in_kernel(set, events, max, timeout, mask);
    int n = 0;
    int r = poll_left_out(set, timeout, mask);
    for (size_t i = 0; r > 0 && i < n_rows && n < max; i++) {
        if (asked[i].revents)
            events[n++] = (struct epoll_event){(uint32_t)asked[i].revents, rows[i].event.data};
    }
    if (r <= 0 || n == max || !asked[n_rows].revents)
        return r < 0 ? r : n;
    int more = wait_in_kernel(set, events + n, max - n, 0, mask);
    return more < 0 && n == 0 ? more : n + (more > 0 ? more : 0);
}

int epoll_wait(int set, struct epoll_event *events, int max, int timeout)
{
    return epoll_pwait(set, events, max, timeout, NULL);
}
