/* Tools in WebAssembly, hostile ones before all: each ends, and its end has its own name. */
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <wasmtime.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/wasm_imports.h"
#include "roles/vm.h"
#include "roles/vm_parts.h"

#define IMPORTS                                                                                    \
    "(import \"wasi_snapshot_preview1\" \"fd_read\" (func $read (param i32 i32 i32 i32) (result "  \
    "i32)))"                                                                                       \
    "(import \"wasi_snapshot_preview1\" \"fd_write\" (func $write (param i32 i32 i32 i32) "        \
    "(result i32)))"                                                                               \
    "(import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32)))"                   \
    "(import \"wasi_snapshot_preview1\" \"poll_oneoff\" (func $poll (param i32 i32 i32 i32) "      \
    "(result i32)))"                                                                               \
    "(import \"wasi_snapshot_preview1\" \"random_get\" (func $random (param i32 i32) (result "     \
    "i32)))"                                                                                       \
    "(import \"wasi_snapshot_preview1\" \"path_open\" (func $open (param i32 i32 i32 i32 i32 i64 " \
    "i64 i32 i32) (result i32)))"                                                                  \
    "(import \"wasi_snapshot_preview1\" \"sock_send\" (func $send (param i32 i32 i32 i32 i32) "    \
    "(result i32)))"
#define MODULE(body) "(module " IMPORTS body ")"
#define MEMORY "(memory (export \"memory\") 2)"
#define START(code) MODULE(MEMORY "(func $main (export \"_start\") " code ")")
/* Standard input to standard output, up to 64 KiB at once. */
#define ECHO                                                                                       \
    "(i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const 65536))"         \
    "(drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))"                  \
    "(i32.store (i32.const 4) (i32.load (i32.const 8)))"                                           \
    "(drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))"

/* Wasmtime's, by which it learns of traps. cmocka puts its own in their place before each test. */
static const int trap_signals[] = {SIGSEGV, SIGILL, SIGFPE, SIGBUS};
static struct sigaction trap_actions[ARRAY_LEN(trap_signals)];

static void keep_trap_actions(void)
{
    struct vm *vm = NULL;
    struct err err;
    if (vm_new(&vm, &err) < 0)
        abort();
    for (size_t i = 0; i < ARRAY_LEN(trap_signals); i++)
        sigaction(trap_signals[i], NULL, &trap_actions[i]);
    vm_free(vm);
}

static void use_trap_actions(void)
{
    for (size_t i = 0; i < ARRAY_LEN(trap_signals); i++)
        sigaction(trap_signals[i], &trap_actions[i], NULL);
}

static int make(const char *wat, struct vm **ret, struct err *err)
{
    wasm_byte_vec_t wasm;
    use_trap_actions();
    wasmtime_error_t *error = wasmtime_wat2wasm(wat, strlen(wat), &wasm);
    assert_null(error);
    BUF_AT_END struct buf compiled = BUF_INIT(VM_CODE_MAX);
    assert_int_equal(vm_new(ret, err), 0);
    int r = vm_compile(*ret, (struct str){wasm.data, wasm.size}, &compiled, err);
    wasm_byte_vec_delete(&wasm);
    if (r == 0)
        r = vm_load(*ret, buf_str(&compiled), err);
    return r;
}

static const struct vm_limits usual = {
    .wall_ms = 5000, .memory = 16u << 20, .fuel = 0, .output = 100000};

static int run_with(const char *wat, struct vm_limits limits, struct vm_result *ret,
                    struct err *err)
{
    struct vm *vm = NULL;
    assert_int_equal(make(wat, &vm, err), 0);
    struct vm_call call = {.name = "tool", .input = STR("{\"a\":1}"), .limits = limits};
    int r = vm_run(vm, &call, ret, err);
    vm_free(vm);
    return r;
}

static enum err_code end_with(const char *wat, struct vm_limits limits, struct err *err)
{
    struct vm_result result;
    int r = run_with(wat, limits, &result, err);
    vm_result_done(&result);
    assert_int_equal(r, -1);
    return err->code;
}

static void a_tool_reads_and_writes_json(void **state)
{
    (void)state;
    struct vm_result result;
    struct err err;
    assert_int_equal(run_with(START(ECHO), usual, &result, &err), 0);
    assert_int_equal(result.output.len, 7);
    assert_memory_equal(result.output.data, "{\"a\":1}", 7);
    assert_true(result.fuel > 0);
    assert_int_equal(result.memory, 131072);
    vm_result_done(&result);
}

/* A second call finds nothing of the first one, neither beyond its own memory nor in it. */
static void calls_are_apart(void **state)
{
    (void)state;
    static const char wat[] = START("(if (i32.load (i32.const 100)) (then unreachable))"
                                    "(if (i32.ne (memory.size) (i32.const 2)) (then unreachable))"
                                    "(drop (memory.grow (i32.const 100)))"
                                    "(i32.store (i32.const 100) (i32.const 7))"
                                    "(i32.store (i32.const 6000000) (i32.const 7))" ECHO);
    struct vm *vm = NULL;
    struct err err;
    assert_int_equal(make(wat, &vm, &err), 0);
    for (int i = 0; i < 1000; i++) {
        struct vm_call call = {.name = "tool", .input = STR("{}"), .limits = usual};
        struct vm_result result;
        assert_int_equal(vm_run(vm, &call, &result, &err), 0);
        assert_int_equal(result.output.len, 2);
        vm_result_done(&result);
    }
    vm_free(vm);
}

/* Bytes behind its memory are a fault, also those that an earlier call had. */
static void memory_ends_where_it_ends(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(end_with(START("(drop (i32.load (i32.const 131072)))"), usual, &err),
                     ERR_TRAP);
    assert_non_null(strstr(err.message, "memory that it does not have"));
    struct vm *vm = NULL;
    assert_int_equal(
        make(START("(if (i32.eqz (call $read (i32.const 0) (i32.const 0) (i32.const 0) "
                   "(i32.const 8))) (then (if (i32.eq (memory.grow (i32.const 10)) "
                   "(i32.const -1)) (then unreachable))))"
                   "(i32.store (i32.const 700000) (i32.const 1))"),
             &vm, &err),
        0);
    struct vm_call call = {.name = "tool", .limits = usual};
    struct vm_result result;
    assert_int_equal(vm_run(vm, &call, &result, &err), 0);
    vm_result_done(&result);
    call.limits.memory = 131072;
    assert_int_equal(vm_run(vm, &call, &result, &err), -1);
    assert_int_equal(err.code, ERR_MEMORY_LIMIT);
    vm_result_done(&result);
    vm_free(vm);
}

static uint64_t ms_since(uint64_t begin)
{
    return (clock_mono_ns() - begin) / 1000000u;
}

static void endless_ones_are_stopped(void **state)
{
    (void)state;
    struct vm_limits brief = usual;
    struct err err;
    brief.wall_ms = 50;
    static const char *const wats[] = {
        START("(loop $l (br $l))"),
        /* a subscription to a clock that is due in an hour */
        START("(i32.store (i32.const 16) (i32.const 1)) (i32.store8 (i32.const 8) (i32.const 0))"
              "(i64.store (i32.const 24) (i64.const 3600000000000))"
              "(drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 100)))"),
        START("(loop $l (drop (call $random (i32.const 0) (i32.const 131072))) (br $l))"),
        START("(loop $l (drop (call $write (i32.const 2) (i32.const 0) (i32.const 8192) "
              "(i32.const 131000))) (br $l))"),
    };
    for (size_t i = 0; i < ARRAY_LEN(wats); i++) {
        uint64_t begin = clock_mono_ns();
        assert_int_equal(end_with(wats[i], brief, &err), ERR_TIMEOUT);
        assert_true(ms_since(begin) >= 50);
        assert_non_null(strstr(err.message, "50 ms"));
    }
}

static void each_limit_has_its_name(void **state)
{
    (void)state;
    struct vm_limits l = usual;
    struct err err;
    l.fuel = 1000;
    assert_int_equal(end_with(START("(loop $l (br $l))"), l, &err), ERR_FUEL_LIMIT);
    l.fuel = 0;
    assert_int_equal(end_with(START("(call $main)"), l, &err), ERR_TRAP);
    assert_non_null(strstr(err.message, "its stack is full"));
    assert_non_null(strstr(err.message, "`main`"));
    assert_int_equal(end_with(START("(if (i32.eq (memory.grow (i32.const 1000)) (i32.const -1)) "
                                    "(then unreachable))"),
                              l, &err),
                     ERR_MEMORY_LIMIT);
    l.memory = 65536;
    assert_int_equal(end_with(START(""), l, &err), ERR_MEMORY_LIMIT);
    l.memory = 16u << 20;
    l.output = 1000;
    assert_int_equal(end_with(START("(i32.store (i32.const 4) (i32.const 100))"
                                    "(loop $l (drop (call $write (i32.const 1) (i32.const 0) "
                                    "(i32.const 1) (i32.const 8))) (br $l))"),
                              l, &err),
                     ERR_OUTPUT_LIMIT);
    assert_int_equal(
        end_with(START("(drop (i32.div_s (i32.const 1) (i32.load (i32.const 0))))"), l, &err),
        ERR_TRAP);
    assert_non_null(strstr(err.message, "divided by zero"));
}

static void exits_are_told_apart(void **state)
{
    (void)state;
    struct vm_result result;
    struct err err;
    assert_int_equal(
        run_with(START("(call $exit (i32.const 0)) unreachable"), usual, &result, &err), 0);
    vm_result_done(&result);
    assert_int_equal(
        end_with(START("(i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const "
                       "4) (i32.const 2)) (i32.store (i32.const 16) (i32.const 0x6f6e))"
                       "(drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) "
                       "(i32.const 8))) (call $exit (i32.const 3))"),
                 usual, &err),
        ERR_TRAP);
    assert_string_equal(err.reason, "exit_status");
    assert_string_equal(err.message, "the tool ended with exit status 3 and wrote `no`");
}

static void what_is_not_granted_is_named(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(
        end_with(START("(i32.store (i32.const 32) (i32.const 0x2f637465))" /* etc/ */
                       "(drop (call $open (i32.const 3) (i32.const 0) (i32.const 32) (i32.const 4) "
                       "(i32.const 0) (i64.const -1) (i64.const -1) (i32.const 0) (i32.const 8)))"
                       "(call $exit (i32.const 1))"),
                 usual, &err),
        ERR_CAPABILITY_DENIED);
    assert_non_null(strstr(err.message, "the file `/etc/`"));
    assert_string_equal(err.reason, "filesystem");
    assert_int_equal(end_with(START("(drop (call $send (i32.const 3) (i32.const 0) (i32.const 0) "
                                    "(i32.const 0) (i32.const 0))) (call $exit (i32.const 1))"),
                              usual, &err),
                     ERR_CAPABILITY_DENIED);
    assert_string_equal(err.reason, "network");
}

/* Every function with numbers at random, pointers that lead out among them: an errno, and no more. */
static void every_import_takes_any_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *types;
    } rows[] = {
        {"args_get", "ii"},
        {"args_sizes_get", "ii"},
        {"clock_res_get", "ii"},
        {"clock_time_get", "iIi"},
        {"environ_get", "ii"},
        {"environ_sizes_get", "ii"},
        {"fd_advise", "iIIi"},
        {"fd_allocate", "iII"},
        {"fd_close", "i"},
        {"fd_datasync", "i"},
        {"fd_fdstat_get", "ii"},
        {"fd_fdstat_set_flags", "ii"},
        {"fd_fdstat_set_rights", "iII"},
        {"fd_filestat_get", "ii"},
        {"fd_filestat_set_size", "iI"},
        {"fd_filestat_set_times", "iIIi"},
        {"fd_pread", "iiiIi"},
        {"fd_prestat_get", "ii"},
        {"fd_prestat_dir_name", "iii"},
        {"fd_pwrite", "iiiIi"},
        {"fd_read", "iiii"},
        {"fd_readdir", "iiiIi"},
        {"fd_renumber", "ii"},
        {"fd_seek", "iIii"},
        {"fd_sync", "i"},
        {"fd_tell", "ii"},
        {"fd_write", "iiii"},
        {"path_create_directory", "iii"},
        {"path_filestat_get", "iiiii"},
        {"path_filestat_set_times", "iiiiIIi"},
        {"path_link", "iiiiiii"},
        {"path_open", "iiiiiIIii"},
        {"path_readlink", "iiiiii"},
        {"path_remove_directory", "iii"},
        {"path_rename", "iiiiii"},
        {"path_symlink", "iiiii"},
        {"path_unlink_file", "iii"},
        {"poll_oneoff", "iiii"},
        {"random_get", "ii"},
        {"sched_yield", ""},
        {"sock_accept", "iii"},
        {"sock_recv", "iiiiii"},
        {"sock_send", "iiiii"},
        {"sock_shutdown", "ii"},
    };
    static const char *const numbers[] = {"0", "1", "2", "3", "4", "131071", "131072", "-1", "8"};
    unsigned seed = 1;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        BUF_AT_END struct buf wat = BUF_INIT(1u << 20);
        buf_addf(&wat, "(module (import \"wasi_snapshot_preview1\" \"%s\" (func $f (param",
                 rows[i].name);
        for (const char *t = rows[i].types; *t; t++)
            buf_add_text(&wat, *t == 'I' ? " i64" : " i32");
        buf_add_text(&wat, ") (result i32))) " MEMORY "(func (export \"_start\")");
        for (int n = 0; n < 100; n++) {
            buf_add_text(&wat, "(drop (call $f");
            for (const char *t = rows[i].types; *t; t++) {
                seed = seed * 1103515245u + 12345u;
                buf_addf(&wat, "(%s.const %s)", *t == 'I' ? "i64" : "i32",
                         numbers[(seed >> 16) % ARRAY_LEN(numbers)]);
            }
            buf_add_text(&wat, "))");
        }
        buf_add_text(&wat, "))");
        struct vm_result result;
        struct err err = {.code = ERR_COUNT};
        int r = run_with(buf_text(&wat), usual, &result, &err);
        if (r < 0 && err.code != ERR_OUTPUT_LIMIT)
            fail_msg("%s: %s", rows[i].name, err.message);
        vm_result_done(&result);
    }
}

static void what_is_no_tool_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *wat;
        const char *words;
    } cases[] = {
        {"(module (import \"env\" \"system\" (func)) (func (export \"_start\")))", "env.system"},
        {"(module (import \"wasi_snapshot_preview1\" \"exec\" (func)) (func (export \"_start\")))",
         "wasi_snapshot_preview1.exec"},
        {"(module (import \"wasi_snapshot_preview1\" \"fd_read\" (memory 1)) (func (export "
         "\"_start\")))",
         "wasi_snapshot_preview1.fd_read"},
        {"(module)", "`_start`"},
        {"(module (func (export \"_start\") (param i32)))", "`_start`"},
        {"(module (func) (memory (export \"_start\") 1))", "`_start`"},
        {"(module (memory 1) (memory 1) (func (export \"_start\")))", "memor"},
        {"(module (memory 1 1 shared) (func (export \"_start\")))", "shared"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct vm *vm = NULL;
        struct err err;
        assert_int_equal(make(cases[i].wat, &vm, &err), -1);
        if (err.code != ERR_NOT_SUPPORTED || !strstr(err.message, cases[i].words))
            fail_msg("%s", err.message);
        vm_free(vm);
    }
}

/* An import with another type than preview 1 has: found when it is linked. */
static void another_type_is_refused(void **state)
{
    (void)state;
    struct vm *vm = NULL;
    struct err err;
    assert_int_equal(make("(module (import \"wasi_snapshot_preview1\" \"fd_read\" (func)) (func "
                          "(export \"_start\")))",
                          &vm, &err),
                     -1);
    vm_free(vm);
}

static void damaged_modules_are_refused(void **state)
{
    (void)state;
    wasm_byte_vec_t wasm;
    static const char wat[] = "(module (memory (export \"memory\") 1) (func (export \"_start\") "
                              "(drop (i32.const 1))))"; /* no names, which may be missing */
    assert_null(wasmtime_wat2wasm(wat, sizeof wat - 1, &wasm));
    struct vm *vm = NULL;
    struct err err;
    assert_int_equal(vm_new(&vm, &err), 0);
    for (size_t n = 0; n < wasm.size; n++) {
        BUF_AT_END struct buf compiled = BUF_INIT(VM_CODE_MAX);
        assert_int_equal(vm_compile(vm, (struct str){wasm.data, n}, &compiled, &err), -1);
        assert_int_equal(err.code, ERR_NOT_SUPPORTED);
    }
    wasm_byte_vec_delete(&wasm);
    vm_free(vm);
}

static void a_table_cannot_take_all_memory(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(
        end_with(MODULE(MEMORY "(table 1 funcref) (func (export \"_start\") (loop $l (br_if $l "
                               "(i32.ne (table.grow (ref.null func) (i32.const 100000)) (i32.const "
                               "-1))) unreachable))"),
                 usual, &err),
        ERR_TRAP);
}

static void variables_reach_it(void **state)
{
    (void)state;
    static const char wat[] =
        "(module (import \"wasi_snapshot_preview1\" \"environ_get\" (func $get (param i32 i32) "
        "(result i32)))"
        "(import \"wasi_snapshot_preview1\" \"fd_write\" (func $write (param i32 i32 i32 i32) "
        "(result i32)))" MEMORY "(func (export \"_start\")"
        "(drop (call $get (i32.const 64) (i32.const 100)))"
        "(i32.store (i32.const 0) (i32.load (i32.const 68))) (i32.store (i32.const 4) (i32.const 3))"
        "(drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))";
    struct vm *vm = NULL;
    struct err err;
    struct vm_result result;
    const struct str env[] = {STR("A=1"), STR("B=2")};
    assert_int_equal(make(wat, &vm, &err), 0);
    struct vm_call call = {.name = "tool", .env = env, .n_env = 2, .limits = usual};
    assert_int_equal(vm_run(vm, &call, &result, &err), 0);
    assert_memory_equal(result.output.data, "B=2", 3);
    vm_result_done(&result);
    vm_free(vm);
}

/* What is told of a module before it runs goes by a table in the gate. */
static void the_gate_knows_the_same_functions(void **state)
{
    (void)state;
    static const char *const names[] = {"fd_write",    "path_open",  "sock_send", "environ_get",
                                        "poll_oneoff", "fd_nothing", "path_",     ""};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_int_equal(vm_wasi_has(str_of(names[i])),
                         wasm_wasi_capability(str_of(names[i])) >= 0);
    size_t n = 0;
    for (size_t i = 0; vm_wasi_name(i); i++, n++)
        assert_true(wasm_wasi_capability(str_of(vm_wasi_name(i))) >= 0);
    assert_int_equal(n, wasm_wasi_functions());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_reads_and_writes_json),
        cmocka_unit_test(calls_are_apart),
        cmocka_unit_test(memory_ends_where_it_ends),
        cmocka_unit_test(endless_ones_are_stopped),
        cmocka_unit_test(each_limit_has_its_name),
        cmocka_unit_test(exits_are_told_apart),
        cmocka_unit_test(what_is_not_granted_is_named),
        cmocka_unit_test(every_import_takes_any_numbers),
        cmocka_unit_test(what_is_no_tool_is_refused),
        cmocka_unit_test(another_type_is_refused),
        cmocka_unit_test(damaged_modules_are_refused),
        cmocka_unit_test(a_table_cannot_take_all_memory),
        cmocka_unit_test(variables_reach_it),
        cmocka_unit_test(the_gate_knows_the_same_functions),
    };
    keep_trap_actions();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
