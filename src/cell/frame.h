/* Frames between gate and cell: a fixed header, a small JSON head and raw bytes. A SOCK_SEQPACKET message is
 * one frame or several, so that many small ones cost one system call. Every length is checked against
 * the message; nothing in a frame is trusted. */
#ifndef SANDGATE_CELL_FRAME_H
#define SANDGATE_CELL_FRAME_H

#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/buf.h"

/* A path of 4,095 control characters escapes to 24 KiB, and a move has two. */
#define FRAME_HEAD_MAX (64u << 10)
/* Fits the default socket buffer of 208 KiB together with the head. */
#define FRAME_BODY_MAX (128u << 10)
#define FRAME_BYTES_MAX (24u + FRAME_HEAD_MAX + FRAME_BODY_MAX)

enum frame_type {
    /* gate to worker */
    FRAME_CALL = 1, /* head: {"op":…,"args":{…},…}; body: content, or a descriptor that holds it */
    FRAME_CANCEL, /* the token says which */
    /* worker to gate */
    FRAME_CHUNK,  /* a piece of a body too large for one frame; the rest follows */
    FRAME_RESULT, /* head: the operation's reply; body: the last piece */
    FRAME_ERROR,  /* head: {"code":…,"reason":…,"message":…} */
    /* gate to launcher, once */
    FRAME_SPEC, /* head: what to build; perhaps with the shelf's descriptor; the helper hands it on with more */
    /* launcher to gate */
    FRAME_READY, /* the worker is locked and serves; a command's first process: its mount namespace */
    FRAME_FAILED, /* head: {"message":…} */
    /* gate to launcher, and on to a command's first process; the token says which command */
    FRAME_GUARDS, /* the token is a root's index and 1; body: what is guarded there, packed, or a
                     descriptor that holds it */
    FRAME_GROUP, /* the next command is to be made ready, in the control groups of these descriptors */
    FRAME_RUN,  /* head and body: cell/order.h; with descriptors */
    FRAME_STOP, /* SIGTERM to all its processes */
    FRAME_KILL, /* SIGKILL to all its processes; the second time to the first process, and so to all */
    /* launcher to gate */
    FRAME_ENDED, /* a command's first process ended without its account; head: {"message":…,"busy":…} */
    /* a command's first process to gate, once */
    FRAME_RAN, /* head: cell/order.h */
    /* gate to worker */
    FRAME_SHELF, /* the shelf (cell/shelf.h) is free again */
    /* worker to gate */
    FRAME_SHELVED, /* as FRAME_CHUNK; body: where the piece lies on the shelf */
    /* gate to launcher, right before a FRAME_RUN */
    FRAME_LAYERS, /* that command may write to git directories; head: {"tag":…}; body: packed, see op_layer_next */
    /* gate to launcher, before a FRAME_GROUP or FRAME_RUN */
    FRAME_DENIED, /* programs that commands must not start, from now on; body: cell/denied.h */
    /* between a command's first process and the gate, on a socket of their own; the token: cell/tty.h */
    FRAME_TERMINAL,
    FRAME_TYPE_END
};

struct frame {
    enum frame_type type;
    uint64_t token;
    struct str head;
    struct str body;
};

/* A message that is exactly one well-formed frame; 0 or -EPROTO. The strings point into `bytes`. */
int frame_parse(const void *bytes, size_t n, struct frame *ret);
/* Whether a message is well-formed frames throughout, at least one; 0 or -EPROTO. */
int frame_check(const void *bytes, size_t n);
/* The next frame of a message that was checked; false at its end. */
bool frame_next(struct str *rest, struct frame *ret);
/* How long a frame is in a message, and putting it there. */
size_t frame_bytes(const struct frame *frame);
void frame_add(struct buf *message, const struct frame *frame);

/* Descriptors that travel with a frame. */
#define FRAME_FDS_MAX 128
struct frame_fds {
    int fd[FRAME_FDS_MAX];
    size_t n;
    bool lost; /* some were sent, but this process has no room for more descriptors */
};
void frame_fds_close(struct frame_fds *fds);
#define FRAME_FDS_AT_END CLEANUP(frame_fds_close)

/* Sends one frame, or a whole message, with a descriptor when pass_fd >= 0. 0 or -errno. */
int frame_send(int fd, const struct frame *frame, int pass_fd);
/* With several (NULL: none), which stay the caller's; never waits. */
int frame_send_fds(int fd, const struct frame *frame, const struct frame_fds *fds);
int message_send(int fd, struct str message, int pass_fd);

/* Receives a message into buffer (FRAME_BYTES_MAX bytes). Its length, 0 at end of stream, or -errno;
 * -EPROTO for one that is not well-formed. A passed descriptor goes to *ret_fd (NULL: it is closed), or
 * FRAME_FD_LOST where this process has no room for it. */
#define FRAME_FD_LOST (-2)
ssize_t message_receive(int fd, void *buffer, int flags, int *ret_fd);
/* The gate's way: never blocks, takes no descriptors (the kernel drops what is passed). An empty message,
 * which reads like the end of the stream, is -EPROTO. */
ssize_t message_poll(int fd, void *buffer);

/* The same where a message is to be one frame: 1, 0 or -errno. */
int frame_receive(int fd, void *buffer, int flags, struct frame *ret, int *ret_fd);
int frame_receive_fds(int fd, void *buffer, struct frame *ret, struct frame_fds *ret_fds);
int frame_poll(int fd, void *buffer, struct frame *ret);

#endif
