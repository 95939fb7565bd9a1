/* Which of a session's changes a person has named. */
#ifndef SANDGATE_FRONT_REVIEW_CHOOSE_H
#define SANDGATE_FRONT_REVIEW_CHOOSE_H

#include "base/err.h"
#include "session/changes.h"

/* For commit_plan_make. */
struct review_choice {
    struct str *paths; /* into `texts` */
    char **texts;
    size_t n;
};

/* `line` has numbers (`1 3-5`), which count those that are told, paths and globs, with spaces or commas between them. */
int review_choose(const struct change_list *changes, struct str line, struct review_choice *ret,
                  struct err *err);
void review_choice_done(struct review_choice *choice);

#endif
