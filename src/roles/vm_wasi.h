/* WASI preview 1 for tools that were granted nothing. */
#ifndef SANDGATE_ROLES_VM_WASI_H
#define SANDGATE_ROLES_VM_WASI_H

#include "roles/vm_parts.h"

enum {
    WASI_OK = 0,
    WASI_BADF = 8,
    WASI_FAULT = 21,
    WASI_INVAL = 28,
    WASI_NAMETOOLONG = 37,
    WASI_NOSYS = 52,
    WASI_NOTSUP = 58,
    WASI_SPIPE = 70,
    WASI_NOTCAPABLE = 76,
};

typedef uint32_t (*wasi_fn)(struct vm *vm, const wasmtime_val_raw_t *a);

/* i and I: an argument of 32 and of 64 bits. */
struct wasi_row {
    const char *name;
    const char *arguments;
    wasi_fn fn;
};

/* NULL: there are no more. */
const struct wasi_row *vm_wasi_fd_row(size_t i);

/* n bytes of the guest's memory, or NULL. */
uint8_t *vm_guest_bytes(const struct vm *vm, uint32_t at, uint64_t n);
bool vm_put_bytes(const struct vm *vm, uint32_t at, const void *bytes, size_t n);
uint32_t vm_put_u32(const struct vm *vm, uint32_t at, uint32_t value);
bool vm_time_is_up(struct vm *vm);

static inline uint32_t wasi_u32(const wasmtime_val_raw_t *a, size_t i)
{
    return (uint32_t)a[i].i32;
}

#endif
