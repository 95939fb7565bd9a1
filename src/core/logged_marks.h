/* How a shell reads each byte of a script: what it takes as text, and what it could run. */
#ifndef SANDGATE_CORE_LOGGED_MARKS_H
#define SANDGATE_CORE_LOGGED_MARKS_H

#include <stdbool.h>

#include "base/buf.h"

enum logged_mark {
    LOGGED_PLAIN, /* words and operators, also of a script in quotes: `sh -c '…'`, `ssh host "…"`, `bash <<E` */
    LOGGED_QUOTED, /* a part of a word */
    LOGGED_DATA,   /* a here-document that no shell reads */
};

/* Of a backslash and the line's end behind it, which a shell takes out before it reads on. */
#define LOGGED_JOINED 0x40

/* Of what begins `$(…)`: a shell reads what it prints. */
#define LOGGED_RUN 0x20
#define LOGGED_FLAGS (LOGGED_JOINED | LOGGED_RUN)

/* One byte for each of the script, perhaps with these. False: there is no memory for them, or they take too
 * long to be found. */
bool logged_marks(struct str script, struct buf *ret);

#endif
