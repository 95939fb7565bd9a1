/* For the tests of the configuration: applying texts, reading the project's files, and comparing whole
 * configurations. */
#ifndef SANDGATE_TESTS_CONFIG_DUMP_H
#define SANDGATE_TESTS_CONFIG_DUMP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/config.h"
#include "core/config_table.h"

#define SOURCE "site.json"

static inline void config_freep(struct config **config)
{
    config_free(*config);
}
#define CONFIG_AT_END CLEANUP(config_freep)

static inline struct str text_str(const char *text)
{
    return (struct str){text, strlen(text)};
}

/* Texts in tests have ' for ", which C would need escaped. */
static inline int apply(struct config *config, const char *json, enum config_trust trust,
                        config_ignored_fn ignored, void *arg, struct err *err)
{
    FREE_AT_END char *quoted = mem_dup(json);
    for (char *at = quoted; (at = strchr(at, '\''));)
        *at = '"';
    return config_apply(config, text_str(quoted), SOURCE, trust, ignored, arg, err);
}

static inline void must_apply(struct config *config, const char *json, enum config_trust trust)
{
    struct err err = {0};
    if (apply(config, json, trust, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", json, err.message);
}

static inline struct config *loaded(const char *json)
{
    struct config *config = config_new();
    must_apply(config, json, CONFIG_OPERATOR);
    return config;
}

#ifndef SOURCE_DIR
#define SOURCE_DIR "."
#endif

static inline char *read_source(const char *name)
{
    const char *root = getenv("SANDGATE_SOURCE");
    FREE_AT_END char *path = mem_format("%s/%s", root ? root : SOURCE_DIR, name);
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("cannot open %s", path);
    char *text = mem_zero(1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    assert_in_range(n, 1, (1 << 20) - 2);
    return text;
}

static inline void assert_items(bool set, const struct str *items, size_t count,
                                const char *expected)
{
    BUF_AT_END struct buf joined = BUF_INIT(4096);
    if (!set)
        buf_add_text(&joined, "unset");
    for (size_t i = 0; i < count; i++)
        buf_addf(&joined, "%s%.*s", i ? " " : "", (int)items[i].n, items[i].p);
    assert_string_equal(buf_text(&joined), expected);
}

static inline void assert_list(const struct config *config, const char *path, const char *expected)
{
    const struct str *items;
    size_t count;
    bool set = config_list(config, path, &items, &count);
    assert_items(set, items, count, expected);
}

/* A row's path for each of these keys, which is all that a dump shows of a map. */
static const char *const keys[] = {"bash", "fs.read", "other", "*"};
#define ELEMENTS_SHOWN 4

static inline char *concrete(const struct config_row *row, size_t i)
{
    size_t n = strcspn(row->path, "*[");
    if (row->path[n] == '*')
        return mem_format("%.*s%s%s", (int)n, row->path, keys[i % ARRAY_LEN(keys)],
                          row->path + n + 1);
    if (row->path[n] == '[')
        return mem_format("%.*s[%zu]%s", (int)n, row->path, i % ELEMENTS_SHOWN, row->path + n + 2);
    return mem_dup(row->path);
}

static inline void dump_one(struct buf *out, const struct config *config,
                            const struct config_row *row, const char *path)
{
    const struct str *items;
    size_t count;
    buf_addf(out, "%s=", path);
    if (row->type == CONFIG_BOOL) {
        buf_addf(out, "%d", config_bool(config, path));
    } else if (row->type == CONFIG_LIST && config_list(config, path, &items, &count)) {
        for (size_t i = 0; i < count; i++)
            buf_addf(out, "%.*s,", (int)items[i].n, items[i].p);
    } else if (row->type == CONFIG_ENUM || row->type == CONFIG_STRING || row->type == CONFIG_RAW) {
        const char *text = config_text(config, path);
        buf_add_text(out, text ? text : "unset");
    } else if (row->type != CONFIG_LIST) {
        buf_addf(out, "%lld", (long long)config_int(config, path));
    } else {
        buf_add_text(out, "unset");
    }
    buf_add_char(out, '\n');
}

static inline char *dump(const struct config *config)
{
    struct buf out = BUF_INIT(1 << 20);
    size_t count;
    const struct config_row *rows = config_rows(&count);
    for (size_t i = 0; i < count; i++) {
        for (size_t key = 0; key < 4; key++) {
            FREE_AT_END char *path = concrete(&rows[i], key);
            dump_one(&out, config, &rows[i], path);
        }
    }
    static const char *const arrays[] = {"approval.rules", "policy.budgets", "hooks"};
    for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
        buf_addf(&out, "%s: %zu\n", arrays[i], config_count(config, arrays[i]));
    assert_non_null(buf_text(&out));
    return out.data;
}

static inline void assert_same(const struct config *a, const struct config *b)
{
    FREE_AT_END char *x = dump(a);
    FREE_AT_END char *y = dump(b);
    assert_string_equal(x, y);
}

#endif
