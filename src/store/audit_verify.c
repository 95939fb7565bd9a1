#include "store/audit_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "store/audit_recover.h"
#include "store/audit_verify_private.h"

/* Gates may rotate while we look: how often we look again. */
#define TRIES_MAX 1000

void verify_tell(struct verifier *v, enum verify_level level, const struct place *place,
                 const char *gate, int64_t seq, const char *fmt, ...)
{
    char text[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    *(level == VERIFY_BAD ? &v->report->bad : &v->report->notes) += 1;
    struct verify_finding finding = {.level = level,
                                     .file = place->file,
                                     .line = place->line,
                                     .byte = place->byte,
                                     .gate = gate ? gate : "",
                                     .seq = seq,
                                     .text = text};
    if (v->options->found)
        v->options->found(v->options->arg, &finding);
}

/* --- files */

/* -1: not there; -2: told to be no plain file. */
static int open_verified_file(struct verifier *v, const char *name, struct stat *st)
{
    struct place place = {.line = 0};
    FD_AT_END int fd = openat(v->dir, name,
                              O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    snprintf(place.file, sizeof place.file, "%s", name);
    bool plain = fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode);
    if ((fd < 0 && errno == ENOENT) || (plain && st->st_nlink == 0))
        return -1;
    if (plain && st->st_nlink == 1)
        return TAKE_FD(fd);
    verify_tell(v, VERIFY_BAD, &place, NULL, 0,
                fd < 0 && errno != ELOOP && errno != ENXIO ? "it cannot be opened (%s)"
                                                           : "it is not a plain file of one name",
                strerror(errno));
    return -2;
}

static int walk_file(struct verifier *v, int fd, const char *name, bool is_rotated, struct err *err)
{
    CLEANUP(audit_lines_done) struct audit_lines lines;
    struct audit_line line;
    bool first = true;
    int r;
    verify_begin_file(v, name);
    audit_lines_init(&lines, fd, 0);
    while ((r = audit_lines_next(&lines, &line)) > 0) {
        verify_line(v, &line, first);
        first = false;
        v->report->bytes += line.text.n + line.ends;
    }
    if (r < 0)
        return err_set(err, err_code_for_file(-r), "reading audit/%s: %s", name, strerror(-r));
    verify_end_file(v, is_rotated);
    return 0;
}

/* Rotating, a file changes places with an empty one. Who opened that one by its name just before has the file that is
 * written now; what has the name by now is found by the next look at the names. */
static bool has_changed_places(const struct verifier *v, const char *name, const struct stat *st)
{
    struct stat now;
    return fstatat(v->dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino != st->st_ino;
}

/* Those behind `done`, which becomes the last of them. Empty ones do not count: a gate that died while it rotated
 * left them, or is about to fill them. */
static int walk_rotated(struct verifier *v, char done[ROTATED_NAME_MAX], bool *ret_any,
                        struct err *err)
{
    CLEANUP(audit_names_done) struct audit_names all = {0};
    int r = audit_names_list(v->dir, v->slot, audit_is_rotated, &all);
    *ret_any = false;
    if (r < 0)
        return err_set(err, err_code_for_file(-r), "reading `audit`: %s", strerror(-r));
    for (size_t i = 0; i < all.n; i++) {
        struct stat st;
        if (strcmp(all.names[i], done) <= 0)
            continue;
        FD_AT_END int fd = open_verified_file(v, all.names[i], &st);
        /* Gone since we looked: removed as planned, or the next file's link tells. */
        if (fd < 0)
            v->link = fd == -1 ? LINK_FIRST : LINK_BROKEN;
        if (fd < 0 || st.st_size == 0 || has_changed_places(v, all.names[i], &st))
            continue;
        if (walk_file(v, fd, all.names[i], true, err) < 0)
            return -1;
        memcpy(done, all.names[i], ROTATED_NAME_MAX);
        *ret_any = true;
    }
    return 0;
}

static int walk_files(struct verifier *v, struct err *err)
{
    char done[ROTATED_NAME_MAX] = "";
    for (int i = 0; i < TRIES_MAX; i++) {
        struct stat st;
        bool any;
        if (walk_rotated(v, done, &any, err) < 0)
            return -1;
        /* Opened before the last look at the names: should it be rotated after that, this is still the file
         * that comes next. */
        FD_AT_END int fd = open_verified_file(v, v->slot, &st);
        if (walk_rotated(v, done, &any, err) < 0)
            return -1;
        if (any)
            continue;
        if (fd >= 0)
            return walk_file(v, fd, v->slot, false, err);
        verify_begin_file(v, v->slot);
        v->report->files--;
        if (fd == -1)
            verify_tell(v, VERIFY_BAD, &v->at, v->gate, 0, "this file is missing");
        return 0;
    }
    return err_set(err, ERR_INTERNAL, "the log is rotated faster than it can be read: try again");
}

/* --- slots */

/* Whether state.db still has the head that was read before the files were. */
static int is_current(struct verifier *v, const struct head_row *row, struct err *err)
{
    FREE_AT_END struct head_rows *now = mem_zero(sizeof *now);
    if (audit_heads_read(&v->heads, v->slot, NULL, now, err) < 0)
        return -1;
    for (size_t i = 0; i < now->n; i++) {
        if (strcmp(now->rows[i].gate, row->gate) == 0)
            return now->rows[i].head.seq == row->head.seq;
    }
    return 0;
}

static int check_missing_head(struct verifier *v, const struct head_row *row, struct err *err)
{
    int removed = audit_heads_removed(&v->heads, v->slot, row->head.hash, err);
    int current = removed == 0 ? is_current(v, row, err) : 0;
    if (removed < 0 || current < 0)
        return -1;
    if (current && row->head.seq == 0)
        verify_tell(v, VERIFY_BAD, &v->next, row->gate, 0,
                    "the record is missing that this gate began behind, as state.db has it: "
                    "records were removed from the end, or changed");
    else if (current)
        verify_tell(v, VERIFY_BAD, &v->next, row->gate, row->head.seq,
                    "record %lld of this gate is missing, which state.db has as the last it knew: "
                    "records were removed from the end, or changed",
                    (long long)row->head.seq);
    else if (!removed)
        verify_tell(v, VERIFY_NOTE, &v->next, row->gate, row->head.seq,
                    "this gate's files were removed while they were looked at: try again");
    return 0;
}

static bool head_rows_know(const struct head_rows *rows, const char *gate)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (strcmp(rows->rows[i].gate, gate) == 0)
            return true;
    }
    return false;
}

/* It is noted before its first record is written, which may have been after the heads were read. */
static int check_last_gate(struct verifier *v, struct err *err)
{
    FREE_AT_END struct head_rows *now = mem_zero(sizeof *now);
    if (!v->has_heads || !v->seen || !v->gate[0] || head_rows_know(&v->rows, v->gate))
        return 0;
    if (audit_heads_read(&v->heads, v->slot, NULL, now, err) < 0)
        return -1;
    if (head_rows_know(now, v->gate))
        return 0;
    bool lost = audit_restarted_since(v->at_ms);
    verify_tell(v, lost ? VERIFY_NOTE : VERIFY_BAD, &v->next, v->gate, v->seq,
                "state.db does not know this gate, the last one here: %s, and should records be "
                "missing at its end, nobody can tell",
                lost ? "a power loss took that, or someone"
                     : "it was removed, or an older one put in its place");
    return 0;
}

static int check_heads(struct verifier *v, struct err *err)
{
    for (size_t i = 0; i < v->rows.n; i++) {
        const struct head_row *row = &v->rows.rows[i];
        if (row->found)
            continue;
        if (check_missing_head(v, row, err) < 0)
            return -1;
    }
    return check_last_gate(v, err);
}

static int walk_slot(struct verifier *v, unsigned slot, struct err *err)
{
    snprintf(v->slot, sizeof v->slot, "%03u.jsonl", slot % SLOTS_MAX);
    v->link = LINK_FIRST;
    memcpy(v->hash, CHAIN_NONE, sizeof v->hash);
    v->gate[0] = '\0';
    v->seq = 0;
    v->at_ms = 0;
    v->seen = v->loose = false;
    v->region.open = false;
    v->rows.n = 0;
    v->report->slots++;
    /* Read before the files: what they know of is in the files by then. */
    if (v->has_heads && audit_heads_read(&v->heads, v->slot, NULL, &v->rows, err) < 0)
        return -1;
    if (v->dir >= 0 && walk_files(v, err) < 0)
        return -1;
    if (v->dir < 0)
        snprintf(v->next.file, sizeof v->next.file, "%s", v->slot);
    return check_heads(v, err);
}

static int find_slots(struct verifier *v, bool used[SLOTS_MAX], struct err *err)
{
    CLEANUP(audit_names_done) struct audit_names slots = {0};
    CLEANUP(audit_names_done) struct audit_names rotated = {0};
    if (v->has_heads && audit_heads_slots(&v->heads, used, SLOTS_MAX, err) < 0)
        return -1;
    int r = v->dir < 0 ? 0 : audit_names_list(v->dir, NULL, audit_is_slot, &slots);
    if (r == 0 && v->dir >= 0)
        r = audit_names_list(v->dir, NULL, audit_is_rotated, &rotated);
    if (r < 0)
        return err_set(err, err_code_for_file(-r), "reading `audit`: %s", strerror(-r));
    for (size_t i = 0; i < slots.n; i++)
        used[audit_slot_number(slots.names[i])] = true;
    for (size_t i = 0; i < rotated.n; i++)
        used[audit_slot_number(rotated.names[i])] = true;
    return 0;
}

/* Files that nothing is left of but what follows them. */
static int check_missing(struct verifier *v, struct err *err)
{
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        if (!v->missing[i][0] || hash_list_has(&v->removed, v->missing[i]))
            continue;
        snprintf(v->slot, sizeof v->slot, "%03u.jsonl", i);
        int removed = v->has_heads ? audit_heads_removed(&v->heads, v->slot, v->missing[i], err)
                                   : 0;
        if (removed < 0)
            return -1;
        if (!removed)
            verify_tell(v, VERIFY_BAD, &v->missing_at[i], NULL, 0,
                        "the file that comes before this one is missing, and nothing says that it "
                        "was to be removed");
        else
            v->report->removed += v->report->removed == 0;
    }
    return 0;
}

/* --- all of it */

static int open_parts(struct verifier *v, struct err *err)
{
    struct stat st;
    struct place place = {.file = "state.db"};
    v->dir = openat(v->state_fd, "audit", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (v->dir < 0 && errno != ENOENT)
        return err_set(err, ERR_INTERNAL, "`audit` in the state folder cannot be opened (%s)",
                       errno == ENOTDIR || errno == ELOOP ? "it is not a folder" : strerror(errno));
    v->has_heads = fstatat(v->state_fd, "state.db", &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!v->has_heads && v->dir >= 0)
        verify_tell(v, VERIFY_BAD, &place, NULL, 0,
                    "it is missing: what was removed from the ends of the log cannot be noticed");
    int late = v->has_heads ? audit_heads_made_late(&v->heads, err) : 0;
    if (late > 0)
        verify_tell(v, VERIFY_BAD, &place, NULL, 0,
                    "it was made anew beside a log that was there already: what was removed from "
                    "the ends of the log before that cannot be noticed");
    return late < 0 ? -1 : 0;
}

static int run_verifier(struct verifier *v, struct err *err)
{
    bool used[SLOTS_MAX] = {false};
    if (verify_read_anchors(v, err) < 0 || open_parts(v, err) < 0 || find_slots(v, used, err) < 0)
        return -1;
    for (unsigned i = 0; i < SLOTS_MAX; i++) {
        if (used[i] && walk_slot(v, i, err) < 0)
            return -1;
    }
    if (check_missing(v, err) < 0)
        return -1;
    verify_end_anchors(v);
    return 0;
}

int audit_verify(int state_fd, const struct verify_options *options, struct verify_report *report,
                 struct err *err)
{
    struct verifier *v = mem_zero(sizeof *v);
    *report = (struct verify_report){0};
    v->options = options;
    v->report = report;
    v->state_fd = v->heads.state_fd = state_fd;
    v->dir = -1;
    v->missing = mem_zero(SLOTS_MAX * sizeof *v->missing);
    v->missing_at = mem_zero(SLOTS_MAX * sizeof *v->missing_at);
    int r = run_verifier(v, err);
    fd_closep(&v->dir);
    audit_heads_done(&v->heads);
    free(v->gates);
    free(v->anchors);
    free(v->removed.hashes);
    free(v->missing);
    free(v->missing_at);
    free(v);
    return r;
}
