/* Characters in a question that are not ASCII: many look like those of ASCII, and a program or a file may be another than it
 * seems. */
#ifndef SANDGATE_GATE_FOREIGN_H
#define SANDGATE_GATE_FOREIGN_H

#include "base/buf.h"

/* Lines that name them, by script: first those that stand in one word with letters of ASCII. Of letters and signs that look
 * like no others only a few are named. Each script is, however many there are. Nothing where all is ASCII. */
void foreign_note(struct str text, struct buf *out);

#endif
