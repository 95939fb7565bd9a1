#include "cell/frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"

#define MAGIC 0x53474631u /* "SGF1" */

struct header {
    uint32_t magic;
    uint32_t type;
    uint64_t token;
    uint32_t head;
    uint32_t body;
};
_Static_assert(sizeof(struct header) == 24, "FRAME_BYTES_MAX counts 24 bytes of header");

/* The frame at the beginning; its length, or -EPROTO. */
static ssize_t parse_first(const char *bytes, size_t n, struct frame *ret)
{
    struct header h;
    if (n < sizeof h)
        return -EPROTO;
    memcpy(&h, bytes, sizeof h);
    if (h.magic != MAGIC || h.type < FRAME_CALL || h.type >= FRAME_TYPE_END)
        return -EPROTO;
    if (h.head > FRAME_HEAD_MAX || h.body > FRAME_BODY_MAX || n - sizeof h < h.head + h.body)
        return -EPROTO;
    const char *at = bytes + sizeof h;
    *ret = (struct frame){(enum frame_type)h.type, h.token, {at, h.head}, {at + h.head, h.body}};
    return (ssize_t)(sizeof h + h.head + h.body);
}

int frame_parse(const void *bytes, size_t n, struct frame *ret)
{
    ssize_t r = parse_first(bytes, n, ret);
    return r < 0 || (size_t)r != n ? -EPROTO : 0;
}

int frame_check(const void *bytes, size_t n)
{
    struct frame frame;
    if (n == 0)
        return -EPROTO;
    for (size_t at = 0; at < n;) {
        ssize_t r = parse_first((const char *)bytes + at, n - at, &frame);
        if (r < 0)
            return (int)r;
        at += (size_t)r;
    }
    return 0;
}

bool frame_next(struct str *rest, struct frame *ret)
{
    ssize_t r = rest->n ? parse_first(rest->p, rest->n, ret) : -1;
    if (r < 0)
        return false;
    *rest = (struct str){rest->p + r, rest->n - (size_t)r};
    return true;
}

size_t frame_bytes(const struct frame *frame)
{
    return sizeof(struct header) + frame->head.n + frame->body.n;
}

void frame_add(struct buf *message, const struct frame *frame)
{
    struct header h = {MAGIC, frame->type, frame->token, (uint32_t)frame->head.n,
                       (uint32_t)frame->body.n};
    buf_add(message, &h, sizeof h);
    buf_add(message, frame->head.p, frame->head.n);
    buf_add(message, frame->body.p, frame->body.n);
}

void frame_fds_close(struct frame_fds *fds)
{
    for (size_t i = 0; i < fds->n; i++)
        fd_closep(&fds->fd[i]);
    fds->n = 0;
    fds->lost = false;
}

static int send_parts(int fd, struct iovec *parts, size_t count, const int *fds, size_t n_fds,
                      int flags)
{
    struct msghdr msg = {.msg_iov = parts, .msg_iovlen = count};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
    if (n_fds) {
        memset(control, 0, sizeof control);
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *c = (struct cmsghdr *)control;
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
    }
    ssize_t r;
    do
        r = sendmsg(fd, &msg, MSG_NOSIGNAL | flags);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

int message_send(int fd, struct str message, int pass_fd)
{
    if (pass_fd >= 0) {
        struct iovec part = {(void *)(uintptr_t)message.p, message.n};
        return send_parts(fd, &part, 1, &pass_fd, 1, 0);
    }
    ssize_t r;
    do
        r = send(fd, message.p, message.n, MSG_NOSIGNAL);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

static int send_frame(int fd, const struct frame *frame, const int *fds, size_t n_fds, int flags)
{
    if (frame->head.n > FRAME_HEAD_MAX || frame->body.n > FRAME_BODY_MAX)
        return -EMSGSIZE;
    struct header h = {MAGIC, frame->type, frame->token, (uint32_t)frame->head.n,
                       (uint32_t)frame->body.n};
    /* sendmsg does not write through iov_base. */
    struct iovec parts[] = {
        {&h, sizeof h},
        {(void *)(uintptr_t)frame->head.p, frame->head.n},
        {(void *)(uintptr_t)frame->body.p, frame->body.n},
    };
    return send_parts(fd, parts, ARRAY_LEN(parts), fds, n_fds, flags);
}

int frame_send(int fd, const struct frame *frame, int pass_fd)
{
    return send_frame(fd, frame, &pass_fd, pass_fd >= 0, 0);
}

int frame_send_fds(int fd, const struct frame *frame, const struct frame_fds *fds)
{
    return send_frame(fd, frame, fds ? fds->fd : NULL, fds ? fds->n : 0, MSG_DONTWAIT);
}

static void take_fds(struct msghdr *msg, struct frame_fds *ret)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (ret->n < FRAME_FDS_MAX)
                ret->fd[ret->n++] = fd;
            else
                close(fd);
        }
    }
}

static ssize_t receive_frame_bytes(int fd, void *buffer, int flags, struct frame_fds *ret_fds)
{
    struct iovec part = {buffer, FRAME_BYTES_MAX};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(FRAME_FDS_MAX * sizeof(int))];
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof control};
    ssize_t r;
    do
        r = recvmsg(fd, &msg, flags | MSG_CMSG_CLOEXEC);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return -errno;
    *ret_fds = (struct frame_fds){0};
    if (msg.msg_controllen)
        take_fds(&msg, ret_fds);
    if (r == 0)
        return 0;
    /* The kernel says MSG_CTRUNC for too many descriptors, and where it could not give us those that it has. */
    ret_fds->lost = msg.msg_flags & MSG_CTRUNC && ret_fds->n < FRAME_FDS_MAX;
    bool cut = msg.msg_flags & MSG_TRUNC || (msg.msg_flags & MSG_CTRUNC && !ret_fds->lost);
    if (cut || frame_check(buffer, (size_t)r) < 0)
        return -EPROTO;
    return r;
}

ssize_t message_receive(int fd, void *buffer, int flags, int *ret_fd)
{
    FRAME_FDS_AT_END struct frame_fds fds = {0};
    ssize_t r = receive_frame_bytes(fd, buffer, flags, &fds);
    /* At most one is expected; any others are closed. */
    if (r > 0 && fds.n && ret_fd)
        *ret_fd = TAKE_FD(fds.fd[0]);
    else if (r > 0 && fds.lost && ret_fd)
        *ret_fd = FRAME_FD_LOST;
    return r;
}

ssize_t message_poll(int fd, void *buffer)
{
    ssize_t r;
    /* A peer that ended with messages it had not read: the kernel says so once, before what it had sent. */
    do
        r = recv(fd, buffer, FRAME_BYTES_MAX, MSG_DONTWAIT | MSG_TRUNC);
    while (r < 0 && (errno == EINTR || errno == ECONNRESET));
    if (r < 0)
        return -errno;
    if (r == 0) {
        struct pollfd look = {fd, POLLRDHUP, 0};
        return poll(&look, 1, 0) > 0 ? 0 : -EPROTO;
    }
    if ((size_t)r > FRAME_BYTES_MAX || frame_check(buffer, (size_t)r) < 0)
        return -EPROTO;
    return r;
}

int frame_receive(int fd, void *buffer, int flags, struct frame *ret, int *ret_fd)
{
    FD_AT_END int passed = -1;
    ssize_t n = message_receive(fd, buffer, flags, &passed);
    if (n <= 0)
        return (int)n;
    if (frame_parse(buffer, (size_t)n, ret) < 0)
        return -EPROTO;
    if (ret_fd)
        *ret_fd = TAKE_FD(passed);
    return 1;
}

int frame_receive_fds(int fd, void *buffer, struct frame *ret, struct frame_fds *ret_fds)
{
    FRAME_FDS_AT_END struct frame_fds fds = {0};
    ssize_t n = receive_frame_bytes(fd, buffer, 0, &fds);
    if (n <= 0)
        return (int)n;
    if (frame_parse(buffer, (size_t)n, ret) < 0)
        return -EPROTO;
    *ret_fds = fds;
    fds.n = 0;
    return 1;
}

int frame_poll(int fd, void *buffer, struct frame *ret)
{
    ssize_t n = message_poll(fd, buffer);
    if (n <= 0)
        return (int)n;
    return frame_parse(buffer, (size_t)n, ret) < 0 ? -EPROTO : 1;
}
