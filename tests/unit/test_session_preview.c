/* Previews through a real cell: before it is open, when it dies, when nobody wants to know any more; and calls that are
 * held to what was shown. */
#include <cmocka.h>
#include <errno.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/processor.h"
#include "cell/own_start.h"
#include "folder.h"
#include "json_text.h"
#include "session/preview.h"
#include "session/session_parts.h"
#include "work/worker.h"

static const struct tool row = {.name = "row", .runner = RUN_WORKER};
static uv_loop_t loop;
static struct session *session;
static struct config *config;

/* What a callback was told. */
struct heard {
    int times;
    bool failed;
    struct err err;
    struct preview preview;
    char sha256[HASH_HEX + 1];
    char diff[400];
    char real[100];
    char real_to[100];
};

static void hear(void *arg, const struct preview *preview, const struct err *err)
{
    struct heard *heard = arg;
    heard->times++;
    heard->failed = err != NULL;
    assert_true(!err != !preview);
    if (err) {
        heard->err = *err;
        return;
    }
    heard->preview = *preview;
    snprintf(heard->sha256, sizeof heard->sha256, "%s", preview->sha256);
    snprintf(heard->real, sizeof heard->real, "%.*s", (int)preview->real.path.n,
             preview->real.path.p);
    snprintf(heard->real_to, sizeof heard->real_to, "%.*s", (int)preview->real.to.n,
             preview->real.to.p ? preview->real.to.p : "");
    snprintf(heard->diff, sizeof heard->diff, "%.*s", (int)preview->diff.n, preview->diff.p);
}

static void put(const char *path, const char *text)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static int session_set_up(void **state)
{
    struct err err;
    if (folder_set_up(state) < 0 || mkdir("w", 0755) < 0 || mkdir("state", 0700) < 0)
        return -1;
    FREE_AT_END char *host = mem_format("%s/w", folder);
    config = config_new();
    assert_int_equal(uv_loop_init(&loop), 0);
    struct session_options options = {
        .config = config,
        .state_fd = open("state", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .id = "",
        .roots = {{"workspace", "/workspace", host, true}},
        .n_roots = 1,
    };
    if (session_new(&session, &loop, &options, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

static int session_tear_down(void **state)
{
    int state_fd = session->state_fd;
    session_free(session);
    while (uv_run(&loop, UV_RUN_ONCE))
        cell_reap();
    assert_int_equal(uv_loop_close(&loop), 0);
    config_free(config);
    close(state_fd);
    return folder_tear_down(state);
}

static void turn(void)
{
    cell_flush();
    uv_run(&loop, UV_RUN_ONCE);
    cell_reap();
}

/* Where the kernel allows no sandbox nothing can be tested. */
static void wait_for(const struct heard *heard)
{
    while (heard->times == 0)
        turn();
    assert_int_equal(heard->times, 1);
    if (heard->failed && heard->err.code == ERR_SANDBOX_UNAVAILABLE)
        skip();
}

static struct call *new_call(enum op_id op, const char *path, const char *body)
{
    struct call *call = call_new();
    call->tool = &row;
    call->workplace = session_workplace(session);
    call->op = &op_table[op];
    snprintf(call->path.text, sizeof call->path.text, "%s", path);
    call->request_body = text_str(body);
    if (op == OP_WRITE)
        call->request.write = (struct op_write_request){.path = call_path_text(call),
                                                        .max_bytes = 1000};
    if (op == OP_DELETE)
        call->request.delete = (struct op_delete_request){.path = call_path_text(call)};
    return call;
}

static void look(struct call *call, struct heard *heard)
{
    *heard = (struct heard){0};
    session_preview(session, call, hear, heard);
    wait_for(heard);
}

#define CALL_AT_END CLEANUP(free_call)
static void free_call(struct call **call)
{
    call_free(*call);
}

static void it_waits_for_the_cell(void **state)
{
    (void)state;
    struct heard heard[3] = {0};
    put("w/f", "old\n");
    CALL_AT_END struct call *write = new_call(OP_WRITE, "f", "new\n");
    CALL_AT_END struct call *fresh = new_call(OP_WRITE, "d/g", "x\n");
    CALL_AT_END struct call *delete = new_call(OP_DELETE, "f", "");
    session_preview(session, write, hear, &heard[0]);
    session_preview(session, fresh, hear, &heard[1]);
    session_preview(session, delete, hear, &heard[2]);
    for (size_t i = 0; i < ARRAY_LEN(heard); i++)
        wait_for(&heard[i]);
    assert_true(heard[0].preview.exists && strlen(heard[0].sha256) == HASH_HEX);
    assert_string_equal(heard[0].diff, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n");
    assert_true(!heard[1].preview.exists && heard[1].sha256[0] == '\0');
    assert_string_equal(heard[1].diff, "--- a/d/g\n+++ b/d/g\n@@ -0,0 +1 @@\n+x\n");
    assert_true(heard[2].preview.entries == 1 && heard[2].preview.bytes_before == 4);
    /* And when it is open. */
    look(write, &heard[0]);
    assert_false(heard[0].failed);
    assert_int_equal(access("w/d", F_OK), -1);
}

static void it_fails_as_the_call_would(void **state)
{
    (void)state;
    struct heard heard;
    put("w/.env", "x");
    put("w/f", "x");
    assert_int_equal(symlink("f", "w/l"), 0);
    CALL_AT_END struct call *secret = new_call(OP_WRITE, ".env", "y");
    look(secret, &heard);
    assert_true(heard.failed && heard.err.code == ERR_PERMISSION_DENIED);
    assert_string_equal(heard.err.reason, "secret");
    CALL_AT_END struct call *link = new_call(OP_WRITE, "l", "y");
    look(link, &heard);
    assert_false(heard.failed);
    link->verdict.as_named = true;
    look(link, &heard);
    assert_true(heard.failed);
    assert_string_equal(heard.err.reason, "other_path");
    CALL_AT_END struct call *read = new_call(OP_READ, "f", "");
    look(read, &heard);
    assert_false(heard.failed);
    CALL_AT_END struct call *unread = new_call(OP_READ, ".env", "");
    look(unread, &heard);
    assert_string_equal(heard.err.reason, "secret");
    CALL_AT_END struct call *sweep = new_call(OP_SWEEP, "f", "");
    look(sweep, &heard);
    assert_true(heard.failed && heard.err.code == ERR_INTERNAL);
}

static void the_next_cell_answers(void **state)
{
    (void)state;
    struct heard heard;
    put("w/f", "old\n");
    CALL_AT_END struct call *call = new_call(OP_WRITE, "f", "new\n");
    look(call, &heard);
    heard = (struct heard){0};
    session_preview(session, call, hear, &heard);
    cell_kill(session->host.cell, "the test ended it");
    wait_for(&heard);
    assert_false(heard.failed);
    assert_int_equal(session->host.cells, 2);
    /* One that is ending when it is asked. */
    cell_kill(session->host.cell, "the test ended it");
    look(call, &heard);
    assert_false(heard.failed);
    assert_int_equal(session->host.cells, 3);
}

static void but_not_for_ever(void **state)
{
    (void)state;
    struct heard heard;
    CALL_AT_END struct call *call = new_call(OP_WRITE, "f", "new\n");
    look(call, &heard);
    heard = (struct heard){0};
    session_preview(session, call, hear, &heard);
    while (heard.times == 0) {
        if (session->host.cell)
            cell_kill(session->host.cell, "the test ended it");
        turn();
    }
    assert_true(heard.times == 1 && heard.failed);
    assert_int_equal(session->host.cells, 3);
    assert_null(session->previews);
}

static void nobody_is_told_any_more(void **state)
{
    (void)state;
    struct heard heard;
    struct heard unheard = {0};
    struct call *gone = new_call(OP_WRITE, "f", "new\n");
    CALL_AT_END struct call *call = new_call(OP_WRITE, "g", "new\n");
    /* While it waits, and when it is on its way. */
    for (int i = 0; i < 2; i++) {
        session_preview(session, gone, hear, &unheard);
        session_preview_cancel(session, &unheard);
        session_preview_cancel(session, &unheard);
        if (i == 1)
            call_free(gone);
        look(call, &heard);
        assert_false(heard.failed);
        assert_null(session->previews);
    }
    /* What is left when the session ends. */
    session_preview(session, call, hear, &unheard);
    session_preview(session, call, hear, &unheard);
    preview_forget_all(session);
    assert_int_equal(unheard.times, 0);
}

/* --- calls that are held to it */

static bool written;
static struct err write_error;

static void ran(struct call *own)
{
    written = true;
    write_error = own->failed ? own->err : (struct err){0};
    call_free(own);
}

/* The error's name, or "done". */
static const char *run(const struct call *call)
{
    struct call *own = session_own_call(session, OP_WRITE, 0, call->path.text, ran);
    own->request = call->request;
    own->request.write.path = call_path_text(own);
    own->request.write.tag = text_str(session->cell_tag);
    own->request_body = call->request_body;
    written = false;
    write_error = (struct err){0};
    session_send(session, own);
    while (!written)
        turn();
    return write_error.message[0] ? err_row(write_error.code)->name : "done";
}

static void pin(struct call *call, const char *sha256, bool existed)
{
    preview_pin(call, &(struct preview){.exists = existed, .sha256 = sha256});
}

static void pin_heard(struct call *call, const struct heard *heard)
{
    struct preview preview = heard->preview;
    preview.sha256 = heard->sha256;
    preview.real = (struct op_real){text_str(heard->real), text_str(heard->real_to)};
    if (!heard->real_to[0])
        preview.real.to.p = NULL;
    preview_pin(call, &preview);
}

static void a_pinned_call(void **state)
{
    (void)state;
    struct heard heard;
    put("w/f", "old\n");
    CALL_AT_END struct call *call = new_call(OP_WRITE, "f", "new\n");
    look(call, &heard);
    pin_heard(call, &heard);
    put("w/f", "other\n");
    assert_string_equal(run(call), "PRECONDITION_FAILED");
    put("w/f", "old\n");
    assert_string_equal(run(call), "done");
    CALL_AT_END struct call *fresh = new_call(OP_WRITE, "d/g", "new\n");
    look(fresh, &heard);
    pin_heard(fresh, &heard);
    assert_string_equal(run(fresh), "done");
    assert_string_equal(run(fresh), "ALREADY_EXISTS");
}

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_pin_stays(void **state)
{
    (void)state;
    CALL_AT_END struct call *call = new_call(OP_WRITE, "f", "new\n");
    preview_apply_pin(call);
    assert_true(!call->request.write.if_match.p && !call->request.write.create_only);
    char hash[] = SHA;
    pin(call, hash, true);
    hash[0] = 'x'; /* it is a copy */
    /* Prepared anew. */
    call->request.write.if_match = (struct str){0};
    preview_apply_pin(call);
    assert_true(str_is(call->request.write.if_match, SHA) && !call->request.write.create_only);
    /* The caller's own stays. */
    call->request.write.if_match = text_str("mine");
    preview_apply_pin(call);
    assert_true(str_is(call->request.write.if_match, "mine"));
    CALL_AT_END struct call *edit = new_call(OP_EDIT, "f", "");
    pin(edit, SHA, true);
    assert_true(str_is(edit->request.change.if_match, SHA));
    CALL_AT_END struct call *delete = new_call(OP_DELETE, "f", "");
    union op_request before = delete->request;
    pin(delete, "", true);
    assert_memory_equal(&before, &delete->request, sizeof before);
}

#define CELL_TEST(name) cmocka_unit_test_setup_teardown(name, session_set_up, session_tear_down)

int main(int argc, char **argv)
{
    processor_init();
    /* A cell begins with the program that runs. */
    int own_status;
    if (own_start_done(argc, argv, worker_main, &own_status))
        return own_status;
    const struct CMUnitTest tests[] = {
        CELL_TEST(it_waits_for_the_cell),
        CELL_TEST(it_fails_as_the_call_would),
        CELL_TEST(the_next_cell_answers),
        CELL_TEST(but_not_for_ever),
        CELL_TEST(nobody_is_told_any_more),
        CELL_TEST(a_pinned_call),
        CELL_TEST(a_pin_stays),
    };
    return cmocka_run_group_tests_name("session_preview", tests, NULL, NULL);
}
