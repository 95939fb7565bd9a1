#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "cell/order.h"
#include "cell/violations.h"
#include "base/mem.h"
#include "random.h"

static const char strings[] = "/bin/sh\0-c\0echo\0A=1\0B=\0git\0rm\0/bin/dd";

static struct order sample(void)
{
    return (struct order){
        .cwd = STR("/workspace/a b"),
        .beneath = STR("/workspace"),
        .as_named = true,
        .has_stdin = true,
        .n_args = 3,
        .n_env = 2,
        .listed = true,
        .n_allowed = 1,
        .n_denied = 2,
        .data = 1LL << 40,
        .processes = 7,
        .files = 8,
        .file_size = 9,
        .cpu_seconds = 10,
        .watch_memory = 11,
        .watch_buffers = 14,
        .watch_processes = 12,
        .watch_written = 13,
        .strings = {strings, sizeof strings},
    };
}

static void an_order_arrives_as_it_was_sent(void **state)
{
    (void)state;
    struct order sent = sample();
    struct order got;
    struct frame frame;
    struct err err;
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    JSON_AT_END yyjson_doc *doc = NULL;
    assert_int_equal(order_frame(&sent, &head, &frame), 0);
    assert_int_equal(frame.type, FRAME_RUN);
    assert_int_equal(order_read(&frame, &got, &doc, &err), 0);
    assert_memory_equal(got.cwd.p, sent.cwd.p, sent.cwd.n);
    assert_true(got.has_stdin && got.listed && !got.allow_all);
    assert_int_equal(got.data, 1LL << 40);
    assert_int_equal(got.watch_written, 13);
    assert_int_equal(got.cpu_seconds, 10);
    struct order_vectors v;
    assert_int_equal(order_vectors(&got, &v), 0);
    assert_string_equal(v.args[0], "/bin/sh");
    assert_string_equal(v.args[2], "echo");
    assert_null(v.args[3]);
    assert_string_equal(v.env[0], "A=1");
    assert_string_equal(v.env[1], "B=");
    assert_null(v.env[2]);
    assert_int_equal(v.allowed[0].n, 3);
    assert_string_equal(v.denied[1].p, "/bin/dd");
    free(v.args);
    free(v.env);
    free(v.allowed);
    free(v.denied);
    free(v.leaves);
}

static void strings_that_do_not_add_up_are_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t args, env, allowed, denied;
        size_t cut;
    } bad[] = {{0, 5, 1, 2, 0},         {4, 2, 1, 2, 0},  {3, 2, 1, 1, 0},
               {3, 2, 1, 2, 1},         {-1, 6, 1, 2, 0}, {INT64_MAX, 2, 1, 2, 0},
               {3, INT64_MAX, 1, 2, 0}, {3, 2, 1, 2, 30}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct order o = sample();
        struct order_vectors v;
        o.n_args = bad[i].args;
        o.n_env = bad[i].env;
        o.n_allowed = bad[i].allowed;
        o.n_denied = bad[i].denied;
        o.strings.n -= bad[i].cut;
        if (order_vectors(&o, &v) == 0)
            fail_msg("taken: %zu", i);
    }
}

static void an_order_that_is_too_long_is_not_sent(void **state)
{
    (void)state;
    struct order o = sample();
    struct frame frame;
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    FREE_AT_END char *many = mem_zero(FRAME_BODY_MAX + 1);
    o.strings = (struct str){many, FRAME_BODY_MAX + 1};
    assert_int_equal(order_frame(&o, &head, &frame), -1);
}

static int read_account(const char *text, struct ran *ret, yyjson_doc **ret_doc)
{
    struct err err;
    struct frame frame = {.type = FRAME_RAN, .head = {text, strlen(text)}};
    return ran_read(&frame, ret, ret_doc, &err);
}

static void an_account_arrives_as_it_was_sent(void **state)
{
    (void)state;
    struct ran sent = {.kind = RAN_ENDED,
                       .status = 0x0100,
                       .user_ms = 1,
                       .system_ms = 2,
                       .peak_memory = 3LL << 33,
                       .written = 4,
                       .message = STR("a \"b\""),
                       .rule = STR("denied:rm")};
    struct ran got;
    struct err err;
    BUF_AT_END struct buf head = BUF_INIT(4096);
    JSON_AT_END yyjson_doc *doc = NULL;
    struct json_out j = {.out = &head};
    ran_write(&sent, STR("[{\"call\":\"mount\",\"count\":3}]"), &j);
    struct frame frame = {.type = FRAME_RAN, .head = buf_str(&head)};
    assert_int_equal(ran_read(&frame, &got, &doc, &err), 0);
    assert_int_equal(got.status, 0x0100);
    assert_int_equal(got.peak_memory, 3LL << 33);
    assert_int_equal(got.message.n, 5);
    assert_memory_equal(got.rule.p, "denied:rm", 9);
    assert_int_equal(yyjson_arr_size(got.violations), 1);
}

static void accounts_that_break_the_rules_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"kind\":99}",
        "{\"kind\":-1}",
        "{\"kind\":\"0\"}",
        "{\"kind\":0,\"status\":65536}",
        "{\"kind\":0,\"status\":-1}",
        "{\"kind\":0,\"user_ms\":-1}",
        "{\"kind\":0,\"peak_memory\":-1}",
        "{\"kind\":0,\"error\":5000}",
        "{\"kind\":0,\"x\":1}",
        "{\"kind\":0,\"violations\":{}}",
        "{\"kind\":0,\"violations\":[{\"call\":\"x\"}]}",
        "{\"kind\":0,\"violations\":[{\"call\":\"x\",\"count\":0}]}",
        "{\"kind\":0,\"violations\":[{\"call\":1,\"count\":1}]}",
        "{\"kind\":0,\"violations\":[{\"call\":\"x\",\"count\":1,\"y\":1}]}",
        "{\"kind\":0,\"violations\":[1]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct ran ran;
        JSON_AT_END yyjson_doc *doc = NULL;
        if (read_account(bad[i], &ran, &doc) == 0)
            fail_msg("taken: %s", bad[i]);
    }
    struct ran ran;
    JSON_AT_END yyjson_doc *doc = NULL;
    assert_int_equal(read_account("{\"kind\":0}", &ran, &doc), 0);
    struct err err;
    yyjson_doc *none = NULL;
    struct frame wrong = {.type = FRAME_ENDED, .head = STR("{\"kind\":0}")};
    assert_int_equal(ran_read(&wrong, &ran, &none, &err), -1);
    wrong = (struct frame){.type = FRAME_RAN, .head = STR("{\"kind\":0}"), .body = STR("x")};
    assert_int_equal(ran_read(&wrong, &ran, &none, &err), -1);
}

/* The worst that its producer can make: every text full, every character one that takes six bytes, every number as
 * long as it gets. */
static void the_longest_account_fits(void **state)
{
    (void)state;
    static const int bytes[] = {'\x01', '"', '\xff', 'x'};
    struct err texts;
    memset(texts.message, '\x01', sizeof texts.message);
    memset(texts.reason, '\x01', sizeof texts.reason);
    struct ran sent = {
        .kind = RAN_KIND_END - 1,
        .status = 0xffff,
        .error = 4095,
        .message = {texts.message, sizeof texts.message},
        .rule = {texts.reason, sizeof texts.reason},
        .user_ms = INT64_MAX,
        .system_ms = INT64_MAX,
        .peak_memory = INT64_MAX,
        .written = INT64_MAX,
    };
    for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
        struct violations v = {0};
        for (int k = 0; k < 2 * VIOLATIONS_MAX; k++) {
            char name[500];
            memset(name, bytes[i], sizeof name);
            name[0] = (char)('A' + k);
            name[sizeof name - 1] = '\0';
            violations_count(&v, name);
        }
        for (size_t k = 0; k < VIOLATIONS_MAX; k++)
            v.seen[k].count = UINT32_MAX;
        BUF_AT_END struct buf list = BUF_INIT(RAN_BYTES_MAX);
        BUF_AT_END struct buf head = BUF_INIT(RAN_BYTES_MAX);
        BUF_AT_END struct buf message = BUF_INIT(RAN_BYTES_MAX);
        struct json_out j = {.out = &list};
        violations_write(&v, &j);
        j = (struct json_out){.out = &head};
        ran_write(&sent, buf_str(&list), &j);
        frame_add(&message, &(struct frame){.type = FRAME_RAN, .head = buf_str(&head)});
        assert_false(message.failed || head.failed || list.failed);
        struct frame frame;
        struct ran got;
        struct err err;
        JSON_AT_END yyjson_doc *doc = NULL;
        assert_int_equal(frame_parse(message.data, message.len, &frame), 0);
        if (ran_read(&frame, &got, &doc, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(yyjson_arr_size(got.violations), VIOLATIONS_MAX + 1);
    }
}

static void names_are_cut_between_characters(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *kept;
    } cases[] = {
        {"short", "short"},
        {"123456789 123456789 123456789 123456789 123456789 123456789 123",
         "123456789 123456789 123456789 123456789 123456789 123456789 123"},
        {"123456789 123456789 123456789 123456789 123456789 123456789 1234",
         "123456789 123456789 123456789 123456789 123456789 123456789 …"},
        {"123456789 123456789 123456789 123456789 123456789 12345678\xe2\x82\xac\xe2\x82\xac",
         "123456789 123456789 123456789 123456789 123456789 12345678…"},
        {"\xff\xc3x", "?\?x"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct violations v = {0};
        violations_count(&v, cases[i].name);
        assert_string_equal(v.seen[0].call, cases[i].kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_arrives_as_it_was_sent),
        cmocka_unit_test(strings_that_do_not_add_up_are_refused),
        cmocka_unit_test(an_order_that_is_too_long_is_not_sent),
        cmocka_unit_test(an_account_arrives_as_it_was_sent),
        cmocka_unit_test(accounts_that_break_the_rules_are_refused),
        cmocka_unit_test(the_longest_account_fits),
        cmocka_unit_test(names_are_cut_between_characters),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
