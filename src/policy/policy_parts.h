/* Inside of the policy, shared by its own files only. */
#ifndef SANDGATE_POLICY_POLICY_PARTS_H
#define SANDGATE_POLICY_POLICY_PARTS_H

#include "policy/condition.h"
#include "policy/judge.h"

enum rule_action { RULE_APPROVE, RULE_DENY, RULE_PROMPT, RULE_BUDGET };

#define RULE_NAME_MAX 48

/* One of `approval.rules`. */
struct rule {
    char name[RULE_NAME_MAX]; /* `approval.rules[3]` */
    struct tool_pattern tool;
    enum rule_action action;
    struct condition *condition; /* NULL: it is about every call */
    const char *condition_text;  /* for messages, in the configuration; NULL as above */
    char *key;                   /* RULE_BUDGET: its counter */
    int64_t limit;
    enum charge_period period;
    bool git; /* RULE_APPROVE: commands may write to git directories */
};

enum budget_per { BUDGET_ALL, BUDGET_AGENT, BUDGET_SESSION };

/* One of `policy.budgets`. */
struct budget {
    char name[RULE_NAME_MAX];
    struct tool_pattern tool;
    struct tool_pattern agent; /* text NULL: every one */
    enum budget_per per;
    enum charge_unit unit;
    int64_t limit;
    enum charge_period period;
    char *key; /* what its counters' names begin with */
};

/* Rules by the texts or programs that they are about: their numbers, in order. */
struct rule_key {
    uint64_t hash;
    uint32_t number;
};

enum group_kind {
    GROUP_TEXT,
    GROUP_PATH,
    GROUP_PROGRAM,
};

/* Rules whose condition needs one argument to be one of some texts. */
struct rule_group {
    enum group_kind kind;
    const struct field *field; /* of the first of them */
    uint32_t *all;
    size_t n_all;
    struct rule_key *keys; /* sorted */
    size_t n_keys;
};

/* The rules that a tool can be meant by, up to the first that needs nothing else. */
struct rule_index {
    uint32_t *all;
    size_t n_all;
    uint32_t *others; /* those in no group */
    size_t n_others;
    struct rule_group *groups;
    size_t n_groups;
};

void rule_index_init(struct rule_index *index, const struct rule *rules, size_t n,
                     const struct tool *tool, const char *name);
void rule_index_done(struct rule_index *index);

/* Goes through those rules of an index that may hold for a call, in order. */
#define RULE_RUNS_MAX 24
struct rule_run {
    const uint32_t *at;
    const uint32_t *end;
    const struct rule_key *keys; /* the same for a part of a group's keys */
    const struct rule_key *keys_end;
};
struct rule_walk {
    struct rule_run runs[RULE_RUNS_MAX];
    size_t n;
    bool all; /* there were too many: `runs` is the whole index */
    const struct rule_index *index;
};
void rule_walk_begin(struct rule_walk *walk, const struct rule_index *index, struct facts *facts);
/* False behind the last. */
bool rule_walk_next(struct rule_walk *walk, uint32_t *ret_number);

/* --- what is granted */

struct grant {
    char *text;
    struct rule_path path; /* text NULL: it is a glob */
    struct path_glob glob;
};

struct grant_list {
    bool limited; /* else everything is granted */
    bool own;     /* it is the agent's own list */
    struct grant *all;
    size_t n;
};

/* What one agent may do. */
struct grants {
    char *agent; /* NULL: those without a name */
    struct grant_list read;
    struct grant_list write;
    bool command;
    bool model;
    bool network_set;
    bool network_own;
    const struct str *network; /* in the configuration */
    size_t n_network;
};

/* Whether some call of the tool may use the network. */
bool grants_some_domain(const struct grants *grants, const struct config *config,
                        const struct tool *tool);
/* NULL: a list has something that is no path; the error's field is where. */
struct grants *grants_new(const struct config *config, const char *agent, struct err *err);
void grants_free(struct grants *grants);
int grants_check(const struct grants *grants, const struct config *config, struct facts *facts,
                 struct verdict *verdict, struct err *err);

/* --- one tool */

struct rate {
    char *name; /* `policy.rateLimits.bash` */
    char *key;
    int64_t limit;
    int64_t window_ms;
};

/* What does not depend on the call but on the tool. */
struct tool_view {
    const struct tool *tool; /* NULL: not known; `name` counts */
    char *name;
    char *disabled; /* the field that switches it off, or NULL */
    char *enabled;  /* the field that could */
    struct rule_index index;
    struct rate rates[2];
    size_t n_rates;
    uint32_t *budgets;
    size_t n_budgets;
    int64_t max_ms;
    int64_t
        own_hand_ms; /* the same for what a person typed, which runtime.timeoutSecs is not about */
    int64_t max_memory;
    int64_t max_cpu_millis;
    char *limits; /* `policy.resourceLimits.bash`; NULL: there are none */
    bool hooks;
    struct denials *denied; /* programs that its commands must not start; NULL: none */
    bool denied_many;       /* there are more than a list holds */
    bool passing;           /* there are too many others: it is gone when the call was judged */
};

struct hook_rule {
    char name[RULE_NAME_MAX];
    struct tool_pattern tool;
};

#define VIEWS_MAX 128
#define GRANTS_MAX 64

struct policy {
    struct config *config;
    struct rule *rules;
    size_t n_rules;
    struct budget *budgets;
    size_t n_budgets;
    struct hook_rule *hooks;
    size_t n_hooks;
    int fallback;        /* `approval.default` as an action; -1: unset */
    int in_overlay;      /* the same of `approval.inOverlay` */
    bool in_overlay_own; /* which is set by itself */
    struct policy_memo *memo;
};

/* Made when they are first needed; never more than there is room for. */
struct policy_memo {
    struct tool_view *views[VIEWS_MAX];
    size_t n_views;
    struct grants *agents[GRANTS_MAX];
    struct grants *nameless;
};

struct tool_view *tool_view_new(const struct policy *policy, const struct tool *tool,
                                const char *name);
void tool_view_free(struct tool_view *view);

/* Adds what the call counts against besides the rule that approved it. */
void charges_add_limits(const struct policy *policy, const struct tool_view *view,
                        const struct policy_call *call, struct verdict *verdict);
void charges_add_rule(const struct rule *rule, struct verdict *verdict);

#endif
