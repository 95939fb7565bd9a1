/* Rules, agents and calls made at random: the verdict is that of the slow judge, with and without an explanation. */
#include "judge_parts.h"

#include "random.h"
#include "slow_judge.h"

#define ROUNDS 2200
#define CALLS 10

static const char *pick(const char *const *words, size_t n)
{
    return words[random_below(n)];
}

#define PICK(...)                                                                                  \
    pick((const char *const[]){__VA_ARGS__}, ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static bool one_in(size_t n)
{
    return random_below(n) == 0;
}

static const char *make_name(void)
{
    return PICK("a", "b", "src", "key");
}

static void add_path(struct buf *out, bool mounted)
{
    if (mounted && !one_in(12))
        buf_addf(out, "%s/", PICK("@project", "@state"));
    else if (one_in(8))
        buf_add_text(out, PICK("/workspace/", "./", "/home/u/p/", "/etc/", ".//"));
    for (size_t n = random_below(3); n > 0; n--)
        buf_addf(out, "%s/", one_in(25) ? PICK("..", ".") : make_name());
    buf_add_text(out, make_name());
}

static void add_rule_path(struct buf *out)
{
    if (one_in(4))
        buf_addf(out, "%s/", PICK("@project", "@state"));
    if (one_in(2))
        buf_addf(out, "%s/", make_name());
    buf_add_text(out, one_in(8) ? "." : make_name());
}

static void add_path_glob(struct buf *out)
{
    buf_add_text(out, PICK("**", "*", "src/**", "src/*", "*/key", "**/key", "@project/**",
                           "@*/src/**", "{a,b}/**", "a/b/*", "src", "[ab]/*", "@state/*"));
}

static void add_program(struct buf *out)
{
    buf_add_text(out, PICK("git", "git commit", "git push", "npm", "npm run", "npm run test", "ls",
                           "rm", "sudo", "make", "make test", "make deploy"));
}

static void add_command(struct buf *out)
{
    for (size_t n = random_below(3) + 1; n > 0; n--) {
        if (one_in(10))
            buf_add_text(out, "A=1 ");
        if (one_in(10))
            buf_add_text(out, "sudo ");
        buf_add_text(out,
                     PICK("git commit -m x", "git push", "git", "git $X", "npm run test", "npm run",
                          "npm test", "ls", "ls -l", "rm x", "/bin/rm x", "./git push", "$X",
                          "cat x", "git-push", "/lib/git-push x", "make", "make test",
                          "make test deploy", "make deploy test", "make test $X"));
        if (one_in(12))
            buf_add_text(out, " > x");
        if (n > 1)
            buf_add_text(out, PICK(" ; ", " && ", " | "));
    }
    if (one_in(20))
        buf_add_text(out, " \\\"");
}

static void add_list(struct buf *out, void (*add)(struct buf *out))
{
    size_t n = random_below(3) + 1;
    buf_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        buf_add_text(out, i ? ",\"" : "\"");
        add(out);
        buf_add_char(out, '"');
    }
    buf_add_char(out, ']');
}

static void add_one_or_list(struct buf *out, void (*add)(struct buf *out))
{
    if (one_in(2)) {
        add_list(out, add);
        return;
    }
    buf_add_char(out, '"');
    add(out);
    buf_add_char(out, '"');
}

static void add_path_test(struct buf *out)
{
    switch (random_below(7)) {
    case 0:
        buf_add_text(out, "\"in\":");
        add_list(out, add_rule_path);
        break;
    case 1:
        buf_add_text(out, "\"glob\":\"");
        add_path_glob(out);
        buf_add_char(out, '"');
        break;
    case 2:
        buf_addf(out, "\"regex\":\"%s\"", PICK("^src", "key$", "^a/b$", "@project", "b"));
        break;
    case 3:
        buf_addf(out, "\"exists\":%s", PICK("true", "false"));
        break;
    case 4:
        buf_add_text(out, "\"equals\":\"");
        add_rule_path(out);
        buf_add_char(out, '"');
        break;
    default:
        buf_add_text(out, "\"beneath\":");
        add_one_or_list(out, add_rule_path);
    }
}

static void add_text(struct buf *out)
{
    buf_add_text(out, PICK("git push", "ls", "rm x", "-m", "push", "read", "write", "a"));
}

static void add_text_test(struct buf *out)
{
    switch (random_below(4)) {
    case 0:
        buf_add_text(out, "\"in\":");
        add_list(out, add_text);
        break;
    case 1:
        buf_addf(out, "\"glob\":\"%s\"", PICK("rm *", "*", "git *", "*x", "/bin/*", "-?"));
        break;
    case 2:
        buf_addf(out, "\"regex\":\"%s\"", PICK("^git", "rm", "x$", "[$]X", "^ls$"));
        break;
    default:
        buf_add_text(out, "\"equals\":\"");
        add_text(out);
        buf_add_char(out, '"');
    }
}

static void add_member(struct buf *out)
{
    switch (random_below(10)) {
    case 0:
    case 1:
    case 2:
        buf_addf(out, "\"%s\":{", PICK("path", "path", "path", "from", "to", "cwd"));
        add_path_test(out);
        buf_add_char(out, '}');
        break;
    case 3:
    case 4:
        buf_add_text(out, "\"command\":{\"program\":");
        add_one_or_list(out, add_program);
        buf_add_char(out, '}');
        break;
    case 5:
        buf_addf(out, "\"%s\":{", PICK("command", "command", "args"));
        add_text_test(out);
        buf_add_char(out, '}');
        break;
    case 6:
        buf_addf(out, "\"recursive\":%s", PICK("true", "false", "{\"exists\":true}"));
        break;
    case 7:
        buf_addf(out, "\"timeout_ms\":{\"%s\":%d}", PICK("less", "greater", "atMost", "atLeast"),
                 ((int)random_below(3) + 1) * 30000);
        break;
    case 8:
        buf_addf(out, "\"url\":{\"domain\":\"%s\"}", PICK("a.org", "x.a.org", "b.org"));
        break;
    default:
        buf_addf(out, "\"operation\":\"%s\"", PICK("read", "write", "list"));
    }
}

static void add_condition(struct buf *out, int depth)
{
    buf_add_char(out, '{');
    if (depth < 3 && one_in(5)) {
        if (one_in(2)) {
            buf_add_text(out, "\"not\":");
            add_condition(out, depth + 1);
        } else {
            buf_addf(out, "\"%s\":[", PICK("any", "all"));
            add_condition(out, depth + 1);
            buf_add_char(out, ',');
            add_condition(out, depth + 1);
            buf_add_char(out, ']');
        }
    } else {
        add_member(out);
    }
    buf_add_char(out, '}');
}

/* Two conditions in one object, where their keys differ. */
static void add_rule_condition(struct buf *out)
{
    if (!one_in(3)) {
        add_condition(out, 0);
        return;
    }
    buf_add_text(out, "{\"all\":[");
    add_condition(out, 1);
    buf_add_text(out, "],");
    add_member(out);
    buf_add_char(out, '}');
}

static struct policy *policy_of(struct str text)
{
    struct config *config = config_new();
    struct policy *policy = NULL;
    struct err err;
    if (config_apply(config, text, "test", CONFIG_OPERATOR, NULL, NULL, &err) < 0 ||
        policy_new(&policy, config, &err) < 0) {
        if (!strstr(err.message, "no tool that the rule is about"))
            fail_msg("%s: %.*s", err.message, (int)text.n, text.p);
    }
    config_free(config);
    return policy;
}

static void make_rule(struct buf *out)
{
    const char *action = PICK("approve", "approve", "deny", "prompt", "budget");
    buf_addf(out, "{\"toolName\":\"%s\",\"action\":\"%s\"%s,\"optional\":true",
             PICK("*", "*", "read_file", "*_file", "run_command", "fs.*", "fs_read", "bash",
                  "filesystem", "http", "{delete,move}", "search", "list_files", "other",
                  "time?now", "*e*"),
             action, strcmp(action, "budget") == 0 ? ",\"budgetLimit\":5" : "");
    if (!one_in(12)) {
        buf_add_text(out, ",\"condition\":");
        add_rule_condition(out);
    }
    buf_add_char(out, '}');
}

/* Until it is not about an argument that its tools do not have. */
static void add_rule(struct buf *out)
{
    for (;;) {
        BUF_AT_END struct buf rule = BUF_INIT(1 << 16);
        BUF_AT_END struct buf config = BUF_INIT(1 << 16);
        make_rule(&rule);
        buf_addf(&config, "{\"approval\":{\"rules\":[%s]}}", buf_text(&rule));
        struct policy *policy = policy_of(buf_str(&config));
        policy_free(policy);
        if (!policy)
            continue;
        buf_add(out, rule.data, rule.len);
        return;
    }
}

static void add_rules(struct buf *out, const char *in_overlay, size_t n)
{
    buf_add_text(out, "\"approval\":{");
    if (one_in(2))
        buf_addf(out, "\"default\":\"%s\",", PICK("approve", "prompt", "deny"));
    if (in_overlay)
        buf_addf(out, "\"inOverlay\":\"%s\",", in_overlay);
    buf_add_text(out, "\"rules\":[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_char(out, ',');
        add_rule(out);
    }
    buf_add_text(out, "]}");
}

static void add_grants(struct buf *out)
{
    const char *comma = "";
    buf_add_text(out, "{");
    if (one_in(3)) {
        buf_addf(out, "\"filesystem\":{\"%s\":", PICK("read", "write"));
        add_list(out, add_path_glob);
        buf_add_char(out, '}');
        comma = ",";
    }
    if (one_in(4)) {
        buf_addf(out, "%s\"command\":%s", comma, PICK("true", "false"));
        comma = ",";
    }
    if (!one_in(4))
        buf_addf(out, "%s\"network\":[\"%s\"]", comma, PICK("a.org", "b.org", "x.a.org"));
    buf_add_char(out, '}');
}

/* What holds in overlays is not by chance: the same calls are judged with it and without. */
static void add_config(struct buf *out, unsigned round)
{
    buf_add_char(out, '{');
    static const char *const in_overlay[] = {NULL, "approve", "prompt", "deny", NULL};
    add_rules(out, in_overlay[round % ARRAY_LEN(in_overlay)], one_in(10) ? 60 : random_below(12));
    buf_add_text(out, ",\"policy\":{\"capabilities\":");
    add_grants(out);
    if (one_in(4))
        buf_addf(out, ",\"enabled\":{\"%s\":%s}",
                 PICK("fs_read", "bash", "search", "http", "time.now"), PICK("true", "false"));
    buf_add_text(out, "},\"agents\":{\"bob\":{\"capabilities\":");
    add_grants(out);
    buf_add_text(out, "}}}");
}

static void add_arguments(struct buf *out, const struct slow_tool *tool)
{
    bool mounted = tool->dialect && strcmp(tool->dialect, "toolhost") == 0;
    const char *comma = "";
    buf_add_char(out, '{');
    for (int i = 0; i < 3 && tool->paths[i]; i++) {
        if (tool->optional && one_in(2))
            continue;
        if (tool->base64 && strcmp(tool->paths[i], "path") == 0 && one_in(8)) {
            buf_addf(out, "%s\"path_b64\":\"" SLOW_ENCODED "\"", comma);
        } else {
            buf_addf(out, "%s\"%s\":\"", comma, tool->paths[i]);
            add_path(out, mounted);
            buf_add_char(out, '"');
        }
        comma = ",";
    }
    if (tool->tree == 2 && one_in(2)) {
        buf_addf(out, "%s\"recursive\":%s", comma, PICK("true", "false"));
        comma = ",";
    }
    if (strcmp(tool->name, "run_command") == 0) {
        if (one_in(4)) {
            buf_addf(out, "%s\"argv\":[\"%s\",\"%s\"]", comma, PICK("git", "ls", "rm"),
                     PICK("push", "commit", "x", "-m"));
        } else {
            buf_addf(out, "%s\"command\":\"", comma);
            add_command(out);
            buf_addf(out, "\"%s", PICK("", "", "", ",\"env\":{\"A\":\"b\"}", ",\"timeout_ms\":1"));
        }
    } else if (strcmp(tool->name, "bash") == 0) {
        buf_addf(out, "%s\"command\":\"%s\"%s", comma, PICK("git", "ls", "rm", "git push"),
                 PICK("", ",\"args\":[\"push\"]", ",\"args\":[\"commit\",\"-m\"]", ",\"args\":[]"));
    } else if (strcmp(tool->name, "filesystem") == 0) {
        buf_addf(out, ",\"operation\":\"%s\"", PICK("read", "write", "list", "stat", "delete"));
    } else if (strcmp(tool->name, "http") == 0) {
        buf_addf(out, "\"method\":\"GET\",\"url\":\"%s\"",
                 PICK("https://a.org/x", "https://X.A.org:80", "https://a.org@b.org/",
                      "https://xa.org", "a.org", "https://b.org.?x", "https://a.org\\\\@b.org"));
    }
    /* Some dialects let pass what their tools do not take. */
    if (one_in(4) && out->data[out->len - 1] != '{') {
        static const char *const extra[][2] = {
            {"path", "\"src/key\""},     {"from", "\"../x\""}, {"recursive", "true"},
            {"command", "\"git push\""}, {"url", "\"a\""},     {"timeout_ms", "1"},
        };
        size_t which = random_below(ARRAY_LEN(extra));
        char key[40];
        snprintf(key, sizeof key, "\"%s\":", extra[which][0]);
        if (tool->takes && !strstr(buf_text(out), key) && !strstr(buf_text(out), "_b64"))
            buf_addf(out, ",%s%s", key, extra[which][1]);
    }
    buf_add_char(out, '}');
}

static void ignore_step(void *arg, const struct policy_step *step)
{
    (void)arg;
    (void)step;
}

static unsigned seen[3];
static unsigned judged;

static void compare(struct policy *policy, const struct slow_call *slow,
                    const struct slow_verdict *expected, struct str config, struct str arguments)
{
    static const char *const kinds[] = {"allow", "ask", "deny"};
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", slow->tool->dialect ? slow->tool->dialect : "",
             slow->tool->dialect ? ":" : "", slow->tool->name);
    for (int explain = 0; explain < 2; explain++) {
        struct policy_call call = make_call(name, NULL);
        call.arguments = slow->arguments;
        call.agent = slow->agent;
        call.own_hand = slow->own_hand;
        call.overlay = slow->overlay;
        struct verdict verdict;
        struct err err = {.message = ""};
        policy_judge(policy, &call, &verdict, explain ? ignore_step : NULL, NULL, &err);
        if (strcmp(kinds[verdict.kind], expected->kind) != 0 ||
            strcmp(verdict.rule, expected->rule) != 0)
            fail_msg("%s %s for %s: %s by %s, but %s by %s (%s)\n%.*s\n%.*s", name,
                     explain ? "explained" : "judged", call.agent ? call.agent : "nobody",
                     kinds[verdict.kind], verdict.rule, expected->kind, expected->rule, err.message,
                     (int)arguments.n, arguments.p, (int)config.n, config.p);
        seen[verdict.kind]++;
        verdict_done(&verdict);
    }
    judged++;
}

static void same_verdicts(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(ROUNDS); round++) {
        BUF_AT_END struct buf config = BUF_INIT(1 << 20);
        add_config(&config, round);
        struct policy *policy = policy_of(buf_str(&config));
        JSON_AT_END yyjson_doc *doc = parsed_bytes(buf_str(&config), JSON_STRICT);
        for (int i = 0; policy && i < CALLS; i++) {
            BUF_AT_END struct buf arguments = BUF_INIT(1 << 16);
            struct slow_call call = {
                .tool = &slow_tools[random_below(ARRAY_LEN(slow_tools))],
                .agent = PICK(NULL, "bob", "eve"),
                .own_hand = one_in(4),
                .overlay = i % 3 == 0,
            };
            add_arguments(&arguments, call.tool);
            JSON_AT_END yyjson_doc *given = parsed_bytes(buf_str(&arguments), JSON_STRICT);
            call.arguments = yyjson_doc_get_root(given);
            struct slow_verdict expected = slow_judge(&call, yyjson_doc_get_root(doc));
            compare(policy, &call, &expected, buf_str(&config), buf_str(&arguments));
        }
        policy_free(policy);
    }
    print_message("%u calls judged twice: %u allowed, %u asked about, %u denied\n", judged, seen[0],
                  seen[1], seen[2]);
    assert_true(judged >= 20000);
    for (int i = 0; i < 3; i++)
        assert_true(seen[i] > judged / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_verdicts)};
    return cmocka_run_group_tests(tests, use_tools, NULL);
}
