/* What a policy says of calls: the verdict, the rule that decided, what is counted. */
#include "judge_parts.h"

#include <stdio.h>
#include <time.h>

#define EXAMPLE                                                                                    \
    "{'tools':{'bash':{'enabled':true,'allowedCommands':['ls','cat','grep','git'],"                \
    "'deniedCommands':['rm','sudo'],'allowedDirectories':['/home/user/projects'],"                 \
    "'timeoutMs':30000},'filesystem':{'enabled':true,'allowedDirectories':["                       \
    "'/home/user/projects','/tmp'],'readOnly':false,'maxFileSize':10485760},'http':{"              \
    "'enabled':true,'allowedDomains':['api.github.com','docs.solana.com'],'blockedDomains':["      \
    "'localhost','127.0.0.1'],'timeoutMs':30000},'browser':{'enabled':true,'mode':'simple',"       \
    "'allowedDomains':['*']},'sandbox':{'enabled':false,'image':'agenc/sandbox:latest',"           \
    "'networkMode':'none','memoryLimit':'512m'}},'approval':{'rules':[{'toolName':'bash',"         \
    "'action':'prompt'},{'toolName':'filesystem','action':'budget','budgetLimit':100,"             \
    "'budgetPeriod':'daily'},{'toolName':'http','action':'approve'}]},'policy':{'rateLimits':{"    \
    "'bash':{'maxCalls':10,'windowMs':60000},'filesystem':{'maxCalls':50,'windowMs':60000}}}}"

struct outcome {
    int r;
    struct verdict verdict;
    struct err err;
};

static struct outcome judge_as(struct policy *policy, const char *tool, const char *arguments,
                               const char *agent, bool own_hand)
{
    struct outcome out = {.err = {.code = ERR_COUNT}};
    JSON_AT_END yyjson_doc *doc = parsed(arguments);
    struct policy_call call = make_call(tool, doc);
    call.agent = agent;
    call.own_hand = own_hand;
    out.r = policy_judge(policy, &call, &out.verdict, NULL, NULL, &out.err);
    assert_int_equal(out.r, out.verdict.kind == VERDICT_DENY ? -1 : 0);
    assert_int_equal(out.r < 0, out.err.code != ERR_COUNT);
    assert_true(out.verdict.rule[0]);
    return out;
}

static struct outcome judge(struct policy *policy, const char *tool, const char *arguments)
{
    return judge_as(policy, tool, arguments, NULL, false);
}

/* `allow approval.rules[0]`, `deny tool_disabled policy.enabled.bash`. */
static void expect_as(struct policy *policy, const char *tool, const char *arguments,
                      const char *agent, const char *expected)
{
    static const char *const kinds[] = {"allow", "ask", "deny"};
    struct outcome out = judge_as(policy, tool, arguments, agent, false);
    char got[200];
    snprintf(got, sizeof got, "%s %s%s%s", kinds[out.verdict.kind], out.r < 0 ? out.err.reason : "",
             out.r < 0 ? " " : "", out.verdict.rule);
    if (strcmp(got, expected) != 0)
        fail_msg("%s %s: %s, not %s (%s)", tool, arguments, got, expected,
                 out.r < 0 ? out.err.message : "");
    if (out.r < 0 && !strstr(out.err.message, out.verdict.rule))
        fail_msg("the message does not name %s: %s", out.verdict.rule, out.err.message);
    verdict_done(&out.verdict);
}

static void expect(struct policy *policy, const char *tool, const char *arguments,
                   const char *expected)
{
    expect_as(policy, tool, arguments, NULL, expected);
}

static void example(void **state)
{
    (void)state;
    struct policy *policy = make_policy(EXAMPLE);
    struct outcome out = judge(policy, "system:bash", "{'command':'ls'}");
    assert_int_equal(out.verdict.kind, VERDICT_ASK);
    assert_string_equal(out.verdict.rule, "approval.rules[0]");
    assert_int_equal(out.verdict.n_charges, 1);
    assert_string_equal(out.verdict.charges[0].key, "rate:bash");
    assert_string_equal(out.verdict.charges[0].rule, "policy.rateLimits.bash");
    assert_int_equal(out.verdict.charges[0].limit, 10);
    assert_int_equal(out.verdict.charges[0].window_ms, 60000);
    assert_int_equal(out.verdict.charges[0].amount, 1);
    verdict_done(&out.verdict);

    out = judge(policy, "system:filesystem", "{'operation':'write','path':'a','content':''}");
    assert_int_equal(out.verdict.kind, VERDICT_ALLOW);
    assert_int_equal(out.verdict.n_charges, 2);
    const struct charge *budget = &out.verdict.charges[0];
    assert_int_equal(strncmp(budget->key, "rule:", 5), 0);
    assert_non_null(strstr(budget->key, ":daily"));
    assert_string_equal(budget->rule, "approval.rules[1]");
    assert_int_equal(budget->limit, 100);
    assert_int_equal(budget->window_ms, 0);
    assert_int_equal(budget->period, PERIOD_DAILY);
    assert_int_equal(budget->unit, CHARGE_CALLS);
    assert_int_equal(budget->amount, 1);
    assert_string_equal(out.verdict.charges[1].key, "rate:filesystem");
    verdict_done(&out.verdict);

    expect(policy, "system:http", "{'method':'GET','url':'https://api.github.com/x'}",
           "allow approval.rules[2]");
    expect(policy, "system:http", "{'method':'GET','url':'https://evil.org/x'}",
           "deny capability_missing tools.http.allowedDomains");
    expect(policy, "browser", "{'url':'https://evil.org/x'}", "ask approval.default");
    policy_free(policy);
}

static void defaults(void **state)
{
    (void)state;
    struct policy *policy = make_policy("{}");
    expect(policy, "native:read_file", "{'path':'x'}", "allow approval.default");
    expect(policy, "native:time.now", "{}", "allow approval.default");
    expect(policy, "native:write_file", "{'path':'x','content':''}", "ask approval.default");
    expect(policy, "native:run_command", "{'command':'x'}", "ask approval.default");
    expect(policy, "system:filesystem", "{'operation':'read','path':'x'}",
           "allow approval.default");
    expect(policy, "system:filesystem", "{'operation':'delete','path':'x'}",
           "ask approval.default");
    expect(policy, "system:filesystem", "{}", "ask approval.default");
    expect(policy, "some_other_tool", "{}", "ask approval.default");
    expect(policy, "system:http", "{'url':'https://a.org'}",
           "deny capability_missing policy.capabilities.network");
    struct outcome out = judge_as(policy, "native:write_file", "{'path':'x'}", NULL, true);
    assert_int_equal(out.verdict.kind, VERDICT_ALLOW);
    assert_false(out.verdict.as_named);
    verdict_done(&out.verdict);
    policy_free(policy);
    policy = make_policy("{'approval':{'default':'prompt'}}");
    expect(policy, "native:read_file", "{'path':'x'}", "ask approval.default");
    out = judge_as(policy, "native:write_file", "{'path':'x'}", NULL, true);
    assert_int_equal(out.verdict.kind, VERDICT_ASK);
    verdict_done(&out.verdict);
    policy_free(policy);
    policy = make_policy("{'approval':{'default':'deny'}}");
    expect(policy, "native:read_file", "{'path':'x'}", "deny denied_by_rule approval.default");
    policy_free(policy);
    policy = make_policy("{'approval':{'default':'approve'}}");
    expect(policy, "native:run_command", "{'command':'x'}", "allow approval.default");
    policy_free(policy);
}

/* As `expect`, of a call whose changes go to a layer of its session; of `other` in place of the tool where there is one. */
static void expect_layered(const char *json, const char *tool, const struct tool *other,
                           const char *arguments, const char *expected)
{
    static const char *const kinds[] = {"allow", "ask", "deny"};
    struct policy *policy = make_policy(json);
    JSON_AT_END yyjson_doc *doc = parsed(arguments);
    struct policy_call call = make_call(tool, doc);
    struct verdict verdict;
    struct err err;
    char got[200];
    call.overlay = true;
    call.tool = other ? other : call.tool;
    policy_judge(policy, &call, &verdict, NULL, NULL, &err);
    snprintf(got, sizeof got, "%s %s", kinds[verdict.kind], verdict.rule);
    if (strcmp(got, expected) != 0)
        fail_msg("%s: %s %s: %s, not %s", json, tool, arguments, got, expected);
    assert_false(verdict.git || verdict.wants_git);
    verdict_done(&verdict);
    policy_free(policy);
}

static void expect_in_overlay(const char *json, const char *tool, const char *arguments,
                              const char *expected)
{
    expect_layered(json, tool, NULL, arguments, expected);
}

/* A tool that reaches the network, and one that asks whatever the default is. */
static void leaves_overlay(void **state)
{
    (void)state;
    struct tool reaches = *find_tool("native:stat");
    struct tool asks = reaches;
    reaches.capabilities = CAP_NETWORK;
    asks.flags |= TOOL_ASKS;
    expect_layered("{'policy':{'capabilities':{'network':['*']}},'approval':{'inOverlay':"
                   "'approve'}}",
                   "native:stat", &reaches, "{'path':'x'}", "ask approval.default");
    expect_layered("{'approval':{'default':'approve','inOverlay':'approve'}}", "native:stat", &asks,
                   "{'path':'x'}", "ask approval.default");
    expect_layered("{'approval':{'default':'deny'}}", "native:stat", &asks, "{'path':'x'}",
                   "deny approval.default");
    expect_layered("{'approval':{'rules':[{'toolName':'stat','action':'approve'}]}}", "native:stat",
                   &asks, "{'path':'x'}", "allow approval.rules[0]");
}

/* Only the first folder has the layer. */
static void beside_layer(void **state)
{
    (void)state;
    static const struct root roots[] = {{"@project", "/project", "/project", true, {0}},
                                        {"@state", "/state", "/state", true, {0}}};
    struct policy *policy = make_policy("{'approval':{'default':'deny','inOverlay':'approve'}}");
    static const char *const paths[] = {"{'path':'@project/x','content':''}",
                                        "{'path':'@state/x','content':''}"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(paths[i]);
        struct policy_call call = make_call("toolhost:fs.write", doc);
        struct verdict verdict;
        struct err err;
        call.overlay = true;
        call.roots = roots;
        call.n_roots = ARRAY_LEN(roots);
        policy_judge(policy, &call, &verdict, NULL, NULL, &err);
        assert_string_equal(verdict.rule, i == 0 ? "approval.inOverlay" : "approval.default");
        assert_int_equal(verdict.kind, i == 0 ? VERDICT_ALLOW : VERDICT_DENY);
        verdict_done(&verdict);
    }
    policy_free(policy);
}

static void in_overlay(void **state)
{
    (void)state;
    static const char *const run = "native:run_command";
    static const char *const deny = "{'approval':{'rules':[{'toolName':'run_command',"
                                    "'action':'deny','condition':{'command':'x'}}]}}";
    expect_in_overlay("{}", run, "{'command':'x'}", "allow approval.inOverlay");
    expect_in_overlay("{}", run, "{'command':'x','git':true}", "allow approval.inOverlay");
    expect_in_overlay("{}", "native:write_file", "{'path':'x','content':''}",
                      "allow approval.inOverlay");
    expect_in_overlay("{}", "native:read_file", "{'path':'x'}", "allow approval.inOverlay");
    expect_in_overlay("{}", "some_other_tool", "{}", "ask approval.default");
    expect_in_overlay(deny, run, "{'command':'x'}", "deny approval.rules[0]");
    expect_in_overlay(deny, run, "{'command':'y'}", "allow approval.inOverlay");
    expect_in_overlay("{'approval':{'default':'prompt'}}", run, "{'command':'x'}",
                      "ask approval.default");
    expect_in_overlay("{'approval':{'default':'prompt','inOverlay':'approve'}}", run,
                      "{'command':'x'}", "allow approval.inOverlay");
    expect_in_overlay("{'approval':{'default':'approve','inOverlay':'prompt'}}", run,
                      "{'command':'x'}", "ask approval.inOverlay");
    expect_in_overlay("{'approval':{'inOverlay':'deny'}}", run, "{'command':'x'}",
                      "deny approval.inOverlay");
}

static void switched_off(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'policy':{'enabled':{'fs_read':false,'stat':false,'whatever?':false}},"
        "'tools':{'bash':{'enabled':false},'http':{'enabled':false}}}");
    expect(policy, "toolhost:fs.read", "{'path':'@project/x'}",
           "deny tool_disabled policy.enabled.fs_read");
    expect(policy, "native:stat", "{'path':'x'}", "deny tool_disabled policy.enabled.stat");
    expect(policy, "system:bash", "{'command':'x'}", "deny tool_disabled tools.bash.enabled");
    expect(policy, "system:http", "{'url':'https://a.org'}", "deny tool_disabled tools.http.enabled");
    expect(policy, "whatever", "{}", "deny tool_disabled policy.enabled.whatever?");
    expect(policy, "native:read_file", "{'path':'x'}", "allow approval.default");
    policy_free(policy);
    /* One tool is switched on where all are off, by either name. */
    policy = make_policy("{'policy':{'enabled':{'*':false,'fs.read':true,'fs_list':true}}}");
    expect(policy, "toolhost:fs.read", "{'path':'@project/x'}", "allow approval.default");
    expect(policy, "toolhost:fs.list", "{'path':'@project/x'}", "allow approval.default");
    expect(policy, "native:stat", "{'path':'x'}", "deny tool_disabled policy.enabled.stat");
    policy_free(policy);
}

#define GRANT(read, write)                                                                         \
    "{'approval':{'default':'approve'},'policy':{'capabilities':{'filesystem':{'read':" read       \
    ",'write':" write "}}}}"
#define MISSING(what) "deny capability_missing policy.capabilities." what

static void granted_paths(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        GRANT("['src/**','docs/*.md','LICENSE','lib','@project/src/**']", "['src/*.c']"));
    static const char *const yes = "allow approval.default";
    static const char *const no_read = MISSING("filesystem.read");
    static const char *const no_write = MISSING("filesystem.write");
    expect(policy, "native:read_file", "{'path':'src/a/b.c'}", yes);
    expect(policy, "native:read_file", "{'path':'docs/a.md'}", yes);
    expect(policy, "native:read_file", "{'path':'docs/x/a.md'}", no_read);
    expect(policy, "native:read_file", "{'path':'LICENSE'}", yes);
    expect(policy, "native:read_file", "{'path':'lib/x/y'}", yes);
    expect(policy, "native:read_file", "{'path':'other'}", no_read);
    expect(policy, "native:read_file", "{'path_b64':'b3RoZXI='}", no_read);
    expect(policy, "native:read_file", "{'path':'src/../other'}",
           "deny rule_cannot_be_kept policy.capabilities.filesystem.read");
    expect(policy, "native:stat", "{'path':'src'}", yes);
    expect(policy, "native:search", "{'pattern':'x','path':'src'}", yes);
    expect(policy, "native:search", "{'pattern':'x','path':'src/deep'}", yes);
    expect(policy, "native:search", "{'pattern':'x','path':'lib'}", yes);
    expect(policy, "native:search", "{'pattern':'x','path':'docs'}", no_read);
    expect(policy, "native:search", "{'pattern':'x'}", no_read);
    expect(policy, "runner:grep", "{'pattern':'x'}", no_read);
    expect(policy, "native:list_files", "{'path':'src'}", yes);
    expect(policy, "native:list_files", "{'path':'docs'}", no_read);
    expect(policy, "native:list_files", "{}", no_read);
    expect(policy, "runner:list_files", "{'path':'src/**/*.c'}", yes);
    expect(policy, "runner:list_files", "{'path':'s*/x'}", no_read);
    expect(policy, "sidecar:list_directory", "{}", no_read);
    expect(policy, "native:write_file", "{'path':'src/a.c','content':''}", yes);
    expect(policy, "native:write_file", "{'path':'src/a.h','content':''}", no_write);
    expect(policy, "native:edit_file", "{'path':'src/a.c','edits':[]}", yes);
    expect(policy, "native:delete", "{'path':'src/a.c'}", yes);
    expect(policy, "native:delete", "{'path':'src/a.c','recursive':true}", no_write);
    expect(policy, "native:move", "{'from':'src/a.c','to':'src/b.c'}", no_write);
    expect(policy, "system:filesystem", "{'operation':'read','path':'src/a'}", yes);
    expect(policy, "system:filesystem", "{'operation':'delete','path':'src/a'}", no_write);
    expect(policy, "system:filesystem", "{'operation':'list','path':'docs'}", no_read);
    expect(policy, "toolhost:fs.read", "{'path':'@project/src/a'}", yes);
    expect(policy, "toolhost:fs.read", "{'path':'@pkg/src/a'}", no_read);
    /* Names no mount: it does not grant one. */
    expect(policy, "toolhost:fs.read", "{'path':'@project/lib/x'}", no_read);
    expect(policy, "native:run_command", "{'command':'ls'}", no_read);
    expect(policy, "native:time.now", "{}", yes);
    struct outcome out = judge(policy, "native:read_file", "{'path':'src/a'}");
    assert_true(out.verdict.as_named);
    verdict_done(&out.verdict);
    out = judge(policy, "native:read_file", "{'path':'other'}");
    assert_int_equal(out.err.code, ERR_CAPABILITY_DENIED);
    assert_string_equal(
        out.err.message,
        "the tool `read_file` needs the capability filesystem.read for `other`, "
        "which an agent without a name has not: granted is `src/**`, `docs/*.md`, "
        "`LICENSE`, `lib`, `@project/src/**`; policy.capabilities.filesystem.read grants it");
    verdict_done(&out.verdict);
    policy_free(policy);
    policy = make_policy(GRANT("['**']", "['.']"));
    expect(policy, "native:run_command", "{'command':'ls'}", yes);
    expect(policy, "native:delete", "{'path':'a','recursive':true}", yes);
    policy_free(policy);
    policy = make_policy(GRANT("[]", "[]"));
    expect(policy, "native:read_file", "{'path':'a'}", no_read);
    expect(policy, "runner:shell", "{'command':'ls'}", no_read);
    policy_free(policy);
}

static void granted_to_agents(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'approval':{'default':'approve'},'policy':{'capabilities':{'command':false,'network':['a.org']}},"
        "'agents':{'builder':{'capabilities':{'command':true}},'reader':{'capabilities':{"
        "'filesystem':{'write':[]},'network':['b.org']}}}}");
    static const char *const yes = "allow approval.default";
    expect_as(policy, "native:run_command", "{'command':'ls'}", NULL, MISSING("command"));
    expect_as(policy, "native:run_command", "{'command':'ls'}", "other", MISSING("command"));
    expect_as(policy, "native:run_command", "{'command':'ls'}", "builder", yes);
    expect_as(policy, "native:write_file", "{'path':'x','content':''}", "builder", yes);
    expect_as(policy, "native:write_file", "{'path':'x','content':''}", "reader",
              "deny capability_missing agents.reader.capabilities.filesystem.write");
    expect_as(policy, "native:read_file", "{'path':'x'}", "reader", yes);
    expect_as(policy, "system:http", "{'url':'https://x.a.org'}", NULL, yes);
    expect_as(policy, "system:http", "{'url':'https://x.a.org'}", "reader",
              "deny capability_missing agents.reader.capabilities.network");
    expect_as(policy, "system:http", "{'url':'https://b.org'}", "reader", yes);
    expect_as(policy, "system:http", "{'url':'https://b.org\\\\'}", "reader",
              "deny rule_cannot_be_kept policy.capabilities.network");
    /* More agents than are remembered. */
    for (int i = 0; i < 300; i++) {
        char agent[32];
        snprintf(agent, sizeof agent, "agent%d", i % 150);
        expect_as(policy, "native:run_command", "{'command':'ls'}", agent, MISSING("command"));
        expect_as(policy, "native:run_command", "{'command':'ls'}", "builder", yes);
    }
    policy_free(policy);
}

static void first_match(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'approval':{'rules':["
        "{'toolName':'run_command','action':'deny','condition':{'command':{'program':'rm'}}},"
        "{'toolName':'run_command','action':'approve','condition':{'command':{'program':['git','npm test']}}},"
        "{'toolName':'run_*','action':'prompt'},"
        "{'toolName':'fs.*','action':'deny','condition':{'path':{'beneath':'@state'}}},"
        "{'toolName':'fs_read','action':'approve'},"
        "{'toolName':'{write,edit}_file','action':'approve','condition':{'path':{'beneath':'src'}}}]}}");
    expect(policy, "native:run_command", "{'command':'git log'}", "allow approval.rules[1]");
    expect(policy, "native:run_command", "{'command':'git log; npm test'}",
           "allow approval.rules[1]");
    expect(policy, "native:run_command", "{'command':'git log; npm publish'}",
           "ask approval.rules[2]");
    expect(policy, "native:run_command", "{'command':'git log; rm x'}",
           "deny denied_by_rule approval.rules[0]");
    expect(policy, "native:run_command", "{'command':'git log; $X'}",
           "deny denied_by_rule approval.rules[0]");
    expect(policy, "native:run_command", "{'command':'echo \\\"'}",
           "deny rule_cannot_be_kept approval.rules[0]");
    expect(policy, "sidecar:run_command", "{'command':'/bin/rm x'}",
           "deny denied_by_rule approval.rules[0]");
    expect(policy, "toolhost:fs.read", "{'path':'@state/x'}",
           "deny denied_by_rule approval.rules[3]");
    expect(policy, "toolhost:fs.read", "{'path':'@project/x'}", "allow approval.rules[4]");
    expect(policy, "toolhost:fs.write", "{'path':'@project/x','content':''}",
           "allow approval.default");
    expect(policy, "native:write_file", "{'path':'src/x','content':''}", "allow approval.rules[5]");
    expect(policy, "native:write_file", "{'path':'x','content':''}", "ask approval.default");
    struct outcome out = judge(policy, "native:write_file", "{'path':'src/x','content':''}");
    assert_true(out.verdict.as_named);
    verdict_done(&out.verdict);
    out = judge(policy, "native:run_command", "{'command':'ls'}");
    assert_false(out.verdict.as_named);
    verdict_done(&out.verdict);
    out = judge(policy, "native:run_command", "{'command':'rm x'}");
    assert_non_null(strstr(out.err.message, "program"));
    verdict_done(&out.verdict);
    policy_free(policy);
}

static void counted(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'approval':{'default':'approve'},'policy':{'rateLimits':{'*':{'maxCalls':9},'fs_read':{"
        "'maxCalls':5,'windowMs':1000}},'budgets':[{'toolName':'fs.*','unit':'calls','limit':7},"
        "{'agent':'b*','per':'agent','unit':'seconds','limit':60,'period':'weekly'},"
        "{'per':'session','unit':'bytesWritten','limit':1000,'period':'monthly'},"
        "{'toolName':'fs.*','unit':'calls','limit':8}],"
        "'resourceLimits':{'fs.read':{'maxDuration':500,'maxMemory':'2m','maxCpu':0.5},'fs_read':{"
        "'maxDuration':400}}},'hooks':[{'event':'tool:before','toolName':'fs.write','command':['/x']},"
        "{'event':'tool:after','command':['/x']}]}");
    struct outcome out = judge_as(policy, "toolhost:fs.read", "{'path':'@project/x'}", "bob",
                                  false);
    const struct charge *c = out.verdict.charges;
    assert_int_equal(out.verdict.n_charges, 6);
    assert_string_equal(c[0].key, "rate:fs.read");
    assert_int_equal(c[0].limit, 9);
    assert_int_equal(c[0].window_ms, 60000);
    assert_string_equal(c[1].key, "rate:fs_read");
    assert_string_equal(c[1].rule, "policy.rateLimits.fs_read");
    assert_int_equal(c[1].limit, 5);
    assert_int_equal(c[1].window_ms, 1000);
    assert_string_equal(c[2].rule, "policy.budgets[0]");
    assert_int_equal(c[2].limit, 7);
    assert_int_equal(c[2].amount, 1);
    assert_int_equal(c[3].unit, CHARGE_MS);
    assert_int_equal(c[3].limit, 60000);
    assert_int_equal(c[3].amount, 0);
    assert_int_equal(c[3].period, PERIOD_WEEKLY);
    assert_non_null(strstr(c[3].key, ":agent:bob"));
    assert_int_equal(c[4].unit, CHARGE_BYTES_WRITTEN);
    assert_non_null(strstr(c[4].key, ":monthly:session:"));
    assert_int_equal(c[5].limit, 8);
    /* Two counters, though they say the same of the same calls. */
    assert_string_not_equal(c[5].key, c[2].key);
    assert_int_equal(out.verdict.max_ms, 400);
    assert_int_equal(out.verdict.max_memory, 2 << 20);
    assert_int_equal(out.verdict.max_cpu_millis, 500);
    assert_false(out.verdict.hooks);
    verdict_done(&out.verdict);
    out = judge_as(policy, "toolhost:fs.write", "{'path':'@project/x','content':''}", "alice",
                   false);
    assert_int_equal(out.verdict.n_charges, 4);
    assert_true(out.verdict.hooks);
    assert_int_equal(out.verdict.max_ms, 0);
    verdict_done(&out.verdict);
    policy_free(policy);
}

/* The counter of a rule stays the same wherever the rule stands and whatever its limit is. */
static void counter_stays(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "{'approval':{'rules':[{'toolName':'stat','action':'budget','budgetLimit':5}]}}",
        ("{'approval':{'rules':[{'toolName':'move','action':'deny'},{'toolName':'stat','action':'budget',"
         "'budgetLimit':9,'budgetPeriod':'daily'}]}}"),
        "{'approval':{'rules':[{'toolName':'stat','action':'budget','budgetLimit':5,'budgetPeriod':'weekly'}]}}",
        "{'approval':{'rules':[{'toolName':'stat','action':'budget','budgetLimit':5,'condition':{'path':'x'}}]}}",
    };
    char keys[4][96];
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct policy *policy = make_policy(rules[i]);
        struct outcome out = judge(policy, "native:stat", "{'path':'x'}");
        assert_int_equal(out.verdict.n_charges, 1);
        snprintf(keys[i], sizeof keys[i], "%s", out.verdict.charges[0].key);
        verdict_done(&out.verdict);
        policy_free(policy);
    }
    assert_string_equal(keys[0], keys[1]);
    assert_string_not_equal(keys[0], keys[2]);
    assert_string_not_equal(keys[0], keys[3]);
}

/* Tools that may be missing, and names that mean several. */
static void taken(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{'approval':{'rules':[{'toolName':'later','action':'deny','optional':true}]}}",
        "{'approval':{'rules':[{'toolName':'later_*','action':'deny','optional':true,'condition':{"
        "'place':{'beneath':'src'}}}]}}",
        "{'policy':{'budgets':[{'toolName':'later','unit':'calls','limit':1,'optional':true}]}}",
        "{'hooks':[{'event':'tool:before','toolName':'later','command':['/x'],'optional':true}]}",
        "{'policy':{'enabled':{'later?':false,'stat?':false,'*':true}}}",
        "{'policy':{'rateLimits':{'later':{'maxCalls':1,'optional':true},'*':{'maxCalls':9}}}}",
        "{'policy':{'resourceLimits':{'later.x':{'maxDuration':1,'optional':true}}}}",
        "{'approval':{'rules':[{'toolName':'{fs.{read,write},stat,time?now}','action':'deny'}]}}",
        "{'approval':{'rules':[{'toolName':'fs_read','action':'deny'},{'toolName':'*_file','action':"
        "'deny'},{'toolName':'http','action':'deny'},{'toolName':'browser','action':'deny'}]}}",
        "{'policy':{'budgets':[{'agent':'nobody','unit':'calls','limit':1}]}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        policy_free(make_policy(rows[i]));
    struct policy *policy = make_policy("{'policy':{'enabled':{'stat?':false}}}");
    expect(policy, "native:stat", "{'path':'x'}", "deny tool_disabled policy.enabled.stat?");
    policy_free(policy);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *field;
        const char *message;
    } rows[] = {
        {"{'approval':{'rules':[{'toolName':'move','action':'deny'},{'toolName':'*','action':'deny',"
         "'condition':{'path':{'benaeth':'x'}}}]}}",
         "approval.rules[1].condition.path.benaeth",
         "approval.rules[1].condition.path.benaeth: unknown test; did you mean beneath?"},
        {"{'approval':{'rules':[{'toolName':'[','action':'deny'}]}}", "approval.rules[0].toolName",
         "approval.rules[0].toolName: "},
        {"{'policy':{'budgets':[{'toolName':'{','unit':'calls','limit':1}]}}",
         "policy.budgets[0].toolName", "policy.budgets[0].toolName: "},
        {"{'policy':{'capabilities':{'filesystem':{'read':['a','../x']}}}}",
         "policy.capabilities.filesystem.read[1]", "must not go up"},
        {"{'agents':{'a':{'capabilities':{'command':true}},'broken':{'capabilities':{'filesystem':{"
         "'read':['[']}}}}}",
         "agents.broken.capabilities.filesystem.read[0]", "no `]` closes this"},
        {"{'hooks':[{'event':'tool:before','toolName':'[','command':['/x']}]}", "hooks[0].toolName",
         "hooks[0].toolName: "},
        {"{'approval':{'rules':[{'toolName':'stat','action':'deny'},{'toolName':'bassh','action':"
         "'deny'}]}}",
         "approval.rules[1].toolName", "no tool is called `bassh`; did you mean `bash`?"},
        {"{'approval':{'rules':[{'toolName':'Bash','action':'deny'}]}}",
         "approval.rules[0].toolName", "did you mean `bash`?"},
        {"{'approval':{'rules':[{'toolName':'bash ','action':'deny'}]}}",
         "approval.rules[0].toolName", "did you mean `bash`?"},
        {"{'approval':{'rules':[{'toolName':'fs.raed','action':'deny'}]}}",
         "approval.rules[0].toolName", "did you mean `fs.read`?"},
        {"{'approval':{'rules':[{'toolName':'fz.*','action':'deny'}]}}",
         "approval.rules[0].toolName", "no tool matches `fz.*`"},
        {"{'approval':{'rules':[{'toolName':'{write_file,edit_fil}','action':'deny'}]}}",
         "approval.rules[0].toolName", "no tool is called `edit_fil`; did you mean `edit_file`?"},
        {"{'approval':{'rules':[{'toolName':'{fs.{read,wirte},stat}','action':'deny'}]}}",
         "approval.rules[0].toolName", "no tool is called `fs.wirte`; did you mean `fs.write`?"},
        {"{'approval':{'rules':[{'toolName':'{*_file,run_*,*_fiel}','action':'deny'}]}}",
         "approval.rules[0].toolName", "no tool matches `*_fiel`"},
        {"{'policy':{'budgets':[{'toolName':'run_comand','unit':'calls','limit':1}]}}",
         "policy.budgets[0].toolName", "did you mean `run_command`?"},
        {"{'hooks':[{'event':'tool:after','toolName':'wriet_file','command':['/x']}]}",
         "hooks[0].toolName", "did you mean `write_file`?"},
        {"{'policy':{'enabled':{'serach':false}}}", "policy.enabled.serach",
         "did you mean `search`?"},
        {"{'policy':{'enabled':{'fs.*':false}}}", "policy.enabled.fs.*", "no tool matches `fs.*`"},
        {"{'policy':{'enabled':{'mine?':false,'mine':false}}}", "policy.enabled.mine", "mine"},
        {"{'policy':{'enabled':{'stat':false,'stat?':true}}}", "policy.enabled.stat?",
         "named twice"},
        {"{'policy':{'rateLimits':{'fs.reed':{'maxCalls':1}}}}", "policy.rateLimits.fs.reed",
         "did you mean `fs.read`?"},
        {"{'policy':{'resourceLimits':{'bsh':{'maxDuration':1}}}}", "policy.resourceLimits.bsh",
         "did you mean `bash`?"},
        {"{'tools':{'bash':{'deniedCommands':['rm','rm -rf']}}}", "tools.bash.deniedCommands[1]",
         "`rm -rf` is no program: write its name"},
        {"{'tools':{'bash':{'deniedCommands':['rm*']}}}", "tools.bash.deniedCommands[0]",
         "without options and patterns"},
        {"{'tools':{'bash':{'allowedCommands':['git status']}}}", "tools.bash.allowedCommands[0]",
         "write a rule with {\"command\": {\"program\": \"git push\"}}"},
        {"{'tools':{'bash':{'allowedCommands':['/usr/bin/']}}}", "tools.bash.allowedCommands[0]",
         "`/usr/bin/` is no program"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        FREE_AT_END char *text = quoted(rows[i].json);
        struct config *config = config_new();
        struct policy *policy = NULL;
        struct err err;
        if (config_apply(config, text_str(text), "test", CONFIG_OPERATOR, NULL, NULL, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(policy_new(&policy, config, &err), -1);
        assert_string_equal(err.field, rows[i].field);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s, not %s", err.message, rows[i].message);
        config_free(config);
    }
}

static void note_step(void *arg, const struct policy_step *step)
{
    buf_addf(arg, "%s %s%s%s\n", step->rule, step->outcome, *step->why ? ": " : "", step->why);
}

static void explained(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'approval':{'rules':[{'toolName':'bash','action':'deny'},"
        "{'toolName':'*_file','action':'deny','condition':{'path':'x'}},"
        "{'toolName':'*','action':'approve','condition':{'path':{'beneath':'src'}}},"
        "{'toolName':'search','action':'prompt'}]},'policy':{'rateLimits':{'search':{'maxCalls':3}},"
        "'resourceLimits':{'search':{'maxDuration':9}}}}");
    BUF_AT_END struct buf steps = BUF_INIT(1 << 16);
    JSON_AT_END yyjson_doc *doc = parsed("{'pattern':'x'}");
    struct policy_call call = make_call("native:search", doc);
    struct verdict verdict;
    struct err err;
    assert_int_equal(policy_judge(policy, &call, &verdict, note_step, &steps, &err), 0);
    assert_string_equal(
        buf_text(&steps),
        "policy.enabled.search allows\n"
        "policy.capabilities allows\n"
        "approval.rules[0] does not match: it is about `bash`\n"
        "approval.rules[1] does not match: it is about `*_file`\n"
        "approval.rules[2] does not match: its condition holds only for a part of the call\n"
        "approval.rules[3] asks\n"
        "policy.rateLimits.search counts: at most 3 calls in 60000 ms\n"
        "policy.resourceLimits.search limits\n");
    verdict_done(&verdict);
    policy_free(policy);
}

/* Approving a command does not let it write to git directories: that takes a rule that grants it. */
static void asked_about_git(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'approval':{'rules':[{'toolName':'run_command','action':'approve','grants':['git'],"
        "'condition':{'command':'make'}},{'toolName':'run_command','action':'approve'}]}}");
    expect(policy, "native:run_command", "{'command':'ls'}", "allow approval.rules[1]");
    expect(policy, "native:run_command", "{'command':'ls','git':true}", "ask approval.rules[1]");
    expect(policy, "native:run_command", "{'command':'make','git':true}",
           "allow approval.rules[0]");
    struct outcome out = judge_as(policy, "native:run_command", "{'command':'ls','git':true}", NULL,
                                  true);
    assert_int_equal(out.verdict.kind, VERDICT_ALLOW);
    verdict_done(&out.verdict);
    policy_free(policy);
    policy = make_policy("{'approval':{'default':'approve'}}");
    expect(policy, "native:run_command", "{'command':'ls','git':true}", "ask approval.default");
    policy_free(policy);
}

static void many_names(void **state)
{
    (void)state;
    struct policy *policy = make_policy("{'policy':{'rateLimits':{'*':{'maxCalls':3}}}}");
    struct verdict verdicts[400];
    for (int i = 0; i < 400; i++) {
        char name[16];
        struct err err;
        snprintf(name, sizeof name, "name%d", i);
        struct policy_call call = {.name = name, .session = ""};
        assert_int_equal(policy_judge(policy, &call, &verdicts[i], NULL, NULL, &err), 0);
        assert_int_equal(verdicts[i].kind, VERDICT_ASK);
    }
    for (int i = 0; i < 400; i++) {
        assert_int_equal(strncmp(verdicts[i].charges[0].rule, "policy.rateLimits", 17), 0);
        verdict_done(&verdicts[i]);
    }
    policy_free(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example),         cmocka_unit_test(defaults),
        cmocka_unit_test(in_overlay),      cmocka_unit_test(beside_layer),
        cmocka_unit_test(leaves_overlay),  cmocka_unit_test(switched_off),
        cmocka_unit_test(granted_paths),   cmocka_unit_test(granted_to_agents),
        cmocka_unit_test(first_match),     cmocka_unit_test(counted),
        cmocka_unit_test(counter_stays),   cmocka_unit_test(taken),
        cmocka_unit_test(refused),         cmocka_unit_test(explained),
        cmocka_unit_test(asked_about_git), cmocka_unit_test(many_names),
    };
    return cmocka_run_group_tests(tests, use_tools, NULL);
}
