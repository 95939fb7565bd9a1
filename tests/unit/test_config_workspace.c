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
        {"{}", "{'runtime':{'tools':'wasm'}}", "{}", "runtime.tools "},
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
    if (row->tighten == CONFIG_RULE) {
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
    }
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
        cmocka_unit_test(only_stricter_rules_are_added),
        cmocka_unit_test(random_workspaces_never_loosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
