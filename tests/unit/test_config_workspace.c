/* What a workspace's own file can and cannot do. */
#include "config_dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MAX 8192

static void note(void *arg, const char *path, const char *why)
{
    assert_non_null(why);
    assert_true(*why);
    buf_addf(arg, "%s ", path);
}

/* Over `operator`, `workspace` has the effect that the operator's adding `effect` would have, and
 * the paths in `ignored` are reported. */
struct tighten_case {
    const char *operator;
    const char *workspace;
    const char *effect;
    const char *ignored;
};

static void check_case(const struct tighten_case *c)
{
    CONFIG_AT_END struct config *config = loaded(c->operator);
    CONFIG_AT_END struct config *expected = loaded(c->operator);
    BUF_AT_END struct buf notes = BUF_INIT(NOTES_MAX);
    struct err err = {0};
    if (apply(config, c->workspace, CONFIG_WORKSPACE, note, &notes, &err) < 0)
        fail_msg("%s: %s", c->workspace, err.message);
    must_apply(expected, c->effect, CONFIG_OPERATOR);
    assert_same(config, expected);
    assert_string_equal(buf_text(&notes), c->ignored);
}

#define BASH(text) "{'tools':{'bash':{" text "}}}"
#define HTTP(text) "{'tools':{'http':{" text "}}}"
#define GUARDS(text) "{'files':{" text "}}"
#define FILES(text) "{'tools':{'filesystem':{" text "}}}"

static void only_tighter_values_count(void **state)
{
    (void)state;
    static const struct tighten_case cases[] = {
        /* lower */
        {"{}", BASH("'timeoutMs':10"), BASH("'timeoutMs':10"), ""},
        {BASH("'timeoutMs':10"), BASH("'timeoutMs':10"), "{}", ""},
        {BASH("'timeoutMs':10"), BASH("'timeoutMs':11"), "{}", "tools.bash.timeoutMs "},
        {"{}", BASH("'timeoutMs':30001,'maxOutputBytes':1"), BASH("'maxOutputBytes':1"),
         "tools.bash.timeoutMs "},
        /* lower, where nothing was limited yet */
        {"{}", "{'policy':{'rateLimits':{'bash':{'maxCalls':9}}}}",
         "{'policy':{'rateLimits':{'bash':{'maxCalls':9}}}}", ""},
        {"{'policy':{'rateLimits':{'*':{'maxCalls':3}}}}",
         "{'policy':{'rateLimits':{'bash':{'maxCalls':9},'other':{'maxCalls':2}}}}",
         "{'policy':{'rateLimits':{'other':{'maxCalls':2}}}}", "policy.rateLimits.bash.maxCalls "},
        {"{}", "{'tools':{'sandbox':{'cpuLimit':0.5}}}", "{'tools':{'sandbox':{'cpuLimit':0.5}}}",
         ""},
        /* lower, where another field holds for an unset one */
        {"{}", "{'agents':{'other':{'tools':{'fs':{'maxReadBytes':50001,'maxWriteBytes':7}}}}}",
         "{'agents':{'other':{'tools':{'fs':{'maxWriteBytes':7}}}}}",
         "agents.other.tools.fs.maxReadBytes "},
        /* raise */
        {"{}", "{'policy':{'rateLimits':{'bash':{'windowMs':60001}}}}",
         "{'policy':{'rateLimits':{'bash':{'windowMs':60001}}}}", ""},
        {"{}", "{'policy':{'rateLimits':{'bash':{'windowMs':59999}}}}", "{}",
         "policy.rateLimits.bash.windowMs "},
        /* false only */
        {"{}", BASH("'enabled':false"), BASH("'enabled':false"), ""},
        {"{}", BASH("'enabled':true"), "{}", ""},
        {BASH("'enabled':false"), BASH("'enabled':true"), "{}", "tools.bash.enabled "},
        {"{}", FILES("'followSymlinks':true"), "{}", "tools.filesystem.followSymlinks "},
        {"{'policy':{'enabled':{'*':false}}}", "{'policy':{'enabled':{'fs.read':true}}}", "{}",
         "policy.enabled.fs.read "},
        {"{}", "{'runtime':{'allowDirectNetwork':true}}", "{}", "runtime.allowDirectNetwork "},
        /* true only */
        {"{}", FILES("'readOnly':true"), FILES("'readOnly':true"), ""},
        {FILES("'readOnly':true"), FILES("'readOnly':false"), "{}", "tools.filesystem.readOnly "},
        /* order of choices */
        {"{'tools':{'browser':{'mode':'full'}}}", "{'tools':{'browser':{'mode':'simple'}}}",
         "{'tools':{'browser':{'mode':'simple'}}}", ""},
        {"{}", "{'tools':{'browser':{'mode':'playwright'}}}", "{}", "tools.browser.mode "},
        {"{}", "{'approval':{'default':'approve'}}", "{}", "approval.default "},
        {"{}", "{'approval':{'default':'prompt'}}", "{'approval':{'default':'prompt'}}", ""},
        {"{'approval':{'default':'approve'}}", "{'approval':{'default':'approve'}}", "{}", ""},
        {"{'approval':{'default':'deny'}}", "{'approval':{'default':'prompt'}}", "{}",
         "approval.default "},
        {"{}", "{'approval':{'inOverlay':'approve'}}", "{}", "approval.inOverlay "},
        {"{}", "{'approval':{'inOverlay':'prompt'}}", "{'approval':{'inOverlay':'prompt'}}", ""},
        {"{'approval':{'default':'deny'}}", "{'approval':{'inOverlay':'prompt'}}", "{}",
         "approval.inOverlay "},
        {"{'approval':{'inOverlay':'prompt'}}", "{'approval':{'inOverlay':'approve'}}", "{}",
         "approval.inOverlay "},
        {"{'approval':{'inOverlay':'approve'}}", "{'approval':{'default':'deny'}}",
         "{'approval':{'inOverlay':'deny','default':'deny'}}", ""},
        {"{'approval':{'inOverlay':'deny'}}", "{'approval':{'default':'prompt'}}",
         "{'approval':{'inOverlay':'deny','default':'prompt'}}", ""},
        {"{'runtime':{'tools':'builtin'}}", "{'runtime':{'tools':'wasm'}}",
         "{'runtime':{'tools':'builtin'}}", "runtime.tools "},
        /* subset, unset leaving all open */
        {"{}", BASH("'allowedCommands':['ls']"), BASH("'allowedCommands':['ls']"), ""},
        {BASH("'allowedCommands':['ls','cat']"), BASH("'allowedCommands':['cat']"),
         BASH("'allowedCommands':['cat']"), ""},
        {BASH("'allowedCommands':['ls']"), BASH("'allowedCommands':['ls','rm']"), "{}",
         "tools.bash.allowedCommands "},
        {BASH("'allowedCommands':[]"), BASH("'allowedCommands':['ls']"), "{}",
         "tools.bash.allowedCommands "},
        /* subset, unset being narrow */
        {"{}", HTTP("'allowedDomains':['evil.example']"), "{}", "tools.http.allowedDomains "},
        {"{}", HTTP("'allowedDomains':[]"), HTTP("'allowedDomains':[]"), ""},
        {"{}", FILES("'allowedDirectories':['/']"), "{}", "tools.filesystem.allowedDirectories "},
        {"{}", BASH("'allowedDirectories':['/etc']"), "{}", "tools.bash.allowedDirectories "},
        {"{}", HTTP("'allowedMethods':['GET']"), HTTP("'allowedMethods':['GET']"), ""},
        {"{}", HTTP("'allowedMethods':['GET','PATCH']"), "{}", "tools.http.allowedMethods "},
        /* naming a domain can open a private address that `*` does not */
        {HTTP("'allowedDomains':['*']"), HTTP("'allowedDomains':['localhost']"), "{}",
         "tools.http.allowedDomains "},
        {FILES("'allowedDirectories':['/srv']"), FILES("'allowedDirectories':['/srv/link']"), "{}",
         "tools.filesystem.allowedDirectories "},
        /* superset */
        {BASH("'deniedCommands':['rm']"), BASH("'deniedCommands':['dd']"),
         BASH("'deniedCommands':['dd','rm']"), ""},
        {"{}", HTTP("'blockedDomains':['a']"), HTTP("'blockedDomains':['a']"), ""},
        /* patterns: behind those that hold, and no exceptions */
        {GUARDS("'secret':['*.key','!a.key']"), GUARDS("'secret':['a.key']"),
         GUARDS("'secret':['*.key','!a.key','a.key']"), ""},
        {GUARDS("'secret':['*.key']"), GUARDS("'secret':['!*.key','x','!y']"),
         GUARDS("'secret':['*.key','x']"), "files.secret[0] files.secret[2] "},
        {GUARDS("'protected':[]"), GUARDS("'protected':['!a']"), "{}", "files.protected[0] "},
        /* never */
        {"{}",
         "{'cell':{'uid':5},'workspace':{'mode':'host'},'audit':{'sync':'always'},'model':{"
         "'baseUrl':'http://evil.example'}}",
         "{}", "audit.sync cell.uid model.baseUrl workspace.mode "},
        {"{}", "{'tools':{'sandbox':{'volumeMounts':{'/':'/host'},'image':'evil','enabled':true}}}",
         "{}", "tools.sandbox.enabled tools.sandbox.image tools.sandbox.volumeMounts./ "},
        /* a name made to play with the terminal */
        {"{}", "{'tools':{'sandbox':{'volumeMounts':{'\\u001b[2J':'/a'}}}}", "{}",
         "tools.sandbox.volumeMounts.?[2J "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_case(&cases[i]);
}

#define CAN(text) "{'policy':{'capabilities':{" text "}}}"
#define AGENT(id, text) "{'agents':{'" id "':{'capabilities':{" text "}}}}"
#define BOTH(can, id, own)                                                                         \
    "{'policy':{'capabilities':{" can "}},'agents':{'" id "':{'capabilities':{" own "}}}}"

static void capabilities_only_shrink(void **state)
{
    (void)state;
    static const struct tighten_case cases[] = {
        {"{}", CAN("'filesystem':{'read':['/a'],'write':[]}"),
         CAN("'filesystem':{'read':['/a'],'write':[]}"), ""},
        {CAN("'filesystem':{'read':['/a','/b']}"), CAN("'filesystem':{'read':['/b']}"),
         CAN("'filesystem':{'read':['/b']}"), ""},
        {CAN("'filesystem':{'write':['/a']}"), CAN("'filesystem':{'write':['/a/b']}"), "{}",
         "policy.capabilities.filesystem.write "},
        {"{}", CAN("'command':false,'model_access':true"), CAN("'command':false"),
         "policy.capabilities.model_access "},
        {CAN("'command':false,'model_access':true"), CAN("'command':true,'model_access':false"),
         CAN("'model_access':false"), "policy.capabilities.command "},
        {"{}", CAN("'network':['a']"), "{}", "policy.capabilities.network "},
        {CAN("'network':['a','b']"), CAN("'network':['b']"), CAN("'network':['b']"), ""},
        {CAN("'network':['*']"), CAN("'network':['localhost']"), "{}",
         "policy.capabilities.network "},
        {"{}", CAN("'env':['CI']"), CAN("'env':['CI']"), ""},
        {CAN("'env':['CI']"), CAN("'env':['*']"), "{}", "policy.capabilities.env "},
        /* of one agent, held against what holds for all */
        {"{}", AGENT("other", "'command':false,'filesystem':{'read':['/a']}"),
         AGENT("other", "'command':false,'filesystem':{'read':['/a']}"), ""},
        {CAN("'command':false,'network':['a']"), AGENT("other", "'command':true,'network':['b']"),
         "{}", "agents.other.capabilities.command agents.other.capabilities.network "},
        {AGENT("*", "'network':['a']"), AGENT("other", "'network':['b']"), "{}",
         "agents.other.capabilities.network "},
        {AGENT("*", "'env':['A','B']"), AGENT("other", "'env':['B']"),
         AGENT("other", "'env':['B']"), ""},
        /* what is taken from all is taken from those who have their own */
        {BOTH("'network':['a','b']", "other", "'network':['b','c']"), CAN("'network':['b']"),
         BOTH("'network':['b']", "other", "'network':['b']"), ""},
        {BOTH("'network':['a']", "*", "'network':['b']"), CAN("'network':['a']"),
         AGENT("*", "'network':[]"), ""},
        {AGENT("other", "'filesystem':{'write':['/a','/b']}"),
         CAN("'filesystem':{'write':['/b','/c']}"),
         BOTH("'filesystem':{'write':['/b','/c']}", "other", "'filesystem':{'write':['/b']}"), ""},
        {AGENT("other", "'command':true"), CAN("'command':false"),
         BOTH("'command':false", "other", "'command':false"), ""},
        {BOTH("'model_access':true", "other", "'model_access':true"), CAN("'model_access':false"),
         BOTH("'model_access':false", "other", "'model_access':false"), ""},
        {BOTH("'model_access':true", "other", "'model_access':false"), CAN("'model_access':true"),
         "{}", ""},
        /* but not by what is itself left out */
        {BOTH("'network':['a']", "other", "'network':['a']"), CAN("'network':['evil']"), "{}",
         "policy.capabilities.network "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_case(&cases[i]);
}

#define BUDGETS(list) "{'policy':{'budgets':[" list "]}}"
#define CALLS(tool, limit) "{'toolName':'" tool "','unit':'calls','limit':" limit "}"
#define HOOK "{'event':'tool:before','command':['/bin/true']}"

static void other_arrays_and_fields(void **state)
{
    (void)state;
    static const struct tighten_case cases[] = {
        /* every budget counts, so that one more only tightens */
        {BUDGETS(CALLS("a", "5")), BUDGETS(CALLS("a", "9") "," CALLS("b", "0")),
         BUDGETS(CALLS("a", "5") "," CALLS("a", "9") "," CALLS("b", "0")), ""},
        {"{}", BUDGETS(CALLS("a", "5")), BUDGETS(CALLS("a", "5")), ""},
        {BUDGETS(CALLS("a", "5")), BUDGETS(""), "{}", ""},
        /* hooks run outside of the sandbox */
        {"{}", "{'hooks':[" HOOK "," HOOK "]}", "{}", "hooks "},
        {"{'hooks':[" HOOK "]}", "{'hooks':[]}", "{}", "hooks "},
        {"{'hooks':[" HOOK "]}", "{'hooks':[" HOOK "],'policy':{'budgets':[" CALLS("a", "1") "]}}",
         BUDGETS(CALLS("a", "1")), "hooks "},
        {"{}", "{'approval':{'maxWaiting':5}}", "{'approval':{'maxWaiting':5}}", ""},
        {"{}", "{'approval':{'maxWaiting':257}}", "{}", "approval.maxWaiting "},
        {"{}",
         "{'audit':{'maxFiles':1,'anchor':['/bin/true'],'anchorMs':100,'redact':['command']}}",
         "{}", "audit.anchor audit.anchorMs audit.maxFiles audit.redact "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_case(&cases[i]);
}

#define RULES(list) "{'approval':{'rules':[" list "]}}"
#define RULE(tool, action) "{'toolName':'" tool "','action':'" action "'}"
#define BUDGET(tool) "{'toolName':'" tool "','action':'budget','budgetLimit':5}"

static void only_stricter_rules_are_added(void **state)
{
    (void)state;
    static const struct tighten_case cases[] = {
        {RULES(RULE("a", "approve")), RULES(RULE("b", "deny") "," RULE("a", "prompt")),
         RULES(RULE("b", "deny") "," RULE("a", "prompt") "," RULE("a", "approve")), ""},
        {RULES(RULE("a", "prompt")), RULES(RULE("a", "approve") "," BUDGET("a")), "{}",
         "approval.rules[0] approval.rules[1] "},
        {"{}", RULES(RULE("a", "approve") "," RULE("b", "deny")), RULES(RULE("b", "deny")),
         "approval.rules[0] "},
        {RULES(RULE("a", "deny")), RULES(""), "{}", ""},
        /* asking first would keep a denial from being reached */
        {RULES(RULE("a", "deny")), RULES(RULE("a", "prompt")), "{}", "approval.rules[0] "},
        {RULES(BUDGET("fs_read")), RULES(RULE("fs.read", "prompt")), "{}", "approval.rules[0] "},
        {RULES(RULE("*", "deny")), RULES(RULE("a", "prompt")), "{}", "approval.rules[0] "},
        {RULES(RULE("a", "deny")), RULES(RULE("*", "prompt")), "{}", "approval.rules[0] "},
        {"{'approval':{'default':'deny'}}", RULES(RULE("a", "prompt")), "{}", "approval.rules[0] "},
        {RULES(RULE("FS.Read", "deny") "," RULE("a", "deny")),
         RULES(RULE("fs_reads", "prompt") "," RULE("fs_read", "prompt") "," RULE("fs", "prompt")),
         RULES(RULE("fs_reads", "prompt") "," RULE("fs", "prompt") "," RULE(
             "FS.Read", "deny") "," RULE("a", "deny")),
         "approval.rules[1] "},
        {RULES(RULE("a", "deny")), RULES(RULE("ab", "prompt")),
         RULES(RULE("ab", "prompt") "," RULE("a", "deny")), ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_case(&cases[i]);
}

/* Random fields, few enough values that they meet. */
static uint32_t random_state = 20240501;

static uint32_t pick(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

static void add_random_value(struct buf *out, const struct config_row *row)
{
    static const char *const words[] = {"*", "a", "b", "c"};
    struct str choice = row->choices ? config_choice_at(row, (int)pick(2)) : (struct str){0};
    int64_t number = row->min + pick(3) * ((row->max - row->min) / 50000);
    if (row->type == CONFIG_BOOL)
        buf_add_text(out, pick(2) ? "true" : "false");
    else if (row->type == CONFIG_CORES)
        buf_addf(out, "%u.5", pick(8));
    else if (row->type == CONFIG_INT || row->type == CONFIG_SIZE)
        buf_addf(out, "%lld", (long long)number);
    else if (row->program)
        buf_addf(out, "['/bin/%s']", words[pick(4)]);
    else if (row->type == CONFIG_LIST)
        for (uint32_t i = 0, n = pick(3); i <= n; i++)
            buf_addf(out, "%s'%.*s'%s", i ? "," : "[", choice.p ? (int)choice.n : 1,
                     choice.p ? choice.p : words[pick(4)], i == n ? "]" : "");
    else if (row->type == CONFIG_RAW)
        buf_add_text(out, "{}");
    else
        buf_addf(out, "'%.*s'", choice.p ? (int)choice.n : 1, choice.p ? choice.p : words[pick(4)]);
}

/* One field as a whole text: its path's names become objects around the value. */
static char *random_text(void)
{
    size_t count;
    const struct config_row *rows = config_rows(&count);
    const struct config_row *row = &rows[pick((uint32_t)count)];
    struct buf out = BUF_INIT(4096);
    size_t depth = 0;
    if (strncmp(row->path, "hooks[", 6) == 0) {
        buf_add_text(&out, "{'hooks':[" HOOK "]}");
    } else if (row->tighten == CONFIG_ADD) {
        buf_addf(&out, BUDGETS("{'toolName':'%s','unit':'calls','limit':%u}"), keys[pick(4)],
                 pick(3));
    } else if (row->tighten == CONFIG_RULE) {
        static const char *const actions[] = {"approve", "deny", "prompt", "budget"};
        buf_addf(&out, "{'approval':{'rules':[{'toolName':'%s','action':'%s','budgetLimit':1}]}}",
                 keys[pick(4)], actions[pick(4)]);
    } else {
        for (const char *at = row->path; at; depth++) {
            size_t n = strcspn(at, ".");
            buf_addf(&out, "{'%.*s':", *at == '*' ? 99 : (int)n, *at == '*' ? keys[pick(4)] : at);
            at = at[n] ? at + n + 1 : NULL;
        }
        add_random_value(&out, row);
        for (; depth; depth--)
            buf_add_char(&out, '}');
    }
    assert_non_null(buf_text(&out));
    return out.data;
}

static bool list_covers(const struct config *outer, const struct config *inner, const char *path,
                        bool unset_is_all)
{
    const struct str *all;
    const struct str *some;
    size_t all_count;
    size_t some_count;
    bool limited = config_list(outer, path, &all, &all_count);
    bool set = config_list(inner, path, &some, &some_count);
    if (!limited && unset_is_all)
        return true;
    if (!set)
        return !limited || !unset_is_all;
    size_t found = 0;
    for (size_t i = 0; i < some_count; i++) {
        for (size_t j = 0; j < all_count; j++) {
            if (some[i].n == all[j].n && memcmp(some[i].p, all[j].p, all[j].n) == 0) {
                found++;
                break;
            }
        }
    }
    return found == some_count;
}

static bool choice_kept(const struct config_row *row, const char *before, const char *after)
{
    if (!before)
        return !after || config_choice(row, text_str(after)) > 0;
    return config_choice(row, text_str(after)) >= config_choice(row, text_str(before));
}

static bool at_least_as_strict(const struct config_row *row, const char *path,
                               const struct config *before, const struct config *after)
{
    switch (row->tighten) {
    case CONFIG_LOWER:
        return config_int(before, path) < row->min ||
               (config_int(after, path) <= config_int(before, path) &&
                config_int(after, path) >= row->min);
    case CONFIG_RAISE:
        return config_int(after, path) >= config_int(before, path);
    case CONFIG_FALSE_ONLY:
        return config_bool(before, path) || !config_bool(after, path);
    case CONFIG_TRUE_ONLY:
        return !config_bool(before, path) || config_bool(after, path);
    case CONFIG_ORDER:
        return choice_kept(row, config_text(before, path), config_text(after, path));
    case CONFIG_SUBSET:
        return list_covers(before, after, path, row->unset_is_all);
    case CONFIG_SUPERSET:
        return list_covers(after, before, path, false);
    case CONFIG_NEVER:
    case CONFIG_RULE:
    case CONFIG_ADD:
        break;
    }
    return true;
}

/* What the first matching rule says: 0 approve, 1 prompt, 2 budget (which may deny), 3 deny. */
static int verdict(const struct config *config, const char *tool)
{
    for (size_t i = 0;; i++) {
        FREE_AT_END char *name_path = mem_format("approval.rules[%zu].toolName", i);
        FREE_AT_END char *action_path = mem_format("approval.rules[%zu].action", i);
        const char *name = config_text(config, name_path);
        const char *action = name ? config_text(config, action_path)
                                  : config_text(config, "approval.default");
        if (!action || (name && strcmp(name, "*") != 0 && strcmp(name, tool) != 0)) {
            if (!name)
                return 0;
            continue;
        }
        return *action == 'a' ? 0 : *action == 'p' ? 1 : *action == 'b' ? 2 : 3;
    }
}

/* The least that is left of a tool's calls a day, or -1 where no budget counts them. */
static int64_t budget_of(const struct config *config, const char *tool)
{
    int64_t least = -1;
    for (size_t i = 0; i < config_count(config, "policy.budgets"); i++) {
        FREE_AT_END char *tool_path = mem_format("policy.budgets[%zu].toolName", i);
        FREE_AT_END char *limit_path = mem_format("policy.budgets[%zu].limit", i);
        const char *name = config_text(config, tool_path);
        int64_t limit = config_int(config, limit_path);
        if ((strcmp(name, "*") == 0 || strcmp(name, tool) == 0) && (least < 0 || limit < least))
            least = limit;
    }
    return least;
}

static void assert_not_loosened(const struct config *before, const struct config *after,
                                const char *text)
{
    size_t count;
    const struct config_row *rows = config_rows(&count);
    for (size_t i = 0; i < count; i++) {
        for (size_t key = 0; key < ARRAY_LEN(keys); key++) {
            FREE_AT_END char *path = concrete(&rows[i], key);
            if (!at_least_as_strict(&rows[i], path, before, after))
                fail_msg("%s loosened %s", text, path);
        }
    }
    for (size_t key = 0; key < ARRAY_LEN(keys); key++) {
        if (verdict(after, keys[key]) < verdict(before, keys[key]))
            fail_msg("%s loosened the rules for %s", text, keys[key]);
        int64_t had = budget_of(before, keys[key]);
        int64_t has = budget_of(after, keys[key]);
        if (had >= 0 && (has < 0 || has > had))
            fail_msg("%s loosened the budgets of %s", text, keys[key]);
    }
    assert_int_equal(config_count(before, "hooks"), config_count(after, "hooks"));
}

static void random_workspaces_never_loosen(void **state)
{
    (void)state;
    for (int round = 0; round < 150; round++) {
        CONFIG_AT_END struct config *config = config_new();
        struct err err;
        for (uint32_t i = 0, n = pick(40); i < n; i++) {
            FREE_AT_END char *text = random_text();
            apply(config, text, CONFIG_OPERATOR, NULL, NULL, &err);
        }
        for (uint32_t i = 0, n = pick(40); i < n; i++) {
            CONFIG_AT_END struct config *before = config_clone(config);
            FREE_AT_END char *text = random_text();
            must_apply(config, text, CONFIG_WORKSPACE);
            assert_not_loosened(before, config, text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_tighter_values_count),
        cmocka_unit_test(capabilities_only_shrink),
        cmocka_unit_test(other_arrays_and_fields),
        cmocka_unit_test(only_stricter_rules_are_added),
        cmocka_unit_test(random_workspaces_never_loosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
