/* The entries of an open folder, one after the other, without "." and "..". */
#ifndef SANDGATE_WORK_DIR_ENTRIES_H
#define SANDGATE_WORK_DIR_ENTRIES_H

#include <dirent.h>
#include <sys/types.h>

#include "base/mem.h"

struct dir_entries {
    int dir;     /* borrowed; its position moves */
    char *bytes; /* allocated for the first entry */
    ssize_t length;
    ssize_t at;
    int error; /* errno; set when the list ended too early */
};

/* NULL at the end, or when the folder cannot be read further: then `error` is set, and noted (beneath_note_lack). */
const struct dirent64 *dir_entries_next(struct dir_entries *entries);
void dir_entries_done(struct dir_entries *entries);
#define DIR_ENTRIES_AT_END CLEANUP(dir_entries_done)

#endif
