#include "work/guard_outward.h"

#include <errno.h>
#include <string.h>

#include "work/guard_trees.h"
#include "work/work.h"

void outward_init(struct guard_outward *o)
{
    *o = (struct guard_outward){0};
    buf_init(&o->untold.packed, OP_LEADS_MAX);
    buf_init(&o->told.packed, OP_LEADS_MAX);
    buf_init(&o->before.packed, OP_LEADS_MAX);
    buf_init(&o->back.packed, OP_LEADS_MAX);
    buf_init(&o->quiet.packed, OP_LEADS_MAX);
}

void outward_done(struct guard_outward *o)
{
    buf_done(&o->untold.packed);
    buf_done(&o->told.packed);
    buf_done(&o->before.packed);
    buf_done(&o->back.packed);
    buf_done(&o->quiet.packed);
}

static void empty_lead_set(struct lead_set *set)
{
    buf_reset(&set->packed, 0);
    set->count = 0;
}

static bool has_lead(const struct lead_set *set, const struct op_lead *lead)
{
    struct op_lead other;
    for (struct str rest = buf_str(&set->packed); op_lead_next(&rest, &other) > 0;) {
        if (other.kind == lead->kind && other.text.n == lead->text.n &&
            memcmp(other.text.p, lead->text.p, lead->text.n) == 0)
            return true;
    }
    return false;
}

static bool add_to_lead_set(struct lead_set *set, const struct op_lead *lead)
{
    if (set->count >= OUTWARD_MAX)
        return false;
    op_lead_add(&set->packed, lead);
    set->count++;
    return !set->packed.failed;
}

void outward_begin(struct guard_outward *o, bool quiet)
{
    o->is_quiet = quiet;
    if (quiet)
        empty_lead_set(&o->quiet);
    struct lead_set told = o->told;
    o->told = o->before;
    o->before = told;
    empty_lead_set(&o->told);
    empty_lead_set(&o->untold);
    o->noted = 0;
}

bool outward_note(struct guard_outward *o, enum guarded_kind kind, const char *text)
{
    struct op_lead lead = {kind, {text, strlen(text)}};
    if (!lead.text.n)
        return false;
    bool is_new = !has_lead(&o->quiet, &lead);
    if (o->is_quiet && is_new)
        add_to_lead_set(&o->quiet, &lead);
    is_new &= !o->is_quiet;
    o->noted++;
    if (o->failed || has_lead(&o->told, &lead) || has_lead(&o->untold, &lead))
        return is_new;
    if (o->told.count + o->untold.count >= OUTWARD_MAX)
        o->failed = true;
    else
        o->failed = !add_to_lead_set(has_lead(&o->before, &lead) ? &o->told : &o->untold, &lead);
    return is_new;
}

int outward_end(struct guard_outward *o)
{
    empty_lead_set(&o->before);
    if (!o->failed)
        return 0;
    empty_lead_set(&o->told);
    empty_lead_set(&o->untold);
    o->failed = false;
    return -EMLINK;
}

int outward_refuse(const struct guard_outward *o, const char *host, struct err *err)
{
    return err_set(err, ERR_TOO_LARGE,
                   "no command can start: %u links with secret or protected names, or in git "
                   "directories, lead out of %s; at most %u of them, with %zu KiB of paths and "
                   "%u names on their way, can be followed; remove some, or change files.secret or "
                   "files.protected",
                   o->noted, host, OUTWARD_MAX, OP_LEADS_MAX >> 10, OP_LEADS_NAMES_MAX);
}

static int take_untold_leads(struct work *w, struct guard_outward *o, bool again,
                             struct op_leads_reply *reply)
{
    struct op_lead lead;
    if (again) {
        for (struct str rest = buf_str(&o->told.packed); op_lead_next(&rest, &lead) > 0;)
            o->failed |= !has_lead(&o->untold, &lead) && !add_to_lead_set(&o->untold, &lead);
        empty_lead_set(&o->told);
    }
    reply->count = o->untold.count;
    buf_add(&w->body, o->untold.packed.data, o->untold.packed.len);
    for (struct str rest = buf_str(&o->untold.packed); op_lead_next(&rest, &lead) > 0;)
        o->failed |= !add_to_lead_set(&o->told, &lead);
    empty_lead_set(&o->untold);
    o->failed |= w->body.failed;
    return o->failed ? -1 : 0;
}

/* A lead may have come back before, when it was told for the first time. */
static int give_leads_back(struct guard_outward *o, struct str body)
{
    struct op_lead lead;
    int more = 0;
    while (!o->failed && (more = op_lead_next(&body, &lead)) > 0)
        o->failed = !has_lead(&o->back, &lead) && !add_to_lead_set(&o->back, &lead);
    o->failed |= more < 0;
    if (o->failed)
        empty_lead_set(&o->back);
    return o->failed ? -1 : 0;
}

int work_leads(struct work *w, const union op_request *request, struct str body,
               union op_reply *reply, struct err *err)
{
    const struct op_leads_request *q = &request->leads;
    const struct beneath_root *root = work_root(w, q->root, true, err);
    if (!root)
        return -1;
    struct guard_root *at = &w->trees->roots[q->root];
    *reply = (union op_reply){.leads = {0}};
    pthread_mutex_lock(&w->trees->lock);
    int r = q->take ? take_untold_leads(w, &at->outward, q->again, &reply->leads)
                    : give_leads_back(&at->outward, body);
    /* After a failure the next scan says why no command can start. */
    at->outward.failed |= q->too_long;
    at->stale |= !q->take || r < 0;
    if (r < 0)
        outward_refuse(&at->outward, root->host, err);
    pthread_mutex_unlock(&w->trees->lock);
    return r;
}
