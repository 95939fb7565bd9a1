#include "config_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_says(const struct err *err, const char *says)
{
    if (!strstr(err->message, says))
        fail_msg("\"%s\" does not say \"%s\"", err->message, says);
}

/* In each case a good value stands before the bad one: it must not be taken either. */
static void bad_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *field;
        const char *says;
    } cases[] = {
        {"'tools':{'bash':{'timeoutMs':'30s'}}", "tools.bash.timeoutMs",
         "must be a whole number from 1 to 86400000, not \"30s\""},
        {"'tools':{'bash':{'timeoutMs':0}}", "tools.bash.timeoutMs", "1 to 86400000, not 0"},
        {"'tools':{'bash':{'timeoutMs':-5}}", "tools.bash.timeoutMs", "not -5"},
        {"'tools':{'bash':{'timeoutMs':1.5}}", "tools.bash.timeoutMs", "not 1.5"},
        {"'tools':{'bash':{'timeoutMs':18446744073709551615}}", "tools.bash.timeoutMs",
         "not 18446744073709551615"},
        {"'tools':{'bash':{'timeoutMs':null}}", "tools.bash.timeoutMs", "not null"},
        {"'tools':{'bash':{'enabled':1}}", "tools.bash.enabled", "true or false, not 1"},
        {"'tools':{'bash':{'enabled':'true'}}", "tools.bash.enabled", "not \"true\""},
        {"'tools':{'browser':{'mode':'fast'}}", "tools.browser.mode",
         "must be one of full, simple, not \"fast\""},
        {"'tools':{'browser':{'mode':[]}}", "tools.browser.mode", "not an empty list"},
        {"'tools':{'sandbox':{'image':''}}", "tools.sandbox.image", "1 to 4096 bytes"},
        {"'tools':{'sandbox':{'image':'a\\u0000b'}}", "tools.sandbox.image", "without NUL"},
        {"'tools':{'sandbox':{'image':{}}}", "tools.sandbox.image", "not an object"},
        {"'tools':{'sandbox':{'cpuLimit':0}}", "tools.sandbox.cpuLimit",
         "a number of cores from 0.01 to 1024, not 0"},
        {"'tools':{'sandbox':{'cpuLimit':1e300}}", "tools.sandbox.cpuLimit", "not 1e+300"},
        {"'tools':{'sandbox':{'memoryLimit':'512x'}}", "tools.sandbox.memoryLimit",
         "as a number or like \"512m\", not \"512x\""},
        {"'tools':{'sandbox':{'memoryLimit':'99999999999999999g'}}", "tools.sandbox.memoryLimit",
         "a size from"},
        {"'tools':{'sandbox':{'memoryLimit':'m'}}", "tools.sandbox.memoryLimit", "not \"m\""},
        {"'tools':{'bash':{'allowedCommands':'ls'}}", "tools.bash.allowedCommands",
         "must be a list of at most 1024 texts, not \"ls\""},
        {"'tools':{'bash':{'allowedCommands':['ls',7]}}", "tools.bash.allowedCommands[1]",
         "must be text of 1 to 4096 bytes without NUL, not 7"},
        {"'tools':{'http':{'allowedMethods':['GET','TRACE']}}", "tools.http.allowedMethods[1]",
         "one of GET, POST, PUT, DELETE, HEAD, PATCH, not \"TRACE\""},
        {"'files':{'secret':['*.key','{a/b}']}", "files.secret[1]",
         "must be a pattern for paths, like \".git/hooks\" or \"*.key\", not \"{a/b}\""},
        {"'files':{'protected':['..']}", "files.protected[0]", "a pattern"},
        {"'tools':[1]", "tools", "must be an object, not a list of 1"},
        {"'tools':{'bash':true}", "tools.bash", "must be an object, not true"},
        {"'approval':{'rules':{}}", "approval.rules", "a list of at most 4096 objects"},
        {"'approval':{'rules':[5]}", "approval.rules[0]", "must be an object, not 5"},
        {"'approval':{'rules':[{'action':'deny'}]}", "approval.rules[0].toolName", "is required"},
        {"'approval':{'rules':[{'toolName':'x'}]}", "approval.rules[0].action", "is required"},
        {"'approval':{'rules':[{'toolName':'x','action':'budget'}]}",
         "approval.rules[0].budgetLimit", "required where action is budget"},
        {"'approval':{'rules':[{'toolName':'x','action':'maybe'}]}", "approval.rules[0].action",
         "one of approve, deny, prompt, budget"},
        {"'approval':{'rules':[{'toolName':'x','action':'deny','condition':'a'}]}",
         "approval.rules[0].condition", "must be an object"},
        {"'approval':{'rules':[{'toolName':'x','action':'deny','tool.name':'a'}]}",
         "approval.rules[0].tool.name", "unknown field approval.rules[0].tool.name; did you mean"},
        {"'approval':{'rules':[{'toolName':'x','action':'deny','action\\u0000':'a'}]}",
         "approval.rules[0].action?", "unknown field"},
        {"'approval':{'maxWaiting':0}", "approval.maxWaiting", "from 1 to 4096"},
        {"'approval':{'maxWaiting':4097}", "approval.maxWaiting", "from 1 to 4096"},

        {"'policy':{'budgets':{}}", "policy.budgets", "a list of at most 4096 objects"},
        {"'policy':{'budgets':[[]]}", "policy.budgets[0]", "must be an object, not an empty list"},
        {"'policy':{'budgets':[{'unit':'calls','limit':1},{'limit':1}]}", "policy.budgets[1].unit",
         "is required"},
        {"'policy':{'budgets':[{'unit':'calls'}]}", "policy.budgets[0].limit", "is required"},
        {"'policy':{'budgets':[{'unit':'kisses','limit':1}]}", "policy.budgets[0].unit",
         "one of calls, bytesWritten, seconds, networkBytes, modelTokens, money, not \"kisses\""},
        {"'policy':{'budgets':[{'unit':'calls','limit':-1}]}", "policy.budgets[0].limit",
         "from 0 to 1000000000000000, not -1"},
        {"'policy':{'budgets':[{'unit':'calls','limit':1000000000000001}]}",
         "policy.budgets[0].limit", "from 0 to 1000000000000000"},
        {"'policy':{'budgets':[{'unit':'calls','limit':1,'per':'tool'}]}", "policy.budgets[0].per",
         "one of all, agent, session"},
        {"'policy':{'budgets':[{'unit':'calls','limit':1,'period':'yearly'}]}",
         "policy.budgets[0].period", "one of daily, weekly, monthly"},
        {"'policy':{'budgets':[{'unit':'calls','limit':1,'toolName':''}]}",
         "policy.budgets[0].toolName", "1 to 4096 bytes"},
        {"'policy':{'budgets':[{'unit':'calls','limit':1,'agent':7}]}", "policy.budgets[0].agent",
         "not 7"},
        {"'policy':{'budgets':[{'unit':'calls','limits':1}]}", "policy.budgets[0].limits",
         "did you mean limit?"},

        {"'policy':{'capabilities':{'filesystem':['/a']}}", "policy.capabilities.filesystem",
         "must be an object"},
        {"'policy':{'capabilities':{'filesystem':{'read':'/a'}}}",
         "policy.capabilities.filesystem.read", "a list of at most 1024 texts"},
        {"'policy':{'capabilities':{'filesystem':{'write':['/a',1]}}}",
         "policy.capabilities.filesystem.write[1]", "not 1"},
        {"'policy':{'capabilities':{'network':true}}", "policy.capabilities.network", "a list"},
        {"'policy':{'capabilities':{'command':[]}}", "policy.capabilities.command",
         "true or false, not an empty list"},
        {"'policy':{'capabilities':{'exec':true}}", "policy.capabilities.exec",
         "known here: filesystem, command, network, env, model_access"},
        {"'agents':{'a':{'capabilities':{'model_access':'yes'}}}",
         "agents.a.capabilities.model_access", "true or false"},
        {"'agents':{'a':{'capabilities':{'env':['A','']}}}", "agents.a.capabilities.env[1]",
         "1 to 4096 bytes"},

        {"'hooks':{}", "hooks", "a list of at most 4096 objects"},
        {"'hooks':['x']", "hooks[0]", "must be an object, not \"x\""},
        {"'hooks':[{'command':['/bin/true']}]", "hooks[0].event", "is required"},
        {"'hooks':[{'event':'tool:before'}]", "hooks[0].command", "is required"},
        {"'hooks':[{'event':'tool:during','command':['/bin/true']}]", "hooks[0].event",
         "one of tool:before, tool:after"},
        {"'hooks':[{'event':'tool:after','command':[]}]", "hooks[0].command",
         "a list of a program's absolute path and its arguments, not an empty list"},
        {"'hooks':[{'event':'tool:after','command':'/bin/true'}]", "hooks[0].command",
         "a list of a program's absolute path"},
        {"'hooks':[{'event':'tool:after','command':['true','/x']}]", "hooks[0].command[0]",
         "the absolute path of a program, not \"true\""},
        {"'hooks':[{'event':'tool:after','command':['/bin/true',5]}]", "hooks[0].command[1]",
         "text of 1 to 4096 bytes"},
        {"'hooks':[{'event':'tool:after','command':['/bin/true'],'timeoutMs':60001}]",
         "hooks[0].timeoutMs", "from 1 to 60000"},
        {"'hooks':[{'event':'tool:after','command':['/bin/true'],'tool':'x'}]", "hooks[0].tool",
         "unknown field hooks[0].tool"},

        {"'audit':{'maxFiles':10001}", "audit.maxFiles", "from 0 to 10000"},
        {"'audit':{'anchor':['notary']}", "audit.anchor[0]", "the absolute path of a program"},
        {"'audit':{'anchor':[]}", "audit.anchor", "a program's absolute path and its arguments"},
        {"'audit':{'anchorMs':99}", "audit.anchorMs", "from 100 to 86400000"},
        {"'audit':{'redact':'token'}", "audit.redact", "a list of at most 1024 texts"},

        {"'policy':{'rateLimits':{'fs.read':{'maxCalls':0}}}", "policy.rateLimits.fs.read.maxCalls",
         "from 1 to"},
        {"'policy':{'enabled':{'':true}}", "policy.enabled.", "a name of 1 to 4096 bytes"},
        {"'policy':{'enabled':{'a\\u0000b':true}}", "policy.enabled.a?b", "without NUL"},

        {"'tools':{'bash':{'timeoutMS':1}}", "tools.bash.timeoutMS",
         "unknown field tools.bash.timeoutMS; did you mean timeoutMs?"},
        {"'tools':{'bash':{'alowedComands':[]}}", "tools.bash.alowedComands",
         "did you mean allowedCommands?"},
        {"'aproval':{}", "aproval", "unknown field aproval; did you mean approval?"},
        {"'policy':{'rateLimits':{'x':{'calls':1}}}", "policy.rateLimits.x.calls",
         "known here: maxCalls, windowMs"},
        {"'zzz':1", "zzz", "known here: tools, agents, commands, approval, policy, hooks, runtime"},
        {"'tools.bash':{'enabled':false}", "tools.bash", "unknown field"},
        {"'approval':{'rules[]':{}}", "approval.rules[]", "unknown field"},
        {"'tools':{'*':{}}", "tools.*", "unknown field"},
        {"'':1", "", "unknown field"},
        {"'\\u001b[2J\\u202e':1", "?[2J???", "unknown field ?[2J???;"},
    };
    CONFIG_AT_END struct config *untouched = config_new();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CONFIG_AT_END struct config *config = config_new();
        struct err err = {0};
        FREE_AT_END char *json = mem_format("{'cell':{'uid':5},%s}", cases[i].json);
        enum config_trust trust = i % 2 ? CONFIG_WORKSPACE : CONFIG_OPERATOR;
        assert_int_equal(apply(config, json, trust, NULL, NULL, &err), -1);
        assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
        assert_string_equal(err.field, cases[i].field);
        assert_int_equal(strncmp(err.message, SOURCE ": ", strlen(SOURCE ": ")), 0);
        assert_says(&err, cases[i].says);
        assert_same(config, untouched);
    }
}

static char *spaces(size_t n)
{
    char *text = mem_zero(n + 1);
    memset(text, ' ', n);
    return text;
}

static void broken_texts_are_refused(void **state)
{
    (void)state;
    FREE_AT_END char *huge = spaces(CONFIG_BYTES_MAX + 1);
    FREE_AT_END char *deep = mem_zero(100001);
    memset(deep, '[', 100000);
    BUF_AT_END struct buf many = BUF_INIT(CONFIG_BYTES_MAX);
    buf_add_text(&many, "{'policy':{'enabled':{");
    for (int i = 0; i < 5000; i++)
        buf_addf(&many, "%s't%d':true", i ? "," : "", i);
    buf_add_text(&many, "}}}");
    const struct {
        const char *json;
        const char *says;
    } cases[] = {
        {"{\n  'tools': {,}\n}", "site.json: line 2, column 13: "},
        {"{'tools':{}", "site.json: line 1, column"},
        {"", "site.json: it is empty"},
        {"[]", "site.json: must be an object, not an empty list"},
        {"{} {}", "site.json: line 1"},
        {"{'tools':{},'tools':{}}", "duplicate key tools"},
        {"{'a\xff':1}", "site.json: line 1"},
        {"{'\\ud800':1}", "site.json: line 1"},
        {huge, "at most 2097152"},
        {deep, "site.json: "},
        {buf_text(&many), "more than 4096 values"},
    };
    CONFIG_AT_END struct config *config = config_new();
    CONFIG_AT_END struct config *untouched = config_new();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        assert_int_equal(apply(config, cases[i].json, CONFIG_OPERATOR, NULL, NULL, &err), -1);
        assert_says(&err, cases[i].says);
        assert_same(config, untouched);
    }
}

/* A worker reads it for each cell. */
static void a_workspace_has_less_room(void **state)
{
    (void)state;
    FREE_AT_END char *text = spaces(CONFIG_WORKSPACE_BYTES_MAX + 1);
    memcpy(text, "{}", 2);
    CONFIG_AT_END struct config *config = config_new();
    struct err err = {0};
    assert_int_equal(apply(config, text, CONFIG_WORKSPACE, NULL, NULL, &err), -1);
    assert_says(&err, "at most 262144");
    must_apply(config, text, CONFIG_OPERATOR);
    text[CONFIG_WORKSPACE_BYTES_MAX] = '\0';
    must_apply(config, text, CONFIG_WORKSPACE);
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    BUF_AT_END struct buf json = BUF_INIT(4096);
    buf_add_text(&json, "{'approval':{'rules':[{'toolName':'x','action':'deny',"
                        "'condition':");
    for (int i = 0; i < 200; i++)
        buf_add_text(&json, "{'a':");
    buf_add_char(&json, '1');
    for (int i = 0; i < 200; i++)
        buf_add_char(&json, '}');
    buf_add_text(&json, "}]}}");
    CONFIG_AT_END struct config *config = config_new();
    struct err err = {0};
    assert_int_equal(apply(config, buf_text(&json), CONFIG_OPERATOR, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.message, "nested too deeply"));
}

static void bad_environment_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *variable;
        const char *field;
        const char *says;
    } cases[] = {
        {"TOOL_RUNTIME=docker", "runtime.tools", "TOOL_RUNTIME must be one of wasm, builtin"},
        {"TOOL_TIMEOUT_SECS=soon", "runtime.timeoutSecs", "from 1 to 86400, not \"soon\""},
        {"TOOL_TIMEOUT_SECS=0", "runtime.timeoutSecs", "from 1 to 86400"},
        {"TOOL_TIMEOUT_SECS= 5", "runtime.timeoutSecs", "from 1 to 86400"},
        {"TOOL_TIMEOUT_SECS=", "runtime.timeoutSecs", "not \"\""},
        {"TOOL_MEMORY_MB=99999999999999999999", "runtime.memoryMb", "from 1 to 1048576"},
        {"TOOL_ALLOW_DIRECT_NETWORK=yes", "runtime.allowDirectNetwork",
         "must be true or false (or 1 or 0), not \"yes\""},
        {"WORKSPACE_FS_MODE=tmpfs", "workspace.mode", "one of host, overlay, agentfs"},
        {"SANDGATE_APPROVAL_DEFAULT=ask", "approval.default",
         "SANDGATE_APPROVAL_DEFAULT must be one of approve, prompt, deny"},
        {"MODEL_PROVIDER=other", "model.provider", "one of ollama, openai, anthropic"},
    };
    CONFIG_AT_END struct config *untouched = config_new();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CONFIG_AT_END struct config *config = config_new();
        FREE_AT_END char *bad = mem_dup(cases[i].variable);
        char *environment[] = {(char[]){"MODEL_BASE_URL=http://a"}, bad, NULL};
        struct err err = {0};
        assert_int_equal(config_apply_env(config, environment, &err), -1);
        assert_string_equal(err.field, cases[i].field);
        assert_says(&err, cases[i].says);
        assert_same(config, untouched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_values_are_refused),     cmocka_unit_test(broken_texts_are_refused),
        cmocka_unit_test(a_workspace_has_less_room),  cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(bad_environment_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
