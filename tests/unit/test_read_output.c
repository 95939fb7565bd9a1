/* The tool that pages through long output. */
#include <cmocka.h>

#include "core/call.h"
#include "core/output.h"
#include "dialect/dialects.h"
#include "folder.h"
#include "json_text.h"
#include "random.h"
#include "slow_utf8.h"
#include "tools/all.h"

#define ANSWER_MAX ((size_t)16 << 20)

static struct spills spills;
static struct workplace place = {.tier = {.id = TIER_FULL}, .session_id = ""};

static int begin(void **state)
{
    if (folder_set_up(state) < 0)
        return -1;
    spills_init(&spills, folder_fd, 1 << 20, 10 << 20);
    place.spills = &spills;
    return 0;
}

static int end(void **state)
{
    spills_done(&spills);
    return folder_tear_down(state);
}

static char id[SPILL_ID_MAX];

static void keep(struct str out, struct str err)
{
    struct spill *spill = spill_open(&spills);
    spill_add(spill, STREAM_STDOUT, out);
    spill_add(spill, STREAM_STDERR, err);
    spill_finish(spill, id);
}

/* `more` are the arguments behind the id. */
static struct call *called(const char *more)
{
    const struct tool *tool = &native_read_output;
    struct err err = {0};
    struct call *call = call_new();
    FREE_AT_END char *arguments = mem_format("{'output_id':'%s'%s}", id, more);
    call->tool = tool;
    call->dialect = &dialect_native;
    call->workplace = &place;
    call->doc = parsed(arguments);
    yyjson_val *root = yyjson_doc_get_root(call->doc);
    if (arg_decode(&tool->args, true, root, &call->args, &err) < 0 ||
        tool->prepare(call, &err) < 0 || tool->prepare(call, &err) < 0) {
        call->failed = true;
        call->err = err;
    }
    return call;
}

static char *answer(const char *more, bool redact)
{
    BUF_AT_END struct buf out = BUF_INIT(ANSWER_MAX);
    struct json_out j = {.out = &out, .redact = redact};
    struct call *call = called(more);
    call_write_answer(call, &j);
    call_free(call);
    return mem_dup(buf_text(&out));
}

static void expect(const char *more, const char *result)
{
    FREE_AT_END char *got = answer(more, false);
    FREE_AT_END char *text = mem_format("{'ok':true,'result':{%s,'tier':'full','duration_ms':0}}",
                                        result);
    FREE_AT_END char *wanted = quoted(text);
    assert_string_equal(got, wanted);
}

static void refused(const char *more, enum err_code code, const char *says)
{
    struct call *call = called(more);
    assert_true(call->failed);
    assert_int_equal(call->err.code, code);
    if (!strstr(call->err.message, says))
        fail_msg("%s", call->err.message);
    call_free(call);
}

static void pages_of_a_stream(void **state)
{
    (void)state;
    keep(STR("0123456789"), STR("a\0b\xff"));
    expect("", "'content':'0123456789','offset':0,'next_offset':10,'total_bytes':10,"
               "'complete':true,'truncated':false");
    expect(",'offset':2,'max_bytes':5",
           "'content':'23456','offset':2,'next_offset':7,'total_bytes':10,"
           "'complete':true,'truncated':true");
    expect(",'offset':7,'max_bytes':5",
           "'content':'789','offset':7,'next_offset':10,'total_bytes':10,"
           "'complete':true,'truncated':false");
    expect(",'offset':99", "'content':'','offset':99,'next_offset':99,'total_bytes':10,"
                           "'complete':true,'truncated':false");
    expect(",'offset':9223372036854775807",
           "'content':'','offset':9223372036854775807,'next_offset':9223372036854775807,"
           "'total_bytes':10,'complete':true,'truncated':false");
    expect(",'stream':'stderr'",
           "'content':'a\\u0000b\xef\xbf\xbd','offset':0,'next_offset':4,'total_bytes':4,"
           "'complete':true,'truncated':false");
}

static void what_is_kept_may_be_less(void **state)
{
    (void)state;
    spills.max_stream = 6;
    keep(STR("0123456789"), STR(""));
    expect("", "'content':'012345','offset':0,'next_offset':6,'total_bytes':10,"
               "'complete':false,'truncated':false");
}

static void characters_stay_whole(void **state)
{
    (void)state;
    keep(STR("€€€"), STR(""));
    expect(",'max_bytes':5", "'content':'€','offset':0,'next_offset':3,'total_bytes':9,"
                             "'complete':true,'truncated':true");
    expect(",'offset':3,'max_bytes':6", "'content':'€€','offset':3,'next_offset':9,"
                                        "'total_bytes':9,'complete':true,'truncated':false");
}

/* The rest of a character may still come. */
static void a_command_that_runs(void **state)
{
    (void)state;
    struct spill *spill = spill_open(&spills);
    snprintf(id, sizeof id, "%s", spill_id(spill));
    spill_add(spill, STREAM_STDOUT, STR("ab\xe2\x82"));
    expect("", "'content':'ab','offset':0,'next_offset':2,'total_bytes':4,"
               "'complete':false,'truncated':false");
    spill_add(spill, STREAM_STDOUT, STR("\xac"));
    expect(",'offset':2", "'content':'€','offset':2,'next_offset':5,'total_bytes':5,"
                          "'complete':false,'truncated':false");
    spill_add(spill, STREAM_STDOUT, STR("\xe2"));
    spill_finish(spill, id);
    expect(",'offset':5", "'content':'\xef\xbf\xbd','offset':5,'next_offset':6,"
                          "'total_bytes':6,'complete':true,'truncated':false");
}

static void what_cannot_be_read_is_refused(void **state)
{
    (void)state;
    keep(STR("x"), STR(""));
    refused(",'stream':'stdin'", ERR_INVALID_ARGUMENTS, "stdout");
    refused(",'offset':-1", ERR_INVALID_ARGUMENTS, "offset");
    refused(",'max_bytes':3", ERR_INVALID_ARGUMENTS, "max_bytes");
    refused(",'max_bytes':1048577", ERR_INVALID_ARGUMENTS, "max_bytes");
    place.spills = NULL;
    refused("", ERR_NOT_FOUND, "redirected into a file");
    place.spills = &spills;
    snprintf(id, sizeof id, "out_000000000000");
    refused("", ERR_NOT_FOUND, "out_000000000000");
}

static void contents_are_not_logged(void **state)
{
    (void)state;
    keep(STR("secret"), STR(""));
    FREE_AT_END char *logged = answer("", true);
    assert_null(strstr(logged, "secret"));
    assert_non_null(strstr(logged, "\"total_bytes\":6"));
    struct call *call = called("");
    assert_true(call_expected_bytes(call) >= 6);
    call_free(call);
}

/* --- all pages together */

static void random_text(struct buf *out, size_t n)
{
    static const char *const pieces[] = {"a", "\n", "é", "€", "😀", "\xe2\x82", "\xf0\x9f", "\x80"};
    size_t kinds = random_below(2) ? ARRAY_LEN(pieces) : 5;
    while (out->len < n)
        buf_add_text(out, pieces[random_below(kinds)]);
}

/* Adds a page's content; where to go on, or -1 at the end. */
static int64_t add_page(int64_t offset, size_t max, struct buf *bytes, struct buf *text)
{
    FREE_AT_END char *more = mem_format(",'stream':'stderr','offset':%lld,'max_bytes':%zu",
                                        (long long)offset, max);
    struct call *call = called(more);
    assert_false(call->failed);
    struct str body = buf_str(&call->reply_body);
    assert_true(body.n <= max);
    buf_add(bytes, body.p, body.n);
    call_free(call);
    FREE_AT_END char *json = answer(more, false);
    yyjson_doc *doc = parsed_bytes(text_str(json), JSON_STRICT);
    yyjson_val *result = yyjson_obj_get(yyjson_doc_get_root(doc), "result");
    yyjson_val *content = yyjson_obj_get(result, "content");
    int64_t next = yyjson_get_sint(yyjson_obj_get(result, "next_offset"));
    bool truncated = yyjson_get_bool(yyjson_obj_get(result, "truncated"));
    assert_true(yyjson_get_bool(yyjson_obj_get(result, "complete")));
    assert_int_equal(next, offset + (int64_t)body.n);
    assert_true(next > offset);
    buf_add(text, yyjson_get_str(content), yyjson_get_len(content));
    yyjson_doc_free(doc);
    return truncated ? next : -1;
}

static void pages_make_the_whole(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(200); round++) {
        BUF_AT_END struct buf all = BUF_INIT(ANSWER_MAX);
        BUF_AT_END struct buf bytes = BUF_INIT(ANSWER_MAX);
        BUF_AT_END struct buf text = BUF_INIT(ANSWER_MAX);
        BUF_AT_END struct buf wanted = BUF_INIT(ANSWER_MAX);
        size_t most = random_below(2) ? 8 : 300;
        random_text(&all, 1 + random_below(1000));
        keep(STR("out"), buf_str(&all));
        for (int64_t offset = 0; offset >= 0;)
            offset = add_page(offset, 4 + random_below(most), &bytes, &text);
        slow_replace(buf_str(&all), &wanted);
        assert_int_equal(bytes.len, all.len);
        assert_memory_equal(bytes.data, all.data, all.len);
        assert_int_equal(text.len, wanted.len);
        assert_memory_equal(text.data, wanted.data, text.len);
    }
}

#define WITH_SPILLS(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SPILLS(pages_of_a_stream),
        WITH_SPILLS(what_is_kept_may_be_less),
        WITH_SPILLS(characters_stay_whole),
        WITH_SPILLS(a_command_that_runs),
        WITH_SPILLS(what_cannot_be_read_is_refused),
        WITH_SPILLS(contents_are_not_logged),
        WITH_SPILLS(pages_make_the_whole),
    };
    slow_make_table();
    return cmocka_run_group_tests_name("read_output", tests, NULL, NULL);
}
