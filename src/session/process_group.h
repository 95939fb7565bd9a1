/* A group of processes that another process left, known again by its number and by when it was noted. */
#ifndef SANDGATE_SESSION_PROCESS_GROUP_H
#define SANDGATE_SESSION_PROCESS_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#define PROCESS_GROUP_TEXT 48

/* All bytes are set, the last is 0. */
void process_group_write(pid_t group, char text[PROCESS_GROUP_TEXT]);
/* Whether a process of it has not ended. Those that began after it was noted belong to another with the same number. */
bool process_group_lives(const char *text);

#define PROCESS_GROUP_BOOT 36
/* The id of the machine's start. Zeros where it cannot be told. */
void process_group_boot(char out[PROCESS_GROUP_BOOT]);

#endif
