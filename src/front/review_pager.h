/* The person at the terminal, asked and shown texts of any length while nothing else goes on. */
#ifndef SANDGATE_FRONT_REVIEW_PAGER_H
#define SANDGATE_FRONT_REVIEW_PAGER_H

#include "front/prompt_parts.h"

/* As terminal_open, for who waits for the person: reading and writing block. */
bool review_terminal_open(struct terminal *t);

/* Shows the question and reads one line; what was typed before it is no answer. False: the input is at its end, or the
 * terminal is gone. */
bool review_read_answer(struct terminal *t, const char *question);

/* Shows the text a page at a time. `patch`: lines of a diff are coloured. What would do more than draw is written out. False:
 * as above. */
bool review_page(struct terminal *t, struct str text, bool patch);

#endif
