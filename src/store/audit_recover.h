/* Putting right what gates that died left in their slots. Private to the audit log. */
#ifndef SANDGATE_STORE_AUDIT_RECOVER_H
#define SANDGATE_STORE_AUDIT_RECOVER_H

#include <sys/types.h>

#include "base/json_out.h"
#include "store/audit_heads.h"

struct audit_recovery {
    int dir;                   /* `audit`, or -1: nothing was ever rotated */
    const char *by;            /* the gate that recovers */
    struct audit_heads *heads; /* or NULL: nothing is known of heads */
};

/* The last record of a slot. */
struct audit_last {
    char hash[HASH_HEX + 1]; /* CHAIN_NONE: there is none */
    char gate[GATE_ID_MAX];  /* "": it does not say */
    int64_t at_ms;           /* 0: it does not say */
};

/* Says true when the last line is a whole `gate.stop` which follows the record before it, what a recovery has found
 * between the two aside. */
bool audit_ended_cleanly(int fd, off_t size, struct audit_last *ret);
/* Whether the machine was started after this time. */
bool audit_restarted_since(int64_t at_ms);
/* For the gate that comes behind it: that state.db does not know the gate of this record. A power loss can take what
 * state.db had of a gate; any other reason is someone who changed it. */
void audit_write_unknown(struct json_out *j, int64_t last_ms);

/* Goes on with the chain of the gate that died: each call without an outcome gets `call.interrupted`, then comes
 * `gate.stop` with `recovered_by`. Bytes behind the last record of the chain stay and are named, with their hash, in
 * the first record written. A file that ended cleanly stays as it is; to see that takes some 4 KiB of it. A failure
 * halfway leaves a file that the next recovery completes. fd reads and appends, and its lock is held; *ret is the
 * slot's last record then. */
int audit_recover(int fd, const char *slot, const struct audit_recovery *how,
                  struct audit_last *ret, struct err *err);
/* The same for each slot in the folder, but `own`, that no living gate holds. */
void audit_recover_others(const char *own, const struct audit_recovery *how);

/* Marks those rows whose record is in the file. -errno. */
int audit_find_heads(int fd, struct head_rows *rows);

/* Opens a record with the fields that all of them begin with. */
void audit_write_head(struct json_out *j, const char *ts, int64_t seq, const char *kind,
                      const char *gate);

#endif
