/* What `stdio` does with lines: requests of a format are read, submitted and answered in the order they
 * finish. The same code serves standard input and output and, over a socket, another gate. */
#ifndef SANDGATE_FRONT_TALK_H
#define SANDGATE_FRONT_TALK_H

#include "dialect/format.h"
#include "front/line_sessions.h"
#include "front/lines.h"

struct talk_options {
    enum format_id format;
    bool approver;      /* whoever writes the lines may approve calls that wait */
    const char *agents; /* that lines may name, with commas between them; NULL: none */
};

/* As lines_start. Calls may name the sessions of `sessions`. */
struct lines *talk_start(struct gate *gate, struct line_sessions *sessions,
                         const struct talk_options *options, int in_fd, int out_fd,
                         void (*ended)(void *arg), void *arg);
/* The same for another gate, in this session: the first line is not a call but
 * {"hello":{"dialect","format","agent","agents","once","marks","beats"}}. Nobody approves this way. */
struct lines *talk_start_forwarded(struct gate *gate, struct session *session, int in_fd,
                                   int out_fd, void (*ended)(void *arg), void *arg);

#endif
