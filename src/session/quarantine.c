#include "session/quarantine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/command.h"
#include "base/json.h"
#include "session/command_after.h"
#include "session/quarantine_moves.h"
#include "session/quarantine_notes.h"
#include "session/scan.h"
#include "session/session_parts.h"

/* Folders in one another that cannot be looked into, repositories in what was a repository. */
#define ROUNDS_MAX 64

/* What a worker finds in folders that scans do not look into; one that was taken over could go on finding. */
#define FOUND_INSIDE_MAX 100000u
#define INSIDE_MAX ((size_t)4 << 20)

/* The gravest first. */
enum fresh_kind { FRESH_GIT, FRESH_FILES, FRESH_CLOSED, FRESH_SUSPECT, FRESH_KINDS };

static struct buf *list_of(struct command_after *after, enum fresh_kind kind)
{
    struct buf *lists[] = {&after->fresh_git, &after->fresh, &after->closed, &after->suspects};
    return lists[kind];
}

void quarantine_add(struct buf *list, size_t root, const struct op_guarded *entry)
{
    buf_add_char(list, (char)root);
    op_guarded_add(list, entry);
}

struct fresh {
    enum fresh_kind kind;
    size_t root;
    struct op_guarded entry;
};

/* The next of what was found; false: there is no more. */
static bool next_fresh(struct command_after *after, struct fresh *ret)
{
    for (size_t i = 0; i < FRESH_KINDS; i++) {
        const struct buf *list = list_of(after, (enum fresh_kind)i);
        if (after->seen_to[i] >= list->len)
            continue;
        struct str rest = {list->data + after->seen_to[i], list->len - after->seen_to[i]};
        ret->root = (unsigned char)rest.p[0];
        ret->kind = (enum fresh_kind)i;
        rest = (struct str){rest.p + 1, rest.n - 1};
        if (op_guarded_next(&rest, &ret->entry) <= 0)
            return false;
        after->seen_to[i] = list->len - rest.n;
        return true;
    }
    return false;
}

/* Where something else was found once, that is left alone: a later scan takes it for what the command made. What was
 * looked for there is not: it may only have been moved away and back. */
static bool is_other_than_found(const struct command_after *after, const struct fresh *fresh)
{
    struct op_guarded was;
    for (struct str rest = buf_str(&after->others); rest.n;) {
        bool same_root = (unsigned char)rest.p[0] == fresh->root;
        rest = (struct str){rest.p + 1, rest.n - 1};
        if (op_guarded_next(&rest, &was) <= 0)
            return false;
        if (same_root && was.path.n == fresh->entry.path.n &&
            memcmp(was.path.p, fresh->entry.path.p, was.path.n) == 0)
            return was.id.inode != fresh->entry.id.inode ||
                   was.id.born_ns != fresh->entry.id.born_ns;
    }
    return false;
}

static void hash_entry(size_t root, enum fresh_kind kind, const struct op_guarded *entry,
                       unsigned char out[HASH_BYTES])
{
    struct hash h;
    const unsigned char head[] = {(unsigned char)root, kind, entry->kind, entry->type};
    hash_begin(&h);
    hash_add(&h, head, sizeof head);
    hash_add(&h, &entry->id.inode, sizeof entry->id.inode);
    hash_add(&h, &entry->id.born_ns, sizeof entry->id.born_ns);
    hash_add(&h, entry->path.p, entry->path.n);
    hash_end_raw(&h, out);
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, HASH_BYTES);
}

/* Whether the worker left the same file at the same path in an earlier round. */
static bool was_left(const struct command_after *after, const struct fresh *fresh)
{
    unsigned char hash[HASH_BYTES];
    if (after->stays_sorted == 0)
        return false;
    hash_entry(fresh->root, fresh->kind, &fresh->entry, hash);
    return bsearch(hash, after->stays.data, after->stays_sorted / HASH_BYTES, HASH_BYTES,
                   compare_hashes);
}

/* What is in a folder that scans do not look into. */
static void take_inside(struct command_after *after, const struct call *own)
{
    struct str rest = buf_str(&own->reply_body);
    struct op_guarded entry;
    while (!own->failed && after->inside <= FOUND_INSIDE_MAX &&
           op_guarded_next(&rest, &entry) > 0) {
        after->inside++;
        bool git = entry.kind == GUARDED_GIT;
        enum fresh_kind kind = git                            ? FRESH_GIT
                               : entry.kind == GUARDED_SECRET ? FRESH_CLOSED
                                                              : FRESH_FILES;
        quarantine_add(list_of(after, kind), own->path.root, &entry);
    }
}

/* It was moved since the scan found it, by a call or by another command. */
static bool is_fresh_gone(const struct call *own)
{
    if (own->failed)
        return own->err.code == ERR_NOT_FOUND || own->err.code == ERR_NOT_A_DIRECTORY;
    return own->reply.quarantine.outcome == QUARANTINE_OTHER;
}

static void note_other(struct command_after *after, const struct call *own)
{
    struct str rest = buf_str(&own->packed);
    struct op_guarded entry;
    if (op_guarded_next(&rest, &entry) > 0)
        quarantine_add(&after->others, own->path.root, &entry);
}

/* One that holds others is asked about again: only the worker finds those. So is one that could not be moved for lack of
 * something. */
static void note_left(struct command_after *after, const struct call *own)
{
    const struct op_quarantine_request *q = &own->request.quarantine;
    struct str rest = buf_str(&own->packed);
    unsigned char hash[HASH_BYTES];
    struct op_guarded entry;
    bool told = strcmp(quarantine_kind(own), "created:") == 0;
    bool may_change = own->failed ? own->err.code == ERR_SESSION_BUSY || is_fresh_gone(own)
                                  : own->reply_body.len > 0;
    if (!told || may_change || op_guarded_next(&rest, &entry) <= 0)
        return;
    hash_entry(own->path.root,
               q->git      ? FRESH_GIT
               : q->closed ? FRESH_CLOSED
                           : FRESH_FILES,
               &entry, hash);
    if (buf_reserve(&after->stays, HASH_BYTES) == 0)
        buf_add(&after->stays, hash, HASH_BYTES);
}

/* Whether one that is not at its place may be at another, which the scan did not tell. */
static bool may_be_elsewhere(const struct command_after *after)
{
    return after->again || after->scan_failed || after->scan_unsure;
}

/* A repository that stays, as far as it is known now, where others run; and one that could not be judged again. */
static bool is_suspect(struct session *s, const struct command_after *after, const struct call *own)
{
    if (is_fresh_gone(own))
        return after->suspect && may_be_elsewhere(after);
    if (own->failed)
        return after->suspect;
    return own->reply.quarantine.outcome == QUARANTINE_LEFT && !scan_is_settled(s);
}

static void note_suspect(struct session *s, const struct command_after *after,
                         const struct call *own)
{
    const struct op_quarantine_request *q = &own->request.quarantine;
    struct str rest = buf_str(&own->packed);
    struct op_guarded entry;
    if (q->git && is_suspect(s, after, own) && op_guarded_next(&rest, &entry) > 0)
        suspects_note(s, own->path.root, &entry, q->since_ns);
}

/* One that stays, or that its user has taken away, is not told again. */
static bool is_quiet(const struct command_after *after, const struct call *own)
{
    bool stays = !own->failed && own->reply.quarantine.outcome == QUARANTINE_LEFT;
    return after->suspect && (stays || is_fresh_gone(own));
}

static void take_outcome(struct call *call, struct call *own)
{
    struct session *s = (struct session *)own->workplace;
    struct command_after *after = &call->command->after;
    int64_t outcome = own->failed ? QUARANTINE_LEFT : own->reply.quarantine.outcome;
    after->again |= outcome != QUARANTINE_LEFT || is_fresh_gone(own);
    if (outcome == QUARANTINE_OTHER)
        note_other(after, own);
    if (outcome == QUARANTINE_LEFT)
        note_left(after, own);
    quarantine_tell(s, own);
    take_inside(after, own);
}

static void moved(struct call *own)
{
    struct call *call = own->front;
    struct command_after *after = &call->command->after;
    note_suspect((struct session *)own->workplace, after, own);
    if (!is_quiet(after, own))
        take_outcome(call, own);
    /* One that could not even be sent was not begun. */
    quarantine_move_over(own, own->failed && own->err.code == ERR_INTERRUPTED && !after->asking);
    call_free(own);
    quarantine_go_on(call);
}

void quarantine_go_on(struct call *call)
{
    if (call->command->after.asking)
        call->command->after.answered = true;
    else if (!quarantine_after(call))
        command_after_go_on(call);
}

bool quarantine_ask(struct session *s, struct call *own, const struct op_guarded *entry)
{
    struct call *call = own->front;
    struct command_after *after = &call->command->after;
    buf_init(&own->packed, INSIDE_MAX);
    op_guarded_add(&own->packed, entry);
    own->request_body = buf_str(&own->packed);
    own->awaited = true;
    own->reply_max = INSIDE_MAX;
    after->asking = true;
    after->answered = false;
    session_send(s, own);
    after->asking = false;
    return !after->answered;
}

static bool ask_worker(struct session *s, struct call *call, const struct fresh *fresh)
{
    struct command_after *after = &call->command->after;
    FREE_AT_END char *path = mem_copy(fresh->entry.path.p, fresh->entry.path.n);
    struct call *own = session_own_call(s, OP_QUARANTINE, fresh->root, path, moved);
    own->front = call;
    quarantine_make_id(after->id);
    own->request.quarantine = (struct op_quarantine_request){
        .root = (int64_t)fresh->root,
        .path = call_path_text(own),
        .tag = {after->id, strlen(after->id)},
        .store = (int64_t)spec_store(&s->spec),
        .git = fresh->kind == FRESH_GIT || fresh->kind == FRESH_SUSPECT,
        .closed = fresh->kind == FRESH_CLOSED,
        .since_ns = fresh->kind == FRESH_SUSPECT ? after->suspects_ns : call->command->began_ns,
        .aside = quarantine_make_number(),
    };
    after->suspect = fresh->kind == FRESH_SUSPECT;
    if (!own->request.quarantine.closed)
        quarantine_move_begin(s, own, &fresh->entry);
    return quarantine_ask(s, own, &fresh->entry);
}

bool quarantine_again(struct call *call)
{
    struct command_after *after = &call->command->after;
    if (!after->again || !after->first_look)
        return false;
    if (++after->rounds == ROUNDS_MAX) {
        command_add_violation(call->command, "scan:unsure", STR(""), 1);
        return false;
    }
    after->again = false;
    after->step = after->first_look;
    memset(after->seen_to, 0, sizeof after->seen_to);
    buf_reset(&after->fresh, 0);
    buf_reset(&after->fresh_git, 0);
    buf_reset(&after->closed, 0);
    buf_reset(&after->suspects, 0);
    if (after->stays.len)
        qsort(after->stays.data, after->stays.len / HASH_BYTES, HASH_BYTES, compare_hashes);
    after->stays_sorted = after->stays.len;
    /* Those that are still there are found again. */
    command_forget_violations(call->command, "created:");
    return false;
}

static bool has_lost_lists(const struct command_after *after)
{
    return after->fresh.failed || after->fresh_git.failed || after->closed.failed ||
           after->suspects.failed || after->others.failed || after->inside > FOUND_INSIDE_MAX;
}

/* A message that cannot be sent is answered at once: the next one is sent from here, not from within that answer, of
 * which there may be thousands. */
bool quarantine_after(struct call *call)
{
    struct session *s = session_of_call(call);
    struct command_after *after = &call->command->after;
    struct fresh fresh;
    if (quarantine_resume_moves(s, call))
        return true;
    while (next_fresh(after, &fresh)) {
        if (is_other_than_found(after, &fresh))
            continue;
        bool able = s->host.cell && s->host.state == HOST_OPEN && spec_store(&s->spec) < ROOTS_MAX;
        if (!able && fresh.kind == FRESH_SUSPECT)
            suspects_note(s, fresh.root, &fresh.entry, after->suspects_ns);
        if (!able || was_left(after, &fresh))
            command_add_violation(call->command, "created:", fresh.entry.path, 1);
        else if (ask_worker(s, call, &fresh))
            return true;
    }
    if (has_lost_lists(after)) {
        log_warning("a command made more than can be looked through: check what is new in %s",
                    s->spec.roots[0].host);
        command_add_violation(call->command, "scan:failed", STR(""), 1);
    }
    return false;
}
