/* Who wrote a row, and whether that process still lives. */
#ifndef SANDGATE_STORE_OWNER_H
#define SANDGATE_STORE_OWNER_H

#include <stdbool.h>

#define OWNER_MAX 160

/* This process: its number, when it started, the machine's boot and the namespace that the number is of. -errno where
 * /proc does not tell. */
int owner_self(char out[OWNER_MAX]);

/* False only where it is certain. `self` is what owner_self gave, or "": who is in another namespace of process
 * numbers cannot be looked for. */
bool owner_lives(const char *self, const char *owner);

#endif
