/* Roles that are programs of their own, in real cells: started with the first call, kept, ended, started again. */
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/own_start.h"
#include "core/pipeline.h"
#include "core/registry.h"
#include "dialect/dialects.h"
#include "session/role_cells.h"
#include "work/worker.h"

static uv_loop_t loop;
static struct pipeline pipeline;
static struct workplace workplace;
static struct role_cells *cells;
static unsigned answered;
static int64_t most = 1000;
static const char *program_folder;
static char big_page[1 << 20];
static struct str page;

static int prepare_page(struct call *call, struct err *err)
{
    (void)err;
    call->op = &op_table[OP_PAGE];
    call->request.page = (struct op_page_request){.url = STR("http://a.example/"),
                                                  .max_bytes = most};
    call->request_body = page;
    call->reply_max = (size_t)most;
    return 0;
}

static const struct tool read_page = {.dialect = DIALECT_NATIVE,
                                      .name = "read_page",
                                      .args = {.size = 1},
                                      .runner = RUN_ROLE,
                                      .prepare = prepare_page};
static const struct tool *const tools[] = {&read_page, NULL};

static void start(struct call *call)
{
    role_cells_start(cells, call);
}

static void cancel(struct call *call)
{
    role_cells_cancel(cells, call);
}

static void kill_call(struct call *call)
{
    role_cells_kill(cells, call);
}

static void late(struct call *call)
{
    (void)call;
}

static const struct runner runners[RUN_COUNT] = {
    [RUN_ROLE] = {.start = start, .cancel = cancel, .kill = kill_call, .late = late}};

static void on_child(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    cell_reap();
}

static int find_built(const struct workplace *at, const char *name, char *path, struct err *err)
{
    (void)at;
    (void)err;
    snprintf(path, PATH_MAX, "%s/%s", program_folder, name);
    return 0;
}

static void answer(struct call *call)
{
    (void)call;
    answered++;
    uv_stop(&loop);
}

static struct call *begin_page(const char *text)
{
    struct call *call = call_new();
    page = text ? (struct str){text, strlen(text)} : (struct str){big_page, sizeof big_page};
    call->dialect = &dialect_native;
    call->workplace = &workplace;
    call->name = mem_dup("read_page");
    call->answer = answer;
    pipeline_run_direct(&pipeline, call);
    return call;
}

static void finish(unsigned count)
{
    while (answered < count)
        uv_run(&loop, UV_RUN_DEFAULT);
    answered = 0;
}

static struct call *read_one(const char *text)
{
    struct call *call = begin_page(text);
    finish(1);
    return call;
}

static void assert_title(const char *text, const char *title)
{
    struct call *call = read_one(text);
    if (call->failed)
        fail_msg("%s", call->err.message);
    assert_true(str_is(call->reply.page.title, title));
    call_free(call);
}

static void a_role_is_started_with_its_first_call(void **state)
{
    (void)state;
    assert_int_equal(role_cells_group(cells, OP_IN_PARSE), 0);
    assert_title("<title>One &amp; all</title><p>x", "One & all");
    pid_t group = role_cells_group(cells, OP_IN_PARSE);
    assert_true(group > 0);
    assert_title("<title>two</title>", "two");
    assert_int_equal(role_cells_group(cells, OP_IN_PARSE), group);
}

static void a_body_that_no_frame_holds_arrives_whole(void **state)
{
    (void)state;
    static const char end[] = "--><title>at the end</title>";
    memset(big_page, 'x', sizeof big_page);
    memcpy(big_page, "<!--", 4);
    memcpy(big_page + sizeof big_page - sizeof end, end, sizeof end);
    assert_title(NULL, "at the end");
}

static void calls_of_one_that_dies_are_interrupted_and_the_next_has_another(void **state)
{
    (void)state;
    assert_title("<title>before</title>", "before");
    pid_t group = role_cells_group(cells, OP_IN_PARSE);
    assert_int_equal(kill(-group, SIGSTOP), 0);
    struct call *call = begin_page("<title>during</title>");
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(kill(-group, SIGKILL), 0);
    finish(1);
    assert_true(call->failed);
    assert_int_equal(call->err.code, ERR_INTERRUPTED);
    call_free(call);
    assert_title("<title>after</title>", "after");
    assert_int_not_equal(role_cells_group(cells, OP_IN_PARSE), group);
}

static void one_that_does_not_answer_is_ended_with_its_calls(void **state)
{
    (void)state;
    assert_title("<title>before</title>", "before");
    assert_int_equal(kill(-role_cells_group(cells, OP_IN_PARSE), SIGSTOP), 0);
    struct call *call = begin_page("<title>never</title>");
    call->grace_ns = 1000000;
    pipeline_cancel(call, ERR_CANCELLED, "enough");
    finish(1);
    assert_true(call->failed);
    assert_int_equal(call->err.code, ERR_CANCELLED);
    call_free(call);
    assert_title("<title>after</title>", "after");
}

static void a_program_that_is_not_there_fails_the_call(void **state)
{
    (void)state;
    const char *was = program_folder;
    program_folder = "/nonexistent";
    role_cells_free(cells);
    cells = role_cells_new(&loop, &workplace, find_built);
    struct call *call = read_one("<title>x</title>");
    assert_true(call->failed);
    assert_int_equal(call->err.code, ERR_SANDBOX_UNAVAILABLE);
    assert_non_null(strstr(call->err.message, "/nonexistent/parse"));
    call_free(call);
    program_folder = was;
    assert_title("<title>now</title>", "now");
}

static int set_up(void **state)
{
    static uv_signal_t child;
    (void)state;
    workplace.config = config_new();
    registry_use(tools);
    uv_loop_init(&loop);
    uv_signal_init(&loop, &child);
    uv_signal_start(&child, on_child, SIGCHLD);
    uv_unref((uv_handle_t *)&child);
    pipeline_init(&pipeline, &loop);
    pipeline.runners = runners;
    pipeline.flush = cell_flush;
    pipeline.timeout_ms = 60000;
    cells = role_cells_new(&loop, &workplace, find_built);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    role_cells_free(cells);
    cell_unprepare();
    config_free((struct config *)(uintptr_t)workplace.config);
    return 0;
}

int main(int argc, char **argv)
{
    static char folder[PATH_MAX];
    int own_status;
    if (own_start_done(argc, argv, worker_main, &own_status))
        return own_status;
    /* tests/unit/… of a build, whose programs of roles are in src/roles. */
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 32);
    if (n <= 0)
        return 1;
    for (int up = 0; up < 3; up++)
        *strrchr(folder, '/') = '\0';
    strcat(folder, "/src/roles");
    program_folder = folder;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_role_is_started_with_its_first_call),
        cmocka_unit_test(a_body_that_no_frame_holds_arrives_whole),
        cmocka_unit_test(calls_of_one_that_dies_are_interrupted_and_the_next_has_another),
        cmocka_unit_test(one_that_does_not_answer_is_ended_with_its_calls),
        cmocka_unit_test(a_program_that_is_not_there_fails_the_call),
    };
    return cmocka_run_group_tests_name("role_cells", tests, set_up, tear_down);
}
