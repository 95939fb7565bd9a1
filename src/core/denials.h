/* Programs that rules deny however they are started. A command's mount namespace has a stub in the place of each of
 * their files (cell/denied.h). Which they are is the policy's business (policy/exec_denied.c). */
#ifndef SANDGATE_CORE_DENIALS_H
#define SANDGATE_CORE_DENIALS_H

#include "base/buf.h"

/* How `name` names its files. */
enum denial_kind {
    DENIAL_NAME = 'n', /* in every folder where programs are */
    DENIAL_GLOB = 'g', /* the same; a `*` at the end stands for any rest */
    DENIAL_PATH = 'p', /* the file at this path */
};

struct denial {
    enum denial_kind kind;
    const char *name;
    const char *rule; /* `approval.rules[2]` */
    bool related;     /* the rule names another program of the same package; not in a packed list */
};

/* A list that does not change, shared by reference. It is used in one thread. */
struct denials {
    unsigned refs;
    struct str packed; /* see denials_next */
};

#define DENIALS_BYTES_MAX (96u << 10)

/* Adds one to a packed list. */
void denials_add(struct buf *packed, const struct denial *denial);
/* 1 and the next of a packed list, 0 at its end, -1 where it is not well formed. Strings point into it. */
int denials_next(struct str *rest, struct denial *ret);

/* With one reference; a copy of `packed`. */
struct denials *denials_new(struct str packed);
/* Both accept NULL. */
struct denials *denials_ref(struct denials *denials);
void denials_unref(struct denials *denials);
bool denials_same(const struct denials *a, const struct denials *b);

#endif
