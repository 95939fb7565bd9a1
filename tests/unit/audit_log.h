/* Gates that write a log into the working folder, and what verifying says of it. */
#ifndef SANDGATE_TESTS_AUDIT_LOG_H
#define SANDGATE_TESTS_AUDIT_LOG_H

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "folder.h"
#include "random.h"
#include "store/audit.h"
#include "store/audit_heads.h"
#include "store/audit_verify.h"

/* The log alone does not keep a loop alive, and one that is not alive runs no timers. */
static uv_loop_t loop;
static uv_timer_t tick;

static inline void log_on_tick(uv_timer_t *timer)
{
    (void)timer;
}

static inline int log_set_up(void **state)
{
    struct err err;
    struct db *db = NULL;
    random_begin();
    if (folder_set_up(state) < 0 || uv_loop_init(&loop) < 0 ||
        db_open(&db, folder_fd, false, &err) < 0)
        return -1;
    db_close(db); /* a gate opens it before anything else */
    uv_timer_init(&loop, &tick);
    return uv_timer_start(&tick, log_on_tick, 1, 1);
}

static inline int log_tear_down(void **state)
{
    uv_close((uv_handle_t *)&tick, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop) < 0 ? -1 : folder_tear_down(state);
}

static inline pid_t log_fork(void)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        uv_loop_fork(&loop);
    }
    return child;
}

static inline struct audit *log_gate(const struct audit_options *options)
{
    struct err err;
    struct audit *audit = NULL;
    if (audit_open(&audit, &loop, folder_fd, options, &err) < 0)
        fail_msg("%s", err.message);
    return audit;
}

static inline void log_put(struct audit *audit, const char *kind, int call)
{
    char id[16];
    snprintf(id, sizeof id, "c%d", call);
    jo_ktext(audit_begin(audit, kind, id), "tool", "file.read");
    audit_end(audit);
}

static inline void log_flush(struct audit *audit)
{
    struct err err;
    if (audit_flush(audit, &err) < 0)
        fail_msg("%s", err.message);
    uv_run(&loop, UV_RUN_NOWAIT);
}

static inline void log_calls(struct audit *audit, int n)
{
    for (int i = 0; i < n; i++) {
        log_put(audit, "call.intent", i);
        log_put(audit, "call.outcome", i);
        log_flush(audit);
    }
}

/* Waits until state.db knows everything that was written to the slot. */
static inline void log_noted(struct audit *audit, const char *slot)
{
    struct err err;
    struct audit_heads heads = {.state_fd = folder_fd};
    static struct head_rows rows;
    FREE_AT_END char *path = mem_format("audit/%s", slot);
    for (bool done = false; !done;) {
        char tail[4096];
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        fseek(file, -(long)CHAIN_TAIL - 1, SEEK_END);
        struct str line = {tail, fread(tail, 1, sizeof tail, file)};
        fclose(file);
        assert_int_equal(line.n, CHAIN_TAIL + 1);
        uv_run(&loop, UV_RUN_NOWAIT);
        usleep(500);
        assert_int_equal(audit_heads_read(&heads, slot, NULL, &rows, &err), 0);
        for (size_t i = 0; i < rows.n; i++)
            done = done || (strcmp(rows.rows[i].gate, audit_gate_id(audit)) == 0 &&
                            memcmp(rows.rows[i].head.hash, tail + 8, HASH_HEX) == 0);
    }
    audit_heads_done(&heads);
}

static inline void log_close(struct audit *audit)
{
    audit_close(audit);
    uv_unref((uv_handle_t *)&tick);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_ref((uv_handle_t *)&tick);
}

static inline void log_wait(pid_t child, int expected)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, expected);
}

/* --- verifying */

#define FINDINGS_MAX 64

struct findings {
    struct verify_report report;
    struct {
        char file[64];
        uint64_t line;
        char text[320];
    } bad[FINDINGS_MAX];
    size_t n;
};

static inline void log_found(void *arg, const struct verify_finding *f)
{
    struct findings *all = arg;
    if (f->level != VERIFY_BAD || all->n == FINDINGS_MAX)
        return;
    snprintf(all->bad[all->n].file, sizeof all->bad[0].file, "%s", f->file);
    snprintf(all->bad[all->n].text, sizeof all->bad[0].text, "%s", f->text);
    all->bad[all->n++].line = f->line;
}

static inline const struct findings *log_verify(struct str anchors)
{
    static struct findings found;
    struct err err;
    struct verify_options options = {.found = log_found, .arg = &found, .anchors = anchors};
    found.n = 0;
    if (audit_verify(folder_fd, &options, &found.report, &err) < 0)
        fail_msg("%s", err.message);
    return &found;
}

static inline const struct findings *log_is_whole(void)
{
    const struct findings *found = log_verify((struct str){0});
    if (found->n)
        fail_msg("%s:%llu: %s", found->bad[0].file, (unsigned long long)found->bad[0].line,
                 found->bad[0].text);
    return found;
}

#endif
