#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "core/config_store.h"

/* Those in arrays do not count: they have a limit of their own. */
#define VALUES_MAX 4096
#define ELEMENTS_MAX 4096
#define KEY_MAX 4096

struct loader {
    struct config_map *changes;
    const char *source;
    struct buf path; /* concrete path of the value at hand */
    struct err *err;
};

static int load_value(struct loader *l, const char *pattern, yyjson_val *val);

static struct str describe_json(yyjson_val *val, char scratch[32])
{
    if (yyjson_is_obj(val))
        return STR("an object");
    if (yyjson_is_arr(val) && yyjson_arr_size(val) == 0)
        return STR("an empty list");
    if (yyjson_is_null(val))
        return STR("null");
    if (yyjson_is_bool(val))
        return yyjson_get_bool(val) ? STR("true") : STR("false");
    if (yyjson_is_arr(val))
        snprintf(scratch, 32, "a list of %zu", yyjson_arr_size(val));
    else if (yyjson_is_uint(val))
        snprintf(scratch, 32, "%llu", (unsigned long long)yyjson_get_uint(val));
    else if (yyjson_is_sint(val))
        snprintf(scratch, 32, "%lld", (long long)yyjson_get_sint(val));
    else
        snprintf(scratch, 32, "%g", yyjson_get_real(val));
    return (struct str){scratch, strlen(scratch)};
}

static int refuse_json_value(struct loader *l, yyjson_val *val, const char *expected)
{
    char path[CONFIG_SHOW_MAX];
    char got[CONFIG_SHOW_MAX];
    char scratch[32];
    bool text = yyjson_is_str(val);
    config_show(path, buf_str(&l->path));
    config_show(got, text ? json_str(val) : describe_json(val, scratch));
    const char *quote = text ? "\"" : "";
    return err_field(l->err, path, "%.100s: %s%smust be %s, not %s%s%s", l->source, path,
                     *path ? " " : "", expected, quote, got, quote);
}

static int refuse_for_row(struct loader *l, const struct config_row *row, yyjson_val *val)
{
    char expected[256];
    config_expected(row, expected, sizeof expected);
    return refuse_json_value(l, val, expected);
}

static int refuse_unknown_field(struct loader *l, const char *pattern, struct str key)
{
    char path[CONFIG_SHOW_MAX];
    char known[160];
    config_show(path, buf_str(&l->path));
    struct str nearest = config_nearest(pattern, key);
    if (nearest.p)
        return err_field(l->err, path, "%.100s: unknown field %s; did you mean %.*s?", l->source,
                         path, (int)nearest.n, nearest.p);
    config_list_names(pattern, known, sizeof known);
    return err_field(l->err, path, "%.100s: unknown field %s; known here: %s", l->source, path,
                     known);
}

static int refuse_missing(struct loader *l, const char *field, const char *why)
{
    char path[CONFIG_SHOW_MAX];
    buf_addf(&l->path, ".%s", field);
    config_show(path, buf_str(&l->path));
    return err_field(l->err, path, "%.100s: %s is required%s", l->source, path, why);
}

static int put_loaded_value(struct loader *l, const struct config_row *row,
                            struct config_value *value)
{
    const char *path = buf_text(&l->path);
    if (!path || l->changes->count >= VALUES_MAX)
        return err_set(l->err, ERR_INVALID_ARGUMENTS, "%.100s: more than %d values", l->source,
                       VALUES_MAX);
    config_map_append(l->changes, path, row, value);
    return 0;
}

static bool cores_from_json(const struct config_row *row, yyjson_val *val,
                            struct config_value *ret_value)
{
    double cores = yyjson_get_num(val);
    return yyjson_is_num(val) && cores >= 0 && cores <= (double)row->max &&
           config_value_set_number(row, (int64_t)(cores * 1000 + 0.5), ret_value);
}

static bool int_from_json(const struct config_row *row, yyjson_val *val,
                          struct config_value *ret_value)
{
    if (!yyjson_is_int(val) || (yyjson_is_uint(val) && yyjson_get_uint(val) > INT64_MAX))
        return false;
    return config_value_set_number(row, yyjson_get_sint(val), ret_value);
}

static bool raw_from_json(yyjson_val *val, struct config_value *ret_value)
{
    ret_value->text = yyjson_is_obj(val) ? yyjson_val_write(val, 0, NULL) : NULL;
    return ret_value->text != NULL;
}

static bool from_json(const struct config_row *row, yyjson_val *val, struct config_value *ret_value)
{
    switch (row->type) {
    case CONFIG_INT:
        return int_from_json(row, val, ret_value);
    case CONFIG_SIZE:
        return yyjson_is_str(val) ? config_value_from_text(row, json_str(val), ret_value)
                                  : int_from_json(row, val, ret_value);
    case CONFIG_CORES:
        return cores_from_json(row, val, ret_value);
    case CONFIG_BOOL:
        ret_value->number = yyjson_get_bool(val);
        return yyjson_is_bool(val);
    case CONFIG_ENUM:
    case CONFIG_STRING:
        return yyjson_is_str(val) && config_value_from_text(row, json_str(val), ret_value);
    case CONFIG_RAW:
        return raw_from_json(val, ret_value);
    case CONFIG_LIST:
        break;
    }
    return false;
}

static int read_config_list(struct loader *l, const struct config_row *row, yyjson_val *val,
                            struct config_value *ret_value)
{
    size_t count = yyjson_arr_size(val);
    if (!yyjson_is_arr(val) || count > CONFIG_ITEMS_MAX || (row->program && count == 0))
        return refuse_for_row(l, row, val);
    struct config_row item_row = config_item_row(row);
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(val, idx, max, item) {
        CONFIG_VALUE_AT_END struct config_value one = {0};
        if (!from_json(&item_row, item, &one)) {
            buf_addf(&l->path, "[%zu]", idx);
            return refuse_for_row(l, &item_row, item);
        }
        config_value_add_item(ret_value, (struct str){one.text, strlen(one.text)});
        item_row.program = false; /* the others are its arguments */
    }
    return 0;
}

/* What *ret_value has got so far is the caller's, also after a failure. */
static int read_config_value(struct loader *l, const struct config_row *row, yyjson_val *val,
                             struct config_value *ret_value)
{
    if (row->type == CONFIG_LIST)
        return read_config_list(l, row, val, ret_value);
    return from_json(row, val, ret_value) ? 0 : refuse_for_row(l, row, val);
}

static int load_leaf(struct loader *l, const struct config_row *row, yyjson_val *val)
{
    CONFIG_VALUE_AT_END struct config_value value = {0};
    return read_config_value(l, row, val, &value) < 0 ? -1 : put_loaded_value(l, row, &value);
}

/* `field=choice` holds of the object. */
static bool condition_holds(const struct config_array *array, const struct config_element *element,
                            const char *condition)
{
    struct str field = {condition, strcspn(condition, "=")};
    char name[CONFIG_PATTERN_MAX];
    snprintf(name, sizeof name, "%.*s", (int)field.n, field.p);
    const struct config_value *value = config_element_get(array, element, name);
    return value && strcmp(value->text, condition + field.n + 1) == 0;
}

static int check_element(struct loader *l, const struct config_array *array,
                         const struct config_element *element)
{
    for (size_t i = 0; i < array->n_rows; i++) {
        const struct config_row *row = &array->rows[i];
        const char *where = row->required_where;
        if (element->set >> i & 1)
            continue;
        if (row->required)
            return refuse_missing(l, config_array_field(array, row), "");
        if (where && condition_holds(array, element, where)) {
            char why[CONFIG_PATTERN_MAX];
            size_t n = strcspn(where, "=");
            snprintf(why, sizeof why, " where %.*s is %s", (int)n, where, where + n + 1);
            return refuse_missing(l, config_array_field(array, row), why);
        }
    }
    return 0;
}

/* Its fields are looked up among the array's rows only: there may be thousands of objects. */
static int load_element(struct loader *l, struct config_array *array, const char *pattern,
                        yyjson_val *val)
{
    if (!yyjson_is_obj(val))
        return refuse_json_value(l, val, "an object");
    struct config_element *element = config_array_extend(array);
    size_t start = l->path.len;
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *item;
    yyjson_obj_foreach(val, idx, max, key, item) {
        struct str name = json_str(key);
        buf_add_char(&l->path, '.');
        buf_add(&l->path, name.p, name.n);
        const struct config_row *row = config_array_row(array, name);
        if (!row)
            return refuse_unknown_field(l, pattern, name);
        size_t i = (size_t)(row - array->rows);
        if (read_config_value(l, row, item, &element->values[i]) < 0)
            return -1;
        element->set |= (uint64_t)1 << i;
        l->path.len = start;
    }
    return check_element(l, array, element);
}

static int load_array(struct loader *l, const char *pattern, yyjson_val *val)
{
    if (!yyjson_is_arr(val) || yyjson_arr_size(val) > ELEMENTS_MAX)
        return refuse_json_value(l, val, "a list of at most 4096 objects");
    char element[CONFIG_PATTERN_MAX];
    snprintf(element, sizeof element, "%s[]", pattern);
    struct config_array *array = config_array_new(pattern);
    /* An empty one replaces too. */
    config_map_put_array(l->changes, array);
    size_t start = l->path.len;
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(val, idx, max, item) {
        buf_addf(&l->path, "[%zu]", idx);
        if (load_element(l, array, element, item) < 0)
            return -1;
        l->path.len = start;
    }
    return 0;
}

/* The pattern of a key's value: its own name, or `*` in a map. A dot or a bracket in a field's name
 * would reach another field by a second way. */
static bool child_pattern(const char *pattern, struct str key, char out[CONFIG_PATTERN_MAX])
{
    const char *dot = *pattern ? "." : "";
    snprintf(out, CONFIG_PATTERN_MAX, "%s%s*", pattern, dot);
    if (config_row_at(out) || config_is_section(out))
        return true;
    if (key.n == 0 || key.n >= CONFIG_PATTERN_MAX || strcspn(key.p, ".[]*") < key.n)
        return false;
    snprintf(out, CONFIG_PATTERN_MAX, "%s%s%s", pattern, dot, key.p);
    return config_row_at(out) || config_is_section(out) || config_is_array(out);
}

static int load_member(struct loader *l, const char *pattern, yyjson_val *key, yyjson_val *val)
{
    struct str name = json_str(key);
    char child[CONFIG_PATTERN_MAX];
    size_t start = l->path.len;
    buf_addf(&l->path, "%s", start ? "." : "");
    buf_add(&l->path, name.p, name.n);
    if (!child_pattern(pattern, name, child))
        return refuse_unknown_field(l, pattern, name);
    if (name.n == 0 || name.n > KEY_MAX || strlen(name.p) != name.n)
        return refuse_json_value(l, key, "a name of 1 to 4096 bytes without NUL");
    int r = load_value(l, child, val);
    l->path.len = start;
    return r;
}

static int load_value(struct loader *l, const char *pattern, yyjson_val *val)
{
    const struct config_row *row = config_row_at(pattern);
    if (row)
        return load_leaf(l, row, val);
    if (config_is_array(pattern))
        return load_array(l, pattern, val);
    if (!yyjson_is_obj(val))
        return refuse_json_value(l, val, "an object");
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *item;
    yyjson_obj_foreach(val, idx, max, key, item) {
        if (load_member(l, pattern, key, item) < 0)
            return -1;
    }
    return 0;
}

static int refuse_damaged(struct str json, const char *source, const struct json_error *why,
                          struct err *err)
{
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i < why->at && i < json.n; i++) {
        column = json.p[i] == '\n' ? 1 : column + 1;
        line += json.p[i] == '\n';
    }
    char what[CONFIG_SHOW_MAX];
    config_show(what, (struct str){why->what, strlen(why->what)});
    if (why->at == 0)
        return err_set(err, ERR_INVALID_ARGUMENTS, "%.100s: %s", source, what);
    return err_set(err, ERR_INVALID_ARGUMENTS, "%.100s: line %zu, column %zu: %s", source, line,
                   column, what);
}

int config_changes_load(struct config_map *changes, struct str json, size_t max_bytes,
                        const char *source, struct err *err)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    struct json_error why = {0};
    if (json.n == 0)
        return err_set(
            err, ERR_INVALID_ARGUMENTS,
            "%.100s: it is empty, or no file; a configuration is a JSON object, {} at least",
            source);
    if (json_parse(json.p, json.n, max_bytes, JSON_STRICT, &doc, &why) < 0)
        return refuse_damaged(json, source, &why, err);
    struct loader loader = {changes, source, BUF_INIT(2 * max_bytes), err};
    int r = load_value(&loader, "", yyjson_doc_get_root(doc));
    buf_done(&loader.path);
    config_map_sort(changes);
    return r;
}
