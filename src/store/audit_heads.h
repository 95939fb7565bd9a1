/* What `state.db` knows of the log: how far each gate's chain has come, and which files were removed because there
 * were too many. A head is written after its record, so it is never ahead of the file; one whose record is not
 * there shows that records are gone. Private to the audit log. */
#ifndef SANDGATE_STORE_AUDIT_HEADS_H
#define SANDGATE_STORE_AUDIT_HEADS_H

#include "store/audit_chain.h"
#include "store/audit_files.h"
#include "store/db.h"

/* As long as others may hold the database before calls are refused. */
#define HEADS_WAIT_MS 5000
/* Of one slot: more than one are left only where records are missing. */
#define HEAD_ROWS_MAX 64
#define REMOVED_MAX 16

/* For one thread at a time. The database is opened when it is first needed. */
struct audit_heads {
    int state_fd; /* borrowed */
    struct db *db;
};

/* A gate that is about to begin has the number 0, and the hash of the record that it begins behind. */
struct head_row {
    char gate[GATE_ID_MAX];
    struct chain_head head;
    bool stopped;
    bool found; /* its record was seen */
};

struct head_rows {
    struct head_row rows[HEAD_ROWS_MAX];
    size_t n;
};

struct removed_file {
    char name[ROTATED_NAME_MAX];
    char last_gate[GATE_ID_MAX]; /* of its last record, as the next */
    int64_t last_seq;
    char last_hash[HASH_HEX + 1];
    struct head_rows *heads; /* of its slot; those that were found go with it */
};

/* One change of the tables, all of it or nothing. */
struct head_note {
    const char *gate;
    const char *slot; /* the file's name */
    const char *first_hash;
    struct chain_head head;
    bool stopped;
    const char *after;             /* a head with this hash is covered by this one; or NULL */
    const struct head_rows *found; /* those that were found are, too; or NULL */
    const struct removed_file *removed;
    size_t n_removed;
};

/* Before a gate's first record is written: from then on state.db knows that this gate has records. *ret_known: so it
 * does of `before`, whose record is the last one of the slot. */
struct head_begin {
    const char *gate;
    const char *slot;
    const char *after;  /* the hash of that record */
    const char *before; /* its gate; "": none */
};
int audit_heads_begin(struct audit_heads *heads, const struct head_begin *begin, bool *ret_known,
                      struct err *err);
/* Opens the database, and makes it where it is missing. */
int audit_heads_open(struct audit_heads *heads, struct err *err);
/* 1 when state.db was made while files of the log were there already, else 0; -1. */
int audit_heads_made_late(struct audit_heads *heads, struct err *err);

int audit_heads_write(struct audit_heads *heads, const struct head_note *note, int wait_ms,
                      struct err *err);
/* Those of a slot but `gate`'s, which may be NULL. */
int audit_heads_read(struct audit_heads *heads, const char *slot, const char *gate,
                     struct head_rows *ret, struct err *err);
/* 1 when a removed file of the slot ended with this hash, else 0; -1. */
int audit_heads_removed(struct audit_heads *heads, const char *slot, const char *hash,
                        struct err *err);
/* Sets used[i] for each slot i that has a head. */
int audit_heads_slots(struct audit_heads *heads, bool *used, size_t n, struct err *err);
/* Marks the row that this record is the head of. */
void audit_heads_match(struct head_rows *rows, const struct chain_record *record);
void audit_heads_done(struct audit_heads *heads);

#endif
