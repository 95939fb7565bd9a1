/* What calls cost: taken before they run, and given back where they used less. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gate/keeper_parts.h"

#define SETTLE_MS 20
#define SUMS_MS 1000
#define LAST_WAIT_MS 500

bool keeper_costs(void *self, const struct call *call)
{
    (void)self;
    return call->verdict.n_charges > 0 || call->approved;
}

/* --- settling what has ended */

static int settle_pending(struct keeper *k, struct err *err)
{
    for (const struct to_settle *s = k->to_settle; s; s = s->next) {
        if (counters_settle(k->db, &s->charge, s->used, err) < 0)
            return -1;
    }
    return 0;
}

static void forget_settled(struct keeper *k)
{
    for (struct to_settle *s; (s = k->to_settle);) {
        k->to_settle = s->next;
        free(s->charge.key);
        free(s);
    }
}

/* --- the pipeline's books. What was given back counts for those who come next. */

int keeper_open_books(void *self, struct err *err)
{
    struct keeper *k = self;
    int r = db_begin(k->db, 0, err);
    if (r == 0 && settle_pending(k, err) < 0) {
        db_rollback(k->db);
        return -1;
    }
    return r;
}

int keeper_close_books(void *self, struct err *err)
{
    struct keeper *k = self;
    if (db_commit(k->db, err) < 0)
        return -1;
    forget_settled(k);
    return 0;
}

static enum op_written written_by(const struct call *call)
{
    return call->op ? call->op->written : OP_WRITES_NOTHING;
}

static int64_t most_written(const struct call *call)
{
    switch (written_by(call)) {
    case OP_WRITES_CONTENT:
        return (int64_t)call->request_body.n;
    case OP_WRITES_CHANGE:
        return call->request.change.dry_run ? 0 : call->request.change.max_bytes;
    case OP_WRITES_NOTHING:
        break;
    }
    return 0;
}

/* The most that the call can use of a budget, as it is prepared. */
static int64_t most(const struct call *call, enum charge_unit unit)
{
    switch (unit) {
    case CHARGE_CALLS:
        return 1;
    case CHARGE_BYTES_WRITTEN:
        if (call->command)
            return config_int(call->workplace->config, "commands.diskWrites");
        return most_written(call);
    case CHARGE_MS:
        return call->deadline_ns == UINT64_MAX
                   ? INT64_MAX
                   : (int64_t)((call->deadline_ns - call->start_ns) / 1000000);
    default:
        return 0; /* no tool uses these */
    }
}

/* A limit that leaves less than the call could use becomes the call's own. */
static void hold_to(struct call *call, const struct charge *charge)
{
    if (charge->unit == CHARGE_MS) {
        uint64_t end = call->start_ns + (uint64_t)charge->amount * 1000000;
        if (end >= call->deadline_ns)
            return;
        call->deadline_ns = end;
        if (call->command)
            call->command->budget = charge->rule;
    } else if (charge->unit == CHARGE_BYTES_WRITTEN) {
        bool changes = written_by(call) == OP_WRITES_CHANGE;
        if (most(call, charge->unit) == 0)
            return;
        if (changes && charge->amount < call->request.change.max_bytes)
            call->request.change.max_bytes = charge->amount;
        if (!call->verdict.max_bytes || charge->amount < call->verdict.max_bytes)
            call->verdict.max_bytes = charge->amount;
    }
}

void keeper_restrain(void *self, struct call *call)
{
    (void)self;
    for (size_t i = 0; i < call->verdict.n_charges; i++)
        hold_to(call, &call->verdict.charges[i]);
}

/* What a call writes is known before; of all else it gets what is left. */
static bool takes_the_rest(const struct call *call, enum charge_unit unit)
{
    return unit == CHARGE_MS || (unit == CHARGE_BYTES_WRITTEN &&
                                 written_by(call) != OP_WRITES_CONTENT && most(call, unit) > 0);
}

static int set_amounts(struct keeper *k, struct call *call, struct err *err)
{
    struct verdict *v = &call->verdict;
    int64_t now = clock_unix_ms();
    for (size_t i = 0; i < v->n_charges; i++) {
        struct charge *charge = &v->charges[i];
        charge->amount = charge->window_ms ? 1 : most(call, charge->unit);
        if (charge->window_ms || charge->amount == 0 || !takes_the_rest(call, charge->unit))
            continue;
        struct charge one = *charge;
        int64_t used = 0;
        one.amount = 1;
        if (counters_look(k->db, &one, 1, now, &used, err) < 0)
            return -1;
        if (charge->amount > charge->limit - used)
            charge->amount = charge->limit - used;
    }
    return 0;
}

int keeper_look(struct keeper *k, struct call *call, struct err *err)
{
    struct verdict *v = &call->verdict;
    if (set_amounts(k, call, err) < 0)
        return -1;
    return v->n_charges ? counters_look(k->db, v->charges, v->n_charges, clock_unix_ms(), NULL, err)
                        : 0;
}

static int mark_books(struct keeper *k, const char *sql)
{
    return db_step(db_statement(k->db, sql)) == SQLITE_DONE ? 0 : -1;
}

static int charge_it(struct keeper *k, struct call *call, struct err *err)
{
    struct verdict *v = &call->verdict;
    if (call->approved) {
        char digest[HASH_HEX + 1];
        keeper_digest(k, call, digest);
        if (approvals_use(k->db, call->approval_id, digest, err) < 0)
            return -1;
    }
    if (set_amounts(k, call, err) < 0)
        return -1;
    return v->n_charges ? counters_take(k->db, v->charges, v->n_charges, clock_unix_ms(), err) : 0;
}

/* All of it or nothing, whatever becomes of the others of the turn. */
int keeper_charge(void *self, struct call *call, struct err *err)
{
    struct keeper *k = self;
    if (mark_books(k, "SAVEPOINT one_call") < 0)
        return db_error(k->db, err);
    if (charge_it(k, call, err) < 0) {
        if (mark_books(k, "ROLLBACK TO one_call") < 0 || mark_books(k, "RELEASE one_call") < 0)
            db_error(k->db, err);
        return -1;
    }
    if (mark_books(k, "RELEASE one_call") < 0)
        return db_error(k->db, err);
    keeper_restrain(k, call);
    return 0;
}

/* --- after a call */

bool keeper_files_refuse(const struct err *err)
{
    static const char *const reasons[] = {"secret", "protected", "other_path",
                                          "symlink_not_followed"};
    if (err->code == ERR_PATH_OUTSIDE_WORKSPACE || err->code == ERR_SYMLINK_OUTSIDE_WORKSPACE)
        return true;
    for (size_t i = 0; err->code == ERR_PERMISSION_DENIED && i < ARRAY_LEN(reasons); i++) {
        if (strcmp(err->reason, reasons[i]) == 0)
            return true;
    }
    return false;
}

/* Nothing of it ran: the rules for files stand before the first byte. */
static bool was_refused_for_files(const struct call *call)
{
    return call->failed && !call->cut_off && !(call->command && call->command->begun) &&
           keeper_files_refuse(&call->err);
}

static int64_t used_of(const struct call *call, const struct charge *charge)
{
    if (was_refused_for_files(call))
        return 0;
    if (charge->unit == CHARGE_MS)
        return (int64_t)((call->end_ns - call->start_ns + 999999) / 1000000);
    if (charge->unit != CHARGE_BYTES_WRITTEN)
        return charge->amount;
    /* What a command wrote, and what a call that was cut off did, is not known. Those that take nothing write
     * nothing. */
    if (call->command || call->cut_off || charge->amount == 0)
        return charge->amount;
    if (call->failed)
        return 0;
    return written_by(call) == OP_WRITES_CONTENT ? charge->amount : call->reply.change.bytes;
}

static void settle_some(struct keeper *k, int wait_ms)
{
    struct err err;
    if (!k->to_settle || db_begin(k->db, wait_ms, &err) != 0)
        return;
    if (settle_pending(k, &err) < 0)
        db_rollback(k->db);
    else if (db_commit(k->db, &err) == 0)
        forget_settled(k);
}

static void on_settle(uv_timer_t *timer)
{
    struct keeper *k = timer->data;
    settle_some(k, 0);
    if (k->to_settle)
        uv_timer_start(timer, on_settle, SETTLE_MS, 0);
}

/* What is lost here are numbers for whoever watches. */
static void add_stats_sums(struct keeper *k, int wait_ms)
{
    struct err ignored;
    struct stats *stats = k->options.stats;
    if (!stats || db_begin(k->db, wait_ms, &ignored) != 0)
        return;
    bool good = stats_flush(stats, k->db, &ignored) == 0 && db_commit(k->db, &ignored) == 0;
    if (!good)
        db_rollback(k->db);
    stats_flushed(stats, good);
}

static void on_sums(uv_timer_t *timer)
{
    add_stats_sums(timer->data, 0);
}

void keeper_sum_later(struct keeper *k)
{
    if (!uv_is_active((uv_handle_t *)&k->sums))
        uv_timer_start(&k->sums, on_sums, SUMS_MS, 0);
}

void keeper_settle_all(struct keeper *k)
{
    settle_some(k, LAST_WAIT_MS);
    add_stats_sums(k, LAST_WAIT_MS);
    forget_settled(k); /* what could not be given back stays counted */
}

void keeper_settle(void *self, struct call *call)
{
    struct keeper *k = self;
    for (size_t i = 0; i < call->verdict.n_charges; i++) {
        const struct charge *charge = &call->verdict.charges[i];
        if (charge->window_ms || used_of(call, charge) == charge->amount)
            continue;
        struct to_settle *s = mem_zero(sizeof *s);
        s->charge = *charge;
        s->charge.key = mem_dup(charge->key);
        s->used = used_of(call, charge);
        s->next = k->to_settle;
        k->to_settle = s;
    }
    if (k->to_settle && !uv_is_active((uv_handle_t *)&k->settle))
        uv_timer_start(&k->settle, on_settle, SETTLE_MS, 0);
}
