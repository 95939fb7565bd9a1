/* Moves to quarantine with their notes: before the worker is asked, when it has answered, and after a kill in between. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/command.h"
#include "session/quarantine.h"
#include "session/quarantine_moves.h"
#include "session/session_parts.h"

static const char *move_store_of(const struct session *s)
{
    return s->spec.roots[spec_store(&s->spec)].host;
}

static void keep_move(struct command_after *after, const struct quarantine_move *m)
{
    after->move = mem_zero(sizeof *after->move);
    *after->move = *m;
}

void quarantine_move_begin(struct session *s, struct call *own, const struct op_guarded *entry)
{
    const struct op_quarantine_request *q = &own->request.quarantine;
    const struct cell_root *root = &s->spec.roots[own->path.root];
    struct call *call = own->front;
    struct quarantine_move m = {.device = root->device,
                                .inode = root->inode,
                                .born_ns = (int64_t)root->born_ns,
                                .entry = *entry,
                                .git = q->git,
                                .since_ns = q->since_ns,
                                .aside = q->aside};
    memcpy(m.id, call->command->after.id, sizeof m.id);
    if (quarantine_move_write(move_store_of(s), &m) == 0)
        keep_move(&call->command->after, &m);
}

void quarantine_move_over(struct call *own, bool cut_off)
{
    struct session *s = (struct session *)own->workplace;
    struct call *call = own->front;
    struct quarantine_move *m = TAKE_PTR(call->command->after.move);
    if (!m)
        return;
    if (!cut_off)
        quarantine_move_remove(move_store_of(s), m->id);
    quarantine_move_done(m);
    free(m);
    s->moves_known &= !cut_off;
}

static bool is_moved_gone(const struct call *own)
{
    return own->failed && (own->err.code == ERR_NOT_FOUND || own->err.code == ERR_NOT_A_DIRECTORY);
}

static void tell_gone(const struct session *s, const struct call *own)
{
    log_warning("%s/%s was being moved to quarantine when that was cut off, and its folder is gone "
                "since: it may be called " OP_QUARANTINE_ASIDE " there",
                s->spec.roots[own->path.root].host, own->path.text, own->request.quarantine.aside);
}

/* False: it was told by an earlier command. */
static bool tell_stuck(struct session *s, const struct call *own)
{
    const char *id = ((const struct call *)own->front)->command->after.id;
    for (size_t at = 0; at < s->moves_told.len; at += QUARANTINE_ID_MAX) {
        if (memcmp(s->moves_told.data + at, id, QUARANTINE_ID_MAX) == 0)
            return false;
    }
    buf_add(&s->moves_told, id, QUARANTINE_ID_MAX);
    log_warning("%s/%s was being moved to quarantine when that was cut off, and that cannot be "
                "ended now (%s): it may be called " OP_QUARANTINE_ASIDE " there, and each command "
                "tries again",
                s->spec.roots[own->path.root].host, own->path.text, own->err.message,
                own->request.quarantine.aside);
    return true;
}

static void resumed(struct call *own)
{
    struct session *s = (struct session *)own->workplace;
    struct call *call = own->front;
    bool undone = own->failed && !is_moved_gone(own) && own->err.code != ERR_CONFLICT;
    bool none = !own->failed && own->reply.quarantine.outcome == QUARANTINE_LEFT;
    if (is_moved_gone(own))
        tell_gone(s, own);
    else if (!undone && !none)
        quarantine_tell(s, own);
    if (!none && (!undone || tell_stuck(s, own)))
        command_add_violation(call->command, "cut_off", STR(""), 1);
    call->command->after.moves_kept |= undone;
    quarantine_move_over(own, undone);
    call_free(own);
    quarantine_go_on(call);
}

/* That of the folder it was made in; ROOTS_MAX: it is of another session. */
static size_t move_root_of(const struct session *s, const struct quarantine_move *m)
{
    for (size_t i = 0; i < spec_store(&s->spec); i++) {
        const struct cell_root *root = &s->spec.roots[i];
        bool same = root->inode == m->inode && root->device == m->device &&
                    (m->born_ns < 0 || (uint64_t)m->born_ns == root->born_ns);
        if (root->writable && same)
            return i;
    }
    return ROOTS_MAX;
}

/* True: the answer is to come. The note stays locked until then. */
static bool resume(struct session *s, struct call *call, struct quarantine_move *m, size_t root)
{
    struct command_after *after = &call->command->after;
    struct call *own = session_own_call(s, OP_QUARANTINE, root, m->path, resumed);
    struct op_guarded entry = m->entry;
    own->front = call;
    memcpy(after->id, m->id, sizeof m->id);
    own->request.quarantine = (struct op_quarantine_request){
        .root = (int64_t)root,
        .path = call_path_text(own),
        .tag = {after->id, strlen(after->id)},
        .store = (int64_t)spec_store(&s->spec),
        .git = m->git,
        .since_ns = m->since_ns,
        .aside = m->aside,
        .resume = true,
    };
    entry.path = call_path_text(own);
    keep_move(after, m);
    return quarantine_ask(s, own, &entry);
}

bool quarantine_resume_moves(struct session *s, struct call *call)
{
    struct command_after *after = &call->command->after;
    struct quarantine_move m;
    if (s->moves_known || after->moves_seen || !s->host.cell || s->host.state != HOST_OPEN ||
        spec_store(&s->spec) >= ROOTS_MAX)
        return false;
    while (quarantine_move_next(move_store_of(s), after->last_move, &m, &after->moves_kept)) {
        memcpy(after->last_move, m.id, sizeof m.id);
        size_t root = move_root_of(s, &m);
        if (root >= ROOTS_MAX)
            quarantine_move_done(&m);
        else if (resume(s, call, &m, root))
            return true;
    }
    after->moves_seen = true;
    s->moves_known = !after->moves_kept;
    return false;
}
