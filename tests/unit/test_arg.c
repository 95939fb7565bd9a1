#include <cmocka.h>

#include "base/hash.h"
#include "core/op.h"
#include "json_text.h"
#include "random.h"
#include "tools/all.h"

#define A_HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define TEXT_MAX (1u << 20)
#define STRUCT_MAX 512

static const char *const colours[] = {"red", "green", "blue", NULL};

struct sample {
    struct str name;
    struct str hash;
    struct str note;
    int64_t count;
    int64_t level;
    int64_t depth;
    int64_t colour;
    bool deep;
    bool kept;
};

static const struct arg sample_args[] = {
    {.name = "name",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct sample, name),
     .min = 2,
     .max = 5},
    {.name = "hash", .type = ARG_SHA256, .offset = offsetof(struct sample, hash)},
    {.name = "note",
     .type = ARG_STRING,
     .flags = ARG_CONTENT,
     .offset = offsetof(struct sample, note)},
    {.name = "count",
     .type = ARG_INT,
     .offset = offsetof(struct sample, count),
     .min = 1,
     .max = 10,
     .def = 7},
    {.name = "level",
     .type = ARG_INT,
     .offset = offsetof(struct sample, level),
     .min = -5,
     .def = ARG_ABSENT},
    {.name = "depth", .type = ARG_INT, .offset = offsetof(struct sample, depth), .min = INT64_MIN},
    {.name = "colour",
     .type = ARG_CHOICE,
     .offset = offsetof(struct sample, colour),
     .choices = colours,
     .def = 1},
    {.name = "deep", .type = ARG_BOOL, .offset = offsetof(struct sample, deep)},
    {.name = "kept", .type = ARG_BOOL, .offset = offsetof(struct sample, kept), .def = 1},
};
static const struct arg_table sample_table = ARG_TABLE(sample_args, struct sample);

static void what_is_left_out_has_its_default(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{'name':'abc'}",
        "{'name':'abc','hash':null,'note':null,'count':null,'level':null,'colour':null,'deep':null}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(texts[i]);
        struct sample s = {0};
        struct err err;
        assert_int_equal(arg_decode(&sample_table, true, yyjson_doc_get_root(doc), &s, &err), 0);
        assert_true(str_is(s.name, "abc"));
        assert_null(s.hash.p);
        assert_null(s.note.p);
        assert_int_equal(s.count, 7);
        assert_true(s.level == ARG_ABSENT);
        assert_int_equal(s.depth, 0);
        assert_int_equal(s.colour, 1);
        assert_false(s.deep);
        assert_true(s.kept);
    }
}

static void what_is_given_is_taken(void **state)
{
    (void)state;
    JSON_AT_END yyjson_doc *doc = parsed(
        "{'name':'a\\u0000\\u00e4','hash':'" A_HASH "','note':'','count':10,'level':-5,"
        "'depth':-9223372036854775807,'colour':'blue','deep':true,'kept':false}");
    struct sample s = {0};
    struct err err;
    assert_int_equal(arg_decode(&sample_table, true, yyjson_doc_get_root(doc), &s, &err), 0);
    assert_int_equal(s.name.n, 4);
    assert_memory_equal(s.name.p, "a\0\xc3\xa4", 4);
    assert_true(str_is(s.hash, A_HASH));
    assert_non_null(s.note.p);
    assert_int_equal(s.note.n, 0);
    assert_int_equal(s.count, 10);
    assert_int_equal(s.level, -5);
    assert_true(s.depth == -INT64_MAX);
    assert_int_equal(s.colour, 2);
    assert_true(s.deep);
    assert_false(s.kept);
}

static void integers_are_numbers_without_a_fraction(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"10.0", 10},
        {"1e1", 10},
        {"-0.0", 0},
        {"-2.5e1", -25},
        {"8999999999999999.0", 8999999999999999},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807", -INT64_MAX},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        FREE_AT_END char *text = mem_format("{'name':'abc','depth':%s}", cases[i].text);
        JSON_AT_END yyjson_doc *doc = parsed(text);
        struct sample s = {0};
        struct err err;
        if (arg_decode(&sample_table, true, yyjson_doc_get_root(doc), &s, &err) < 0)
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_true(s.depth == cases[i].value);
    }
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *field;
        const char *reason;
    } cases[] = {
        {"{}", "name", "missing"},
        {"{'name':null}", "name", "missing"},
        {"{'Name':'abc'}", "name", "missing"},
        {"[]", "arguments", "type"},
        {"'abc'", "arguments", "type"},
        {"{'name':5}", "name", "type"},
        {"{'name':['abc']}", "name", "type"},
        {"{'name':'a'}", "name", "range"},
        {"{'name':'abcdef'}", "name", "range"},
        {"{'name':'\\u00e4\\u00e4\\u00e4'}", "name", "range"},
        {"{'name':'abc','hash':'" A_HASH "0'}", "hash", "range"},
        {"{'name':'abc','hash':'x'}", "hash", "range"},
        {"{'name':'abc','hash':''}", "hash", "range"},
        {"{'name':'abc','hash':1}", "hash", "type"},
        {"{'name':'abc','count':'7'}", "count", "type"},
        {"{'name':'abc','count':7.5}", "count", "type"},
        {"{'name':'abc','count':true}", "count", "type"},
        {"{'name':'abc','count':{}}", "count", "type"},
        {"{'name':'abc','count':0}", "count", "range"},
        {"{'name':'abc','count':11}", "count", "range"},
        {"{'name':'abc','count':11.0}", "count", "range"},
        {"{'name':'abc','count':18446744073709551615}", "count", "range"},
        {"{'name':'abc','count':-9223372036854775808}", "count", "range"},
        {"{'name':'abc','count':1e300}", "count", "range"},
        {"{'name':'abc','count':-1e300}", "count", "range"},
        {"{'name':'abc','level':-6}", "level", "range"},
        {"{'name':'abc','colour':'Red'}", "colour", "range"},
        {"{'name':'abc','colour':'re'}", "colour", "range"},
        {"{'name':'abc','colour':''}", "colour", "range"},
        {"{'name':'abc','colour':1}", "colour", "type"},
        {"{'name':'abc','deep':1}", "deep", "type"},
        {"{'name':'abc','deep':'true'}", "deep", "type"},
        {"{'name':'abc','dep':true}", "dep", "unknown"},
        {"{'name':'abc','':0}", "", "unknown"},
        {"{'name':'abc','name\\u0000':'x'}", "name", "unknown"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(cases[i].text);
        struct sample s = {0};
        struct err err = {0};
        if (arg_decode(&sample_table, true, yyjson_doc_get_root(doc), &s, &err) == 0)
            fail_msg("taken: %s", cases[i].text);
        assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
        if (strcmp(err.field, cases[i].field) != 0 || strcmp(err.reason, cases[i].reason) != 0)
            fail_msg("%s: field %s, reason %s", cases[i].text, err.field, err.reason);
        assert_non_null(strstr(err.message, cases[i].field));
    }
}

static void no_arguments_at_all_are_an_empty_object(void **state)
{
    (void)state;
    struct sample s = {0};
    struct err err = {0};
    assert_int_equal(arg_decode(&sample_table, true, NULL, &s, &err), -1);
    assert_string_equal(err.reason, "missing");
    struct arg_table rest = {sample_args + 1, ARRAY_LEN(sample_args) - 1, sizeof s};
    assert_int_equal(arg_decode(&rest, true, NULL, &s, &err), 0);
    assert_int_equal(s.count, 7);
    JSON_AT_END yyjson_doc *null = parsed("null");
    assert_int_equal(arg_decode(&sample_table, true, yyjson_doc_get_root(null), &s, &err), -1);
    assert_string_equal(err.reason, "missing");
    assert_int_equal(arg_decode(&rest, true, yyjson_doc_get_root(null), &s, &err), 0);
}

static void fields_nobody_knows_are_left_out_where_that_is_usual(void **state)
{
    (void)state;
    JSON_AT_END yyjson_doc *doc = parsed("{'name':'abc','what':{'is':['this']}}");
    struct sample s = {0};
    struct err err;
    assert_int_equal(arg_decode(&sample_table, false, yyjson_doc_get_root(doc), &s, &err), 0);
    assert_true(str_is(s.name, "abc"));
}

static void an_argument_may_have_a_substitute(void **state)
{
    (void)state;
    static const struct arg args[] = {
        {.name = "plain",
         .type = ARG_STRING,
         .flags = ARG_OR_NEXT,
         .offset = offsetof(struct sample, name)},
        {.name = "coded", .type = ARG_STRING, .offset = offsetof(struct sample, note)},
    };
    static const struct arg_table table = ARG_TABLE(args, struct sample);
    static const char *const good[] = {"{'plain':'a'}", "{'coded':'b'}",
                                       "{'plain':'a','coded':'b'}", "{'plain':null,'coded':'b'}",
                                       "{'plain':'a','coded':null}"};
    static const char *const bad[] = {"{}", "{'plain':null}", "{'coded':null}"};
    struct sample s;
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(good[i]);
        s = (struct sample){0};
        assert_int_equal(arg_decode(&table, true, yyjson_doc_get_root(doc), &s, &err), 0);
        assert_true(s.name.p || s.note.p);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(bad[i]);
        assert_int_equal(arg_decode(&table, true, yyjson_doc_get_root(doc), &s, &err), -1);
        assert_string_equal(err.field, "plain");
        assert_string_equal(err.reason, "missing");
    }
    assert_int_equal(arg_decode(&table, true, NULL, &s, &err), -1);
}

/* --- what crosses between gate and cell */

static size_t random_length(const struct arg *arg, size_t most)
{
    size_t max = arg->max ? (size_t)arg->max : most;
    size_t min = (size_t)arg->min;
    size_t pick = random_below(4);
    return pick == 0   ? min
           : pick == 1 ? max
                       : min + random_below(max - min + 1 < 40 ? max - min + 1 : 40);
}

static int64_t random_int(const struct arg *arg)
{
    int64_t max = arg->max ? arg->max : INT64_MAX;
    int64_t min = arg->min;
    /* The smallest number of all stands for one that was not given. */
    if (min == ARG_ABSENT && !(arg->flags & ARG_REQUIRED))
        min++;
    size_t pick = random_below(4);
    if (pick == 0)
        return min;
    if (pick == 1)
        return max;
    uint64_t span = (uint64_t)max - (uint64_t)min;
    return (int64_t)((uint64_t)min + (span ? random_next() % span : 0));
}

static struct str random_hash(char *room)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    for (size_t i = 0; i < HASH_HEX; i++)
        room[i] = digits[random_below(sizeof digits - 1)];
    return (struct str){room, HASH_HEX};
}

static size_t choices_of(const struct arg *arg)
{
    size_t n = 0;
    while (arg->choices[n])
        n++;
    return n;
}

/* Anything the table allows; strings are put into `room`. */
static void fill(const struct arg_table *table, char *out, char *room)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        void *at = out + arg->offset;
        bool absent = !(arg->flags & ARG_REQUIRED) && random_below(3) == 0;
        if (arg->type == ARG_INT)
            *(int64_t *)at = absent ? arg->def : random_int(arg);
        if (arg->type == ARG_BOOL)
            *(bool *)at = random_below(2);
        if (arg->type == ARG_CHOICE)
            *(int64_t *)at = (int64_t)random_below(choices_of(arg));
        if (arg->type == ARG_SHA256 && !absent)
            *(struct str *)at = random_hash(room);
        if (arg->type == ARG_STRING && !absent) {
            size_t n = random_length(arg, 5000);
            random_bytes(room, n);
            *(struct str *)at = (struct str){room, n};
        }
        room += 5000;
    }
}

static void assert_same(const struct arg_table *table, const char *a, const char *b)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        const struct str *x = (const void *)(a + arg->offset);
        const struct str *y = (const void *)(b + arg->offset);
        if (arg->type == ARG_STRING || arg->type == ARG_SHA256) {
            assert_int_equal(!x->p, !y->p);
            assert_int_equal(x->n, y->n);
            if (x->n)
                assert_memory_equal(x->p, y->p, x->n);
        } else if (arg->type == ARG_OBJECT || arg->items) {
            assert_int_equal(*(void *const *)x == NULL, *(void *const *)y == NULL);
        } else {
            assert_memory_equal(x, y, arg->type == ARG_BOOL ? sizeof(bool) : sizeof(int64_t));
        }
    }
}

static void check_crossing(const struct arg_table *table)
{
    static char room[24 * 5000];
    _Alignas(8) char sent[STRUCT_MAX] = {0};
    _Alignas(8) char received[STRUCT_MAX] = {0};
    struct err err;
    assert_true(table->size <= STRUCT_MAX && table->count <= 24);
    fill(table, sent, room);
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    arg_encode(table, sent, &(struct json_out){.out = &text});
    JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&text), JSON_INTERNAL);
    if (arg_decode(table, true, yyjson_doc_get_root(doc), received, &err) < 0)
        fail_msg("%s", err.message);
    assert_same(table, sent, received);
}

static void every_operation_arrives_as_it_was_sent(void **state)
{
    (void)state;
    for (size_t op = 0; op < OP_COUNT; op++) {
        for (unsigned round = 0; round < random_rounds(500); round++) {
            check_crossing(&op_table[op].request);
            check_crossing(&op_table[op].reply);
        }
    }
}

/* --- schemas */

static yyjson_doc *schema_of(const struct arg_table *table)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    arg_schema(table, &(struct json_out){.out = &text});
    return parsed_bytes(buf_str(&text), JSON_STRICT);
}

static bool lists(yyjson_val *array, const char *word)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(array, idx, max, item) {
        if (yyjson_equals_str(item, word))
            return true;
    }
    return false;
}

static bool is_required(const struct arg *arg)
{
    return (arg->flags & (ARG_REQUIRED | ARG_OR_NEXT)) != 0;
}

/* The same as a schema says it, which cannot tell of two ways. */
static bool is_listed_as_required(const struct arg *arg)
{
    if (arg->flags & ARG_OR_NEXT)
        return arg[1].use & ARG_BASE64;
    return arg->flags & ARG_REQUIRED && !(arg->flags & ARG_ONE_BESIDE);
}

/* Those of the items of a list that may stand beside it. */
static size_t fields_beside(const struct arg_table *table)
{
    size_t n = 0;
    for (size_t i = 0; i < table->count; i++)
        n += table->args[i].flags & ARG_ONE_BESIDE ? table->args[i].n_items : 0;
    return n;
}

static bool has_argument(const struct arg_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->args[i].name, name) == 0)
            return true;
    }
    return false;
}

static void check_schema(const struct arg_table *table, bool described)
{
    JSON_AT_END yyjson_doc *doc = schema_of(table);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *properties = yyjson_obj_get(root, "properties");
    yyjson_val *required = yyjson_obj_get(root, "required");
    size_t needed = 0;
    assert_true(yyjson_equals_str(yyjson_obj_get(root, "type"), "object"));
    assert_true(yyjson_is_false(yyjson_obj_get(root, "additionalProperties")));
    assert_int_equal(yyjson_obj_size(properties), table->count + fields_beside(table));
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        yyjson_val *property = yyjson_obj_get(properties, arg->name);
        assert_true(yyjson_is_str(yyjson_obj_get(property, "type")));
        if (described)
            assert_true(yyjson_get_len(yyjson_obj_get(property, "description")) > 10);
        assert_int_equal(lists(required, arg->name), is_listed_as_required(arg));
        needed += is_listed_as_required(arg);
    }
    assert_int_equal(yyjson_arr_size(required), needed);
    /* An empty list is not allowed by older drafts. */
    assert_int_equal(required != NULL, needed > 0);
}

static void every_tool_has_a_schema(void **state)
{
    (void)state;
    for (size_t i = 0; tools_all[i]; i++) {
        check_schema(&tools_all[i]->args, true);
        check_schema(&tools_all[i]->result, false);
    }
    check_schema(&sample_table, false);
}

/* Something that fits, as far as the table says. */
static void add_fitting(const struct arg *arg, struct buf *text)
{
    if (arg->type == ARG_CHOICE) {
        buf_addf(text, "\"%s\"", arg->choices[0]);
    } else if (arg->type == ARG_OBJECT || arg->type == ARG_OBJECTS) {
        buf_add_text(text, arg->type == ARG_OBJECTS ? "[{" : "{");
        bool comma = false;
        for (size_t i = 0; i < arg->n_items; i++) {
            if (!is_required(&arg->items[i]))
                continue;
            buf_addf(text, "%s\"%s\":", comma ? "," : "", arg->items[i].name);
            buf_add_text(text, arg->items[i].type == ARG_OBJECT ? "{}" : "");
            if (arg->items[i].type == ARG_CHOICE)
                buf_addf(text, "\"%s\"", arg->items[i].choices[0]);
            else if (arg->items[i].type != ARG_OBJECT)
                buf_add_text(text, "\"abc\"");
            comma = true;
        }
        buf_add_text(text, arg->type == ARG_OBJECTS ? "}]" : "}");
    } else {
        buf_add_text(text, "\"abc\"");
    }
}

/* What the table makes of {required arguments, key: value}: 0, or -1. */
static int decode_with(const struct arg_table *table, const char *key, const char *value, char *out)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    struct err err;
    buf_add_text(&text, "{");
    for (size_t i = 0; i < table->count; i++) {
        const struct arg *arg = &table->args[i];
        if (is_required(arg) && (!key || strcmp(key, arg->name) != 0)) {
            buf_addf(&text, "\"%s\":", arg->name);
            add_fitting(arg, &text);
            buf_add_char(&text, ',');
        }
    }
    if (key)
        buf_addf(&text, "\"%s\":%s,", key, value);
    text.len -= text.len > 1;
    buf_add_text(&text, "}");
    JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&text), JSON_STRICT);
    memset(out, 0, STRUCT_MAX);
    return arg_decode(table, true, yyjson_doc_get_root(doc), out, &err);
}

static void check_bounds(const struct arg_table *table, const char *key, yyjson_val *property)
{
    static const char *const names[] = {"minimum", "maximum"};
    _Alignas(8) char out[STRUCT_MAX];
    for (int i = 0; i < 2; i++) {
        yyjson_val *bound = yyjson_obj_get(property, names[i]);
        if (!bound)
            continue;
        int64_t value = yyjson_get_sint(bound);
        FREE_AT_END char *at = mem_format("%lld", (long long)value);
        FREE_AT_END char *beyond = mem_format("%lld", (long long)value + (i ? 1 : -1));
        assert_int_equal(decode_with(table, key, at, out), 0);
        assert_int_equal(decode_with(table, key, beyond, out), -1);
    }
}

static void check_default(const struct arg_table *table, const char *key, yyjson_val *property)
{
    _Alignas(8) char given[STRUCT_MAX];
    _Alignas(8) char left_out[STRUCT_MAX];
    yyjson_val *value = yyjson_obj_get(property, "default");
    if (!value)
        return;
    size_t n;
    FREE_AT_END char *text = yyjson_val_write(value, 0, &n);
    assert_int_equal(decode_with(table, key, text, given), 0);
    assert_int_equal(decode_with(table, NULL, NULL, left_out), 0);
    assert_same(table, given, left_out);
}

static void check_choices(const struct arg_table *table, const char *key, yyjson_val *property)
{
    _Alignas(8) char out[STRUCT_MAX];
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(property, "enum"), idx, max, item) {
        struct str word = json_str(item);
        FREE_AT_END char *text = mem_format("\"%.*s\"", (int)word.n, word.p);
        FREE_AT_END char *other = mem_format("\"%.*sx\"", (int)word.n, word.p);
        assert_int_equal(decode_with(table, key, text, out), 0);
        assert_int_equal(decode_with(table, key, other, out), -1);
    }
}

static void the_schema_says_what_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0;; i++) {
        const struct arg_table *table = tools_all[i] ? &tools_all[i]->args : &sample_table;
        JSON_AT_END yyjson_doc *doc = schema_of(table);
        size_t idx;
        size_t max;
        yyjson_val *key;
        yyjson_val *property;
        yyjson_obj_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "properties"), idx, max, key,
                           property) {
            if (!has_argument(table, yyjson_get_str(key)))
                continue;
            check_bounds(table, yyjson_get_str(key), property);
            check_default(table, yyjson_get_str(key), property);
            check_choices(table, yyjson_get_str(key), property);
        }
        if (!tools_all[i])
            break;
    }
}

static void help_names_every_argument(void **state)
{
    (void)state;
    for (size_t i = 0; tools_all[i]; i++) {
        const struct arg_table *table = &tools_all[i]->args;
        BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
        arg_help(table, &out);
        const char *text = buf_text(&out);
        for (size_t a = 0; a < table->count; a++) {
            assert_non_null(strstr(text, table->args[a].name));
            assert_non_null(strstr(text, table->args[a].doc));
        }
    }
}

/* --- logs */

static char *redacted(const struct arg_table *table, yyjson_val *object)
{
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    arg_redact(table, object, 0, &(struct json_out){.out = &out});
    JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&out), JSON_STRICT);
    assert_true(yyjson_is_obj(yyjson_doc_get_root(doc)));
    return mem_dup(buf_text(&out));
}

static void a_log_names_sizes_and_hashes_of_contents(void **state)
{
    (void)state;
    JSON_AT_END yyjson_doc *doc = parsed(
        "{'name':'abc','note':'abc','count':5,'deep':true,'colour':'red',"
        "'level':null,'more':'not in the table'}");
    FREE_AT_END char *text = redacted(&sample_table, yyjson_doc_get_root(doc));
    FREE_AT_END char *expected = quoted("{'name':'abc','note':{'bytes':3,'sha256':'" A_HASH
                                        "'},'count':5,'colour':'red','deep':true}");
    assert_string_equal(text, expected);
}

static void contents_never_reach_a_log(void **state)
{
    (void)state;
    static const char *const contents[] = {
        "'778899secret'",
        "['778899secret']",
        "{'778899':'778899'}",
        "778899",
        "778899.5",
        "-778899",
        "[[778899]]",
        "'\\u0037\\u0037\\u0038899'",
        "18446744073778899",
    };
    for (size_t i = 0; tools_all[i]; i++) {
        const struct arg_table *table = &tools_all[i]->args;
        for (size_t a = 0; a < table->count; a++) {
            /* What a command reads is a part of what ran. */
            if (!(table->args[a].flags & ARG_CONTENT) || table->args[a].use & ARG_INPUT)
                continue;
            for (size_t c = 0; c < ARRAY_LEN(contents); c++) {
                FREE_AT_END char *text = mem_format("{'path':'x','%s':%s,'other':%s}",
                                                    table->args[a].name, contents[c], contents[c]);
                JSON_AT_END yyjson_doc *doc = parsed(text);
                FREE_AT_END char *log = redacted(table, yyjson_doc_get_root(doc));
                if (strstr(log, "778899"))
                    fail_msg("%s is logged as %s", text, log);
            }
        }
    }
}

static void a_log_line_has_a_limit(void **state)
{
    (void)state;
    BUF_AT_END struct buf long_name = BUF_INIT(TEXT_MAX);
    buf_add_text(&long_name, "{\"name\":\"");
    for (int i = 0; i < 100000; i++)
        buf_add_text(&long_name, "\xc3\xa4");
    buf_add_text(&long_name, "\"}");
    JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&long_name), JSON_STRICT);
    FREE_AT_END char *log = redacted(&sample_table, yyjson_doc_get_root(doc));
    assert_in_range(strlen(log), 64 << 10, (64 << 10) + 200);
    assert_non_null(strstr(log, "\"bytes\":200000,\"sha256\":\""));
    assert_null(strstr(log, "\xef\xbf\xbd"));
}

static void anything_can_be_logged(void **state)
{
    (void)state;
    static const char *const texts[] = {"[]", "'x'", "null", "5",
                                        "{'name':[],'count':'many','note':7}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(texts[i]);
        FREE_AT_END char *log = redacted(&sample_table, yyjson_doc_get_root(doc));
        assert_true(strlen(log) >= 2);
    }
    FREE_AT_END char *log = redacted(&sample_table, NULL);
    assert_string_equal(log, "{}");
}

static int set_up(void **state)
{
    (void)state;
    random_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(what_is_given_is_taken),
        cmocka_unit_test(integers_are_numbers_without_a_fraction),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(no_arguments_at_all_are_an_empty_object),
        cmocka_unit_test(fields_nobody_knows_are_left_out_where_that_is_usual),
        cmocka_unit_test(an_argument_may_have_a_substitute),
        cmocka_unit_test(every_operation_arrives_as_it_was_sent),
        cmocka_unit_test(every_tool_has_a_schema),
        cmocka_unit_test(the_schema_says_what_is_taken),
        cmocka_unit_test(help_names_every_argument),
        cmocka_unit_test(a_log_names_sizes_and_hashes_of_contents),
        cmocka_unit_test(contents_never_reach_a_log),
        cmocka_unit_test(a_log_line_has_a_limit),
        cmocka_unit_test(anything_can_be_logged),
    };
    return cmocka_run_group_tests_name("arg", tests, set_up, NULL);
}
