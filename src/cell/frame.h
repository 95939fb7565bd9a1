/* Frames between gate and cell: one SOCK_SEQPACKET message each, a fixed header, a small JSON head
 * and raw bytes. Every length is checked against the message; nothing in a frame is trusted. */
#ifndef SANDGATE_CELL_FRAME_H
#define SANDGATE_CELL_FRAME_H

#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

/* A path of 4,095 control characters escapes to 24 KiB, and a move has two. */
#define FRAME_HEAD_MAX (64u << 10)
/* Fits the default socket buffer of 208 KiB together with the head. */
#define FRAME_BODY_MAX (128u << 10)
#define FRAME_BYTES_MAX (24u + FRAME_HEAD_MAX + FRAME_BODY_MAX)

enum frame_type {
    /* gate to worker */
    FRAME_CALL = 1, /* head: {"op":…,"args":{…}}; body: content, or a descriptor that holds it */
    FRAME_CANCEL,   /* the token says which */
    /* worker to gate */
    FRAME_CHUNK,  /* a piece of a body too large for one frame; the rest follows */
    FRAME_RESULT, /* head: the operation's reply; body: the last piece */
    FRAME_ERROR,  /* head: {"code":…,"reason":…,"message":…} */
    /* gate to launcher, once */
    FRAME_SPEC, /* head: what to build */
    /* launcher to gate */
    FRAME_STARTED, /* head: {"pid":…} */
    FRAME_READY,   /* the cell is locked and serves */
    FRAME_FAILED,  /* head: {"message":…} */
    FRAME_TYPE_END
};

struct frame {
    enum frame_type type;
    uint64_t token;
    struct str head;
    struct str body;
};

/* Reads one message; 0, or -EPROTO for anything that is not exactly one well-formed frame. The
 * strings point into `bytes`. */
int frame_parse(const void *bytes, size_t n, struct frame *ret);
/* Sends one frame, with a descriptor when pass_fd >= 0. 0 or -errno. */
int frame_send(int fd, const struct frame *frame, int pass_fd);
/* Receives one frame into buffer (FRAME_BYTES_MAX bytes). 1, 0 at end of stream, or -errno;
 * -EPROTO for a bad one. A passed descriptor goes to *ret_fd (NULL: it is closed). */
int frame_receive(int fd, void *buffer, int flags, struct frame *ret, int *ret_fd);
/* The gate's way: never blocks, takes no descriptors (the kernel drops what is passed). An empty message,
 * which reads like the end of the stream, is -EPROTO. */
int frame_poll(int fd, void *buffer, struct frame *ret);

#endif
