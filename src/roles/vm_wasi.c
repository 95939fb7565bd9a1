/* WASI preview 1: variables, clocks, random numbers and the end. What has a descriptor is in vm_wasi_fd.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"
#include "roles/vm_wasi.h"

#define RANDOM_STEP 65536
#define POLL_MAX 4096

uint8_t *vm_guest_bytes(const struct vm *vm, uint32_t at, uint64_t n)
{
    const struct vm_memory *m = &vm->memory;
    return n <= m->size && at <= m->size - n ? m->base + at : NULL;
}

bool vm_put_bytes(const struct vm *vm, uint32_t at, const void *bytes, size_t n)
{
    uint8_t *to = vm_guest_bytes(vm, at, n);
    if (to && n)
        memcpy(to, bytes, n);
    return to != NULL;
}

/* Little-endian, as the machines are that Wasmtime compiles for here. */
uint32_t vm_put_u32(const struct vm *vm, uint32_t at, uint32_t value)
{
    return vm_put_bytes(vm, at, &value, sizeof value) ? WASI_OK : WASI_FAULT;
}

static uint32_t put_u64(const struct vm *vm, uint32_t at, uint64_t value)
{
    return vm_put_bytes(vm, at, &value, sizeof value) ? WASI_OK : WASI_FAULT;
}

bool vm_time_is_up(struct vm *vm)
{
    if (vm->deadline_ns && clock_mono_ns() >= vm->deadline_ns)
        vm->timed_out = true;
    return vm->timed_out;
}

/* --- arguments and variables */

/* Texts with a NUL behind each: pointers at `list`, bytes at `text`. */
static uint32_t put_texts(const struct vm *vm, const struct str *texts, size_t n, uint32_t list,
                          uint32_t text)
{
    for (size_t i = 0; i < n; i++) {
        if (vm_put_u32(vm, list + 4 * (uint32_t)i, text) != WASI_OK ||
            !vm_put_bytes(vm, text, texts[i].p, texts[i].n) ||
            !vm_put_bytes(vm, text + (uint32_t)texts[i].n, "", 1))
            return WASI_FAULT;
        text += (uint32_t)texts[i].n + 1;
    }
    return WASI_OK;
}

static uint32_t put_sizes(const struct vm *vm, const struct str *texts, size_t n,
                          const wasmtime_val_raw_t *a)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += texts[i].n + 1;
    uint32_t r = vm_put_u32(vm, wasi_u32(a, 0), (uint32_t)n);
    return r == WASI_OK ? vm_put_u32(vm, wasi_u32(a, 1), (uint32_t)bytes) : r;
}

static struct str own_name(const struct vm *vm)
{
    return (struct str){vm->call->name, strlen(vm->call->name)};
}

static uint32_t wasi_args_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    struct str name = own_name(vm);
    return put_texts(vm, &name, 1, wasi_u32(a, 0), wasi_u32(a, 1));
}

static uint32_t wasi_args_sizes_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    struct str name = own_name(vm);
    return put_sizes(vm, &name, 1, a);
}

static uint32_t wasi_environ_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    return put_texts(vm, vm->call->env, vm->call->n_env, wasi_u32(a, 0), wasi_u32(a, 1));
}

static uint32_t wasi_environ_sizes_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    return put_sizes(vm, vm->call->env, vm->call->n_env, a);
}

/* --- clocks, waiting, random numbers */

static uint32_t read_clock(uint32_t id, uint64_t *ret)
{
    struct timespec ts;
    if (id > 1) /* processor time is nobody's business */
        return id > 3 ? WASI_INVAL : WASI_NOTSUP;
    clock_gettime(id == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &ts);
    *ret = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
    return WASI_OK;
}

static uint32_t wasi_clock_res_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    uint64_t now;
    uint32_t r = read_clock(wasi_u32(a, 0), &now);
    return r == WASI_OK ? put_u64(vm, wasi_u32(a, 1), 1) : r;
}

static uint32_t wasi_clock_time_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    uint64_t now;
    uint32_t r = read_clock(wasi_u32(a, 0), &now);
    return r == WASI_OK ? put_u64(vm, wasi_u32(a, 2), now) : r;
}

/* Until then by the monotonic clock, or until the call's time is up. */
static void wait_until(struct vm *vm, uint64_t then)
{
    uint64_t end = vm->deadline_ns && vm->deadline_ns < then ? vm->deadline_ns : then;
    struct timespec ts = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR &&
           !vm_time_is_up(vm))
        ;
    (void)vm_time_is_up(vm);
}

struct subscription {
    uint64_t tag; /* the guest's */
    uint8_t kind; /* 0 a clock, 1 reading, 2 writing */
    uint8_t fill[7];
    uint32_t id; /* of the clock, or the descriptor */
    uint32_t fill_id;
    uint64_t timeout;
    uint64_t precision;
    uint16_t flags; /* 1: an absolute time */
    uint8_t fill_flags[6];
};

struct event {
    uint64_t tag;
    uint16_t error;
    uint8_t kind;
    uint8_t fill[5];
    uint64_t bytes;
    uint64_t flags;
};

/* When it is due by the monotonic clock; 0: at once. */
static uint64_t due_at(const struct subscription *s, uint64_t *ret_now)
{
    uint64_t now = clock_mono_ns();
    uint64_t of_its = 0;
    *ret_now = now;
    if (s->kind != 0 || read_clock(s->id, &of_its) != WASI_OK)
        return 0;
    uint64_t wait = s->timeout;
    if (s->flags & 1)
        wait = s->timeout > of_its ? s->timeout - of_its : 0;
    return wait > UINT64_MAX - now ? UINT64_MAX : now + wait;
}

static struct event event_of(const struct vm *vm, const struct subscription *s)
{
    struct event e = {.tag = s->tag, .kind = s->kind};
    uint64_t unused;
    if (s->kind > 2)
        e.error = WASI_INVAL;
    else if (s->kind == 0)
        e.error = (uint16_t)read_clock(s->id, &unused);
    else if (s->id > 2)
        e.error = WASI_BADF;
    else
        e.bytes = s->kind == 1 ? vm->call->input.n - vm->read : 65536;
    return e;
}

static uint32_t wasi_poll_oneoff(struct vm *vm, const wasmtime_val_raw_t *a)
{
    uint32_t n = wasi_u32(a, 2);
    const uint8_t *in = vm_guest_bytes(vm, wasi_u32(a, 0),
                                       (uint64_t)n * sizeof(struct subscription));
    uint8_t *out = vm_guest_bytes(vm, wasi_u32(a, 1), (uint64_t)n * sizeof(struct event));
    if (n == 0 || n > POLL_MAX)
        return WASI_INVAL;
    if (!in || !out)
        return WASI_FAULT;
    uint64_t first = UINT64_MAX;
    uint64_t now = 0;
    struct subscription s;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&s, in + i * sizeof s, sizeof s);
        uint64_t due = due_at(&s, &now);
        first = due < first ? due : first;
    }
    if (first > now)
        wait_until(vm, first);
    /* The same memory may be both: what is read is read before what is written. */
    uint32_t ready = 0;
    for (uint32_t i = 0; i < n && !vm->timed_out; i++) {
        memcpy(&s, in + i * sizeof s, sizeof s);
        if (due_at(&s, &now) > first && now < first)
            continue;
        struct event e = event_of(vm, &s);
        memcpy(out + ready++ * sizeof e, &e, sizeof e);
    }
    return vm_put_u32(vm, wasi_u32(a, 3), ready);
}

static uint32_t wasi_sched_yield(struct vm *vm, const wasmtime_val_raw_t *a)
{
    (void)a;
    (void)vm_time_is_up(vm);
    return WASI_OK;
}

static uint32_t wasi_random_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    uint32_t n = wasi_u32(a, 1);
    uint8_t *to = vm_guest_bytes(vm, wasi_u32(a, 0), n);
    if (!to)
        return WASI_FAULT;
    while (n > 0 && !vm_time_is_up(vm)) {
        ssize_t got = getrandom(to, n < RANDOM_STEP ? n : RANDOM_STEP, 0);
        if (got < 0 && errno != EINTR)
            return WASI_NOSYS;
        to += got > 0 ? got : 0;
        n -= got > 0 ? (uint32_t)got : 0;
    }
    return WASI_OK;
}

/* --- the end */

static uint32_t wasi_proc_exit(struct vm *vm, const wasmtime_val_raw_t *a)
{
    vm->exited = true;
    vm->result->exit_status = wasi_u32(a, 0);
    return WASI_OK;
}

static uint32_t wasi_proc_raise(struct vm *vm, const wasmtime_val_raw_t *a)
{
    vm->exited = true;
    vm->result->exit_status = 128 + (int64_t)(wasi_u32(a, 0) & 0x7f);
    return WASI_OK;
}

/* --- the table */

static const struct wasi_row own_rows[] = {
    {"args_get", "ii", wasi_args_get},
    {"args_sizes_get", "ii", wasi_args_sizes_get},
    {"clock_res_get", "ii", wasi_clock_res_get},
    {"clock_time_get", "iIi", wasi_clock_time_get},
    {"environ_get", "ii", wasi_environ_get},
    {"environ_sizes_get", "ii", wasi_environ_sizes_get},
    {"poll_oneoff", "iiii", wasi_poll_oneoff},
    {"proc_exit", "i", wasi_proc_exit},
    {"proc_raise", "i", wasi_proc_raise},
    {"random_get", "ii", wasi_random_get},
    {"sched_yield", "", wasi_sched_yield},
};

static const struct wasi_row *row_at(size_t i)
{
    return i < ARRAY_LEN(own_rows) ? &own_rows[i] : vm_wasi_fd_row(i - ARRAY_LEN(own_rows));
}

bool vm_wasi_has(struct str name)
{
    const struct wasi_row *row;
    for (size_t i = 0; (row = row_at(i)); i++) {
        if (str_is(name, row->name))
            return true;
    }
    return false;
}

const char *vm_wasi_name(size_t i)
{
    const struct wasi_row *row = row_at(i);
    return row ? row->name : NULL;
}

static wasm_trap_t *end_call(const char *why)
{
    return wasmtime_trap_new(why, strlen(why));
}

/* One entry for each row: which it is comes with it, whose call it is with the store. */
static wasm_trap_t *on_import(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *values,
                              size_t n)
{
    const struct wasi_row *row = env;
    struct vm *vm = wasmtime_context_get_data(wasmtime_caller_context(caller));
    (void)n;
    uint32_t r = row->fn(vm, values);
    if (vm->exited || vm->timed_out || vm->too_much_output)
        return end_call("ended");
    if (row->fn != wasi_proc_exit)
        values[0].i32 = (int32_t)r;
    return NULL;
}

static wasm_functype_t *row_type(const struct wasi_row *row)
{
    wasm_valtype_t *types[12];
    size_t n = strlen(row->arguments);
    for (size_t i = 0; i < n; i++)
        types[i] = wasm_valtype_new(row->arguments[i] == 'I' ? WASM_I64 : WASM_I32);
    wasm_valtype_vec_t arguments;
    wasm_valtype_vec_t results;
    wasm_valtype_vec_new(&arguments, n, types);
    wasm_valtype_t *number = wasm_valtype_new(WASM_I32);
    wasm_valtype_vec_new(&results, row->fn != wasi_proc_exit, &number);
    if (row->fn == wasi_proc_exit)
        wasm_valtype_delete(number);
    return wasm_functype_new(&arguments, &results);
}

int vm_wasi_define(struct vm *vm, struct err *err)
{
    static const char module[] = "wasi_snapshot_preview1";
    const struct wasi_row *row;
    for (size_t i = 0; (row = row_at(i)); i++) {
        wasm_functype_t *type = row_type(row);
        wasmtime_error_t *error = wasmtime_linker_define_func_unchecked(
            vm->linker, module, sizeof module - 1, row->name, strlen(row->name), type, on_import,
            (void *)(uintptr_t)row, NULL);
        wasm_functype_delete(type);
        if (error)
            return vm_failed(err, ERR_INTERNAL, row->name, error);
    }
    return 0;
}
