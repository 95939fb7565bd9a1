#include <cmocka.h>
#include <string.h>

#include "base/str.h"
#include "core/schema.h"

static yyjson_doc *parse(const char *text)
{
    yyjson_doc *doc = NULL;
    assert_int_equal(json_parse(text, strlen(text), 100000, JSON_STRICT, &doc, NULL), 0);
    return doc;
}

static int check(const char *schema, const char *value, struct err *err)
{
    JSON_AT_END yyjson_doc *s = parse(schema);
    JSON_AT_END yyjson_doc *v = parse(value);
    assert_int_equal(schema_read(yyjson_doc_get_root(s), "input", err), 0);
    return schema_check(yyjson_doc_get_root(s), "argument", yyjson_doc_get_root(v), err);
}

#define PERSON                                                                                     \
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"name\"],\"properties\":{" \
    "\"name\":{\"type\":\"string\",\"minLength\":2,\"maxLength\":4},"                              \
    "\"age\":{\"type\":\"integer\",\"minimum\":0,\"exclusiveMaximum\":150},"                       \
    "\"size\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":2.5},"                       \
    "\"kind\":{\"enum\":[\"a\",\"b\",3,null]},\"one\":{\"const\":1},"                              \
    "\"tags\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":\"string\"}}," \
    "\"in\":{\"type\":\"object\",\"properties\":{\"deep\":{\"type\":\"boolean\"}}}}}"

static void values_are_held_against_it(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        const char *reason; /* NULL: it fits */
        const char *words;
    } cases[] = {
        {"{\"name\":\"Anna\"}", NULL, NULL},
        {"{\"name\":\"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\"}", NULL, NULL},
        {"{\"name\":\"Anna\",\"age\":149,\"size\":2.5,\"kind\":null,\"one\":1.0,\"tags\":[\"x\"],"
         "\"in\":{\"deep\":true,\"other\":1}}",
         NULL, NULL},
        {"{\"name\":\"Anna\",\"age\":3.0}", NULL, NULL},
        {"{\"name\":\"Anna\",\"kind\":3.0}", NULL, NULL},
        {"[]", "type", "the argument must be an object, not an array"},
        {"{}", "missing", "missing required argument `name`"},
        {"{\"name\":1}", "type", "argument `name` must be a string, not an integer"},
        {"{\"name\":\"A\"}", "range", "at least 2 characters"},
        {"{\"name\":\"Annas\"}", "range", "at most 4 characters"},
        {"{\"name\":\"Anna\",\"age\":-1}", "range", "`age` must be at least 0"},
        {"{\"name\":\"Anna\",\"age\":150}", "range", "must be less than 150"},
        {"{\"name\":\"Anna\",\"age\":1.5}", "type", "an integer, not a number with a fraction"},
        {"{\"name\":\"Anna\",\"size\":0}", "range", "must be more than 0"},
        {"{\"name\":\"Anna\",\"size\":2.6}", "range", "at most 2.5"},
        {"{\"name\":\"Anna\",\"kind\":\"c\"}", "range", "must be one of: a, b"},
        {"{\"name\":\"Anna\",\"kind\":\"3\"}", "range", "must be one of: a, b"},
        {"{\"name\":\"Anna\",\"one\":2}", "range", "only one value"},
        {"{\"name\":\"Anna\",\"tags\":[]}", "range", "at least 1 items"},
        {"{\"name\":\"Anna\",\"tags\":[\"a\",\"b\",\"c\"]}", "range", "at most 2 items"},
        {"{\"name\":\"Anna\",\"tags\":[\"a\",2]}", "type", "`tags[1]` must be a string"},
        {"{\"name\":\"Anna\",\"in\":{\"deep\":0}}", "type", "`in.deep` must be a boolean"},
        {"{\"name\":\"Anna\",\"nam\":1}", "unknown", "`nam` is not known"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {.code = ERR_COUNT};
        int r = check(PERSON, cases[i].value, &err);
        if ((r == 0) != (cases[i].reason == NULL))
            fail_msg("%s: %s", cases[i].value, r ? err.message : "it fits");
        if (r < 0 &&
            (strcmp(err.reason, cases[i].reason) != 0 || !strstr(err.message, cases[i].words)))
            fail_msg("%s: %s: %s", cases[i].value, err.reason, err.message);
    }
}

static void what_is_not_understood_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *schema;
        const char *field;
    } cases[] = {
        {"1", "input"},
        {"{\"pattern\":\"a\"}", "input.pattern"},
        {"{\"anyOf\":[]}", "input.anyOf"},
        {"{\"$ref\":\"#\"}", "input.a key"},
        {"{\"type\":[\"string\",\"null\"]}", "input.type"},
        {"{\"type\":\"text\"}", "input.type"},
        {"{\"enum\":[]}", "input.enum"},
        {"{\"enum\":[[]]}", "input.enum"},
        {"{\"const\":{}}", "input.const"},
        {"{\"additionalProperties\":{\"type\":\"string\"}}", "input.additionalProperties"},
        {"{\"minLength\":-1}", "input.minLength"},
        {"{\"minimum\":\"1\"}", "input.minimum"},
        {"{\"required\":[1]}", "input.required"},
        {"{\"properties\":{\"a b\":{}}}", "input.properties"},
        {"{\"properties\":{\"a\":{\"items\":[]}}}", "input.properties.a.items"},
        {"{\"properties\":{\"a\":{\"not\":{}}}}", "input.properties.a.not"},
        {"{\"title\":1}", "input.title"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        JSON_AT_END yyjson_doc *doc = parse(cases[i].schema);
        struct err err = {.code = ERR_COUNT};
        if (schema_read(yyjson_doc_get_root(doc), "input", &err) == 0)
            fail_msg("%s is taken", cases[i].schema);
        assert_string_equal(err.field, cases[i].field);
    }
}

static void depth_ends(void **state)
{
    (void)state;
    char text[2000] = "";
    for (int i = 0; i < 20; i++)
        strcat(text, "{\"items\":");
    strcat(text, "{}");
    for (int i = 0; i < 20; i++)
        strcat(text, "}");
    JSON_AT_END yyjson_doc *doc = parse(text);
    struct err err;
    assert_int_equal(schema_read(yyjson_doc_get_root(doc), "input", &err), -1);
    assert_non_null(strstr(err.message, "too deep"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_held_against_it),
        cmocka_unit_test(what_is_not_understood_is_refused),
        cmocka_unit_test(depth_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
