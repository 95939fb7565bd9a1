#include "session/quarantine.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/command.h"
#include "session/command_after.h"
#include "session/scan.h"
#include "session/session_parts.h"

/* Folders in one another that cannot be looked into, repositories in what was a repository. */
#define ROUNDS_MAX 64

enum fresh_kind { FRESH_FILES, FRESH_GIT, FRESH_CLOSED };

/* The next of what was found; false: there is no more. */
static bool next_fresh(struct command_after *after, struct op_layer *ret, enum fresh_kind *ret_kind)
{
    const struct buf *lists[] = {&after->fresh, &after->fresh_git, &after->closed};
    size_t at = after->seen_to;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (at >= lists[i]->len) {
            at -= lists[i]->len;
            continue;
        }
        struct str rest = {lists[i]->data + at, lists[i]->len - at};
        size_t before = rest.n;
        if (op_layer_next(&rest, ret) <= 0)
            return false;
        after->seen_to += before - rest.n;
        *ret_kind = (enum fresh_kind)i;
        return true;
    }
    return false;
}

/* The user is told where it went: an answer has no room for that, and its reader no access. */
static void tell(const struct session *s, const struct call *own)
{
    static const char *const kinds[] = {"created:", "quarantined:", "opened:", "quarantined:"};
    struct call *call = own->front;
    enum quarantine_outcome outcome = (enum quarantine_outcome)own->reply.quarantine.outcome;
    struct str path = call_path_text(own);
    command_add_violation(call->command, kinds[own->failed ? QUARANTINE_LEFT : outcome], path, 1);
    if (!own->failed && outcome == QUARANTINE_MOVED)
        log_warning("%s/%s was made by a command and could run code later: moved to %s/quarantine",
                    s->spec.roots[own->path.root].host, own->path.text,
                    s->spec.roots[spec_store(&s->spec)].host);
    if (!own->failed && outcome == QUARANTINE_RENAMED)
        log_warning("%s/%s was made by a command and could run code later: it has another name now",
                    s->spec.roots[own->path.root].host, own->path.text);
}

static void moved(struct call *own)
{
    struct call *call = own->front;
    call->command->after.again |= !own->failed && own->reply.quarantine.outcome != QUARANTINE_LEFT;
    tell((const struct session *)own->workplace, own);
    call_free(own);
    if (!quarantine_after(call))
        command_after_go_on(call);
}

static void ask_worker(struct session *s, struct call *call, const struct op_layer *fresh,
                       enum fresh_kind kind)
{
    FREE_AT_END char *path = mem_copy(fresh->path.p, fresh->path.n);
    struct call *own = session_own_call(s, OP_QUARANTINE, (size_t)fresh->root, path, moved);
    own->front = call;
    own->awaited = true;
    own->request.quarantine = (struct op_quarantine_request){
        .root = fresh->root,
        .path = call_path_text(own),
        .tag = {s->cell_tag, strlen(s->cell_tag)},
        .store = (int64_t)spec_store(&s->spec),
        .git = kind == FRESH_GIT,
        .closed = kind == FRESH_CLOSED,
        .since_ns = call->command->began_ns,
    };
    session_send(s, own);
}

bool quarantine_again(struct call *call)
{
    struct command_after *after = &call->command->after;
    if (!after->again || !after->first_look || ++after->rounds == ROUNDS_MAX)
        return false;
    after->again = false;
    after->step = after->first_look;
    after->seen_to = 0;
    buf_reset(&after->fresh, 0);
    buf_reset(&after->fresh_git, 0);
    buf_reset(&after->closed, 0);
    return false;
}

bool quarantine_after(struct call *call)
{
    struct session *s = (struct session *)call->workplace;
    struct op_layer fresh;
    enum fresh_kind kind;
    if (!next_fresh(&call->command->after, &fresh, &kind))
        return false;
    if (s->cell && s->state == OPEN && spec_store(&s->spec) < ROOTS_MAX) {
        ask_worker(s, call, &fresh, kind);
        return true;
    }
    do
        command_add_violation(call->command, "created:", fresh.path, 1);
    while (next_fresh(&call->command->after, &fresh, &kind));
    return false;
}
