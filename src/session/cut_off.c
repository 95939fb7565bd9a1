#include "session/cut_off.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/command.h"
#include "session/commands.h"
#include "session/quarantine.h"
#include "session/scan.h"
#include "session/session_parts.h"

#define UNSURE_BYTES_MAX ((size_t)16 << 20)
/* The kernel kills the processes of a cell behind its gate; that takes a moment. */
#define DEATH_NS 10000000000u
#define DEATH_LOOK_MS 5
#define SPARE_FDS 8

void cut_off_init(struct cut_off *c)
{
    marker_init(&c->marker, NULL);
    buf_init(&c->unsure, UNSURE_BYTES_MAX);
    buf_init(&c->innocent, UNSURE_BYTES_MAX);
}

void cut_off_use_store(struct session *s)
{
    size_t store = spec_store(&s->spec);
    if (store < ROOTS_MAX)
        marker_init(&s->cut_off.marker, s->spec.roots[store].host);
}

/* Something may have been made that was not judged and told. */
static bool may_have_unjudged(const struct session *s)
{
    return commands_any(s->commands) || s->commands_ending || s->unjudged || s->cut_off.pending ||
           s->cut_off.unsure.len;
}

void cut_off_settle(struct session *s)
{
    if (!s->cut_off.marked || may_have_unjudged(s))
        return;
    s->cut_off.marked = false;
    marker_rest(&s->cut_off.marker);
    /* It is kept for the next command where other work does not need its descriptors. */
    if (!fd_has_room(SPARE_FDS))
        marker_give_back(&s->cut_off.marker);
}

static void free_cut_off_timer(uv_handle_t *timer)
{
    free(timer);
}

void cut_off_done(struct session *s)
{
    struct cut_off *c = &s->cut_off;
    if (c->marker.fd >= 0)
        cut_off_settle(s);
    if (!c->marked)
        marker_remove(&c->marker);
    marker_done(&c->marker);
    buf_done(&c->unsure);
    buf_done(&c->innocent);
    if (c->timer)
        uv_close((uv_handle_t *)TAKE_PTR(c->timer), free_cut_off_timer);
}

static const char *what_to_do(const struct cut_off *c, int error)
{
    const char *advice = err_advice_for_file(error);
    if (advice)
        return advice;
    return c->marker.damaged[0] ? "; check what is new in the workspace and remove it"
                                : "; check its permissions";
}

static int marker_unusable(const struct cut_off *c, int error, struct err *err)
{
    const char *name = c->marker.damaged[0] ? c->marker.damaged : c->marker.tag;
    err_set(err, err_code_for_file(error),
            "no command can start: %s.running%s%s, which tells whether a command was cut off, "
            "cannot be used: %s%s",
            c->marker.store, name[0] ? "/" : "", name, strerror(error), what_to_do(c, error));
    return err_reason(err, "state_unusable");
}

/* Hooks have one folder, which they cannot write to; in a layer nothing is in effect before it is taken over. */
static int check_no_store(const struct session *s, struct err *err)
{
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        if (s->spec.roots[i].commands && !spec_root_is_readonly(&s->spec, i))
            return err_set(err, ERR_INTERNAL,
                           "no command can start: without a state folder nothing could tell later "
                           "what it left behind if it is cut off");
    }
    return 0;
}

int cut_off_mark(struct session *s, struct err *err)
{
    struct cut_off *c = &s->cut_off;
    bool roots[ROOTS_MAX] = {0};
    bool same = c->marker.fd >= 0 && c->marked_in == s->host.cells &&
                memcmp(c->generations, s->guards_known, sizeof c->generations) == 0;
    if (!c->marker.store)
        return check_no_store(s, err);
    if (c->marked) {
        if (c->group_of != s->host.cells)
            marker_set_group(&c->marker, cell_group(s->host.cell));
        c->group_of = s->host.cells;
        return 0;
    }
    for (size_t i = 0; i < s->spec.n_roots; i++)
        roots[i] = s->spec.roots[i].commands;
    int r = same ? marker_set_again(&c->marker) : -ESTALE;
    /* Another one, or somebody has removed it. */
    if (r == -ESTALE)
        r = marker_set(&c->marker, s->tag, roots, cell_group(s->host.cell));
    c->marked = r == 0;
    if (r < 0)
        return marker_unusable(c, -r, err);
    c->marked_in = c->group_of = s->host.cells;
    memcpy(c->generations, s->guards_known, sizeof c->generations);
    return 0;
}

static void on_cut_off_timer(uv_timer_t *timer)
{
    struct session *s = timer->data;
    s->cut_off.waiting = false;
    /* Otherwise they go on when the cell is open, or the scans have ended. */
    if (s->host.state == HOST_OPEN && s->scans == 0)
        host_go_on(&s->host);
}

static void look_again_later(struct session *s)
{
    struct cut_off *c = &s->cut_off;
    if (!c->timer) {
        c->timer = mem_zero(sizeof *c->timer);
        uv_timer_init(s->loop, c->timer);
        uv_unref((uv_handle_t *)c->timer);
        c->timer->data = s;
    }
    c->waiting = true;
    uv_timer_start(c->timer, on_cut_off_timer, DEATH_LOOK_MS, 0);
}

/* Processes that cannot be killed do not hold up commands for ever: nothing of their own runs any more. */
static bool is_patient(const struct cut_off *c)
{
    return !c->dying_ns || clock_mono_ns() - c->dying_ns < DEATH_NS;
}

static void note_dying(struct session *s, bool dying)
{
    struct cut_off *c = &s->cut_off;
    if (!dying)
        c->dying_ns = 0;
    else if (!c->dying_ns)
        c->dying_ns = clock_mono_ns();
    if (dying)
        look_again_later(s);
}

int cut_off_look(struct session *s, struct err *err)
{
    struct cut_off *c = &s->cut_off;
    bool dying = false;
    if (c->waiting)
        return 0;
    /* While its own commands run, the marker stands for them. */
    if (c->marked && !c->pending)
        return 1;
    c->marker.damaged[0] = '\0';
    int r = marker_take_over(&c->marker, c->pending, is_patient(c) ? &dying : NULL);
    if (r > 0) {
        c->pending = c->marked = true;
        s->moves_known = false;
        /* Scans on their way know nothing of it. */
        c->comparing = false;
    }
    if (c->pending)
        c->group_of = 0;
    if (r < 0)
        return marker_unusable(c, -r, err);
    note_dying(s, dying);
    return !dying;
}

void cut_off_begin(struct session *s)
{
    s->cut_off.comparing = s->cut_off.pending;
    if (!s->cut_off.pending)
        return;
    s->cut_off.made = 0;
    buf_reset(&s->cut_off.unsure, 0);
    buf_reset(&s->cut_off.innocent, 0);
}

void cut_off_compare(struct session *s, struct call *scan)
{
    const struct cut_off *c = &s->cut_off;
    if (!c->comparing)
        return;
    scan->request_fd = marker_open_index(&c->marker, scan->path.root);
    /* All of the list, and all that is newer than the index. */
    scan->request.scan.known = 0;
    scan->request.scan.since = 0;
    scan->request.scan.index_ns = marker_time_ns(&c->marker);
}

/* What a folder holds may be older than itself, so that one which is a git directory only by that does not count. */
static bool is_born_later(const struct marker *m, const struct op_guarded *entry)
{
    static const char git[] = ".git";
    size_t n = sizeof git - 1;
    bool named = entry->path.n >= n && memcmp(entry->path.p + entry->path.n - n, git, n) == 0;
    int64_t until = marker_until_ns(m);
    return until && entry->id.born_ns >= until && (entry->kind != GUARDED_GIT || named);
}

static void sort_cut_off_entry(struct cut_off *c, size_t root, const struct op_guarded *entry)
{
    if (is_born_later(&c->marker, entry))
        quarantine_add(&c->innocent, root, entry);
    else
        c->made++;
}

bool cut_off_is_innocent(const struct session *s, size_t root, const struct op_guarded *entry)
{
    struct op_guarded one;
    for (struct str rest = buf_str(&s->cut_off.innocent); rest.n;) {
        bool same_root = (unsigned char)rest.p[0] == root;
        rest = (struct str){rest.p + 1, rest.n - 1};
        if (op_guarded_next(&rest, &one) <= 0)
            return false;
        if (same_root && one.id.inode == entry->id.inode && one.id.born_ns == entry->id.born_ns &&
            one.type == entry->type && one.path.n == entry->path.n &&
            memcmp(one.path.p, entry->path.p, one.path.n) == 0)
            return true;
    }
    return false;
}

void cut_off_take(struct session *s, const struct call *scan)
{
    struct cut_off *c = &s->cut_off;
    struct op_guarded entry;
    bool compared = scan->reply.scan.compared;
    if (!c->comparing)
        return;
    for (struct str rest = buf_str(&scan->reply_body); op_guarded_next(&rest, &entry) > 0;) {
        if (entry.fresh && scan_is_of_interest(&entry))
            sort_cut_off_entry(c, scan->path.root, &entry);
        if (entry.replaced && scan_is_protected(&entry))
            c->made++;
        if (scan_is_protected(&entry) && !compared && !entry.fresh)
            op_layer_add(&c->unsure, &(struct op_layer){(int64_t)scan->path.root, entry.path});
    }
}

void cut_off_compared(struct session *s)
{
    struct cut_off *c = &s->cut_off;
    if (!c->comparing)
        return;
    c->pending = c->comparing = false;
    c->marked_in = 0;
    s->unjudged = c->made > 0;
    s->unjudged_ns = marker_time_ns(&c->marker);
    memset(s->unjudged_since, 0, sizeof s->unjudged_since);
    if (c->made)
        log_warning(
            "an earlier command was cut off before what it made was looked at; %llu "
            "protected names were made or replaced since it began, by it or by somebody else. The next "
            "command's answer names them. What lies at the root of the workspace or of a "
            "repository is moved to quarantine: `sandgate quarantine restore` puts back "
            "what you made yourself",
            (unsigned long long)c->made);
    if (c->unsure.len)
        log_warning("an earlier command was cut off before what it made was looked at, and what "
                    "was there before it is not known. The next command's answer names all "
                    "protected files: check those that you did not make");
    cut_off_settle(s);
}

void cut_off_tell(struct session *s, struct call *call)
{
    struct cut_off *c = &s->cut_off;
    struct command *command = call->command;
    struct op_layer entry;
    bool any = (c->made && command->for_others) || c->unsure.len;
    if (!any || command->after.failed)
        return;
    command_add_violation(command, "cut_off", STR(""), 1);
    for (struct str rest = buf_str(&c->unsure); op_layer_next(&rest, &entry) > 0;)
        command_add_violation(command, "unjudged:", entry.path, 1);
    buf_reset(&c->unsure, 0);
    c->made = 0;
}

void cut_off_cell_died(struct session *s)
{
    cut_off_settle(s);
    s->cut_off.pending = s->cut_off.marked;
}
