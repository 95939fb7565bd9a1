#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "random.h"
#include "store/approvals.h"
#include "store/owner.h"
#include "store_parts.h"

static struct db *db;
static const struct approval_decision YES = {.yes = true, .by = "alice on /dev/pts/3"};
static const struct approval_decision NO = {.yes = false, .by = "bob by sandgate approve"};

static int set_up(void **state)
{
    if (folder_set_up(state) < 0)
        return -1;
    db = store_open();
    return 0;
}

static int tear_down(void **state)
{
    db_close(db);
    return folder_tear_down(state);
}

static struct approval new_approval(void)
{
    int64_t now = clock_unix_ms();
    return (struct approval){.gate = "gate-1",
                             .call = "call-1",
                             .tool = "bash",
                             .dialect = "system",
                             .session = "",
                             .digest = "d1",
                             .rule = "approval.rules[3]",
                             .summary = "rm -r \xc3\xbc'; DROP TABLE approval; --",
                             .detail = "",
                             .asked_ms = now,
                             .expires_ms = now + 300000};
}

static int ask_in(struct db *in, char id[APPROVAL_ID_MAX])
{
    struct err err = {0};
    struct approval a = new_approval();
    int r = approvals_ask(in, &a, &err);
    memcpy(id, a.id, APPROVAL_ID_MAX);
    if (r < 0)
        fprintf(stderr, "%s\n", err.message);
    return r;
}

static void ask(char id[APPROVAL_ID_MAX])
{
    assert_int_equal(ask_in(db, id), 0);
}

static enum approval_state state_of(const char *id)
{
    struct err err = {0};
    struct approval a;
    if (approvals_get(db, id, &a, &err) < 0)
        fail_msg("%s", err.message);
    enum approval_state state = a.state;
    approval_done(&a);
    return state;
}

static void assert_decided(const char *id, const struct approval_decision *decision)
{
    struct err err = {0};
    if (approvals_decide(db, id, decision, &err) < 0)
        fail_msg("%s", err.message);
}

/* Nothing is left open either. */
static void assert_refused(const char *id, enum err_code code, const char *words)
{
    struct err err = {0};
    struct err none;
    assert_int_equal(approvals_decide(db, id, &YES, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.message, words))
        fail_msg("%s", err.message);
    assert_int_equal(db_need_transaction(db, &none), -1);
}

static int use(const char *id, const char *digest, struct err *err)
{
    *err = (struct err){0};
    store_begin(db);
    int r = approvals_use(db, id, digest, err);
    store_commit(db);
    return r;
}

static void assert_not_used(const char *id, const char *digest, const char *words)
{
    struct err err;
    assert_int_equal(use(id, digest, &err), -1);
    assert_int_equal(err.code, ERR_APPROVAL_DENIED);
    assert_non_null(strstr(err.message, words));
}

/* --- one call */

static void same(const char *a, const char *b)
{
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_true(a == b);
}

static void what_is_asked_is_what_is_read(void **state)
{
    (void)state;
    struct err err;
    struct approval a = new_approval();
    char *detail = mem_zero(200001);
    memset(detail, 'd', 200000);
    a.detail = detail;
    a.caller_id = "toolu_1";
    a.workspace = "/home/alice/\xff\xfe";
    a.proposal = "{\"toolName\":\"bash\"}";
    for (int i = 0; i < 2; i++) {
        struct approval b;
        assert_int_equal(approvals_ask(db, &a, &err), 0);
        assert_int_equal(approvals_get(db, a.id, &b, &err), 0);
        assert_string_equal(a.id, b.id);
        same(a.gate, b.gate);
        same(a.call, b.call);
        same(a.caller_id, b.caller_id);
        same(a.tool, b.tool);
        same(a.dialect, b.dialect);
        same(a.agent, b.agent);
        same(a.session, b.session);
        same(a.workspace, b.workspace);
        same(a.digest, b.digest);
        same(a.rule, b.rule);
        same(a.summary, b.summary);
        same(a.detail, b.detail);
        same(a.proposal, b.proposal);
        same(NULL, b.decided_by);
        assert_int_equal(a.asked_ms, b.asked_ms);
        assert_int_equal(a.expires_ms, b.expires_ms);
        assert_int_equal(b.state, APPROVAL_WAITING);
        approval_done(&b);
        approval_done(&b);
        a.agent = "researcher";
        a.caller_id = a.workspace = a.proposal = NULL;
        a.detail = "";
    }
    free(detail);
}

static void ids_are_short_and_easily_told_apart(void **state)
{
    (void)state;
    char last[APPROVAL_ID_MAX] = "";
    for (int i = 0; i < 50; i++) {
        char id[APPROVAL_ID_MAX];
        ask(id);
        assert_int_equal(strlen(id), 8);
        assert_int_equal(strspn(id, "abcdefghijkmnpqrstuvwxyz23456789"), 8);
        assert_string_not_equal(id, last);
        memcpy(last, id, sizeof last);
    }
}

static void a_yes_is_good_once(void **state)
{
    (void)state;
    struct err err;
    char id[APPROVAL_ID_MAX];
    ask(id);
    assert_not_used(id, "d1", "still waits");
    struct approval_decision always = {true, APPROVE_ALWAYS, "alice on /dev/pts/3"};
    assert_decided(id, &always);
    struct approval a;
    assert_int_equal(approvals_get(db, id, &a, &err), 0);
    assert_int_equal(a.state, APPROVAL_APPROVED);
    assert_int_equal(a.scope, APPROVE_ALWAYS);
    assert_string_equal(a.decided_by, "alice on /dev/pts/3");
    assert_in_range(a.decided_ms, a.asked_ms, clock_unix_ms());
    approval_done(&a);
    assert_int_equal(use(id, "d1", &err), 0);
    assert_int_equal(state_of(id), APPROVAL_USED);
    assert_not_used(id, "d1", "used already");
}

static void a_yes_is_good_for_its_digest_alone(void **state)
{
    (void)state;
    struct err err;
    char id[APPROVAL_ID_MAX];
    ask(id);
    assert_decided(id, &YES);
    assert_not_used(id, "d2", "other arguments");
    assert_not_used(id, "D1", "other arguments");
    assert_not_used(id, "d1 ", "other arguments");
    assert_not_used(id, "", "other arguments");
    assert_not_used("nosuchid", "d1", "nobody was asked");
    assert_int_equal(state_of(id), APPROVAL_APPROVED);
    assert_int_equal(use(id, "d1", &err), 0);
}

static void a_use_that_is_rolled_back_was_none(void **state)
{
    (void)state;
    struct err err = {0};
    char id[APPROVAL_ID_MAX];
    ask(id);
    assert_decided(id, &YES);
    assert_int_equal(approvals_use(db, id, "d1", &err), -1);
    assert_int_equal(err.code, ERR_INTERNAL); /* not within a transaction */
    store_begin(db);
    assert_int_equal(approvals_use(db, id, "d1", &err), 0);
    db_rollback(db);
    assert_int_equal(state_of(id), APPROVAL_APPROVED);
    assert_int_equal(use(id, "d1", &err), 0);
}

static void what_is_decided_stays(void **state)
{
    (void)state;
    struct err err;
    char id[APPROVAL_ID_MAX];
    ask(id);
    assert_decided(id, &NO);
    assert_refused(id, ERR_CONFLICT, "was denied already by bob by sandgate approve");
    assert_not_used(id, "d1", "denied");
    assert_int_equal(approvals_end(db, id, APPROVAL_TIMED_OUT, &err), 0);
    assert_int_equal(state_of(id), APPROVAL_DENIED);
    ask(id);
    assert_decided(id, &YES);
    assert_refused(id, ERR_CONFLICT, "was approved already by alice on /dev/pts/3");
    assert_int_equal(approvals_end(db, id, APPROVAL_CANCELLED, &err), 0);
    assert_int_equal(state_of(id), APPROVAL_APPROVED);
    assert_int_equal(use(id, "d1", &err), 0);
    assert_refused(id, ERR_CONFLICT, "has been let through");
    ask(id);
    assert_int_equal(approvals_end(db, id, APPROVAL_TIMED_OUT, &err), 1);
    assert_int_equal(approvals_end(db, id, APPROVAL_TIMED_OUT, &err), 0);
    assert_refused(id, ERR_CONFLICT, "waited too long");
    assert_not_used(id, "d1", "does not wait any more");
    ask(id);
    assert_int_equal(approvals_end(db, id, APPROVAL_CANCELLED, &err), 1);
    assert_refused(id, ERR_CONFLICT, "cancelled");
    assert_int_equal(approvals_end(db, "nosuchid", APPROVAL_CANCELLED, &err), 0);
}

static void unknown_ids_are_refused_politely(void **state)
{
    (void)state;
    struct err err;
    struct approval a;
    assert_refused("abcd2345", ERR_NOT_FOUND,
                   "no call waits under the id abcd2345; `sandgate approvals` lists");
    assert_refused("", ERR_NOT_FOUND, "no call waits");
    assert_refused("\033[2J", ERR_NOT_FOUND, "no call waits under such an id;");
    assert_refused("a%s%n", ERR_NOT_FOUND, "such an id");
    assert_refused("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ERR_NOT_FOUND, "such an id");
    assert_int_equal(approvals_get(db, "abcd2345", &a, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void too_late_is_too_late(void **state)
{
    (void)state;
    struct err err;
    struct approval a = new_approval();
    a.expires_ms = clock_unix_ms() - 1;
    assert_int_equal(approvals_ask(db, &a, &err), 0);
    assert_refused(a.id, ERR_CONFLICT, "its time was over");
    assert_int_equal(state_of(a.id), APPROVAL_WAITING);
}

/* --- gates that died */

static int ask_and_die(void *arg)
{
    char *id = arg;
    struct db *own;
    struct err err;
    if (db_open(&own, folder_fd, false, &err) < 0 || ask_in(own, id) < 0)
        return 1;
    FILE *f = fopen("id", "w");
    if (!f || fputs(id, f) < 0 || fclose(f) != 0)
        return 2;
    kill(getpid(), SIGKILL);
    return 3;
}

static void read_id(char id[APPROVAL_ID_MAX])
{
    FILE *f = fopen("id", "r");
    assert_non_null(f);
    assert_non_null(fgets(id, APPROVAL_ID_MAX, f));
    fclose(f);
}

struct seen {
    size_t n;
    char ids[2000][APPROVAL_ID_MAX];
    size_t stop;
};

static int note(void *arg, const struct approval *approval)
{
    struct seen *seen = arg;
    memcpy(seen->ids[seen->n++], approval->id, APPROVAL_ID_MAX);
    return seen->n == seen->stop ? -1 : 0;
}

static struct seen list(bool waiting)
{
    struct err err = {0};
    static struct seen seen;
    seen.n = seen.stop = 0;
    if (approvals_each(db, waiting, note, &seen, &err) < 0)
        fail_msg("%s", err.message);
    return seen;
}

static void nobody_says_yes_to_a_dead_gate(void **state)
{
    (void)state;
    char id[APPROVAL_ID_MAX];
    char own[APPROVAL_ID_MAX];
    ask(own);
    assert_int_equal(store_wait(store_fork(ask_and_die, id)), -SIGKILL);
    read_id(id);
    assert_refused(id, ERR_CONFLICT, "its gate is gone");
    assert_int_equal(state_of(id), APPROVAL_WAITING);
    struct seen seen = list(true);
    assert_int_equal(seen.n, 1);
    assert_string_equal(seen.ids[0], own);
    assert_int_equal(state_of(id), APPROVAL_GONE);
    assert_refused(id, ERR_CONFLICT, "its gate is gone");
    seen = list(false);
    assert_int_equal(seen.n, 2);
}

/* A dead process that its parent has not waited for is still in /proc. */
static void a_zombie_is_dead(void **state)
{
    (void)state;
    char id[APPROVAL_ID_MAX];
    siginfo_t info;
    pid_t pid = store_fork(ask_and_die, id);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    read_id(id);
    assert_refused(id, ERR_CONFLICT, "its gate is gone");
    assert_int_equal(store_wait(pid), -SIGKILL);
}

static void owners_are_told_apart(void **state)
{
    (void)state;
    char self[OWNER_MAX];
    char other[OWNER_MAX + 32];
    long long pid;
    unsigned long long started;
    unsigned long long space;
    char boot[64];
    assert_int_equal(owner_self(self), 0);
    assert_true(owner_lives(self, self));
    assert_int_equal(sscanf(self, "%lld %llu %63s %llu", &pid, &started, boot, &space), 4);
    assert_int_equal(pid, getpid());
    snprintf(other, sizeof other, "%lld %llu %s %llu", pid, started + 1, boot, space);
    assert_false(owner_lives(self, other)); /* the number was given to another process */
    snprintf(other, sizeof other, "%lld %llu %s %llu", pid, started, "another-boot", space);
    assert_false(owner_lives(self, other));
    snprintf(other, sizeof other, "%lld %llu %s %llu", pid, started + 1, boot, space + 1);
    assert_true(owner_lives(self, other)); /* in another namespace: nobody can tell */
    snprintf(other, sizeof other, "%lld %llu %s %llu", 4194305LL, started, boot, space);
    assert_false(owner_lives(self, other));
    assert_true(owner_lives("", other));
    static const char *const nonsense[] = {"", "x", "1", "1 2 3", "-1 -1", "1 2 3 x"};
    for (size_t i = 0; i < ARRAY_LEN(nonsense); i++)
        assert_true(owner_lives(self, nonsense[i]));
}

/* One in another namespace of processes counts as alive, until its time is over. */
static void whose_gate_cannot_be_seen_waits_until_its_time_is_over(void **state)
{
    (void)state;
    char id[APPROVAL_ID_MAX];
    ask(id);
    store_run_sql("state.db", "UPDATE approval SET owner = owner || '1'");
    assert_int_equal(list(true).n, 1);
    store_run_sql("state.db", "UPDATE approval SET expires_ms = expires_ms - 300000");
    assert_int_equal(list(true).n, 1);
    store_run_sql("state.db", "UPDATE approval SET expires_ms = expires_ms - 10000");
    assert_int_equal(list(true).n, 0);
    assert_int_equal(state_of(id), APPROVAL_TIMED_OUT);
}

/* --- many */

static void lists_the_oldest_first(void **state)
{
    (void)state;
    struct err err;
    static char ids[150][APPROVAL_ID_MAX];
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        ask(ids[i]);
    struct seen seen = list(true);
    assert_int_equal(seen.n, ARRAY_LEN(ids));
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        assert_string_equal(seen.ids[i], ids[i]);
    assert_decided(ids[0], &YES);
    assert_decided(ids[75], &NO);
    assert_int_equal(list(true).n, ARRAY_LEN(ids) - 2);
    assert_int_equal(list(false).n, ARRAY_LEN(ids));
    static struct seen few = {.stop = 5};
    assert_int_equal(approvals_each(db, true, note, &few, &err), 0);
    assert_int_equal(few.n, 5);
    /* All of a gate's that is gone, though they are more than one transaction takes. */
    store_run_sql("state.db", "UPDATE approval SET owner = '1 2 boot 3'");
    assert_int_equal(list(true).n, 0);
    assert_int_equal(state_of(ids[1]), APPROVAL_GONE);
    assert_int_equal(state_of(ids[149]), APPROVAL_GONE);
    assert_int_equal(state_of(ids[0]), APPROVAL_APPROVED);
}

static int deny(void *arg, const struct approval *approval)
{
    struct err err;
    size_t *n = arg;
    ++*n;
    return approvals_decide(db, approval->id, &NO, &err);
}

static void a_visitor_may_decide(void **state)
{
    (void)state;
    struct err err;
    char id[APPROVAL_ID_MAX];
    for (int i = 0; i < 5; i++)
        ask(id);
    size_t n = 0;
    assert_int_equal(approvals_each(db, true, deny, &n, &err), 0);
    assert_int_equal(n, 5);
    assert_int_equal(list(true).n, 0);
}

/* The text is for the approver; afterwards a line without secrets is enough. */
static void the_text_goes_with_the_answer(void **state)
{
    (void)state;
    struct err err = {0};
    static const char *const ends[] = {"approved", "denied", "timed_out", "cancelled"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        CLEANUP(approval_done) struct approval shown = {0};
        CLEANUP(approval_done) struct approval after = {0};
        struct approval a = new_approval();
        a.summary = "run_command: login --password=hunter2hunter2";
        a.detail = "stdin (3 bytes):\n    key\n";
        a.proposal = "{}";
        assert_int_equal(approvals_ask(db, &a, &err), 0);
        assert_int_equal(approvals_get(db, a.id, &shown, &err), 0);
        assert_string_equal(shown.detail, a.detail);
        assert_string_equal(shown.summary, a.summary);
        if (i < 2)
            assert_decided(a.id, i == 0 ? &YES : &NO);
        else
            assert_int_equal(
                approvals_end(db, a.id, i == 2 ? APPROVAL_TIMED_OUT : APPROVAL_CANCELLED, &err), 1);
        assert_int_equal(approvals_get(db, a.id, &after, &err), 0);
        assert_string_equal(approval_state_names[after.state], ends[i]);
        assert_string_equal(after.detail, "");
        assert_null(after.proposal);
        assert_null(strstr(after.summary, "hunter2"));
        assert_non_null(strstr(after.summary, "run_command: login"));
    }
}

/* Those that wait stay, however old. */
static void old_ones_are_removed(void **state)
{
    (void)state;
    char first[APPROVAL_ID_MAX];
    char second[APPROVAL_ID_MAX];
    char id[APPROVAL_ID_MAX];
    ask(first);
    ask(second);
    assert_decided(second, &NO);
    store_run_sql("state.db",
                  "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c "
                  "WHERE i < 1100) INSERT INTO approval (id, state, asked_ms, "
                  "expires_ms, decided_ms, gate, owner, call, tool, dialect, digest, "
                  "rule, summary, detail) SELECT 'n' || i, 'denied', i, i, "
                  "(SELECT max(decided_ms) FROM approval) + i, 'g', 'o', 'c', 't', 'd', "
                  "'d', 'r', 's', 'long' FROM c");
    assert_int_equal(store_number(db, "SELECT count(*) FROM approval"), 1102);
    ask(id);
    assert_int_equal(store_number(db, "SELECT count(*) FROM approval"), 1103 - 64);
    assert_int_equal(store_number(db, "SELECT count(*) FROM approval WHERE detail <> ''"), 0);
    ask(id);
    assert_int_equal(store_number(db, "SELECT count(*) FROM approval WHERE state <> 'waiting'"),
                     1000);
    assert_int_equal(store_number(db, "SELECT count(*) FROM approval WHERE id = 'n101'"), 1);
    assert_int_equal(store_number(db, "SELECT count(*) FROM approval WHERE id = 'n100'"), 0);
    assert_int_equal(state_of(first), APPROVAL_WAITING);
    assert_refused(second, ERR_NOT_FOUND, "no call waits");
}

struct with {
    unsigned calls;
    int answer;
};

static int note_with(void *arg, struct err *err)
{
    struct with *with = arg;
    with->calls++;
    return with->answer < 0 ? err_set(err, ERR_INTERNAL, "cannot be written") : 0;
}

/* A rule for always is written with the yes: not where another said no before, and without it there is no yes. */
static void what_goes_with_a_yes_is_done_or_nothing_is(void **state)
{
    (void)state;
    struct err err;
    char id[APPROVAL_ID_MAX];
    struct with with = {.answer = -1};
    struct approval_decision always = {true, APPROVE_ALWAYS, "alice", note_with, &with};
    ask(id);
    assert_int_equal(approvals_decide(db, id, &always, &err), -1);
    assert_int_equal(with.calls, 1);
    assert_int_equal(state_of(id), APPROVAL_WAITING);
    with = (struct with){0};
    assert_decided(id, &always);
    assert_int_equal(with.calls, 1);
    ask(id);
    assert_decided(id, &NO);
    assert_int_equal(approvals_decide(db, id, &always, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(with.calls, 1);
}

/* --- races */

struct race {
    const char *id;
    bool yes;
    int start;
};

static int decide_in_race(void *arg)
{
    const struct race *race = arg;
    struct db *own;
    struct err err;
    char byte;
    if (db_open(&own, folder_fd, false, &err) < 0 || read(race->start, &byte, 1) != 1)
        return 9;
    struct approval_decision d = {race->yes, APPROVE_ONCE, race->yes ? "yes" : "no"};
    int r = approvals_decide(own, race->id, &d, &err);
    db_close(own);
    return r == 0 ? 1 : err.code == ERR_CONFLICT ? 0 : 8;
}

static void of_several_approvers_one_wins(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(20); round++) {
        char id[APPROVAL_ID_MAX];
        int start[2];
        pid_t pids[6];
        ask(id);
        assert_int_equal(pipe(start), 0);
        for (size_t i = 0; i < ARRAY_LEN(pids); i++)
            pids[i] = store_fork(decide_in_race, &(struct race){id, i % 2 == 0, start[0]});
        assert_int_equal(write(start[1], "123456", 6), 6);
        int winners = 0;
        bool yes = false;
        for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
            int r = store_wait(pids[i]);
            assert_in_range(r, 0, 1);
            winners += r;
            yes = r ? i % 2 == 0 : yes;
        }
        assert_int_equal(winners, 1);
        assert_int_equal(state_of(id), yes ? APPROVAL_APPROVED : APPROVAL_DENIED);
        close(start[0]);
        close(start[1]);
    }
}

static int use_in_race(void *arg)
{
    const struct race *race = arg;
    struct db *own;
    struct err err;
    char byte;
    if (db_open(&own, folder_fd, false, &err) < 0 || read(race->start, &byte, 1) != 1)
        return 9;
    if (db_begin(own, 60000, &err) != 0)
        return 8;
    int r = approvals_use(own, race->id, "d1", &err);
    if (db_commit(own, &err) < 0)
        return 7;
    db_close(own);
    return r == 0;
}

static void of_several_uses_one_counts(void **state)
{
    (void)state;
    for (unsigned round = 0; round < random_rounds(10); round++) {
        char id[APPROVAL_ID_MAX];
        int start[2];
        pid_t pids[4];
        ask(id);
        assert_decided(id, &YES);
        assert_int_equal(pipe(start), 0);
        for (size_t i = 0; i < ARRAY_LEN(pids); i++)
            pids[i] = store_fork(use_in_race, &(struct race){id, true, start[0]});
        assert_int_equal(write(start[1], "1234", 4), 4);
        int sum = 0;
        for (size_t i = 0; i < ARRAY_LEN(pids); i++)
            sum += store_wait(pids[i]);
        assert_int_equal(sum, 1);
        close(start[0]);
        close(start[1]);
    }
}

/* Two seconds, not more, and nothing is left open. */
static void a_locked_database_is_an_error(void **state)
{
    (void)state;
    struct err err = {0};
    char id[APPROVAL_ID_MAX];
    ask(id);
    struct db *other = store_open();
    store_begin(other);
    struct approval a = new_approval();
    uint64_t began = clock_mono_ns();
    assert_int_equal(approvals_ask(db, &a, &err), -1);
    assert_string_equal(err.reason, "state_locked");
    assert_in_range((clock_mono_ns() - began) / 1000000, 1500, 4000);
    assert_int_equal(db_need_transaction(db, &err), -1);
    /* Reading goes on meanwhile. */
    assert_int_equal(list(true).n, 1);
    db_close(other);
    assert_decided(id, &YES);
}

/* --- for the rest of a session */

struct rules {
    int n;
    char last[64];
    int stop;
};

static int note_rule(void *arg, const char *rule)
{
    struct rules *rules = arg;
    snprintf(rules->last, sizeof rules->last, "%s", rule);
    return ++rules->n == rules->stop ? -1 : 0;
}

static struct rules rules_of(const char *session, const char *agent, const char *dialect)
{
    struct err err;
    struct rules rules = {0};
    assert_int_equal(allowances_each(db, session, agent, dialect, note_rule, &rules, &err), 0);
    return rules;
}

static void allowances_are_for_one_session_and_agent(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(allowances_add(db, "s1", NULL, "system", "{\"a\":1}", "alice", &err), 0);
    assert_int_equal(allowances_add(db, "s1", NULL, "system", "{\"a\":1}", "alice", &err), 0);
    assert_int_equal(allowances_add(db, "s1", NULL, "system", "{\"a\":2}", "alice", &err), 0);
    assert_int_equal(allowances_add(db, "s1", "bot", "system", "{\"a\":3}", "alice", &err), 0);
    assert_int_equal(allowances_add(db, "gate:s1", NULL, "native", "{\"a\":4}", "alice", &err), 0);
    struct rules rules = rules_of("s1", NULL, "system");
    assert_int_equal(rules.n, 2);
    assert_string_equal(rules.last, "{\"a\":2}");
    rules = rules_of("s1", "bot", "system");
    assert_int_equal(rules.n, 1);
    assert_string_equal(rules.last, "{\"a\":3}");
    assert_int_equal(rules_of("s1", NULL, "native").n, 0);
    assert_int_equal(rules_of("s1", "", "system").n, 0);
    assert_int_equal(rules_of("s2", NULL, "system").n, 0);
    struct rules first = {.stop = 1};
    assert_int_equal(allowances_each(db, "s1", NULL, "system", note_rule, &first, &err), 0);
    assert_int_equal(first.n, 1);
    assert_int_equal(allowances_forget(db, "s1", &err), 0);
    assert_int_equal(rules_of("s1", NULL, "system").n, 0);
    assert_int_equal(rules_of("s1", "bot", "system").n, 0);
    assert_int_equal(rules_of("gate:s1", NULL, "native").n, 1);
    /* Part of a larger change, where there is one. */
    store_begin(db);
    assert_int_equal(allowances_add(db, "s1", NULL, "system", "{\"a\":5}", "alice", &err), 0);
    assert_int_equal(rules_of("s1", NULL, "system").n, 1);
    db_rollback(db);
    assert_int_equal(rules_of("s1", NULL, "system").n, 0);
}

static bool file_holds(const char *text)
{
    static char bytes[1 << 22];
    FD_AT_END int fd = openat(folder_fd, "state.db", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, bytes, sizeof bytes);
    assert_true(n > 0 && n < (ssize_t)sizeof bytes);
    return memmem(bytes, (size_t)n, text, strlen(text)) != NULL;
}

/* Not even while another gate has the database open. */
static void what_is_removed_is_not_in_the_file(void **state)
{
    (void)state;
    struct err err;
    struct db *other = store_open();
    struct approval a = new_approval();
    a.detail = "frob only-for-the-approver";
    assert_int_equal(approvals_ask(db, &a, &err), 0);
    db_checkpoint(db);
    assert_true(file_holds("only-for-the-approver"));
    assert_decided(a.id, &NO);
    db_close(db);
    db = other;
    assert_false(file_holds("only-for-the-approver"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_asked_is_what_is_read),
        TEST(ids_are_short_and_easily_told_apart),
        TEST(a_yes_is_good_once),
        TEST(a_yes_is_good_for_its_digest_alone),
        TEST(a_use_that_is_rolled_back_was_none),
        TEST(what_is_decided_stays),
        TEST(unknown_ids_are_refused_politely),
        TEST(too_late_is_too_late),
        TEST(nobody_says_yes_to_a_dead_gate),
        TEST(a_zombie_is_dead),
        TEST(owners_are_told_apart),
        TEST(whose_gate_cannot_be_seen_waits_until_its_time_is_over),
        TEST(lists_the_oldest_first),
        TEST(a_visitor_may_decide),
        TEST(the_text_goes_with_the_answer),
        TEST(what_is_removed_is_not_in_the_file),
        TEST(old_ones_are_removed),
        TEST(what_goes_with_a_yes_is_done_or_nothing_is),
        TEST(of_several_approvers_one_wins),
        TEST(of_several_uses_one_counts),
        TEST(a_locked_database_is_an_error),
        TEST(allowances_are_for_one_session_and_agent),
    };
    random_begin();
    return cmocka_run_group_tests_name("approvals", tests, NULL, NULL);
}
