#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gate/summary.h"

static void add_digest_number(struct hash *h, uint64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    hash_add(h, bytes, sizeof bytes);
}

/* A letter says what it is, so that an absent text is not an empty one. */
static void add_digest_bytes(struct hash *h, char kind, const char *bytes, size_t n)
{
    hash_add(h, &kind, 1);
    add_digest_number(h, n);
    hash_add(h, bytes, n);
}

static void add_digest_text(struct hash *h, const char *text)
{
    if (text)
        add_digest_bytes(h, 's', text, strlen(text));
    else
        add_digest_bytes(h, '-', "", 0);
}

static int compare_digest_keys(const void *a, const void *b)
{
    struct str x = json_str(*(yyjson_val *const *)a);
    struct str y = json_str(*(yyjson_val *const *)b);
    int r = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
    return r ? r : (x.n > y.n) - (x.n < y.n);
}

static void add_digest_value(struct hash *h, yyjson_val *value);

static void add_object(struct hash *h, yyjson_val *object)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    FREE_AT_END yyjson_val **keys = mem_grow(NULL, yyjson_obj_size(object) + 1,
                                             sizeof(yyjson_val *));
    yyjson_obj_foreach(object, idx, max, key, value)
        keys[idx] = key;
    qsort(keys, yyjson_obj_size(object), sizeof(yyjson_val *), compare_digest_keys);
    add_digest_bytes(h, '{', "", 0);
    add_digest_number(h, yyjson_obj_size(object));
    for (size_t i = 0; i < yyjson_obj_size(object); i++) {
        add_digest_bytes(h, 'k', yyjson_get_str(keys[i]), yyjson_get_len(keys[i]));
        add_digest_value(h, yyjson_obj_iter_get_val(keys[i]));
    }
}

static void add_number_value(struct hash *h, yyjson_val *value)
{
    double real = yyjson_get_real(value);
    uint64_t bits = yyjson_get_uint(value);
    if (yyjson_is_real(value))
        memcpy(&bits, &real, sizeof bits);
    add_digest_bytes(h,
                     (char)(yyjson_is_real(value)   ? 'r'
                            : yyjson_is_sint(value) ? 'i'
                                                    : 'u'),
                     "", 0);
    add_digest_number(h, bits);
}

/* Requests are at most JSON_DEPTH_MAX deep. */
static void add_digest_value(struct hash *h, yyjson_val *value)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_OBJ:
        add_object(h, value);
        break;
    case YYJSON_TYPE_ARR:
        add_digest_bytes(h, '[', "", 0);
        add_digest_number(h, yyjson_arr_size(value));
        yyjson_arr_foreach(value, idx, max, item)
            add_digest_value(h, item);
        break;
    case YYJSON_TYPE_STR:
        add_digest_bytes(h, 's', yyjson_get_str(value), yyjson_get_len(value));
        break;
    case YYJSON_TYPE_NUM:
        add_number_value(h, value);
        break;
    case YYJSON_TYPE_BOOL:
        add_digest_bytes(h, yyjson_get_bool(value) ? 't' : 'f', "", 0);
        break;
    default:
        add_digest_bytes(h, 'n', "", 0);
    }
}

static void add_roots(struct hash *h, const struct root *roots, size_t count, const char *base)
{
    add_digest_number(h, count);
    for (size_t i = 0; i < count; i++) {
        add_digest_text(h, roots[i].inside);
        add_digest_text(h, roots[i].host);
        add_digest_number(h, roots[i].writable);
    }
    add_digest_text(h, base);
}

void call_digest(const struct call *call, const char *session, char out[HASH_HEX + 1])
{
    struct hash h;
    const struct workplace *at = call->workplace;
    hash_begin(&h);
    add_digest_text(&h, "sandgate call 1");
    add_digest_text(&h, call->dialect->name);
    add_digest_text(&h, call->tool ? call->tool->name : call->name);
    add_digest_text(&h, session);
    add_digest_text(&h, call->agent);
    add_roots(&h, at->roots, at->n_roots, at->base);
    add_roots(&h, at->command_roots, at->n_command_roots, at->command_base);
    if (call->arguments)
        add_digest_value(&h, call->arguments);
    hash_end_hex(&h, out);
}
