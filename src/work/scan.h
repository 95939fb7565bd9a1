/* Searches open files, one after the other, and packs what was found. One thread's own. */
#ifndef SANDGATE_WORK_SCAN_H
#define SANDGATE_WORK_SCAN_H

#include <stdatomic.h>

#include "core/found.h"
#include "core/op.h"
#include "work/matcher.h"

/* The longest line that is looked at; a file is left where a longer one begins. */
#define SCAN_LINE_MAX (32u << 20)
/* Of a line this much is handed out, around its first match. */
#define SCAN_SHOWN 4096

struct scan {
    const struct matcher *matcher;
    const struct op_search_request *q;
    const atomic_bool *stop[2]; /* either ends the search of the file at hand */
    char *buf;                  /* where files are read into */
    size_t cap;
    size_t step; /* as much as is searched before `stop` is looked at again */

    struct buf *out; /* records */
    int64_t matches; /* lines, or files, that are in it */
    int64_t limit;   /* of matches: the file at hand is left when they are one more */

    int64_t files; /* so far, and so on */
    int64_t bytes;
    int64_t binary;
    int64_t long_lines;
};

void scan_init(struct scan *scan, const struct matcher *matcher, const struct op_search_request *q,
               const atomic_bool *stop, const atomic_bool *cancelled);
void scan_done(struct scan *scan);
/* With `reads_whole` a read that gives less than was asked for is at the end of the file. 0, or -errno when it
 * could not be read to its end; what is no file is never read (-ESPIPE, -EISDIR). */
int scan_file(struct scan *scan, int fd, bool reads_whole, struct str path);
bool scan_stopped(const struct scan *scan);

#endif
