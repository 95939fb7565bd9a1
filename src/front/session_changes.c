#include "front/session_changes.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "front/front.h"
#include "session/review.h"

#define CHANGES_MAX 1000000

static bool take_review_reply(struct session_changes *c, const struct call *reply,
                              const struct err *err)
{
    c->done = true;
    c->failed = !reply;
    if (!reply)
        c->err = *err;
    uv_stop(&c->gate.loop);
    return reply;
}

static void on_listed(void *arg, const struct call *reply, const struct err *err)
{
    struct session_changes *c = arg;
    if (!take_review_reply(c, reply, err))
        return;
    c->bytes = reply->reply.layer_list.bytes;
    if (change_list_take(buf_str(&reply->reply_body), &c->list))
        return;
    c->failed = true;
    err_set(&c->err, ERR_INTERNAL, "the list of changes is not well formed");
}

static void on_compared(void *arg, const struct call *reply, const struct err *err)
{
    struct session_changes *c = arg;
    if (!take_review_reply(c, reply, err))
        return;
    c->binary = reply->reply.layer_diff.binary;
    c->cut = reply->reply.layer_diff.cut;
    buf_add(&c->diff, reply->reply_body.data, reply->reply_body.len);
}

static int wait_for_review(struct session_changes *c, struct err *err)
{
    while (!c->done)
        uv_run(&c->gate.loop, UV_RUN_DEFAULT);
    if (c->failed)
        *err = c->err;
    return c->failed ? -1 : 0;
}

void session_changes_close(struct session_changes *c)
{
    gate_close(&c->gate);
    change_list_done(&c->list);
    buf_done(&c->diff);
}

int session_changes_open(const struct named *named, const struct options *o,
                         struct session_changes *ret, struct err *err)
{
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    FREE_AT_END char *upper = named->layer ? mem_format("%s/upper", named->layer) : NULL;
    *ret = (struct session_changes){.diff = BUF_INIT(0)};
    if (!named->overlay)
        return err_set(err, ERR_INVALID_ARGUMENTS,
                       "session %s is in host mode: its changes are in the project already",
                       named->id);
    if (access(upper, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (named_check_workspace(named, err) < 0 || front_gate_options(o, &go, &state_path, err) < 0)
        return -1;
    front_use_session(&go, named);
    go.review = true;
    go.commands = false;
    if (gate_open(&ret->gate, &go, err) < 0)
        return -1;
    review_list(ret->gate.session, CHANGES_MAX, 0, on_listed, ret);
    return wait_for_review(ret, err);
}

size_t session_changes_count(const struct session_changes *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->list.n; i++)
        n += !c->list.all[i].gone;
    return n;
}

int session_changes_patch(struct session_changes *c, const struct change *change, bool *ret_whole,
                          struct buf *out, struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(OP_BODY_MAX);
    buf_done(&c->diff);
    c->diff = BUF_INIT(OP_BODY_MAX);
    c->binary = c->cut = c->done = false;
    if (change_needs_diff(change)) {
        FREE_AT_END char *path = mem_copy(change->of.path.p, change->of.path.n);
        review_diff(c->gate.session, path, on_compared, c);
        if (wait_for_review(c, err) < 0)
            return -1;
    }
    *ret_whole = change_fits_patch(change, c->binary || c->cut);
    change_write_patch(change, c->binary || c->cut, buf_str(&c->diff), &text);
    if (text.failed || buf_add(out, text.data, text.len) < 0)
        return err_set(err, ERR_TOO_LARGE, "the patch is too long: name paths, or use --stat");
    return 0;
}
