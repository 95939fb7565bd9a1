#include "front/talk_approver.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "front/approval_text.h"
#include "front/who.h"
#include "gate/keeper.h"

#define WORD_LINE_MAX 4096
/* More than any rule takes, laid out for people. */
#define PROPOSAL_MAX (256u << 10)
/* Of the detail in one event; client/event.h has room for that. */
#define DETAIL_MAX ((size_t)16 << 20)

struct talk_approver {
    struct keeper_listener listener; /* first: the keeper knows the approver by it */
    struct gate *gate;
    struct lines *lines;
    talk_id_of *id_of;
    void *arg;
    char *who;
    char (*cut)[APPROVAL_ID_MAX]; /* calls that wait and of which not everything was told here */
    size_t n_cut;
};

/* What an approver says. */
struct word {
    char id[APPROVAL_ID_MAX]; /* "": it is none */
    bool yes;
    enum approval_scope scope;
    const char *wrong; /* NULL: it can be done */
};

/* --- in */

static bool read_scope(yyjson_val *value, struct word *word)
{
    word->scope = APPROVE_ONCE;
    for (int i = 0; value && approval_scope_names[i]; i++) {
        if (str_is(json_str(value), approval_scope_names[i])) {
            word->scope = (enum approval_scope)i;
            return true;
        }
    }
    return !value;
}

/* An object with nothing but `approve` (and `scope`) or `deny`. */
static bool read_decision_object(yyjson_val *root, struct word *word)
{
    yyjson_val *approve = yyjson_obj_get(root, "approve");
    yyjson_val *deny = yyjson_obj_get(root, "deny");
    yyjson_val *scope = yyjson_obj_get(root, "scope");
    if (!approve == !deny || yyjson_obj_size(root) != (scope ? 2u : 1u))
        return false;
    word->yes = approve != NULL;
    if (!approval_text_id(json_str(approve ? approve : deny), "", word->id))
        word->wrong = "the id of a call that waits is expected";
    else if (scope && deny)
        word->wrong = "a refusal has no scope";
    else if (!read_scope(scope, word))
        word->wrong = "`scope` is one of: once, session, always";
    return true;
}

static bool read_chat_decision(struct str line, const char *verb, struct word *word)
{
    size_t n = strlen(verb);
    if (line.n < n || memcmp(line.p, verb, n) != 0 || (line.n > n && line.p[n] != ' '))
        return false;
    if (!approval_text_id(line, verb, word->id))
        word->wrong = "say which one: `/approve ID` or `/deny ID`";
    return true;
}

static bool read_decision_word(struct str line, struct word *word)
{
    *word = (struct word){.scope = APPROVE_ONCE};
    if (line.n >= WORD_LINE_MAX)
        return false;
    if (read_chat_decision(line, "/approve", word)) {
        word->yes = true;
        return true;
    }
    if (read_chat_decision(line, "/deny", word))
        return true;
    /* Few lines hold one of these words. */
    if (!memmem(line.p, line.n, "\"approve\"", 9) && !memmem(line.p, line.n, "\"deny\"", 6))
        return false;
    JSON_AT_END yyjson_doc *doc = NULL;
    return json_parse(line.p, line.n, line.n, JSON_STRICT, &doc, NULL) == 0 &&
           read_decision_object(yyjson_doc_get_root(doc), word);
}

/* --- out */

static bool begin_approver_event(struct talk_approver *t, const char *event, struct json_out *j)
{
    *j = (struct json_out){.out = lines_begin_answer(t->lines)};
    if (!j->out)
        return false;
    jo_open(j, '{');
    jo_ktext(j, "event", event);
    return true;
}

static void end(struct talk_approver *t, struct json_out *j)
{
    jo_close(j, '}');
    lines_end_answer(t->lines);
}

static void refuse_decision_word(struct talk_approver *t, const char *id, const char *why)
{
    struct json_out j;
    if (!begin_approver_event(t, "error", &j))
        return;
    jo_ktext(&j, "requestId", id[0] ? id : NULL);
    jo_ktext(&j, "message", why);
    end(t, &j);
}

/* How much of the detail has room in an event: escaped it can be twice as long, and there is more to say. */
static size_t detail_room(const struct buf *out)
{
    size_t room = (out->max - out->len) / 4;
    return room < DETAIL_MAX ? room : DETAIL_MAX;
}

/* Whole lines of it, and of more than `max` bytes a last one that says so. */
static void add_detail(const struct approval *a, size_t max, struct json_out *j)
{
    BUF_AT_END struct buf text = BUF_INIT(DETAIL_MAX + 256);
    size_t total = strlen(a->detail);
    size_t n = max;
    jo_key(j, "detail");
    if (total <= max) {
        jo_str(j, (struct str){a->detail, total});
        return;
    }
    while (n && a->detail[n - 1] != '\n')
        n--;
    buf_add(&text, a->detail, n);
    buf_addf(&text, "\\[%zu bytes are not here: `sandgate approvals %s` shows all]\n", total - n,
             a->id);
    jo_str(j, buf_str(&text));
}

static void note_cut(struct talk_approver *t, const char *id)
{
    t->cut = mem_grow(t->cut, t->n_cut + 1, sizeof *t->cut);
    memcpy(t->cut[t->n_cut++], id, APPROVAL_ID_MAX);
}

/* Its index; n_cut: all of it was told. */
static size_t find_cut(const struct talk_approver *t, const char *id)
{
    size_t i = 0;
    while (i < t->n_cut && strcmp(t->cut[i], id) != 0)
        i++;
    return i;
}

static void forget_cut(struct talk_approver *t, const char *id)
{
    size_t i = find_cut(t, id);
    if (i < t->n_cut)
        memcpy(t->cut[i], t->cut[--t->n_cut], APPROVAL_ID_MAX);
}

static void tell_approver_asked(struct keeper_listener *self, const struct approval *a)
{
    struct talk_approver *t = (struct talk_approver *)self;
    struct json_out j;
    char expires[CLOCK_TEXT_MAX];
    BUF_AT_END struct buf proposal = BUF_INIT(PROPOSAL_MAX);
    const char *id = t->id_of(t->arg, a->call);
    if (!begin_approver_event(t, "approval", &j))
        return;
    size_t max = detail_room(j.out);
    /* A rule is not offered to who has not seen everything. */
    bool whole = strlen(a->detail) <= max;
    if (!whole)
        note_cut(t, a->id);
    if (a->proposal && whole)
        approval_text_proposal((struct str){a->proposal, strlen(a->proposal)}, &proposal);
    clock_format_utc(a->expires_ms, expires);
    jo_ktext(&j, "requestId", a->id);
    jo_key(&j, "id");
    jo_raw(&j, id ? (struct str){id, strlen(id)} : STR("null"));
    jo_ktext(&j, "tool", a->tool);
    jo_ktext(&j, "summary", a->summary);
    add_detail(a, max, &j);
    jo_ktext(&j, "rule", a->rule);
    jo_ktext(&j, "proposal", proposal.len ? buf_text(&proposal) : NULL);
    jo_ktext(&j, "expiresAt", expires);
    end(t, &j);
}

static void tell_approver_over(struct keeper_listener *self, const struct approval *a)
{
    struct talk_approver *t = (struct talk_approver *)self;
    struct json_out j;
    forget_cut(t, a->id);
    if (!begin_approver_event(t, "approval_over", &j))
        return;
    jo_ktext(&j, "requestId", a->id);
    jo_ktext(&j, "state",
             approval_state_names[a->state == APPROVAL_USED ? APPROVAL_APPROVED : a->state]);
    jo_ktext(&j, "by", a->decided_by);
    end(t, &j);
}

bool talk_approver_take(struct talk_approver *t, struct str line)
{
    struct word word;
    struct err err;
    if (!read_decision_word(line, &word))
        return false;
    if (!t)
        return true;
    struct approval_decision decision = {.yes = word.yes, .scope = word.scope, .by = t->who};
    if (!word.wrong && word.scope != APPROVE_ONCE && find_cut(t, word.id) < t->n_cut)
        word.wrong = "not all of this call was told here: it can be approved once";
    if (word.wrong)
        refuse_decision_word(t, word.id, word.wrong);
    else if (keeper_decide(t->gate->keeper, word.id, &decision, &err) < 0)
        refuse_decision_word(t, word.id, err.message);
    return true;
}

struct talk_approver *talk_approver_start(struct gate *gate, struct lines *lines, talk_id_of *id_of,
                                          void *arg)
{
    struct talk_approver *t = mem_zero(sizeof *t);
    t->listener.decides = true;
    t->listener.asked = tell_approver_asked;
    t->listener.over = tell_approver_over;
    t->gate = gate;
    t->lines = lines;
    t->id_of = id_of;
    t->arg = arg;
    t->who = who_decides("stdio --approver");
    keeper_listen(gate->keeper, &t->listener);
    return t;
}

void talk_approver_free(struct talk_approver *t)
{
    if (!t)
        return;
    keeper_unlisten(t->gate->keeper, &t->listener);
    free(t->who);
    free(t->cut);
    free(t);
}
