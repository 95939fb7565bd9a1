#include "session/review.h"

#include <stdlib.h>

#include "base/mem.h"
#include "session/scan.h"
#include "session/session_parts.h"

struct review_ask {
    struct review_ask *next;
    struct call *own; /* waits for a cell */
    bool scans;       /* the project first */
    struct buf found; /* by that */
    review_fn done;
    void *arg;
};

static void answer_review(struct review_ask *ask, const struct call *reply, const struct err *err)
{
    ask->done(ask->arg, reply, err);
    buf_done(&ask->found);
    free(ask);
}

static void on_review_reply(struct call *own)
{
    answer_review(own->front, own->failed ? NULL : own, own->failed ? &own->err : NULL);
    call_free(own);
}

/* What the settings of the project's repositories and editors lead to is found by a scan, as before a command. */
static void on_scanned(struct call *own)
{
    struct review_ask *ask = own->front;
    struct session *s = (struct session *)own->workplace;
    struct call *then = ask->own;
    ask->found = own->reply_body;
    own->reply_body = BUF_INIT(0);
    then->request_body = buf_str(&ask->found);
    if (own->failed) {
        call_free(then);
        answer_review(ask, NULL, &own->err);
    } else {
        session_send(s, then);
    }
    call_free(own);
}

static void scan_for_review(struct session *s, struct review_ask *ask)
{
    struct call *scan = scan_call(s, REVIEW_PROJECT, 0, on_scanned);
    scan->front = ask;
    scan->awaited = true;
    session_send(s, scan);
}

static struct review_ask *take_first_ask(struct session *s)
{
    struct review_ask *first = s->reviews;
    if (first)
        s->reviews = first->next;
    return first;
}

void review_send_waiting(struct session *s)
{
    for (struct review_ask *ask; s->host.state == HOST_OPEN && (ask = take_first_ask(s));) {
        if (ask->scans)
            scan_for_review(s, ask);
        else
            session_send(s, ask->own);
    }
}

void review_fail_waiting(struct session *s, const struct err *err)
{
    for (struct review_ask *ask; (ask = take_first_ask(s));) {
        call_free(ask->own);
        answer_review(ask, NULL, err);
    }
}

void review_forget_all(struct session *s)
{
    for (struct review_ask *ask; (ask = take_first_ask(s)); free(ask))
        call_free(ask->own);
}

static struct call *ask_for_review(struct session *s, enum op_id op, const char *path,
                                   review_fn done, void *arg)
{
    struct review_ask *ask = mem_zero(sizeof *ask);
    struct review_ask **end = &s->reviews;
    *ask = (struct review_ask){.done = done, .arg = arg};
    ask->own = session_own_call(s, op, REVIEW_PROJECT, path, on_review_reply);
    ask->own->front = ask;
    ask->own->awaited = true;
    ask->own->reply_max = OP_BODY_MAX;
    while (*end)
        end = &(*end)->next;
    *end = ask;
    return ask->own;
}

static void begin_review(struct session *s)
{
    struct err err;
    if (host_begin(&s->host, &err) < 0)
        review_fail_waiting(s, &err);
    else
        review_send_waiting(s);
}

void review_list(struct session *s, int64_t max, int64_t since_ns, review_fn done, void *arg)
{
    struct call *own = ask_for_review(s, OP_LAYER_LIST, ".", done, arg);
    own->request.layer_list = (struct op_layer_list_request){
        .path = call_path_text(own), .layer = REVIEW_LAYER, .max = max, .since_ns = since_ns};
    struct review_ask *ask = own->front;
    ask->scans = since_ns != 0;
    begin_review(s);
}

static struct call *ask_for_commit(struct session *s, bool recover, review_fn done, void *arg)
{
    struct call *own = ask_for_review(s, OP_LAYER_COMMIT, ".", done, arg);
    own->request.layer_commit = (struct op_layer_commit_request){.path = call_path_text(own),
                                                                 .layer = REVIEW_LAYER,
                                                                 .tag = str_of(s->tag),
                                                                 .recover = recover};
    return own;
}

void review_commit(struct session *s, const struct commit_plan *plan, review_fn done, void *arg)
{
    struct call *own = ask_for_commit(s, false, done, arg);
    own->request_body = buf_str(&plan->body);
    begin_review(s);
}

void review_recover(struct session *s, review_fn done, void *arg)
{
    ask_for_commit(s, true, done, arg);
    begin_review(s);
}

void review_wait_open(struct session *s, review_fn done, void *arg)
{
    struct call *own = ask_for_review(s, OP_STAT, ".", done, arg);
    own->request.stat = (struct op_stat_request){.path = call_path_text(own)};
    begin_review(s);
}

void review_diff(struct session *s, const char *path, review_fn done, void *arg)
{
    struct call *own = ask_for_review(s, OP_LAYER_DIFF, path, done, arg);
    own->request.layer_diff = (struct op_layer_diff_request){.path = call_path_text(own),
                                                             .layer = REVIEW_LAYER};
    begin_review(s);
}
