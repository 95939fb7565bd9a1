/* Commands that are made of verbs, as `sandgate session list`. */
#ifndef SANDGATE_FRONT_VERBS_H
#define SANDGATE_FRONT_VERBS_H

#include "front/options.h"

struct verb {
    const char *name;
    int (*run)(int state_fd, const struct options *o, struct buf *out, struct err *err);
    const char *doc;
};

struct verbs {
    const struct verb *all; /* ends with a row of zeros */
    const char *usage;
    unsigned options; /* enum option_set */
    size_t words_max; /* of the command line; 0: a verb and what it is about */
    size_t out_max;
    bool stateless; /* they get no state folder: state_fd is -1 */
};

/* Those whose help was told last; NULL: none was. */
const struct verb *verbs_helped(void);
/* What a verb has written is printed also where it failed. The exit status. */
int verbs_run(const struct verbs *verbs, int argc, char *const *argv);

#endif
