/* A glob over the paths of calls, in rules and in what is granted. */
#ifndef SANDGATE_POLICY_PATH_GLOB_H
#define SANDGATE_POLICY_PATH_GLOB_H

#include "core/glob.h"
#include "policy/place.h"

struct path_glob {
    struct glob *glob;
    struct glob
        *folder;  /* of `x` in a pattern that ends with a star or two behind the last slash */
    bool deep;    /* it ends with two: all beneath that folder matches */
    bool shallow; /* it ends with one: all that is directly in it */
    bool absolute;
};

int path_glob_read(struct path_glob *ret, struct str text, struct err *err);
void path_glob_done(struct path_glob *glob);

bool path_glob_matches(const struct path_glob *glob, const struct place *place);
/* Everything beneath the place matches for certain; with `direct`, everything that is directly in it. */
bool path_glob_covers(const struct path_glob *glob, const struct place *place, bool direct);
/* Something beneath the place may match; never false wrongly. */
bool path_glob_touches(const struct path_glob *glob, const struct place *place);

#endif
