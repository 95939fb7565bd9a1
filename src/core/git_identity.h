/* Who commits: the name and address that a person's git configuration holds, and nothing else of it. Pure. */
#ifndef SANDGATE_CORE_GIT_IDENTITY_H
#define SANDGATE_CORE_GIT_IDENTITY_H

#include "base/buf.h"

#define GIT_IDENTITY_MAX 256

struct git_identity {
    char name[GIT_IDENTITY_MAX]; /* "": none */
    char email[GIT_IDENTITY_MAX];
};

/* Takes what a configuration's text sets; the last of several counts, and what is too long or not to be printed does not.
 * Other files that it names are not read. */
void git_identity_read(struct str text, struct git_identity *identity);
/* A configuration with both, behind the machine's own. */
void git_identity_write(const struct git_identity *identity, struct buf *out);

#endif
