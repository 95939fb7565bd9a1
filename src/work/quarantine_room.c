#include "work/quarantine_room.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "work/beneath.h"
#include "work/dir_entries.h"

/* Nothing that is put there is deeper (work/quarantine.c). */
#define DEPTH_MAX 70

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct timespec changed; /* of the folder, when it was counted */
    struct quarantine_room used;
} counted;

static bool is_room_exceeded(const struct quarantine_room *used)
{
    return used->bytes > QUARANTINE_BYTES_MAX || used->entries > QUARANTINE_ENTRIES_MAX;
}

static bool count_quarantine_folder(int folder, int depth, struct quarantine_room *used);

static bool count_entry(int folder, const char *name, int depth, struct quarantine_room *used)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true; /* its user has just removed it */
    used->entries++;
    if (!S_ISDIR(st.st_mode)) {
        used->bytes += st.st_size;
        return true;
    }
    FD_AT_END int inner = beneath_open_child(folder, name);
    /* A folder whose mode closes it holds nothing that could be counted. */
    return inner < 0 || count_quarantine_folder(inner, depth + 1, used);
}

/* False: it cannot be told, or is more than may be there. */
static bool count_quarantine_folder(int folder, int depth, struct quarantine_room *used)
{
    DIR_ENTRIES_AT_END struct dir_entries in = {.dir = folder};
    if (depth > DEPTH_MAX)
        return false;
    for (const struct dirent64 *d; (d = dir_entries_next(&in));) {
        if (!count_entry(folder, d->d_name, depth, used) || is_room_exceeded(used))
            return false;
    }
    return !in.error;
}

static bool is_counted(const struct stat *st)
{
    return counted.changed.tv_sec == st->st_mtim.tv_sec &&
           counted.changed.tv_nsec == st->st_mtim.tv_nsec;
}

struct quarantine_room quarantine_room(int folder)
{
    struct quarantine_room room = {0};
    struct stat st;
    if (fstat(folder, &st) < 0)
        return room;
    pthread_mutex_lock(&lock);
    bool known = is_counted(&st);
    struct quarantine_room used = counted.used;
    if (!known) {
        FD_AT_END int again = beneath_reopen_dir(folder);
        used = room;
        known = again >= 0 && count_quarantine_folder(again, 0, &used);
    }
    if (known) {
        counted.used = used;
        counted.changed = st.st_mtim;
        room = (struct quarantine_room){QUARANTINE_BYTES_MAX - used.bytes,
                                        QUARANTINE_ENTRIES_MAX - used.entries};
    }
    pthread_mutex_unlock(&lock);
    return room;
}

void quarantine_room_take(int folder, const struct quarantine_room *taken)
{
    struct stat st;
    pthread_mutex_lock(&lock);
    counted.used.bytes += taken->bytes;
    counted.used.entries += taken->entries;
    if (fstat(folder, &st) == 0)
        counted.changed = st.st_mtim;
    pthread_mutex_unlock(&lock);
}
