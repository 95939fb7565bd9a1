/* The terminal that questions are asked on: prompt.c, watch.c and approve.c use it, dialogue.c talks. */
#ifndef SANDGATE_FRONT_PROMPT_PARTS_H
#define SANDGATE_FRONT_PROMPT_PARTS_H

#include "base/buf.h"
#include "front/approval_rows.h"

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
size_t terminal_height(const struct terminal *t);
/* Its width, and whether it shows colours: NO_COLOR and TERM=dumb say no. */
struct approval_style terminal_style(const struct terminal *t);
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
/* Whether the line that was read is this, in upper or lower case. */
bool terminal_is_line(const struct terminal *t, const char *text);
/* As terminal_style, for any descriptor; one that is no terminal has no colours and a usual width. */
struct approval_style terminal_style_of(int fd);

#endif
