/* Bringing a tree (guard_tree.h) up to date with the folders on the disk. */
#ifndef SANDGATE_WORK_GUARD_READ_H
#define SANDGATE_WORK_GUARD_READ_H

#include <linux/stat.h>

#include "work/beneath.h"
#include "work/guard_tree.h"

struct guard_root;

struct reading {
    struct tree *tree;
    int root;
    const struct guard *guard;
    char *chunk;  /* WORK_CHUNK bytes */
    bool git;     /* the rules protect git directories */
    bool foreign; /* times of the root mean nothing: those of an overlay are its upper layer's */
    bool changed; /* what is guarded may have */
    bool lost;    /* a folder was not found where it was */
    bool moved;   /* one was renamed, as far as that was heard */
    uint64_t folders; /* read so far */
    uint64_t max_entries;
    uint32_t *old; /* a table of the folders that were there before */
    uint32_t old_room;
    struct guard_root
        *reopens;  /* commands run: what they close is opened (guard_reopen.h); or NULL */
    bool reopened; /* the folder at hand was, and may have been closed since */
    char path[PATH_TEXT_MAX]; /* of the folder at hand */
};

/* Reads a folder that is open; r->path is its path. 0 or -errno; -E2BIG: there are more entries than max_entries. */
int folder_read(struct reading *r, uint32_t folder, int fd);
/* Whether what is in an open folder can be reached. */
bool folder_can_reach(int fd, const struct statx *st);
/* Says that a folder cannot be read. */
int folder_close(struct reading *r, uint32_t folder);

/* Flags folders that are not as they were with TREE_READ, and puts them into `ret` (packed uint32_t). */
int folders_check(struct reading *r, struct buf *ret);
/* Reads a folder, and those in it that are flagged. 0 or -errno; -EACCES: the root itself cannot be read. */
int folders_update(struct reading *r, uint32_t top);
void reading_done(struct reading *r);

/* Opens a folder of the tree; `path` is set to its path. -errno. */
int folder_open(const struct tree *tree, int root, uint32_t folder, char *path, int flags);
/* Without following a link, and without asking a server for times. */
int folder_stat(int dir, const char *name, struct statx *ret);
/* The type of an entry as in d_type, which not every file system tells. DT_UNKNOWN: it cannot be found out. */
unsigned char folder_entry_type(int dir, const char *name, unsigned char listed);
struct tree_id folder_id(const struct statx *st);

/* Of two kinds (enum guarded_kind, or TREE_PLAIN) the one that covers more. */
uint8_t guard_stronger(uint8_t a, uint8_t b);

#endif
