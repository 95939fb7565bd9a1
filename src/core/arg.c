#include "core/arg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "base/hash.h"

unsigned arg_use(const struct arg *arg)
{
    if (arg->use == ARG_PLAIN && arg->type == ARG_LIST && arg->items)
        return arg->items->use;
    return arg->use;
}

const struct arg *arg_next(const struct arg_table *table, unsigned uses, const struct arg *after)
{
    for (size_t i = after ? (size_t)(after - table->args) + 1 : 0; i < table->count; i++) {
        unsigned use = arg_use(&table->args[i]);
        if (use & uses && !(use & ARG_BASE64))
            return &table->args[i];
    }
    return NULL;
}

const struct arg *arg_in_base64(const struct arg_table *table, const struct arg *arg)
{
    const struct arg *next = arg + 1;
    return next < table->args + table->count && next->use & ARG_BASE64 ? next : NULL;
}

static void *slot(void *out, const struct arg *arg)
{
    return (char *)out + arg->offset;
}

static void put_int(void *out, const struct arg *arg, int64_t value)
{
    *(int64_t *)slot(out, arg) = value;
}

const char *arg_type_name(const struct arg *arg)
{
    switch (arg->type) {
    case ARG_INT:
        return "integer";
    case ARG_BOOL:
        return "boolean";
    case ARG_OBJECT:
        return "object";
    case ARG_OBJECTS:
    case ARG_LIST:
        return "array";
    case ARG_STRING:
    case ARG_CHOICE:
    case ARG_SHA256:
        break;
    }
    return "string";
}

/* What a value is, in words for whoever sent it. */
static const char *given_type_word(yyjson_val *val)
{
    if (yyjson_is_str(val))
        return "a string";
    if (yyjson_is_int(val))
        return "an integer";
    if (yyjson_is_real(val))
        return "a number with a fraction";
    if (yyjson_is_bool(val))
        return "a boolean";
    return yyjson_is_arr(val) ? "an array" : yyjson_is_obj(val) ? "an object" : "null";
}

static int wrong_type(const struct arg *arg, yyjson_val *val, struct err *err)
{
    err_field(err, arg->name, "argument `%s` must be %s %s, not %s", arg->name,
              strchr("aeiou", arg_type_name(arg)[0]) ? "an" : "a", arg_type_name(arg),
              given_type_word(val));
    return err_reason(err, "type");
}

static int out_of_range(const struct arg *arg, const char *value, struct err *err)
{
    if (arg->max)
        err_field(err, arg->name, "argument `%s` is %s, it must be from %" PRId64 " to %" PRId64,
                  arg->name, value, arg->min, arg->max);
    else
        err_field(err, arg->name, "argument `%s` is %s, it must be at least %" PRId64 "%s",
                  arg->name, value, arg->min, value[0] == '-' ? "" : " and fit 64 bits");
    return err_reason(err, "range");
}

static int decode_int(const struct arg *arg, yyjson_val *val, void *out, struct err *err)
{
    char text[48];
    double real = yyjson_get_real(val);
    int64_t value = yyjson_get_sint(val);
    if (yyjson_is_real(val) && trunc(real) == real) {
        /* 10.0 is an integer to JSON Schema, and some clients write it so. */
        if (fabs(real) >= 9e15) {
            snprintf(text, sizeof text, "%.0f", real);
            return out_of_range(arg, fabs(real) < 1e30 ? text : "a huge number", err);
        }
        value = (int64_t)real;
    } else if (!yyjson_is_int(val)) {
        return wrong_type(arg, val, err);
    }
    if (yyjson_is_uint(val) && yyjson_get_uint(val) > INT64_MAX) {
        snprintf(text, sizeof text, "%" PRIu64, yyjson_get_uint(val));
        return out_of_range(arg, text, err);
    }
    if (value < arg->min || (arg->max && value > arg->max)) {
        snprintf(text, sizeof text, "%" PRId64, value);
        return out_of_range(arg, text, err);
    }
    put_int(out, arg, value);
    return 0;
}

static int not_a_choice(const struct arg *arg, struct err *err)
{
    char allowed[200] = "";
    size_t used = 0;
    for (int64_t i = 0; arg->choices[i]; i++) {
        int n = snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "",
                         arg->choices[i]);
        if (n > 0 && used + (size_t)n < sizeof allowed)
            used += (size_t)n;
    }
    err_field(err, arg->name, "argument `%s` must be one of: %s", arg->name, allowed);
    return err_reason(err, "range");
}

static int decode_choice(const struct arg *arg, struct str text, void *out, struct err *err)
{
    bool any_case = arg->flags & ARG_ANY_CASE;
    for (int64_t i = 0; arg->choices[i]; i++) {
        const char *choice = arg->choices[i];
        if (str_is(text, choice) ||
            (any_case && strlen(choice) == text.n && strncasecmp(choice, text.p, text.n) == 0)) {
            put_int(out, arg, i);
            return 0;
        }
    }
    return not_a_choice(arg, err);
}

static int decode_string(const struct arg *arg, yyjson_val *val, void *out, struct err *err)
{
    if (!yyjson_is_str(val))
        return wrong_type(arg, val, err);
    struct str text = json_str(val);
    if (arg->type == ARG_CHOICE)
        return decode_choice(arg, text, out, err);
    if (arg->type == ARG_SHA256 && !hash_is_hex(text)) {
        err_field(err, arg->name, "argument `%s` must be a SHA-256 as 64 hexadecimal digits",
                  arg->name);
        return err_reason(err, "range");
    }
    if ((int64_t)text.n < arg->min || (arg->max && (int64_t)text.n > arg->max)) {
        err_field(err, arg->name,
                  "argument `%s` is %zu bytes long, allowed are %" PRId64 " to %" PRId64, arg->name,
                  text.n, arg->min, arg->max ? arg->max : INT64_MAX);
        return err_reason(err, "range");
    }
    *(struct str *)slot(out, arg) = text;
    return 0;
}

/* The inner table's complaint, with the way to the field before it: `edits[2].old_text`. */
static int say_where(const char *way, struct err *err)
{
    char field[sizeof err->field];
    snprintf(field, sizeof field, "%s%s%.60s", way, err->field[0] ? "." : "", err->field);
    snprintf(err->field, sizeof err->field, "%s", field);
    char message[sizeof err->message];
    snprintf(message, sizeof message, "in `%s`: %.400s", way, err->message);
    snprintf(err->message, sizeof err->message, "%s", message);
    return -1;
}

static int check_object(const struct arg *arg, const char *way, yyjson_val *val, struct err *err)
{
    if (!yyjson_is_obj(val)) {
        err_field(err, way, "`%s` must be an object, not %s", way, given_type_word(val));
        return err_reason(err, "type");
    }
    if (!arg->items)
        return 0;
    _Alignas(8) char unused[ARG_ITEM_MAX] = {0};
    struct arg_table table = {arg->items, arg->n_items, sizeof unused};
    return arg_decode(&table, arg->flags & ARG_STRICT, val, unused, err) < 0 ? say_where(way, err)
                                                                             : 0;
}

static int decode_one(const struct arg *arg, yyjson_val *val, void *out, struct err *err);

static int check_item(const struct arg *arg, size_t idx, yyjson_val *val, struct err *err)
{
    char way[64];
    snprintf(way, sizeof way, "%.40s[%zu]", arg->name, idx);
    if (arg->type == ARG_OBJECTS)
        return check_object(arg, way, val, err);
    _Alignas(8) char unused[ARG_ITEM_MAX];
    struct arg item = *arg->items;
    item.name = way;
    item.offset = 0;
    return decode_one(&item, val, unused, err);
}

static int decode_array(const struct arg *arg, yyjson_val *val, void *out, struct err *err)
{
    if (!yyjson_is_arr(val))
        return wrong_type(arg, val, err);
    int64_t count = (int64_t)yyjson_arr_size(val);
    if (count < arg->min || (arg->max && count > arg->max)) {
        err_field(err, arg->name,
                  "argument `%s` has %" PRId64 " items, allowed are %" PRId64 " to %" PRId64,
                  arg->name, count, arg->min, arg->max ? arg->max : INT64_MAX);
        return err_reason(err, "range");
    }
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(val, idx, max, item) {
        if (check_item(arg, idx, item, err) < 0)
            return -1;
    }
    *(yyjson_val **)slot(out, arg) = val;
    return 0;
}

static int decode_one(const struct arg *arg, yyjson_val *val, void *out, struct err *err)
{
    switch (arg->type) {
    case ARG_INT:
        return decode_int(arg, val, out, err);
    case ARG_BOOL:
        if (!yyjson_is_bool(val))
            return wrong_type(arg, val, err);
        *(bool *)slot(out, arg) = yyjson_get_bool(val);
        return 0;
    case ARG_STRING:
    case ARG_CHOICE:
    case ARG_SHA256:
        return decode_string(arg, val, out, err);
    case ARG_OBJECT:
        if (check_object(arg, arg->name, val, err) < 0)
            return -1;
        *(yyjson_val **)slot(out, arg) = val;
        return 0;
    case ARG_OBJECTS:
    case ARG_LIST:
        return decode_array(arg, val, out, err);
    }
    return -1;
}

static void put_default(const struct arg *arg, void *out)
{
    if (arg->type == ARG_INT || arg->type == ARG_CHOICE)
        put_int(out, arg, arg->def);
    else if (arg->type == ARG_BOOL)
        *(bool *)slot(out, arg) = arg->def != 0;
}

static const struct arg *find_arg(const struct arg_table *table, struct str name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (str_is(name, table->args[i].name))
            return &table->args[i];
    }
    return NULL;
}

static int refuse_unknown_arg(const struct arg_table *table, yyjson_val *object, struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(object, idx, max, key, val) {
        if (find_arg(table, json_str(key)))
            continue;
        char known[256] = "";
        size_t used = 0;
        for (size_t i = 0; i < table->count && used < sizeof known; i++)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                     table->args[i].name);
        err_field(err, yyjson_get_str(key), "unknown argument `%.60s`; this tool takes: %s",
                  yyjson_get_str(key), table->count ? known : "no arguments");
        return err_reason(err, "unknown");
    }
    return 0;
}

static bool must_be_given(const struct arg_table *table, size_t i, yyjson_val *object)
{
    unsigned flags = table->args[i].flags;
    if (flags & ARG_OR_NEXT && i + 1 < table->count && object) {
        yyjson_val *other = yyjson_obj_get(object, table->args[i + 1].name);
        return !other || yyjson_is_null(other);
    }
    return flags & (ARG_REQUIRED | ARG_OR_NEXT);
}

static int fail_missing(const struct arg_table *table, size_t i, struct err *err)
{
    const struct arg *arg = &table->args[i];
    if (arg->flags & ARG_ONE_BESIDE)
        err_field(
            err, arg->name,
            "missing required argument `%s` (%s), or one item of it: `%s` and what belongs to "
            "it",
            arg->name, arg_type_name(arg), arg->items->alias);
    else if (arg->flags & ARG_OR_NEXT && !(table->args[i + 1].use & ARG_BASE64))
        err_field(err, arg->name, "missing required argument: `%s` (%s) or `%s` (%s)", arg->name,
                  arg_type_name(arg), arg[1].name, arg_type_name(arg + 1));
    else if (arg->alias && arg->flags & ARG_REQUIRED)
        err_field(err, arg->name, "missing required argument `%s` (%s; or `%s`)", arg->name,
                  arg_type_name(arg), arg->alias);
    else
        err_field(err, arg->name, "missing required argument `%s` (%s)", arg->name,
                  arg_type_name(arg));
    return err_reason(err, "missing");
}

int arg_decode(const struct arg_table *table, bool strict, yyjson_val *object, void *out,
               struct err *err)
{
    if (yyjson_is_null(object))
        object = NULL;
    if (object && !yyjson_is_obj(object)) {
        err_field(err, "arguments", "arguments must be a JSON object, not %s",
                  given_type_word(object));
        return err_reason(err, "type");
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        yyjson_val *val = object ? yyjson_obj_get(object, arg->name) : NULL;
        if (val && !yyjson_is_null(val)) {
            if (decode_one(arg, val, out, err) < 0)
                return -1;
            continue;
        }
        if (must_be_given(table, i, object)) {
            return fail_missing(table, i, err);
        }
        put_default(arg, out);
    }
    return strict && object ? refuse_unknown_arg(table, object, err) : 0;
}

void arg_encode(const struct arg_table *table, const void *in, struct json_out *j)
{
    jo_open(j, '{');
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        const void *at = (const char *)in + arg->offset;
        bool required = arg->flags & ARG_REQUIRED;
        if (arg->type == ARG_INT && (required || *(const int64_t *)at != ARG_ABSENT)) {
            jo_kint(j, arg->name, *(const int64_t *)at);
        } else if (arg->type == ARG_BOOL && *(const bool *)at != (arg->def != 0)) {
            jo_kbool(j, arg->name, *(const bool *)at);
        } else if (arg->type == ARG_CHOICE) {
            jo_ktext(j, arg->name, arg->choices[*(const int64_t *)at]);
        } else if ((arg->type == ARG_STRING || arg->type == ARG_SHA256) &&
                   ((const struct str *)at)->p) {
            jo_key(j, arg->name);
            jo_bytes(j, *(const struct str *)at);
        }
    }
    jo_close(j, '}');
}
