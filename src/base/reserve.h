/* Memory kept aside, so that a process that has none left can still answer.
 *
 * The reserve is address space that nothing is ever written to: it counts for the limits of memory (RLIMIT_DATA,
 * RLIMIT_AS) and takes no page. When an allocation fails that nobody can do without, part of the reserve is given back to
 * the system and the allocation is tried once more. Such allocations are small ones of any library, all of base/mem.h,
 * and those of code that ends the process otherwise (reserve_open). Buffers whose size an outsider chooses fail as before.
 *
 * Whoever takes up new work asks reserve_is_whole first and refuses the work as long as it is not. */
#ifndef SANDGATE_BASE_RESERVE_H
#define SANDGATE_BASE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/* Allocations up to this size may always use it. */
#define RESERVE_SMALL ((size_t)16 << 10)

/* Sets up to `bytes` aside, less where the limits leave less than four times that. After a fork again. */
void reserve_make(size_t bytes);

/* False: some of it was used and cannot be taken back at the moment. True where no reserve was made. */
bool reserve_is_whole(void);

/* Whether some of it is missing now. Safe in a signal handler. */
bool reserve_was_used(void);

/* Memory set aside in the same way for one purpose, by whoever knows what that may need at most. Starts as {0}. */
struct pledge {
    char *at;
    size_t n;
};
/* Adds so many bytes to it. False: they cannot be had, and nothing was added. */
bool pledge_add(struct pledge *pledge, size_t bytes);
void pledge_end(struct pledge *pledge);

/* Until reserve_close, allocations of this thread may use the reserve whatever their size, and `pledge` before it.
 * Several threads may use the same one. */
struct reserve_use {
    size_t most;
    struct pledge *pledge;
};
struct reserve_use reserve_open(struct pledge *pledge);
void reserve_close(const struct reserve_use *before);

#define RESERVE_OPEN_WITH(pledge)                                                                  \
    __attribute__((cleanup(reserve_close), unused))                                                \
    const struct reserve_use reserve_before = reserve_open(pledge)
#define RESERVE_OPEN_HERE RESERVE_OPEN_WITH(NULL)

#endif
