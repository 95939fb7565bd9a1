/* Linear memory. Wasmtime's own does not say when it refuses to grow, which a guest only sees as a failed allocation: who
 * wants to name the limit has to make the memory. One mapping is made once and emptied for each instance. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "roles/vm_parts.h"

/* Up to here a memory is emptied by writing zeros, which costs less than fetching the pages again. */
#define ZEROED_MAX ((size_t)256 << 10)

static uint8_t *memory_at(void *env, size_t *ret_size, size_t *ret_capacity)
{
    struct vm_memory *m = env;
    *ret_size = m->size;
    *ret_capacity = m->capacity; /* what lies beyond it is refused without asking */
    return m->base;
}

static int open_memory_up(struct vm_memory *m, size_t size)
{
    size_t page = 4096;
    size = (size + page - 1) / page * page;
    if (size <= m->writable)
        return 0;
    if (mprotect(m->base, size, PROT_READ | PROT_WRITE) < 0)
        return -errno;
    m->writable = size;
    return 0;
}

static wasmtime_error_t *grow_memory(void *env, size_t size)
{
    struct vm_memory *m = env;
    if (size > m->max || open_memory_up(m, size) < 0) {
        m->refused = true;
        return wasmtime_error_new("the memory limit is reached");
    }
    m->size = size;
    return NULL;
}

/* No more than the next one begins with stays accessible: it has no other bounds check than the fault. */
static int empty_memory(struct vm_memory *m, size_t keep)
{
    if (m->writable > keep) {
        if (madvise(m->base + keep, m->writable - keep, MADV_DONTNEED) < 0 ||
            mprotect(m->base + keep, m->writable - keep, PROT_NONE) < 0)
            return -errno;
        m->writable = keep;
    }
    if (m->writable <= ZEROED_MAX)
        memset(m->base, 0, m->writable);
    else if (madvise(m->base, m->writable, MADV_DONTNEED) < 0)
        return -errno;
    return 0;
}

static void give_memory_back(void *env)
{
    struct vm_memory *m = env;
    if (empty_memory(m, m->minimum) < 0)
        abort(); /* the next one would see what this one wrote */
    m->size = 0;
    m->in_use = false;
}

static int reserve_memory(struct vm_memory *m, size_t reserved, size_t guard)
{
    m->capacity = reserved;
    if (m->base && m->reserved >= reserved + guard)
        return 0;
    if (m->base)
        munmap(m->base, m->reserved);
    m->reserved = reserved + guard;
    m->writable = 0;
    m->base = mmap(NULL, m->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0);
    if (m->base != MAP_FAILED)
        return 0;
    m->base = NULL;
    return -errno;
}

static wasmtime_error_t *make_memory(void *env, const wasm_memorytype_t *type, size_t minimum,
                                     size_t maximum, size_t reserved, size_t guard,
                                     wasmtime_linear_memory_t *ret)
{
    struct vm_memory *m = env;
    (void)type;
    (void)maximum;
    if (m->in_use)
        return wasmtime_error_new("a tool has one memory");
    if (minimum > m->max) {
        m->refused = true;
        return wasmtime_error_new("it begins with more memory than its limit");
    }
    if (reserve_memory(m, reserved < m->max ? m->max : reserved, guard) < 0 ||
        empty_memory(m, m->writable < minimum ? m->writable : minimum) < 0 ||
        open_memory_up(m, minimum) < 0)
        return wasmtime_error_new("there is not enough memory");
    m->size = m->minimum = minimum;
    m->in_use = true;
    *ret = (wasmtime_linear_memory_t){m, memory_at, grow_memory, give_memory_back};
    return NULL;
}

void vm_memory_use(struct vm_memory *memory, wasm_config_t *config)
{
    wasmtime_memory_creator_t creator = {.env = memory, .new_memory = make_memory};
    wasmtime_config_host_memory_creator_set(config, &creator);
}

void vm_memory_done(struct vm_memory *memory)
{
    if (memory->base)
        munmap(memory->base, memory->reserved);
    *memory = (struct vm_memory){0};
}
