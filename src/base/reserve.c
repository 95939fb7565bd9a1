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
static atomic_bool used;
static _Thread_local struct reserve_use current = {RESERVE_SMALL, NULL};

static void *map_reserve(size_t bytes)
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
    size_t room = data < all ? data : all;
    /* libc takes 64 MiB of address space for each thread's own heap. */
    if (room != SIZE_MAX)
        mallopt(M_ARENA_MAX, 1);
    size_t n = (room / 4 < bytes ? room / 4 : bytes) & ~(PAGE - 1);
    if (n < RESERVE_MIN)
        n = RESERVE_MIN;
    pthread_mutex_lock(&lock);
    if (kept)
        munmap(kept, n_kept); /* of the process that this one was forked from */
    kept = map_reserve(n);
    n_kept = kept ? n : 0;
    n_whole = n;
    atomic_store(&used, !kept);
    pthread_mutex_unlock(&lock);
}

/* Address space of `n` bytes becomes one of `more` bytes more. */
static bool extend(char **at, size_t n, size_t more)
{
    void *now = *at ? mremap(*at, n, n + more, MREMAP_MAYMOVE) : map_reserve(more);
    if (!now || now == MAP_FAILED)
        return false;
    *at = now;
    return true;
}

/* What the allocator keeps for later. */
static bool trim_allocator(void)
{
#ifdef SANDGATE_RESERVE
    return malloc_trim(0);
#else
    return false;
#endif
}

/* Under the lock. */
static bool take_reserve_back(void)
{
    if (n_kept >= n_whole)
        return true;
    if (!extend(&kept, n_kept, n_whole - n_kept))
        return false;
    n_kept = n_whole;
    return true;
}

bool reserve_is_whole(void)
{
    if (!atomic_load_explicit(&used, memory_order_relaxed))
        return true;
    pthread_mutex_lock(&lock);
    bool whole = take_reserve_back() || (trim_allocator() && take_reserve_back());
    /* A part of it is what there is to be had for long, where others keep what they took. */
    while (!whole && n_whole / 2 >= RESERVE_MIN) {
        n_whole /= 2;
        whole = take_reserve_back();
    }
    atomic_store(&used, !whole);
    pthread_mutex_unlock(&lock);
    return whole;
}

bool reserve_was_used(void)
{
    return atomic_load(&used);
}

bool pledge_add(struct pledge *pledge, size_t bytes)
{
    size_t more = (bytes + PAGE - 1) & ~(PAGE - 1);
    pthread_mutex_lock(&lock);
    bool had = extend(&pledge->at, pledge->n, more) ||
               (trim_allocator() && extend(&pledge->at, pledge->n, more));
    if (had)
        pledge->n += more;
    pthread_mutex_unlock(&lock);
    return had;
}

void pledge_end(struct pledge *pledge)
{
    if (pledge->at)
        munmap(pledge->at, pledge->n);
    *pledge = (struct pledge){0};
}

struct reserve_use reserve_open(struct pledge *pledge)
{
    struct reserve_use before = current;
    current = (struct reserve_use){SIZE_MAX, pledge};
    return before;
}

void reserve_close(const struct reserve_use *before)
{
    current = *before;
}

#ifdef SANDGATE_RESERVE
/* Under the lock. False: there was nothing left. */
static bool unmap_reserve(char **at, size_t *n, size_t bytes)
{
    size_t part = bytes < *n ? bytes : *n;
    if (part == 0 || munmap(*at + *n - part, part) < 0)
        return false;
    *n -= part;
    *at = *n ? *at : NULL;
    return true;
}

/* Whether something was given back to the system. */
static bool give_reserve_back(size_t bytes)
{
    if (bytes > current.most || bytes > SIZE_MAX / 2)
        return false;
    size_t n = (bytes + SLACK + PAGE - 1) & ~(PAGE - 1);
    pthread_mutex_lock(&lock);
    bool given = current.pledge && unmap_reserve(&current.pledge->at, &current.pledge->n, n);
    if (!given && unmap_reserve(&kept, &n_kept, n)) {
        given = true;
        atomic_store(&used, true);
    }
    pthread_mutex_unlock(&lock);
    return given;
}

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

/* Another thread may be quicker with what was given back, so that once may not be enough. At the end it is tried again
 * all the same: others may have given something back meanwhile. */
#define UNTIL_SERVED(served, bytes, attempt)                                                       \
    do {                                                                                           \
        while (!(served) && give_reserve_back(bytes))                                              \
            attempt;                                                                               \
        if (!(served) && (bytes) <= current.most)                                                  \
            attempt;                                                                               \
    } while (0)

void *__wrap_malloc(size_t size)
{
    void *p = __real_malloc(size);
    UNTIL_SERVED(p, size, p = __real_malloc(size));
    return p;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *p = __real_calloc(count, size);
    size_t bytes;
    if (p || __builtin_mul_overflow(count, size, &bytes))
        return p;
    UNTIL_SERVED(p, bytes, p = __real_calloc(count, size));
    return p;
}

void *__wrap_realloc(void *old, size_t size)
{
    void *p = __real_realloc(old, size);
    if (size > 0)
        UNTIL_SERVED(p, size, p = __real_realloc(old, size));
    return p;
}

int __wrap_posix_memalign(void **ret, size_t align, size_t size)
{
    int r = __real_posix_memalign(ret, align, size);
    UNTIL_SERVED(r == 0, size, r = __real_posix_memalign(ret, align, size));
    return r;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#endif
