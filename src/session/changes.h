/* What a session has changed, in the order of its paths, and as people and programs read it. Pure. */
#ifndef SANDGATE_SESSION_CHANGES_H
#define SANDGATE_SESSION_CHANGES_H

#include "base/json_out.h"
#include "core/op_change.h"

enum change_kind {
    CHANGE_ADDED,
    CHANGE_MODIFIED,
    CHANGE_DELETED,
    CHANGE_RENAMED, /* the same content and another path */
    CHANGE_MODE,    /* nothing else */
    CHANGE_TYPE,    /* a file became a link, and the like */
    CHANGE_KINDS,
};
extern const char *const change_kind_names[];

struct change {
    enum change_kind kind;
    struct op_changed of;
    struct str from;           /* CHANGE_RENAMED: the path before */
    const struct op_node *was; /* what was there, or at that path */
    bool gone;                 /* it was renamed, and is told there: */
    struct str to;
};

struct change_list {
    struct change *all;
    size_t n;
    struct buf body; /* what they point into */
};

/* Takes a copy of a packed list. False: it is not well formed. */
bool change_list_take(struct str body, struct change_list *ret);
void change_list_done(struct change_list *changes);

/* One object. */
void change_write_json(const struct change *change, struct json_out *j);
/* One line, for people. */
void change_write_line(const struct change *change, struct buf *out);

/* The part of a patch for one change, as `git apply` takes it. `diff`: a unified one of its content, or nothing. */
void change_write_patch(const struct change *change, bool binary, struct str diff, struct buf *out);
/* Whether that needs a diff of the content. */
bool change_needs_diff(const struct change *change);
/* Whether a patch says all of it: git knows no empty folders and no devices. */
bool change_fits_patch(const struct change *change, bool binary);

#endif
