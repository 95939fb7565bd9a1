#include "core/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define WAY_MAX 200

static const char *const type_names[] = {"object", "array",   "string", "integer",
                                         "number", "boolean", "null",   NULL};

bool schema_is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '-' && c != '.')
            return false;
    }
    return name.n > 0 && name.n <= SCHEMA_NAME_MAX;
}

/* --- reading */

struct reading {
    const char *way; /* where this schema stands */
    unsigned depth;
    struct err *err;
};

static int refuse_schema(const struct reading *r, const char *key, const char *why)
{
    char field[WAY_MAX];
    snprintf(field, sizeof field, "%.140s.%.50s", r->way, key);
    return err_field(r->err, field, "%s: %s", field, why);
}

static bool schema_is_scalar(yyjson_val *val)
{
    return yyjson_is_str(val) || yyjson_is_num(val) || yyjson_is_bool(val) || yyjson_is_null(val);
}

static int read_inner_schema(const struct reading *r, const char *key, yyjson_val *val);

static int read_type(const struct reading *r, const char *key, yyjson_val *val)
{
    return str_in(json_str(val), type_names)
               ? 0
               : refuse_schema(r, key,
                               "must be one of object, array, string, integer, number, "
                               "boolean, null");
}

static int read_enum(const struct reading *r, const char *key, yyjson_val *val)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (!yyjson_is_arr(val) || yyjson_arr_size(val) == 0)
        return refuse_schema(r, key, "must be a list of values");
    yyjson_arr_foreach(val, idx, max, item) {
        if (!schema_is_scalar(item))
            return refuse_schema(r, key, "may hold texts, numbers, true, false and null");
    }
    return 0;
}

static int read_const(const struct reading *r, const char *key, yyjson_val *val)
{
    return schema_is_scalar(val)
               ? 0
               : refuse_schema(r, key, "must be a text, a number, true, false or null");
}

static int read_size_word(const struct reading *r, const char *key, yyjson_val *val)
{
    return yyjson_is_uint(val) && yyjson_get_uint(val) <= UINT32_MAX
               ? 0
               : refuse_schema(r, key, "must be a whole number from 0 on");
}

static int read_number(const struct reading *r, const char *key, yyjson_val *val)
{
    return yyjson_is_num(val) ? 0 : refuse_schema(r, key, "must be a number");
}

static int read_open(const struct reading *r, const char *key, yyjson_val *val)
{
    return yyjson_is_bool(val) ? 0 : refuse_schema(r, key, "must be true or false");
}

static int read_properties(const struct reading *r, const char *key, yyjson_val *val)
{
    size_t idx;
    size_t max;
    yyjson_val *name;
    yyjson_val *inner;
    char way[WAY_MAX];
    if (!yyjson_is_obj(val) || yyjson_obj_size(val) > SCHEMA_PROPERTIES_MAX)
        return refuse_schema(r, key, "must be an object with at most 64 members");
    yyjson_obj_foreach(val, idx, max, name, inner) {
        if (!schema_is_name(json_str(name)))
            return refuse_schema(r, key, "names have up to 40 letters, digits, `_`, `-` and `.`");
        snprintf(way, sizeof way, "%s.%s", key, yyjson_get_str(name));
        if (read_inner_schema(r, way, inner) < 0)
            return -1;
    }
    return 0;
}

static int read_required(const struct reading *r, const char *key, yyjson_val *val)
{
    size_t idx;
    size_t max;
    yyjson_val *name;
    if (!yyjson_is_arr(val))
        return refuse_schema(r, key, "must be a list of names");
    yyjson_arr_foreach(val, idx, max, name) {
        if (!schema_is_name(json_str(name)))
            return refuse_schema(r, key, "must be a list of names");
    }
    return 0;
}

static int read_said(const struct reading *r, const char *key, yyjson_val *val)
{
    return yyjson_is_str(val) ? 0 : refuse_schema(r, key, "must be a text");
}

static int read_anything(const struct reading *r, const char *key, yyjson_val *val)
{
    (void)r;
    (void)key;
    (void)val;
    return 0;
}

static const struct keyword {
    const char *name;
    int (*read)(const struct reading *r, const char *key, yyjson_val *val);
} keywords[] = {
    {"type", read_type},
    {"enum", read_enum},
    {"const", read_const},
    {"properties", read_properties},
    {"required", read_required},
    {"additionalProperties", read_open},
    {"items", read_inner_schema},
    {"minItems", read_size_word},
    {"maxItems", read_size_word},
    {"minLength", read_size_word},
    {"maxLength", read_size_word},
    {"minimum", read_number},
    {"maximum", read_number},
    {"exclusiveMinimum", read_number},
    {"exclusiveMaximum", read_number},
    {"title", read_said},
    {"description", read_said},
    {"$comment", read_said},
    {"$schema", read_said},
    {"deprecated", read_open},
    {"default", read_anything},
    {"examples", read_anything},
};

static int read_keyword(const struct reading *r, struct str key, yyjson_val *val)
{
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
        if (str_is(key, keywords[i].name))
            return keywords[i].read(r, keywords[i].name, val);
    }
    char name[SCHEMA_NAME_MAX + 1] = "a key";
    if (schema_is_name(key))
        snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
    return refuse_schema(r, name,
                         "this part of JSON Schema is not understood, and so could not be kept");
}

static int read_schema(const struct reading *r, yyjson_val *schema)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    if (!yyjson_is_obj(schema))
        return err_field(r->err, r->way, "%s: must be an object, a JSON Schema", r->way);
    yyjson_obj_foreach(schema, idx, max, key, val) {
        if (read_keyword(r, json_str(key), val) < 0)
            return -1;
    }
    return 0;
}

static int read_inner_schema(const struct reading *r, const char *key, yyjson_val *val)
{
    char way[WAY_MAX];
    snprintf(way, sizeof way, "%.120s.%.70s", r->way, key);
    if (r->depth >= SCHEMA_DEPTH_MAX)
        return refuse_schema(r, key, "schemas are nested too deep");
    return read_schema(&(struct reading){way, r->depth + 1, r->err}, val);
}

int schema_read(yyjson_val *schema, const char *way, struct err *err)
{
    return read_schema(&(struct reading){way, 1, err}, schema);
}

/* --- checking */

struct checking {
    const char *what;
    const char *way; /* "": the value as a whole */
    struct err *err;
};

static const char *value_word(yyjson_val *val)
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

static int misfit(const struct checking *c, const char *reason, const char *why)
{
    if (c->way[0])
        err_field(c->err, c->way, "%s `%.100s` %s", c->what, c->way, why);
    else
        err_field(c->err, c->what, "the %s %s", c->what, why);
    return err_reason(c->err, reason);
}

/* 10.0 is an integer to JSON Schema. */
static bool is_whole(yyjson_val *val)
{
    double real = yyjson_get_real(val);
    return yyjson_is_int(val) || (yyjson_is_real(val) && trunc(real) == real);
}

static bool is_of_type(yyjson_val *val, const char *type)
{
    if (strcmp(type, "integer") == 0)
        return is_whole(val);
    return strcmp(type, "object") == 0    ? yyjson_is_obj(val)
           : strcmp(type, "array") == 0   ? yyjson_is_arr(val)
           : strcmp(type, "string") == 0  ? yyjson_is_str(val)
           : strcmp(type, "number") == 0  ? yyjson_is_num(val)
           : strcmp(type, "boolean") == 0 ? yyjson_is_bool(val)
                                          : yyjson_is_null(val);
}

static int check_type(const struct checking *c, yyjson_val *schema, yyjson_val *val)
{
    const char *type = yyjson_get_str(yyjson_obj_get(schema, "type"));
    char why[100];
    if (!type || is_of_type(val, type))
        return 0;
    snprintf(why, sizeof why, "must be %s %s, not %s", strchr("aio", type[0]) ? "an" : "a", type,
             value_word(val));
    return misfit(c, "type", why);
}

static bool is_same_scalar(yyjson_val *a, yyjson_val *b)
{
    if (yyjson_is_num(a) && yyjson_is_num(b) && !(yyjson_is_int(a) && yyjson_is_int(b)))
        return yyjson_get_num(a) == yyjson_get_num(b);
    return yyjson_equals(a, b);
}

static int check_choice(const struct checking *c, yyjson_val *schema, yyjson_val *val)
{
    yyjson_val *only = yyjson_obj_get(schema, "const");
    yyjson_val *list = yyjson_obj_get(schema, "enum");
    size_t idx;
    size_t max;
    yyjson_val *item;
    char why[240] = "must be one of:";
    size_t used = strlen(why);
    if (only && !is_same_scalar(only, val))
        return misfit(c, "range", "has only one value that it may have");
    yyjson_arr_foreach(list, idx, max, item) {
        if (is_same_scalar(item, val))
            return 0;
        if (yyjson_is_str(item) && used < sizeof why)
            used += (size_t)snprintf(why + used, sizeof why - used, "%s %.60s", idx ? "," : "",
                                     yyjson_get_str(item));
    }
    return list ? misfit(c, "range", used > 15 ? why : "is none of the values that it may have")
                : 0;
}

static int check_bound(const struct checking *c, yyjson_val *schema, const char *key, double value,
                       const char *words, const char *unit, bool fits(double value, double bound))
{
    yyjson_val *bound = yyjson_obj_get(schema, key);
    char why[100];
    if (!bound || fits(value, yyjson_get_num(bound)))
        return 0;
    snprintf(why, sizeof why, "must %s %.15g%s", words, yyjson_get_num(bound), unit);
    return misfit(c, "range", why);
}

static bool at_least(double value, double bound)
{
    return value >= bound;
}

static bool at_most(double value, double bound)
{
    return value <= bound;
}

static bool above(double value, double bound)
{
    return value > bound;
}

static bool below(double value, double bound)
{
    return value < bound;
}

static int check_number(const struct checking *c, yyjson_val *schema, yyjson_val *val)
{
    double n = yyjson_get_num(val);
    if (check_bound(c, schema, "minimum", n, "be at least", "", at_least) < 0 ||
        check_bound(c, schema, "maximum", n, "be at most", "", at_most) < 0 ||
        check_bound(c, schema, "exclusiveMinimum", n, "be more than", "", above) < 0)
        return -1;
    return check_bound(c, schema, "exclusiveMaximum", n, "be less than", "", below);
}

static double count_characters(struct str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    return (double)n;
}

static int check_string(const struct checking *c, yyjson_val *schema, yyjson_val *val)
{
    double n = count_characters(json_str(val));
    if (check_bound(c, schema, "minLength", n, "have at least", " characters", at_least) < 0)
        return -1;
    return check_bound(c, schema, "maxLength", n, "have at most", " characters", at_most);
}

static int schema_check_value(const struct checking *c, yyjson_val *schema, yyjson_val *val);

static int check_items(const struct checking *c, yyjson_val *schema, yyjson_val *val)
{
    double n = (double)yyjson_arr_size(val);
    yyjson_val *of = yyjson_obj_get(schema, "items");
    size_t idx;
    size_t max;
    yyjson_val *item;
    char way[WAY_MAX];
    if (check_bound(c, schema, "minItems", n, "have at least", " items", at_least) < 0 ||
        check_bound(c, schema, "maxItems", n, "have at most", " items", at_most) < 0)
        return -1;
    yyjson_arr_foreach(val, idx, max, item) {
        snprintf(way, sizeof way, "%.150s[%zu]", c->way, idx);
        if (of && schema_check_value(&(struct checking){c->what, way, c->err}, of, item) < 0)
            return -1;
    }
    return 0;
}

static void member_way(const struct checking *c, const char *name, char out[WAY_MAX])
{
    snprintf(out, WAY_MAX, "%.140s%s%.50s", c->way, c->way[0] ? "." : "", name);
}

static int check_required(const struct checking *c, yyjson_val *schema, yyjson_val *val)
{
    size_t idx;
    size_t max;
    yyjson_val *name;
    char way[WAY_MAX];
    yyjson_arr_foreach(yyjson_obj_get(schema, "required"), idx, max, name) {
        if (yyjson_obj_get(val, yyjson_get_str(name)))
            continue;
        member_way(c, yyjson_get_str(name), way);
        err_field(c->err, way, "missing required %s `%.100s`", c->what, way);
        return err_reason(c->err, "missing");
    }
    return 0;
}

static int check_members(const struct checking *c, yyjson_val *schema, yyjson_val *val)
{
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    yyjson_val *open = yyjson_obj_get(schema, "additionalProperties");
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *member;
    char way[WAY_MAX];
    if (check_required(c, schema, val) < 0)
        return -1;
    yyjson_obj_foreach(val, idx, max, key, member) {
        struct str name = json_str(key);
        yyjson_val *of = yyjson_obj_getn(properties, name.p, name.n);
        member_way(c, yyjson_get_str(key), way);
        const struct checking inner = {c->what, way, c->err};
        if (!of && open && !yyjson_get_bool(open))
            return misfit(&inner, "unknown", "is not known here");
        if (of && schema_check_value(&inner, of, member) < 0)
            return -1;
    }
    return 0;
}

/* As deep as values are that base/json.h reads. */
static int schema_check_value(const struct checking *c, yyjson_val *schema, yyjson_val *val)
{
    if (check_type(c, schema, val) < 0 || check_choice(c, schema, val) < 0)
        return -1;
    if (yyjson_is_num(val))
        return check_number(c, schema, val);
    if (yyjson_is_str(val))
        return check_string(c, schema, val);
    if (yyjson_is_arr(val))
        return check_items(c, schema, val);
    return yyjson_is_obj(val) ? check_members(c, schema, val) : 0;
}

int schema_check(yyjson_val *schema, const char *what, yyjson_val *value, struct err *err)
{
    return schema_check_value(&(struct checking){what, "", err}, schema, value);
}
