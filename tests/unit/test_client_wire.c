#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "c/event.h"
#include "c/wire.h"

static void check_call(uint64_t id, const char *tool, const char *arguments, const char *expected)
{
    struct sandgate_text out = {0};
    assert_int_equal(sandgate_wire_add_call(&out, id, tool, arguments), 0);
    assert_int_equal(out.n, strlen(expected));
    assert_memory_equal(out.data, expected, out.n);
    sandgate_text_done(&out);
}

static void writes_calls(void **state)
{
    (void)state;
    check_call(1, "t", NULL, "{\"id\":\"1\",\"tool_call\":{\"name\":\"t\"}}\n");
    check_call(
        UINT64_MAX, "a.b", "{}",
        "{\"id\":\"18446744073709551615\",\"tool_call\":{\"name\":\"a.b\",\"arguments\":{}}}\n");
    check_call(2, "\"\\\n\x01\x7f\xc3\xa9", NULL,
               "{\"id\":\"2\",\"tool_call\":{\"name\":\"\\\"\\\\\\u000a\\u0001\x7f\xc3\xa9\"}}\n");
}

static void a_call_is_one_line(void **state)
{
    (void)state;
    check_call(1, "t", "{\n  \"a\": \"b\\n\",\r\n\t\"c\": [\n1\n]\n}\n",
               "{\"id\":\"1\",\"tool_call\":{\"name\":\"t\",\"arguments\":{   \"a\": \"b\\n\",  "
               "\t\"c\": [ 1 ] } }}\n");
}

/* Whatever the text is, it stays within its place. */
static void what_is_no_object_goes_as_a_string(void **state)
{
    (void)state;
    check_call(1, "t", "", "{\"id\":\"1\",\"tool_call\":{\"name\":\"t\",\"arguments\":\"\"}}\n");
    check_call(1, "t", "[1]",
               "{\"id\":\"1\",\"tool_call\":{\"name\":\"t\",\"arguments\":\"[1]\"}}\n");
    check_call(1, "t", "{}},\"x\":{\"y\":{}",
               "{\"id\":\"1\",\"tool_call\":{\"name\":\"t\",\"arguments\":"
               "\"{}},\\\"x\\\":{\\\"y\\\":{}\"}}\n");
    check_call(1, "t", "{\"a\":\"b\nc\"}",
               "{\"id\":\"1\",\"tool_call\":{\"name\":\"t\",\"arguments\":"
               "\"{\\\"a\\\":\\\"b\\u000ac\\\"}\"}}\n");
}

static void lines_follow_each_other(void **state)
{
    (void)state;
    struct sandgate_text out = {0};
    assert_int_equal(sandgate_wire_add_cancel(&out, 7), 0);
    assert_int_equal(sandgate_wire_add_call(&out, 8, "t", NULL), 0);
    static const char expected[] =
        "{\"cancel\":\"7\"}\n{\"id\":\"8\",\"tool_call\":{\"name\":\"t\"}}\n";
    assert_int_equal(out.n, sizeof expected - 1);
    assert_memory_equal(out.data, expected, out.n);
    sandgate_text_drop(&out, 15);
    assert_memory_equal(out.data, expected + 15, out.n);
    sandgate_text_drop(&out, out.n);
    assert_int_equal(out.n, 0);
    sandgate_text_done(&out);
}

static void reads_answers(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t id;
        const char *result;
    } rows[] = {
        {"{\"id\":\"1\",\"result\":{}}", 1, "{}"},
        {"{\"id\":null,\"result\":{\"ok\":false}}", 0, "{\"ok\":false}"},
        {"{\"id\":\"18446744073709551615\",\"result\":{\"a\":{}}}", UINT64_MAX, "{\"a\":{}}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t id = 99;
        const char *result;
        size_t n;
        assert_int_equal(
            sandgate_wire_read_answer(rows[i].line, strlen(rows[i].line), &id, &result, &n), 0);
        assert_true(id == rows[i].id);
        assert_int_equal(n, strlen(rows[i].result));
        assert_memory_equal(result, rows[i].result, n);
    }
}

static void refuses_all_other_lines(void **state)
{
    (void)state;
    static const char good[] = "{\"id\":\"12\",\"result\":{\"ok\":true}}";
    static const char *const lines[] = {
        "",
        "nonsense",
        "{}",
        " {\"id\":\"1\",\"result\":{}}",
        "{\"id\":\"1\",\"result\":{}} ",
        "{\"id\":\"1\",\"result\":{}}\r",
        "{\"id\":1,\"result\":{}}",
        "{\"id\":\"\",\"result\":{}}",
        "{\"id\":\"0\",\"result\":{}}",
        "{\"id\":\"01\",\"result\":{}}",
        "{\"id\":\"-1\",\"result\":{}}",
        "{\"id\":\"18446744073709551616\",\"result\":{}}",
        "{\"id\":\"99999999999999999999999\",\"result\":{}}",
        "{\"id\":\"1x\",\"result\":{}}",
        "{\"id\": \"1\",\"result\":{}}",
        "{\"id\":\"1\",\"result\":[]}",
        "{\"id\":\"1\",\"result\":}}",
        "{\"id\":\"1\",\"result\":{}",
        "{\"id\":\"1\",\"error\":{}}",
        "{\"result\":{},\"id\":\"1\"}",
        "{\"id\":nul,\"result\":{}}",
    };
    uint64_t id;
    const char *result;
    size_t n;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        if (sandgate_wire_read_answer(lines[i], strlen(lines[i]), &id, &result, &n) != -EPROTO)
            fail_msg("taken for an answer: %s", lines[i]);
    }
    /* Cut off anywhere; in memory of that size, so that a sanitizer sees a read behind its end. */
    for (size_t i = 0; i < sizeof good - 1; i++) {
        char *part = malloc(i ? i : 1);
        memcpy(part, good, i);
        assert_int_equal(sandgate_wire_read_answer(part, i, &id, &result, &n), -EPROTO);
        free(part);
    }
    assert_int_equal(
        sandgate_wire_read_answer("{\"id\":\"1\",\"result\":{\0}}", 23, &id, &result, &n), -EPROTO);
}

#define EVENT "{\"id\":\"7\",\"event\":\"output\",\"stream\":"

static void reads_output(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int stream;
        uint64_t skipped;
        const char *text;
        size_t length;
    } rows[] = {
        {EVENT "\"stdout\",\"data\":\"\"}", SANDGATE_STDOUT, 0, "", 0},
        {EVENT "\"stderr\",\"data\":\"a\\n\\t\\\"\\\\\\/\\b\\f\\r\"}", SANDGATE_STDERR, 0,
         "a\n\t\"\\/\b\f\r", 9},
        {EVENT "\"stdout\",\"skipped\":4096,\"data\":\"x\"}", SANDGATE_STDOUT, 4096, "x", 1},
        {EVENT "\"stdout\",\"data\":\"\\u0000\\u00e9\\u20AC\\uD83D\\ude00\xc3\xa9\"}",
         SANDGATE_STDOUT, 0, "\0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9", 12},
        {EVENT "\"stdout\",\"data\":\"x\",\"more\":[]}", SANDGATE_STDOUT, 0, "x", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = strlen(rows[i].line);
        char *text = malloc(n);
        struct sandgate_output output;
        assert_true(sandgate_event_begins(rows[i].line, n));
        if (!sandgate_event_read_output(rows[i].line, n, text, &output))
            fail_msg("not taken: %s", rows[i].line);
        assert_true(output.id == 7 && output.stream == rows[i].stream);
        assert_true(output.skipped == rows[i].skipped);
        assert_int_equal(output.length, rows[i].length);
        assert_memory_equal(output.text, rows[i].text, rows[i].length + 1);
        free(text);
    }
}

/* An event that is not known is still one, and no answer. */
static void passes_over_other_events(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{\"id\":\"7\",\"event\":\"approval\",\"data\":\"x\"}",
        "{\"id\":null,\"event\":\"output\",\"stream\":\"stdout\",\"data\":\"x\"}",
        "{\"event\":\"news\"}",
        EVENT "\"stdin\",\"data\":\"x\"}",
        EVENT "\"stdout\",\"skipped\":0,\"data\":\"x\"}",
        EVENT "\"stdout\",\"data\":\"x\"",
        EVENT "\"stdout\",\"data\":\"x",
        EVENT "\"stdout\",\"data\":\"\\x\"}",
        EVENT "\"stdout\",\"data\":\"\\u12\"}",
        EVENT "\"stdout\",\"data\":\"\\ud83d\"}",
        EVENT "\"stdout\",\"data\":\"\\ud83d\\u0041\"}",
        EVENT "\"stdout\",\"data\":\"\\ude00\"}",
    };
    struct sandgate_output output;
    char text[200];
    uint64_t id;
    const char *result;
    size_t n;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        size_t length = strlen(lines[i]);
        assert_true(sandgate_event_begins(lines[i], length));
        assert_int_equal(sandgate_wire_read_answer(lines[i], length, &id, &result, &n), -EPROTO);
        if (sandgate_event_read_output(lines[i], length, text, &output))
            fail_msg("taken for output: %s", lines[i]);
    }
    assert_false(sandgate_event_begins("{\"id\":\"7\",\"result\":{\"event\":\"\"}}", 29));
    assert_false(sandgate_event_begins("{\"id\":\"7\",\"even", 15));
    assert_false(sandgate_event_begins("", 0));
    /* Cut off anywhere, and with no more room than it needs. */
    static const char good[] = EVENT "\"stdout\",\"skipped\":1,\"data\":\"\\ud83d\\ude00\\n\"}";
    for (size_t i = 0; i < sizeof good - 1; i++) {
        char *part = malloc(i ? i : 1);
        char *room = malloc(i ? i : 1);
        memcpy(part, good, i);
        assert_false(sandgate_event_read_output(part, i, room, &output));
        free(part);
        free(room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_calls),
        cmocka_unit_test(a_call_is_one_line),
        cmocka_unit_test(what_is_no_object_goes_as_a_string),
        cmocka_unit_test(lines_follow_each_other),
        cmocka_unit_test(reads_answers),
        cmocka_unit_test(refuses_all_other_lines),
        cmocka_unit_test(reads_output),
        cmocka_unit_test(passes_over_other_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
