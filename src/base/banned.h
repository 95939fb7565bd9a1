/* Functions that cannot be told how much room there is. Using one is a compile error. */
#ifndef SANDGATE_BASE_BANNED_H
#define SANDGATE_BASE_BANNED_H

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok alloca

#endif
