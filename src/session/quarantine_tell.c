#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/command.h"
#include "session/quarantine.h"
#include "session/quarantine_notes.h"
#include "session/session_parts.h"

const char *quarantine_kind(const struct call *own)
{
    static const char *const kinds[] = {
        "created:", "quarantined:", "opened:", "quarantined:", "replaced:"};
    const struct op_quarantine_reply *reply = &own->reply.quarantine;
    if (own->failed)
        return "created:";
    if (reply->repository)
        return "repository:";
    return reply->unchecked ? "unchecked:" : kinds[reply->outcome];
}

/* Of a folder that looks like a git directory only HEAD is taken. */
static char *taken_path(const struct call *own)
{
    bool root = strcmp(own->path.text, ".") == 0;
    if (!own->reply.quarantine.head)
        return mem_dup(own->path.text);
    return mem_format("%s%sHEAD", root ? "" : own->path.text, root ? "" : "/");
}

static void tell_moved(const struct session *s, const struct call *own, const char *path,
                       const char *made)
{
    const char *store = s->spec.roots[spec_store(&s->spec)].host;
    const struct cell_root *root = &s->spec.roots[own->path.root];
    const char *folder = root->host;
    struct str id = own->request.quarantine.tag;
    FREE_AT_END char *name = mem_copy(id.p, id.n);
    int r = quarantine_note_write(store, name, root, (struct str){path, strlen(path)});
    if (r == 0)
        log_warning("%s/%s %s and could run code later: moved to quarantine. To get it back: "
                    "sandgate quarantine restore %s",
                    folder, path, made, name);
    else
        log_warning("%s/%s %s and could run code later: moved to %s/quarantine/%s. `sandgate "
                    "quarantine` does not know of it (%s)",
                    folder, path, made, store, name, strerror(-r));
}

static void tell_renamed(const struct session *s, const struct call *own, const char *path,
                         const char *made)
{
    char aside[PATH_NAME_MAX + 1];
    const char *slash = strrchr(path, '/');
    const char *folder = s->spec.roots[own->path.root].host;
    snprintf(aside, sizeof aside, OP_QUARANTINE_ASIDE, own->request.quarantine.aside);
    int before = slash ? (int)(slash + 1 - path) : 0;
    if (own->reply.quarantine.rest)
        log_warning("%s/%s: what could not be removed of it is left as %s/%.*s%s", folder, path,
                    folder, before, path, aside);
    else
        log_warning("%s/%s %s and could run code later: renamed to %s/%.*s%s, because it cannot "
                    "be moved to quarantine",
                    folder, path, made, folder, before, path, aside);
}

/* Once for a command; until somebody makes room, all that it makes stays in the workspace under another name. */
static void tell_quarantine_full(const struct session *s, struct command *command)
{
    if (!command->after.full)
        log_warning("the quarantine of %s is full (1 GiB or 200,000 files): look through it with "
                    "`sandgate quarantine list` and make room with `sandgate quarantine remove`",
                    s->spec.roots[0].host);
    command->after.full = true;
    command_add_violation(command, "quarantine:full", STR(""), 1);
}

void quarantine_tell(const struct session *s, const struct call *own)
{
    struct call *call = own->front;
    enum quarantine_outcome outcome = (enum quarantine_outcome)own->reply.quarantine.outcome;
    FREE_AT_END char *path = taken_path(own);
    /* After a command that was cut off, anybody may have made it. */
    bool cut_off = call->command->for_others || own->request.quarantine.resume;
    const char *made = cut_off
                           ? "was made by a command that was cut off, or by somebody since then,"
                           : "was made by a command, or by somebody while it ran,";
    command_add_violation(call->command, quarantine_kind(own), call_path_text(own), 1);
    /* Something of the user's is under a name that they do not know. */
    if (own->failed && own->err.code == ERR_CONFLICT)
        log_warning("%s", own->err.message);
    if (!own->failed && outcome == QUARANTINE_MOVED)
        tell_moved(s, own, path, made);
    if (!own->failed && (outcome == QUARANTINE_RENAMED || own->reply.quarantine.rest))
        tell_renamed(s, own, path, made);
    if (!own->failed && own->reply.quarantine.full)
        tell_quarantine_full(s, call->command);
}
