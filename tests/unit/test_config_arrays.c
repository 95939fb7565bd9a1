/* Arrays of objects: rules, budgets, hooks. */
#include "config_dump.h"

#include <time.h>

#define MANY 4000

static char *text_at(const struct config *config, const char *array, size_t i, const char *field)
{
    FREE_AT_END char *path = mem_format("%s[%zu].%s", array, i, field);
    return mem_dup(config_text(config, path));
}

static void assert_text(const struct config *config, const char *array, size_t i, const char *field,
                        const char *expected)
{
    FREE_AT_END char *text = text_at(config, array, i, field);
    assert_non_null(text);
    assert_string_equal(text, expected);
}

static void fields_have_values_and_defaults(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'policy':{'budgets':[{'unit':'calls','limit':0},{'toolName':'http*','agent':'a-*',"
        "'per':'agent','unit':'money','limit':1000000000000000,'period':'monthly'}]},"
        "'hooks':[{'event':'tool:after','command':['/bin/echo','a b','-n']}]}");
    assert_int_equal(config_count(config, "policy.budgets"), 2);
    assert_text(config, "policy.budgets", 0, "toolName", "*");
    assert_null(config_text(config, "policy.budgets[0].agent"));
    assert_text(config, "policy.budgets", 0, "per", "all");
    assert_int_equal(config_int(config, "policy.budgets[0].limit"), 0);
    assert_text(config, "policy.budgets", 0, "period", "daily");
    assert_text(config, "policy.budgets", 1, "toolName", "http*");
    assert_text(config, "policy.budgets", 1, "agent", "a-*");
    assert_text(config, "policy.budgets", 1, "per", "agent");
    assert_text(config, "policy.budgets", 1, "unit", "money");
    assert_int_equal(config_int(config, "policy.budgets[1].limit"), 1000000000000000);
    assert_text(config, "policy.budgets", 1, "period", "monthly");
    assert_int_equal(config_count(config, "hooks"), 1);
    assert_text(config, "hooks", 0, "event", "tool:after");
    assert_text(config, "hooks", 0, "toolName", "*");
    assert_list(config, "hooks[0].command", "/bin/echo a b -n");
    assert_int_equal(config_int(config, "hooks[0].timeoutMs"), 5000);
}

static void nothing_is_behind_the_end(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded("{'hooks':[]}");
    assert_int_equal(config_count(config, "approval.rules"), 0);
    assert_int_equal(config_count(config, "hooks"), 0);
    assert_null(config_text(config, "approval.rules[0].action"));
    assert_null(config_text(config, "hooks[0].event"));
    assert_null(config_text(config, "hooks[4294967296].event"));
    assert_null(config_text(config, "hooks[99999999999999999999999999].event"));
    assert_list(config, "hooks[1].command", "unset");
}

static void each_array_is_replaced_alone(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'approval':{'rules':[{'toolName':'a','action':'deny'}]},"
        "'policy':{'budgets':[{'unit':'calls','limit':1},{'unit':'calls','limit':2}]},"
        "'hooks':[{'event':'tool:before','command':['/bin/true']}]}");
    must_apply(config, "{'policy':{'budgets':[{'unit':'seconds','limit':3}]}}", CONFIG_OPERATOR);
    assert_int_equal(config_count(config, "policy.budgets"), 1);
    assert_int_equal(config_int(config, "policy.budgets[0].limit"), 3);
    must_apply(config, "{'hooks':[]}", CONFIG_OPERATOR);
    assert_int_equal(config_count(config, "hooks"), 0);
    assert_int_equal(config_count(config, "policy.budgets"), 1);
    assert_text(config, "approval.rules", 0, "toolName", "a");
}

static char *many_rules(size_t count, const char *action)
{
    struct buf out = BUF_INIT(CONFIG_BYTES_MAX);
    buf_add_text(&out, "{'approval':{'rules':[");
    for (size_t i = 0; i < count; i++)
        buf_addf(&out,
                 "%s{'toolName':'tool_%zu','action':'%s','condition':{'path':{'glob':'src/%zu/**'},"
                 "'command':{'prefix':['git','push']}}}",
                 i ? "," : "", i, action, i);
    buf_add_text(&out, "]}}");
    assert_non_null(buf_text(&out));
    return out.data;
}

static double cpu_ms(void)
{
    return (double)clock() * 1000 / CLOCKS_PER_SEC;
}

/* Time of the processor, so that a busy machine matters less. Measured: 2.5 ms to load, 5 µs for a copy. */
static void thousands_of_rules_are_quick(void **state)
{
    (void)state;
    FREE_AT_END char *json = many_rules(MANY, "deny");
    assert_true(strlen(json) > CONFIG_WORKSPACE_BYTES_MAX);
    double begin = cpu_ms();
    CONFIG_AT_END struct config *config = loaded(json);
    assert_true(cpu_ms() - begin < 50);
    assert_int_equal(config_count(config, "approval.rules"), MANY);
    begin = cpu_ms();
    for (int i = 0; i < 100; i++)
        config_free(config_clone(config));
    assert_true(cpu_ms() - begin < 100);
    begin = cpu_ms();
    for (size_t i = 0; i < MANY; i++) {
        FREE_AT_END char *tool = mem_format("tool_%zu", i);
        FREE_AT_END char *condition = mem_format("{\"path\":{\"glob\":\"src/%zu/**\"},"
                                                 "\"command\":{\"prefix\":[\"git\",\"push\"]}}",
                                                 i);
        assert_text(config, "approval.rules", i, "toolName", tool);
        assert_text(config, "approval.rules", i, "action", "deny");
        assert_text(config, "approval.rules", i, "condition", condition);
    }
    assert_true(cpu_ms() - begin < 250);
}

static void count_ignored(void *arg, const char *path, const char *why)
{
    (void)path;
    (void)why;
    ++*(size_t *)arg;
}

/* Each of a workspace's rules is held against each of the operator's, and one of them is not trusted. */
static void a_workspace_cannot_keep_us_busy(void **state)
{
    (void)state;
    FREE_AT_END char *operators = many_rules(4096, "deny");
    CONFIG_AT_END struct config *config = loaded(operators);
    BUF_AT_END struct buf json = BUF_INIT(CONFIG_WORKSPACE_BYTES_MAX);
    buf_add_text(&json, "{'approval':{'rules':[");
    for (int i = 0; i < 4096; i++)
        buf_addf(&json, "%s{'toolName':'%s%d','action':'prompt'}", i ? "," : "",
                 i % 2 ? "TOOL." : "other", i);
    buf_add_text(&json, "]}}");
    struct err err = {0};
    size_t ignored = 0;
    double begin = cpu_ms();
    assert_int_equal(
        apply(config, buf_text(&json), CONFIG_WORKSPACE, count_ignored, &ignored, &err), 0);
    assert_true(cpu_ms() - begin < 250);
    assert_int_equal(ignored, 2048);
    assert_int_equal(config_count(config, "approval.rules"), 4096 + 2048);
    assert_text(config, "approval.rules", 2047, "toolName", "other4094");
    assert_text(config, "approval.rules", 2048, "toolName", "tool_0");
}

static void too_many_are_refused(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = config_new();
    FREE_AT_END char *json = many_rules(4097, "deny");
    struct err err = {0};
    assert_int_equal(apply(config, json, CONFIG_OPERATOR, NULL, NULL, &err), -1);
    assert_string_equal(err.field, "approval.rules");
    assert_non_null(strstr(err.message, "a list of at most 4096 objects, not a list of 4097"));
    assert_int_equal(config_count(config, "approval.rules"), 0);
}

/* Copies share their arrays: what one of them does must not be seen by the others. */
static void copies_keep_their_own(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'approval':{'rules':[{'toolName':'a','action':'approve'}]}}");
    struct config *first = config_clone(config);
    CONFIG_AT_END struct config *second = config_clone(first);
    must_apply(first, "{'approval':{'rules':[{'toolName':'b','action':'deny'}]}}",
               CONFIG_WORKSPACE);
    CONFIG_AT_END struct config *third = config_clone(first);
    config_free(first);
    must_apply(config, "{'approval':{'rules':[]}}", CONFIG_OPERATOR);
    assert_int_equal(config_count(config, "approval.rules"), 0);
    assert_int_equal(config_count(second, "approval.rules"), 1);
    assert_text(second, "approval.rules", 0, "toolName", "a");
    assert_int_equal(config_count(third, "approval.rules"), 2);
    assert_text(third, "approval.rules", 0, "toolName", "b");
    assert_text(third, "approval.rules", 1, "toolName", "a");
}

/* A refused text has filled arrays half when its mistake is found. */
static void refused_arrays_leave_nothing(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'hooks':[{'event':'tool:before','command':['/bin/true']}]}");
    CONFIG_AT_END struct config *before = config_clone(config);
    struct err err = {0};
    assert_int_equal(apply(config,
                           "{'hooks':[],'approval':{'rules':[{'toolName':'a','action':'deny'},"
                           "{'toolName':'b','condition':{},'action':'x'}]}}",
                           CONFIG_OPERATOR, NULL, NULL, &err),
                     -1);
    assert_string_equal(err.field, "approval.rules[1].action");
    assert_same(config, before);
}

/* Lays every JSON example of the page over one configuration. */
static struct config *with_examples(const char *page)
{
    struct config *config = config_new();
    for (const char *at = page; (at = strstr(at, "```json\n"));) {
        at += strlen("```json\n");
        const char *end = strstr(at, "```");
        assert_non_null(end);
        struct err err = {0};
        if (config_apply(config, (struct str){at, (size_t)(end - at)}, "docs/CONFIG.md",
                         CONFIG_OPERATOR, NULL, NULL, &err) < 0)
            fail_msg("%s", err.message);
        at = end + 3;
    }
    return config;
}

static void examples_of_the_page_load(void **state)
{
    (void)state;
    FREE_AT_END char *page = read_source("docs/CONFIG.md");
    CONFIG_AT_END struct config *config = with_examples(page);
    assert_int_equal(config_count(config, "approval.rules"), 3);
    assert_text(config, "approval.rules", 2, "budgetPeriod", "daily");
    assert_int_equal(config_count(config, "policy.budgets"), 2);
    assert_text(config, "policy.budgets", 1, "per", "agent");
    assert_list(config, "policy.capabilities.network", "");
    assert_true(config_agent_bool(config, "builder", "capabilities.command"));
    assert_false(config_agent_bool(config, "reviewer", "capabilities.command"));
    assert_int_equal(config_count(config, "hooks"), 1);
    assert_list(config, "hooks[0].command", "/usr/local/bin/check-call --strict");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_values_and_defaults),
        cmocka_unit_test(nothing_is_behind_the_end),
        cmocka_unit_test(each_array_is_replaced_alone),
        cmocka_unit_test(thousands_of_rules_are_quick),
        cmocka_unit_test(a_workspace_cannot_keep_us_busy),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(copies_keep_their_own),
        cmocka_unit_test(refused_arrays_leave_nothing),
        cmocka_unit_test(examples_of_the_page_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
