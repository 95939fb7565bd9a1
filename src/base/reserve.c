#include "base/reserve.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Given back beyond what failed: an allocator takes more from the system than it is asked for. */
#define SLACK ((size_t)160 << 10)
#define PAGE ((size_t)4096)
#define RESERVE_MIN ((size_t)256 << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *kept;     /* under the lock, and so are the next two */
static size_t n_kept;  /* whole pages */
static size_t n_whole; /* what it was to begin with */
static size_t room = SIZE_MAX;
static atomic_bool used;
static _Thread_local size_t most = RESERVE_SMALL;

static void *take(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static size_t limit_of(int which)
{
    struct rlimit limit;
    return getrlimit(which, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX
                                                                           : limit.rlim_cur;
}

void reserve_make(size_t bytes)
{
    size_t data = limit_of(RLIMIT_DATA);
    size_t all = limit_of(RLIMIT_AS);
    room = data < all ? data : all;
    /* libc takes 64 MiB of address space for each thread's own heap. */
    if (room != SIZE_MAX)
        mallopt(M_ARENA_MAX, 1);
    size_t n = (room / 4 < bytes ? room / 4 : bytes) & ~(PAGE - 1);
    if (n < RESERVE_MIN)
        n = RESERVE_MIN;
    pthread_mutex_lock(&lock);
    if (kept)
        munmap(kept, n_kept); /* of the process that this one was forked from */
    kept = take(n);
    n_kept = kept ? n : 0;
    n_whole = n;
    atomic_store(&used, !kept);
    pthread_mutex_unlock(&lock);
}

/* What the allocator keeps for later. */
static bool trim(void)
{
#ifdef SANDGATE_RESERVE
    return malloc_trim(0);
#else
    return false;
#endif
}

/* Under the lock. */
static bool take_back(void)
{
    if (n_kept >= n_whole)
        return true;
    void *at = kept ? mremap(kept, n_kept, n_whole, MREMAP_MAYMOVE) : take(n_whole);
    if (!at || at == MAP_FAILED)
        return false;
    kept = at;
    n_kept = n_whole;
    return true;
}

bool reserve_is_whole(void)
{
    if (!atomic_load_explicit(&used, memory_order_relaxed))
        return true;
    pthread_mutex_lock(&lock);
    bool whole = take_back() || (trim() && take_back());
    /* A part of it is what there is to be had for long, where others keep what they took. */
    while (!whole && n_whole / 2 >= RESERVE_MIN) {
        n_whole /= 2;
        whole = take_back();
    }
    atomic_store(&used, !whole);
    pthread_mutex_unlock(&lock);
    return whole;
}

bool reserve_was_used(void)
{
    return atomic_load(&used);
}

size_t reserve_room(void)
{
    return room;
}

bool reserve_probe(size_t bytes)
{
    void *at = take(bytes);
    return at && munmap(at, bytes) == 0;
}

size_t reserve_open(void)
{
    size_t before = most;
    most = SIZE_MAX;
    return before;
}

void reserve_close(const size_t *before)
{
    most = *before;
}

/* True: the allocation is worth another try. Others may have given something back meanwhile, or this did. */
static bool give_back(size_t bytes)
{
    if (bytes > most || bytes > SIZE_MAX / 2)
        return false;
    size_t n = (bytes + SLACK + PAGE - 1) & ~(PAGE - 1);
    pthread_mutex_lock(&lock);
    if (n > n_kept)
        n = n_kept;
    if (n && munmap(kept + n_kept - n, n) == 0) {
        n_kept -= n;
        kept = n_kept ? kept : NULL;
        atomic_store(&used, true);
    }
    pthread_mutex_unlock(&lock);
    return true;
}

#ifdef SANDGATE_RESERVE
/* The linker leads all calls of these functions here (--wrap), those of the libraries that are linked in, too. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **ret, size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **ret, size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
    void *p = __real_malloc(size);
    return p || !give_back(size) ? p : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *p = __real_calloc(count, size);
    size_t bytes;
    if (p || __builtin_mul_overflow(count, size, &bytes) || !give_back(bytes))
        return p;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    void *p = __real_realloc(old, size);
    return p || size == 0 || !give_back(size) ? p : __real_realloc(old, size);
}

int __wrap_posix_memalign(void **ret, size_t align, size_t size)
{
    int r = __real_posix_memalign(ret, align, size);
    return r == 0 || !give_back(size) ? r : __real_posix_memalign(ret, align, size);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#endif
