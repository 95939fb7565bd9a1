#include "session/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/handle.h"
#include "base/mem.h"
#include "cell/order.h"
#include "core/command.h"
#include "session/commands.h"
#include "session/leads.h"
#include "session/session_parts.h"

/* More than any workspace has that a person works in. */
#define ENTRIES_MAX 4000000
#define GUARDED_MAX 20000
#define LIST_BYTES_MAX ((size_t)16 << 20)
/* One scan serves all commands that wait for it, also where it takes longer than this. */
#define OLD_NS 50000000u
/* How often is looked beside a command: not so often that it takes a good part of a processor. */
#define BESIDE_MS 100
#define BESIDE_SHARE 20
/* How often is looked for what was guarded and cannot be found, while another gate's commands run. */
#define VANISHED_TRIES 16

/* Scans beside commands, by a timer. */
struct beside {
    uv_timer_t timer;
    struct session *session;
    bool running;
    bool watched; /* all folders, or that was tried */
    uint64_t took_ns;
};

static int make_guards_file(struct str bytes, struct err *err)
{
    FD_AT_END int fd = memfd_create("guards", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r = fd < 0 ? -errno : fd_write_all(fd, bytes.p, bytes.n);
    if (r == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        r = -errno;
    if (r < 0)
        return err_set(err, ERR_SESSION_BUSY, "telling which files are guarded: %s; try again",
                       strerror(-r));
    return TAKE_FD(fd);
}

/* Which of them are fresh is of no interest to the launcher. */
static int tell_guards(struct session *s, size_t root, struct str found, struct err *err)
{
    BUF_AT_END struct buf body = BUF_INIT(LIST_BYTES_MAX);
    FRAME_FDS_AT_END struct frame_fds fds = {0};
    struct op_guarded entry;
    for (struct str rest = found; op_guarded_next(&rest, &entry) > 0;) {
        entry.fresh = entry.replaced = false;
        if (entry.kind != GUARDED_OPENED)
            op_guarded_add(&body, &entry);
    }
    if (body.failed)
        return err_set(err, ERR_TOO_LARGE,
                       "no command can start: the paths of secret and protected files are too long "
                       "in all; change files.secret or files.protected");
    struct frame frame = {.type = FRAME_GUARDS, .token = root + 1, .body = buf_str(&body)};
    if (body.len > FRAME_BODY_MAX) {
        int fd = make_guards_file(buf_str(&body), err);
        if (fd < 0)
            return -1;
        fds.fd[fds.n++] = fd;
        frame.body = (struct str){0};
    }
    return cell_order(s->host.cell, &frame, fds.n ? &fds : NULL, err);
}

struct call *scan_call(struct session *s, size_t root, int64_t since, void (*done)(struct call *))
{
    struct call *call = session_own_call(s, OP_SCAN, root, ".", done);
    call->request.scan = (struct op_scan_request){.root = (int64_t)root,
                                                  .path = call_path_text(call),
                                                  .known = s->guards_known[root],
                                                  .since = since,
                                                  .ran_ns = s->ran_ns,
                                                  .reopen = s->layer != NULL,
                                                  .max_entries = ENTRIES_MAX,
                                                  .max_guarded = GUARDED_MAX};
    call->quick = true;
    call->reply_max = LIST_BYTES_MAX;
    return call;
}

int scan_take(struct session *s, struct call *call, struct err *err)
{
    size_t root = call->path.root;
    const struct op_scan_reply *reply = &call->reply.scan;
    if (call->failed) {
        *err = call->err;
        /* What the worker could not read this time; a file of the state stays as it is. */
        if (err->code == ERR_INTERNAL && strcmp(err->reason, "state_unusable") != 0)
            err->code = ERR_SESSION_BUSY;
        return -1;
    }
    /* Also where there are too many. */
    if (!reply->same && reply->generation > s->guards_known[root])
        suspects_found(s, root, buf_str(&call->reply_body));
    if (reply->count > GUARDED_MAX)
        return err_set(err, ERR_TOO_LARGE,
                       "no command can start: more than %d files are secret or protected",
                       GUARDED_MAX);
    /* An older one may come behind a newer one. */
    if (reply->generation <= s->guards_known[root])
        return 0;
    if (tell_guards(s, root, buf_str(&call->reply_body), err) < 0)
        return -1;
    git_turn_found(s, root, buf_str(&call->reply_body));
    s->guards_known[root] = reply->generation;
    return 0;
}

bool scan_is_settled(struct session *s)
{
    return !commands_any(s->commands) && !marker_others_run(&s->cut_off.marker);
}

static void send_scans(struct session *s, bool settled);

/* What was guarded is gone with its folder, or a command of another gate moved that to where this scan had looked before.
 * The launcher's covers go along with what is moved, so that only the first list of a cell counts. True: it goes on when
 * that is known. */
static bool look_for_vanished(struct session *s)
{
    struct err err;
    bool vanished = s->scan_vanished;
    s->scan_vanished = false;
    if (s->scan_failed)
        return false;
    if (!vanished) {
        s->scan_tries = 0;
        s->scan_unsure = false;
        return false;
    }
    bool settled = scan_is_settled(s);
    if (!settled && s->scan_listed)
        return false;
    s->scan_unsure = true;
    if (s->scan_tries++ < VANISHED_TRIES) {
        send_scans(s, settled);
        return true;
    }
    s->scan_tries = 0;
    s->scanned_ns = 0;
    err_set(&err, ERR_SESSION_BUSY,
            "the command was not started: secret or protected files cannot be found where they "
            "were, and a command of another gate may be moving them; try again when it has ended");
    err_reason(&err, RAN_GUARDS_MOVED);
    host_give_up(&s->host, &err);
    return true;
}

/* True: the folders are scanned again when it is known where these lead. */
static bool follow_outward(struct session *s)
{
    if (!s->scan_outward || s->scan_failed)
        return false;
    s->scan_outward = false;
    leads_follow(s);
    return true;
}

static void on_root_scanned(struct call *call)
{
    struct session *s = session_of_call(call);
    struct err err;
    s->scan_listed &= s->guards_known[call->path.root] > 0;
    s->scan_vanished |= !call->failed && call->reply.scan.vanished > 0;
    s->scan_outward |= !call->failed && (call->reply.scan.outward > 0 || s->leads_lost);
    bool failed = scan_take(s, call, &err) < 0;
    if (!failed)
        cut_off_take(s, call);
    call_free(call);
    if (s->scans > 0)
        s->scans--;
    if (failed) {
        /* Nothing runs unguarded. A cell that died is seen to when that is told. */
        s->scanned_ns = 0;
        s->scan_failed = true;
        if (err.code != ERR_INTERRUPTED)
            host_give_up(&s->host, &err);
        return;
    }
    if (s->scans > 0 || follow_outward(s) || look_for_vanished(s))
        return;
    /* That of another root does not make up for it. */
    if (!s->scan_failed) {
        scan_ended(s, s->scan_began_ns);
        cut_off_compared(s);
    }
    if (s->beside && !s->scan_failed)
        s->beside->took_ns = s->scanned_ns - s->scan_began_ns;
    host_go_on(&s->host);
}

static void send_scans(struct session *s, bool settled)
{
    s->scan_failed = false;
    s->scan_began_ns = clock_mono_ns();
    cut_off_begin(s);
    for (size_t i = 0; i < s->spec.n_roots; i++)
        s->scans += s->spec.roots[i].commands;
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        if (!s->spec.roots[i].commands)
            continue;
        struct call *call = scan_call(s, i, s->guards_known[i], on_root_scanned);
        call->request.scan.settled = settled;
        cut_off_compare(s, call);
        session_send(s, call);
    }
}

void scan_start(struct session *s)
{
    if (s->scans || s->leads)
        return;
    s->scan_listed = !s->scan_unsure;
    send_scans(s, false);
}

/* What somebody put there before a command was asked for is covered when it starts. */
bool scan_is_old(const struct session *s, const struct call *call)
{
    return s->cut_off.pending || s->scan_outward || s->leads || s->leads_lost || !s->scanned_ns ||
           s->scanned_from_ns < call->start_ns || clock_mono_ns() - s->scanned_ns > OLD_NS;
}

void scan_ended(struct session *s, uint64_t began_ns)
{
    s->scanned_ns = clock_mono_ns();
    s->scanned_from_ns = began_ns;
}

static void watched(struct call *call)
{
    struct session *s = session_of_call(call);
    struct err err;
    /* Should it fail, the scans are slower. */
    (void)scan_take(s, call, &err);
    call_free(call);
}

/* So that scans are quick from then on. */
static void watch_roots(struct session *s)
{
    s->beside->watched = true;
    for (size_t i = 0; i < s->spec.n_roots; i++) {
        if (!s->spec.roots[i].commands)
            continue;
        struct call *call = scan_call(s, i, s->guards_known[i], watched);
        call->request.scan.watch = true;
        call->quick = false;
        session_send(s, call);
    }
}

static void on_time(uv_timer_t *timer)
{
    struct beside *b = timer->data;
    struct session *s = b->session;
    bool open = s->host.state == HOST_OPEN && s->host.cell;
    bool any = commands_any(s->commands);
    if (open && !s->once && !b->watched)
        watch_roots(s);
    else if (open && any)
        scan_start(s);
    b->running = any;
    uint64_t ms = b->took_ns * BESIDE_SHARE / 1000000;
    if (any)
        uv_timer_start(timer, on_time, ms > BESIDE_MS ? ms : BESIDE_MS, 0);
}

/* What is new by the end of the command is its own, or that of one before it that could not be judged. */
static void note_start(const struct session *s, struct command *command)
{
    command->for_others = s->unjudged;
    command->began_ns = s->unjudged ? s->unjudged_ns : clock_file_ns();
    memcpy(command->guards_since, s->unjudged ? s->unjudged_since : s->guards_known,
           sizeof command->guards_since);
}

void scan_beside(struct session *s, struct call *call)
{
    note_start(s, call->command);
    if (!s->ran_ns)
        s->ran_ns = call->command->began_ns;
    if (!s->beside) {
        s->beside = mem_zero(sizeof *s->beside);
        s->beside->session = s;
        uv_timer_init(s->loop, &s->beside->timer);
        s->beside->timer.data = s->beside;
        uv_unref((uv_handle_t *)&s->beside->timer);
    }
    if (s->beside->running)
        return;
    s->beside->running = true;
    uv_timer_start(&s->beside->timer, on_time, BESIDE_MS, 0);
}

void scan_forget(struct session *s)
{
    cut_off_cell_died(s);
    s->scans = 0;
    s->scanned_ns = 0;
    s->leads = 0;
    s->leads_lost = false;
    memset(s->guards_known, 0, sizeof s->guards_known);
    if (s->beside)
        s->beside->watched = false;
}

void scan_free(struct session *s)
{
    if (s->beside)
        uv_close((uv_handle_t *)&TAKE_PTR(s->beside)->timer, handle_free_data);
}
