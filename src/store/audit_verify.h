/* Checking the whole log: every record of every slot and rotated file against the one before it, the links between
 * gates and files, and the ends of the chains against `state.db` and, where given, against what an anchor kept.
 *
 * Changes nothing and takes no lock: gates may run meanwhile. Memory does not grow with the size of the files; for
 * each gate it takes a few bytes. */
#ifndef SANDGATE_STORE_AUDIT_VERIFY_H
#define SANDGATE_STORE_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum verify_level {
    VERIFY_BAD,  /* the log is not as the gates wrote it */
    VERIFY_NOTE, /* worth knowing, and as it can be in a log that nobody touched */
};

struct verify_finding {
    enum verify_level level;
    const char *file; /* in `audit`; `state.db`; or `anchor` */
    uint64_t line; /* from 1; where something is missing, the line it should have been; 0: none */
    int64_t byte;  /* where that line begins */
    const char *gate; /* may be empty */
    int64_t seq;      /* 0: none */
    const char *text; /* one line; never holds what the log's lines say */
};

struct verify_options {
    /* In the order in which they are met. Everything is borrowed. May be NULL. */
    void (*found)(void *arg, const struct verify_finding *finding);
    void *arg;
    struct str anchors; /* lines that an anchor kept, {"gate","seq","hash"}; p NULL: none */
};

struct verify_report {
    uint64_t bad; /* 0: the log is whole */
    uint64_t notes;
    uint64_t slots;
    uint64_t files;
    uint64_t gates;
    uint64_t records;
    uint64_t bytes;
    uint64_t torn; /* lines that were cut when a gate died, and are accounted for */
    uint64_t
        removed; /* files that were removed because there were too many, as far as the log tells */
    uint64_t anchors; /* that were found in the chain */
};

/* 0 when everything could be looked at, whatever was found; -1 with err when not. */
int audit_verify(int state_fd, const struct verify_options *options, struct verify_report *report,
                 struct err *err);

#endif
