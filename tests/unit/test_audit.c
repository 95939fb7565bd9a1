#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "store/audit.h"
#include "store/audit_chain.h"

#ifndef SANDGATE_VERSION
#define SANDGATE_VERSION "0.1.0"
#endif

#define FIRST "audit/000.jsonl"
#define SECOND "audit/001.jsonl"
#define CALLS_MAX 4096

static const struct audit_options NONE = {.sync = AUDIT_SYNC_NONE, .max_bytes = 1 << 30};
static const struct audit_options BATCH = {AUDIT_SYNC_BATCH, .batch_ms = 1, .max_bytes = 1 << 30};
static const struct audit_options ALWAYS = {.sync = AUDIT_SYNC_ALWAYS, .max_bytes = 1 << 30};
static const struct audit_options TINY = {.sync = AUDIT_SYNC_NONE, .max_bytes = 1};

/* These two take the place of libc's: to see when the disk is asked, to hold it up and to make it
 * fail, and to rename a file at the one moment that matters. */
static atomic_int syncs;
static atomic_int sync_errno;
static pthread_mutex_t disk_turn = PTHREAD_MUTEX_INITIALIZER;
static bool rename_before_lock;

/* SQLite's own files are not the disk that is meant. */
static bool is_log(int fd)
{
    char link[64];
    char path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    return n > 6 && memcmp(path + n - 6, ".jsonl", 6) == 0;
}

int fdatasync(int fd)
{
    if (!is_log(fd))
        return (int)syscall(SYS_fdatasync, fd);
    syncs++;
    pthread_mutex_lock(&disk_turn);
    pthread_mutex_unlock(&disk_turn);
    errno = sync_errno;
    return errno ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int flock(int fd, int operation)
{
    if (rename_before_lock)
        rename_before_lock = rename(FIRST, "audit/moved.jsonl") < 0;
    return (int)syscall(SYS_flock, fd, operation);
}

/* The state folder is the working folder. */
static uv_loop_t loop;
static char folder[256];
static int folder_fd;

static int set_up(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.200s/audit-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder) || chdir(folder) < 0 || uv_loop_init(&loop) < 0)
        return -1;
    folder_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    syncs = sync_errno = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    uv_run(&loop, UV_RUN_DEFAULT);
    int left = uv_loop_close(&loop);
    close(folder_fd);
    umount2(folder, MNT_DETACH);
    FREE_AT_END char *command = mem_format("rm -rf '%s'", folder);
    return chdir("/") < 0 || system(command) != 0 || left < 0 ? -1 : 0;
}

static struct audit *gate(const struct audit_options *options)
{
    struct err err;
    struct audit *audit = NULL;
    if (audit_open(&audit, &loop, folder_fd, options, &err) < 0)
        fail_msg("%s", err.message);
    return audit;
}

static void put(struct audit *audit, const char *kind, int call)
{
    char id[16];
    snprintf(id, sizeof id, "c%d", call);
    jo_ktext(audit_begin(audit, kind, id), "tool", "file.read");
    audit_end(audit);
}

static void flushed(struct audit *audit)
{
    struct err err;
    if (audit_flush(audit, &err) < 0)
        fail_msg("%s", err.message);
}

static void wait_for(pid_t child, int expected)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, expected);
}

/* A gate that begins calls 0, 1, 2, ends call 1, and is never closed. */
static void gate_dies(void)
{
    pid_t child = fork();
    if (child == 0) {
        struct audit *audit = gate(&NONE);
        for (int i = 0; i < 3; i++)
            put(audit, "call.intent", i);
        put(audit, "call.outcome", 1);
        flushed(audit);
        _exit(0);
    }
    wait_for(child, 0);
}

static void append(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* --- what the files say */

struct tally {
    int files, starts, stops, recovered, intents, outcomes, interrupted, oversized, damaged, logs;
    bool open[CALLS_MAX];
    char gate[32]; /* that of the last start */
};

static int call_of(yyjson_val *record)
{
    const char *id = yyjson_get_str(yyjson_obj_get(record, "call"));
    int call = id ? atoi(id + 1) : 0;
    assert_in_range(call, 0, CALLS_MAX - 1);
    return call;
}

/* Checks on the way that outcomes have an intent, and that where a gate has stopped none is open. */
static void count_record(struct tally *t, yyjson_val *record)
{
    struct str kind = json_str(yyjson_obj_get(record, "kind"));
    t->oversized += yyjson_obj_get(record, "oversized") != NULL;
    if (str_is(kind, "gate.start")) {
        memset(t->open, 0, sizeof t->open);
        snprintf(t->gate, sizeof t->gate, "%s", yyjson_get_str(yyjson_obj_get(record, "gate")));
        t->starts++;
    } else if (str_is(kind, "gate.stop")) {
        assert_null(memchr(t->open, true, sizeof t->open));
        t->stops++;
        t->recovered += yyjson_obj_get(record, "recovered_by") != NULL;
    } else if (strncmp(kind.p, "log.", 4) == 0) {
        t->logs++;
    } else if (str_is(kind, "call.intent")) {
        t->open[call_of(record)] = true;
        t->intents++;
    } else {
        assert_true(t->open[call_of(record)]);
        t->open[call_of(record)] = false;
        *(str_is(kind, "call.outcome") ? &t->outcomes : &t->interrupted) += 1;
    }
}

static void count_file(struct tally *t, const char *path)
{
    FILE *file = fopen(path, "re");
    FREE_AT_END char *text = NULL;
    size_t cap = 0;
    ssize_t n;
    assert_non_null(file);
    while ((n = getline(&text, &cap, file)) > 0) {
        JSON_AT_END yyjson_doc *doc = NULL;
        assert_int_equal(text[n - 1], '\n');
        if (json_parse(text, (size_t)n, 4 << 20, JSON_STRICT, &doc, NULL) == 0)
            count_record(t, yyjson_doc_get_root(doc));
        else
            t->damaged++;
    }
    fclose(file);
    t->files++;
}

static struct tally tally(void)
{
    struct tally t = {0};
    glob_t found;
    assert_int_equal(glob("audit/*.jsonl", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        count_file(&t, found.gl_pathv[i]);
    globfree(&found);
    return t;
}

/* Compares line n of the first file, counted from 0, behind its `ts`. */
static void PRINTF_LIKE(2, 3) expect(int n, const char *fmt, ...)
{
    FILE *file = fopen(FIRST, "re");
    FREE_AT_END char *text = NULL;
    FREE_AT_END char *wanted = NULL;
    size_t cap = 0;
    va_list ap;
    assert_non_null(file);
    for (int i = 0; i <= n; i++)
        assert_true(getline(&text, &cap, file) > 0);
    fclose(file);
    va_start(ap, fmt);
    assert_true(vasprintf(&wanted, fmt, ap) > 0);
    va_end(ap);
    assert_memory_equal(text, "{\"ts\":\"20", 9);
    text[strcspn(text, "\n")] = '\0';
    char *hash = strstr(text, ",\"hash\":\"");
    assert_non_null(hash);
    assert_int_equal(strlen(hash), 75);
    memcpy(hash, "}", 2);
    assert_string_equal(text + sizeof "{\"ts\":\"2024-05-01T12:00:00.123Z", wanted);
}

/* --- the tests */

static void records_are_lines(void **state)
{
    (void)state;
    struct audit *audit = gate(&NONE);
    FREE_AT_END char *id = mem_dup(audit_gate_id(audit));
    off_t before = size_of(FIRST);
    jo_kint(audit_begin(audit, "call.intent", "a\"\n\xff"), "n", -1);
    audit_end(audit);
    assert_int_equal(size_of(FIRST), before);
    flushed(audit);
    audit_close(audit);
    expect(
        0,
        ",\"seq\":1,\"kind\":\"gate.start\",\"gate\":\"%s\",\"pid\":%d,\"version\":\"%s\",\"after\":\"%s\"}",
        id, getpid(), SANDGATE_VERSION, CHAIN_NONE);
    expect(1, ",\"seq\":2,\"kind\":\"call.intent\",\"gate\":\"%s\",\"call\":\"%s\",\"n\":-1}", id,
           "a\\\"\\n\xef\xbf\xbd");
    expect(2, ",\"seq\":3,\"kind\":\"gate.stop\",\"gate\":\"%s\"}", id);
}

static void gates_at_once_have_files_of_their_own(void **state)
{
    (void)state;
    struct audit *one = gate(&NONE);
    struct audit *two = gate(&NONE);
    audit_close(one);
    audit_close(two);
    off_t first = size_of(FIRST);
    off_t second = size_of(SECOND);
    assert_int_equal(first, second);
    audit_close(gate(&NONE));
    assert_int_equal(size_of(FIRST), 2 * first);
    assert_int_equal(size_of(SECOND), second);
}

static void calls_of_a_dead_gate_are_interrupted(void **state)
{
    (void)state;
    struct audit *living = gate(&NONE);
    gate_dies();
    audit_close(living);
    gate_dies();
    struct tally dead = {0};
    count_file(&dead, FIRST);
    struct audit *audit = gate(&NONE);
    struct tally t = tally();
    assert_int_equal(t.interrupted, 4);
    assert_int_equal(t.recovered, 2);
    expect(8,
           ",\"seq\":7,\"kind\":\"call.interrupted\",\"gate\":\"%s\",\"call\":\"c2\","
           "\"tool\":\"file.read\",\"code\":\"INTERRUPTED\"}",
           dead.gate);
    expect(9, ",\"seq\":8,\"kind\":\"gate.stop\",\"gate\":\"%s\",\"recovered_by\":\"%s\"}",
           dead.gate, audit_gate_id(audit));
    off_t second = size_of(SECOND);
    audit_close(audit);
    audit_close(gate(&NONE));
    assert_int_equal(size_of(SECOND), second);
}

/* Tells through the pipe how far it is, until it is killed. */
static void write_until_killed(int report)
{
    struct audit *audit = gate(&NONE);
    for (int i = 0;; i++) {
        put(audit, "call.intent", i % CALLS_MAX);
        if (i >= 3)
            put(audit, "call.outcome", (i - 3) % CALLS_MAX);
        flushed(audit);
        if (write(report, "", 1) != 1)
            _exit(1);
    }
}

static void a_kill_at_any_moment_is_recovered(void **state)
{
    (void)state;
    for (int round = 1; round <= 50; round++) {
        int ends[2];
        char byte;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0)
            write_until_killed(ends[1]);
        for (int i = 0; i < round; i++)
            assert_int_equal(read(ends[0], &byte, 1), 1);
        kill(child, SIGKILL);
        wait_for(child, SIGKILL);
        close(ends[0]);
        close(ends[1]);
    }
    audit_close(gate(&NONE));
    struct tally t = tally();
    assert_int_equal(t.recovered, 50);
    assert_int_equal(t.intents, t.outcomes + t.interrupted);
    assert_true(t.interrupted >= 50);
}

static void damage_is_kept_and_read_over(void **state)
{
    (void)state;
    static const char zeros[1 << 20];
    static const char rest[] = "\n\n{\"kind\":\"call.outcome\",\"call\":\"c0\"}\n{\"ts\":\"20";
    gate_dies();
    append(FIRST, "garbage\n", 8);
    append(FIRST, zeros, sizeof zeros);
    append(FIRST, rest, sizeof rest - 1);
    audit_close(gate(&NONE));
    struct tally t = tally();
    assert_int_equal(t.damaged, 4);
    assert_int_equal(t.interrupted, 1);
    assert_int_equal(t.recovered, 1);
}

static void a_record_that_lacks_only_its_newline_counts(void **state)
{
    (void)state;
    static const char outcome[] = "{\"kind\":\"call.outcome\",\"call\":\"c0\"}";
    gate_dies();
    append(FIRST, outcome, sizeof outcome - 1);
    audit_close(gate(&NONE));
    struct tally t = tally();
    assert_int_equal(t.damaged, 0);
    assert_int_equal(t.interrupted, 1);
}

static void large_files_are_rotated(void **state)
{
    (void)state;
    enum { CHILDREN = 4, GATES = 100 };
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        for (int k = 0; children[i] == 0 && k < GATES; k++)
            audit_close(gate(&TINY));
        if (children[i] == 0)
            _exit(0);
    }
    for (int i = 0; i < CHILDREN; i++)
        wait_for(children[i], 0);
    struct tally t = tally();
    assert_int_equal(t.files, CHILDREN * GATES);
    assert_int_equal(t.starts, CHILDREN * GATES);
    assert_int_equal(t.stops, CHILDREN * GATES);
    assert_int_equal(t.damaged, 0);
}

static void a_file_renamed_before_it_was_locked_is_left(void **state)
{
    (void)state;
    audit_close(gate(&NONE));
    off_t before = size_of(FIRST);
    rename_before_lock = true;
    audit_close(gate(&NONE));
    assert_int_equal(size_of(FIRST), before);
    assert_int_equal(size_of("audit/moved.jsonl"), before);
}

/* Where mounting is allowed, the state folder on a small disk of its own. */
static bool small_disk(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", folder, "tmpfs", 0, "size=64k") < 0)
        return false;
    close(folder_fd);
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fchdir(folder_fd) == 0;
}

static void small_files(rlim_t size)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_loses_nothing(void **state)
{
    (void)state;
    struct err err = {0};
    bool disk = small_disk();
    if (!disk)
        small_files(64 << 10);
    struct audit *audit = gate(&NONE);
    for (int i = 0; i < 1000; i++) {
        put(audit, "call.intent", i);
        put(audit, "call.outcome", i);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(audit_flush(audit, &err), -1);
    assert_int_equal(err.code, disk ? ERR_DISK_FULL : ERR_INTERNAL);
    if (disk)
        assert_int_equal(mount("none", folder, "tmpfs", MS_REMOUNT, "size=8m"), 0);
    else
        small_files(RLIM_INFINITY);
    flushed(audit);
    audit_close(audit);
    struct tally t = tally();
    assert_int_equal(t.outcomes, 1000);
    assert_int_equal(t.damaged, 0);
}

static void records_have_a_limit(void **state)
{
    (void)state;
    static char text[1536 << 10];
    struct err err = {0};
    memset(text, 'x', sizeof text);
    struct audit *audit = gate(&NONE);
    for (int i = 1; i <= 2; i++) {
        struct json_out *j = audit_begin(audit, "call.intent", "c1");
        for (int k = 0; k < i; k++)
            jo_kstr(j, k ? "b" : "a", (struct str){text, sizeof text});
        audit_end(audit);
    }
    flushed(audit);
    for (int i = 0; i < 100; i++) {
        jo_kstr(audit_begin(audit, "call.intent", "c1"), "a", (struct str){text, sizeof text});
        audit_end(audit);
    }
    assert_int_equal(audit_flush(audit, &err), -1);
    flushed(audit);
    put(audit, "call.outcome", 1);
    audit_close(audit);
    struct tally t = tally();
    assert_int_equal(t.oversized, 1);
    assert_in_range(t.intents, 18, 30);
}

struct call {
    struct audit *audit;
    int number, asked, status;
    bool again;
};

static int told;

static void write_and_wait(struct call *call);

static void on_synced(void *arg, int status)
{
    struct call *call = arg;
    call->status = status;
    assert_int_equal(call->number, told++);
    /* A sync that had begun before its record was written is not enough. */
    assert_true(status < 0 || syncs > call->asked);
    if (call->again) {
        call->again = false;
        call->number += 1000;
        write_and_wait(call);
    }
}

static void write_and_wait(struct call *call)
{
    call->asked = syncs;
    put(call->audit, "call.intent", call->number);
    flushed(call->audit);
    audit_wait_synced(call->audit, on_synced, call);
}

static void start_calls(struct audit *audit, struct call *calls, int count)
{
    told = 0;
    for (int i = 0; i < count; i++) {
        calls[i] = (struct call){.audit = audit, .number = i, .again = i < 100};
        write_and_wait(&calls[i]);
    }
}

static void waiters_share_syncs(void **state)
{
    (void)state;
    static struct call calls[1000];
    struct audit *audit = gate(&ALWAYS);
    start_calls(audit, calls, 1000);
    assert_int_equal(told, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(told, 1100);
    assert_in_range(syncs, 2, 3);
    audit_close(audit);
}

static void a_waiter_needs_a_sync_that_began_later(void **state)
{
    (void)state;
    struct audit *audit = gate(&ALWAYS);
    struct call one = {.audit = audit, .number = 0};
    struct call two = {.audit = audit, .number = 1};
    told = 0;
    pthread_mutex_lock(&disk_turn);
    write_and_wait(&one);
    while (syncs == 0)
        sched_yield();
    write_and_wait(&two);
    pthread_mutex_unlock(&disk_turn);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(told, 2);
    audit_close(audit);
}

static void closing_tells_the_waiters(void **state)
{
    (void)state;
    struct call calls[10];
    struct audit *audit = gate(&ALWAYS);
    start_calls(audit, calls, 10);
    for (int i = 0; i < 10; i++)
        calls[i].again = false;
    audit_close(audit);
    assert_int_equal(told, 10);
}

static void after_a_failed_sync_nothing_is_accepted(void **state)
{
    (void)state;
    struct err err = {0};
    struct call call = {.audit = gate(&ALWAYS)};
    told = 0;
    sync_errno = EIO;
    write_and_wait(&call);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(call.status, -EIO);
    sync_errno = 0;
    put(call.audit, "call.intent", 1);
    assert_int_equal(audit_flush(call.audit, &err), -1);
    assert_int_equal(err.code, ERR_INTERNAL);
    call = (struct call){.audit = call.audit, .number = 1};
    audit_wait_synced(call.audit, on_synced, &call);
    assert_int_equal(call.status, -EIO);
    audit_close(call.audit);
    audit_close(gate(&NONE));
    struct tally t = tally();
    assert_int_equal(t.recovered, 1);
}

static void stop_once_synced(uv_timer_t *timer)
{
    if (syncs > 0)
        uv_close((uv_handle_t *)timer, NULL);
}

static void batches_are_synced_in_the_background(void **state)
{
    (void)state;
    struct audit *audit = gate(&BATCH);
    /* Nothing of the audit log keeps the loop alive. */
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(syncs, 0);
    uv_timer_t tick;
    uv_timer_init(&loop, &tick);
    uv_timer_start(&tick, stop_once_synced, 1, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(syncs, 1);
    audit_close(audit);
    assert_int_equal(syncs, 2);
    /* The slot is free before the loop has run. */
    audit_close(gate(&NONE));
    assert_int_equal(access(SECOND, F_OK), -1);
}

static void refused(const char *what)
{
    struct err err = {0};
    struct audit *audit = NULL;
    assert_int_equal(audit_open(&audit, &loop, folder_fd, &NONE, &err), -1);
    assert_int_equal(err.code, ERR_INTERNAL);
    if (!strstr(err.message, what) || !strstr(err.message, "symbolic link"))
        fail_msg("%s", err.message);
}

static void links_are_refused(void **state)
{
    (void)state;
    append("elsewhere", "precious", 8);
    assert_int_equal(mkdir("folder", 0700) | symlink("folder", "audit"), 0);
    refused("`audit`");
    assert_int_equal(unlink("audit") | mkdir("audit", 0700), 0);
    assert_int_equal(symlink("../elsewhere", FIRST), 0);
    refused("000.jsonl");
    assert_int_equal(unlink(FIRST) | link("elsewhere", FIRST), 0);
    refused("000.jsonl");
    assert_int_equal(unlink(FIRST) | mkfifo(FIRST, 0600), 0);
    refused("000.jsonl");
    assert_int_equal(unlink(FIRST) | symlink("../elsewhere", SECOND), 0);
    audit_close(gate(&NONE));
    assert_int_equal(size_of("elsewhere"), 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_are_lines),
        TEST(gates_at_once_have_files_of_their_own),
        TEST(calls_of_a_dead_gate_are_interrupted),
        TEST(a_kill_at_any_moment_is_recovered),
        TEST(damage_is_kept_and_read_over),
        TEST(a_record_that_lacks_only_its_newline_counts),
        TEST(large_files_are_rotated),
        TEST(a_file_renamed_before_it_was_locked_is_left),
        TEST(a_full_disk_loses_nothing),
        TEST(records_have_a_limit),
        TEST(waiters_share_syncs),
        TEST(a_waiter_needs_a_sync_that_began_later),
        TEST(closing_tells_the_waiters),
        TEST(after_a_failed_sync_nothing_is_accepted),
        TEST(batches_are_synced_in_the_background),
        TEST(links_are_refused),
    };
    return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
