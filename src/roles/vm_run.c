/* One call, from its instance to its end. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "base/clock.h"
#include "roles/vm_parts.h"

#define TABLE_ELEMENTS_MAX 1000000
#define SHOWN_MAX 120
#define NO_TRAP_CODE 255

/* The engine whose guest the alarm interrupts: a process has one. */
static wasm_engine_t *engine_of_alarm;

static void on_alarm(int number)
{
    (void)number;
    wasmtime_engine_increment_epoch(engine_of_alarm); /* safe in a handler: one atomic addition */
}

/* 0 ends it. No alarm is delivered to this only thread once this has returned. */
static void set_alarm(uint64_t ms)
{
    struct itimerval timer = {.it_value = {(time_t)(ms / 1000), (suseconds_t)(ms % 1000) * 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void catch_alarm(struct vm *vm)
{
    if (engine_of_alarm == vm->engine)
        return;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_ONSTACK};
    engine_of_alarm = vm->engine;
    sigaction(SIGALRM, &action, NULL);
}

static void show_bytes(struct str bytes, char out[SHOWN_MAX + 1])
{
    size_t n = bytes.n < SHOWN_MAX ? bytes.n : SHOWN_MAX;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(bytes.p[i] >= ' ' && bytes.p[i] < 0x7f ? bytes.p[i] : '?');
    out[n] = '\0';
}

static int tell_limit(const struct vm *vm, wasmtime_trap_code_t code, struct err *err)
{
    const struct vm_limits *l = &vm->call->limits;
    if (vm->timed_out || code == WASMTIME_TRAP_CODE_INTERRUPT)
        return err_set(err, ERR_TIMEOUT, "the tool ran longer than its %llu ms",
                       (unsigned long long)l->wall_ms);
    if (vm->too_much_output)
        return err_set(err, ERR_OUTPUT_LIMIT,
                       "the tool wrote more than its %zu bytes to standard output", l->output);
    if (code == WASMTIME_TRAP_CODE_OUT_OF_FUEL)
        return err_set(err, ERR_FUEL_LIMIT, "the tool used up its fuel of %llu",
                       (unsigned long long)l->fuel);
    if (vm->memory.refused)
        return err_set(err, ERR_MEMORY_LIMIT,
                       "the tool asked for more than its %llu bytes of memory",
                       (unsigned long long)l->memory);
    if (vm->denied) {
        err_set(err, ERR_CAPABILITY_DENIED,
                "the tool wanted %s and was not granted `%s`: ask for it in the manifest's "
                "`capabilities`, if it is to have that",
                vm->denied_what, vm->denied);
        return err_reason(err, vm->denied);
    }
    return 1;
}

static int tell_exit(const struct vm *vm, struct err *err)
{
    char log[SHOWN_MAX + 1];
    struct str line = buf_str(&vm->result->log);
    const char *end = line.n ? memchr(line.p, '\n', line.n) : NULL;
    line.n = end ? (size_t)(end - line.p) : line.n;
    show_bytes(line, log);
    err_set(err, ERR_TRAP, "the tool ended with exit status %lld%s%s%s",
            (long long)vm->result->exit_status, log[0] ? " and wrote `" : "", log,
            log[0] ? "`" : "");
    return err_reason(err, "exit_status");
}

static const char *trap_word(wasmtime_trap_code_t code)
{
    switch (code) {
    case WASMTIME_TRAP_CODE_STACK_OVERFLOW:
        return "its stack is full (does it call itself without end?)";
    case WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS:
        return "it used memory that it does not have";
    case WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED:
        return "it aborted";
    case WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO:
        return "it divided by zero";
    case WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL:
    case WASMTIME_TRAP_CODE_BAD_SIGNATURE:
        return "it called a function that is none";
    default:
        return "it did what WebAssembly forbids";
    }
}

static void find_function(const wasm_trap_t *trap, char out[SHOWN_MAX + 1])
{
    wasm_frame_vec_t frames;
    wasm_trap_trace(trap, &frames);
    const wasm_name_t *name = frames.size ? wasmtime_frame_func_name(frames.data[0]) : NULL;
    if (name)
        show_bytes((struct str){name->data, name->size}, out);
    else if (frames.size)
        snprintf(out, SHOWN_MAX, "function %u", wasm_frame_func_index(frames.data[0]));
    else
        out[0] = '\0';
    wasm_frame_vec_delete(&frames);
}

static int tell_trap(const wasm_trap_t *trap, wasmtime_trap_code_t code, struct err *err)
{
    char function[SHOWN_MAX + 1];
    find_function(trap, function);
    err_set(err, ERR_TRAP, "the tool failed: %s%s%s%s", trap_word(code),
            function[0] ? ", in `" : "", function, function[0] ? "`" : "");
    return err_reason(err, "trap");
}

/* An end that an import asked for comes as an error, one of the guest's own code as a trap. */
static int tell_end(const struct vm *vm, wasm_trap_t *trap, wasmtime_error_t *error,
                    struct err *err)
{
    wasmtime_trap_code_t code = NO_TRAP_CODE;
    int r = 0;
    if (trap)
        (void)wasmtime_trap_code(trap, &code);
    if ((!trap && !error) || (vm->exited && vm->result->exit_status == 0))
        r = 0;
    else if (tell_limit(vm, code, err) < 0)
        r = -1;
    else if (vm->exited)
        r = tell_exit(vm, err);
    else if (trap)
        r = tell_trap(trap, code, err);
    else
        return vm_failed(err, ERR_TRAP, "the tool does not start", error);
    if (trap)
        wasm_trap_delete(trap);
    if (error)
        wasmtime_error_delete(error);
    return r;
}

static wasmtime_error_t *call_start(struct vm *vm, wasmtime_context_t *context, wasm_trap_t **trap)
{
    wasmtime_instance_t instance;
    wasmtime_extern_t start;
    wasmtime_error_t *error = wasmtime_instance_pre_instantiate(vm->pre, context, &instance, trap);
    if (error || *trap)
        return error;
    if (!wasmtime_instance_export_get(context, &instance, "_start", 6, &start) ||
        start.kind != WASMTIME_EXTERN_FUNC)
        return wasmtime_error_new("there is no function `_start`");
    return wasmtime_func_call(context, &start.of.func, NULL, 0, NULL, 0, trap);
}

static void begin(struct vm *vm, const struct vm_call *call, struct vm_result *ret)
{
    *ret = (struct vm_result){.output = BUF_INIT(call->limits.output), .log = BUF_INIT(VM_LOG_MAX)};
    vm->call = call;
    vm->result = ret;
    vm->read = 0;
    vm->exited = vm->timed_out = vm->too_much_output = vm->memory.refused = false;
    vm->denied = NULL;
    vm->memory.max = call->limits.memory;
    vm->deadline_ns = call->limits.wall_ms ? clock_mono_ns() + call->limits.wall_ms * 1000000u : 0;
}

int vm_run(struct vm *vm, const struct vm_call *call, struct vm_result *ret, struct err *err)
{
    begin(vm, call, ret);
    catch_alarm(vm);
    wasm_trap_t *trap = NULL;
    uint64_t fuel = call->limits.fuel ? call->limits.fuel : UINT64_MAX;
    uint64_t left = 0;
    wasmtime_store_t *store = wasmtime_store_new(vm->engine, vm, NULL);
    wasmtime_context_t *context = wasmtime_store_context(store);
    wasmtime_store_limiter(store, -1, TABLE_ELEMENTS_MAX, 1, 16, 1);
    wasmtime_context_set_epoch_deadline(context, 1);
    wasmtime_error_t *error = wasmtime_context_set_fuel(context, fuel);
    if (call->limits.wall_ms)
        set_alarm(call->limits.wall_ms);
    if (!error)
        error = call_start(vm, context, &trap);
    set_alarm(0);
    wasmtime_error_t *unknown = wasmtime_context_get_fuel(context, &left);
    if (unknown)
        wasmtime_error_delete(unknown);
    ret->fuel = fuel - left;
    ret->memory = vm->memory.size;
    int r = tell_end(vm, trap, error, err);
    wasmtime_store_delete(store);
    vm->call = NULL;
    vm->result = NULL;
    return r;
}

void vm_result_done(struct vm_result *result)
{
    buf_done(&result->output);
    buf_done(&result->log);
}
