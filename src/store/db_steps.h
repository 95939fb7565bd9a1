/* The tables of state.db, as the steps that lead to them. Step i leads from version i to version i + 1. A step that was
 * released is never changed. */
#ifndef SANDGATE_STORE_DB_STEPS_H
#define SANDGATE_STORE_DB_STEPS_H

#include <stddef.h>

extern const char *const db_steps[];
extern const size_t db_steps_count;

#endif
