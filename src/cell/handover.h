/* From the gate to the helper, and from the helper to the launcher: what a cell is to be, with the descriptors it
 * needs. */
#ifndef SANDGATE_CELL_HANDOVER_H
#define SANDGATE_CELL_HANDOVER_H

#include "cell/mounts.h"

/* What a launcher needs to begin. */
struct start {
    struct cell_spec spec;
    struct trees trees;
    int shelf_fd; /* -1: none */
};

/* The gate's specification. *ret_text stays valid until the next one is received. */
int handover_receive(int control, struct str *ret_text, struct start *ret, struct err *err);
/* Helper to launcher, over a socket between the two; the text is made anew for a role's own program, whose files the helper
 * has found. */
int handover_send(int go, struct str text, const struct start *start, struct err *err);
/* Ends the process where nothing comes: the other side has failed, and tells why. */
int handover_take(int go, struct start *ret, struct err *err);

#endif
