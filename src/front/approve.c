/* `sandgate approve ID` and `sandgate deny ID`: a person's word about a call that waits, from any terminal. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/confirm.h"
#include "front/approval_text.h"
#include "front/front.h"
#include "front/prompt_parts.h"
#include "front/watch.h"
#include "front/who.h"
#include "gate/decide.h"
#include "gate/remember.h"
#include "gate/state.h"

#define OUT_MAX ((size_t)1 << 30)
#define DENIED_ROWS 12

struct verb {
    const char *name;
    const char *chat; /* as it is typed in a chat */
    unsigned options;
    bool yes;
    const char *help;
};

static const struct verb approve = {
    "approve",
    "/approve",
    OPTIONS_SCOPE,
    true,
    "usage: sandgate approve ID [--session|--always] [--yes]\n\n"
    "Lets a call run that waits for a yes, and shows it. `sandgate approvals` lists those that "
    "wait,\n`sandgate approvals ID` shows everything of one. On a terminal a call that does not "
    "fit on it is\nshown first and asked about. Exits with 1 when it waits no more.\n\n",
};
static const struct verb deny = {
    "deny",
    "/deny",
    0,
    false,
    "usage: sandgate deny ID\n\n"
    "Refuses a call that waits for a yes. `sandgate approvals` lists those that wait. Exits with 1 "
    "when it\nwaits no more.\n\n",
};

static int help_approve(const struct verb *verb)
{
    BUF_AT_END struct buf out = BUF_INIT(16u << 10);
    buf_add_text(&out, verb->help);
    options_help(verb->options, &out);
    return front_put(buf_str(&out)) < 0 ? EXIT_TOOL_ERROR : EXIT_OK;
}

/* `ID`, `/approve ID` as one word or as two. */
static int read_id(const struct verb *verb, const struct options *o, char id[APPROVAL_ID_MAX],
                   struct err *err)
{
    const char *word = o->n_words ? o->words[o->n_words - 1] : "";
    bool two = o->n_words == 2;
    if (o->n_words && (!two || strcmp(o->words[0], verb->chat) == 0) &&
        approval_text_id((struct str){word, strlen(word)}, verb->chat, id))
        return 0;
    return err_set(err, ERR_INVALID_ARGUMENTS,
                   "which one? `sandgate %s ID`; `sandgate approvals` lists the ids", verb->name);
}

/* Shows the rule and asks. 1: it is to be written, 0: it is not. */
static int confirm_rule(const struct approval *a, const struct options *o, struct err *err)
{
    BUF_AT_END struct buf out = BUF_INIT(1u << 20);
    struct str rule = {a->proposal, strlen(a->proposal)};
    buf_add_text(&out, "this rule is for always, in approved.json of the configuration folder:\n");
    struct approval_style style = terminal_style_of(STDOUT_FILENO);
    approval_text_rule(rule, &style, &out);
    if (front_put(buf_str(&out)) < 0)
        return err_set(err, ERR_INTERNAL, "the rule could not be shown, so nothing was done");
    int answer = o->yes ? 1 : confirm("write it? [y/n] ");
    if (answer < 0)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "there is no terminal to ask on: --yes writes the rule without asking");
    return answer;
}

/* What was approved is shown whole, what was denied only as far as it takes to know it again. */
static void show_decided_approval(const struct approval *a, bool yes)
{
    struct approval_seen seen;
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    struct approval_style style = terminal_style_of(STDOUT_FILENO);
    buf_addf(&out, "%s  ", a->id);
    approval_text_state(a, &out);
    buf_add_char(&out, '\n');
    approval_text_excerpt(a, &style, yes ? SIZE_MAX : DENIED_ROWS, &seen, &out);
    front_put(buf_str(&out));
}

/* One that is longer than the terminal is asked about there: a name alone does not tell what it does. */
static int ask_here(struct db *db, const char *id, struct err *err)
{
    int r = watch_one(db, id, err);
    return r == 1 ? err_set(err, ERR_CONFLICT, "it was not approved here") : r;
}

static int decide_by_command(struct db *db, const struct verb *verb, const char *id,
                             const struct options *o, struct err *err)
{
    FREE_AT_END char *by = who_decides(verb->yes ? "sandgate approve" : "sandgate deny");
    CLEANUP(approval_done) struct approval a = {0};
    struct approval_decision decision = {
        .yes = verb->yes,
        .scope = o->always        ? APPROVE_ALWAYS
                 : o->for_session ? APPROVE_SESSION
                                  : APPROVE_ONCE,
        .by = by,
    };
    if (approvals_get(db, id, &a, err) < 0)
        return -1;
    bool waits = a.state == APPROVAL_WAITING; /* else approvals_decide says what became of it */
    if (waits && !decide_offers(&a, decision.scope))
        return err_set(err, ERR_NOT_FOUND,
                       a.proposal
                           ? "the session of this call ends with it: it can be approved "
                             "once or for always"
                           : "no rule can be made of this call: it can only be approved once");
    if (waits && verb->yes && !o->yes && watch_is_long(&a))
        return ask_here(db, id, err);
    int r = waits && o->always ? confirm_rule(&a, o, err) : 1;
    if (r == 0)
        return err_set(err, ERR_CONFLICT, "nothing was changed: the call still waits");
    if (r < 0 || decide_approval(db, id, &decision, REMEMBER_WAIT, err) < 0)
        return -1;
    a.state = verb->yes ? APPROVAL_APPROVED : APPROVAL_DENIED;
    a.scope = decision.scope;
    show_decided_approval(&a, verb->yes);
    return 0;
}

static int run_approve_verb(const struct verb *verb, int argc, char *const *argv)
{
    struct options o;
    struct err err;
    char id[APPROVAL_ID_MAX];
    FD_AT_END int state_fd = -1;
    DB_AT_END struct db *db = NULL;
    if (options_read(argc, argv, verb->options, 2, &o, &err) < 0)
        return front_usage_error(&err);
    if (o.help)
        return help_approve(verb);
    if (o.for_session && o.always) {
        log_error("--session or --always, not both");
        return EXIT_USAGE;
    }
    if (read_id(verb, &o, id, &err) < 0)
        return front_usage_error(&err);
    if (state_open(&state_fd, &err) < 0 || db_open(&db, state_fd, true, &err) < 0 ||
        decide_by_command(db, verb, id, &o, &err) < 0) {
        log_error("%s", err.message);
        return err.code == ERR_INVALID_ARGUMENTS ? EXIT_USAGE : EXIT_TOOL_ERROR;
    }
    return EXIT_OK;
}

int front_approve(int argc, char *const *argv)
{
    return run_approve_verb(&approve, argc, argv);
}

int front_deny(int argc, char *const *argv)
{
    return run_approve_verb(&deny, argc, argv);
}
