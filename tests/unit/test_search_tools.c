/* How what a worker found becomes the answer of each dialect, and what is asked of the worker. */
#include <cmocka.h>

#include "core/call.h"
#include "core/found.h"
#include "core/registry.h"
#include "dialect/dialects.h"
#include "json_text.h"
#include "tools/all.h"

#define ANSWER_MAX (8u << 20)

static const struct root mounts[] = {{"@project", "/project", "/srv/project", true},
                                     {"@pkg", "/pkg", "/srv/pkg", false}};
static const struct root workspace[] = {{"workspace", "/workspace", "/srv/work", true}};

static const struct dialect *dialect_of(const struct tool *tool)
{
    switch (tool->dialect) {
    case DIALECT_SIDECAR:
        return &dialect_sidecar;
    case DIALECT_TOOLHOST:
        return &dialect_toolhost;
    case DIALECT_RUNNER:
        return &dialect_runner;
    default:
        return &dialect_native;
    }
}

static struct workplace in_mounts = {mounts, ARRAY_LEN(mounts), NULL, {.id = TIER_FULL}, ""};
static struct workplace in_workspace = {
    workspace, ARRAY_LEN(workspace), NULL, {.id = TIER_FULL}, ""};

/* A call of the tool with these arguments; 0, or -1 where they are refused. */
static int prepare(const struct tool *tool, const char *arguments, struct call **ret,
                   struct err *err)
{
    struct call *call = call_new();
    *ret = call;
    call->tool = tool;
    call->dialect = dialect_of(tool);
    call->workplace = tool->dialect == DIALECT_TOOLHOST ? &in_mounts : &in_workspace;
    call->doc = parsed(arguments);
    buf_init(&call->reply_body, ANSWER_MAX);
    yyjson_val *root = yyjson_doc_get_root(call->doc);
    assert_int_equal(arg_decode(&tool->args, true, root, &call->args, err), 0);
    return tool->prepare(call, err);
}

static struct call *prepared(const struct tool *tool, const char *arguments)
{
    struct call *call;
    struct err err;
    if (prepare(tool, arguments, &call, &err) < 0)
        fail_msg("%s: %s", arguments, err.message);
    assert_ptr_equal(call->op, &op_table[OP_SEARCH]);
    return call;
}

/* --- what was found */

static void add_file(struct call *call, const char *path, int64_t count)
{
    struct found found = {.kind = FOUND_FILE, .number = count, .text = text_str(path)};
    found_add(&call->reply_body, &found, NULL);
    call->reply.search.matches += call->request.search.mode != SEARCH_LINES;
}

/* Lines in the form "m3 text" (matches) and "c4 text" (context), one for each. */
static void add_lines(struct call *call, const char *const *lines)
{
    static const struct found_span whole = {0, 1};
    for (; *lines; lines++) {
        char *text;
        bool match = (*lines)[0] == 'm';
        struct found found = {.kind = match ? FOUND_MATCH : FOUND_CONTEXT, .n_spans = match};
        found.number = strtol(*lines + 1, &text, 10);
        found.text = text_str(text + 1);
        found_add(&call->reply_body, &found, &whole);
        call->reply.search.matches += match;
    }
}

static char *answer(struct call *call, bool redact)
{
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    struct json_out j = {.out = &out, .redact = redact};
    call_write_answer(call, &j);
    assert_false(call->failed);
    return mem_dup(buf_text(&out));
}

static void expect_text(struct call *call, const char *text)
{
    FREE_AT_END char *wanted = quoted(text);
    FREE_AT_END char *got = answer(call, false);
    assert_string_equal(got, wanted);
}

#define LINES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define SKIPPED "'skipped':{'binary':0,'ignored':0,'unreadable':0,'long_lines':0}"
#define NATIVE_END                                                                                 \
    "],'truncated':false,'stats':{'files':0,'bytes':0,'duration_ms':0," SKIPPED                    \
    "},'tier':'full','duration_ms':0}}"
#define AT(path, line) "{'path':'" path "','line':" #line ",'column':1,'text':"
#define SPAN ",'spans':[[0,1]]"

static void sidecar_has_files_lines_and_texts(void **state)
{
    (void)state;
    struct call *call = prepared(&sidecar_search_files, "{'pattern':'x'}");
    add_file(call, "a", 2);
    add_lines(call, LINES("m1 x", "m7 xx"));
    add_file(call, "b/c", 1);
    add_lines(call, LINES("m2 x\xff"));
    call->reply.search.truncated = true;
    expect_text(call, "{'success':true,'tool':'search_files','output':{'matches':["
                      "{'file':'a','line':1,'text':'x'},{'file':'a','line':7,'text':'xx'},"
                      "{'file':'b/c','line':2,'text':'x\xef\xbf\xbd'}],'total':3,'truncated':true},"
                      "'error':null}");
    call_free(call);
}

static void runner_has_lines_as_grep_prints_them(void **state)
{
    (void)state;
    struct call *call = prepared(&runner_grep, "{'pattern':'x','path':'./src/'}");
    expect_text(call, "'No matches found'");
    add_file(call, "a", 2);
    add_lines(call, LINES("m1 x", "m7 y:x"));
    add_file(call, "b", 1);
    add_lines(call, LINES("m2 x"));
    expect_text(call, "'src/a:1:x\\nsrc/a:7:y:x\\nsrc/b:2:x'");
    call_free(call);
}

/* Cut in each of the ways there are. */
static void expect_cut(const struct tool *tool, const char *by_count, const char *by_folders,
                       const char *by_size)
{
    const struct {
        int64_t max;
        bool unseen;
        const char *told;
    } rows[] = {
        {1, false, by_count}, {1, true, by_count}, {2, true, by_folders}, {2, false, by_size}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct call *call = prepared(tool, "{'pattern':'x'}");
        call->request.search.max_matches = rows[i].max;
        add_file(call, "a", 1);
        add_lines(call, LINES("m1 x"));
        call->reply.search.truncated = true;
        call->reply.search.unseen = rows[i].unseen;
        FREE_AT_END char *told = answer(call, false);
        if (!strstr(told, rows[i].told))
            fail_msg("`%s` is not in: %s", rows[i].told, told);
        assert_true((strstr(told, "raise max_results") != NULL) == (rows[i].told == by_count));
        call_free(call);
    }
}

static void tells_why_it_was_cut(void **state)
{
    (void)state;
    expect_cut(&runner_grep, "a:1:x\\n[truncated: only the first 1 are shown; raise max_results",
               "a:1:x\\n[truncated: some folders lie too deep",
               "a:1:x\\n[truncated: only the first 1 are shown; more does not fit one answer");
    expect_cut(&native_search, "there is more: narrow the search", "some folders lie too deep",
               "there is more than fits one answer");
}

/* The path is the file itself: nothing is put behind it. */
static void a_file_is_searched_by_its_own_path(void **state)
{
    (void)state;
    struct call *call = prepared(&runner_grep, "{'pattern':'x','path':'src/a'}");
    add_file(call, "", 1);
    add_lines(call, LINES("m1 x"));
    expect_text(call, "'src/a:1:x'");
    call_free(call);
    call = prepared(&toolhost_fs_search, "{'pattern':'x','path':'@pkg/a','before':0,'after':0}");
    add_file(call, "", 1);
    add_lines(call, LINES("m1 x"));
    FREE_AT_END char *text = answer(call, false);
    FREE_AT_END char *wanted = quoted(
        "[{'path':'@pkg/a','line':1,'text':'x','before':[],'after':[]}]");
    assert_non_null(strstr(text, wanted));
    call_free(call);
}

static void toolhost_paths_begin_with_the_mount(void **state)
{
    (void)state;
    static const char *const paths[][2] = {{"@project", "'@project/b/c'"},
                                           {"@project/", "'@project/b/c'"},
                                           {"@pkg/a", "'@pkg/a/b/c'"}};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        FREE_AT_END char *arguments = mem_format("{'pattern':'x','path':'%s'}", paths[i][0]);
        struct call *call = prepared(&toolhost_fs_search, arguments);
        add_file(call, "b/c", 1);
        add_lines(call, LINES("m1 x"));
        FREE_AT_END char *text = answer(call, false);
        FREE_AT_END char *wanted = quoted(paths[i][1]);
        assert_non_null(strstr(text, wanted));
        call_free(call);
    }
}

/* --- context */

/* Each match has all of its own, neighbours that match too; a line may stand in several. */
static void toolhost_context_is_each_matchs_own(void **state)
{
    (void)state;
    struct call *call = prepared(&toolhost_fs_search,
                                 "{'pattern':'x','path':'@project','before':2,'after':1}");
    add_file(call, "a", 3);
    add_lines(call, LINES("c3 three", "c4 four", "m5 x5", "m6 x6", "c7 seven", "c8 eight", "m9 x9",
                          "c10 ten"));
    add_file(call, "b", 1);
    add_lines(call, LINES("m1 x1"));
    call->reply.search.files = 5;
    call->reply.search.binary = 1;
    call->reply.search.ignored = 20;
    call->reply.search.unreadable = 300;
    call->reply.search.long_lines = 4000;
    expect_text(
        call,
        "{'ok':true,'path':'@project','matches':["
        "{'path':'@project/a','line':5,'text':'x5','before':['three','four'],'after':['x6']},"
        "{'path':'@project/a','line':6,'text':'x6','before':['four','x5'],'after':['seven']},"
        "{'path':'@project/a','line':9,'text':'x9','before':['seven','eight'],'after':['ten']},"
        "{'path':'@project/b','line':1,'text':'x1','before':[],'after':[]}],"
        "'truncated':false,'stats':{'filesSearched':5,'filesSkipped':4321,'durationMs':0}}");
    call_free(call);
}

/* A line stands once; what lies between two matches is the first one's as far as its after reaches. */
static void native_context_stands_once(void **state)
{
    (void)state;
    struct call *call = prepared(&native_search, "{'pattern':'x','before':2,'after':1}");
    add_file(call, "a", 3);
    add_lines(call, LINES("c3 three", "c4 four", "m5 x5", "m6 x6", "c7 seven", "c8 eight", "m9 x9",
                          "c10 ten"));
    add_file(call, "b", 1);
    add_lines(call, LINES("c1 one", "m2 x2"));
    expect_text(
        call,
        "{'ok':true,'result':{'matches':[" AT(
            "a", 5) "'x5'" SPAN
                    ",'before':['three','four'],'after':[]}," AT(
                        "a", 6) "'x6'" SPAN
                                ",'before':[],'after':['seven']}," AT(
                                    "a", 9) "'x9'" SPAN
                                            ",'before':['eight'],'after':['ten']}," AT(
                                                "b", 2) "'x2'" SPAN
                                                        ",'before':['one'],'after':[]}" NATIVE_END);
    call_free(call);
}

static void native_context_on_one_side_only(void **state)
{
    (void)state;
    struct call *call = prepared(&native_search, "{'pattern':'x','after':3}");
    add_file(call, "a", 2);
    add_lines(call, LINES("m1 x1", "c2 two", "m3 x3", "c4 four"));
    expect_text(call,
                "{'ok':true,'result':{'matches':[" AT(
                    "a", 1) "'x1'" SPAN
                            ",'before':[],'after':['two']}," AT(
                                "a", 3) "'x3'" SPAN ",'before':[],'after':['four']}" NATIVE_END);
    call_free(call);
    call = prepared(&native_search, "{'pattern':'x','before':3}");
    add_file(call, "a", 2);
    add_lines(call, LINES("m1 x1", "c2 two", "m3 x3", "c6 six", "m7 x7"));
    expect_text(
        call,
        "{'ok':true,'result':{'matches':[" AT("a", 1) "'x1'" SPAN ",'before':[],'after':[]}," AT(
            "a", 3) "'x3'" SPAN
                    ",'before':['two'],'after':[]}," AT(
                        "a", 7) "'x7'" SPAN ",'before':['six'],'after':[]}" NATIVE_END);
    call_free(call);
}

/* Numbers as large as they come must not be added to. */
static void the_last_line_there_can_be(void **state)
{
    (void)state;
    struct call *call = prepared(&native_search, "{'pattern':'x','before':1,'after':1}");
    add_file(call, "a", 2);
    add_lines(call, LINES("m1 x", "c9223372036854775806 y", "m9223372036854775807 x"));
    expect_text(
        call,
        "{'ok':true,'result':{'matches':[" AT("a", 1) "'x'" SPAN ",'before':[],'after':[]}," AT(
            "a", 9223372036854775807) "'x'" SPAN ",'before':['y'],'after':[]}" NATIVE_END);
    call_free(call);
    call = prepared(&toolhost_fs_search, "{'pattern':'x','path':'@project'}");
    call->reply.search.binary = call->reply.search.ignored = INT64_MAX;
    FREE_AT_END char *text = answer(call, false);
    assert_non_null(strstr(text, ":9223372036854775807,"));
    call_free(call);
}

/* --- the rest of native */

static void native_tells_spans_and_what_is_cut(void **state)
{
    (void)state;
    struct call *call = prepared(&native_search, "{'pattern':'x','path':'d'}");
    struct found_span spans[] = {{70, 71}, {74, 75}};
    struct found found = {.kind = FOUND_MATCH,
                          .number = 8,
                          .text = STR_INIT("x---x"),
                          .cut_before = 70,
                          .cut_after = 1234,
                          .n_spans = ARRAY_LEN(spans)};
    add_file(call, "a\xff", 1);
    found_add(&call->reply_body, &found, spans);
    call->reply.search.matches = 1;
    expect_text(call, "{'ok':true,'result':{'matches':[{'path':'d/a\xef\xbf\xbd',"
                      "'path_b64':'ZC9h/w==','line':8,'column':71,"
                      "'text':'[... 70 bytes cut] x---x [1234 bytes cut ...]',"
                      "'spans':[[70,71],[74,75]],'cut':true}" NATIVE_END);
    call_free(call);
}

static void native_tells_files_or_counts(void **state)
{
    (void)state;
    struct call *call = prepared(&native_search, "{'pattern':'x','mode':'files','before':3}");
    assert_int_equal(call->request.search.before, 0);
    add_file(call, "a", 1);
    add_file(call, "b/c", 7);
    expect_text(call, "{'ok':true,'result':{'matches':[{'path':'a'},{'path':'b/c'}" NATIVE_END);
    call_free(call);
    call = prepared(&native_search, "{'pattern':'x','mode':'count'}");
    add_file(call, "a", 1);
    add_file(call, "b/c", 7);
    expect_text(call, "{'ok':true,'result':{'matches':[{'path':'a','count':1},"
                      "{'path':'b/c','count':7}" NATIVE_END);
    call_free(call);
}

/* --- logs */

static void what_was_found_is_not_logged(void **state)
{
    (void)state;
    static const struct {
        const struct tool *tool;
        const char *arguments;
    } calls[] = {
        {&native_search, "{'pattern':'x','before':1}"},
        {&sidecar_search_files, "{'pattern':'x'}"},
        {&runner_grep, "{'pattern':'x'}"},
        {&toolhost_fs_search, "{'pattern':'x','path':'@project'}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        struct call *call = prepared(calls[i].tool, calls[i].arguments);
        add_file(call, "a", 1);
        add_lines(call, LINES("c1 secret-before", "m2 secret-text", "c3 secret-after"));
        FREE_AT_END char *shown = answer(call, false);
        FREE_AT_END char *logged = answer(call, true);
        assert_non_null(strstr(shown, "secret-text"));
        assert_null(strstr(logged, "secret"));
        call_free(call);
    }
}

/* --- what is asked for */

static void each_dialect_has_its_rules(void **state)
{
    (void)state;
    static const struct {
        const struct tool *tool;
        const char *arguments;
        bool hidden, ignore, modules, ignore_case, literal;
        int64_t context, max_matches;
    } cases[] = {
        {&native_search, "{'pattern':'x'}", 0, 1, 0, 0, 0, 0, 100},
        {&native_search, "{'pattern':'x','ignore':false,'hidden':true,'literal':true}", 1, 0, 0, 0,
         1, 0, 100},
        {&sidecar_search_files, "{'pattern':'x'}", 0, 1, 0, 0, 0, 0, 50},
        {&sidecar_search_files, "{'pattern':'x','case_sensitive':false}", 0, 1, 0, 1, 0, 0, 50},
        {&runner_grep, "{'pattern':'x'}", 1, 0, 1, 0, 0, 0, 100},
        {&runner_grep, "{'pattern':'x','ignore_case':true}", 1, 0, 1, 1, 0, 0, 100},
        {&toolhost_fs_search, "{'pattern':'x','path':'@pkg'}", 0, 0, 0, 0, 1, 1, 50},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct call *call = prepared(cases[i].tool, cases[i].arguments);
        const struct op_search_request *r = &call->request.search;
        assert_true(r->hidden == cases[i].hidden && r->ignore == cases[i].ignore);
        assert_true(r->modules == cases[i].modules && r->ignore_case == cases[i].ignore_case);
        assert_true(r->literal == cases[i].literal && r->mode == SEARCH_LINES);
        assert_true(r->before == cases[i].context && r->after == cases[i].context);
        assert_true(r->max_matches == cases[i].max_matches);
        call_free(call);
    }
}

static void toolhost_expressions_stand_between_slashes(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *inner; /* NULL: plain text */
        bool ignore_case;
    } cases[] = {
        {"a.b", NULL, false},      {"/", NULL, false},        {"//", NULL, false},
        {"///", "/", false},       {"/a/", "a", false},       {"/a/i", "a", true},
        {"/a/gimsu", "a", true},   {"/a/gu", "a", false},     {"/a/b/i", "a/b", true},
        {"/usr/bin", NULL, false}, {"/etc/passwd", NULL, 0},  {"// TODO", NULL, false},
        {"//i", NULL, false},      {"/a", NULL, false},       {"a/b/i", NULL, false},
        {"/a/I", NULL, false},     {"/a/ii", NULL, false},    {"/a/ ", NULL, false},
        {" /a/", NULL, false},     {"/a\\\\/b/", "a\\/b", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        FREE_AT_END char *arguments = mem_format("{'path':'@project','pattern':'%s'}",
                                                 cases[i].pattern);
        struct call *call = prepared(&toolhost_fs_search, arguments);
        const struct op_search_request *r = &call->request.search;
        const char *wanted = cases[i].inner ? cases[i].inner : cases[i].pattern;
        if (!str_is(r->pattern, wanted) || r->literal != !cases[i].inner ||
            r->ignore_case != cases[i].ignore_case)
            fail_msg("%s: %.*s", cases[i].pattern, (int)r->pattern.n, r->pattern.p);
        call_free(call);
    }
}

static void what_cannot_be_searched_for_is_refused(void **state)
{
    (void)state;
    static const struct {
        const struct tool *tool;
        const char *arguments;
        const char *field;
        const char *says;
    } cases[] = {
        {&native_search, "{'pattern':''}", "pattern", "empty"},
        {&sidecar_search_files, "{'pattern':''}", "pattern", "empty"},
        {&runner_grep, "{'pattern':''}", "pattern", "empty"},
        {&toolhost_fs_search, "{'path':'@pkg','pattern':''}", "pattern", "empty"},
        {&toolhost_fs_search, "{'path':'@pkg','pattern':'/a/x'}", "pattern", "`x`"},
        {&toolhost_fs_search, "{'path':'@pkg','pattern':'/a/iy'}", "pattern", "`y`"},
        {&native_search, "{'pattern':'x','include':'['}", "include", ""},
        {&native_search, "{'pattern':'x','exclude':'{a'}", "exclude", ""},
        {&sidecar_search_files, "{'pattern':'x','file_pattern':'['}", "file_pattern", ""},
        {&runner_grep, "{'pattern':'x','include':'['}", "include", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct call *call;
        struct err err = {0};
        assert_int_equal(prepare(cases[i].tool, cases[i].arguments, &call, &err), -1);
        assert_string_equal(err.field, cases[i].field);
        assert_non_null(strstr(err.message, cases[i].says));
        call_free(call);
    }
}

/* However much is asked for, a few such calls fit beside each other. */
static void expected_sizes_have_a_bound(void **state)
{
    (void)state;
    struct call *small = prepared(&native_search, "{'pattern':'x','max_results':10}");
    struct call *large = prepared(&native_search,
                                  "{'pattern':'x','max_results':10000,'before':100,'after':100}");
    assert_true(call_expected_bytes(small) < 10000);
    assert_true(call_expected_bytes(large) > 1000000 && call_expected_bytes(large) < 4000000);
    call_free(small);
    call_free(large);
}

int main(void)
{
    struct config *config = config_new();
    in_mounts.config = in_workspace.config = config;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sidecar_has_files_lines_and_texts),
        cmocka_unit_test(runner_has_lines_as_grep_prints_them),
        cmocka_unit_test(tells_why_it_was_cut),
        cmocka_unit_test(a_file_is_searched_by_its_own_path),
        cmocka_unit_test(toolhost_paths_begin_with_the_mount),
        cmocka_unit_test(toolhost_context_is_each_matchs_own),
        cmocka_unit_test(native_context_stands_once),
        cmocka_unit_test(native_context_on_one_side_only),
        cmocka_unit_test(the_last_line_there_can_be),
        cmocka_unit_test(native_tells_spans_and_what_is_cut),
        cmocka_unit_test(native_tells_files_or_counts),
        cmocka_unit_test(what_was_found_is_not_logged),
        cmocka_unit_test(each_dialect_has_its_rules),
        cmocka_unit_test(toolhost_expressions_stand_between_slashes),
        cmocka_unit_test(what_cannot_be_searched_for_is_refused),
        cmocka_unit_test(expected_sizes_have_a_bound),
    };
    int failed = cmocka_run_group_tests_name("search_tools", tests, NULL, NULL);
    config_free(config);
    return failed;
}
