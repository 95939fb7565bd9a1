#include "work/engine.h"

#include <string.h>

#include "base/attr.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* A pattern has one engine for all texts and one for ASCII. */
#define ENGINES 2

/* What a compiled pattern may take. Most need little, so that little has to be set aside for them. */
static const size_t sizes[] = {256 * KIB, 2 * MIB, 10 * MIB};

/* Measured with patterns of all kinds. Compiling takes up to 3.8 times the size that it is limited to, and what the text
 * itself becomes: a class of Unicode up to 54,000 bytes (`[\W]` without case), anything else up to 480 a byte. */
#define SIZE_TIMES 4
#define BASE_BYTES (512 * KIB)
#define CLASS_BYTES (56 * KIB)
#define TEXT_BYTES 512
/* More than that is a pattern that gets too large anyway: 3,500 classes, each of which takes 50 KiB when compiled. */
#define COMPILING_MAX (192 * MIB)

/* For each thread and engine: two tables, of which each may pass its limit by a little, and about half of what the compiled
 * pattern takes. */
#define TABLES 2
#define SEARCH_BYTES (256 * KIB)
#define SEARCH_PART 2

static const struct {
    size_t cache;
    bool alone; /* one thread has to do */
    unsigned
        spare; /* so much times what is set aside has to be free, so that others find something, too */
} ways[] = {
    {32 * MIB, false, 2}, {16 * MIB, false, 2}, {8 * MIB, false, 2},
    {4 * MIB, false, 4},  {512 * KIB, true, 1},
};

static size_t to_search(size_t size, size_t cache, unsigned threads)
{
    return threads * ENGINES * (TABLES * cache + SEARCH_BYTES + size / SEARCH_PART);
}

static bool is_free(size_t bytes)
{
    struct pledge probe = {0};
    bool free = pledge_add(&probe, bytes);
    pledge_end(&probe);
    return free;
}

int engine_memory_take(struct engine_memory *memory, unsigned threads, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        unsigned may = ways[i].alone ? 1 : threads;
        size_t needed = to_search(sizes[0], ways[i].cache, may);
        if (!is_free(ways[i].spare * needed) || !pledge_add(&memory->pledge, needed))
            continue;
        memory->cache = ways[i].cache;
        memory->size = sizes[0];
        memory->threads = may;
        return 0;
    }
    return err_no_memory(err);
}

void engine_memory_done(struct engine_memory *memory)
{
    pledge_end(&memory->pledge);
}

/* Escapes that stand for classes of hundreds of ranges. */
static size_t count_classes(struct str pattern)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < pattern.n; i++) {
        if (pattern.p[i] != '\\')
            continue;
        i++;
        n += pattern.p[i] && strchr("wWpP", pattern.p[i]);
    }
    return n;
}

static size_t to_compile(struct str pattern, size_t size)
{
    return SIZE_TIMES * size + BASE_BYTES + TEXT_BYTES * pattern.n +
           CLASS_BYTES * count_classes(pattern);
}

static rure *compile_engine(const struct engine_memory *memory, struct str pattern,
                            bool ignore_case, size_t size, rure_error *error)
{
    rure_options *options = rure_options_new();
    rure_options_size_limit(options, size);
    rure_options_dfa_size_limit(options, memory->cache);
    uint32_t flags = RURE_FLAG_UNICODE | RURE_FLAG_MULTI | (ignore_case ? RURE_FLAG_CASEI : 0);
    rure *engine = rure_compile((const uint8_t *)pattern.p, pattern.n, flags, options, error);
    rure_options_free(options);
    return engine;
}

/* Adds to what is set aside for searching. */
static bool pledge_for(struct engine_memory *memory, size_t size)
{
    if (size <= memory->size)
        return true;
    size_t more = to_search(size, 0, memory->threads) - to_search(memory->size, 0, memory->threads);
    if (!pledge_add(&memory->pledge, more))
        return false;
    memory->size = size;
    return true;
}

static rure *compile_within(struct engine_memory *memory, struct str pattern, bool ignore_case,
                            size_t size, rure_error *error)
{
    CLEANUP(pledge_end) struct pledge compiling = {0};
    memory->lacks = !pledge_for(memory, size) || !pledge_add(&compiling, to_compile(pattern, size));
    if (memory->lacks)
        return NULL;
    RESERVE_OPEN_WITH(&compiling);
    rure *engine = compile_engine(memory, pattern, ignore_case, size, error);
    memory->too_large = !engine && strstr(rure_error_message(error), "size limit");
    return engine;
}

rure *engine_compile(struct engine_memory *memory, struct str pattern, bool ignore_case,
                     rure_error *error)
{
    rure *engine = NULL;
    memory->lacks = false;
    memory->too_large = to_compile(pattern, 0) > COMPILING_MAX;
    if (memory->too_large)
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        engine = compile_within(memory, pattern, ignore_case, sizes[i], error);
        if (engine || !memory->too_large)
            break;
    }
    return engine;
}
