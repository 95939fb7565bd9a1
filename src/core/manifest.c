#include "core/manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "core/schema.h"

#define VERSION 1
#define NAME_MAX_BYTES 48
#define DESCRIPTION_MAX 2000
#define OUTPUT_DEFAULT ((int64_t)1 << 20)

static const char *const capability_names[] = {"filesystem", "env", "network", "model_access"};

const char *manifest_capability_name(enum manifest_capability capability)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(capability_names) && !(capability & 1u << i))
        i++;
    return capability_names[i];
}

static int refuse_field(struct err *err, const char *field, const char *why)
{
    return err_field(err, field, "%.100s: %.300s", field, why);
}

/* --- one reader for each field */

static int read_format(struct manifest *m, const char *field, yyjson_val *val, struct err *err)
{
    (void)m;
    return yyjson_is_uint(val) && yyjson_get_uint(val) == VERSION
               ? 0
               : refuse_field(err, field, "must be 1, the only format there is");
}

static int read_plain_text(const char *field, yyjson_val *val, size_t max, const char **ret,
                           struct err *err)
{
    struct str text = json_str(val);
    if (!text.p || text.n == 0 || text.n > max)
        return refuse_field(err, field, "must be a text, and neither empty nor long");
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' && text.p[i] != '\n')
            return refuse_field(err, field, "may not have control characters");
    }
    *ret = text.p;
    return 0;
}

/* A letter first, then letters, digits, `_` and `-`; dots between. */
static bool manifest_is_tool_name(struct str name)
{
    bool begins = true;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        bool other = (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (c == '.' && !begins)
            begins = true;
        else if (letter || (other && !begins))
            begins = false;
        else
            return false;
    }
    return !begins && name.n <= NAME_MAX_BYTES;
}

/* The same where dots are forbidden. */
static char *alias_of(const char *name)
{
    if (!strchr(name, '.'))
        return NULL;
    char *alias = mem_dup(name);
    for (char *at = alias; (at = strchr(at, '.'));)
        *at = '_';
    return alias;
}

static int read_name(struct manifest *m, const char *field, yyjson_val *val, struct err *err)
{
    struct str name = json_str(val);
    if (!name.p || !manifest_is_tool_name(name))
        return refuse_field(
            err, field, "must be up to 48 letters, digits, `_` and `-`, with dots between words");
    m->tool.name = name.p;
    m->tool.alias = alias_of(name.p);
    return 0;
}

static int read_release(struct manifest *m, const char *field, yyjson_val *val, struct err *err)
{
    return read_plain_text(field, val, 40, &m->version, err);
}

static int read_title(struct manifest *m, const char *field, yyjson_val *val, struct err *err)
{
    return read_plain_text(field, val, 80, &m->tool.title, err);
}

static int read_description(struct manifest *m, const char *field, yyjson_val *val, struct err *err)
{
    return read_plain_text(field, val, DESCRIPTION_MAX, &m->tool.description, err);
}

static int read_module(struct manifest *m, const char *field, yyjson_val *val, struct err *err)
{
    if (read_plain_text(field, val, 100, &m->module, err) < 0)
        return -1;
    return schema_is_name(json_str(val)) && m->module[0] != '.'
               ? 0
               : refuse_field(err, field, "must be the name of a file beside the manifest");
}

static int read_sha256(struct manifest *m, const char *field, yyjson_val *val, struct err *err)
{
    m->sha256 = yyjson_get_str(val);
    return m->sha256 && hash_is_hex(json_str(val))
               ? 0
               : refuse_field(err, field, "must be the module's SHA-256, 64 hexadecimal digits");
}

/* Rules, logs and questions know arguments by the properties. One that none names would be seen by nobody. */
static int read_manifest_input(struct manifest *m, const char *field, yyjson_val *val,
                               struct err *err)
{
    if (schema_read(val, field, err) < 0)
        return -1;
    yyjson_val *open = yyjson_obj_get(val, "additionalProperties");
    if (!str_is(json_str(yyjson_obj_get(val, "type")), "object") || !yyjson_is_bool(open) ||
        yyjson_get_bool(open))
        return refuse_field(
            err, field, "must say `\"type\": \"object\"` and `\"additionalProperties\": false`");
    m->input = val;
    return 0;
}

static int read_output(struct manifest *m, const char *field, yyjson_val *val, struct err *err)
{
    m->output = val;
    return schema_read(val, field, err);
}

static int read_capabilities(struct manifest *m, const char *field, yyjson_val *val,
                             struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *asked;
    if (!yyjson_is_obj(val))
        return refuse_field(err, field, "must be an object");
    yyjson_obj_foreach(val, idx, max, key, asked) {
        size_t i = 0;
        while (i < ARRAY_LEN(capability_names) && !str_is(json_str(key), capability_names[i]))
            i++;
        if (i == ARRAY_LEN(capability_names))
            return refuse_field(
                err, "capabilities",
                "there are filesystem, env, network and model_access, and no other");
        m->asks |= 1u << i;
    }
    return 0;
}

static int read_limit(yyjson_val *limits, const char *name, int64_t max, int64_t *ret,
                      struct err *err)
{
    yyjson_val *val = yyjson_obj_get(limits, name);
    char field[40];
    if (!val)
        return 0;
    snprintf(field, sizeof field, "limits.%s", name);
    *ret = yyjson_get_sint(val);
    if (!yyjson_is_int(val) || *ret < 1 || *ret > max)
        return refuse_field(err, field, "must be a whole number from 1 on, and not huge");
    return 1;
}

static int read_manifest_limits(struct manifest *m, const char *field, yyjson_val *val,
                                struct err *err)
{
    struct manifest_limits *l = &m->limits;
    if (!yyjson_is_obj(val))
        return refuse_field(err, field, "must be an object");
    int timeout = read_limit(val, "timeoutMs", 86400000, &l->timeout_ms, err);
    int memory = timeout < 0 ? -1 : read_limit(val, "memory", (int64_t)4 << 30, &l->memory, err);
    int fuel = memory < 0 ? -1 : read_limit(val, "fuel", INT64_MAX / 2, &l->fuel, err);
    int output = fuel < 0 ? -1 : read_limit(val, "output", (int64_t)16 << 20, &l->output, err);
    if (output < 0)
        return -1;
    if (yyjson_obj_size(val) != (size_t)(timeout + memory + fuel + output))
        return refuse_field(err, field,
                            "there are timeoutMs, memory, fuel and output, and no other");
    return 0;
}

static int read_examples(struct manifest *m, const char *field, yyjson_val *val, struct err *err)
{
    size_t idx;
    size_t max;
    yyjson_val *example;
    if (!yyjson_is_arr(val) || yyjson_arr_size(val) > 100)
        return refuse_field(err, field, "must be a list of at most 100 examples");
    yyjson_arr_foreach(val, idx, max, example) {
        bool answer = yyjson_obj_get(example, "output") || yyjson_obj_get(example, "error");
        if (!yyjson_is_obj(yyjson_obj_get(example, "input")) || !answer)
            return refuse_field(err, field,
                                "each has an `input`, an object, and an `output` or an `error`");
    }
    m->examples = val;
    return 0;
}

static const struct manifest_field {
    const char *name;
    bool required;
    int (*read)(struct manifest *m, const char *field, yyjson_val *val, struct err *err);
} manifest_fields[] = {
    {"manifest", true, read_format},         {"name", true, read_name},
    {"version", true, read_release},         {"title", false, read_title},
    {"description", true, read_description}, {"input", true, read_manifest_input},
    {"output", false, read_output},          {"capabilities", false, read_capabilities},
    {"limits", false, read_manifest_limits}, {"module", true, read_module},
    {"sha256", true, read_sha256},           {"examples", false, read_examples},
};

static int read_fields(struct manifest *m, yyjson_val *root, struct err *err)
{
    size_t known = 0;
    for (size_t i = 0; i < ARRAY_LEN(manifest_fields); i++) {
        const struct manifest_field *field = &manifest_fields[i];
        yyjson_val *val = yyjson_obj_get(root, field->name);
        known += val != NULL;
        if (!val && field->required)
            return refuse_field(err, field->name, "is missing");
        if (val && field->read(m, field->name, val, err) < 0)
            return -1;
    }
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(root, idx, max, key, val) {
        size_t i = 0;
        while (i < ARRAY_LEN(manifest_fields) && !str_is(json_str(key), manifest_fields[i].name))
            i++;
        if (i == ARRAY_LEN(manifest_fields))
            return refuse_field(err,
                                schema_is_name(json_str(key)) ? yyjson_get_str(key) : "a field",
                                "is not known");
    }
    return known == yyjson_obj_size(root) ? 0 : refuse_field(err, "manifest", "is not understood");
}

/* --- rows of arguments, by which rules, questions and logs know them */

static enum arg_type row_type_of(yyjson_val *schema)
{
    struct str type = json_str(yyjson_obj_get(schema, "type"));
    return str_is(type, "string")    ? ARG_STRING
           : str_is(type, "integer") ? ARG_INT
           : str_is(type, "boolean") ? ARG_BOOL
           : str_is(type, "array")   ? ARG_LIST
                                     : ARG_OBJECT; /* of anything else only whether it is given */
}

static const struct arg item_rows[] = {
    {.name = "item", .type = ARG_STRING},
    {.name = "item", .type = ARG_INT},
    {.name = "item", .type = ARG_BOOL},
};

static const struct arg *item_row(yyjson_val *schema)
{
    enum arg_type type = row_type_of(yyjson_obj_get(schema, "items"));
    for (size_t i = 0; i < ARRAY_LEN(item_rows); i++) {
        if (item_rows[i].type == type)
            return &item_rows[i];
    }
    return NULL;
}

static bool is_required_property(yyjson_val *schema, const char *name)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(schema, "required"), idx, max, item) {
        if (str_is(json_str(item), name))
            return true;
    }
    return false;
}

static void make_rows(struct manifest *m)
{
    yyjson_val *properties = yyjson_obj_get(m->input, "properties");
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *schema;
    m->args = mem_zero((yyjson_obj_size(properties) + 1) * sizeof *m->args);
    yyjson_obj_foreach(properties, idx, max, key, schema) {
        struct arg *arg = &m->args[idx];
        *arg = (struct arg){.name = yyjson_get_str(key),
                            .type = row_type_of(schema),
                            .min = INT64_MIN,
                            .def = ARG_ABSENT,
                            .doc = yyjson_get_str(yyjson_obj_get(schema, "description"))};
        if (is_required_property(m->input, arg->name))
            arg->flags |= ARG_REQUIRED;
        arg->items = arg->type == ARG_LIST ? item_row(schema) : NULL;
        arg->n_items = arg->items ? 1 : 0;
    }
    m->tool.args = (struct arg_table){m->args, yyjson_obj_size(properties), 0};
}

static unsigned capabilities_of(unsigned asks)
{
    return (asks & MANIFEST_FILESYSTEM ? CAP_FS_READ | CAP_FS_WRITE : 0) |
           (asks & MANIFEST_NETWORK ? CAP_NETWORK : 0) | (asks & MANIFEST_MODEL ? CAP_MODEL : 0);
}

int manifest_read(struct str text, struct manifest **ret, struct err *err)
{
    struct json_error why;
    struct manifest *m = mem_zero(sizeof *m);
    m->limits.output = OUTPUT_DEFAULT;
    int r = json_parse(text.p, text.n, MANIFEST_BYTES_MAX, JSON_STRICT, &m->doc, &why);
    if (r < 0)
        err_set(err, ERR_INVALID_ARGUMENTS, "it is no JSON: %s", why.what);
    else if (!yyjson_is_obj(yyjson_doc_get_root(m->doc)))
        r = err_set(err, ERR_INVALID_ARGUMENTS, "it is no JSON object");
    else
        r = read_fields(m, yyjson_doc_get_root(m->doc), err);
    if (r < 0) {
        manifest_free(m);
        return -1;
    }
    make_rows(m);
    if (!m->tool.title)
        m->tool.title = m->tool.name;
    m->tool.dialect = DIALECT_NATIVE;
    m->tool.input = m->input;
    m->tool.capabilities = capabilities_of(m->asks);
    *ret = m;
    return 0;
}

void manifest_free(struct manifest *m)
{
    if (!m)
        return;
    free((void *)(uintptr_t)m->tool.alias);
    free(m->args);
    free(m->folder);
    free(m->store);
    yyjson_doc_free(m->doc);
    free(m);
}
