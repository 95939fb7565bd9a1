#include "store/audit_heads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

int audit_heads_open(struct audit_heads *h, struct err *err)
{
    return h->db ? 0 : db_open(&h->db, h->state_fd, false, err);
}

static int ready(struct audit_heads *h, struct err *err)
{
    return audit_heads_open(h, err);
}

static int run_head_statement(struct audit_heads *h, sqlite3_stmt *s, struct err *err)
{
    int r = db_step(s) == SQLITE_DONE ? 0 : db_error(h->db, err);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return r;
}

/* An older head never takes a newer one's place. */
static int put_head(struct audit_heads *h, const struct head_note *note, struct err *err)
{
    sqlite3_stmt *s = db_statement(
        h->db, "INSERT INTO audit_head (gate, slot, first_hash, seq, hash, stopped, at_ms)"
               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (gate) DO UPDATE SET"
               " slot = ?2, first_hash = ?3, seq = ?4, hash = ?5, stopped = ?6, at_ms = ?7"
               " WHERE seq < ?4");
    db_bind_text(s, 1, note->gate);
    db_bind_text(s, 2, note->slot);
    db_bind_text(s, 3, note->first_hash);
    sqlite3_bind_int64(s, 4, note->head.seq);
    db_bind_text(s, 5, note->head.hash);
    sqlite3_bind_int(s, 6, note->stopped);
    sqlite3_bind_int64(s, 7, clock_unix_ms());
    return run_head_statement(h, s, err);
}

static int is_head_known(struct audit_heads *h, const struct head_begin *begin, bool *ret,
                         struct err *err)
{
    sqlite3_stmt *s = db_statement(h->db, "SELECT 1 FROM audit_head WHERE gate = ?1 AND slot = ?2");
    db_bind_text(s, 1, begin->before);
    db_bind_text(s, 2, begin->slot);
    int r = db_step(s);
    *ret = r == SQLITE_ROW;
    return r == SQLITE_ROW || r == SQLITE_DONE ? 0 : db_error(h->db, err);
}

int audit_heads_begin(struct audit_heads *h, const struct head_begin *begin, bool *ret_known,
                      struct err *err)
{
    struct head_note note = {.gate = begin->gate, .slot = begin->slot, .first_hash = ""};
    memcpy(note.head.hash, begin->after, sizeof note.head.hash);
    if (ready(h, err) < 0 || db_begin(h->db, HEADS_WAIT_MS, err) != 0)
        return -1;
    if (is_head_known(h, begin, ret_known, err) < 0 || put_head(h, &note, err) < 0) {
        db_rollback(h->db);
        return -1;
    }
    return db_commit(h->db, err);
}

int audit_heads_made_late(struct audit_heads *h, struct err *err)
{
    if (ready(h, err) < 0)
        return -1;
    sqlite3_stmt *s = db_statement(h->db,
                                   "SELECT 1 FROM audit_head WHERE slot = '" DB_MADE_LATE "'");
    int r = db_step(s);
    int found = r == SQLITE_ROW ? 1 : r == SQLITE_DONE ? 0 : db_error(h->db, err);
    sqlite3_reset(s);
    return found;
}

static int forget_covered(struct audit_heads *h, const struct head_note *note, struct err *err)
{
    if (note->after) {
        sqlite3_stmt *s = db_statement(
            h->db, "DELETE FROM audit_head WHERE slot = ?1 AND hash = ?2 AND gate <> ?3");
        db_bind_text(s, 1, note->slot);
        db_bind_text(s, 2, note->after);
        db_bind_text(s, 3, note->gate);
        if (run_head_statement(h, s, err) < 0)
            return -1;
    }
    for (size_t i = 0; note->found && i < note->found->n; i++) {
        const struct head_row *row = &note->found->rows[i];
        if (!row->found || strcmp(row->gate, note->gate) == 0)
            continue;
        sqlite3_stmt *s = db_statement(h->db,
                                       "DELETE FROM audit_head WHERE gate = ?1 AND seq = ?2");
        db_bind_text(s, 1, row->gate);
        sqlite3_bind_int64(s, 2, row->head.seq);
        if (run_head_statement(h, s, err) < 0)
            return -1;
    }
    return 0;
}

/* A head that lies in the file becomes the file's last record, which is known to be gone, or is covered by it. */
static int move_head(struct audit_heads *h, const struct head_row *row,
                     const struct removed_file *file, struct err *err)
{
    sqlite3_stmt *s = strcmp(row->gate, file->last_gate) == 0
                          ? db_statement(h->db, "UPDATE audit_head SET seq = ?3, hash = ?4"
                                                " WHERE gate = ?1 AND seq = ?2")
                          : db_statement(h->db,
                                         "DELETE FROM audit_head WHERE gate = ?1 AND seq = ?2"
                                         " AND ?3 IS NOT NULL AND ?4 IS NOT NULL");
    db_bind_text(s, 1, row->gate);
    sqlite3_bind_int64(s, 2, row->head.seq);
    sqlite3_bind_int64(s, 3, file->last_seq);
    db_bind_text(s, 4, file->last_hash);
    return run_head_statement(h, s, err);
}

static int put_removed(struct audit_heads *h, const struct removed_file *file, struct err *err)
{
    sqlite3_stmt *s = db_statement(h->db,
                                   "INSERT OR REPLACE INTO audit_removed (file, last_hash, at_ms)"
                                   " VALUES (?1, ?2, ?3)");
    db_bind_text(s, 1, file->name);
    db_bind_text(s, 2, file->last_hash);
    sqlite3_bind_int64(s, 3, clock_unix_ms());
    int r = run_head_statement(h, s, err);
    for (size_t i = 0; r == 0 && file->heads && i < file->heads->n; i++) {
        if (file->heads->rows[i].found)
            r = move_head(h, &file->heads->rows[i], file, err);
    }
    return r;
}

int audit_heads_write(struct audit_heads *h, const struct head_note *note, int wait_ms,
                      struct err *err)
{
    if (ready(h, err) < 0 || db_begin(h->db, wait_ms, err) != 0)
        return -1;
    int r = put_head(h, note, err);
    if (r == 0)
        r = forget_covered(h, note, err);
    for (size_t i = 0; r == 0 && i < note->n_removed; i++)
        r = put_removed(h, &note->removed[i], err);
    if (r < 0) {
        db_rollback(h->db);
        return -1;
    }
    return db_commit(h->db, err);
}

static void read_head_row(sqlite3_stmt *s, struct head_row *row)
{
    const char *gate = (const char *)sqlite3_column_text(s, 0);
    const char *hash = (const char *)sqlite3_column_text(s, 2);
    *row = (struct head_row){.stopped = sqlite3_column_int(s, 3) != 0};
    row->head.seq = sqlite3_column_int64(s, 1);
    snprintf(row->gate, sizeof row->gate, "%s", gate ? gate : "");
    snprintf(row->head.hash, sizeof row->head.hash, "%s", hash ? hash : "");
    /* There is no record before the first one. */
    row->found = row->head.seq == 0 && strcmp(row->head.hash, CHAIN_NONE) == 0;
}

int audit_heads_read(struct audit_heads *h, const char *slot, const char *gate,
                     struct head_rows *ret, struct err *err)
{
    if (ready(h, err) < 0)
        return -1;
    sqlite3_busy_timeout(sqlite3_db_handle(db_statement(h->db, "SELECT 1")), HEADS_WAIT_MS);
    sqlite3_stmt *s = db_statement(
        h->db, "SELECT gate, seq, hash, stopped FROM audit_head WHERE slot = ?1 AND gate <> ?2"
               " ORDER BY at_ms DESC");
    db_bind_text(s, 1, slot);
    db_bind_text(s, 2, gate ? gate : "");
    int r = SQLITE_DONE;
    ret->n = 0;
    while (ret->n < HEAD_ROWS_MAX && (r = db_step(s)) == SQLITE_ROW)
        read_head_row(s, &ret->rows[ret->n++]);
    int done = r == SQLITE_DONE || r == SQLITE_ROW ? 0 : db_error(h->db, err);
    sqlite3_reset(s);
    return done;
}

int audit_heads_removed(struct audit_heads *h, const char *slot, const char *hash, struct err *err)
{
    if (ready(h, err) < 0)
        return -1;
    sqlite3_stmt *s = db_statement(
        h->db, "SELECT 1 FROM audit_removed WHERE last_hash = ?1 AND substr(file, 1, 3) ="
               " substr(?2, 1, 3)");
    db_bind_text(s, 1, hash);
    db_bind_text(s, 2, slot);
    int r = db_step(s);
    int found = r == SQLITE_ROW ? 1 : r == SQLITE_DONE ? 0 : db_error(h->db, err);
    sqlite3_reset(s);
    return found;
}

int audit_heads_slots(struct audit_heads *h, bool *used, size_t n, struct err *err)
{
    if (ready(h, err) < 0)
        return -1;
    sqlite3_stmt *s = db_statement(h->db, "SELECT DISTINCT slot FROM audit_head");
    int r;
    while ((r = db_step(s)) == SQLITE_ROW) {
        const char *slot = (const char *)sqlite3_column_text(s, 0);
        if (slot && audit_is_slot(slot) && audit_slot_number(slot) < n)
            used[audit_slot_number(slot)] = true;
    }
    int done = r == SQLITE_DONE ? 0 : db_error(h->db, err);
    sqlite3_reset(s);
    return done;
}

/* Of a gate that had only begun either a record is there, or the one that it began behind. */
static bool head_row_matches(const struct head_row *row, const struct chain_record *record)
{
    bool own = record->gate.p && strlen(row->gate) == record->gate.n &&
               memcmp(row->gate, record->gate.p, record->gate.n) == 0;
    bool same = memcmp(row->head.hash, record->hash.p, HASH_HEX) == 0;
    return row->head.seq == 0 ? own || same : own && same && row->head.seq == record->seq;
}

void audit_heads_match(struct head_rows *rows, const struct chain_record *record)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (head_row_matches(&rows->rows[i], record))
            rows->rows[i].found = true;
    }
}

void audit_heads_done(struct audit_heads *h)
{
    db_close(h->db);
    h->db = NULL;
}
