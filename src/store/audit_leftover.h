/* What the last gate left in a slot: where its chain ends and which calls have no outcome. Private to recovery. */
#ifndef SANDGATE_STORE_AUDIT_LEFTOVER_H
#define SANDGATE_STORE_AUDIT_LEFTOVER_H

#include "base/json.h"
#include "store/audit_calls.h"
#include "store/audit_heads.h"
#include "store/audit_lines.h"

struct leftover {
    char gate[GATE_ID_MAX]; /* empty when the damage took it */
    int64_t seq;
    char hash[HASH_HEX + 1]; /* of the last record that follows the one before it */
    off_t valid_end;         /* behind that record; 0 when it is in another file */
    int64_t at_ms;           /* when it was written; 0: it does not say */
    bool stopped;            /* that record is a `gate.stop` */
    bool elsewhere; /* it is the last of a rotated file: nothing of the chain is in this one */
    struct audit_calls calls;

    /* While reading. */
    bool found;                /* such a record */
    bool delimited;            /* the gate's beginning was seen: what stands before it is settled */
    char before[HASH_HEX + 1]; /* as the line before has it; empty: it has none */
    struct head_rows *rows;
};

/* Marks in `rows` the heads whose records it came by. -errno. */
int leftover_read(struct leftover *left, int fd, off_t size, int dir, const char *slot,
                  struct head_rows *rows);
void leftover_done(struct leftover *left);

/* What stands behind the chain's last record: a line that was cut, or the holes of a power loss. */
struct audit_torn {
    int64_t bytes; /* without a newline at the very end; -1: nothing stands there */
    char sha256[HASH_HEX + 1];
    bool open;    /* the file does not end with a newline */
    bool records; /* whole records are in it */
};
int audit_torn_read(int fd, off_t from, struct audit_torn *ret);

#endif
