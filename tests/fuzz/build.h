/* Turns bytes into a JSON object for a table: values that fit, mostly, and now and then ones that do
 * not. Raw text alone hardly ever gets past the JSON parser. */
#ifndef SANDGATE_TESTS_FUZZ_BUILD_H
#define SANDGATE_TESTS_FUZZ_BUILD_H

#include <string.h>

#include "core/arg.h"

struct source {
    const uint8_t *p;
    size_t n;
};

static inline unsigned next_byte(struct source *s)
{
    if (s->n == 0)
        return 0;
    s->n--;
    return *s->p++;
}

static inline struct str next_bytes(struct source *s)
{
    size_t n = next_byte(s);
    n = n < s->n ? n : s->n;
    struct str text = {n ? (const char *)s->p : "", n};
    s->p += n;
    s->n -= n;
    return text;
}

static inline int64_t next_int(struct source *s)
{
    static const int64_t edges[] = {
        0, 1, -1, 7, 8, INT64_MAX, INT64_MAX - 1, INT64_MIN, 16 << 20, INT64_MIN + 1};
    unsigned pick = next_byte(s);
    if (pick < ARRAY_LEN(edges))
        return edges[pick];
    int64_t value = 0;
    for (unsigned i = 0; i < pick % 9; i++)
        value = (int64_t)((uint64_t)value << 8 | next_byte(s));
    return pick < 128 ? value : (int64_t)pick - 128;
}

/* A path of parts that mean something in the worker's folder. */
static inline void build_path(struct source *s, struct json_out *j)
{
    static const char *const parts[] = {"a",    "d",   "b",  "l", "out", "abs",    "etc",
                                        "fifo", "old", "..", ".", "new", "\xff\n", ""};
    char path[200];
    size_t n = 0;
    for (unsigned left = next_byte(s) % 6 + 1; left > 0; left--) {
        const char *part = parts[next_byte(s) % ARRAY_LEN(parts)];
        memcpy(path + n, part, strlen(part));
        n += strlen(part);
        if (left > 1)
            path[n++] = '/';
    }
    jo_bytes(j, (struct str){path, n});
}

static inline void build_object(const struct arg_table *table, struct source *s,
                                struct json_out *j);

/* An object of the inner table, or one of few keys where any will do. */
static inline void build_inner(const struct arg *arg, struct source *s, struct json_out *j)
{
    static const char *const keys[] = {"set", "append", "merge", "remove", "unique", "", "a.b"};
    if (arg->items) {
        build_object(&(struct arg_table){arg->items, arg->n_items, 0}, s, j);
        return;
    }
    jo_open(j, '{');
    for (unsigned left = next_byte(s) % 4; left > 0; left--) {
        jo_key(j, keys[(next_byte(s) + left) % ARRAY_LEN(keys)]);
        jo_bytes(j, next_bytes(s));
    }
    jo_close(j, '}');
}

static inline void build_list(const struct arg *arg, struct source *s, struct json_out *j);

static inline void build_fitting(const struct arg *arg, struct source *s, struct json_out *j)
{
    static const char hash[] = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";
    size_t choices = 0;
    switch (arg->type) {
    case ARG_INT:
        jo_int(j, next_int(s));
        break;
    case ARG_BOOL:
        jo_bool(j, next_byte(s) & 1);
        break;
    case ARG_CHOICE:
        while (arg->choices[choices])
            choices++;
        jo_text(j, arg->choices[next_byte(s) % choices]);
        break;
    case ARG_SHA256:
        jo_text(j, hash);
        break;
    case ARG_OBJECT:
        build_inner(arg, s, j);
        break;
    case ARG_OBJECTS:
        jo_open(j, '[');
        for (unsigned left = next_byte(s) % 4; left > 0; left--)
            build_inner(arg, s, j);
        jo_close(j, ']');
        break;
    case ARG_LIST:
        build_list(arg, s, j);
        break;
    case ARG_STRING:
        if (strcmp(arg->name, "path") == 0 && next_byte(s) & 1)
            build_path(s, j);
        else
            jo_bytes(j, next_bytes(s));
        break;
    }
}

static inline void build_value(const struct arg *arg, struct source *s, struct json_out *j)
{
    static const struct str others[] = {
        STR_INIT("null"),        STR_INIT("true"),      STR_INIT("false"),
        STR_INIT("10.0"),        STR_INIT("1e300"),     STR_INIT("-0.5"),
        STR_INIT("\"\""),        STR_INIT("[]"),        STR_INIT("{}"),
        STR_INIT("[\"x\"]"),     STR_INIT("{\"a\":1}"), STR_INIT("18446744073709551615"),
        STR_INIT("\"\\u0000\""),
    };
    unsigned pick = next_byte(s);
    if (pick < ARRAY_LEN(others))
        jo_raw(j, others[pick]);
    else if (pick < 20)
        jo_int(j, next_int(s));
    else if (pick < 30)
        jo_bytes(j, next_bytes(s));
    else
        build_fitting(arg, s, j);
}

static inline void build_list(const struct arg *arg, struct source *s, struct json_out *j)
{
    jo_open(j, '[');
    for (unsigned left = next_byte(s) % 4; left > 0; left--)
        build_value(arg->items, s, j);
    jo_close(j, ']');
}

static inline void build_object(const struct arg_table *table, struct source *s, struct json_out *j)
{
    jo_open(j, '{');
    for (size_t i = 0; i < table->count; i++) {
        if (next_byte(s) % 16 == 1)
            continue;
        jo_key(j, table->args[i].name);
        build_value(&table->args[i], s, j);
    }
    if (next_byte(s) % 16 == 1)
        jo_kint(j, "unknown", 1);
    jo_close(j, '}');
}

#endif
