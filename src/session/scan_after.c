#include <stdio.h>

#include "base/clock.h"
#include "core/command.h"
#include "session/command_after.h"
#include "session/scan.h"
#include "session/session_parts.h"

static void add_violation(struct command *command, const char *what, struct str path)
{
    if (command->n_violations == COMMAND_VIOLATIONS_MAX)
        return;
    struct command_violation *v = &command->violations[command->n_violations++];
    snprintf(v->what, sizeof v->what, "%s%.*s", what, (int)path.n, path.p);
    v->count = 1;
}

/* What a command made that would be protected: told, and protected from now on. A secret of its own making is its
 * own. */
static void take_fresh(struct call *call, size_t root, const struct op_guarded *entry)
{
    (void)root;
    if (entry->kind == GUARDED_PROTECTED || entry->kind == GUARDED_GIT)
        add_violation(call->command, "created:", entry->path);
}

static void scanned(struct call *scan)
{
    struct call *call = scan->front;
    struct session *s = (struct session *)scan->workplace;
    struct op_guarded entry;
    struct err err;
    bool failed = scan_take(s, scan, &err) < 0;
    for (struct str rest = buf_str(&scan->reply_body);
         !scan->failed && op_guarded_next(&rest, &entry) > 0;) {
        if (entry.fresh)
            take_fresh(call, scan->path.root, &entry);
    }
    /* The next command hears why, and does not start. */
    if (failed) {
        s->scanned_ns = 0;
        add_violation(call->command, "scan:failed", STR(""));
    }
    call_free(scan);
    if (--call->command->after.scans > 0)
        return;
    if (!failed)
        s->scanned_ns = clock_mono_ns();
    command_after_go_on(call);
}

bool scan_after_command(struct call *call)
{
    struct session *s = (struct session *)call->workplace;
    struct command_after *after = &call->command->after;
    if (!s->cell || s->state != OPEN)
        return false;
    for (size_t i = 0; i < s->spec.n_roots; i++)
        after->scans += s->spec.roots[i].commands;
    if (after->scans == 0)
        return false;
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        if (!s->spec.roots[i].commands)
            continue;
        struct call *scan = scan_call(s, i, call->command->guards_since[i], scanned);
        scan->front = call;
        scan->awaited = true;
        session_send(s, scan);
    }
    return true;
}
