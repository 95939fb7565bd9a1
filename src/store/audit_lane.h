/* One slot of the log as one run of records: its rotated files by their names, then the one in use. Private to
 * audit_read.c. */
#ifndef SANDGATE_STORE_AUDIT_LANE_H
#define SANDGATE_STORE_AUDIT_LANE_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/hash.h"
#include "store/audit_read.h"

#define AUDIT_LANES_MAX 1000
#define AUDIT_NAME_MAX 64

struct audit_lane {
    int dir;                 /* borrowed */
    struct audit_gaps *gaps; /* borrowed */
    unsigned slot;
    char name[AUDIT_NAME_MAX]; /* the file's when it was opened */
    int fd;
    dev_t device;
    ino_t inode;
    struct buf data;
    size_t used;    /* of data */
    size_t looked;  /* up to here there is no end of a line */
    bool skipping;  /* the rest of a line is not wanted */
    bool own_skip;  /* … because we began in the middle of it */
    bool truncated; /* what came before the window was left out */
    bool begun;
    bool dry; /* read to the end; until told otherwise */
    bool has_head;
    char from[32]; /* records before this time are passed over; "" : none */
    yyjson_doc *doc;
    struct audit_entry head;
    char before[HASH_HEX + 1]; /* the hash of the line before; "": not known */
    char good[HASH_HEX + 1];   /* of the last record that fitted */
    bool at_start;             /* of a file that is read from its beginning */
};

/* The slot of a file's name, or -1. */
int audit_lane_slot(const char *name);

struct audit_lane *audit_lane_new(int dir, unsigned slot, const struct audit_read_options *options,
                                  struct audit_gaps *gaps);
void audit_lane_free(struct audit_lane *lane);
/* The next record into `head`; false: none at the moment, and `dry` is set. */
bool audit_lane_load(struct audit_lane *lane);
/* Notes that a file or folder, or the rest of it, could not be read. One that is gone leaves no gap. */
void audit_gap_add(struct audit_gaps *gaps, const char *name, int error);
/* The head is done with. */
void audit_lane_drop(struct audit_lane *lane);

#endif
