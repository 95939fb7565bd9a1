/* The keeper from the inside: keeper.c judges, keeper_ask.c asks, keeper_books.c counts. */
#ifndef SANDGATE_GATE_KEEPER_PARTS_H
#define SANDGATE_GATE_KEEPER_PARTS_H

#include "base/hash.h"
#include "gate/hooks.h"
#include "gate/keeper.h"
#include "policy/judge.h"
#include "store/counters.h"

/* keeper_kept.c */
struct kept;

/* What a call that has ended did not use. */
struct to_settle {
    struct to_settle *next;
    struct charge charge;
    int64_t used;
};

struct keeper {
    struct keeper_options options;
    struct db *db;
    struct audit *audit;
    struct hooks *hooks; /* NULL: none */
    void *rule_names;    /* a tree of those that charges name */
    struct kept *policies;
    struct kept *allowed;

    struct ask *asks;
    size_t n_asks;
    uv_timer_t poll; /* runs while there are any */
    unsigned seen;   /* version of the database when it was last looked at */
    struct keeper_listener *listeners;

    struct to_settle *to_settle;
    uv_timer_t settle;
    uv_timer_t sums;
};

struct policy_call keeper_call(const struct keeper *k, const struct call *call);
/* The name under which allowances of the call's session are kept. */
void keeper_session_key(const struct keeper *k, const struct call *call, char *out, size_t size);

/* Of the call as it is: tool, arguments, session, agent. */
void keeper_digest(const struct keeper *k, const struct call *call, char out[HASH_HEX + 1]);

/* keeper_kept.c: the policy of an edition of the settings; NULL with an error. */
struct policy *keeper_policy(struct keeper *k, const struct config *config, struct err *err);
/* The rules that people made when they were asked, as far as they are about this caller. */
struct allowed *keeper_allowed(struct keeper *k, const struct call *call);
void keeper_forget_kept(struct kept **list);

/* keeper_ask.c */
void keeper_hold(void *self, struct call *call);
void keeper_forget(void *self, struct call *call);
void keeper_poll(uv_timer_t *timer);

/* keeper_books.c */
bool keeper_costs(void *self, const struct call *call);
int keeper_open_books(void *self, struct err *err);
int keeper_charge(void *self, struct call *call, struct err *err);
int keeper_close_books(void *self, struct err *err);
void keeper_restrain(void *self, struct call *call);
void keeper_settle(void *self, struct call *call);
/* Some time soon what came since is added to the sums over all calls. */
void keeper_sum_later(struct keeper *k);
/* What is left, waiting for others up to half a second. */
void keeper_settle_all(struct keeper *k);
/* Whether this error is a rule for files: nothing was done, whatever the call was. */
bool keeper_files_refuse(const struct err *err);
/* Whether the call could be charged now; nothing is taken. */
int keeper_look(struct keeper *k, struct call *call, struct err *err);

#endif
