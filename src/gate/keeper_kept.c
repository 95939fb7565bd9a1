/* What the keeper made of settings and of people's answers, and may need again: for each edition of the settings the
 * policy, for each caller what it was allowed. Those that were used last are kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gate/keeper_parts.h"
#include "gate/remember.h"
#include "gate/setting_warnings.h"

/* As many as one gate has sessions, each with settings of its own, and old ones. */
#define KEPT_MAX 64

struct kept {
    struct kept *next;
    char *key;
    struct policy *policy;   /* of an edition of the settings */
    struct allowed *allowed; /* of a caller in a session, and what it was read from */
    unsigned version;        /* the database */
    int64_t mark;            /* the file */
};

static void kept_free(struct kept *kept)
{
    policy_free(kept->policy);
    allowed_free(kept->allowed);
    free(kept->key);
    free(kept);
}

void keeper_forget_kept(struct kept **list)
{
    for (struct kept *kept; (kept = *list);) {
        *list = kept->next;
        kept_free(kept);
    }
}

/* The one of this key, which is then the first; NULL: there is none. */
static struct kept *find_kept(struct kept **list, const char *key)
{
    for (struct kept **at = list; *at; at = &(*at)->next) {
        struct kept *kept = *at;
        if (strcmp(kept->key, key) != 0)
            continue;
        *at = kept->next;
        kept->next = *list;
        *list = kept;
        return kept;
    }
    return NULL;
}

static struct kept *add_kept(struct kept **list, const char *key)
{
    struct kept *kept = mem_zero(sizeof *kept);
    size_t n = 1;
    kept->key = mem_dup(key);
    kept->next = *list;
    *list = kept;
    for (struct kept *at = kept; at; at = at->next) {
        if (n++ == KEPT_MAX)
            keeper_forget_kept(&at->next);
    }
    return kept;
}

struct policy *keeper_policy(struct keeper *k, const struct config *config, struct err *err)
{
    char key[24];
    struct policy *made;
    snprintf(key, sizeof key, "%llx", (unsigned long long)config_values(config));
    struct kept *kept = find_kept(&k->policies, key);
    if (kept)
        return kept->policy;
    if (policy_new(&made, config, err) < 0) {
        /* Rules that cannot be read keep everything from running. */
        err->code = ERR_POLICY_DENIED;
        err_reason(err, "rule_cannot_be_kept");
        return NULL;
    }
    setting_warnings_rules(made);
    add_kept(&k->policies, key)->policy = made;
    return made;
}

static int add_allowance(void *arg, const char *rule)
{
    struct err ignored; /* one that cannot be read allows nothing */
    allowed_add(arg, (struct str){rule, strlen(rule)}, "this session", &ignored);
    return 0;
}

static void add_remembered(void *arg, struct str rule, const char *name)
{
    struct err ignored;
    allowed_add(arg, rule, name, &ignored);
}

struct allowed *keeper_allowed(struct keeper *k, const struct call *call)
{
    struct err err;
    char session[96];
    keeper_session_key(k, call, session, sizeof session);
    unsigned version = db_version(k->db);
    int64_t mark = remember_mark();
    FREE_AT_END char *key = mem_format("%s %s %s", session, call->dialect->name,
                                       call->agent ? call->agent : "");
    struct kept *kept = find_kept(&k->allowed, key);
    if (kept && version == kept->version && mark == kept->mark)
        return kept->allowed;
    if (!kept)
        kept = add_kept(&k->allowed, key);
    allowed_free(kept->allowed);
    kept->allowed = allowed_new();
    kept->version = version;
    kept->mark = mark;
    allowances_each(k->db, session, call->agent, call->dialect->name, add_allowance, kept->allowed,
                    &err);
    if (remember_load(add_remembered, kept->allowed, &err) < 0)
        log_warning("%s", err.message);
    return kept->allowed;
}
