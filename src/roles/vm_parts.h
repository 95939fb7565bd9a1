/* The engine from the inside. */
#ifndef SANDGATE_ROLES_VM_PARTS_H
#define SANDGATE_ROLES_VM_PARTS_H

#include <wasmtime.h>

#include "roles/vm.h"

/* The one linear memory that an instance can have. Its address space is kept from one instance to the next. */
struct vm_memory {
    uint8_t *base;
    size_t reserved; /* of address space, guard included */
    size_t capacity; /* of that, what the guest could ever have */
    size_t writable; /* of it, from its beginning */
    size_t minimum;  /* what the instance began with */
    size_t size;     /* what the guest has; 0: there is none */
    size_t max;      /* what it may have */
    bool in_use;
    bool refused; /* it asked for more */
};

struct vm {
    wasm_engine_t *engine;
    wasmtime_linker_t *linker;
    wasmtime_module_t *module;
    wasmtime_instance_pre_t *pre;
    struct vm_memory memory;

    /* The call that runs. */
    const struct vm_call *call;
    struct vm_result *result;
    size_t read;          /* bytes of its input that the guest has taken */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC */
    bool exited;
    bool timed_out;
    bool too_much_output;
    const char *denied; /* a capability that it lacks and asked for; NULL: none */
    char denied_what[160];
};

void vm_memory_use(struct vm_memory *memory, wasm_config_t *config);
void vm_memory_done(struct vm_memory *memory);

int vm_wasi_define(struct vm *vm, struct err *err);
/* Whether there is such a function of WASI preview 1. */
bool vm_wasi_has(struct str name);
/* The i-th of them; NULL behind the last. */
const char *vm_wasi_name(size_t i);

/* Takes the error, and says it after `what`. */
int vm_failed(struct err *err, enum err_code code, const char *what, wasmtime_error_t *error);

#endif
