/* How much the quarantine of a workspace may hold. Commands decide what gets there, so there has to be an end to it; what
 * does not fit stays in its folder under another name. */
#ifndef SANDGATE_WORK_QUARANTINE_ROOM_H
#define SANDGATE_WORK_QUARANTINE_ROOM_H

#include <stdint.h>

#define QUARANTINE_BYTES_MAX ((int64_t)1 << 30)
#define QUARANTINE_ENTRIES_MAX 200000

struct quarantine_room {
    int64_t bytes;
    int64_t entries;
};

/* What still fits into the quarantine that is open as `folder`; nothing where that cannot be told. It is counted anew when
 * somebody else has put something there or removed it. */
struct quarantine_room quarantine_room(int folder);
/* This much was added to it. */
void quarantine_room_take(int folder, const struct quarantine_room *taken);

#endif
