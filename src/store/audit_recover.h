/* Slots, and putting right what gates that died left in theirs. Private to the audit log. */
#ifndef SANDGATE_STORE_AUDIT_RECOVER_H
#define SANDGATE_STORE_AUDIT_RECOVER_H

#include <stdint.h>

#include "base/err.h"
#include "base/json_out.h"

/* No record is longer, its newline included: recovery can read back whatever a gate wrote. */
#define AUDIT_RECORD_MAX (256u << 10)

enum audit_slot {
    AUDIT_SLOT_FAILED = -1,
    AUDIT_SLOT_BUSY,  /* a living gate holds it */
    AUDIT_SLOT_MOVED, /* renamed meanwhile: the name is free or another file's */
    AUDIT_SLOT_OURS,
};

/* Opens and locks one file of the folder `dir`; `create` is O_CREAT or 0. */
enum audit_slot audit_slot_lock(int dir, const char *name, int create, int *ret_fd,
                                struct err *err);

/* Records each call without an outcome as `call.interrupted`, then `gate.stop` with `recovered_by`.
 * A file that ended cleanly stays as it is; to see that takes 4 KiB of it. A failure halfway leaves
 * a file that the next recovery completes. fd reads and appends, and its lock is held. */
int audit_recover(int fd, const char *recovered_by, struct err *err);
/* The same for each slot in `dir`, but `own`, that no living gate holds. Takes over dir. */
void audit_recover_others(int dir, const char *own, const char *recovered_by);

/* Opens a record with the fields that all of them begin with. */
void audit_write_head(struct json_out *j, const char *ts, int64_t seq, const char *kind,
                      const char *gate);
/* Says what the operator can do about a failed read or write; `code` is a positive errno. */
int audit_io_error(struct err *err, int code);

#endif
