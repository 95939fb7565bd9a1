/* What a command tried and its filter refused: init answers each such call and counts it by name.
 *
 * Names are a call's (`mount`), with what was wanted of it where that tells more: `clone:namespaces`,
 * `socket:AF_PACKET`, `chmod:setuid` (whichever form of the call it was), `ioctl:TIOCSTI`. */
#ifndef SANDGATE_CELL_VIOLATIONS_H
#define SANDGATE_CELL_VIOLATIONS_H

#include <stdint.h>

#include "base/json_out.h"

#define VIOLATIONS_MAX 16
#define VIOLATION_NAME_MAX 64 /* with its NUL */

struct seccomp_data;

struct violation {
    char call[VIOLATION_NAME_MAX]; /* UTF-8; "…" behind a name that is cut */
    uint32_t count;
};

/* Starts as all zeros. */
struct violations {
    struct violation seen[VIOLATIONS_MAX];
    uint32_t n;
    uint32_t others; /* calls that were not among the first names */
};

/* Decides about a call whose arguments are all in registers, so that nobody can change them meanwhile. True: the kernel
 * does it. */
struct violations_judge {
    bool (*allows)(void *self, const char *call, const struct seccomp_data *data);
    /* Of a refused call: the denied program that it tells of, or NULL. It is counted as `denied:PROGRAM`. */
    const char *(*denied)(void *self, const char *call, const struct seccomp_data *data);
    void *self;
};

/* Takes one call from the listener that lock_as gave, refuses it, counts it; or lets it go on, where the judge
 * allows that. To be called when poll says that there is one: then it does not wait, even if the caller has died
 * since. False: the call cannot be answered, and its caller would wait for good; when the listener is closed the kernel
 * refuses it, and all others. */
bool violations_take(int listener, struct violations *v, const struct violations_judge *judge);
/* Something else that was not as it should be. */
void violations_count(struct violations *v, const char *name);
/* [{"call":"mount","count":3},…]; those beyond the first names are one row, `other`. */
void violations_write(const struct violations *v, struct json_out *j);

#endif
