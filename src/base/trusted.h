/* Opening a program that this process is about to execute: nobody but root and this user can change what its path leads
 * to. */
#ifndef SANDGATE_BASE_TRUSTED_H
#define SANDGATE_BASE_TRUSTED_H

#define TRUSTED_WHY_MAX 280

/* Follows an absolute path, links included. Every folder and link on the way and the file itself have to belong to root
 * or this user, and may not be writable by others. A folder with the sticky bit may be, if only folders are taken from it:
 * beside a program others could put what it loads. The descriptor is O_PATH.
 * Otherwise -errno; -EPERM comes with a sentence in `why`. */
int trusted_open(const char *path, char why[TRUSTED_WHY_MAX]);
/* The same of a file that can be run; `why` has words for every error. */
int trusted_program(const char *path, char why[TRUSTED_WHY_MAX]);

#endif
