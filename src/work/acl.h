/* POSIX access control lists, as far as a file that takes another's place needs them. A list is lost then, and its mask stood
 * in the place of the group's bits: these cannot be taken over as they are. */
#ifndef SANDGATE_WORK_ACL_H
#define SANDGATE_WORK_ACL_H

#include <sys/types.h>

/* Gives permission bits to a file, open as `fresh`, that takes the place of one with `mode`, which is open as `old`. Nobody
 * may do more than before, whoever was named in the old one's list or is in that which the new one has from its folder.
 * Where that is the same list, nothing is lost. `old` -1: it cannot be opened, so only its owner keeps what they had.
 * -errno. */
int acl_set_mode(int old, int fresh, mode_t mode);

#endif
