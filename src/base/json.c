#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* yyjson takes 16 bytes a value: `[[[[…` would grow sixteen-fold. What one document may take in
 * memory is its own size and this much for values, or three times its size: that is what yyjson asks for
 * before it has seen how few there are. */
#define VALUES_MAX (32u << 20)
/* Objects up to this many keys are compared pair by pair, larger ones sorted. */
#define PAIRWISE_KEYS 16
/* Millions of keys would keep the gate from all else for seconds. */
#define KEYS_MAX 65536

struct ceiling {
    size_t used;
    size_t max;
    bool no_memory; /* refused by the system, below the ceiling */
};

static void *bounded_malloc(void *ctx, size_t size)
{
    struct ceiling *c = ctx;
    if (size > c->max - c->used)
        return NULL;
    void *p = malloc(size);
    if (p)
        c->used += size;
    else
        c->no_memory = true;
    return p;
}

static void *bounded_realloc(void *ctx, void *old, size_t old_size, size_t size)
{
    struct ceiling *c = ctx;
    if (size > old_size && size - old_size > c->max - c->used)
        return NULL;
    void *p = realloc(old, size);
    if (p)
        c->used += size - old_size;
    else
        c->no_memory = true;
    return p;
}

static void bounded_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

static int fail_json_read(struct json_error *error, size_t at, const char *fmt, const char *key)
{
    if (error) {
        error->at = at;
        /* fmt is one of this file's literals. */
        snprintf(error->what, sizeof error->what, "%s%.100s", fmt, key);
    }
    return -EINVAL;
}

static int compare_json_keys(const void *a, const void *b)
{
    const struct str *x = a;
    const struct str *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int r = memcmp(x->p, y->p, n);
    return r ? r : (x->n > y->n) - (x->n < y->n);
}

/* 1: there is one, 0: none, -ENOMEM. The outsider decides how many keys there are. */
static int find_duplicate_sorted(yyjson_val *obj, struct str *ret_key)
{
    size_t count = yyjson_obj_size(obj);
    FREE_AT_END struct str *keys = reallocarray(NULL, count, sizeof *keys);
    if (!keys)
        return -ENOMEM;
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(obj, idx, max, key, val)
        keys[idx] = json_str(key);
    qsort(keys, count, sizeof *keys, compare_json_keys);
    for (size_t i = 1; i < count; i++) {
        if (compare_json_keys(&keys[i - 1], &keys[i]) == 0) {
            *ret_key = keys[i];
            return 1;
        }
    }
    return 0;
}

static int find_duplicate(yyjson_val *obj, struct str *ret_key)
{
    if (yyjson_obj_size(obj) > PAIRWISE_KEYS)
        return find_duplicate_sorted(obj, ret_key);
    struct str seen[PAIRWISE_KEYS];
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(obj, idx, max, key, val) {
        seen[idx] = json_str(key);
        for (size_t i = 0; i < idx; i++) {
            if (seen[i].n == seen[idx].n && memcmp(seen[i].p, seen[idx].p, seen[i].n) == 0) {
                *ret_key = seen[idx];
                return 1;
            }
        }
    }
    return 0;
}

static int fail_json_for_memory(struct json_error *error)
{
    fail_json_read(error, 0, "not enough memory to read it", "");
    return -ENOMEM;
}

static int check_value(yyjson_val *val, unsigned depth, struct json_error *error)
{
    if (!yyjson_is_ctn(val))
        return 0;
    if (depth >= JSON_DEPTH_MAX)
        return fail_json_read(error, 0, "nested too deeply (at most 64 levels)", "");
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *item;
    if (yyjson_is_arr(val)) {
        yyjson_arr_foreach(val, idx, max, item) {
            int r = check_value(item, depth + 1, error);
            if (r < 0)
                return r;
        }
        return 0;
    }
    if (yyjson_obj_size(val) > KEYS_MAX)
        return fail_json_read(error, 0, "an object has more than 65,536 keys", "");
    struct str twice;
    int duplicate = find_duplicate(val, &twice);
    if (duplicate < 0)
        return fail_json_for_memory(error);
    if (duplicate)
        return fail_json_read(error, 0, "duplicate key ", twice.p);
    yyjson_obj_foreach(val, idx, max, key, item) {
        int r = check_value(item, depth + 1, error);
        if (r < 0)
            return r;
    }
    return 0;
}

int json_parse(const char *text, size_t n, size_t max_bytes, enum json_mode mode,
               yyjson_doc **ret_doc, struct json_error *error)
{
    if (n > max_bytes) {
        if (error) {
            error->at = 0;
            snprintf(error->what, sizeof error->what, "%zu bytes long, at most %zu are taken", n,
                     max_bytes);
        }
        return -E2BIG;
    }
    struct ceiling ceiling = {.max = n + (n > VALUES_MAX / 3 ? 3 * n : VALUES_MAX)};
    yyjson_alc alc = {bounded_malloc, bounded_realloc, bounded_free, &ceiling};
    yyjson_read_flag flags = mode == JSON_INTERNAL ? YYJSON_READ_ALLOW_INVALID_UNICODE : 0;
    yyjson_read_err why;
    /* yyjson only reads through the pointer unless asked to parse in place. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, n, flags, &alc, &why);
    if (!doc && ceiling.no_memory)
        return fail_json_for_memory(error);
    if (!doc && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return fail_json_read(error, 0, "too many values", "");
    if (!doc)
        return fail_json_read(error, why.pos, why.msg, "");
    /* The allocator's state is on this stack: freeing later must not look at it. */
    doc->alc.ctx = NULL;
    int r = check_value(yyjson_doc_get_root(doc), 0, error);
    if (r < 0) {
        yyjson_doc_free(doc);
        return r;
    }
    *ret_doc = doc;
    return 0;
}

void json_doc_freep(yyjson_doc **doc)
{
    yyjson_doc_free(*doc);
}
