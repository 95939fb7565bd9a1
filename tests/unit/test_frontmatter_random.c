/* Random front matter, random updates: bytes of keys that are not changed stay, and the values read back right, as
 * libfyaml's document interface reads them, which the code under test does not use. */
#include <cmocka.h>
#include <libfyaml.h>

#include "base/mem.h"
#include "frontmatter_maker.h"
#include "json_text.h"
#include "work/frontmatter.h"

#define ROUNDS 10000

struct round {
    struct made_file file;
    yyjson_mut_val *update;
    yyjson_mut_val *change[KEYS_MAX]; /* of each key, or NULL */
    bool refused;                     /* the update asks for what cannot be done */
    struct buf before;
    struct buf after;
};

static yyjson_mut_val *random_value(struct made_file *f, int depth)
{
    static const char *const texts[] = {
        "",       "plain", "yes",   "1e3",  "2024-01-01", "- x",    "#x",           "a: b", " lead",
        "trail ", "a\nb",  "\"q\"", "\x01", "null",       "[x, y]", "\xe2\x80\xa8", "~",    "beta"};
    yyjson_mut_val *all;
    size_t kind = random_below(depth > 0 ? 8 : 6);
    char name[8];
    switch (kind) {
    case 0:
        return yyjson_mut_sint(f->doc, (int64_t)random_next() >> random_below(64));
    case 1:
        return yyjson_mut_real(f->doc, (double)random_below(1000) / 16 * (chance(50) ? 1e30 : 1));
    case 2:
        return chance(50) ? yyjson_mut_bool(f->doc, chance(50)) : yyjson_mut_null(f->doc);
    case 6:
        all = yyjson_mut_arr(f->doc);
        for (size_t n = random_below(4); n; n--)
            yyjson_mut_arr_append(all, random_value(f, depth - 1));
        return all;
    case 7:
        all = yyjson_mut_obj(f->doc);
        for (size_t n = random_below(4); n; n--) {
            snprintf(name, sizeof name, chance(50) ? "f%zu" : "b%zu", n);
            if (!yyjson_mut_obj_get(all, name))
                yyjson_mut_obj_add(all, yyjson_mut_strcpy(f->doc, name),
                                   random_value(f, depth - 1));
        }
        return all;
    default:
        return yyjson_mut_str(f->doc, texts[random_below(ARRAY_LEN(texts))]);
    }
}

static yyjson_mut_val *random_members(struct made_file *f)
{
    yyjson_mut_val *all = yyjson_mut_obj(f->doc);
    static const char *const names[] = {"f0", "f1", "b0", "b2", "new", "no"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (chance(30))
            yyjson_mut_obj_add(all, yyjson_mut_str(f->doc, names[i]), random_value(f, 2));
    }
    return all;
}

static yyjson_mut_val *random_change(struct made_file *f, yyjson_mut_val *old, bool removable)
{
    yyjson_mut_val *change = yyjson_mut_obj(f->doc);
    bool fits = chance(80);
    size_t kind = random_below(10);
    if (kind < 3 && (!fits || !old || yyjson_mut_is_arr(old) || yyjson_mut_is_null(old))) {
        yyjson_mut_obj_add_val(f->doc, change, "append", random_value(f, 2));
        if (chance(50))
            yyjson_mut_obj_add_bool(f->doc, change, "unique", chance(80));
    } else if (kind < 6 && (!fits || !old || yyjson_mut_is_obj(old) || yyjson_mut_is_null(old))) {
        yyjson_mut_obj_add_val(f->doc, change, "merge", random_members(f));
    } else if (kind == 6 && removable) {
        yyjson_mut_obj_add_bool(f->doc, change, "remove", true);
    } else {
        yyjson_mut_obj_add_val(f->doc, change, "set", random_value(f, 2));
    }
    return change;
}

static void add_change(struct round *r, const char *name, int key)
{
    struct made_file *f = &r->file;
    yyjson_mut_val *old = key < 0 ? NULL : f->keys[key].value;
    yyjson_mut_val *change = random_change(f, old, key < 0 || !f->keys[key].behind_block);
    if (key >= 0)
        r->change[key] = change;
    yyjson_mut_obj_add(r->update, yyjson_mut_strcpy(f->doc, name), change);
}

static void make_update(struct round *r)
{
    struct made_file *f = &r->file;
    r->update = yyjson_mut_obj(f->doc);
    for (size_t n = chance(70) ? 1 : 1 + random_below(3); n; n--) {
        int key = f->count ? (int)random_below((size_t)f->count) : -1;
        if (key >= 0 && chance(80) && !r->change[key])
            add_change(r, f->keys[key].name, key);
        else if (!yyjson_mut_obj_get(r->update, "added"))
            add_change(r, "added", -1);
    }
}

static bool has_string(yyjson_mut_val *list, yyjson_mut_val *value)
{
    size_t index;
    size_t max;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(list, index, max, item)
    {
        if (yyjson_mut_is_str(item) && yyjson_mut_equals_str(value, yyjson_mut_get_str(item)))
            return true;
    }
    return false;
}

static void append_one(struct made_file *f, yyjson_mut_val *list, yyjson_mut_val *value,
                       bool unique)
{
    if (!unique || !yyjson_mut_is_str(value) || !has_string(list, value))
        yyjson_mut_arr_append(list, yyjson_mut_val_mut_copy(f->doc, value));
}

static yyjson_mut_val *appended(struct round *r, yyjson_mut_val *old, yyjson_mut_val *change)
{
    struct made_file *f = &r->file;
    bool unique = yyjson_mut_is_true(yyjson_mut_obj_get(change, "unique"));
    yyjson_mut_val *more = yyjson_mut_obj_get(change, "append");
    if (old && !yyjson_mut_is_null(old) && !yyjson_mut_is_arr(old)) {
        r->refused = true;
        return NULL;
    }
    yyjson_mut_val *list = yyjson_mut_is_arr(old) ? yyjson_mut_val_mut_copy(f->doc, old)
                                                  : yyjson_mut_arr(f->doc);
    size_t index;
    size_t max;
    yyjson_mut_val *item;
    if (!yyjson_mut_is_arr(more))
        append_one(f, list, more, unique);
    yyjson_mut_arr_foreach(more, index, max, item) append_one(f, list, item, unique);
    return list;
}

static yyjson_mut_val *merged(struct round *r, yyjson_mut_val *old, yyjson_mut_val *members)
{
    struct made_file *f = &r->file;
    size_t index;
    size_t max;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    if (old && !yyjson_mut_is_null(old) && !yyjson_mut_is_obj(old)) {
        r->refused = true;
        return NULL;
    }
    yyjson_mut_val *all = yyjson_mut_is_obj(old) ? yyjson_mut_val_mut_copy(f->doc, old)
                                                 : yyjson_mut_obj(f->doc);
    yyjson_mut_obj_foreach(members, index, max, key, value)
    {
        if (!yyjson_mut_obj_replace(all, key, yyjson_mut_val_mut_copy(f->doc, value)))
            yyjson_mut_obj_add(all, yyjson_mut_strcpy(f->doc, yyjson_mut_get_str(key)),
                               yyjson_mut_val_mut_copy(f->doc, value));
    }
    return all;
}

/* NULL: the key goes, or never was. */
static yyjson_mut_val *changed(struct round *r, yyjson_mut_val *old, yyjson_mut_val *change)
{
    if (yyjson_mut_obj_get(change, "set"))
        return yyjson_mut_obj_get(change, "set");
    if (yyjson_mut_obj_get(change, "append"))
        return appended(r, old, change);
    if (yyjson_mut_obj_get(change, "merge"))
        return merged(r, old, yyjson_mut_obj_get(change, "merge"));
    return NULL;
}

static bool replaces(const struct round *r, int key)
{
    yyjson_mut_val *change = r->change[key];
    return change && (yyjson_mut_obj_get(change, "set") || yyjson_mut_obj_get(change, "remove") ||
                      yyjson_mut_is_null(r->file.keys[key].value));
}

/* An alias can only be replaced, and what it stands for only together with it. */
static bool aliases_allow(const struct round *r)
{
    for (int i = 0; i < r->file.count; i++) {
        int target = r->file.keys[i].alias_of;
        if (target < 0)
            continue;
        bool goes = r->change[i] && (yyjson_mut_obj_get(r->change[i], "set") ||
                                     yyjson_mut_obj_get(r->change[i], "remove"));
        if (!goes && (r->change[i] || replaces(r, target)))
            return false;
    }
    return true;
}

static bool is_number(const char *text)
{
    char *end;
    if (!*text || strchr("xXiInN ", text[0]) || strstr(text, "0x"))
        return false;
    strtod(text, &end);
    return !*end;
}

static void check_scalar(struct fy_node *node, yyjson_mut_val *value)
{
    size_t n = 0;
    const char *text = fy_node_get_scalar(node, &n);
    struct fy_token *token = fy_node_get_scalar_token(node);
    size_t tag_n = 0;
    const char *tag = fy_node_get_tag(node, &tag_n);
    bool plain = !tag && (!token || fy_token_scalar_style(token) == FYSS_PLAIN);
    FREE_AT_END char *copy = mem_copy(text ? text : "", n);
    bool is_null = plain && (!*copy || strcmp(copy, "~") == 0 || strcmp(copy, "null") == 0);
    bool is_bool = plain && (strcmp(copy, "true") == 0 || strcmp(copy, "false") == 0);
    if (yyjson_mut_is_str(value)) {
        assert_false(is_null || is_bool || (plain && is_number(copy)));
        assert_int_equal(n, yyjson_mut_get_len(value));
        assert_memory_equal(copy, yyjson_mut_get_str(value), n);
    } else if (yyjson_mut_is_num(value)) {
        char expected[32];
        snprintf(expected, sizeof expected, "%lld", (long long)yyjson_mut_get_sint(value));
        assert_true(plain && is_number(copy));
        if (yyjson_mut_is_real(value))
            assert_true(strtod(copy, NULL) == yyjson_mut_get_real(value) && strchr(copy, '.'));
        else
            assert_string_equal(copy, expected);
    } else if (yyjson_mut_is_bool(value)) {
        assert_true(is_bool && (copy[0] == 't') == yyjson_mut_get_bool(value));
    } else {
        assert_true(yyjson_mut_is_null(value) && is_null);
    }
}

static void check_value(struct fy_node *node, yyjson_mut_val *value)
{
    size_t index;
    size_t max;
    yyjson_mut_val *key;
    yyjson_mut_val *item;
    if (node && fy_node_is_alias(node))
        node = fy_node_resolve_alias(node);
    if (yyjson_mut_is_arr(value)) {
        assert_true(fy_node_is_sequence(node));
        assert_int_equal(fy_node_sequence_item_count(node), yyjson_mut_arr_size(value));
        yyjson_mut_arr_foreach(value, index, max, item)
            check_value(fy_node_sequence_get_by_index(node, (int)index), item);
    } else if (yyjson_mut_is_obj(value)) {
        assert_true(fy_node_is_mapping(node));
        assert_int_equal(fy_node_mapping_item_count(node), yyjson_mut_obj_size(value));
        yyjson_mut_obj_foreach(value, index, max, key, item)
        {
            const char *name = yyjson_mut_get_str(key);
            struct fy_node_pair *pair = fy_node_mapping_lookup_pair_by_string(node, name, FY_NT);
            assert_non_null(pair);
            check_value(fy_node_pair_value(pair), item);
        }
    } else {
        assert_true(!node || fy_node_is_scalar(node));
        check_scalar(node, value);
    }
}

static void check_values(struct round *r, yyjson_mut_val *const *expected, yyjson_mut_val *added)
{
    const struct made_file *f = &r->file;
    size_t from = f->head.data[0] == '-' ? 0 : 3;
    struct fy_parse_cfg config = {.flags = FYPCF_QUIET};
    struct fy_document *doc = fy_document_build_from_string(&config, r->after.data + from,
                                                            r->after.len - from - f->body.len);
    assert_non_null(doc);
    struct fy_node *root = fy_document_root(doc);
    int count = 0;
    for (int i = 0; i < f->count; i++) {
        int source = f->keys[i].alias_of >= 0 && !r->change[i] ? f->keys[i].alias_of : i;
        if (!expected[source] && source == i)
            continue;
        struct fy_node_pair *pair = fy_node_mapping_lookup_pair_by_string(root, f->keys[i].name,
                                                                          FY_NT);
        assert_non_null(pair);
        check_value(fy_node_pair_value(pair), expected[source]);
        count++;
    }
    if (added) {
        struct fy_node_pair *pair = fy_node_mapping_lookup_pair_by_string(root, "added", FY_NT);
        assert_non_null(pair);
        check_value(fy_node_pair_value(pair), added);
        count++;
    }
    assert_int_equal(root && fy_node_is_mapping(root) ? fy_node_mapping_item_count(root) : 0,
                     count);
    fy_document_destroy(doc);
}

static bool is_subsequence(struct str part, struct str whole)
{
    size_t at = 0;
    for (size_t i = 0; i < whole.n && at < part.n; i++)
        at += part.p[at] == whole.p[i];
    return at == part.n;
}

static size_t name_length(const struct made_key *key)
{
    return (size_t)((const char *)memchr(key->own.data, ':', key->own.len) - key->own.data) + 1;
}

/* `now` is what a changed key's lines became; its name stands first as before. */
static void check_own_lines(const struct round *r, int key, struct str now)
{
    const struct made_key *made = &r->file.keys[key];
    struct str old = buf_str(&made->own);
    size_t head = name_length(made);
    assert_true(now.n > head && memcmp(now.p, old.p, head) == 0);
    assert_int_equal(now.p[now.n - 1], '\n');
    if (made->comment)
        assert_non_null(memmem(now.p, now.n, "  # keep", 8));
    if (yyjson_mut_obj_get(r->change[key], "append") && yyjson_mut_arr_size(made->value)) {
        assert_true(is_subsequence(old, now));
        if (made->is_block)
            assert_memory_equal(now.p, old.p, old.n);
    }
}

static void expect_next(struct str *rest, const struct buf *part)
{
    assert_true(rest->n >= part->len);
    if (part->len)
        assert_memory_equal(rest->p, part->data, part->len);
    rest->p += part->len;
    rest->n -= part->len;
}

/* All that must follow a key, up to and with the name of the next one that changes. Tells whether that was all. */
static bool add_fixed_run(const struct round *r, int from, bool added, struct buf *run)
{
    const struct made_file *f = &r->file;
    for (int i = from; i < f->count; i++) {
        buf_add(run, f->keys[i].lead.data, f->keys[i].lead.len);
        if (!r->change[i]) {
            buf_add(run, f->keys[i].own.data, f->keys[i].own.len);
        } else if (!yyjson_mut_obj_get(r->change[i], "remove")) {
            buf_add(run, f->keys[i].own.data, name_length(&f->keys[i]));
            return false;
        }
    }
    buf_add(run, f->trail.data, f->trail.len);
    if (added)
        buf_add_text(run, "added:");
    return !added;
}

/* Where a changed key's lines end: what comes behind is known. */
static size_t own_length(const struct round *r, int key, struct str rest, bool added)
{
    BUF_AT_END struct buf run = BUF_INIT(100000);
    if (add_fixed_run(r, key + 1, added, &run)) {
        assert_true(rest.n >= run.len);
        return rest.n - run.len;
    }
    for (size_t at = 1; at + run.len <= rest.n; at++) {
        if (rest.p[at - 1] == '\n' && memcmp(rest.p + at, run.data, run.len) == 0)
            return at;
    }
    fail_msg("lines behind `%s` are gone", r->file.keys[key].name);
    return 0;
}

static void check_bytes(struct round *r, bool added)
{
    struct made_file *f = &r->file;
    struct str rest = buf_str(&r->after);
    assert_true(rest.n >= f->body.len);
    rest.n -= f->body.len;
    assert_memory_equal(rest.p + rest.n, f->body.data, f->body.len);
    expect_next(&rest, &f->head);
    for (int i = 0; i < f->count; i++) {
        expect_next(&rest, &f->keys[i].lead);
        if (!r->change[i]) {
            expect_next(&rest, &f->keys[i].own);
        } else if (!yyjson_mut_obj_get(r->change[i], "remove")) {
            struct str own = {rest.p, own_length(r, i, rest, added)};
            check_own_lines(r, i, own);
            rest.p += own.n;
            rest.n -= own.n;
        }
    }
    expect_next(&rest, &f->trail);
    if (added)
        assert_memory_equal(rest.p, "added:", 6);
    else
        assert_int_equal(rest.n, 0);
}

static void expect_values(struct round *r, yyjson_mut_val **expected, yyjson_mut_val **ret_added)
{
    struct made_file *f = &r->file;
    yyjson_mut_val *change = yyjson_mut_obj_get(r->update, "added");
    r->refused = !aliases_allow(r);
    for (int i = 0; i < f->count; i++)
        expected[i] = r->change[i] ? changed(r, f->keys[i].value, r->change[i]) : f->keys[i].value;
    *ret_added = change ? changed(r, NULL, change) : NULL;
}

static void run_round(struct round *r)
{
    yyjson_mut_val *expected[KEYS_MAX] = {NULL};
    yyjson_mut_val *added;
    struct err err;
    yyjson_mut_doc_set_root(r->file.doc, r->update);
    JSON_AT_END yyjson_doc *update = yyjson_mut_doc_imut_copy(r->file.doc, NULL);
    expect_values(r, expected, &added);
    int result = frontmatter_patch(buf_str(&r->before), yyjson_doc_get_root(update), &r->after,
                                   &err);
    if (r->refused) {
        assert_int_equal(result, -1);
        assert_int_equal(err.code, ERR_INVALID_FRONTMATTER);
        return;
    }
    if (result < 0)
        fail_msg("%s: %s", err_row(err.code)->name, err.message);
    check_bytes(r, added);
    check_values(r, expected, added);
}

static struct round *current;

/* cmocka leaves a failed test by a jump: what it was about is shown behind it. */
static int show_failed(void **state)
{
    (void)state;
    if (!current)
        return 0;
    FREE_AT_END char *update = yyjson_mut_val_write(current->update, 0, NULL);
    printf("# before:\n%s\n# update: %s\n# after:\n%s\n", buf_text(&current->before), update,
           buf_text(&current->after));
    return 0;
}

static void bytes_stay_and_values_change(void **state)
{
    (void)state;
    static struct round r;
    unsigned refused = 0;
    unsigned rounds = random_rounds(ROUNDS);
    random_begin();
    for (unsigned i = 0; i < rounds; i++) {
        r = (struct round){.before = BUF_INIT(100000), .after = BUF_INIT(100000)};
        current = &r;
        make_file(&r.file);
        made_file_text(&r.file, &r.before);
        make_update(&r);
        run_round(&r);
        refused += r.refused;
        made_file_done(&r.file);
        buf_done(&r.before);
        buf_done(&r.after);
    }
    current = NULL;
    /* Most updates must be ones that can be made. */
    assert_true(refused < rounds / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(bytes_stay_and_values_change, show_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
