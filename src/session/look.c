#include "session/look.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "session/changes.h"
#include "session/review.h"
#include "session/session_parts.h"

#define CHANGES_MAX 1000000

struct look {
    struct session *session;
    struct session *reader;
    struct call *call;    /* at work; NULL: none */
    struct call *waiting; /* by wait_next */
    struct change_list list;
    size_t at; /* the next change */
};

/* Project and layer as `session diff` sees them, by the same rules about files. */
static int make_reader(struct session *s, struct session **ret, struct err *err)
{
    struct session_options options = {
        .config = s->operator_config,
        .state_fd = s->state_fd,
        .id = "",
        .n_roots = REVIEW_LAYER + 1,
        .once = true,
    };
    FREE_AT_END char *folder = mem_dup(s->settings);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        *slash = '\0';
    options.settings = !folder ? NULL : slash ? folder : ".";
    options.roots[REVIEW_PROJECT] = s->roots[0];
    options.roots[REVIEW_PROJECT].writable = false;
    options.roots[REVIEW_LAYER] = (struct root){
        .name = "layer", .inside = "/layer", .host = s->layer};
    return session_new(ret, s->loop, &options, err);
}

static void look_for_next(struct look *look);

static void finish_look(struct look *look, const struct err *err)
{
    struct call *call = look->call;
    look->call = NULL;
    change_list_done(&look->list);
    session_end_waiting(look->session, call, err);
    look_for_next(look);
}

/* Whether the call is over, for this error or since nobody waits for it. */
static bool is_over(struct look *look, const struct err *err)
{
    bool cancelled = look->call->kill_ns != 0;
    if (!err && !cancelled)
        return false;
    finish_look(look, cancelled ? &(struct err){.code = ERR_CANCELLED} : err);
    return true;
}

static bool is_looked_at(const struct look *look, const struct change *change)
{
    struct str within = call_path_text(look->call);
    if (str_is(within, "."))
        within.n = 0;
    struct str of = change->of.path;
    return of.n >= within.n && memcmp(of.p, within.p, within.n) == 0 &&
           (within.n == 0 || of.n == within.n || of.p[within.n] == '/');
}

static void compare_next(struct look *look);

static void add_patch(struct look *look, const struct change *change, bool binary, struct str diff)
{
    struct call *call = look->call;
    BUF_AT_END struct buf patch = BUF_INIT(OP_BODY_MAX);
    change_write_patch(change, binary, diff, &patch);
    bool fits = !patch.failed && call->reply_body.len + patch.len <= call->look->max_bytes;
    if (fits)
        buf_add(&call->reply_body, patch.data, patch.len);
    call->look->left_out += !fits || !change_fits_patch(change, binary);
}

static void on_change_compared(void *arg, const struct call *reply, const struct err *err)
{
    struct look *look = arg;
    if (is_over(look, err))
        return;
    bool binary = reply->reply.layer_diff.binary || reply->reply.layer_diff.cut;
    add_patch(look, &look->list.all[look->at++], binary, buf_str(&reply->reply_body));
    compare_next(look);
}

static void compare_next(struct look *look)
{
    struct call_look *ret = look->call->look;
    for (; look->at < look->list.n; look->at++) {
        const struct change *change = &look->list.all[look->at];
        if (!is_looked_at(look, change))
            continue;
        /* Those that were renamed are told with their new path, which is found again by both. */
        op_changed_add(&ret->changes, &change->of);
        if (change->gone)
            continue;
        ret->count++;
        if (change_needs_diff(change) && look->call->reply_body.len < ret->max_bytes) {
            FREE_AT_END char *path = mem_copy(change->of.path.p, change->of.path.n);
            review_diff(look->reader, path, on_change_compared, look);
            return;
        }
        add_patch(look, change, change_needs_diff(change), STR(""));
    }
    finish_look(look, NULL);
}

static void on_changes_listed(void *arg, const struct call *reply, const struct err *err)
{
    struct look *look = arg;
    struct err why;
    if (is_over(look, err))
        return;
    look->at = 0;
    if (change_list_take(buf_str(&reply->reply_body), &look->list)) {
        compare_next(look);
        return;
    }
    err_set(&why, ERR_INTERNAL, "the list of changes is not well formed");
    finish_look(look, &why);
}

static void look_for_next(struct look *look)
{
    struct err err;
    if (look->call || !look->waiting)
        return;
    struct call *call = look->call = look->waiting;
    look->waiting = call->wait_next;
    buf_init(&call->reply_body, call->look->max_bytes);
    if (!look->reader && make_reader(look->session, &look->reader, &err) < 0)
        finish_look(look, &err);
    else
        review_list(look->reader, CHANGES_MAX, 0, on_changes_listed, look);
}

void look_begin(struct call *call)
{
    struct session *s = session_of_call(call);
    struct err err;
    if (!s->layer) {
        err_set(&err, ERR_NOT_SUPPORTED,
                "this session is in host mode: what was changed is in the workspace already");
        session_end_waiting(s, call, &err);
        return;
    }
    if (!s->look) {
        s->look = mem_zero(sizeof *s->look);
        s->look->session = s;
    }
    struct call **end = &s->look->waiting;
    while (*end)
        end = &(*end)->wait_next;
    call->wait_next = NULL;
    *end = call;
    look_for_next(s->look);
}

/* Of the one at work the next answer of the reader is the end. */
void look_cancel(struct call *call)
{
    struct session *s = session_of_call(call);
    struct look *look = s->look;
    if (look && look->call == call)
        return;
    for (struct call **at = look ? &look->waiting : NULL; at && *at; at = &(*at)->wait_next) {
        if (*at != call)
            continue;
        *at = call->wait_next;
        session_end_waiting(s, call, &(struct err){.code = ERR_CANCELLED});
        return;
    }
    session_stop(call);
}

void look_kill(struct call *call)
{
    struct session *s = session_of_call(call);
    if (s->look && s->look->call == call)
        host_kill(&s->look->reader->host, "a call did not stop in time");
    else
        session_kill(call);
}

void look_late(struct call *call)
{
    struct session *s = session_of_call(call);
    if (s->look && s->look->call == call)
        host_help(&s->look->reader->host);
}

void look_free(struct look *look)
{
    if (!look)
        return;
    session_free(look->reader);
    change_list_done(&look->list);
    free(look);
}
