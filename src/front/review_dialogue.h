/* Asks the person at the terminal what becomes of a session's changes. */
#ifndef SANDGATE_FRONT_REVIEW_DIALOGUE_H
#define SANDGATE_FRONT_REVIEW_DIALOGUE_H

#include "front/session_changes.h"

enum review_end {
    REVIEW_NOBODY, /* there is no terminal to ask on */
    REVIEW_KEEP,   /* or the terminal is gone */
    REVIEW_DISCARD,
    REVIEW_EMPTY, /* there are no changes, or none any more */
};

/* The session is this process's. -1: its changes cannot be looked at; they stay. */
int review_ask(struct named *named, const struct options *o, enum review_end *ret, size_t *ret_left,
               struct err *err);

#endif
