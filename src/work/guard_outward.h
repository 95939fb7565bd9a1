/* Leads out of a root that may come back to one (OP_LEADS). */
#ifndef SANDGATE_WORK_GUARD_OUTWARD_H
#define SANDGATE_WORK_GUARD_OUTWARD_H

#include "core/op.h"

/* With more than that no command starts: each is compared with all others, and the gate follows each. */
#define OUTWARD_MAX 2000u

struct lead_set {
    struct buf packed; /* op_lead */
    uint32_t count;
};

struct guard_outward {
    struct lead_set untold;
    struct lead_set told;   /* those that the gate has taken */
    struct lead_set before; /* while a scan follows: what was told before it */
    struct lead_set back;   /* where leads of any root come back into this one */
    struct lead_set quiet;  /* those that were there when no command ran */
    bool is_quiet;          /* none runs during this scan */
    uint32_t noted;         /* by the last scan */
    bool failed;            /* there was no room for all of them */
};

void outward_init(struct guard_outward *o);
void outward_done(struct guard_outward *o);
/* A scan notes all leads there are between these two. -EMLINK: more than can be noted, now or when they came back; the
 * next scan tells all of them again. */
void outward_begin(struct guard_outward *o, bool quiet);
/* True: it was not there when no command ran. */
bool outward_note(struct guard_outward *o, enum guarded_kind kind, const char *text);
int outward_end(struct guard_outward *o);
/* Says why no command can start. */
int outward_refuse(const struct guard_outward *o, const char *host, struct err *err);

#endif
