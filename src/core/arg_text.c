/* A table as text: JSON Schema, help, and what a log may say. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/redact.h"
#include "core/arg.h"
#include "core/logged.h"

#define LOG_ITEMS_MAX 20
/* Of arguments that no tool has. */
#define LOG_UNKNOWN_MAX 128
#define LOG_NAME_MAX 64

/* Of any value, sizes and hashes only. */
static void redact_bytes(struct str text, struct json_out *j)
{
    char hex[HASH_HEX + 1];
    hash_hex(text.p, text.n, hex);
    jo_open(j, '{');
    jo_kint(j, "bytes", (int64_t)text.n);
    jo_ktext(j, "sha256", hex);
    jo_close(j, '}');
}

/* Lists of these are written as words, each in full. */
#define WORD_USES (ARG_ANY_PATH | ARG_ANY_COMMAND | ARG_URL | ARG_DOMAIN)

static bool is_array_of_texts(yyjson_val *list)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(list, idx, max, item) {
        if (!yyjson_is_str(item))
            return false;
    }
    return yyjson_is_arr(list);
}

/* The texts of a list, or the keys of an object. */
static void log_words(yyjson_val *val, struct logged *l)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_val *value;
    FREE_AT_END struct str *words = mem_grow(NULL, unsafe_yyjson_get_len(val) + 1, sizeof *words);
    if (yyjson_is_obj(val)) {
        yyjson_obj_foreach(val, idx, max, item, value)
            words[idx] = json_str(item);
    } else {
        yyjson_arr_foreach(val, idx, max, item)
            words[idx] = json_str(item);
    }
    logged_words(l, words, max);
}

static void redact_table(const struct arg_table *table, yyjson_val *object, unsigned without,
                         struct logged *l);

static void redact_inner(const struct arg *arg, yyjson_val *val, struct logged *l)
{
    struct arg_table table = {arg->items, arg->n_items, 0};
    struct json_out *j = l->j;
    bool known = arg->items && arg->type != ARG_LIST;
    if (yyjson_is_obj(val) && known) {
        redact_table(&table, val, 0, l);
        return;
    }
    if (!yyjson_is_arr(val) || !known) {
        size_t n = 0;
        char *text = yyjson_val_write(val, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &n);
        redact_bytes((struct str){text, n}, j);
        free(text);
        return;
    }
    size_t idx;
    size_t max;
    yyjson_val *item;
    jo_open(j, '[');
    yyjson_arr_foreach(val, idx, max, item) {
        if (idx < LOG_ITEMS_MAX)
            redact_table(&table, item, 0, l);
    }
    jo_close(j, ']');
}

#define COMMAND_WORDS_MAX 256

static size_t add_texts(yyjson_val *val, struct str *words, size_t n)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    if (yyjson_is_str(val) && n < COMMAND_WORDS_MAX)
        words[n++] = json_str(val);
    if (!yyjson_is_arr(val))
        return n;
    yyjson_arr_foreach(val, idx, max, item)
        n = yyjson_is_str(item) ? add_texts(item, words, n) : n;
    return n;
}

/* Who reads the input of the command that is among these arguments. */
static enum logged_reader input_reader(yyjson_val *object, yyjson_val *input)
{
    struct str words[COMMAND_WORDS_MAX];
    size_t n = 0;
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(object, idx, max, key, val)
        n = val == input ? n : add_texts(val, words, n);
    /* What was left out could be a shell. */
    return n == COMMAND_WORDS_MAX ? LOGGED_SHELL : logged_input_reader(words, n);
}

static void redact_text(const struct arg *arg, yyjson_val *object, yyjson_val *val,
                        struct logged *l)
{
    struct str text = json_str(val);
    if (arg->use & ARG_INPUT)
        logged_input(l, text, input_reader(object, val));
    else if (arg->flags & ARG_CONTENT)
        redact_bytes(text, l->j);
    else
        logged_script(l, text, arg->use & ARG_SHELL ? LOGGED_SHELL : LOGGED_NOBODY);
}

static void redact_one(const struct arg *arg, yyjson_val *object, yyjson_val *val, struct logged *l)
{
    struct json_out *j = l->j;
    bool content = arg->flags & ARG_CONTENT;
    jo_key(j, arg->name);
    if (redact_is_name((struct str){arg->name, strlen(arg->name)}))
        jo_text(j, REDACTED);
    else if (arg->type == ARG_LIST && arg_use(arg) & WORD_USES && is_array_of_texts(val))
        log_words(val, l);
    else if (arg->use & ARG_ENV && yyjson_is_obj(val))
        log_words(val, l);
    else if (arg->items || arg->type == ARG_OBJECT)
        redact_inner(arg, val, l);
    else if (yyjson_is_str(val))
        redact_text(arg, object, val, l);
    else if (!content && yyjson_is_bool(val))
        jo_bool(j, yyjson_get_bool(val));
    else if (!content && yyjson_is_int(val))
        jo_int(j, yyjson_get_sint(val));
    else
        jo_text(j, yyjson_get_type_desc(val));
}

static void redact_table(const struct arg_table *table, yyjson_val *object, unsigned without,
                         struct logged *l)
{
    jo_open(l->j, '{');
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        yyjson_val *val = yyjson_is_obj(object) ? yyjson_obj_get(object, arg->name) : NULL;
        if (val && !yyjson_is_null(val) && !(arg_use(arg) & without))
            redact_one(arg, object, val, l);
    }
    jo_close(l->j, '}');
}

void arg_redact(const struct arg_table *table, yyjson_val *object, unsigned without,
                struct json_out *j)
{
    redact_table(table, object, without, &(struct logged){j, LOGGED_MAX});
}

/* Short text, numbers and the like are told as they are, of all else size and hash. */
static void redact_value(yyjson_val *val, struct json_out *j)
{
    if (yyjson_is_str(val) && yyjson_get_len(val) <= LOG_UNKNOWN_MAX) {
        jo_logged(j, json_str(val), LOG_UNKNOWN_MAX);
    } else if (yyjson_is_str(val)) {
        redact_bytes(json_str(val), j);
    } else if (yyjson_is_bool(val)) {
        jo_bool(j, yyjson_get_bool(val));
    } else if (yyjson_is_int(val)) {
        jo_int(j, yyjson_get_sint(val));
    } else if (yyjson_is_ctn(val)) {
        size_t n = 0;
        char *text = yyjson_val_write(val, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &n);
        redact_bytes((struct str){text, n}, j);
        free(text);
    } else {
        jo_text(j, yyjson_get_type_desc(val));
    }
}

/* Names that cannot stand in a log as keys are left out. */
static bool may_be_log_key(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '-' && c != '.')
            return false;
    }
    return name.n > 0 && name.n <= LOG_NAME_MAX;
}

void arg_redact_unknown(yyjson_val *object, arg_find_fn find, void *self, struct json_out *j)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    size_t told = 0;
    struct logged l = {j, LOGGED_MAX};
    jo_open(j, '{');
    yyjson_obj_foreach(object, idx, max, key, val) {
        struct str name = json_str(key);
        if (!may_be_log_key(name) || told++ >= LOG_ITEMS_MAX)
            continue;
        const struct arg *arg = find(self, name);
        if (arg) {
            redact_one(arg, object, val, &l);
            continue;
        }
        jo_key_n(j, name.p, name.n);
        if (redact_is_name(name))
            jo_text(j, REDACTED);
        else
            redact_value(val, j);
    }
    jo_close(j, '}');
}

static bool is_array(const struct arg *arg)
{
    return arg->type == ARG_OBJECTS || arg->type == ARG_LIST;
}

static void schema_bounds(const struct arg *arg, struct json_out *j)
{
    if (arg->type == ARG_INT) {
        if (arg->min != INT64_MIN)
            jo_kint(j, "minimum", arg->min);
        if (arg->max)
            jo_kint(j, "maximum", arg->max);
    }
    if (is_array(arg) && arg->min > 0)
        jo_kint(j, "minItems", arg->min);
    if (is_array(arg) && arg->max > 0)
        jo_kint(j, "maxItems", arg->max);
    if (arg->type == ARG_SHA256)
        jo_ktext(j, "pattern", "^[0-9a-fA-F]{64}$");
    if (arg->type == ARG_CHOICE) {
        jo_key(j, "enum");
        jo_open(j, '[');
        for (size_t i = 0; arg->choices[i]; i++)
            jo_text(j, arg->choices[i]);
        jo_close(j, ']');
    }
}

/* To whoever reads a schema, a path that can be given in base64 too is simply required. Of two ways to say the same
 * neither is: `anyOf` would tell it, and model providers refuse a list of tools that has it there. */
static bool is_required_in_schema(const struct arg *arg)
{
    if (arg->flags & ARG_OR_NEXT)
        return arg[1].use & ARG_BASE64;
    return arg->flags & ARG_REQUIRED && !(arg->flags & ARG_ONE_BESIDE);
}

static bool has_default(const struct arg *arg)
{
    if (is_required_in_schema(arg))
        return false;
    return (arg->type == ARG_INT && arg->def != ARG_ABSENT) || arg->type == ARG_BOOL ||
           arg->type == ARG_CHOICE;
}

/* How a schema is written. */
struct schema {
    struct json_out *j;
    bool brief;      /* for a model: without what it does not need to know */
    bool by_aliases; /* names as models write them */
};

static void schema_default(const struct schema *s, const struct arg *arg)
{
    struct json_out *j = s->j;
    if (!has_default(arg) || (s->brief && arg->type != ARG_INT && arg->def == 0))
        return;
    if (arg->type == ARG_INT)
        jo_kint(j, "default", arg->def);
    else if (arg->type == ARG_BOOL)
        jo_kbool(j, "default", arg->def != 0);
    else
        jo_ktext(j, "default", arg->choices[arg->def]);
}

static void schema_object(const struct schema *s, const struct arg_table *table, const char *doc,
                          bool open);

/* As deep as our own tables are. */
static void schema_value(const struct schema *s, const struct arg *arg)
{
    struct json_out *j = s->j;
    struct arg_table inner = {arg->items, arg->n_items, 0};
    if (arg->type == ARG_OBJECT && arg->items) {
        schema_object(s, &inner, arg->doc, !(arg->flags & ARG_STRICT));
        return;
    }
    jo_open(j, '{');
    jo_ktext(j, "type", arg_type_name(arg));
    if (arg->doc)
        jo_ktext(j, "description", arg->doc);
    if (!s->brief || arg->type == ARG_CHOICE)
        schema_bounds(arg, j);
    schema_default(s, arg);
    if (is_array(arg))
        jo_key(j, "items");
    if (arg->type == ARG_OBJECTS)
        schema_object(&(struct schema){j, s->brief, s->brief}, &inner, NULL, false);
    else if (arg->type == ARG_LIST)
        schema_value(s, arg->items);
    jo_close(j, '}');
}

static void schema_properties(const struct schema *s, const struct arg_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        if (s->brief && arg->flags & ARG_UNLISTED)
            continue;
        if (arg->flags & ARG_ONE_BESIDE)
            schema_properties(&(struct schema){s->j, s->brief, true},
                              &(struct arg_table){arg->items, arg->n_items, 0});
        jo_key(s->j, s->by_aliases && arg->alias ? arg->alias : arg->name);
        schema_value(s, arg);
    }
}

static void schema_required(const struct schema *s, const struct arg_table *table)
{
    bool any = false;
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        if (!is_required_in_schema(arg))
            continue;
        if (!any) {
            jo_key(s->j, "required");
            jo_open(s->j, '[');
        }
        any = true;
        jo_text(s->j, s->by_aliases && arg->alias ? arg->alias : arg->name);
    }
    if (any)
        jo_close(s->j, ']');
}

static void schema_object(const struct schema *s, const struct arg_table *table, const char *doc,
                          bool open)
{
    struct json_out *j = s->j;
    jo_open(j, '{');
    jo_ktext(j, "type", "object");
    if (doc)
        jo_ktext(j, "description", doc);
    jo_key(j, "properties");
    jo_open(j, '{');
    schema_properties(s, table);
    jo_close(j, '}');
    schema_required(s, table);
    if (!s->brief)
        jo_kbool(j, "additionalProperties", open);
    jo_close(j, '}');
}

void arg_schema(const struct arg_table *table, struct json_out *j)
{
    schema_object(&(struct schema){.j = j}, table, NULL, false);
}

void arg_schema_short(const struct arg_table *table, struct json_out *j)
{
    schema_object(&(struct schema){.j = j, .brief = true}, table, NULL, false);
}

void arg_help(const struct arg_table *table, struct buf *out)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        buf_addf(out, "  %-16s %-8s %s%s", arg->name, arg_type_name(arg), arg->doc ? arg->doc : "",
                 is_required_in_schema(arg) ? " (required)" : "");
        if (arg->type == ARG_CHOICE) {
            for (size_t c = 0; arg->choices[c]; c++)
                buf_addf(out, "%s%s", c ? "|" : " [", arg->choices[c]);
            buf_add_text(out, "]");
        }
        if (has_default(arg) && arg->type == ARG_INT)
            buf_addf(out, " (default %" PRId64 ")", arg->def);
        buf_add_text(out, "\n");
    }
}
