/* The verdict on a call, from the configuration alone: nothing is looked up, counted, run or remembered.
 *
 * A policy is made once from one edition of a configuration; everything that can be wrong with its rules is found
 * then. Judging takes about the same time for twenty rules and for two thousand. */
#ifndef SANDGATE_POLICY_JUDGE_H
#define SANDGATE_POLICY_JUDGE_H

#include "core/config.h"
#include "core/path.h"
#include "core/tool.h"
#include "core/verdict.h"

struct policy;

/* -1: the error's field is the path of what is wrong, its message says what is allowed. */
int policy_new(struct policy **ret_policy, const struct config *config, struct err *err);
void policy_free(struct policy *policy);
/* Calls `each` for every rule that decides nothing, since an earlier one is about the same tools and has no condition, or the
 * same one. */
typedef void (*policy_unreached_fn)(void *arg, const char *rule, const char *earlier);
void policy_each_unreached(const struct policy *policy, policy_unreached_fn each, void *arg);
/* Calls `each` for every subcommand of a rule that the program does not have by itself. */
typedef void (*policy_unknown_fn)(void *arg, const char *rule, const char *program,
                                  const char *subcommand);
void policy_each_unknown(const struct policy *policy, policy_unknown_fn each, void *arg);

/* What is judged. */
struct policy_call {
    const struct tool *tool; /* NULL: one that this program does not have; `name` then says which */
    const char *name;
    yyjson_val *arguments;    /* an object that fits the tool's table, or NULL */
    const char *agent;        /* NULL: it has no name */
    const char *session;      /* "" for one without a name */
    const struct root *roots; /* where paths begin; NULL: nothing is known of them */
    size_t n_roots;
    const char *base;
    bool input;    /* its command reads more than its arguments say */
    bool own_hand; /* a person typed it: where no rule says otherwise nobody is asked */
    bool mcp;      /* it came over MCP, whose callers expect to be asked in every dialect */
    bool overlay;  /* what it changes goes to its session's layer */
};

/* One step on the way to the verdict, for people. */
struct policy_step {
    const char *rule; /* the field that was looked at: `policy.enabled.bash`, `approval.rules[0]` */
    const char *outcome; /* `allows`, `asks`, `denies`, `does not match`, `counts`, `limits` */
    const char *why;     /* "" or some words more */
};
typedef void (*policy_step_fn)(void *arg, const struct policy_step *step);

/* ALLOW and ASK: 0, with what it counts against. DENY: -1 and the error, whose reason is the rule's kind
 * (`tool_disabled`, `denied_by_rule`, `capability_missing`, `rule_cannot_be_kept`), and whose message names the
 * rule and what is allowed instead. `ret` is to be given to verdict_done either way. `step` may be NULL. */
int policy_judge(const struct policy *policy, const struct policy_call *call, struct verdict *ret,
                 policy_step_fn step, void *arg, struct err *err);

/* The tools of a dialect that are switched on and of which some call could stay within what the agent (NULL: one without
 * a name) is granted: NULL-ended; free it. */
const struct tool **policy_offered(const struct policy *policy, enum dialect_id dialect,
                                   const char *agent);

/* --- rules that a person made when asked. They answer a question that the policy would ask; they never undo a
 * denial. As JSON: {"toolName", "condition"?, "dialect"?, "workspace"?, "agent"?, "grants"?}, and nothing else. Only
 * one with "grants": ["git"] answers for a call that asks to write to git directories, and it for no other. */

struct allowed; /* a list of such rules */
struct allowed *allowed_new(void);
void allowed_free(struct allowed *allowed);
/* `name` is how messages call it: `approved.json[3]`, `this session`. -1: it is not well formed. */
int allowed_add(struct allowed *allowed, struct str json, const char *name, struct err *err);
/* The name of one that allows all of the call, or NULL. `workspace` is the host's path. */
const char *allowed_find(const struct allowed *allowed, const struct policy_call *call,
                         const char *dialect, const char *workspace);
/* Whether the one that allowed_find named looks at a path: verdict.as_named is to be set then. */
bool allowed_by_path(const struct allowed *allowed, const char *found);

/* Limits the verdict to the command's programs where that one approves these and they start no others. */
void allowed_limit(const struct allowed *allowed, const char *found, const struct policy_call *call,
                   struct verdict *verdict);

/* The narrowest rule that would still be of use: for a command its programs with their subcommands, each part of a
 * compound one; for a file the folder it is in; for a page its domain. False: there is none, each call is to be asked
 * about (what it does is known only when it runs, or nothing in its arguments is worth a rule). */
bool propose_rule(const struct policy_call *call, const char *dialect, const char *workspace,
                  struct buf *out);

#endif
