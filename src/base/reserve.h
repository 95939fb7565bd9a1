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

/* The limit of memory that this process had when the reserve was made; SIZE_MAX: none. */
size_t reserve_room(void);

/* Whether there is this much memory besides, at the moment. */
bool reserve_probe(size_t bytes);

/* Until reserve_close with what this returned, allocations of this thread may use it whatever their size. */
size_t reserve_open(void);
void reserve_close(const size_t *before);

#define RESERVE_OPEN_HERE                                                                          \
    __attribute__((cleanup(reserve_close), unused)) const size_t reserve_before = reserve_open()

#endif
