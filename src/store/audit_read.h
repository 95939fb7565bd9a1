/* Reading the audit log: the records of all gates in the order of their times, from files that may grow, be rotated
 * and appear meanwhile. Memory does not grow with the files. Nothing is locked or changed. */
#ifndef SANDGATE_STORE_AUDIT_READ_H
#define SANDGATE_STORE_AUDIT_READ_H

#include <limits.h>

#include "base/err.h"
#include "base/json.h"

struct audit_reader;

struct audit_read_options {
    int64_t from_ms; /* earlier records are passed over; INT64_MIN: none */
    uint64_t window; /* of each slot at most about as many bytes, the last ones; 0: all */
};

/* What is missing from what was read. */
struct audit_gaps {
    uint64_t damaged; /* lines that are no records */
    uint64_t unread;  /* times that a file could not be read, or not to its end */
    char name[64];    /* the first of those, */
    int error;        /* and its errno */
};

/* Valid until the next call. */
struct audit_entry {
    struct str line; /* as it stands in the file, without its end */
    yyjson_val *record;
    int64_t at_ms;
    bool unchained; /* its hash is not the one that it must have behind the records before it */
};

/* A log that does not exist yet is an empty one. */
int audit_reader_new(struct audit_reader **ret, int state_fd,
                     const struct audit_read_options *options, struct err *err);
/* Accepts NULL. */
void audit_reader_free(struct audit_reader *reader);

/* False: there is no more at the moment. */
bool audit_reader_next(struct audit_reader *reader, struct audit_entry *ret);
/* Waits until there may be more, at most timeout_ms; false once nobody reads `output_fd` any more. */
bool audit_reader_wait(struct audit_reader *reader, int timeout_ms, int output_fd);

/* So far. */
const struct audit_gaps *audit_reader_gaps(const struct audit_reader *reader);
/* With a window, once the first record was read: from this time on nothing is missing; INT64_MIN: it holds all. */
int64_t audit_reader_complete_from(const struct audit_reader *reader);

#endif
