/* The process groups that the gate started for cells: the helper and the launcher of each. What the launcher starts is no
 * child of the gate. */
#ifndef SANDGATE_CELL_PROCESS_GROUPS_H
#define SANDGATE_CELL_PROCESS_GROUPS_H

#include <stdbool.h>
#include <sys/types.h>

void process_groups_add(pid_t group);
/* Waits for those that have ended. */
void process_groups_reap(void);
/* Whether all of it has been waited for. */
bool process_group_is_over(pid_t group);
void process_group_kill(pid_t group);

#endif
