/* Takes changes of a session over, and asks the person at the terminal about those that something stands against. */
#ifndef SANDGATE_FRONT_REVIEW_TAKE_H
#define SANDGATE_FRONT_REVIEW_TAKE_H

#include "front/review_choose.h"
#include "front/review_pager.h"
#include "front/session_commit.h"

/* No paths: all of them. False: the terminal is gone, and nothing was done. */
bool review_take(struct terminal *t, struct named *named, const struct options *o,
                 const struct review_choice *choice);

#endif
