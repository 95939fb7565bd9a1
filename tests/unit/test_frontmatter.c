#include <cmocka.h>

#include "base/buf.h"
#include "json_text.h"
#include "work/frontmatter.h"

struct good {
    const char *what;
    const char *file;
    const char *update; /* ' for " */
    const char *expected;
};

struct bad {
    const char *what;
    const char *file;
    const char *update;
    enum err_code code;
    const char *message; /* a part of it */
};

static int apply(const char *file, const char *update, struct buf *out, struct err *err)
{
    JSON_AT_END yyjson_doc *doc = parsed(update);
    return frontmatter_patch(text_str(file), yyjson_doc_get_root(doc), out, err);
}

static void check_good(const struct good *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        BUF_AT_END struct buf out = BUF_INIT(1 << 20);
        struct err err;
        if (apply(cases[i].file, cases[i].update, &out, &err) < 0)
            fail_msg("%s: %s", cases[i].what, err.message);
        if (strcmp(buf_text(&out), cases[i].expected) != 0)
            fail_msg("%s: got\n%s", cases[i].what, buf_text(&out));
    }
}

static void check_bad(const struct bad *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        BUF_AT_END struct buf out = BUF_INIT(1 << 20);
        struct err err;
        if (apply(cases[i].file, cases[i].update, &out, &err) == 0)
            fail_msg("%s: got\n%s", cases[i].what, buf_text(&out));
        if (err.code != cases[i].code || !strstr(err.message, cases[i].message))
            fail_msg("%s: got %s: %s", cases[i].what, err_row(err.code)->name, err.message);
        assert_int_equal(out.len, 0);
    }
}

static void values_are_set(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"a plain value, comment kept", "---\na: 1 # one\nb: 2\n---\nbody\n", "{'a':{'set':3}}",
         "---\na: 3 # one\nb: 2\n---\nbody\n"},
        {"a new key goes to the end", "---\na: 1\n# last\n---\nbody", "{'b':{'set':'x'}}",
         "---\na: 1\n# last\nb: x\n---\nbody"},
        {"into nothing", "---\n---\n", "{'b':{'set':true}}", "---\nb: true\n---\n"},
        {"into comments only", "---\n# c\n...\nx", "{'b':{'set':null}}",
         "---\n# c\nb: null\n...\nx"},
        {"CRLF stays", "---\r\na: 'x'\r\nb: y\r\n---\r\nbody\r\n",
         "{'a':{'set':'z'},'c':{'set':1}}", "---\r\na: z\r\nb: y\r\nc: 1\r\n---\r\nbody\r\n"},
        {"a byte order mark stays", "\xef\xbb\xbf---\na: 1\n---\n", "{'a':{'set':2}}",
         "\xef\xbb\xbf---\na: 2\n---\n"},
        {"a closing line without its end", "---\na: 1\n---", "{'a':{'set':2}}", "---\na: 2\n---"},
        {"an empty value", "---\na: # none\nb:\n---\n", "{'a':{'set':1},'b':{'set':2}}",
         "---\na: 1 # none\nb: 2\n---\n"},
        {"quotes around the old value and the key",
         "---\n\"a\": 'it''s' # c\n'b': \"x\\\"\"\n---\n", "{'a':{'set':1},'b':{'set':2}}",
         "---\n\"a\": 1 # c\n'b': 2\n---\n"},
        {"several lines of a plain value", "---\na: one\n  two\n  three # c\nb: 1\n---\n",
         "{'a':{'set':'x'}}", "---\na: x # c\nb: 1\n---\n"},
        {"a literal block", "---\na: |- # c\n  one\n  two\n\nb: 1\n---\n", "{'a':{'set':'x'}}",
         "---\na: x # c\n\nb: 1\n---\n"},
        {"a folded block that keeps its lines", "---\na: >+\n  one\n\n\nb: 1\n---\n",
         "{'a':{'set':'x'}}", "---\na: x\nb: 1\n---\n"},
        {"a literal block with an indentation of its own",
         "---\na: |1\n  one\n two\n # no comment\nb: 1\n---\n", "{'a':{'set':'x'}}",
         "---\na: x\nb: 1\n---\n"},
        {"a block list by a scalar", "---\na:   # c\n- x\n- y # of y\n# of b\nb: 1\n---\n",
         "{'a':{'set':5}}", "---\na: 5   # c\n# of b\nb: 1\n---\n"},
        {"a block list by another", "---\na:\n- x\nb: 1\n---\n", "{'a':{'set':['p','q']}}",
         "---\na:\n- p\n- q\nb: 1\n---\n"},
        {"a block mapping by an empty one", "---\na:\n  x: 1\nb: 1\n---\n", "{'a':{'set':{}}}",
         "---\na: {}\nb: 1\n---\n"},
        {"a scalar by a list", "---\na: 1 # c\nb: 1\n---\n", "{'a':{'set':['p',{'k':[1,'x, y']}]}}",
         "---\na: # c\n  - p\n  - {k: [1, \"x, y\"]}\nb: 1\n---\n"},
        {"a flow list by another", "---\na: [1] # c\n---\n", "{'a':{'set':[2, 3]}}",
         "---\na: [2, 3] # c\n---\n"},
        {"on a line of its own", "---\na:\n  # about it\n  old\nb: 1\n---\n", "{'a':{'set':'new'}}",
         "---\na:\n  # about it\n  new\nb: 1\n---\n"},
        {"an alias and what has a tag", "---\na: &x 1\nb: *x\nc: !!str 5\n---\n",
         "{'b':{'set':2},'c':{'set':3}}", "---\na: &x 1\nb: 2\nc: 3\n---\n"},
        {"an anchor that nobody refers to", "---\na: &x 1\n---\n", "{'a':{'set':2}}",
         "---\na: 2\n---\n"},
        {"an anchor and its alias at once", "---\na: &x 1\nb: *x\n---\n",
         "{'a':{'set':2},'b':{'set':3}}", "---\na: 2\nb: 3\n---\n"},
        {"a top level in brackets", "---\n{a: 1, \"b\":2, c}\n---\n",
         "{'a':{'set':'x, y'},'c':{'set':null},'d':{'set':[]}}",
         "---\n{a: \"x, y\", \"b\":2, c: null, d: []}\n---\n"},
        {"an indented top level", "---\n  a: 1\n  b: 2\n---\n", "{'c':{'set':['x']}}",
         "---\n  a: 1\n  b: 2\n  c:\n    - x\n---\n"},
        {"others keep explicit keys and merges", "---\n? k\n: v\n<<: {x: 1}\na: 1\n---\n",
         "{'a':{'set':2}}", "---\n? k\n: v\n<<: {x: 1}\na: 2\n---\n"},
        {"lines that look like an end in the body", "---\na: 1\n---\n---\nb: 2\n...\n",
         "{'a':{'set':2}}", "---\na: 2\n---\n---\nb: 2\n...\n"},
    };
    check_good(cases, ARRAY_LEN(cases));
}

static void lists_grow(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"block", "---\na:\n  - x # c\n  # d\nb: 1\n---\n", "{'a':{'append':['w',2]}}",
         "---\na:\n  - x # c\n  - w\n  - 2\n  # d\nb: 1\n---\n"},
        {"block, not indented", "---\na:\n- x\nb: 1\n---\n", "{'a':{'append':'w'}}",
         "---\na:\n- x\n- w\nb: 1\n---\n"},
        {"block with an empty last item", "---\na:\n  - x\n  -\n---\n", "{'a':{'append':'w'}}",
         "---\na:\n  - x\n  -\n  - w\n---\n"},
        {"block that ends with a literal", "---\na:\n  - |\n    x\n\nb: 1\n---\n",
         "{'a':{'append':'w'}}", "---\na:\n  - |\n    x\n  - w\n\nb: 1\n---\n"},
        {"block that ends with a mapping", "---\na:\n  - k: 1\n    l:\nb: 1\n---\n",
         "{'a':{'append':{'k':2}}}", "---\na:\n  - k: 1\n    l:\n  - {k: 2}\nb: 1\n---\n"},
        {"flow", "---\na: [x, y] # c\n---\n", "{'a':{'append':['z','p, q']}}",
         "---\na: [x, y, z, \"p, q\"] # c\n---\n"},
        {"flow with a last comma", "---\na: [x, y, ]\n---\n", "{'a':{'append':'z'}}",
         "---\na: [x, y, z, ]\n---\n"},
        {"flow, a line each", "---\na: [\n  x, # of x\n  y # of y\n  ]\n---\n",
         "{'a':{'append':['z', 1]}}", "---\na: [\n  x, # of x\n  y, # of y\n  z,\n  1\n  ]\n---\n"},
        {"flow, a line each and a last comma", "---\na: [\n  x,\n  y, # of y\n  ]\n---\n",
         "{'a':{'append':['z', 1]}}", "---\na: [\n  x,\n  y, # of y\n  z,\n  1,\n  ]\n---\n"},
        {"flow over two lines", "---\na: [x,\n  y, z]\n---\n", "{'a':{'append':1}}",
         "---\na: [x,\n  y, z, 1]\n---\n"},
        {"nothing in many ways",
         "---\na:\nb: []\nc: [ ] # c\nd: ~\ne: null # n\nf: [ # x\n  ]\n---\n",
         "{'a':{'append':1},'b':{'append':[1,2]},'c':{'append':1},'d':{'append':1},"
         "'e':{'append':1},'f':{'append':1},'g':{'append':1}}",
         "---\na:\n  - 1\nb: [1, 2]\nc: [1] # c\nd:\n  - 1\ne: # n\n  - 1\nf: [1 # x\n  ]\ng:\n  - "
         "1\n---\n"},
        {"strings that are there", "---\na: [x, 'y z', 5]\n---\n",
         "{'a':{'append':['x','y z','5',5,'m','m'],'unique':true}}",
         "---\na: [x, 'y z', 5, \"5\", 5, m]\n---\n"},
        {"nothing new", "---\na: [x]\n---\n", "{'a':{'append':['x'],'unique':true}}",
         "---\na: [x]\n---\n"},
        {"what an alias stands for", "---\ns: &s x\na: [*s]\n---\n",
         "{'a':{'append':['x','w'],'unique':true}}", "---\ns: &s x\na: [*s, w]\n---\n"},
        {"pairs in a list", "---\na: [\"p\":1, q: 2]\n---\n", "{'a':{'append':'w'}}",
         "---\na: [\"p\":1, q: 2, w]\n---\n"},
        {"an anchor stays", "---\na: &l [x]\nb: *l\n---\n", "{'a':{'append':'w'}}",
         "---\na: &l [x, w]\nb: *l\n---\n"},
    };
    check_good(cases, ARRAY_LEN(cases));
}

static void mappings_merge(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"block", "---\na:\n    x: 1 # c\n    y: [2]\nb: 1\n---\n",
         "{'a':{'merge':{'x':'p','z':{'k':1}}}}",
         "---\na:\n    x: p # c\n    y: [2]\n    z: {k: 1}\nb: 1\n---\n"},
        {"block, the last value replaced", "---\na:\n  x: |\n    text\nb: 1\n---\n",
         "{'a':{'merge':{'x':1,'w':2}}}", "---\na:\n  x: 1\n  w: 2\nb: 1\n---\n"},
        {"a list in it keeps its lines", "---\na:\n  x:\n  - 1\n  y: 2\n---\n",
         "{'a':{'merge':{'x':[3],'y':[4]}}}", "---\na:\n  x:\n  - 3\n  y: [4]\n---\n"},
        {"flow", "---\na: {x: 1, \"y\": 2}\n---\n", "{'a':{'merge':{'y':3,'z z':'q'}}}",
         "---\na: {x: 1, \"y\": 3, z z: q}\n---\n"},
        {"flow without values", "---\na: {x, y: }\n---\n", "{'a':{'merge':{'x':3,'z':1}}}",
         "---\na: {x: 3, y: , z: 1 }\n---\n"},
        {"nothing", "---\na:\nb: {}\nc: ~\n---\n",
         "{'a':{'merge':{'x':1}},'b':{'merge':{'x':1}},'c':{'merge':{'x':1}},'d':{'merge':{'x':1}}}",
         "---\na:\n  x: 1\nb: {x: 1}\nc:\n  x: 1\nd:\n  x: 1\n---\n"},
    };
    check_good(cases, ARRAY_LEN(cases));
}

static void keys_are_removed(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"with all their lines",
         "---\na: 1\n# of b\nb:\n  - x\n  # in b\n  - y # c\n# of c\nc: 1\n---\n",
         "{'b':{'remove':true}}", "---\na: 1\n# of b\n# of c\nc: 1\n---\n"},
        {"all of them", "---\na: 1\nb: |\n  x\n---\nbody",
         "{'a':{'remove':true},'b':{'remove':true}}", "---\n---\nbody"},
        {"one that is not there", "---\na: 1\n---\n", "{'b':{'remove':true}}", "---\na: 1\n---\n"},
        {"one removed, one added", "---\na: 1\n---\n", "{'a':{'remove':true},'b':{'set':1}}",
         "---\nb: 1\n---\n"},
        {"the first in brackets", "---\n{a: 1, b: 2, c: 3}\n---\n", "{'a':{'remove':true}}",
         "---\n{b: 2, c: 3}\n---\n"},
        {"the last two in brackets", "---\n{a: 1, b: 2, c: 3, }\n---\n",
         "{'c':{'remove':true},'b':{'remove':true}}", "---\n{a: 1, }\n---\n"},
        {"all in brackets, and one added", "---\n{a: 1, b: 2,}\n---\n",
         "{'a':{'remove':true},'b':{'remove':true},'c':{'set':1}}", "---\n{c: 1}\n---\n"},
        {"behind a literal that would keep the lines below",
         "---\na: |+\n  x\n\nb: 1\nc: 1\n\n\nd: 1\n---\n",
         "{'b':{'remove':true},'c':{'remove':true}}", "---\na: |+\n  x\n\nd: 1\n---\n"},
        {"behind a literal that would take the comment below",
         "---\na: |\n x\nb: 1\n\n # c\n # d\nc: 1\n---\n", "{'b':{'remove':true}}",
         "---\na: |\n x\n\n# c\n # d\nc: 1\n---\n"},
        {"with `?`", "---\n? a\n: 1\nb: 2\n---\n", "{'a':{'remove':true}}", "---\nb: 2\n---\n"},
    };
    check_good(cases, ARRAY_LEN(cases));
}

static void strings_are_quoted_when_needed(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"plain text", "plain text"},
        {"a/b.c", "a/b.c"},
        {"http://x.y/z?a=b", "http://x.y/z?a=b"},
        {"it's, [so] {it} is!", "it's, [so] {it} is!"},
        {"h\xc3\xa9 \xe2\x82\xac", "h\xc3\xa9 \xe2\x82\xac"},
        {"4 apples", "4 apples"},
        {"", "\"\""},
        {" x", "\" x\""},
        {"x ", "\"x \""},
        {"yes", "\"yes\""},
        {"Off", "\"Off\""},
        {"null", "\"null\""},
        {"~", "\"~\""},
        {"TRUE", "\"TRUE\""},
        {"n", "\"n\""},
        {"1e3", "\"1e3\""},
        {"0x1F", "\"0x1F\""},
        {"0o17", "\"0o17\""},
        {"1_000", "\"1_000\""},
        {"1:30", "\"1:30\""},
        {"-1", "\"-1\""},
        {".5", "\".5\""},
        {".inf", "\".inf\""},
        {"2024-01-01", "\"2024-01-01\""},
        {"2024-01-01T00:00:00Z", "\"2024-01-01T00:00:00Z\""},
        {"- x", "\"- x\""},
        {"#x", "\"#x\""},
        {"a #b", "\"a #b\""},
        {"a: b", "\"a: b\""},
        {"a:", "\"a:\""},
        {"? x", "\"? x\""},
        {"*x", "\"*x\""},
        {"&x", "\"&x\""},
        {"!x", "\"!x\""},
        {"%x", "\"%x\""},
        {"@x", "\"@x\""},
        {"`x", "\"`x\""},
        {"|", "\"|\""},
        {"---", "\"---\""},
        {"<<", "\"<<\""},
        {"=", "\"=\""},
        {"\\u0001\\u007f\\u0000", "\"\\u0001\\u007f\\u0000\""},
        {"a\\nb\\tc\\r", "\"a\\nb\\tc\\u000d\""},
        {"a\\\\b\\\"c", "a\\b\"c"},
        {"\\\"", "\"\\\"\""},
        {"\\u0085\\u2028\\ufeff", "\"\\u0085\\u2028\\ufeff\""},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        FREE_AT_END char *update = mem_format("{\"a\":{\"set\":\"%s\"}}", cases[i][0]);
        FREE_AT_END char *expected = mem_format("---\na: %s\n---\n", cases[i][1]);
        BUF_AT_END struct buf out = BUF_INIT(1000);
        struct err err;
        JSON_AT_END yyjson_doc *doc = parsed_bytes(text_str(update), JSON_STRICT);
        if (frontmatter_patch(STR("---\n---\n"), yyjson_doc_get_root(doc), &out, &err) < 0)
            fail_msg("%s: %s", cases[i][0], err.message);
        assert_string_equal(buf_text(&out), expected);
    }
}

static void numbers_and_keys(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {"numbers", "---\n---\n",
         "{'a':{'set':[0,-1,18446744073709551615,-9223372036854775808,1.5,-0.0,1e300,1e-7,0.1,1e20]}}",
         "---\na:\n  - 0\n  - -1\n  - 18446744073709551615\n  - -9223372036854775808\n  - 1.5\n  - "
         "-0.0\n  - 1.0e+300\n  - 1.0e-07\n  - 0.1\n  - 1.0e+20\n---\n"},
        {"keys", "---\n---\n",
         "{'yes':{'set':1},'a b':{'set':2},'':{'set':3},'x: y':{'set':4},'12':{'set':5},'- q':{'set':6}}",
         "---\n\"yes\": 1\na b: 2\n\"\": 3\n\"x: y\": 4\n\"12\": 5\n\"- q\": 6\n---\n"},
        {"deep", "---\n---\n", "{'a':{'set':{'b':{'c':[[],{},[{'d':null}]]}}}}",
         "---\na:\n  b: {c: [[], {}, [{d: null}]]}\n---\n"},
    };
    check_good(cases, ARRAY_LEN(cases));
}

static void broken_front_matter_is_refused(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {"none", "a: 1\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER, "no front matter"},
        {"an empty file", "", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER, "no front matter"},
        {"four dashes", "----\na: 1\n---\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER,
         "no front matter"},
        {"no end", "---\na: 1\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER, "no end"},
        {"not YAML", "---\na: 1\nb: [1\n---\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER,
         "bracket"},
        {"tabs", "---\na:\n\tb: 1\n---\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER, "line 3"},
        {"a list", "---\n- a\n---\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER,
         "line 2: the front matter is not a mapping"},
        {"a scalar", "---\nnull\n---\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER,
         "not a mapping"},
        {"a key twice", "---\na: 1\nb: 2\n'a': 3\n---\n", "{'b':{'set':1}}",
         ERR_INVALID_FRONTMATTER, "line 4 of the front matter: the key `a`"},
        {"a key twice, below", "---\na: {x: 1, x: 2}\n---\n", "{'a':{'merge':{'y':1}}}",
         ERR_INVALID_FRONTMATTER, "the key `x`"},
        {"two documents", "---\na: 1\n--- # x\nb: 2\n---\n", "{'a':{'set':1}}",
         ERR_INVALID_FRONTMATTER, "more than one"},
        {"an end that is not the end", "---\na: 1\n... # x\n---\n", "{'a':{'set':1}}",
         ERR_INVALID_FRONTMATTER, "`...`"},
        {"a directive", "---\n%YAML 1.2\na: 1\n---\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER,
         "directive"},
        {"not UTF-8", "---\na: 1\nb: \xff\n---\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER,
         "line 3"},
        {"a control character", "---\na: \x01\n---\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER,
         "0x01"},
        {"a carriage return alone", "---\na: 1\rb: 2\n---\n", "{'a':{'set':1}}",
         ERR_INVALID_FRONTMATTER, "0x0d"},
        {"an unknown alias", "---\na: *x\n---\n", "{'a':{'set':1}}", ERR_INVALID_FRONTMATTER,
         "line 2 of the front matter: an alias"},
        {"not a list", "---\na: x\n---\n", "{'a':{'append':1}}", ERR_INVALID_FRONTMATTER,
         "`a` is not a list"},
        {"a list that is an alias", "---\na: &x []\nb: *x\n---\n", "{'b':{'append':1}}",
         ERR_INVALID_FRONTMATTER, "line 3 of the front matter: `b` is an alias"},
        {"not a mapping", "---\na: []\n---\n", "{'a':{'merge':{'b':1}}}", ERR_INVALID_FRONTMATTER,
         "`a` is not a mapping"},
        {"a quoted null is a string", "---\na: 'null'\n---\n", "{'a':{'append':1}}",
         ERR_INVALID_FRONTMATTER, "not a list"},
        {"an alias would lose its anchor", "---\na: &x 1\nb: [*x]\n---\n", "{'a':{'set':2}}",
         ERR_INVALID_FRONTMATTER, "line 3 of the front matter refers to `&x` on line 2"},
        {"an alias would find another anchor", "---\na: &x 1\nb: &x 2\nc: *x\n---\n",
         "{'b':{'remove':true}}", ERR_INVALID_FRONTMATTER, "`&x` on line 3"},
        {"an anchor below", "---\na: {k: &x 1}\nb: *x\n---\n", "{'a':{'merge':{'k':2}}}",
         ERR_INVALID_FRONTMATTER, "`&x`"},
        {"a value at its key's indentation", "---\na:\n-b\n---\n", "{'a':{'set':2}}",
         ERR_INVALID_FRONTMATTER, "line 3 of the front matter: a value that is not indented"},
        {"an explicit key", "---\n? a\n: 1\n---\n", "{'a':{'set':2}}", ERR_INVALID_FRONTMATTER,
         "`?`"},
    };
    check_bad(cases, ARRAY_LEN(cases));
}

static void malformed_updates_are_refused(void **state)
{
    (void)state;
    static const char file[] = "---\na: 1\n---\n";
    static const struct bad cases[] = {
        {"not an object", file, "[]", ERR_INVALID_ARGUMENTS, "`update` must"},
        {"empty", file, "{}", ERR_INVALID_ARGUMENTS, "`update` must"},
        {"no action", file, "{'a':1}", ERR_INVALID_ARGUMENTS, "`update.a` must"},
        {"an empty action", file, "{'a':{}}", ERR_INVALID_ARGUMENTS, "needs one of"},
        {"two actions", file, "{'a':{'set':1,'append':2}}", ERR_INVALID_ARGUMENTS, "more than one"},
        {"an unknown one", file, "{'a':{'put':1}}", ERR_INVALID_ARGUMENTS, "none of"},
        {"merging a list", file, "{'a':{'merge':[1]}}", ERR_INVALID_ARGUMENTS, "an object"},
        {"removing falsely", file, "{'a':{'remove':false}}", ERR_INVALID_ARGUMENTS, "only true"},
        {"unique and set", file, "{'a':{'set':1,'unique':true}}", ERR_INVALID_ARGUMENTS,
         "without append"},
        {"unique as a number", file, "{'a':{'append':1,'unique':1}}", ERR_INVALID_ARGUMENTS,
         "true or false"},
    };
    check_bad(cases, ARRAY_LEN(cases));
    struct err err;
    BUF_AT_END struct buf out = BUF_INIT(100);
    apply(file, "{'b':{'set':1},'a':{'merge':3}}", &out, &err);
    assert_string_equal(err.field, "update.a");
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    BUF_AT_END struct buf file = BUF_INIT(4 << 20);
    BUF_AT_END struct buf out = BUF_INIT(8 << 20);
    struct err err;
    JSON_AT_END yyjson_doc *doc = parsed("{'a':{'set':1}}");
    yyjson_val *update = yyjson_doc_get_root(doc);

    buf_add_text(&file, "---\na: ");
    for (int i = 0; i < 200; i++)
        buf_add_char(&file, '[');
    for (int i = 0; i < 200; i++)
        buf_add_char(&file, ']');
    buf_add_text(&file, "\n---\n");
    assert_int_equal(frontmatter_patch(buf_str(&file), update, &out, &err), -1);
    assert_int_equal(err.code, ERR_INVALID_FRONTMATTER);
    assert_non_null(strstr(err.message, "nested too deeply"));

    buf_reset(&file, 0);
    buf_add_text(&file, "---\na: |\n");
    for (int i = 0; i < 1000000; i++)
        buf_add_char(&file, '\n');
    buf_add_text(&file, "---\n");
    assert_int_equal(frontmatter_patch(buf_str(&file), update, &out, &err), -1);
    assert_int_equal(err.code, ERR_INVALID_FRONTMATTER);
    assert_non_null(strstr(err.message, "empty lines"));

    /* A body of any size, and a front matter one byte too long. */
    buf_reset(&file, 0);
    buf_add_text(&file, "---\na: \"");
    while (file.len < FRONTMATTER_MAX - 2)
        buf_add_char(&file, 'x');
    buf_add_text(&file, "\"\n---\nbody");
    for (int i = 0; i < 1000000; i++)
        buf_add_char(&file, 'y');
    if (frontmatter_patch(buf_str(&file), update, &out, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(out.len, strlen("---\na: 1\n---\nbody") + 1000000);
    buf_reset(&out, 0);
    buf_reset(&file, 0);
    buf_add_text(&file, "---\na: \"");
    while (file.len < FRONTMATTER_MAX - 1)
        buf_add_char(&file, 'x');
    buf_add_text(&file, "\"\n---\nbody");
    assert_int_equal(frontmatter_patch(buf_str(&file), update, &out, &err), -1);
    assert_int_equal(err.code, ERR_INVALID_FRONTMATTER);
    assert_non_null(strstr(err.message, "longer than"));
}

static void growing_too_large_is_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"---\n---\n", "---\na: []\n---\n", "---\na:\n- x\n---\n",
                                        "---\n{b: 1}\n---\n"};
    struct err err;
    BUF_AT_END struct buf update = BUF_INIT(4 << 20);
    BUF_AT_END struct buf out = BUF_INIT(100);
    buf_add_text(&update, "{\"a\":{\"append\":[\"");
    for (size_t i = 0; i < FRONTMATTER_MAX; i++)
        buf_add_char(&update, 'x');
    buf_add_text(&update, "\", 1]}}");
    JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&update), JSON_STRICT);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct str file = text_str(files[i]);
        assert_int_equal(frontmatter_patch(file, yyjson_doc_get_root(doc), &out, &err), -1);
        assert_int_equal(err.code, ERR_TOO_LARGE);
    }
    const struct str nothing = {NULL, 0};
    assert_int_equal(frontmatter_patch(nothing, yyjson_doc_get_root(doc), &out, &err), -1);
    assert_int_equal(err.code, ERR_INVALID_FRONTMATTER);

    /* The caller's own ceiling. */
    BUF_AT_END struct buf small = BUF_INIT(10);
    assert_int_equal(apply("---\na: 1\n---\nbody\n", "{'a':{'set':2}}", &small, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
}

/* Each name stands for two of the one before it: written out, 2^60 values. */
static void aliases_are_not_expanded(void **state)
{
    (void)state;
    struct err err;
    BUF_AT_END struct buf file = BUF_INIT(1 << 20);
    BUF_AT_END struct buf out = BUF_INIT(1 << 20);
    buf_add_text(&file, "---\na0: &a0 [x, x]\n");
    for (int i = 1; i < 60; i++)
        buf_addf(&file, "a%d: &a%d [*a%d, *a%d]\n", i, i, i - 1, i - 1);
    size_t end = file.len;
    buf_add_text(&file, "---\n");
    JSON_AT_END yyjson_doc *doc = parsed("{'b':{'set':1}}");
    if (frontmatter_patch(buf_str(&file), yyjson_doc_get_root(doc), &out, &err) < 0)
        fail_msg("%s", err.message);
    assert_memory_equal(out.data, file.data, end);
    assert_string_equal(buf_text(&out) + end, "b: 1\n---\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_set),
        cmocka_unit_test(lists_grow),
        cmocka_unit_test(mappings_merge),
        cmocka_unit_test(keys_are_removed),
        cmocka_unit_test(strings_are_quoted_when_needed),
        cmocka_unit_test(numbers_and_keys),
        cmocka_unit_test(broken_front_matter_is_refused),
        cmocka_unit_test(malformed_updates_are_refused),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(growing_too_large_is_refused),
        cmocka_unit_test(aliases_are_not_expanded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
