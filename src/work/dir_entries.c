#include "work/dir_entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "work/beneath_walk.h"

#define LISTING_BYTES (32u << 10)

static bool read_more_entries(struct dir_entries *e)
{
    if (!e->bytes)
        e->bytes = mem_zero(LISTING_BYTES);
    e->at = 0;
    e->length = getdents64(e->dir, e->bytes, LISTING_BYTES);
    if (e->length < 0) {
        e->error = errno;
        beneath_note_lack(e->error);
    }
    return e->length > 0;
}

const struct dirent64 *dir_entries_next(struct dir_entries *entries)
{
    while (!entries->error && (entries->at < entries->length || read_more_entries(entries))) {
        const struct dirent64 *d = (const void *)(entries->bytes + entries->at);
        entries->at += d->d_reclen;
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            return d;
    }
    return NULL;
}

void dir_entries_done(struct dir_entries *entries)
{
    free(entries->bytes);
}
