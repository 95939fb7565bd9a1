#include "session/scan.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "session/session_parts.h"

#define ENTRIES_MAX 100000
#define DEPTH_MAX 8
#define AGAIN_NS 2000000000u
/* While commands follow each other, scans run beside them and none is as old as this. */
#define OLD_NS 5000000000u

/* What a rule protects at the top of the workspace, known even where it is not there. Empty where it has no one
 * name. */
static struct str plain_path(struct str pattern)
{
    if (strpbrk(pattern.p, "*?[]{}!\\"))
        return (struct str){0};
    while (pattern.n && pattern.p[0] == '/')
        pattern = (struct str){pattern.p + 1, pattern.n - 1};
    while (pattern.n && pattern.p[pattern.n - 1] == '/')
        pattern.n--;
    return pattern.n < PATH_TEXT_MAX && op_is_relative_path(pattern) ? pattern : (struct str){0};
}

static void add_missing(const struct config *config, struct buf *out)
{
    const struct str *items;
    size_t count;
    if (!config_list(config, "files.protected", &items, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        struct str path = plain_path(items[i]);
        if (path.n)
            op_guarded_add(out, &(struct op_guarded){GUARDED_MISSING, TYPE_OTHER, path});
    }
}

static int tell(struct session *s, size_t root, struct str found, struct err *err)
{
    BUF_AT_END struct buf body = BUF_INIT(FRAME_BODY_MAX);
    struct op_guarded entry;
    size_t fits = 0;
    for (struct str rest = found; op_guarded_next(&rest, &entry) > 0;) {
        op_guarded_add(&body, &entry);
        if (body.failed)
            return err_set(
                err, ERR_SANDBOX_UNAVAILABLE,
                "the workspace has too many secret or protected files to cover them for a "
                "command; change files.secret or files.protected");
        fits = body.len;
    }
    add_missing(s->config, &body);
    struct frame frame = {.type = FRAME_GUARDS,
                          .token = root + 1,
                          .body = {body.data, body.failed ? fits : body.len}};
    return cell_order(s->cell, &frame, NULL, err);
}

static void scanned(struct call *call)
{
    struct session *s = (struct session *)call->workplace;
    struct err err = call->err;
    bool failed = call->failed;
    if (!failed && call->reply.scan.truncated)
        log_warning(
            "%s has more files than are looked through for secrets: those further down are not "
            "covered for commands",
            s->spec.roots[call->path.root].host);
    if (!failed)
        git_turn_found(s, call->path.root, buf_str(&call->reply_body));
    if (!failed)
        failed = tell(s, call->path.root, buf_str(&call->reply_body), &err) < 0;
    call_free(call);
    if (s->scans > 0)
        s->scans--;
    if (failed) {
        /* Nothing runs unguarded. A cell that died is seen to when that is told. */
        s->scanned_ns = 0;
        if (err.code != ERR_INTERRUPTED)
            session_fail_waiting(s, &err);
        return;
    }
    if (s->scans > 0)
        return;
    s->scanned_ns = clock_mono_ns();
    session_send_waiting(s);
}

void scan_start(struct session *s)
{
    if (s->scans)
        return;
    for (size_t i = 0; i < s->spec.n_roots; i++)
        s->scans += s->spec.roots[i].commands;
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        if (!s->spec.roots[i].commands)
            continue;
        struct call *call = session_own_call(s, OP_SCAN, i, ".", scanned);
        call->request.scan = (struct op_scan_request){.root = (int64_t)i,
                                                      .path = call_path_text(call),
                                                      .max_entries = ENTRIES_MAX,
                                                      .max_depth = DEPTH_MAX};
        call->quick = true;
        session_send(s, call);
    }
}

bool scan_is_old(const struct session *s)
{
    return !s->scanned_ns || clock_mono_ns() - s->scanned_ns > OLD_NS;
}

void scan_again(struct session *s)
{
    if (clock_mono_ns() - s->scanned_ns > AGAIN_NS)
        scan_start(s);
}
