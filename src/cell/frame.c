#include "cell/frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"

#define MAGIC 0x53474631u /* "SGF1" */
#define SMALL_FRAME 4096

struct header {
    uint32_t magic;
    uint32_t type;
    uint64_t token;
    uint32_t head;
    uint32_t body;
};
_Static_assert(sizeof(struct header) == 24, "FRAME_BYTES_MAX counts 24 bytes of header");

int frame_parse(const void *bytes, size_t n, struct frame *ret)
{
    struct header h;
    if (n < sizeof h)
        return -EPROTO;
    memcpy(&h, bytes, sizeof h);
    if (h.magic != MAGIC || h.type < FRAME_CALL || h.type >= FRAME_TYPE_END)
        return -EPROTO;
    if (h.head > FRAME_HEAD_MAX || h.body > FRAME_BODY_MAX || n != sizeof h + h.head + h.body)
        return -EPROTO;
    const char *at = (const char *)bytes + sizeof h;
    *ret = (struct frame){(enum frame_type)h.type, h.token, {at, h.head}, {at + h.head, h.body}};
    return 0;
}

/* A small frame is cheaper put together than handed over in three parts. */
static int send_small(int fd, const struct header *h, const struct frame *frame)
{
    char bytes[SMALL_FRAME];
    size_t n = sizeof *h;
    memcpy(bytes, h, sizeof *h);
    memcpy(bytes + n, frame->head.p, frame->head.n);
    n += frame->head.n;
    if (frame->body.n)
        memcpy(bytes + n, frame->body.p, frame->body.n);
    n += frame->body.n;
    ssize_t r;
    do
        r = send(fd, bytes, n, MSG_NOSIGNAL);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

int frame_send(int fd, const struct frame *frame, int pass_fd)
{
    if (frame->head.n > FRAME_HEAD_MAX || frame->body.n > FRAME_BODY_MAX)
        return -EMSGSIZE;
    struct header h = {MAGIC, frame->type, frame->token, (uint32_t)frame->head.n,
                       (uint32_t)frame->body.n};
    if (pass_fd < 0 && frame->head.p && sizeof h + frame->head.n + frame->body.n <= SMALL_FRAME)
        return send_small(fd, &h, frame);
    /* sendmsg does not write through iov_base. */
    struct iovec parts[] = {
        {&h, sizeof h},
        {(void *)(uintptr_t)frame->head.p, frame->head.n},
        {(void *)(uintptr_t)frame->body.p, frame->body.n},
    };
    struct msghdr msg = {.msg_iov = parts, .msg_iovlen = ARRAY_LEN(parts)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    if (pass_fd >= 0) {
        memset(control, 0, sizeof control);
        msg.msg_control = control;
        msg.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &pass_fd, sizeof pass_fd);
    }
    ssize_t r;
    do
        r = sendmsg(fd, &msg, MSG_NOSIGNAL);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

/* At most one descriptor is expected; any others are closed. */
static int take_fds(struct msghdr *msg)
{
    int kept = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (kept < 0)
                kept = fd;
            else
                close(fd);
        }
    }
    return kept;
}

int frame_receive(int fd, void *buffer, int flags, struct frame *ret, int *ret_fd)
{
    struct iovec part = {buffer, FRAME_BYTES_MAX};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
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
    FD_AT_END int passed = msg.msg_controllen ? take_fds(&msg) : -1;
    if (r == 0)
        return 0;
    if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        return -EPROTO;
    int bad = frame_parse(buffer, (size_t)r, ret);
    if (bad < 0)
        return bad;
    if (ret_fd)
        *ret_fd = TAKE_FD(passed);
    return 1;
}

int frame_poll(int fd, void *buffer, struct frame *ret)
{
    ssize_t r;
    do
        r = recv(fd, buffer, FRAME_BYTES_MAX, MSG_DONTWAIT | MSG_TRUNC);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return -errno;
    if (r == 0) {
        struct pollfd look = {fd, POLLRDHUP, 0};
        return poll(&look, 1, 0) > 0 ? 0 : -EPROTO;
    }
    if ((size_t)r > FRAME_BYTES_MAX)
        return -EPROTO;
    int bad = frame_parse(buffer, (size_t)r, ret);
    return bad < 0 ? bad : 1;
}
