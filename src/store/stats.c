#include "store/stats.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

#define BUCKETS 256
/* Different sums; what comes after so many is counted under the tool `other`. */
#define SUMS_MAX 4096
#define LABELS_MAX 256

const int64_t stats_bounds_ms[STATS_BUCKETS] = {1,   2,   5,    10,   20,    50,     100,
                                                250, 500, 1000, 5000, 30000, 300000, INT64_MAX};

struct sum {
    struct sum *next;
    const char *name;
    int64_t value;   /* since the last flush */
    int64_t flushed; /* by the last flush; not yet known to stay */
    char labels[];
};

/* What the last call that went well was added to: most are followed by one of the same kind, and to find the sums takes
 * longer than to add. */
struct usual {
    const struct tool *tool;
    const struct dialect *dialect;
    struct sum *calls;
    struct sum *ms;
    struct sum *buckets[STATS_BUCKETS]; /* NULL: not found yet */
};

struct stats {
    pthread_mutex_t lock;      /* calls end on the loop, flushing is done elsewhere */
    struct sum *sums[BUCKETS]; /* none is ever removed */
    size_t n;
    struct usual usual;
};

struct stats *stats_new(void)
{
    struct stats *s = mem_zero(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void stats_free(struct stats *s)
{
    for (size_t i = 0; s && i < BUCKETS; i++) {
        for (struct sum *sum = s->sums[i]; sum;) {
            struct sum *next = sum->next;
            free(sum);
            sum = next;
        }
    }
    if (s)
        pthread_mutex_destroy(&s->lock);
    free(s);
}

static struct sum *find_sum(struct stats *s, const char *name, const char *labels)
{
    uint32_t hash = 2166136261u ^ (unsigned char)name[0];
    for (const char *c = labels; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    struct sum **at = &s->sums[hash % BUCKETS];
    while (*at && (strcmp((*at)->name, name) != 0 || strcmp((*at)->labels, labels) != 0))
        at = &(*at)->next;
    if (!*at) {
        size_t n = strlen(labels) + 1;
        *at = mem_zero(sizeof **at + n);
        (*at)->name = name;
        memcpy((*at)->labels, labels, n);
        s->n++;
    }
    return *at;
}

static void add_to(struct sum *sum, int64_t value)
{
    /* Far away, but a sum must not wrap. */
    if (__builtin_add_overflow(sum->value, value, &sum->value))
        sum->value = INT64_MAX;
}

static void add_stat(struct stats *s, const char *name, const char *labels, int64_t value)
{
    add_to(find_sum(s, name, labels), value);
}

/* One label, with what Prometheus wants escaped; cut where there is no room. */
static size_t put_label(char *out, size_t at, const char *name, const char *value)
{
    int n = snprintf(out + at, LABELS_MAX - at, "%s%s=\"", at ? "," : "", name);
    if (n < 0 || at + (size_t)n + 4 >= LABELS_MAX)
        return at;
    at += (size_t)n;
    for (; *value && at + 4 < LABELS_MAX; value++) {
        if (*value == '"' || *value == '\\' || *value == '\n')
            out[at++] = '\\';
        out[at++] = (char)(*value == '\n' ? 'n' : *value);
    }
    out[at++] = '"';
    out[at] = '\0';
    return at;
}

static void add_one_label(struct stats *s, const char *sum, const char *name, const char *value)
{
    char labels[LABELS_MAX];
    put_label(labels, 0, name, value);
    add_stat(s, sum, labels, 1);
}

static size_t duration_bucket_of(int64_t ms)
{
    size_t i = 0;
    while (ms > stats_bounds_ms[i])
        i++;
    return i;
}

static void add_duration_stat(struct stats *s, const char *tool, int64_t ms)
{
    char labels[LABELS_MAX];
    char bucket[8];
    size_t i = duration_bucket_of(ms);
    snprintf(bucket, sizeof bucket, "%02zu", i);
    size_t n = put_label(labels, 0, "tool", tool);
    s->usual.ms = find_sum(s, STAT_DURATION_MS, labels);
    add_to(s->usual.ms, ms);
    put_label(labels, n, "le", bucket);
    s->usual.buckets[i] = find_sum(s, STAT_DURATION, labels);
    add_to(s->usual.buckets[i], 1);
}

static void add_stat_bytes(struct stats *s, const struct call *call)
{
    if (call->failed || !call->op)
        return;
    if (call->op->writes)
        add_stat(s, STAT_BYTES, "direction=\"written\"", (int64_t)call->request_body.n);
    else
        add_stat(s, STAT_BYTES, "direction=\"read\"", (int64_t)call_body_bytes(call));
}

/* A command that was begun has something to tell of its end. */
static bool has_ended_command(const struct command *c)
{
    return c && (c->exit_code != ARG_ABSENT || c->signal != 0 || c->ended_by != COMMAND_EXIT);
}

/* False: it is another kind of call than the last one. */
static bool add_usual(struct stats *s, const struct call *call, int64_t ms)
{
    const struct usual *u = &s->usual;
    struct sum *bucket = u->buckets[duration_bucket_of(ms)];
    if (call->failed || !u->calls || !bucket || u->tool != call->tool ||
        u->dialect != call->dialect)
        return false;
    add_to(u->calls, 1);
    add_to(u->ms, ms);
    add_to(bucket, 1);
    return true;
}

static void add_call_stat(struct stats *s, const struct call *call, const struct err_row *row,
                          int64_t ms)
{
    char labels[LABELS_MAX];
    /* Names of tools that do not exist are the caller's; as many as it likes. */
    const char *tool = !call->tool ? "unknown" : s->n < SUMS_MAX ? call->tool->name : "other";
    size_t n = put_label(labels, 0, "tool", tool);
    n = put_label(labels, n, "dialect", call->dialect->name);
    put_label(labels, n, "code", row ? row->name : "ok");
    struct sum *calls = find_sum(s, STAT_CALLS, labels);
    add_to(calls, 1);
    if (s->usual.tool != call->tool || s->usual.dialect != call->dialect)
        s->usual = (struct usual){.tool = call->tool, .dialect = call->dialect};
    if (!row)
        s->usual.calls = calls;
    add_duration_stat(s, tool, ms);
}

void stats_call(struct stats *s, const struct call *call)
{
    if (!s)
        return;
    const struct err_row *row = call->failed ? err_row(call->err.code) : NULL;
    int64_t ms = call_duration_ms(call);
    pthread_mutex_lock(&s->lock);
    if (!add_usual(s, call, ms))
        add_call_stat(s, call, row, ms);
    add_stat_bytes(s, call);
    if (row && row->kind == KIND_POLICY)
        add_one_label(s, STAT_DENIALS, "reason",
                      call->err.reason[0] ? call->err.reason : row->name);
    if (has_ended_command(call->command))
        add_one_label(s, STAT_COMMANDS, "ended_by", command_end_names[call->command->ended_by]);
    pthread_mutex_unlock(&s->lock);
}

void stats_approval(struct stats *s, enum approval_state state)
{
    static const char *const words[] = {
        [APPROVAL_WAITING] = "asked",       [APPROVAL_APPROVED] = "approved",
        [APPROVAL_USED] = "used",           [APPROVAL_DENIED] = "denied",
        [APPROVAL_TIMED_OUT] = "timed_out", [APPROVAL_CANCELLED] = "cancelled",
        [APPROVAL_GONE] = "gone",
    };
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    add_one_label(s, STAT_APPROVALS, "event", words[state]);
    pthread_mutex_unlock(&s->lock);
}

/* --- the table */

static int add_row(struct db *db, const struct sum *sum, struct err *err)
{
    sqlite3_stmt *st = db_statement(
        db,
        "INSERT INTO stat (name, labels, value) VALUES (?1, ?2, ?3)"
        " ON CONFLICT (name, labels) DO UPDATE SET value ="
        " CASE WHEN value > 9223372036854775807 - ?3 THEN 9223372036854775807 ELSE value + ?3 END");
    sqlite3_bind_text(st, 1, sum->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, sum->labels, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 3, sum->flushed);
    int r = db_step(st) == SQLITE_DONE ? 0 : db_error(db, err);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return r;
}

/* Moves the values over, so that the database is not waited for with the lock held. */
static void take_sums(struct stats *s)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct sum *sum = s->sums[i]; sum; sum = sum->next) {
            sum->flushed = sum->value;
            sum->value = 0;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* Sums are never removed and come at the end of a list: the lists may be walked without the lock, as far as they
 * went when it was last held. */
static struct sum *head_of(struct stats *s, size_t i)
{
    pthread_mutex_lock(&s->lock);
    struct sum *head = s->sums[i];
    pthread_mutex_unlock(&s->lock);
    return head;
}

static struct sum *next_sum(struct stats *s, const struct sum *sum)
{
    pthread_mutex_lock(&s->lock);
    struct sum *next = sum->next;
    pthread_mutex_unlock(&s->lock);
    return next;
}

int stats_flush(struct stats *s, struct db *db, struct err *err)
{
    if (!s)
        return 0;
    take_sums(s);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct sum *sum = head_of(s, i); sum; sum = next_sum(s, sum)) {
            if (sum->flushed && add_row(db, sum, err) < 0) {
                stats_flushed(s, false);
                return -1;
            }
        }
    }
    return 0;
}

void stats_flushed(struct stats *s, bool committed)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct sum *sum = s->sums[i]; sum; sum = sum->next) {
            if (!committed && __builtin_add_overflow(sum->value, sum->flushed, &sum->value))
                sum->value = INT64_MAX;
            sum->flushed = 0;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

static const char *text_at(sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text(st, column);
    return text ? text : "";
}

int stats_each(struct db *db,
               int (*visit)(void *arg, const char *name, const char *labels, int64_t value),
               void *arg, struct err *err)
{
    sqlite3_stmt *st = db_statement(db,
                                    "SELECT name, labels, value FROM stat ORDER BY name, labels");
    int r;
    while ((r = db_step(st)) == SQLITE_ROW) {
        if (visit(arg, text_at(st, 0), text_at(st, 1), sqlite3_column_int64(st, 2)) != 0)
            break;
    }
    int result = r == SQLITE_ROW || r == SQLITE_DONE ? 0 : db_error(db, err);
    sqlite3_reset(st);
    return result;
}

int stats_each_counter(struct db *db,
                       int (*visit)(void *arg, bool budget, const char *key, int64_t value,
                                    int64_t since_ms),
                       void *arg, struct err *err)
{
    sqlite3_stmt *st = db_statement(db, "SELECT 1, key, spent, since_ms FROM budget UNION ALL"
                                        " SELECT 0, key, n, 0 FROM rate_key ORDER BY 1, 2");
    int r;
    while ((r = db_step(st)) == SQLITE_ROW) {
        if (visit(arg, sqlite3_column_int64(st, 0) != 0, text_at(st, 1),
                  sqlite3_column_int64(st, 2), sqlite3_column_int64(st, 3)) != 0)
            break;
    }
    int result = r == SQLITE_ROW || r == SQLITE_DONE ? 0 : db_error(db, err);
    sqlite3_reset(st);
    return result;
}
