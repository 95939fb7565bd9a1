/* What the policy says of a call before it runs: whether it may, who is to be asked, and what it counts against. */
#ifndef SANDGATE_CORE_VERDICT_H
#define SANDGATE_CORE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct denials;

/* Of several that hold for a call, the last in this order wins. */
enum verdict_kind { VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY };

enum charge_unit {
    CHARGE_CALLS,
    CHARGE_BYTES_WRITTEN,
    CHARGE_MS, /* `seconds` in the configuration */
    CHARGE_NETWORK_BYTES,
    CHARGE_MODEL_TOKENS,
    CHARGE_MONEY, /* in millionths */
    CHARGE_UNITS
};
extern const char *const charge_unit_names[]; /* as in the configuration; NULL-ended */

/* In UTC: from midnight, from Monday's, from that of the first. */
enum charge_period { PERIOD_DAILY, PERIOD_WEEKLY, PERIOD_MONTHLY };
extern const char *const charge_period_names[];

/* One limit that a call counts against. */
struct charge {
    char *key;        /* the counter; calls with the same key share it */
    const char *rule; /* the field of the configuration, for messages; borrowed from the policy */
    int64_t limit;
    int64_t window_ms; /* at most `limit` calls in any such time; 0: a budget */
    enum charge_period period;
    enum charge_unit unit;
    int64_t amount;   /* what is taken before the call runs: the most it can use */
    int64_t since_ms; /* once taken: when the period began that it was taken from */
};

struct verdict {
    enum verdict_kind kind;
    char rule[96]; /* what decided: `approval.rules[3]`, `approval.default` */
    char why
        [200]; /* it asks although a rule approves a part of it: what that rule does not hold for */
    bool hooks; /* some are to be asked before it runs */
    bool
        as_named; /* a rule looked at a path: what is opened has to be what was named, no link on the way */
    bool wants_git;    /* the call asks to write to git directories */
    bool git;          /* and a rule lets it; or the rule lets it without being asked */
    int64_t max_ms;    /* of the call; 0: as usual */
    int64_t max_bytes; /* that it may write, for its budget */
    int64_t max_memory;
    int64_t max_cpu_millis;
    struct charge *charges;
    size_t n_charges;
    /* Of a command: the only programs that it may start, a NUL behind each; NULL: any. */
    char *leaves;
    size_t leaves_n;        /* bytes */
    bool own_home;          /* of a command: it has a home of its own, without what others left in theirs */
    struct denials *denied; /* of a command: programs that it must not start; NULL: none */
};

/* Someone has to be asked. What a person approves is not limited to the programs of a rule. */
void verdict_ask(struct verdict *verdict);
void verdict_done(struct verdict *verdict);

#endif
