/* The prompt from the inside: prompt.c asks and listens, prompt_terminal.c reads and writes. */
#ifndef SANDGATE_FRONT_PROMPT_PARTS_H
#define SANDGATE_FRONT_PROMPT_PARTS_H

#include "base/buf.h"

#define PROMPT_LINE_MAX 128 /* of an answer */

/* The terminal that this process is controlled from. */
struct terminal {
    int fd;      /* its own description: that it does not block is nobody else's matter */
    int lock_fd; /* the device, to take turns with other gates on the same terminal; -1: cannot be */
    char line[PROMPT_LINE_MAX];
    size_t n;
};

bool terminal_open(struct terminal *t);
void terminal_close(struct terminal *t);
size_t terminal_width(const struct terminal *t);
/* Nobody else asks here until terminal_release. False: someone does, or the shell has the terminal. */
bool terminal_take(struct terminal *t);
void terminal_release(struct terminal *t);
/* Whether what is typed is meant for this process. */
bool terminal_is_ours(const struct terminal *t);
/* False: it could not all be shown in time, so nobody has read it. */
bool terminal_say(struct terminal *t, struct str text);
/* Drops what was typed so far. */
void terminal_forget_input(struct terminal *t);

enum terminal_input {
    INPUT_NONE,    /* no whole line yet */
    INPUT_LINE,    /* in `line`, without spaces around it */
    INPUT_SEVERAL, /* more than one at once: nobody types like that */
    INPUT_END,
};
enum terminal_input terminal_read(struct terminal *t);

#endif
