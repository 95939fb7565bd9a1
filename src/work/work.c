#include "work/work.h"

#include <sys/stat.h>

#include "base/base64.h"
#include "base/reserve.h"

#define REAL_BYTES_MAX ((size_t)2 * BENEATH_REAL_MAX)

void work_take_roots(const struct cell_spec *spec, const int *fds, struct beneath_root *ret)
{
    for (size_t i = 0; i < spec->n_roots; i++) {
        const struct cell_root *r = &spec->roots[i];
        ret[i] = (struct beneath_root){fds[i],
                                       r->inside,
                                       r->host,
                                       r->writable,
                                       .layered = spec_changed(spec, i) != r,
                                       .kept = spec_kept(spec, i),
                                       .also = (const char *const *)r->also};
    }
}

const struct beneath_root *work_root(struct work *w, int64_t root, bool no_links, struct err *err)
{
    if (root < 0 || (size_t)root >= w->n_roots) {
        err_set(err, ERR_INTERNAL, "no folder number %d", (int)root);
        return NULL;
    }
    w->at = w->roots[root];
    w->at.no_links = no_links;
    w->at.guard = w->guard;
    w->at.trees = w->trees;
    w->at.work = w;
    w->at.number = (size_t)root;
    w->at.as_named = w->as_named;
    return &w->at;
}

const struct beneath_root *work_writable_root(struct work *w, int64_t root, bool no_links,
                                              const char *path, struct err *err)
{
    const struct beneath_root *found = work_root(w, root, no_links, err);
    if (!found || found->writable)
        return found;
    err_set(err, ERR_READ_ONLY, "`%s` is in a read-only folder", path);
    err_reason(err, "read_only_mount");
    return NULL;
}

void work_begin(struct work *w, uint64_t token, yyjson_val *head)
{
    w->gate = (uint32_t)yyjson_get_uint(yyjson_obj_get(head, "gate"));
    w->limit = yyjson_get_sint(yyjson_obj_get(head, "limit"));
    bool limited = w->limit > 0 && w->limit < (int64_t)OP_BODY_MAX;
    w->body.max = limited ? (size_t)w->limit : OP_BODY_MAX;
    w->as_named = yyjson_get_bool(yyjson_obj_get(head, "as_named"));
    w->slow = w->gave_up = false;
    for (int i = 0; i < WORK_ENDS; i++) {
        yyjson_val *pinned = yyjson_obj_get(head, i == WORK_TO ? "pinned_to" : "pinned");
        w->pinned[i] = yyjson_is_str(pinned) ? json_str(pinned) : (struct str){NULL, 0};
        w->real[i].len = 0;
        w->elsewhere[i] = false;
    }
    w->at.fd = -1;
    w->token = token;
}

static bool is_pinned_to(const struct work *w, enum work_end end)
{
    struct str real = buf_str(&w->real[end]);
    return real.n == w->pinned[end].n && memcmp(real.p, w->pinned[end].p, real.n) == 0;
}

int work_note_real(struct work *w, enum work_end end, const char *path, const char *real,
                   struct err *err)
{
    struct buf *out = &w->real[end];
    out->max = REAL_BYTES_MAX;
    out->len = 0;
    out->failed = false;
    base64_encode(out, real, strlen(real));
    w->elsewhere[end] = strcmp(path, real) != 0;
    if (out->failed)
        return err_no_memory(err);
    if (!w->pinned[end].p || is_pinned_to(w, end))
        return 0;
    err_set(err, ERR_CONFLICT,
            "`%s` leads elsewhere than when the user was asked about it: nothing was changed; look "
            "at what it is now before trying again",
            path);
    return err_reason(err, "leads_elsewhere");
}

void work_tell_real(const struct work *w, const struct op *op, union op_reply *reply)
{
    bool always = op->real == OP_REAL_ALWAYS;
    if (op->real == OP_REAL_NOT)
        return;
    if (w->real[WORK_PATH].len && (always || w->elsewhere[WORK_PATH]))
        reply->real.path = buf_str(&w->real[WORK_PATH]);
    if (w->real[WORK_TO].len && (always || w->elsewhere[WORK_TO]))
        reply->real.to = buf_str(&w->real[WORK_TO]);
}

void work_done(struct work *w)
{
    buf_done(&w->body);
    for (int i = 0; i < WORK_ENDS; i++)
        buf_done(&w->real[i]);
}

int work_replaced(struct err *err, const char *path)
{
    err_set(err, ERR_CONFLICT, "`%s` has just been replaced: try again", path);
    return err_reason(err, "replaced");
}

int work_replaced_folder(struct err *err, const char *path)
{
    err_set(err, ERR_CONFLICT, "the folder of `%s` has just been replaced: try again", path);
    return err_reason(err, "replaced");
}

int work_check_cancel(const struct work *w, struct err *err)
{
    if (!atomic_load_explicit(w->cancelled, memory_order_relaxed))
        return reserve_is_whole() ? 0 : err_no_memory(err);
    return err_set(err, ERR_CANCELLED, "the call was cancelled");
}

/* It counted everything as guarded, so nothing was changed; a list may lack something. */
int work_result(const struct work *w, const struct op *op, int r, struct err *err)
{
    return w->gave_up && (r < 0 || !op->writes) ? work_check_cancel(w, err) : r;
}

void work_name_lost_root(const struct work *w, struct err *err)
{
    struct stat st;
    bool may_follow = err->code == ERR_NOT_FOUND || err->code == ERR_CONFLICT ||
                      err->code == ERR_SYMLINK_OUTSIDE_WORKSPACE || err->code == ERR_INTERNAL;
    if (!may_follow || w->at.fd < 0 || fstat(w->at.fd, &st) < 0 || st.st_nlink > 0)
        return;
    err_set(err, ERR_NOT_FOUND,
            "the folder `%.200s` was removed since the gate was started, so nothing in it can be "
            "read or changed: start again when it is there",
            w->at.inside);
    err_reason(err, "folder_removed");
}
