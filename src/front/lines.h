/* JSON lines in and out: requests are read, submitted and answered in the order they finish. The same
 * code serves standard input and output and, over a socket, another gate. I/O only. */
#ifndef SANDGATE_FRONT_LINES_H
#define SANDGATE_FRONT_LINES_H

#include "dialect/format.h"
#include "gate/gate.h"

struct lines;

/* Begins to read. `ended` is called once, when the input is at its end (or the other side is gone) and
 * every call is answered. The descriptors belong to the lines from now on. */
struct lines *lines_start(struct gate *gate, enum format_id format, int in_fd, int out_fd,
                          void (*ended)(void *arg), void *arg);
/* The first line is not a call but {"hello":{"dialect","format","agent","once"}}: another gate's. */
void lines_expect_hello(struct lines *lines);
/* Stops reading and cancels what runs; `ended` follows. */
void lines_stop(struct lines *lines, const char *why);
/* What is still unsent after a stop is dropped: its reader does not read. */
void lines_give_up(struct lines *lines);
/* After `ended`; run the loop once more before the memory goes. */
void lines_free(struct lines *lines);
/* Sends what was answered; a pipeline's `settled` hook leads here. */
void lines_flush(struct lines *lines);

#endif
