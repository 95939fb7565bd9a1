#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "c/approval.h"

#define WHOLE                                                                                      \
    "\"id\":\"7\",\"tool\":\"write_file\",\"summary\":\"s\",\"detail\":\"a\\n\\u00e9\","           \
    "\"rule\":\"r\",\"proposal\":\"{\\n}\",\"expiresAt\":\"2026-11-15T23:01:29.226Z\"}"
#define QUESTION "{\"event\":\"approval\",\"requestId\":\"u7tdc7fw\"," WHOLE

struct seen {
    unsigned questions;
    unsigned overs;
    unsigned refusals;
    uint64_t id;
    int state;
    char text[64];
};

static void on_approval(void *arg, const struct sandgate_approval *approval)
{
    struct seen *seen = arg;
    seen->questions++;
    seen->id = approval->id;
    assert_string_equal(approval->tool, "write_file");
    assert_string_equal(approval->summary, "s");
    assert_string_equal(approval->detail, "a\n\xc3\xa9");
    assert_string_equal(approval->rule, "r");
    assert_string_equal(approval->proposal, "{\n}");
    assert_string_equal(approval->expires_at, "2026-11-15T23:01:29.226Z");
}

static void on_over(void *arg, const struct sandgate_approval_over *over)
{
    struct seen *seen = arg;
    seen->overs++;
    seen->state = over->state;
    snprintf(seen->text, sizeof seen->text, "%s %s", over->request_id, over->by ? over->by : "-");
}

static void on_refused(void *arg, const char *request_id, const char *message)
{
    struct seen *seen = arg;
    seen->refusals++;
    snprintf(seen->text, sizeof seen->text, "%s %s", request_id, message);
}

static struct sandgate_approvals approvals_of(struct seen *seen)
{
    *seen = (struct seen){0};
    return (struct sandgate_approvals){on_approval, on_over, on_refused, seen, NULL, 0, 0};
}

/* With no more memory before and behind than it needs. */
static void take_bytes(struct sandgate_approvals *approvals, const char *bytes, size_t n)
{
    char *line = malloc(n ? n : 1);
    char *room = malloc(n ? n : 1);
    memcpy(line, bytes, n);
    assert_int_equal(sandgate_approvals_take(approvals, line, n, room), 0);
    free(line);
    free(room);
}

static void take(struct sandgate_approvals *approvals, const char *line)
{
    take_bytes(approvals, line, strlen(line));
}

static void check_answer(struct sandgate_approvals *approvals, const char *id, int scope,
                         const char *expected)
{
    struct sandgate_text out = {0};
    assert_int_equal(sandgate_approvals_answer(approvals, &out, id, scope), 0);
    assert_int_equal(out.n, strlen(expected));
    assert_memory_equal(out.data, expected, out.n);
    sandgate_text_done(&out);
}

static void asks_and_answers(void **state)
{
    (void)state;
    struct seen seen;
    struct sandgate_text out = {0};
    struct sandgate_approvals approvals = approvals_of(&seen);
    assert_int_equal(sandgate_approvals_answer(&approvals, &out, "u7tdc7fw", 1), -ENOENT);
    take(&approvals, QUESTION);
    take(&approvals, QUESTION); /* it is the same one */
    assert_int_equal(seen.questions, 1);
    assert_int_equal(seen.id, 7);
    check_answer(&approvals, "u7tdc7fw", SANDGATE_ONCE,
                 "{\"approve\":\"u7tdc7fw\",\"scope\":\"once\"}\n");
    check_answer(&approvals, "u7tdc7fw", SANDGATE_SESSION,
                 "{\"approve\":\"u7tdc7fw\",\"scope\":\"session\"}\n");
    check_answer(&approvals, "u7tdc7fw", SANDGATE_ALWAYS,
                 "{\"approve\":\"u7tdc7fw\",\"scope\":\"always\"}\n");
    check_answer(&approvals, "u7tdc7fw", SANDGATE_APPROVALS_DENY, "{\"deny\":\"u7tdc7fw\"}\n");
    assert_int_equal(sandgate_approvals_answer(&approvals, &out, "u7tdc7fw", 4), -EINVAL);
    assert_int_equal(sandgate_approvals_answer(&approvals, &out, "u7tdc7fw", -1), -EINVAL);
    assert_int_equal(sandgate_approvals_answer(&approvals, &out, "u7tdc7f", 1), -ENOENT);
    take(&approvals, "{\"event\":\"error\",\"requestId\":\"u7tdc7fw\",\"message\":\"no rule\"}");
    assert_string_equal(seen.text, "u7tdc7fw no rule");
    take(&approvals, "{\"event\":\"approval_over\",\"requestId\":\"u7tdc7fw\","
                     "\"state\":\"timed_out\",\"by\":null}");
    assert_string_equal(seen.text, "u7tdc7fw -");
    assert_int_equal(seen.state, SANDGATE_TIMED_OUT);
    assert_int_equal(sandgate_approvals_answer(&approvals, &out, "u7tdc7fw", 1), -ENOENT);
    assert_int_equal(out.n, 0);
    sandgate_approvals_done(&approvals);
}

static void tells_how_it_ended(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        int state;
        const char *text;
    } ends[] = {
        {"\"state\":\"approved\",\"by\":\"me\"", SANDGATE_APPROVED, "u7tdc7fw me"},
        {"\"state\":\"denied\",\"by\":\"me\"", SANDGATE_DENIED, "u7tdc7fw me"},
        {"\"state\":\"cancelled\"", SANDGATE_CANCELLED, "u7tdc7fw -"},
        {"\"state\":\"vanished\"", 0, "u7tdc7fw -"},
        {"\"state\":null", 0, "u7tdc7fw -"},
    };
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        char line[200];
        struct seen seen;
        struct sandgate_approvals approvals = approvals_of(&seen);
        take(&approvals, QUESTION);
        snprintf(line, sizeof line, "{\"event\":\"approval_over\",\"requestId\":\"u7tdc7fw\",%s}",
                 ends[i].fields);
        take(&approvals, line);
        take(&approvals, line);
        assert_int_equal(seen.overs, 1);
        assert_int_equal(seen.state, ends[i].state);
        assert_string_equal(seen.text, ends[i].text);
        sandgate_approvals_done(&approvals);
    }
}

static void passes_over_what_is_not_whole(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{}",
        "{\"event\":\"approval\"}",
        "{\"event\":\"approval\",\"requestId\":null," WHOLE,
        "{\"event\":\"approval\",\"requestId\":\"\"," WHOLE,
        "{\"event\":\"approval\",\"requestId\":7," WHOLE,
        "{\"event\":\"approval\",\"requestId\":[]," WHOLE,
        "{\"event\":\"approval\",\"requestId\":\"a b\"," WHOLE,
        "{\"event\":\"approval\",\"requestId\":\"a\\\"}\"," WHOLE,
        "{\"event\":\"approval\",\"requestId\":\"0123456789abcdef\"," WHOLE,
        "{\"event\":\"approval\",\"requestId\":\"bad\\u0000\"," WHOLE,
        "{\"event\":\"approval\",\"requestId\":\"a\",\"requestId\":\"b\"," WHOLE,
        "{\"event\":\"approval\",\"requestId\":\"a\",\"detail\":\"b\"," WHOLE,
        "{\"event\":\"approval\",\"requestId\":\"a\",\"new\":{}," WHOLE,
        "{\"event\":\"approval\",\"requestId\":\"a\",\"message\":7," WHOLE,
        "{\"event\":\"approval\", \"requestId\":\"a\"," WHOLE,
        "{\"event\":\"approved\",\"requestId\":\"a\"," WHOLE,
        QUESTION "}",
        QUESTION " ",
        "{\"event\":\"error\",\"requestId\":\"a\"}",
        "{\"event\":\"error\",\"requestId\":null,\"message\":\"x\"}",
        "{\"event\":\"approval_over\",\"requestId\":\"a\",\"state\":\"approved\"}",
    };
    struct seen seen;
    struct sandgate_approvals approvals = approvals_of(&seen);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        take(&approvals, lines[i]);
        if (seen.questions + seen.overs + seen.refusals || approvals.n_open)
            fail_msg("taken: %s", lines[i]);
    }
    for (size_t n = 0; n < sizeof QUESTION - 1; n++)
        take_bytes(&approvals, QUESTION, n);
    assert_int_equal(seen.questions, 0);
    /* Fields that are not known do no harm where they are plain. */
    take(&approvals, "{\"event\":\"approval\",\"requestId\":\"a\",\"n\":-1.5e3,\"b\":true," WHOLE);
    assert_int_equal(seen.id, 7);
    take(&approvals, "{\"event\":\"approval\",\"requestId\":\"b\",\"new\":\"x\"," WHOLE);
    assert_int_equal(seen.questions, 2);
    sandgate_approvals_done(&approvals);
}

static void has_a_limit(void **state)
{
    (void)state;
    struct seen seen;
    char line[400];
    struct sandgate_approvals approvals = approvals_of(&seen);
    for (int i = 0; i < SANDGATE_APPROVALS_MAX + 10; i++) {
        snprintf(line, sizeof line, "{\"event\":\"approval\",\"requestId\":\"q%d\",%s", i, WHOLE);
        take(&approvals, line);
    }
    assert_int_equal(seen.questions, SANDGATE_APPROVALS_MAX);
    for (int i = 0; i < SANDGATE_APPROVALS_MAX; i++) {
        snprintf(line, sizeof line,
                 "{\"event\":\"approval_over\",\"requestId\":\"q%d\",\"state\":\"denied\"}", i ^ 1);
        take(&approvals, line);
    }
    assert_int_equal(seen.overs, SANDGATE_APPROVALS_MAX);
    assert_int_equal(approvals.n_open, 0);
    sandgate_approvals_done(&approvals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_and_answers),
        cmocka_unit_test(tells_how_it_ended),
        cmocka_unit_test(passes_over_what_is_not_whole),
        cmocka_unit_test(has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
