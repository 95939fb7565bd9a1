#include "session/leads.h"

#include <string.h>

#include "base/mem.h"
#include "session/scan.h"
#include "session/session_parts.h"
#include "session/way_back.h"

/* After a failure the next command has them followed again. */
static void leads_call_ended(struct session *s)
{
    if (--s->leads == 0 && s->host.state == HOST_OPEN && s->host.cell && !s->leads_lost)
        scan_start(s);
}

/* Nothing runs unguarded. A cell that died is seen to when that is told. */
static void take_failure(struct session *s, const struct call *call)
{
    if (!call->failed || call->err.code == ERR_INTERRUPTED)
        return;
    s->leads_lost = true;
    host_give_up(&s->host, &call->err);
}

static struct call *leads_call(struct session *s, size_t root, bool take, bool again,
                               void (*done)(struct call *))
{
    struct call *call = session_own_call(s, OP_LEADS, root, ".", done);
    call->request.leads = (struct op_leads_request){
        .root = (int64_t)root, .path = call_path_text(call), .take = take, .again = again};
    call->quick = true;
    call->reply_max = OP_LEADS_MAX;
    s->leads++;
    return call;
}

static void on_leads_given(struct call *call)
{
    struct session *s = session_of_call(call);
    take_failure(s, call);
    call_free(call);
    leads_call_ended(s);
}

static void send_leads(struct session *s, size_t root, const struct buf *leads)
{
    struct call *call = leads_call(s, root, false, false, on_leads_given);
    buf_init(&call->packed, OP_LEADS_MAX);
    buf_add(&call->packed, leads->data, leads->len);
    call->request_body = buf_str(&call->packed);
    session_send(s, call);
}

/* The worker told these and would not tell them again: commands would start without what they guard. */
static void send_leads_lost(struct session *s, size_t root)
{
    struct call *call = leads_call(s, root, false, false, on_leads_given);
    call->request.leads.too_long = true;
    session_send(s, call);
}

static void follow_lead(struct session *s, size_t from, const struct op_lead *lead, unsigned *names,
                        struct buf back[ROOTS_MAX])
{
    char path[PATH_TEXT_MAX];
    char rest[PATH_TEXT_MAX];
    size_t root;
    memcpy(path, lead->text.p, lead->text.n);
    path[lead->text.n] = '\0';
    if (way_back(s->spec.roots, s->spec.n_roots, from, path, names, &root, rest) &&
        strcmp(rest, ".") != 0)
        op_lead_add(&back[root], &(struct op_lead){lead->kind, {rest, strlen(rest)}});
}

static void taken(struct call *call)
{
    struct session *s = session_of_call(call);
    struct buf back[ROOTS_MAX];
    struct op_lead lead;
    unsigned names = OP_LEADS_NAMES_MAX;
    size_t from = call->path.root;
    for (size_t i = 0; i < ROOTS_MAX; i++)
        buf_init(&back[i], OP_LEADS_MAX);
    take_failure(s, call);
    for (struct str rest = buf_str(&call->reply_body);
         !call->failed && names > 0 && op_lead_next(&rest, &lead) > 0;)
        follow_lead(s, from, &lead, &names, back);
    call_free(call);
    if (names == 0)
        send_leads_lost(s, from);
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        if (back[i].failed)
            send_leads_lost(s, i);
        else if (back[i].len)
            send_leads(s, i, &back[i]);
        buf_done(&back[i]);
    }
    leads_call_ended(s);
}

void leads_follow(struct session *s)
{
    if (s->leads)
        return;
    bool again = s->leads_lost;
    s->leads_lost = false;
    s->leads++;
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        if (s->spec.roots[i].commands)
            session_send(s, leads_call(s, i, true, again, taken));
    }
    leads_call_ended(s);
}
