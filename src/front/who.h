/* Who gives an answer, for the record. */
#ifndef SANDGATE_FRONT_WHO_H
#define SANDGATE_FRONT_WHO_H

/* `alice on /dev/pts/3 by sandgate approve`: the user, the terminal where there is one, and how (NULL: no word of it).
 * The caller's to free. */
char *who_decides(const char *how);

#endif
