#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "c/json.h"
#include "random.h"

static void check(const char *text, bool expected)
{
    if (sandgate_json_is_object(text) != expected)
        fail_msg("%s: should %sbe an object", text, expected ? "" : "not ");
    /* The gate's own parser is the judge. */
    yyjson_doc *doc = NULL;
    bool parsed = json_parse(text, strlen(text), strlen(text), JSON_STRICT, &doc, NULL) == 0;
    if ((parsed && yyjson_is_obj(yyjson_doc_get_root(doc))) != expected)
        fail_msg("%s: the gate thinks otherwise", text);
    yyjson_doc_free(doc);
}

static void takes_objects(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",
        " \t\r\n{ \n } \n",
        "{\"a\":1}",
        "{\"a\" : [ ] , \"b\" : { } }",
        "{\"\":[1,[2,{\"c\":[[]]}],true,false,null,\"x\"]}",
        "{\"a\":[0,-0,1,-12,0.5,10.25e3,1E+2,1e-2,123456789012345678901234567890]}",
        "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"}",
        "{\"\xc3\xa9\":\"\xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf \x7f\"}",
        "{\"a\":\"{[,:]}\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        check(texts[i], true);
}

static void takes_nothing_else(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "1",
        "null",
        "\"a\"",
        "[]",
        "[{}]",
        "{",
        "}",
        "{}}",
        "{}{}",
        "{},",
        "{} x",
        "{a:1}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1,,\"b\":2}",
        "{\"a\":[1,]}",
        "{\"a\":[,1]}",
        "{\"a\":[1 2]}",
        "{\"a\":[}]}",
        "{\"a\":{]}",
        "{\"a\":[1}",
        "{\"a\":tru}",
        "{\"a\":truex}",
        "{\"a\":True}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":01}",
        "{\"a\":-}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{\"a\":1e}",
        "{\"a\":1e+}",
        "{\"a\":0x1}",
        "{\"a\":'b'}",
        "{\"a\":\"b}",
        "{\"a\":\"b\\\"}",
        "{\"a\":\"\\x41\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\\ud800\\u0041\"}",
        "{\"a\":\"\\udc00\"}",
        "{\"a\":\"\\ud800\\",
        "{\"a\":\"line\nbreak\"}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\x01\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xc3\"}",
        "{\"a\":\"\xc0\x80\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":\"\xe0\x80\x80\"}",
        "{\"a\":\"\xf0\x80\x80\x80\"}",
        "{\"a\":\"\xf4\x90\x80\x80\"}",
        "{\"a\":\"\xe2\x82\"}",
        "{\"a\":1}//x",
        "/**/{}",
        "{\v}",
        "\xef\xbb\xbf{}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        check(texts[i], false);
}

/* `{"a":{"a":...` of this many levels. */
static void make_deep(struct buf *out, unsigned levels)
{
    for (unsigned i = 1; i < levels; i++)
        buf_add_text(out, i % 2 ? "{\"a\":" : "[");
    buf_add_text(out, levels % 2 ? "{}" : "[]");
    for (unsigned i = levels - 1; i > 0; i--)
        buf_add_text(out, i % 2 ? "}" : "]");
}

static void goes_as_deep_as_the_gate(void **state)
{
    (void)state;
    for (unsigned levels = 1; levels < 70; levels++) {
        BUF_AT_END struct buf text = BUF_INIT(4096);
        BUF_AT_END struct buf line = BUF_INIT(4096);
        JSON_AT_END yyjson_doc *doc = NULL;
        make_deep(&text, levels);
        buf_addf(&line, "{\"id\":\"1\",\"tool_call\":{\"arguments\":%s}}", buf_text(&text));
        bool read = json_parse(line.data, line.len, line.len, JSON_STRICT, &doc, NULL) == 0;
        assert_int_equal(sandgate_json_is_object(buf_text(&text)), read);
    }
}

/* Texts of pieces that may or may not fit together. */
static void agrees_with_the_gate(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "{",     "}",    "[",      "]",  ",",  ":",  "\"a\"", "\"b\"", "\"\"",
        "1",     "-2.5", "0",      "e3", " ",  "\n", "true",  "null",  "\"",
        "\\u00", "\\n",  "\"c\":", "{}", "[]", ".",  "\xc3",  "\xa9"};
    unsigned objects = 0;
    random_begin();
    for (unsigned round = 0; round < random_rounds(300000); round++) {
        char text[200] = "{";
        size_t n = 1;
        for (size_t left = random_below(10); left > 0; left--) {
            const char *piece = pieces[random_below(ARRAY_LEN(pieces))];
            memcpy(text + n, piece, strlen(piece) + 1);
            n += strlen(piece);
        }
        if (random_below(4))
            memcpy(text + n++, "}", 2);
        yyjson_doc *doc = NULL;
        struct json_error why = {0};
        bool parsed = json_parse(text, n, n, JSON_STRICT, &doc, &why) == 0;
        bool mine = sandgate_json_is_object(text);
        if (mine != parsed && !(mine && strstr(why.what, "duplicate")))
            fail_msg("%s: %d here, %d in the gate (%s)", text, mine, parsed, why.what);
        objects += mine;
        yyjson_doc_free(doc);
    }
    assert_true(objects > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_objects),
        cmocka_unit_test(takes_nothing_else),
        cmocka_unit_test(goes_as_deep_as_the_gate),
        cmocka_unit_test(agrees_with_the_gate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
