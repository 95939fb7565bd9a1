/* Rules that a person approved for always: `approved.json` in the user's configuration folder,
 * {"rules":[{the rule, "approved_by", "approved_at"}]}. It is read as a whole or not at all: nothing is approved by a
 * file that is damaged or that others could write. */
#ifndef SANDGATE_GATE_REMEMBER_H
#define SANDGATE_GATE_REMEMBER_H

#include "base/err.h"

#define REMEMBER_BYTES_MAX (1u << 20)
#define REMEMBER_RULES_MAX 1000

struct remembered {
    size_t number;    /* in the file, from 0 */
    struct str rule;  /* as policy/judge.h reads it */
    const char *name; /* `approved.json[0]` */
    const char *by;
    const char *at; /* RFC 3339 */
};

/* Nothing where there is no file. -1: none of them counts. */
int remember_each(void (*each)(void *arg, const struct remembered *rule), void *arg,
                  struct err *err);
int remember_load(void (*each)(void *arg, struct str rule, const char *name), void *arg,
                  struct err *err);
/* Differs from the last answer when the file may have been changed; 0: there is none. */
int64_t remember_mark(void);

/* What to do while another process changes the file, which takes a moment. */
enum remember_wait {
    REMEMBER_AT_ONCE, /* for whoever has a loop to run: ERR_SESSION_BUSY, reason `approved_locked` */
    REMEMBER_WAIT,    /* for up to 2 s, then the same */
};

/* On disk when it returns. One that is there already is not written again. */
int remember_add(struct str rule, const char *by, enum remember_wait wait, struct err *err);
/* By the number that remember_each gives, and only if that rule is still this one (`rule.p` NULL: whichever it is). Waits. */
int remember_forget(size_t number, struct str rule, struct err *err);

#endif
