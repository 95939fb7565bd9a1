/* Tools in WebAssembly (WASI preview 1): one engine in a process, one module at a time, one call at a time.
 *
 * A tool reads one JSON text from its standard input and writes one to its standard output. All imports are our own
 * (vm_wasi.c): they touch no file, no network and no other process, each ends when the call's time is up, and none needs
 * a thread. Wasmtime's own would bring a runtime with threads, and a sleep in them cannot be interrupted. */
#ifndef SANDGATE_ROLES_VM_H
#define SANDGATE_ROLES_VM_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Of a module before it is compiled, and of what comes out. */
#define VM_MODULE_MAX (64u << 20)
#define VM_CODE_MAX (512u << 20)
#define VM_LOG_MAX (16u << 10)
#define VM_ENV_MAX 64

struct vm;

struct vm_limits {
    uint64_t wall_ms;
    uint64_t memory; /* bytes of linear memory */
    uint64_t fuel;   /* about one for an instruction; 0: as many as there is time for */
    size_t output;   /* bytes of standard output */
};

struct vm_call {
    const char *name; /* the tool's, its argv[0] */
    struct str input;
    const struct str *env; /* NAME=VALUE */
    size_t n_env;
    struct vm_limits limits;
};

struct vm_result {
    struct buf output;
    struct buf log;       /* the beginning of standard error */
    uint64_t log_dropped; /* bytes behind that */
    uint64_t fuel;        /* used */
    uint64_t memory;      /* bytes of linear memory at the end */
    int64_t exit_status;  /* 0 where it did not exit */
};

int vm_new(struct vm **ret, struct err *err);
void vm_free(struct vm *vm);

/* Compiles a module to what vm_load takes: a line of JSON that names its imports, and native code. Refuses one that is
 * malformed, or imports what is not there. */
int vm_compile(struct vm *vm, struct str module, struct buf *ret, struct err *err);
/* Only what vm_compile made, as it made it: Wasmtime runs whatever it is given here. Nothing of it runs yet: the process can
 * be locked then. */
int vm_load(struct vm *vm, struct str compiled, struct err *err);
/* Whether vm_compile wrote this, as far as its first line tells; *ret_code is what stands behind that. */
bool vm_split(struct str compiled, struct str *ret_head, struct str *ret_code);

/* Runs the loaded module's `_start`. *ret is set in any case, to be ended with vm_result_done. -1: TIMEOUT, MEMORY_LIMIT,
 * FUEL_LIMIT, OUTPUT_LIMIT, CAPABILITY_DENIED, or TRAP, which has the reason `exit_status` where it ended by itself. */
int vm_run(struct vm *vm, const struct vm_call *call, struct vm_result *ret, struct err *err);
void vm_result_done(struct vm_result *result);

#endif
