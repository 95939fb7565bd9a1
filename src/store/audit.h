/* The audit log: JSON lines in `<state>/audit/`, one file for each gate that runs at the same time.
 *
 * A gate takes the first slot (`000.jsonl`, `001.jsonl`, …) that no living gate holds. What its last
 * owner left without an outcome is then recorded as `call.interrupted`. The records of a slot are a
 * chain (audit_chain.h); how far it has come is noted in `state.db` every `batch_ms`. A file that
 * grows too large is renamed, and the chain goes on in a new one. */
#ifndef SANDGATE_STORE_AUDIT_H
#define SANDGATE_STORE_AUDIT_H

#include <uv.h>

#include "base/err.h"
#include "base/json_out.h"
#include "store/audit_anchor.h"

enum audit_sync {
    AUDIT_SYNC_NONE,   /* records survive the death of any process, not a power loss */
    AUDIT_SYNC_BATCH,  /* … and after a power loss all but the last `batch_ms` */
    AUDIT_SYNC_ALWAYS, /* … and after a power loss every call that was answered */
};

struct audit_options {
    enum audit_sync sync;
    unsigned batch_ms;
    uint64_t max_bytes; /* a file that is larger is rotated */
    unsigned max_files; /* rotated ones that are kept, of all slots together; 0: all */
    /* The operator's program that takes heads out of this user's reach, by its absolute path and with its
     * arguments, NULL-ended; NULL: none. Borrowed. One JSON line on its standard input, {"gate","seq","hash","ts"}. */
    struct anchor anchor;
    unsigned anchor_ms; /* at most so often, and at the end */
    struct db *db; /* open, for audit_open alone; NULL: it opens the database itself. Borrowed */
    /* Told once what a person should know, such as an anchor that fails; may be NULL. */
    void (*warn)(void *arg, const char *message);
    void *warn_arg;
};

struct audit;
struct db;
typedef void (*audit_synced_fn)(void *arg, int status); /* 0 or -errno */

/* Opens, recovers and writes `gate.start`. state_fd is the state folder, borrowed until audit_close. */
int audit_open(struct audit **ret_audit, uv_loop_t *loop, int state_fd,
               const struct audit_options *options, struct err *err);
/* Writes `gate.stop`, syncs once unless `none`, notes and anchors the head, gives the slot back. Accepts NULL. */
/* A database that is not used any more, for the last note of the log's head: opening it again takes longer. */
void audit_give_db(struct audit *audit, struct db *db);
void audit_close(struct audit *audit);

/* Begins a record: `ts`, `seq`, `kind`, `gate` and, when given, `call` are already in it; the caller
 * adds fields to the returned writer and ends the record. Nothing reaches the file before a flush. */
struct json_out *audit_begin(struct audit *audit, const char *kind, const char *call);
void audit_end(struct audit *audit);

/* Writes all ended records with one write(2). On failure nothing more may be answered: the records
 * stay pending and the next flush tries again. The same while `state.db` does not take the chain's head. */
int audit_flush(struct audit *audit, struct err *err);

/* Writes what it can of the records so far; what fails is told by the next flush. For records on which no call waits. */
void audit_write_out(struct audit *audit);

/* ALWAYS: `done` runs once everything flushed so far is on disk; calls share an fdatasync that runs
 * off the loop. Other modes: `done` runs at once. */
void audit_wait_synced(struct audit *audit, audit_synced_fn done, void *arg);

const char *audit_gate_id(const struct audit *audit);

#endif
