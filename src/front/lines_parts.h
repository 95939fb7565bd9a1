/* Lines from the inside: lines.c reads and keeps the calls, lines_out.c writes and knows how much waits. */
#ifndef SANDGATE_FRONT_LINES_PARTS_H
#define SANDGATE_FRONT_LINES_PARTS_H

#include "front/lines.h"
#include "front/lines_ids.h"

#define CHUNK (64u << 10)

/* Answers behind which others are written: a small one that follows large ones needs no room for these. */
struct sealed {
    struct sealed *next;
    struct buf bytes;
    size_t sent;
};

struct lines {
    struct gate *gate;
    const struct lines_user *user;
    void *self;
    int out_fd;
    size_t max_request;
    size_t max_answer;
    size_t max_in_flight;
    uint32_t client; /* of its calls */
    void (*ended)(void *arg);
    void *arg;

    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tty_t tty;
        uv_idle_t idle; /* a regular file is read a piece a turn */
    } in;
    bool in_file;
    bool in_pipe; /* or a socket: reading it never waits */
    int in_fd;
    bool reading;
    bool input_ended; /* nothing more comes, though lines may be held */
    bool input_over;
    bool gone;    /* nobody reads the answers any more */
    int in_error; /* that reading or writing ended with; 0 or an errno */
    int out_error;
    bool told;
    char chunk[CHUNK];
    struct buf partial; /* a line that is not complete */
    struct buf held;    /* lines that were read but have to wait */
    bool skipping;      /* the rest of a line that was too long */
    struct lines_ids ids;

    struct lines_call *calls;
    struct buf out;        /* what is being written */
    struct sealed *sealed; /* goes before it, oldest first */
    struct sealed **sealed_end;
    size_t sealed_bytes; /* of them unsent */
    uv_poll_t writable;
    bool write_waits;
    bool out_polls;    /* out_fd can be waited for */
    bool guest;        /* of the session: its answers share room with those of others */
    size_t counted;    /* of its unsent bytes in the gate's sum of what guests have not taken */
    uint64_t taken_ns; /* when its reader last took something, or had nothing to take */
};

/* Whether a new call has to wait for others, or for answers to be taken. */
bool lines_must_wait(const struct lines *l);
/* Writes what the other side takes now. */
void lines_send(struct lines *l);
/* Nobody takes answers any more: they are dropped, and what runs is cancelled. */
void lines_lose_reader(struct lines *l);
/* Bytes of answers that the other side has not taken. */
size_t lines_unsent(const struct lines *l);
/* Drops them. */
void lines_forget_unsent(struct lines *l);

#endif
