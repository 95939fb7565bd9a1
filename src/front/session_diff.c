#include "front/session_diff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "front/front.h"
#include "session/changes.h"
#include "session/review.h"

#define CHANGES_MAX 1000000

struct reviewing {
    struct gate gate;
    bool done;
    bool failed;
    struct err err;
    struct change_list changes;
    int64_t bytes;
    bool binary;
    bool cut;
    struct buf diff;
};

static bool take_review_reply(struct reviewing *r, const struct call *reply, const struct err *err)
{
    r->done = true;
    r->failed = !reply;
    if (!reply)
        r->err = *err;
    uv_stop(&r->gate.loop);
    return reply;
}

static void on_listed(void *arg, const struct call *reply, const struct err *err)
{
    struct reviewing *r = arg;
    if (!take_review_reply(r, reply, err))
        return;
    r->bytes = reply->reply.layer_list.bytes;
    if (change_list_take(buf_str(&reply->reply_body), &r->changes))
        return;
    r->failed = true;
    err_set(&r->err, ERR_INTERNAL, "the list of changes is not well formed");
}

static void on_compared(void *arg, const struct call *reply, const struct err *err)
{
    struct reviewing *r = arg;
    if (!take_review_reply(r, reply, err))
        return;
    r->binary = reply->reply.layer_diff.binary;
    r->cut = reply->reply.layer_diff.cut;
    buf_add(&r->diff, reply->reply_body.data, reply->reply_body.len);
}

static int wait_for_review(struct reviewing *r, struct err *err)
{
    while (!r->done)
        uv_run(&r->gate.loop, UV_RUN_DEFAULT);
    if (r->failed)
        *err = r->err;
    return r->failed ? -1 : 0;
}

static void reviewing_done(struct reviewing *r)
{
    gate_close(&r->gate);
    change_list_done(&r->changes);
    buf_done(&r->diff);
}

/* 0: it has no layer yet. */
static int open_review(const struct named *named, const struct options *o, struct reviewing *r,
                       struct err *err)
{
    struct gate_options go;
    FREE_AT_END char *state_path = NULL;
    FREE_AT_END char *upper = named->layer ? mem_format("%s/upper", named->layer) : NULL;
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
    if (gate_open(&r->gate, &go, err) < 0)
        return -1;
    review_list(r->gate.session, CHANGES_MAX, on_listed, r);
    return wait_for_review(r, err) < 0 ? -1 : 1;
}

/* A word stands for a path and all in it. */
static bool is_named_change(const struct options *o, struct str path)
{
    for (size_t i = 2; i < o->n_words; i++) {
        size_t n = strlen(o->words[i]);
        if (path.n >= n && memcmp(path.p, o->words[i], n) == 0 && (path.n == n || path.p[n] == '/'))
            return true;
    }
    return o->n_words <= 2;
}

static int write_patch_of(struct reviewing *r, const struct change *change, size_t *left_out,
                          struct buf *out, struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(OP_BODY_MAX);
    buf_done(&r->diff);
    r->diff = BUF_INIT(OP_BODY_MAX);
    r->binary = r->cut = r->done = false;
    if (change_needs_diff(change)) {
        FREE_AT_END char *path = mem_copy(change->of.path.p, change->of.path.n);
        review_diff(r->gate.session, path, on_compared, r);
        if (wait_for_review(r, err) < 0)
            return -1;
    }
    *left_out += !change_fits_patch(change, r->binary || r->cut);
    change_write_patch(change, r->binary || r->cut, buf_str(&r->diff), &text);
    if (text.failed || buf_add(out, text.data, text.len) < 0)
        return err_set(err, ERR_TOO_LARGE, "the patch is too long: name paths, or use --stat");
    return 0;
}

static int write_changes(struct reviewing *r, const struct options *o, struct buf *out,
                         struct err *err)
{
    struct json_out j = {.out = out};
    size_t left_out = 0;
    size_t n = 0;
    if (o->json)
        jo_open(&j, '[');
    for (size_t i = 0; i < r->changes.n; i++) {
        const struct change *change = &r->changes.all[i];
        if (change->gone || !is_named_change(o, change->of.path))
            continue;
        n++;
        if (o->json)
            change_write_json(change, &j);
        else if (o->stat)
            change_write_line(change, out);
        else if (write_patch_of(r, change, &left_out, out, err) < 0)
            return -1;
    }
    if (o->json) {
        jo_close(&j, ']');
        buf_add_char(out, '\n');
    }
    if (o->stat && !o->json)
        buf_addf(out, "%zu %s\n", n, n == 1 ? "change" : "changes");
    if (left_out)
        log_warning(
            "%zu of the changes cannot be said in a patch (no text, devices, modes that git does "
            "not keep): --stat shows all",
            left_out);
    return out->failed ? err_set(err, ERR_TOO_LARGE, "the list is too long: name paths") : 0;
}

int session_diff(const struct named *named, const struct options *o, struct buf *out,
                 struct err *err)
{
    CLEANUP(reviewing_done) struct reviewing r = {.diff = BUF_INIT(0)};
    return open_review(named, o, &r, err) < 0 ? -1 : write_changes(&r, o, out, err);
}

int session_count_changes(const struct named *named, const struct options *o, int64_t *ret_count,
                          int64_t *ret_bytes, struct err *err)
{
    CLEANUP(reviewing_done) struct reviewing r = {.diff = BUF_INIT(0)};
    if (open_review(named, o, &r, err) < 0)
        return -1;
    *ret_count = 0;
    for (size_t i = 0; i < r.changes.n; i++)
        *ret_count += !r.changes.all[i].gone;
    *ret_bytes = r.bytes;
    return 0;
}
