#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/command.h"
#include "core/git_settings.h"
#include "session/command_after.h"
#include "session/commands.h"
#include "session/quarantine.h"
#include "session/scan.h"
#include "session/session_parts.h"

bool scan_is_protected(const struct op_guarded *entry)
{
    bool closed = entry->kind == GUARDED_SECRET && entry->type == TYPE_DIRECTORY;
    return entry->kind == GUARDED_GIT || entry->kind == GUARDED_PROTECTED ||
           entry->kind == GUARDED_PART || closed;
}

bool scan_is_of_interest(const struct op_guarded *entry)
{
    return scan_is_protected(entry) ||
           (entry->type == TYPE_SYMLINK &&
            (entry->kind == GUARDED_WAY || entry->kind == GUARDED_SECRET));
}

/* The user made it between a command that was cut off and this one. */
static bool is_before(const struct call *call, size_t root, const struct op_guarded *entry)
{
    return call->command->for_others &&
           cut_off_is_innocent((const struct session *)call->workplace, root, entry);
}

/* What a command made that would be protected is seen to by the next step (quarantine.c). A secret of its own making is
 * its own, but a link with a secret name is told: what somebody writes to it goes elsewhere. */
static void take_fresh_of_command(struct call *call, size_t root, const struct op_guarded *entry)
{
    struct command_after *after = &call->command->after;
    bool git = entry->kind == GUARDED_GIT;
    bool link = entry->type == TYPE_SYMLINK;
    /* Either it is called so, or it cannot be looked into. */
    bool closed = entry->kind == GUARDED_SECRET && entry->type == TYPE_DIRECTORY;
    struct buf *list = git ? &after->fresh_git : closed ? &after->closed : &after->fresh;
    if (!scan_is_of_interest(entry) || is_before(call, root, entry))
        return;
    if (!link || entry->kind != GUARDED_SECRET)
        quarantine_add(list, root, entry);
    else
        command_add_violation(call->command, "created:", entry->path, 1);
}

/* An editor or git on the host may have saved it. It was not covered for a moment, so the command can have written to it:
 * that is told, and the file is left alone. */
static void take_replaced(struct call *call, const struct op_guarded *entry)
{
    if (call->command->after.rounds == 0 &&
        (entry->kind == GUARDED_PROTECTED || entry->kind == GUARDED_GIT ||
         entry->kind == GUARDED_PART))
        command_add_violation(call->command, "replaced:", entry->path, 1);
}

/* An answer that tells an error has no room for what the command made. */
static bool is_untold(const struct command_after *after)
{
    return after->failed && (after->fresh.len || after->fresh_git.len || after->closed.len);
}

/* What could not be looked for after this command, or not be told, is looked for after the next. */
static void leave_to_next(struct session *s, const struct call *call)
{
    struct command *command = call->command;
    if (!command->after.scan_failed && !command->after.scan_unsure && !is_untold(&command->after)) {
        s->unjudged &= !command->for_others && !command->after.left;
        return;
    }
    if (s->unjudged)
        return;
    s->unjudged = command->after.left = true;
    s->unjudged_ns = command->began_ns;
    memcpy(s->unjudged_since, command->guards_since, sizeof s->unjudged_since);
}

/* Once in a session. */
static void tell_unread(struct session *s, struct command *command, int64_t unread)
{
    FREE_AT_END char *name = git_setting_name(unread);
    if (!name || s->unread_told == unread)
        return;
    s->unread_told = unread;
    command_add_violation(command, "git:unread:", (struct str){name, strlen(name)}, 1);
}

/* Another command moved folders, and did not stop. If it is one of this session, it is judged for all since it began. */
static void take_unsure(const struct session *s, struct command *command)
{
    if (!command->after.scan_unsure)
        log_warning(
            "another command moved folders while what a command made was looked for: something "
            "may not have been found, and is looked for again when another one ends");
    command_add_violation(command, "scan:unsure", STR(""), 1);
    command->after.scan_unsure |= !commands_any(s->commands);
}

static void on_scanned_after(struct call *scan)
{
    struct call *call = scan->front;
    struct session *s = (struct session *)scan->workplace;
    struct op_guarded entry;
    struct err err;
    s->scan_outward |= !scan->failed && scan->reply.scan.outward > 0;
    bool failed = scan_take(s, scan, &err) < 0;
    if (!scan->failed && scan->reply.scan.opened)
        command_add_violation(call->command, "opened:", STR("."), 1);
    for (struct str rest = buf_str(&scan->reply_body);
         !scan->failed && op_guarded_next(&rest, &entry) > 0;) {
        if (entry.kind == GUARDED_OPENED)
            command_add_violation(call->command, "opened:", entry.path, 1);
        else if (entry.fresh)
            take_fresh_of_command(call, scan->path.root, &entry);
        else if (entry.replaced)
            take_replaced(call, &entry);
    }
    if (!scan->failed)
        tell_unread(s, call->command, scan->reply.scan.unread);
    if (!scan->failed && scan->reply.scan.unsure)
        take_unsure(s, call->command);
    /* The next command hears why, and does not start. */
    if (failed) {
        if (!call->command->after.scan_failed)
            log_warning(
                "what a command made could not be looked through, and may still be there: %s",
                err.message);
        s->scanned_ns = 0;
        call->command->after.scan_failed = true;
        command_add_violation(call->command, "scan:failed", STR(""), 1);
    }
    call_free(scan);
    if (--call->command->after.scans > 0)
        return;
    if (!call->command->after.scan_failed)
        scan_ended(s, call->command->after.scan_began_ns);
    if (!call->command->after.scan_failed)
        cut_off_tell(s, call);
    leave_to_next(s, call);
    suspects_give(s, call);
    if (!commands_any(s->commands) && !s->unjudged)
        s->ran_ns = 0;
    command_after_go_on(call);
}

bool scan_after_command(struct call *call)
{
    struct session *s = session_of_call(call);
    struct command_after *after = &call->command->after;
    /* What a command makes in a layer is judged when it is taken over. */
    if (s->layer || !s->host.cell || s->host.state != HOST_OPEN)
        return false;
    if (!after->first_look)
        after->first_look = after->step - 1;
    for (size_t i = 0; i < s->spec.n_roots; i++)
        after->scans += s->spec.roots[i].commands;
    if (after->scans == 0)
        return false;
    after->scan_began_ns = clock_mono_ns();
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        if (!s->spec.roots[i].commands)
            continue;
        struct call *scan = scan_call(s, i, call->command->guards_since[i], on_scanned_after);
        scan->front = call;
        scan->awaited = true;
        scan->request.scan.reopen = true;
        scan->request.scan.others = !scan_is_settled(s);
        /* A command can make more than can be covered; what it made is to be found all the same. */
        scan->request.scan.max_guarded = OP_SCAN_FOUND_MAX;
        scan->reply_max = OP_BODY_MAX;
        session_send(s, scan);
    }
    return true;
}
