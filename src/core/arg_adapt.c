/* Arguments as models write them, in the form of the table: what comes out is all that records, rules, questions and
 * tools ever see. */
#include <string.h>

#include "core/arg.h"

struct adapting {
    yyjson_mut_doc *doc;
    struct err *err;
};

static bool names_argument(const struct arg *arg, struct str key)
{
    return str_is(key, arg->name) || (arg->alias && str_is(key, arg->alias));
}

static const struct arg *find_adapted(const struct arg *args, size_t n, struct str key)
{
    for (size_t i = 0; i < n; i++) {
        if (names_argument(&args[i], key))
            return &args[i];
    }
    return NULL;
}

/* The list whose one item's field this is. */
static const struct arg *find_beside(const struct arg_table *table, struct str key)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        if (arg->flags & ARG_ONE_BESIDE && find_adapted(arg->items, arg->n_items, key))
            return arg;
    }
    return NULL;
}

/* Text that may be meant as the array or object that the table has here. */
static bool is_text_of_one(const struct arg *arg, yyjson_val *val)
{
    bool object = arg->type == ARG_OBJECT;
    if (!object && arg->type != ARG_OBJECTS && arg->type != ARG_LIST)
        return false;
    struct str text = json_str(val);
    while (text.n && (*text.p == ' ' || *text.p == '\n' || *text.p == '\t' || *text.p == '\r'))
        text = (struct str){text.p + 1, text.n - 1};
    return text.n && *text.p == (object ? '{' : '[');
}

static bool has_other_names(const struct arg *arg, yyjson_val *list)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (arg->type != ARG_OBJECTS || !yyjson_is_arr(list))
        return false;
    yyjson_arr_foreach(list, idx, max, item) {
        for (size_t i = 0; i < arg->n_items; i++) {
            if (arg->items[i].alias && yyjson_obj_get(item, arg->items[i].alias))
                return true;
        }
    }
    return false;
}

static bool must_be_adapted(const struct arg_table *table, yyjson_val *object)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(object, idx, max, key, val) {
        const struct arg *arg = find_adapted(table->args, table->count, json_str(key));
        if (!arg && find_beside(table, json_str(key)))
            return true;
        if (!arg)
            continue;
        if (!str_is(json_str(key), arg->name) || is_text_of_one(arg, val) ||
            has_other_names(arg, val) ||
            (arg->use & ARG_BASE64 && yyjson_is_str(val) && yyjson_get_len(val) == 0))
            return true;
    }
    return false;
}

static int no_memory(struct adapting *a)
{
    return err_no_memory(a->err);
}

static int put(struct adapting *a, yyjson_mut_val *object, const char *name, yyjson_mut_val *val)
{
    return val && yyjson_mut_obj_add_val(a->doc, object, name, val) ? 0 : no_memory(a);
}

/* One object, by the table of its fields. What is in no table is copied as it is. */
static yyjson_mut_val *adapt_fields(struct adapting *a, const struct arg *args, size_t n,
                                    yyjson_val *object);

static yyjson_mut_val *adapt_list(struct adapting *a, const struct arg *arg, yyjson_val *list)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_mut_val *out = yyjson_mut_arr(a->doc);
    yyjson_arr_foreach(list, idx, max, item) {
        yyjson_mut_val *one = yyjson_is_obj(item) ? adapt_fields(a, arg->items, arg->n_items, item)
                                                  : yyjson_val_mut_copy(a->doc, item);
        if (!one)
            return NULL;
        yyjson_mut_arr_append(out, one);
    }
    return out;
}

static yyjson_mut_val *adapt_value(struct adapting *a, const struct arg *arg, yyjson_val *val)
{
    JSON_AT_END yyjson_doc *inner = NULL;
    if (arg && is_text_of_one(arg, val)) {
        struct str text = json_str(val);
        /* What is no JSON stays text, and is refused as that. */
        if (json_parse(text.p, text.n, text.n, JSON_STRICT, &inner, NULL) == 0)
            val = yyjson_doc_get_root(inner);
    }
    if (arg && arg->type == ARG_OBJECTS && yyjson_is_arr(val))
        return adapt_list(a, arg, val);
    return yyjson_val_mut_copy(a->doc, val);
}

/* 1: this key says nothing that another one does not, 0: it does, -1: they differ. */
static int is_said_twice(struct adapting *a, const struct arg *arg, yyjson_val *object,
                         yyjson_val *key, yyjson_val *val)
{
    bool other = !str_is(json_str(key), arg->name);
    yyjson_val *named = other ? yyjson_obj_get(object, arg->name) : NULL;
    if (yyjson_is_null(val))
        return 1;
    if (!named || yyjson_is_null(named))
        return 0;
    /* All that have two names are scalars; to compare others could take very long. */
    if (!yyjson_is_ctn(named) && !yyjson_is_ctn(val) && yyjson_equals(named, val))
        return 1;
    return err_field(
        a->err, arg->alias,
        "`%s` and `%s` are two names of one argument and differ here: give one of them", arg->alias,
        arg->name);
}

static yyjson_mut_val *adapt_fields(struct adapting *a, const struct arg *args, size_t n,
                                    yyjson_val *object)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_mut_val *out = yyjson_mut_obj(a->doc);
    yyjson_obj_foreach(object, idx, max, key, val) {
        const struct arg *arg = find_adapted(args, n, json_str(key));
        int twice = arg ? is_said_twice(a, arg, object, key, val) : 0;
        if (twice < 0)
            return NULL;
        if (twice || (arg && arg->use & ARG_BASE64 && json_str(val).n == 0 && yyjson_is_str(val)))
            continue;
        yyjson_mut_val *name = arg ? yyjson_mut_str(a->doc, arg->name)
                                   : yyjson_val_mut_copy(a->doc, key);
        yyjson_mut_val *copy = adapt_value(a, arg, val);
        if (!name || !copy || !yyjson_mut_obj_add(out, name, copy))
            return NULL;
    }
    return out;
}

static int fail_both_forms(struct adapting *a, const struct arg *list, struct str key)
{
    return err_field(a->err, list->name,
                     "give `%s` or `%.60s` and what belongs to it, not both: they are two ways to "
                     "say the same",
                     list->name, key.p);
}

/* Moves the fields of a list's one item from `root` into the list. */
static int gather_item(struct adapting *a, const struct arg_table *table, yyjson_val *object,
                       yyjson_mut_val *root)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_mut_val *item = NULL;
    const struct arg *list = NULL;
    yyjson_obj_foreach(object, idx, max, key, val) {
        if (find_adapted(table->args, table->count, json_str(key)))
            continue;
        const struct arg *at = find_beside(table, json_str(key));
        if (!at)
            continue;
        yyjson_mut_val *copy = yyjson_mut_obj_remove_strn(root, json_str(key).p, json_str(key).n);
        if (yyjson_is_null(val))
            continue;
        if (yyjson_mut_obj_get(root, at->name))
            return fail_both_forms(a, at, json_str(key));
        list = at;
        item = item ? item : yyjson_mut_obj(a->doc);
        yyjson_mut_val *name = yyjson_val_mut_copy(a->doc, key);
        if (!item || !name || !copy || !yyjson_mut_obj_add(item, name, copy))
            return no_memory(a);
    }
    if (!item)
        return 0;
    yyjson_mut_val *items = yyjson_mut_arr(a->doc);
    return items && yyjson_mut_arr_append(items, item) ? put(a, root, list->name, items)
                                                       : no_memory(a);
}

/* What the arguments are once more as a document; NULL with err. */
static yyjson_doc *adapt_once(struct adapting *a, const struct arg_table *table, yyjson_val *object,
                              bool gather)
{
    yyjson_mut_val *root = adapt_fields(a, table->args, table->count, object);
    if (!root || (gather && gather_item(a, table, object, root) < 0))
        return NULL;
    return yyjson_mut_val_imut_copy(root, NULL);
}

int arg_adapt(const struct arg_table *table, yyjson_doc **doc, yyjson_val **object, struct err *err)
{
    struct err why = {.message = ""};
    if (!yyjson_is_obj(*object))
        return 0;
    /* The fields of a gathered item get their own names in a second round. */
    for (int round = 0; round < 2 && must_be_adapted(table, *object); round++) {
        struct adapting a = {.doc = yyjson_mut_doc_new(NULL), .err = &why};
        yyjson_doc *adapted = a.doc ? adapt_once(&a, table, *object, round == 0) : NULL;
        yyjson_mut_doc_free(a.doc);
        if (!adapted) {
            if (!why.message[0])
                err_no_memory(&why);
            *err = why;
            return -1;
        }
        yyjson_doc_free(*doc);
        *doc = adapted;
        *object = yyjson_doc_get_root(adapted);
    }
    return 0;
}
