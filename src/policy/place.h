/* Where a path argument leads, by the grammar of its dialect, and how the paths of rules relate to that. Only text is
 * looked at: a rule that decided by a path holds only if what is opened is what was named (verdict.as_named). */
#ifndef SANDGATE_POLICY_PLACE_H
#define SANDGATE_POLICY_PLACE_H

#include "policy/judge.h"

enum place_state {
    PLACE_UNREAD,
    PLACE_MISSING, /* there is no such argument and nothing stands for it */
    PLACE_UNCLEAR, /* it cannot be said where it leads */
    PLACE_KNOWN,
};

struct place {
    enum place_state state;
    bool tree;    /* all that lies beneath is meant too */
    bool mounted; /* written with its mount: `@project/src` */
    const struct root *root;
    const char *base; /* the host's path where relative ones begin; NULL: at the root */
    char *rest;       /* relative to the root, "." for the root itself */
    /* As rules write it: relative to the workspace, with its mount, or absolute where it is in neither. */
    char *text;
};

/* Reads a path; on failure the place is unclear and `err` says why. */
int place_read(struct place *place, const struct policy_call *call, bool mounted, struct str text,
               struct err *err);
void place_done(struct place *place);

/* A path in a rule: relative to the workspace, with a mount, or absolute. */
struct rule_path {
    char *text; /* without `.`, doubled slashes and one at its end; "." for the workspace itself */
    bool absolute;
};

int rule_path_read(struct rule_path *ret, struct str text, struct err *err);
void rule_path_done(struct rule_path *path);

enum relation {
    PLACE_APART,
    PLACE_SAME,
    PLACE_BENEATH, /* the place lies beneath the rule's path */
    PLACE_ABOVE,   /* the rule's path lies beneath the place */
};

/* `*ret_loose`: the rule names no mount and the place has one. It may not have been meant. */
enum relation place_relate(const struct place *place, const struct rule_path *path,
                           bool *ret_loose);

/* The absolute path in the cell, or on the host; the caller frees it. */
char *place_absolute(const struct place *place, bool host);

#endif
