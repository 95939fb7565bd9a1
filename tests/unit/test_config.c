#include "config_dump.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"

static void defaults_hold(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = config_new();
    assert_true(config_bool(config, "tools.bash.enabled"));
    assert_int_equal(config_int(config, "tools.bash.timeoutMs"), 30000);
    assert_int_equal(config_int(config, "tools.bash.maxOutputBytes"), 10240);
    assert_int_equal(config_int(config, "tools.filesystem.maxFileSize"), 10485760);
    assert_false(config_bool(config, "tools.filesystem.followSymlinks"));
    assert_int_equal(config_int(config, "tools.http.maxResponseSize"), 1048576);
    assert_list(config, "tools.http.allowedMethods", "GET POST PUT DELETE");
    assert_list(config, "tools.http.allowedDomains", "unset");
    assert_string_equal(config_text(config, "tools.browser.mode"), "simple");
    assert_int_equal(config_int(config, "tools.fs.maxReadBytes"), 50000);
    assert_int_equal(config_int(config, "approval.timeoutMs"), 300000);
    assert_null(config_text(config, "approval.default"));
    assert_null(config_text(config, "approval.rules[0].toolName"));
    assert_true(config_bool(config, "policy.enabled.fs.read"));
    assert_int_equal(config_int(config, "policy.rateLimits.bash.maxCalls"), 0);
    assert_string_equal(config_text(config, "runtime.tools"), "wasm");
    assert_null(config_text(config, "workspace.mode"));
    assert_int_equal(config_int(config, "limits.maxRequestBytes"), 33554432);
    assert_string_equal(config_text(config, "audit.sync"), "batch");
    assert_int_equal(config_int(config, "cell.uid"), 65527);
    assert_int_equal(config_int(config, "approval.maxWaiting"), 256);
    assert_list(config, "policy.capabilities.filesystem.read", "unset");
    assert_list(config, "policy.capabilities.network", "unset");
    assert_true(config_bool(config, "policy.capabilities.command"));
    assert_false(config_bool(config, "policy.capabilities.model_access"));
    assert_int_equal(config_int(config, "audit.maxFiles"), 0);
    assert_list(config, "audit.anchor", "unset");
    assert_int_equal(config_int(config, "audit.anchorMs"), 60000);
}

/* Else one exception would open everything. */
static void exceptions_alone_stand_behind_the_default(void **state)
{
    (void)state;
    struct err err;
    const struct str *items;
    size_t before;
    size_t count;
    CONFIG_AT_END struct config *config = config_new();
    config_list(config, "files.secret", &items, &before);
    assert_int_equal(config_apply(config, STR("{\"files\":{\"secret\":[\"!.env.test\"]}}"),
                                  "x.json", CONFIG_OPERATOR, NULL, NULL, &err),
                     0);
    config_list(config, "files.secret", &items, &count);
    assert_int_equal(count, before + 1);
    assert_true(str_is(items[0], ".env") && str_is(items[count - 1], "!.env.test"));
    assert_int_equal(config_apply(config, STR("{\"files\":{\"secret\":[\"!x\",\"*.y\"]}}"),
                                  "x.json", CONFIG_OPERATOR, NULL, NULL, &err),
                     0);
    assert_list(config, "files.secret", "!x *.y");
}

/* An agent's field and the one that holds while it is unset are tightened in the same way. */
static void check_fallback(const struct config_row *row)
{
    const struct config_row *fallback = config_row_at(row->fallback);
    assert_non_null(fallback);
    assert_int_equal(fallback->type, row->type);
    assert_int_equal(fallback->tighten, row->tighten);
    assert_int_equal(fallback->unset_is_all, row->unset_is_all);
    assert_true(row->tighten == CONFIG_LOWER || row->tighten == CONFIG_FALSE_ONLY ||
                row->tighten == CONFIG_SUBSET || row->tighten == CONFIG_ORDER);
}

/* What the loader takes for granted: the rows of an array stand together and agree. */
static void check_array_row(const struct config_row *row)
{
    size_t n = strcspn(row->path, "[");
    FREE_AT_END char *name = mem_copy(row->path, n);
    size_t count;
    const struct config_row *first = config_array_rows(name, &count);
    assert_non_null(first);
    assert_true(row >= first && row < first + count);
    assert_int_equal(row->tighten, first->tighten);
    assert_null(strchr(row->path + n + 3, '.'));
    if (row->required_where) {
        size_t field = strcspn(row->required_where, "=");
        FREE_AT_END char *path = mem_format("%s[].%.*s", name, (int)field, row->required_where);
        assert_non_null(config_row_at(path));
        assert_true(config_choice(config_row_at(path), text_str(row->required_where + field + 1)) >=
                    0);
    }
}

static void table_is_sound(void **state)
{
    (void)state;
    size_t count;
    const struct config_row *rows = config_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const struct config_row *row = &rows[i];
        assert_true(strlen(row->path) < CONFIG_PATTERN_MAX - 2);
        assert_true(row->doc && row->doc[strlen(row->doc) - 1] == '.');
        FREE_AT_END char *path = concrete(row, 1);
        assert_ptr_equal(config_row_find(path), row);
        if (row->type == CONFIG_ENUM && row->text)
            assert_true(config_choice(row, text_str(row->text)) >= 0);
        if (row->type <= CONFIG_CORES)
            assert_true(row->min < row->max && row->number <= row->max);
        if (row->fallback)
            check_fallback(row);
        if (strchr(row->path, '['))
            check_array_row(row);
        else
            assert_true(row->tighten < CONFIG_RULE && !row->required && !row->required_where);
        assert_true(row->tighten != CONFIG_ORDER || row->type == CONFIG_ENUM);
        assert_true(row->tighten < CONFIG_SUBSET || row->tighten >= CONFIG_RULE ||
                    row->type == CONFIG_LIST);
        assert_true(row->type == CONFIG_LIST || !row->program);
    }
}

static void example_loads(void **state)
{
    (void)state;
    FREE_AT_END char *json = read_source("tests/unit/data/config_system_example.json");
    CONFIG_AT_END struct config *config = loaded(json);
    assert_list(config, "tools.bash.allowedCommands", "ls cat grep git");
    assert_list(config, "tools.bash.deniedCommands", "rm sudo");
    assert_list(config, "tools.filesystem.allowedDirectories", "/home/user/projects /tmp");
    assert_list(config, "tools.http.blockedDomains", "localhost 127.0.0.1");
    assert_list(config, "tools.browser.allowedDomains", "*");
    assert_string_equal(config_text(config, "tools.sandbox.image"), "agenc/sandbox:latest");
    assert_int_equal(config_int(config, "tools.sandbox.memoryLimit"), 512 << 20);
    assert_string_equal(config_text(config, "approval.rules[0].action"), "prompt");
    assert_string_equal(config_text(config, "approval.rules[1].toolName"), "filesystem");
    assert_int_equal(config_int(config, "approval.rules[1].budgetLimit"), 100);
    assert_string_equal(config_text(config, "approval.rules[1].budgetPeriod"), "daily");
    assert_string_equal(config_text(config, "approval.rules[2].action"), "approve");
    assert_null(config_text(config, "approval.rules[3].action"));
    assert_int_equal(config_int(config, "policy.rateLimits.filesystem.maxCalls"), 50);
}

static void values_in_other_spellings(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'tools':{'browser':{'mode':'playwright'},'bash':{'maxOutputBytes':'20K',"
        "'allowedCommands':[]},'sandbox':{'memoryLimit':'2g','cpuLimit':0.5,"
        "'volumeMounts':{'/srv/a.b':'/data'}}},'approval':{'rules':[{'toolName':'x',"
        "'action':'deny','condition':{ 'command': 'a\\u0000b' }}]},"
        "'policy':{'resourceLimits':{'bash':{'maxCpu':2,'maxMemory':1048576}}}}");
    assert_string_equal(config_text(config, "tools.browser.mode"), "full");
    assert_int_equal(config_int(config, "tools.bash.maxOutputBytes"), 20480);
    assert_list(config, "tools.bash.allowedCommands", "");
    assert_int_equal(config_int(config, "tools.sandbox.memoryLimit"), 2147483648);
    assert_int_equal(config_int(config, "tools.sandbox.cpuLimit"), 500);
    assert_string_equal(config_text(config, "tools.sandbox.volumeMounts./srv/a.b"), "/data");
    assert_string_equal(config_text(config, "approval.rules[0].condition"),
                        "{\"command\":\"a\\u0000b\"}");
    assert_int_equal(config_int(config, "policy.resourceLimits.bash.maxCpu"), 2000);
    assert_int_equal(config_int(config, "policy.resourceLimits.bash.maxMemory"), 1048576);
}

static void environment_overrides(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'runtime':{'timeoutSecs':60},'model':{'provider':'ollama'}}");
    char *environment[] = {
        (char[]){"PATH=/bin"},
        (char[]){"TOOL_RUNTIME=wasm"},
        (char[]){"TOOL_TIMEOUT_SECS=5"},
        (char[]){"TOOL_TIMEOUT_SECS=6"},
        (char[]){"TOOL_MEMORY_MB_OLD=x"},
        (char[]){"TOOL_ALLOW_DIRECT_NETWORK=1"},
        (char[]){"WORKSPACE_FS_MODE=overlay"},
        (char[]){"SANDGATE_APPROVAL_DEFAULT=deny"},
        (char[]){"MODEL_BASE_URL=http://127.0.0.1:11434"},
        NULL,
    };
    struct err err = {0};
    assert_int_equal(config_apply_env(config, environment, &err), 0);
    assert_string_equal(config_text(config, "runtime.tools"), "wasm");
    assert_int_equal(config_int(config, "runtime.timeoutSecs"), 5);
    assert_int_equal(config_int(config, "runtime.memoryMb"), 256);
    assert_true(config_bool(config, "runtime.allowDirectNetwork"));
    assert_string_equal(config_text(config, "workspace.mode"), "overlay");
    assert_string_equal(config_text(config, "approval.default"), "deny");
    assert_string_equal(config_text(config, "model.provider"), "ollama");
    assert_string_equal(config_text(config, "model.baseUrl"), "http://127.0.0.1:11434");
}

static void later_texts_lie_over_earlier(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'tools':{'bash':{'timeoutMs':5,'deniedCommands':['rm']}},'approval':{"
        "'rules':[{'toolName':'a','action':'deny'},{'toolName':'b','action':"
        "'deny'}]}}");
    CONFIG_AT_END struct config *before = config_clone(config);
    must_apply(config, "{}", CONFIG_OPERATOR);
    assert_same(config, before);
    must_apply(config,
               "{'tools':{'bash':{'deniedCommands':['dd']}},'approval':{'rules':[{"
               "'toolName':'c','action':'approve'}]}}",
               CONFIG_OPERATOR);
    assert_int_equal(config_int(config, "tools.bash.timeoutMs"), 5);
    assert_list(config, "tools.bash.deniedCommands", "dd");
    assert_string_equal(config_text(config, "approval.rules[0].toolName"), "c");
    assert_null(config_text(config, "approval.rules[1].toolName"));
    must_apply(config, "{'approval':{'rules':[]}}", CONFIG_OPERATOR);
    assert_null(config_text(config, "approval.rules[0].toolName"));
    assert_list(before, "tools.bash.deniedCommands", "rm");
    assert_string_equal(config_text(before, "approval.rules[1].toolName"), "b");
}

static void maps_have_a_value_for_other_keys(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'policy':{'enabled':{'*':false,'fs.read':true},'rateLimits':{'*':{"
        "'maxCalls':7,'windowMs':5},'bash':{'maxCalls':9}}}}");
    assert_true(config_bool(config, "policy.enabled.fs.read"));
    assert_false(config_bool(config, "policy.enabled.fs.write"));
    assert_int_equal(config_int(config, "policy.rateLimits.http.maxCalls"), 7);
    assert_int_equal(config_int(config, "policy.rateLimits.bash.maxCalls"), 9);
    assert_int_equal(config_int(config, "policy.rateLimits.bash.windowMs"), 5);
}

static void agents_have_their_own_limits(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'agents':{'a.b':{'tools':{'fs':{'maxReadBytes':'1k'}}}}}");
    assert_int_equal(config_agent_int(config, "a.b", "tools.fs.maxReadBytes", 9), 1024);
    assert_int_equal(config_agent_int(config, "a.b", "tools.fs.maxWriteBytes", 9), 9);
    assert_int_equal(config_agent_int(config, "other", "tools.fs.maxReadBytes", 9), 9);
    assert_int_equal(config_agent_int(config, "", "tools.fs.maxReadBytes", 9), 9);
    assert_int_equal(config_agent_int(config, NULL, "tools.fs.maxReadBytes", 9), 9);
    assert_int_equal(config_int(config, "agents.other.tools.fs.maxReadBytes"), 50000);
    must_apply(config, "{'agents':{'*':{'tools':{'fs':{'maxReadBytes':3}}}}}", CONFIG_OPERATOR);
    assert_int_equal(config_agent_int(config, "other", "tools.fs.maxReadBytes", 9), 3);
}

static void assert_agent_list(const struct config *config, const char *agent, const char *path,
                              const char *expected)
{
    const struct str *items;
    size_t count;
    bool set = config_agent_list(config, agent, path, &items, &count);
    assert_items(set, items, count, expected);
}

static int add_agent(void *arg, const char *agent)
{
    struct buf *all = arg;
    buf_addf(all, "%s ", agent);
    return strcmp(agent, "last") == 0 ? 7 : 0;
}

static void tells_the_agents_that_something_is_set_for(void **state)
{
    (void)state;
    BUF_AT_END struct buf all = BUF_INIT(1000);
    CONFIG_AT_END struct config *config = loaded(
        "{'agents':{'b.c':{'capabilities':{'command':true,'env':[]},'tools':{'fs':{'maxReadBytes':5}}},"
        "'a':{'capabilities':{'command':false}},'*':{'capabilities':{'network':[]}}}}");
    assert_int_equal(config_keys(config, "agents", add_agent, &all), 0);
    assert_string_equal(buf_text(&all), "* a b.c ");
    must_apply(config,
               "{'agents':{'last':{'capabilities':{'env':[]}},'z':{'capabilities':{'env':[]}}}}",
               CONFIG_OPERATOR);
    buf_reset(&all, 1000);
    assert_int_equal(config_keys(config, "agents", add_agent, &all), 7);
    assert_string_equal(buf_text(&all), "* a b.c last ");
}

static void agents_have_their_own_capabilities(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded(
        "{'policy':{'capabilities':{'network':['a.example'],'command':false}},"
        "'agents':{'builder':{'capabilities':{'command':true,'network':['b.example','c.example'],"
        "'filesystem':{'write':[]}}}}}");
    assert_true(config_agent_bool(config, "builder", "capabilities.command"));
    assert_false(config_agent_bool(config, "other", "capabilities.command"));
    assert_false(config_agent_bool(config, NULL, "capabilities.command"));
    assert_false(config_agent_bool(config, "builder", "capabilities.model_access"));
    assert_agent_list(config, "builder", "capabilities.network", "b.example c.example");
    assert_agent_list(config, "other", "capabilities.network", "a.example");
    assert_agent_list(config, NULL, "capabilities.network", "a.example");
    assert_agent_list(config, "builder", "capabilities.filesystem.write", "");
    assert_agent_list(config, "builder", "capabilities.filesystem.read", "unset");
    must_apply(config,
               "{'agents':{'*':{'capabilities':{'model_access':true,'env':['CI'],'network':[]}}}}",
               CONFIG_OPERATOR);
    assert_true(config_agent_bool(config, "builder", "capabilities.model_access"));
    assert_true(config_agent_bool(config, NULL, "capabilities.model_access"));
    assert_agent_list(config, "builder", "capabilities.network", "b.example c.example");
    assert_agent_list(config, "other", "capabilities.network", "");
    assert_agent_list(config, "other", "capabilities.env", "CI");
    assert_false(config_bool(config, "policy.capabilities.model_access"));
}

static void assert_aborts(void (*call)(const struct config *))
{
    CONFIG_AT_END struct config *config = config_new();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        call(config);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void ask_unknown(const struct config *config)
{
    config_int(config, "tools.bash.timeout");
}

static void ask_wrong_type(const struct config *config)
{
    config_text(config, "tools.bash.timeoutMs");
}

static void ask_section(const struct config *config)
{
    config_bool(config, "policy.enabled");
}

static void ask_unknown_field(const struct config *config)
{
    struct config *with_rules = config_clone(config);
    must_apply(with_rules, "{'approval':{'rules':[]}}", CONFIG_OPERATOR);
    config_text(with_rules, "approval.rules[0].name");
}

static void ask_field_wrong_type(const struct config *config)
{
    struct config *with_rules = config_clone(config);
    must_apply(with_rules, "{'approval':{'rules':[]}}", CONFIG_OPERATOR);
    config_int(with_rules, "approval.rules[0].action");
}

static void count_no_array(const struct config *config)
{
    config_count(config, "approval.rule");
}

static void wrong_questions_abort(void **state)
{
    (void)state;
    assert_aborts(ask_unknown);
    assert_aborts(ask_wrong_type);
    assert_aborts(ask_section);
    assert_aborts(ask_unknown_field);
    assert_aborts(ask_field_wrong_type);
    assert_aborts(count_no_array);
}

static void a_copy_has_the_same_values_until_it_changes(void **state)
{
    (void)state;
    CONFIG_AT_END struct config *config = loaded("{'tools':{'bash':{'timeoutMs':5}}}");
    CONFIG_AT_END struct config *copy = config_clone(config);
    assert_true(config_values(copy) == config_values(config));
    assert_true(config_edition(copy) != config_edition(config));
    must_apply(copy, "{'tools':{'bash':{'timeoutMs':4}}}", CONFIG_WORKSPACE);
    assert_true(config_values(copy) != config_values(config));
}

static void documents_agree_with_the_table(void **state)
{
    (void)state;
    FREE_AT_END char *page = read_source("docs/CONFIG.md");
    FREE_AT_END char *example = read_source(".env.example");
    BUF_AT_END struct buf table = BUF_INIT(1 << 20);
    buf_add_text(&table, "<!-- table:begin -->\n");
    config_write_markdown(&table);
    buf_add_text(&table, "<!-- table:end -->\n");
    const char *begin = strstr(page, "<!-- table:begin -->");
    assert_non_null(begin);
    if (strncmp(begin, buf_text(&table), table.len) != 0)
        fail_msg("docs/CONFIG.md has another table; this one holds:\n%s", buf_text(&table));
    size_t count;
    const struct config_row *rows = config_rows(&count);
    for (size_t i = 0; i < count; i++) {
        FREE_AT_END char *line = rows[i].env ? mem_format("%s=", rows[i].env) : NULL;
        assert_true(!line || strstr(example, line));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold),
        cmocka_unit_test(exceptions_alone_stand_behind_the_default),
        cmocka_unit_test(table_is_sound),
        cmocka_unit_test(example_loads),
        cmocka_unit_test(values_in_other_spellings),
        cmocka_unit_test(environment_overrides),
        cmocka_unit_test(later_texts_lie_over_earlier),
        cmocka_unit_test(maps_have_a_value_for_other_keys),
        cmocka_unit_test(agents_have_their_own_limits),
        cmocka_unit_test(agents_have_their_own_capabilities),
        cmocka_unit_test(tells_the_agents_that_something_is_set_for),
        cmocka_unit_test(wrong_questions_abort),
        cmocka_unit_test(a_copy_has_the_same_values_until_it_changes),
        cmocka_unit_test(documents_agree_with_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
