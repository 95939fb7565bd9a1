/* What a command made, when the cell that would move it can be told nothing any more. */
#include <cmocka.h>
#include <errno.h>

#include "base/mem.h"
#include "base/processor.h"
#include "cell/own_start.h"
#include "few_fds.h"
#include "folder.h"
#include "json_text.h"
#include "session/leads.h"
#include "session/preview.h"
#include "session/quarantine.h"
#include "session/quarantine_moves.h"
#include "session/scan.h"
#include "session/session_parts.h"
#include "work/worker.h"

/* An answer within an answer for each would take more than a stack has. */
#define MANY 50000

static const struct tool row = {.name = "row", .runner = RUN_WORKER};
static uv_loop_t loop;
static struct session *session;

static void turn(void)
{
    cell_flush();
    uv_run(&loop, UV_RUN_ONCE);
    cell_reap();
}

static void open_session(struct config *config)
{
    struct err err;
    FREE_AT_END char *host = mem_format("%s/w", folder);
    FREE_AT_END char *state = mem_format("%s/state", folder);
    assert_int_equal(mkdir("w", 0755) | mkdir("state", 0700), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct session_options options = {
        .config = config,
        .state_fd = open("state", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .state = state,
        .id = "",
        .commands = true,
        .roots = {{"workspace", "/workspace", host, true}},
        .n_roots = 1,
    };
    if (session_new(&session, &loop, &options, &err) < 0)
        fail_msg("%s", err.message);
}

static void close_session(void)
{
    int state_fd = session->state_fd;
    session_free(session);
    while (uv_run(&loop, UV_RUN_ONCE))
        cell_reap();
    assert_int_equal(uv_loop_close(&loop), 0);
    close(state_fd);
}

static bool heard;
static bool has_cell;

static void hear(void *arg, const struct preview *preview, const struct err *err)
{
    (void)arg;
    (void)preview;
    heard = true;
    has_cell = !err || err->code != ERR_SANDBOX_UNAVAILABLE;
}

static void wait_for_cell(void)
{
    heard = false;
    struct call *call = call_new();
    call->tool = &row;
    call->workplace = session_workplace(session);
    call->op = &op_table[OP_DELETE];
    snprintf(call->path.text, sizeof call->path.text, "nothing");
    call->request.delete = (struct op_delete_request){.path = call_path_text(call)};
    session_preview(session, call, hear, NULL);
    while (!heard)
        turn();
    call_free(call);
    if (!has_cell)
        skip();
}

static void add_many(struct buf *list)
{
    char path[32];
    buf_init(list, 16u << 20);
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "%d/.envrc", i);
        struct op_guarded entry = {.path = text_str(path), .id = {1, 1}};
        quarantine_add(list, 0, &entry);
    }
}

static void many_that_cannot_be_sent(void **state)
{
    (void)state;
    struct config *config = config_new();
    open_session(config);
    wait_for_cell();
    struct call *call = call_new();
    call->workplace = session_workplace(session);
    call->command = command_new(1000);
    add_many(&call->command->after.fresh);
    cell_kill(session->host.cell, "a test");
    assert_false(quarantine_after(call));
    const struct command_violations *all = &call->command->violations;
    assert_int_equal(all->count, COMMAND_VIOLATIONS_MAX);
    assert_string_equal(all->list[0].what, "created:0/.envrc");
    assert_int_equal(command_violations_unshown(call->command), MANY - COMMAND_VIOLATIONS_SHOWN);
    /* None of them was begun. */
    struct quarantine_move move;
    bool unsure = false;
    assert_false(quarantine_move_next(session->spec.roots[spec_store(&session->spec)].host, "",
                                      &move, &unsure));
    assert_false(unsure);
    call_free(call);
    close_session();
    config_free(config);
}

/* With descriptors for so many more. */
static bool next_with(unsigned more, const char *store, struct quarantine_move *ret, bool *unsure)
{
    struct rlimit was = few_fds_begin(more);
    bool next = quarantine_move_next(store, "", ret, unsure);
    few_fds_end(&was);
    return next;
}

static void a_move_that_cannot_be_looked_at_is_known_to_be_missing(void **state)
{
    (void)state;
    FREE_AT_END char *store = mem_format("%s/store", folder);
    struct quarantine_move move = {
        .id = "abcdefghijkl", .entry = {.kind = GUARDED_PROTECTED, .path = text_str("a/.envrc")}};
    assert_int_equal(quarantine_move_write(store, &move), 0);
    quarantine_move_done(&move);
    for (unsigned more = 0; more < 3; more++) {
        bool unsure = false;
        bool next = next_with(more, store, &move, &unsure);
        assert_int_equal(next, more == 2);
        assert_int_equal(unsure, more < 2);
    }
    assert_string_equal(move.path, "a/.envrc");
    quarantine_move_done(&move);
}

static void a_note_that_cannot_be_written_leaves_nothing(void **state)
{
    (void)state;
    FREE_AT_END char *store = mem_format("%s/store", folder);
    char host[] = "/w";
    const struct cell_root root = {.host = host};
    assert_int_equal(mkdir("store.quarantine", 0700) | mkdir("store.quarantine/abcdefghijkl", 0700),
                     0);
    assert_int_equal(quarantine_note_write(store, "abcdefghijkl", &root, STR(".envrc")), -EISDIR);
    assert_int_equal(rmdir("store.quarantine/abcdefghijkl") | rmdir("store.quarantine"), 0);
}

/* The last look at a repository that was judged while others ran: the cell dies before it. */
static void a_suspect_is_not_forgotten(void **state)
{
    (void)state;
    struct config *config = config_new();
    open_session(config);
    wait_for_cell();
    struct call *call = call_new();
    call->workplace = session_workplace(session);
    call->command = command_new(1000);
    struct command_after *after = &call->command->after;
    for (int i = 0; i < 2; i++) {
        const struct op_guarded entry = {
            .kind = GUARDED_GIT, .path = text_str("a/.git"), .id = {1, 1}};
        *after = (struct command_after){.suspects = BUF_INIT(1 << 20), .suspects_ns = 7};
        quarantine_add(&after->suspects, 0, &entry);
        if (i == 0)
            cell_kill(session->host.cell, "a test");
        /* The second time it is known that it died. */
        while (i && session->host.cell)
            turn();
        assert_false(quarantine_after(call));
        assert_string_equal(call->command->violations.list[0].what, "created:a/.git");
        assert_int_equal(call->command->violations.count, 1);
        buf_done(&after->suspects);
        suspects_give(session, call);
        assert_true(after->suspects.len > 0);
        assert_int_equal(after->suspects_ns, 7);
        buf_done(&after->suspects);
    }
    call_free(call);
    close_session();
    config_free(config);
}

static struct str pack(struct buf *list, const struct op_guarded *entry)
{
    buf_reset(list, 1 << 20);
    op_guarded_add(list, entry);
    return buf_str(list);
}

static void assert_given(struct call *call, const char *path)
{
    struct op_guarded given;
    struct command_after *after = &call->command->after;
    suspects_give(session, call);
    struct str rest = buf_str(&after->suspects);
    assert_true(rest.n > 1);
    rest = (struct str){rest.p + 1, rest.n - 1};
    assert_int_equal(op_guarded_next(&rest, &given), 1);
    assert_int_equal(rest.n, 0);
    assert_true(str_is(given.path, path));
    suspects_note(session, 0, &given, after->suspects_ns);
}

/* A command can move a folder around it. */
static void a_suspect_is_known_where_it_was_moved(void **state)
{
    (void)state;
    struct config *config = config_new();
    open_session(config);
    wait_for_cell();
    struct call *call = call_new();
    call->workplace = session_workplace(session);
    call->command = command_new(1000);
    call->command->after.suspects = BUF_INIT(1 << 20);
    BUF_AT_END struct buf list = BUF_INIT(1 << 20);
    struct op_guarded entry = {.kind = GUARDED_GIT, .path = text_str("a/.git"), .id = {5, 9}};
    suspects_note(session, 0, &entry, 7);
    entry.path = text_str("b/.git");
    suspects_found(session, 1, pack(&list, &entry));
    assert_given(call, "a/.git");
    entry.kind = GUARDED_PROTECTED;
    suspects_found(session, 0, pack(&list, &entry));
    assert_given(call, "a/.git");
    entry.kind = GUARDED_GIT;
    entry.id.born_ns = 8;
    suspects_found(session, 0, pack(&list, &entry));
    assert_given(call, "a/.git");
    entry.id.born_ns = 9;
    suspects_found(session, 0, pack(&list, &entry));
    assert_given(call, "b/.git");
    assert_int_equal(call->command->after.suspects_ns, 7);
    call_free(call);
    close_session();
    config_free(config);
}

static void add_file(struct buf *list, const char *path)
{
    struct statx st;
    assert_int_equal(statx(AT_FDCWD, "w/d/.envrc", 0, STATX_INO | STATX_BTIME, &st), 0);
    struct op_guarded entry = {
        .kind = GUARDED_PROTECTED,
        .type = TYPE_FILE,
        .fresh = true,
        .path = text_str(path),
        .id = {st.stx_ino, (int64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec}};
    quarantine_add(list, 0, &entry);
}

static void wait_for_answer(struct command_after *after)
{
    /* It is not to go on with the steps that follow. */
    after->asking = true;
    while (!after->answered)
        turn();
    after->asking = false;
}

static void what_stays_is_asked_about_once(void **state)
{
    (void)state;
    struct config *config = config_new();
    open_session(config);
    assert_int_equal(mkdir("w/d", 0777), 0);
    close(open("w/d/.envrc", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    wait_for_cell();
    struct call *call = call_new();
    call->workplace = session_workplace(session);
    call->command = command_new(1000);
    struct command_after *after = &call->command->after;
    *after = (struct command_after){.fresh = BUF_INIT(1 << 20), .stays = BUF_INIT(1 << 20)};
    add_file(&after->fresh, "d/.envrc");
    assert_true(quarantine_after(call));
    wait_for_answer(after);
    assert_string_equal(call->command->violations.list[0].what, "created:d/.envrc");
    /* Something else was moved, so all is looked at again. */
    after->again = true;
    after->first_look = 1;
    assert_false(quarantine_again(call));
    assert_int_equal(call->command->violations.count, 0);
    add_file(&after->fresh, "d/.envrc");
    assert_false(quarantine_after(call));
    assert_int_equal(call->command->violations.count, 1);
    assert_string_equal(call->command->violations.list[0].what, "created:d/.envrc");
    /* The same file under another name is something else. */
    add_file(&after->fresh, "e/.envrc");
    assert_true(quarantine_after(call));
    wait_for_answer(after);
    call_free(call);
    close_session();
    config_free(config);
}

/* The cell dies while it is looked up where links lead: the next one is asked anew, or no command would ever start. */
static void leads_are_followed_by_the_next_cell(void **state)
{
    (void)state;
    struct config *config = config_new();
    open_session(config);
    wait_for_cell();
    session->spec.roots[0].commands = true;
    leads_follow(session);
    assert_true(session->leads > 0);
    cell_kill(session->host.cell, "a test");
    while (session->host.cell)
        turn();
    assert_int_equal(session->leads, 0);
    session->spec.roots[0].commands = false;
    wait_for_cell();
    session->spec.roots[0].commands = true;
    scan_start(session);
    assert_true(session->scans > 0);
    close_session();
    config_free(config);
}

int main(int argc, char **argv)
{
    processor_init();
    /* A cell begins with the program that runs. */
    int own_status;
    if (own_start_done(argc, argv, worker_main, &own_status))
        return own_status;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_that_cannot_be_sent, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_move_that_cannot_be_looked_at_is_known_to_be_missing,
                                        folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(a_note_that_cannot_be_written_leaves_nothing, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(a_suspect_is_not_forgotten, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(a_suspect_is_known_where_it_was_moved, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(what_stays_is_asked_about_once, folder_set_up,
                                        folder_tear_down),
        cmocka_unit_test_setup_teardown(leads_are_followed_by_the_next_cell, folder_set_up,
                                        folder_tear_down),
    };
    return cmocka_run_group_tests_name("session_quarantine", tests, NULL, NULL);
}
