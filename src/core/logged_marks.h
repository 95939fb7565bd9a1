/* How a shell reads each byte of a script: what it takes as text, and what it could run. */
#ifndef SANDGATE_CORE_LOGGED_MARKS_H
#define SANDGATE_CORE_LOGGED_MARKS_H

#include <stdbool.h>

#include "base/buf.h"

enum logged_mark {
    LOGGED_PLAIN,  /* words and operators, also of a script in quotes: `sh -c '…'`, `ssh host "…"`, `bash <<E` */
    LOGGED_QUOTED, /* a part of a word */
    LOGGED_DATA,   /* a here-document that no shell reads */
};

/* One byte for each of the script. False: there is no memory for them. */
bool logged_marks(struct str script, struct buf *ret);

#endif
