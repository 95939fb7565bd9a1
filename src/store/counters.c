#include "store/counters.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)
/* The year 9999; what is beyond is no time of a call. */
#define LAST_MS INT64_C(253402300799999)
/* How many rows that are not needed any more one call removes at most. */
#define REMOVE_MAX 64
/* How many counters a new one makes us look at, whether they can be forgotten. */
#define FORGET_LOOK 8

/* --- times */

static int64_t floor_to(int64_t value, int64_t step)
{
    int64_t rest = value % step;
    return value - (rest < 0 ? rest + step : rest);
}

static int64_t first_of_month(int64_t midnight_ms)
{
    char text[CLOCK_TEXT_MAX]; /* 2024-05-01T… */
    clock_format_utc(midnight_ms, text);
    return midnight_ms - ((text[8] - '0') * 10 + text[9] - '0' - 1) * DAY_MS;
}

void period_around(enum charge_period period, int64_t now_ms, int64_t *ret_since_ms,
                   int64_t *ret_next_ms)
{
    if (now_ms > LAST_MS || now_ms < -LAST_MS)
        now_ms = now_ms < 0 ? -LAST_MS : LAST_MS;
    int64_t midnight = floor_to(now_ms, DAY_MS);
    switch (period) {
    case PERIOD_WEEKLY:
        /* 1970 began on a Thursday. */
        *ret_since_ms = floor_to(midnight + 3 * DAY_MS, 7 * DAY_MS) - 3 * DAY_MS;
        *ret_next_ms = *ret_since_ms + 7 * DAY_MS;
        break;
    case PERIOD_MONTHLY:
        *ret_since_ms = first_of_month(midnight);
        /* 31 days behind the first of a month it is always the next one. */
        *ret_next_ms = first_of_month(*ret_since_ms + 31 * DAY_MS);
        break;
    default:
        *ret_since_ms = midnight;
        *ret_next_ms = midnight + DAY_MS;
    }
}

/* A limit can be as large as a number gets. */
static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static void utc(int64_t ms, char out[CLOCK_TEXT_MAX])
{
    clock_format_utc(ms, out);
    char *rest = strchr(out, '.');
    if (rest && ms % 1000 == 0)
        snprintf(rest, 2, "Z");
}

/* --- messages */

static const char *const unit_words[] = {
    [CHARGE_CALLS] = "calls",
    [CHARGE_BYTES_WRITTEN] = "bytes written",
    [CHARGE_MS] = "seconds",
    [CHARGE_NETWORK_BYTES] = "network bytes",
    [CHARGE_MODEL_TOKENS] = "model tokens",
    [CHARGE_MONEY] = "of money",
};

/* As the configuration has it: seconds, not their thousandths. */
static void amount_text(enum charge_unit unit, int64_t amount, char out[32])
{
    int64_t part = unit == CHARGE_MS ? 1000 : unit == CHARGE_MONEY ? 1000000 : 1;
    int digits = unit == CHARGE_MS ? 3 : 6;
    int n = snprintf(out, 32, "%lld", (long long)(amount / part));
    if (amount % part == 0)
        return;
    n += snprintf(out + n, 32 - (size_t)n, ".%0*lld", digits, (long long)(amount % part));
    while (out[n - 1] == '0')
        out[--n] = '\0';
}

static void window_text(int64_t ms, char out[32])
{
    if (ms % 1000 == 0)
        snprintf(out, 32, "%lld s", (long long)ms / 1000);
    else
        snprintf(out, 32, "%lld ms", (long long)ms);
}

/* A charge that does not fit. */
struct refusal {
    const struct charge *charge;
    int64_t used;
    int64_t again_ms; /* when it would fit, if nothing else is taken; INT64_MAX: never */
};

static int refuse_rate(const struct refusal *r, int64_t now_ms, struct err *err)
{
    char window[32];
    window_text(r->charge->window_ms, window);
    if (r->again_ms == INT64_MAX) {
        err_set(err, ERR_RATE_LIMITED, "the rule %.200s allows no calls", r->charge->rule);
        return err_reason(err, "rate_limit");
    }
    err_set(err, ERR_RATE_LIMITED,
            "the rule %.200s allows %lld calls in %s and that many were made: try again in %lld ms",
            r->charge->rule, (long long)r->charge->limit, window,
            (long long)add_saturated(r->again_ms, -now_ms));
    err->retry_after_ms = add_saturated(r->again_ms, -now_ms);
    return err_reason(err, "rate_limit");
}

static int refuse_budget_charge(const struct refusal *r, int64_t now_ms, struct err *err)
{
    const struct charge *c = r->charge;
    char limit[32];
    char used[32];
    char need[32];
    char when[CLOCK_TEXT_MAX];
    amount_text(c->unit, c->limit, limit);
    amount_text(c->unit, r->used, used);
    amount_text(c->unit, c->amount, need);
    if (r->again_ms == INT64_MAX) {
        err_set(err, ERR_BUDGET_EXCEEDED,
                "the rule %.200s allows %s %s %s and this call may use %s, more than it can ever "
                "have: make it smaller",
                c->rule, limit, unit_words[c->unit], charge_period_names[c->period], need);
        return err_reason(err, "budget_too_small");
    }
    utc(r->again_ms, when);
    bool one = r->used >= c->limit || c->unit == CHARGE_CALLS;
    err_set(err, ERR_BUDGET_EXCEEDED,
            "the rule %.200s allows %s %s %s and %s are used%s%s: it starts anew at %s", c->rule,
            limit, unit_words[c->unit], charge_period_names[c->period], used,
            one ? "" : ", this call may use ", one ? "" : need, when);
    err->retry_after_ms = add_saturated(r->again_ms, -now_ms);
    return err_reason(err, "budget_used");
}

/* --- reading */

/* 1: `values` holds the row's columns; 0: there is no row. */
static int read_counter_row(struct db *db, sqlite3_stmt *s, int64_t *values, int n, struct err *err)
{
    int r = db_step(s);
    if (r != SQLITE_ROW && r != SQLITE_DONE)
        return db_error(db, err);
    for (int i = 0; r == SQLITE_ROW && i < n; i++)
        values[i] = sqlite3_column_int64(s, i);
    sqlite3_reset(s);
    return r == SQLITE_ROW;
}

/* The time to count with: never before one that was counted with. */
static int find_now(struct db *db, int64_t now_ms, int64_t *ret_now, struct err *err)
{
    int64_t seen = 0;
    int r = read_counter_row(db, db_statement(db, "SELECT seen_ms FROM clock"), &seen, 1, err);
    if (r <= 0)
        return r < 0 ? -1 : db_damaged(err);
    *ret_now = seen > now_ms ? seen : now_ms;
    if (seen <= add_saturated(now_ms, CLOCK_SLACK_MS))
        return 0;
    char is[CLOCK_TEXT_MAX];
    char was[CLOCK_TEXT_MAX];
    utc(now_ms, is);
    utc(seen, was);
    err_set(err, ERR_POLICY_DENIED,
            "the clock says %s, but calls were counted at %s already, so no limit can be kept: set "
            "the clock right, or forget what was counted with `sandgate policy reset`",
            is, was);
    return err_reason(err, "clock_went_back");
}

/* When call number `n` was let through. 1; 0: it is not known any more; -1. */
static int find_rate_call(struct db *db, int64_t key, int64_t n, int64_t *ret_at, struct err *err)
{
    sqlite3_stmt *s = db_statement(db, "SELECT at_ms FROM rate_call WHERE key = ? AND n = ?");
    sqlite3_bind_int64(s, 1, key);
    sqlite3_bind_int64(s, 2, n);
    return read_counter_row(db, s, ret_at, 1, err);
}

/* How many of the calls are within the window: their times never go down, so half of the rest is left each time. */
static int count_rate(struct db *db, const struct charge *c, int64_t key, int64_t n, int64_t now,
                      int64_t *ret, struct err *err)
{
    int64_t outside = 0;
    int64_t inside = n + 1;
    while (inside - outside > 1) {
        int64_t at = 0;
        int64_t middle = outside + (inside - outside) / 2;
        int r = find_rate_call(db, key, middle, &at, err);
        if (r < 0)
            return -1;
        if (r > 0 && add_saturated(at, c->window_ms) > now)
            inside = middle;
        else
            outside = middle;
    }
    *ret = n + 1 - inside;
    return 0;
}

/* `before`: how many calls the same call takes from the same counter before. */
static int check_rate_charge(struct db *db, const struct charge *c, int64_t before, int64_t now,
                             struct refusal *ret, int64_t *used, struct err *err)
{
    int64_t row[2] = {0}; /* id, n */
    sqlite3_stmt *s = db_statement(db, "SELECT id, n FROM rate_key WHERE key = ?");
    sqlite3_bind_text(s, 1, c->key, -1, SQLITE_STATIC);
    if (read_counter_row(db, s, row, 2, err) < 0)
        return -1;
    if (row[1] < 0 || row[1] > INT64_MAX / 2)
        return db_damaged(err);
    if (used && count_rate(db, c, row[0], row[1], now, used, err) < 0)
        return -1;
    *ret = (struct refusal){.charge = c, .again_ms = now};
    if (before >= c->limit) {
        ret->again_ms = INT64_MAX;
        return 0;
    }
    /* The last one of which there may be no more within the window. */
    int64_t number = row[1] + before - c->limit + 1;
    int64_t at = 0;
    int r = number < 1 ? 0 : find_rate_call(db, row[0], number, &at, err);
    if (r > 0)
        ret->again_ms = add_saturated(at, c->window_ms);
    return r < 0 ? -1 : 0;
}

/* `before`: what the same call takes from the same budget before. */
static int check_budget(struct db *db, const struct charge *c, int64_t before, int64_t now,
                        struct refusal *ret, int64_t *used, struct err *err)
{
    int64_t row[2] = {0}; /* since_ms, spent */
    int64_t since;
    int64_t next;
    sqlite3_stmt *s = db_statement(db, "SELECT since_ms, spent FROM budget WHERE key = ?");
    sqlite3_bind_text(s, 1, c->key, -1, SQLITE_STATIC);
    int r = read_counter_row(db, s, row, 2, err);
    if (r < 0)
        return -1;
    if (row[1] < 0)
        return db_damaged(err);
    period_around(c->period, now, &since, &next);
    int64_t spent = r > 0 && row[0] >= since ? row[1] : 0;
    if (used)
        *used = spent;
    int64_t amount = add_saturated(before, c->amount);
    *ret = (struct refusal){.charge = c, .used = spent, .again_ms = now};
    /* Not `spent + amount`, which may be more than a number can be. */
    if (spent > c->limit || amount > c->limit - spent)
        ret->again_ms = amount > c->limit ? INT64_MAX : next;
    return 0;
}

static int64_t taken_before(const struct charge *charges, size_t i)
{
    int64_t sum = 0;
    for (size_t k = 0; k < i; k++) {
        if (!charges[k].window_ms == !charges[i].window_ms &&
            strcmp(charges[k].key, charges[i].key) == 0)
            sum = add_saturated(sum, charges[i].window_ms ? 1 : charges[k].amount);
    }
    return sum;
}

/* All of them are looked at: what is worth a try is when the last one fits. */
static int check_charges(struct db *db, const struct charge *charges, size_t n, int64_t now_ms,
                         int64_t *ret_now, int64_t *used, struct err *err)
{
    struct refusal worst = {0};
    int64_t now = 0;
    if (find_now(db, now_ms, &now, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct refusal r = {0};
        int64_t before = taken_before(charges, i);
        if (charges[i].amount < 0)
            return err_set(err, ERR_INTERNAL, "%.200s: less than nothing", charges[i].rule);
        if ((charges[i].window_ms ? check_rate_charge : check_budget)(
                db, &charges[i], before, now, &r, used ? &used[i] : NULL, err) < 0)
            return -1;
        if (r.again_ms > now && (!worst.charge || r.again_ms > worst.again_ms))
            worst = r;
    }
    *ret_now = now;
    if (!worst.charge)
        return 0;
    return (worst.charge->window_ms ? refuse_rate : refuse_budget_charge)(&worst, now_ms, err);
}

/* --- writing */

static int run_counter_step(struct db *db, sqlite3_stmt *s, struct err *err)
{
    return db_step(s) == SQLITE_DONE ? 0 : db_error(db, err);
}

/* Of a few counters at a random place, those are removed that start anew anyway: names of sessions come and go. */
static int forget_budgets(struct db *db, int64_t now, struct err *err)
{
    uint32_t place;
    sqlite3_randomness(sizeof place, &place);
    sqlite3_stmt *s = db_statement(
        db, "DELETE FROM budget WHERE until_ms <= ?1 AND id IN (SELECT id FROM budget WHERE id >= "
            "?2 % (SELECT max(id) + 1 FROM budget) ORDER BY id LIMIT ?3)");
    sqlite3_bind_int64(s, 1, now);
    sqlite3_bind_int64(s, 2, place);
    sqlite3_bind_int64(s, 3, FORGET_LOOK);
    return run_counter_step(db, s, err);
}

/* The oldest calls of a counter up to number `last`, not all at once: there may be as many as an old limit was. */
static int remove_calls(struct db *db, int64_t key, int64_t last, struct err *err)
{
    sqlite3_stmt *s = db_statement(
        db,
        "DELETE FROM rate_call WHERE key = ?1 AND n <= ?2 AND n < ?3 + (SELECT n FROM rate_call "
        "WHERE key = ?1 ORDER BY n LIMIT 1)");
    sqlite3_bind_int64(s, 1, key);
    sqlite3_bind_int64(s, 2, last);
    sqlite3_bind_int64(s, 3, REMOVE_MAX);
    return run_counter_step(db, s, err);
}

static int forget_rate(struct db *db, int64_t now, struct err *err)
{
    uint32_t place;
    int64_t id = 0;
    sqlite3_randomness(sizeof place, &place);
    sqlite3_stmt *s = db_statement(
        db,
        "SELECT id FROM (SELECT id, until_ms FROM rate_key WHERE id >= ?2 % (SELECT max(id) + 1 "
        "FROM rate_key) ORDER BY id LIMIT ?3) WHERE until_ms <= ?1 LIMIT 1");
    sqlite3_bind_int64(s, 1, now);
    sqlite3_bind_int64(s, 2, place);
    sqlite3_bind_int64(s, 3, FORGET_LOOK);
    int r = read_counter_row(db, s, &id, 1, err);
    if (r <= 0)
        return r;
    if (remove_calls(db, id, INT64_MAX, err) < 0)
        return -1;
    s = db_statement(db, "DELETE FROM rate_key WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM "
                         "rate_call WHERE key = ?1)");
    sqlite3_bind_int64(s, 1, id);
    return run_counter_step(db, s, err);
}

static int take_rate(struct db *db, const struct charge *c, int64_t now, struct err *err)
{
    int64_t row[2] = {0}; /* id, n */
    sqlite3_stmt *s = db_statement(
        db,
        "INSERT INTO rate_key (key, n, until_ms) VALUES (?1, 1, ?2) ON CONFLICT (key) DO UPDATE "
        "SET n = n + 1, until_ms = max(until_ms, ?2) RETURNING id, n");
    sqlite3_bind_text(s, 1, c->key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, add_saturated(now, c->window_ms));
    int r = read_counter_row(db, s, row, 2, err);
    if (r <= 0)
        return r < 0 ? -1 : db_damaged(err);
    s = db_statement(db, "INSERT INTO rate_call (key, n, at_ms) VALUES (?, ?, ?)");
    sqlite3_bind_int64(s, 1, row[0]);
    sqlite3_bind_int64(s, 2, row[1]);
    sqlite3_bind_int64(s, 3, now);
    if (run_counter_step(db, s, err) < 0)
        return -1;
    if (row[1] > c->limit && remove_calls(db, row[0], row[1] - c->limit, err) < 0)
        return -1;
    /* Two for each new one, so that they become fewer. */
    if (row[1] == 1)
        return forget_rate(db, now, err) < 0 ? -1 : forget_rate(db, now, err);
    return 0;
}

static int take_budget(struct db *db, struct charge *c, int64_t now, struct err *err)
{
    int64_t spent = 0;
    int64_t since;
    int64_t next;
    period_around(c->period, now, &since, &next);
    sqlite3_stmt *s = db_statement(
        db,
        "INSERT INTO budget (key, since_ms, until_ms, spent) VALUES (?1, ?2, ?3, ?4) ON "
        "CONFLICT (key) DO UPDATE SET spent = ?4 + CASE WHEN since_ms < ?2 THEN 0 ELSE spent END, "
        "since_ms = ?2, until_ms = ?3 RETURNING spent");
    sqlite3_bind_text(s, 1, c->key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, since);
    sqlite3_bind_int64(s, 3, next);
    sqlite3_bind_int64(s, 4, c->amount);
    int r = read_counter_row(db, s, &spent, 1, err);
    if (r <= 0)
        return r < 0 ? -1 : db_damaged(err);
    c->since_ms = since;
    return spent == c->amount ? forget_budgets(db, now, err) : 0;
}

static int take_charges(struct db *db, struct charge *charges, size_t n, int64_t now,
                        struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if ((charges[i].window_ms ? take_rate(db, &charges[i], now, err)
                                  : take_budget(db, &charges[i], now, err)) < 0)
            return -1;
    }
    sqlite3_stmt *s = db_statement(db, "UPDATE clock SET seen_ms = ?1 WHERE seen_ms < ?1");
    sqlite3_bind_int64(s, 1, now);
    return run_counter_step(db, s, err);
}

int counters_take(struct db *db, struct charge *charges, size_t n, int64_t now_ms, struct err *err)
{
    int64_t now = 0;
    if (n == 0)
        return 0;
    if (db_need_transaction(db, err) < 0 ||
        check_charges(db, charges, n, now_ms, &now, NULL, err) < 0)
        return -1;
    if (take_charges(db, charges, n, now, err) == 0)
        return 0;
    db_rollback(db);
    return -1;
}

int counters_look(struct db *db, const struct charge *charges, size_t n, int64_t now_ms,
                  int64_t *used, struct err *err)
{
    int64_t now = 0;
    for (size_t i = 0; used && i < n; i++)
        used[i] = 0;
    return n == 0 ? 0 : check_charges(db, charges, n, now_ms, &now, used, err);
}

/* What is given back to a period that is over is of no use; what was used beyond still counts. */
int counters_settle(struct db *db, const struct charge *charge, int64_t used, struct err *err)
{
    if (charge->window_ms || used == charge->amount)
        return 0;
    if (db_need_transaction(db, err) < 0)
        return -1;
    int64_t row[2] = {0}; /* since_ms, spent */
    sqlite3_stmt *s = db_statement(db, "SELECT since_ms, spent FROM budget WHERE key = ?");
    sqlite3_bind_text(s, 1, charge->key, -1, SQLITE_STATIC);
    int r = read_counter_row(db, s, row, 2, err);
    int64_t change = (used < 0 ? 0 : used) - charge->amount;
    if (r <= 0 || (change < 0 && row[0] != charge->since_ms))
        return r < 0 ? -1 : 0;
    int64_t spent = add_saturated(row[1], change);
    s = db_statement(db, "UPDATE budget SET spent = ? WHERE key = ?");
    sqlite3_bind_int64(s, 1, spent < 0 ? 0 : spent);
    sqlite3_bind_text(s, 2, charge->key, -1, SQLITE_STATIC);
    if (run_counter_step(db, s, err) == 0)
        return 0;
    db_rollback(db);
    return -1;
}

int counters_reset(struct db *db, struct err *err)
{
    static const char *const all[] = {"DELETE FROM rate_call", "DELETE FROM rate_key",
                                      "DELETE FROM budget", "UPDATE clock SET seen_ms = 0"};
    if (db_begin(db, DB_WAIT_MS, err) != 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (run_counter_step(db, db_statement(db, all[i]), err) < 0) {
            db_rollback(db);
            return -1;
        }
    }
    return db_commit(db, err);
}
