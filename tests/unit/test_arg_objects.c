/* Objects and lists as arguments. */
#include <cmocka.h>

#include "core/arg.h"
#include "json_text.h"

#define A_HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define TEXT_MAX (1u << 20)

static const char *const kinds[] = {"one", "two", NULL};

struct item {
    struct str old_text;
    struct str label;
    int64_t kind;
    bool all;
};

static const struct arg item_args[] = {
    {.name = "old_text",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED | ARG_CONTENT,
     .offset = offsetof(struct item, old_text)},
    {.name = "label", .type = ARG_STRING, .offset = offsetof(struct item, label), .max = 3},
    {.name = "kind", .type = ARG_CHOICE, .offset = offsetof(struct item, kind), .choices = kinds},
    {.name = "all", .type = ARG_BOOL, .offset = offsetof(struct item, all)},
};

struct sample {
    yyjson_val *edits;
    yyjson_val *open;
    yyjson_val *strict;
    yyjson_val *any;
    yyjson_val *words;
    yyjson_val *pairs;
};

static const struct arg word = {.name = "word", .type = ARG_STRING, .max = 3};
static const struct arg number = {.name = "number", .type = ARG_INT, .def = ARG_ABSENT};
static const struct arg pair = {
    .name = "pair", .type = ARG_LIST, .items = &number, .min = 2, .max = 2};

static const struct arg sample_args[] = {
    {.name = "edits",
     .type = ARG_OBJECTS,
     .flags = ARG_REQUIRED | ARG_STRICT,
     .offset = offsetof(struct sample, edits),
     .min = 1,
     .max = 3,
     .items = item_args,
     .n_items = ARRAY_LEN(item_args)},
    {.name = "open",
     .type = ARG_OBJECT,
     .offset = offsetof(struct sample, open),
     .items = item_args,
     .n_items = ARRAY_LEN(item_args)},
    {.name = "strict",
     .type = ARG_OBJECT,
     .flags = ARG_STRICT,
     .offset = offsetof(struct sample, strict),
     .items = item_args,
     .n_items = ARRAY_LEN(item_args)},
    {.name = "any", .type = ARG_OBJECT, .offset = offsetof(struct sample, any)},
    {.name = "words",
     .type = ARG_LIST,
     .offset = offsetof(struct sample, words),
     .max = 2,
     .items = &word},
    {.name = "pairs", .type = ARG_LIST, .offset = offsetof(struct sample, pairs), .items = &pair},
};
static const struct arg_table sample_table = ARG_TABLE(sample_args, struct sample);

static int decode(const char *json, struct sample *ret, yyjson_doc **ret_doc, struct err *err)
{
    *ret_doc = parsed(json);
    *ret = (struct sample){0};
    *err = (struct err){0};
    return arg_decode(&sample_table, true, yyjson_doc_get_root(*ret_doc), ret, err);
}

static void what_fits_is_handed_on(void **state)
{
    (void)state;
    JSON_AT_END yyjson_doc *doc = NULL;
    struct sample s;
    struct err err;
    if (decode("{'edits':[{'old_text':'a'},{'old_text':'','all':true,'kind':'two','label':null}],"
               "'open':{'old_text':'x','more':1},'any':{'a':{'b':[]}},'words':['a',''],"
               "'pairs':[[0,1],[2,2]]}",
               &s, &doc, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(yyjson_arr_size(s.edits), 2);
    assert_true(yyjson_is_obj(s.open) && yyjson_is_obj(s.any));
    assert_null(s.strict);
    assert_int_equal(yyjson_arr_size(s.words), 2);
    assert_int_equal(yyjson_arr_size(s.pairs), 2);
    /* The inner table reads each one as it would an object of its own. */
    struct item item = {{0}};
    struct arg_table table = ARG_TABLE(item_args, struct item);
    assert_int_equal(arg_decode(&table, true, yyjson_arr_get(s.edits, 1), &item, &err), 0);
    assert_true(item.old_text.p && item.old_text.n == 0 && item.all && item.kind == 1);
}

static void what_is_wrong_is_found_by_its_way(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *field;
        const char *reason;
    } cases[] = {
        {"{}", "edits", "missing"},
        {"{'edits':null}", "edits", "missing"},
        {"{'edits':{}}", "edits", "type"},
        {"{'edits':'x'}", "edits", "type"},
        {"{'edits':[]}", "edits", "range"},
        {"{'edits':[{'old_text':''},{'old_text':''},{'old_text':''},{'old_text':''}]}", "edits",
         "range"},
        {"{'edits':[1]}", "edits[0]", "type"},
        {"{'edits':[{'old_text':''},null]}", "edits[1]", "type"},
        {"{'edits':[{'old_text':''},{'old_text':''},[]]}", "edits[2]", "type"},
        {"{'edits':[{}]}", "edits[0].old_text", "missing"},
        {"{'edits':[{'old_text':'a'},{'old_text':'b'},{'old_text':5}]}", "edits[2].old_text",
         "type"},
        {"{'edits':[{'old_text':'a','label':'long'}]}", "edits[0].label", "range"},
        {"{'edits':[{'old_text':'a','kind':'three'}]}", "edits[0].kind", "range"},
        {"{'edits':[{'old_text':'a','all':1}]}", "edits[0].all", "type"},
        {"{'edits':[{'old_text':'a','more':1}]}", "edits[0].more", "unknown"},
        {"{'edits':[{'old_text':'a'}],'open':[]}", "open", "type"},
        {"{'edits':[{'old_text':'a'}],'open':{}}", "open.old_text", "missing"},
        {"{'edits':[{'old_text':'a'}],'strict':{'old_text':'','more':1}}", "strict.more",
         "unknown"},
        {"{'edits':[{'old_text':'a'}],'any':[]}", "any", "type"},
        {"{'edits':[{'old_text':'a'}],'any':'x'}", "any", "type"},
        {"{'edits':[{'old_text':'a'}],'words':'x'}", "words", "type"},
        {"{'edits':[{'old_text':'a'}],'words':{}}", "words", "type"},
        {"{'edits':[{'old_text':'a'}],'words':['a','b','c']}", "words", "range"},
        {"{'edits':[{'old_text':'a'}],'words':['a',1]}", "words[1]", "type"},
        {"{'edits':[{'old_text':'a'}],'words':[null]}", "words[0]", "type"},
        {"{'edits':[{'old_text':'a'}],'words':['long']}", "words[0]", "range"},
        {"{'edits':[{'old_text':'a'}],'pairs':[[1,2],3]}", "pairs[1]", "type"},
        {"{'edits':[{'old_text':'a'}],'pairs':[[1,2,3]]}", "pairs[0]", "range"},
        {"{'edits':[{'old_text':'a'}],'pairs':[[1,2],[1,'2']]}", "pairs[1][1]", "type"},
        {"{'edits':[{'old_text':'a'}],'pairs':[[1,-2]]}", "pairs[0][1]", "range"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        JSON_AT_END yyjson_doc *doc = NULL;
        struct sample s;
        struct err err;
        if (decode(cases[i].json, &s, &doc, &err) == 0)
            fail_msg("%s is taken", cases[i].json);
        assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
        if (strcmp(err.field, cases[i].field) != 0 || strcmp(err.reason, cases[i].reason) != 0)
            fail_msg("%s: %s, %s", cases[i].json, err.field, err.reason);
        /* The message names the place as well: it is all that some dialects show. */
        char place[64];
        snprintf(place, sizeof place, "%.*s", (int)strcspn(cases[i].field, "."), cases[i].field);
        if (!strstr(err.message, place))
            fail_msg("%s: %s", cases[i].json, err.message);
    }
}

/* Names of any length do not make the way run over. */
static void a_long_name_is_cut(void **state)
{
    (void)state;
    char name[401];
    memset(name, 'n', 400);
    name[400] = '\0';
    FREE_AT_END char *json = mem_format("{'edits':[{'old_text':'a','%s':1}]}", name);
    JSON_AT_END yyjson_doc *doc = NULL;
    struct sample s;
    struct err err;
    assert_int_equal(decode(json, &s, &doc, &err), -1);
    assert_string_equal(err.reason, "unknown");
    assert_memory_equal(err.field, "edits[0].nnn", 12);
    assert_true(strlen(err.field) < sizeof err.field && strlen(err.message) < sizeof err.message);
}

static yyjson_val *at(yyjson_val *value, const char *pointer)
{
    return yyjson_ptr_get(value, pointer);
}

static void the_schema_says_what_is_inside(void **state)
{
    (void)state;
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    arg_schema(&sample_table, &(struct json_out){.out = &text});
    JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&text), JSON_STRICT);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *edits = at(root, "/properties/edits");
    assert_true(yyjson_equals_str(at(edits, "/type"), "array"));
    assert_int_equal(yyjson_get_int(at(edits, "/minItems")), 1);
    assert_int_equal(yyjson_get_int(at(edits, "/maxItems")), 3);
    assert_true(yyjson_equals_str(at(edits, "/items/type"), "object"));
    assert_true(yyjson_equals_str(at(edits, "/items/properties/old_text/type"), "string"));
    assert_true(yyjson_equals_str(at(edits, "/items/required/0"), "old_text"));
    assert_true(yyjson_is_false(at(edits, "/items/additionalProperties")));
    assert_true(yyjson_is_true(at(root, "/properties/open/additionalProperties")));
    assert_true(yyjson_equals_str(at(root, "/properties/open/required/0"), "old_text"));
    assert_true(yyjson_is_false(at(root, "/properties/strict/additionalProperties")));
    assert_true(yyjson_equals_str(at(root, "/properties/any/type"), "object"));
    assert_null(at(root, "/properties/any/properties"));
    assert_true(yyjson_equals_str(at(root, "/properties/words/type"), "array"));
    assert_int_equal(yyjson_get_int(at(root, "/properties/words/maxItems")), 2);
    assert_true(yyjson_equals_str(at(root, "/properties/words/items/type"), "string"));
    yyjson_val *inner = at(root, "/properties/pairs/items");
    assert_true(yyjson_equals_str(at(inner, "/type"), "array"));
    assert_int_equal(yyjson_get_int(at(inner, "/minItems")), 2);
    assert_int_equal(yyjson_get_int(at(inner, "/maxItems")), 2);
    assert_true(yyjson_equals_str(at(inner, "/items/type"), "integer"));
    assert_null(at(inner, "/items/default"));
    assert_int_equal(yyjson_arr_size(at(root, "/required")), 1);
}

static char *redacted(const char *json)
{
    JSON_AT_END yyjson_doc *doc = parsed(json);
    BUF_AT_END struct buf out = BUF_INIT(TEXT_MAX);
    arg_redact(&sample_table, yyjson_doc_get_root(doc), 0, &(struct json_out){.out = &out});
    JSON_AT_END yyjson_doc *again = parsed_bytes(buf_str(&out), JSON_STRICT);
    assert_true(yyjson_is_obj(yyjson_doc_get_root(again)));
    return mem_dup(buf_text(&out));
}

static void a_log_keeps_contents_inside_out(void **state)
{
    (void)state;
    FREE_AT_END char *log = redacted(
        "{'edits':[{'old_text':'abc','label':'x','all':true,'more':'hidden'}],"
        "'open':{'old_text':'abc'},'any':{'a':'hidden'}}");
    FREE_AT_END char *whole = quoted("{'edits':[{'old_text':{'bytes':3,'sha256':'" A_HASH
                                     "'},'label':'x','all':true}],"
                                     "'open':{'old_text':{'bytes':3,'sha256':'" A_HASH "'}},"
                                     "'any':{'bytes':14,'sha256':");
    assert_memory_equal(log, whole, strlen(whole));
    assert_null(strstr(log, "hidden"));
}

/* A refused call is logged too, whatever it said. */
static void what_is_no_object_is_logged_without_its_value(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{'edits':'778899','open':'778899','any':'778899'}",
        "{'edits':[778899,'778899',['778899'],{'old_text':778899}]}",
        "{'edits':{'old_text':'778899'},'any':['778899'],'open':[778899]}",
        "{'any':{'778899':778899}}",
        "{'words':['778899',778899,{'word':'778899'}],'pairs':[[778899]]}",
        "{'words':'778899','pairs':{'pair':778899,'number':778899}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        FREE_AT_END char *log = redacted(texts[i]);
        if (strstr(log, "778899"))
            fail_msg("%s is logged as %s", texts[i], log);
    }
}

static void a_log_line_has_a_limit(void **state)
{
    (void)state;
    BUF_AT_END struct buf json = BUF_INIT(TEXT_MAX);
    buf_add_text(&json, "{'edits':[{'old_text':''}");
    for (int i = 0; i < 5000; i++)
        buf_add_text(&json, ",{'old_text':''}");
    buf_add_text(&json, "]}");
    FREE_AT_END char *log = redacted(buf_text(&json));
    assert_true(strlen(log) < 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_handed_on),
        cmocka_unit_test(what_is_wrong_is_found_by_its_way),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(the_schema_says_what_is_inside),
        cmocka_unit_test(a_log_keeps_contents_inside_out),
        cmocka_unit_test(what_is_no_object_is_logged_without_its_value),
        cmocka_unit_test(a_log_line_has_a_limit),
    };
    return cmocka_run_group_tests_name("arg_objects", tests, NULL, NULL);
}
