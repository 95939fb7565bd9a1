#include "store/audit_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "store/audit_lines.h"

/* Of calls that were under way when the file began: as many as surely fit in a record. */
#define OPEN_LISTED_MAX 1000
#define OPEN_LISTED_BYTES (64u << 10)
/* After so many bytes open calls are listed again. Recovery reads about as much. */
#define LIST_EVERY_BYTES (128u << 10)

/* --- rotating */

static int make_next(struct audit *a, const char *name)
{
    FD_AT_END int fd = audit_slot_open(a->dir, name, O_CREAT | O_EXCL);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        unlinkat(a->dir, name, 0);
        return -1;
    }
    return TAKE_FD(fd);
}

static int end_file(struct audit *a, const char *name)
{
    jo_ktext(audit_begin(a, "log.rotated", NULL), "to", name);
    audit_end(a);
    int r = audit_write_ended(a);
    if (r < 0 || a->options.sync == AUDIT_SYNC_NONE)
        return r;
    /* Those who wait are told later, of a failure too: what they do then must not meet half a rotation. */
    r = audit_sync_file(a);
    if (r == 0) {
        a->synced = a->flushed;
        a->safe = a->written;
    }
    return r;
}

/* Tools in the same order; an empty one is not known. */
static void write_open(const struct audit *a, struct json_out *j)
{
    const struct open_call *call = a->open.first;
    size_t n = 0;
    jo_key(j, "open");
    jo_open(j, '[');
    for (; call && n < OPEN_LISTED_MAX; call = call->next, n++)
        jo_str(j, call->id);
    jo_close(j, ']');
    jo_key(j, "tools");
    jo_open(j, '[');
    for (call = a->open.first; call && n > 0; call = call->next, n--)
        jo_str(j, call->tool.p ? call->tool : STR(""));
    jo_close(j, ']');
    if (a->open.count > OPEN_LISTED_MAX || a->open.not_followed)
        jo_kint(j, "open_more",
                (int64_t)(call ? a->open.count - OPEN_LISTED_MAX : 0) + a->open.not_followed);
}

/* Where not all of them fit, recovery has to read further back. */
void audit_list_open_if_due(struct audit *a)
{
    if (a->ended == 0 || a->file_bytes + a->ended < a->listed_at + LIST_EVERY_BYTES)
        return;
    a->listed_at = a->file_bytes + a->ended;
    if (a->open.count > OPEN_LISTED_MAX || a->open.bytes > OPEN_LISTED_BYTES ||
        a->open.not_followed)
        return;
    write_open(a, audit_begin(a, "log.open", NULL));
    audit_end(a);
}

static void begin_rotated_file(struct audit *a, const char *name)
{
    char after[HASH_HEX + 1];
    memcpy(after, a->last.hash, sizeof after);
    struct json_out *j = audit_begin(a, "log.continued", NULL);
    jo_ktext(j, "after", after);
    jo_ktext(j, "from", name);
    write_open(a, j);
    audit_end(a);
    audit_write_ended(a); /* what fails stays pending, as any record */
}

/* The new file gets the old one's name in one step and is locked before: the slot is never without its owner. A gate
 * that dies in between leaves an empty file, which its recovery knows how to go on from. */
static bool rotate(struct audit *a)
{
    char name[ROTATED_NAME_MAX];
    if (!audit_next_rotated(a->dir, a->slot, name))
        return false;
    FD_AT_END int next = make_next(a, name);
    if (next < 0)
        return false;
    if (end_file(a, name) < 0 || renameat2(a->dir, name, a->dir, a->slot, RENAME_EXCHANGE) < 0) {
        unlinkat(a->dir, name, 0);
        return false;
    }
    fd_closep(&a->fd);
    a->fd = TAKE_FD(next);
    a->file_bytes = 0;
    a->listed_at = 0;
    begin_rotated_file(a, name);
    a->file_seq = a->last.seq;
    if (a->options.sync != AUDIT_SYNC_NONE)
        fsync(a->dir);
    return true;
}

void audit_rotate_if_large(struct audit *a)
{
    uint64_t max = a->options.max_bytes;
    bool large = a->file_bytes > max && a->file_bytes > a->rotate_at;
    if (!large || a->syncing || a->noting || a->closing || a->sync_error || a->ended)
        return;
    /* So recovery finds the head of a gate that died in its last file or in the one before it. */
    if (a->noted.seq < a->file_seq) {
        audit_note_start(a);
        return;
    }
    /* A file that cannot be renamed (an append-only folder) is used on: growing beats refusing. */
    bool done = rotate(a);
    a->rotate_at = done ? 0 : a->file_bytes + max;
    if (done && a->options.max_files)
        a->crowded = true;
}

/* --- removing */

static bool is_last_of_slot(struct audit *a, const struct audit_names *all, size_t i)
{
    struct stat st;
    char slot[SLOT_NAME_MAX];
    snprintf(slot, sizeof slot, "%.3s.jsonl", all->names[i]);
    for (size_t k = 0; k < all->n; k++) {
        if (memcmp(all->names[k], slot, 3) == 0 && strcmp(all->names[k], all->names[i]) > 0)
            return false;
    }
    return fstatat(a->dir, slot, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size == 0;
}

/* Reads all of it: a head may lie in it, of a gate that filled several files before it was noted again. */
static bool look_into_removed(struct audit *a, struct removed_file *file)
{
    CLEANUP(audit_lines_done) struct audit_lines lines;
    struct audit_line line;
    struct chain_record record;
    struct stat st;
    bool known = false;
    FD_AT_END int fd = openat(a->dir, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    audit_lines_init(&lines, fd, 0);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    while (audit_lines_next(&lines, &line) > 0) {
        known = audit_line_whole(&line) && chain_read(line.text, &record);
        if (!known)
            continue;
        audit_heads_match(file->heads, &record);
        file->last_seq = record.seq;
        chain_copy(file->last_hash, record.hash);
        memcpy(file->last_gate, record.gate.p ? record.gate.p : "", record.gate.n);
        file->last_gate[record.gate.n] = '\0';
    }
    return known;
}

static bool pick(struct audit *a, const char *name, struct removed_file *file)
{
    struct err ignored; /* writing the head will say it */
    char slot[SLOT_NAME_MAX];
    snprintf(slot, sizeof slot, "%.3s.jsonl", name);
    memcpy(file->name, name, sizeof file->name);
    file->heads = mem_zero(sizeof *file->heads);
    if (audit_heads_read(&a->heads, slot, NULL, file->heads, &ignored) == 0 &&
        look_into_removed(a, file))
        return true;
    free(TAKE_PTR(file->heads));
    return false;
}

static int by_time(const void *a, const void *b)
{
    int order = strcmp((const char *)a + 3, (const char *)b + 3);
    return order ? order : strcmp(a, b);
}

void audit_unlink_removed(struct audit *a)
{
    for (size_t i = 0; i < a->n_removed; i++)
        unlinkat(a->dir, a->removed[i].name, 0);
    a->n_removed = 0;
}

void audit_pick_removed(struct audit *a, struct audit_job *job)
{
    CLEANUP(audit_names_done) struct audit_names all = {0};
    audit_unlink_removed(a);
    if (job->max == 0 || audit_names_list(a->dir, NULL, audit_is_rotated, &all) < 0)
        return;
    size_t extra = all.n > job->max ? all.n - job->max : 0;
    if (extra)
        qsort(all.names, all.n, sizeof *all.names, by_time);
    for (size_t i = 0; i < extra && job->n_removed < REMOVED_MAX; i++) {
        if (!is_last_of_slot(a, &all, i) && pick(a, all.names[i], &job->removed[job->n_removed]))
            job->n_removed++;
    }
}

void audit_record_removed(struct audit *a, const struct audit_job *job)
{
    for (size_t i = 0; i < job->n_removed; i++) {
        struct json_out *j = audit_begin(a, "log.removed", NULL);
        jo_ktext(j, "file", job->removed[i].name);
        jo_ktext(j, "last_hash", job->removed[i].last_hash);
        audit_end(a);
        a->removed[i] = job->removed[i];
    }
    a->n_removed = job->n_removed;
    /* Without its record no file goes; it is found again when the next one is rotated. */
    if (job->n_removed && audit_write_ended(a) < 0)
        a->n_removed = 0;
}
