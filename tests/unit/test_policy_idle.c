/* Settings that would do nothing: they are refused at the start, with what to write instead, and a rule that an earlier one
 * hides is told. */
#include <cmocka.h>
#include <stdio.h>

#include "judge_parts.h"

/* NULL: it is taken. The text is overwritten by the next call. */
static const char *refusal(const char *json)
{
    static struct err err;
    FREE_AT_END char *text = quoted(json);
    struct config *config = config_new();
    struct policy *policy = NULL;
    bool taken = config_apply(config, text_str(text), "test", CONFIG_OPERATOR, NULL, NULL, &err) ==
                     0 &&
                 policy_new(&policy, config, &err) == 0;
    policy_free(policy);
    config_free(config);
    return taken ? NULL : err.message;
}

#define RULE(tool, rest) "{'approval':{'rules':[{'toolName':'" tool "'," rest "}]}}"
#define DENY(tool, condition) RULE(tool, "'action':'deny','condition':" condition)
#define PROGRAM(text) DENY("run_command", "{'command':{'program':" text "}}")

struct row {
    const char *json;
    const char *words; /* NULL: it is taken */
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *why = refusal(rows[i].json);
        if (!why != !rows[i].words || (why && !strstr(why, rows[i].words)))
            fail_msg("%s: %s", rows[i].json, why ? why : "is taken");
    }
}

static void programs(void **state)
{
    (void)state;
    static const char no[] = "must be a program such as \"git\"";
    static const struct row rows[] = {
        {PROGRAM("['rm,ls']"), no},
        {PROGRAM("['rm','ls,cat']"), no},
        {PROGRAM("'rm\\t'"), no},
        {PROGRAM("'rm\\u200b'"), no},
        {PROGRAM("'\\u202erm'"), no},
        {PROGRAM("'git\\u00a0push'"), no},
        {PROGRAM("'git pu\\u200bsh'"), no},
        {PROGRAM("'git:push'"), no},
        {PROGRAM("'-rf'"), no},
        {PROGRAM("'git push,pull'"), no},
        {PROGRAM("'git push origin'"), "name \"git push\""},
        {PROGRAM("['rm','git push','npm run build:a','gradle :app:test','mvn a:b','[',':','./x']"),
         NULL},
    };
    check(rows, ARRAY_LEN(rows));
}

static void paths(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {DENY("write_file", "{'path':{'beneath':'src/**'}}"), "not a pattern"},
        {DENY("write_file", "{'path':{'beneath':['a','src/*']}}"), "not a pattern"},
        {DENY("write_file", "{'path':'src/*'}"), "not a pattern"},
        {DENY("write_file", "{'path':{'in':['src/*.c']}}"), "not a pattern"},
        {DENY("run_command", "{'cwd':{'beneath':'src/*'}}"), "not a pattern"},
        {DENY("write_file", "{'path':{'glob':'src/'}}"), "\"src/**\""},
        {DENY("write_file", "{'path':{'beneath':'~/x'}}"), "is not read by a shell"},
        {DENY("write_file", "{'path':'~'}"), "is not read by a shell"},
        {DENY("write_file", "{'path':{'beneath':'$HOME'}}"), "is not read by a shell"},
        {DENY("write_file", "{'path':{'beneath':'src '}}"), "blanks"},
        {DENY("write_file", "{'path':{'beneath':'src\\n'}}"), "not seen"},
        {DENY("write_file", "{'path':{'beneath':'src\\u200b'}}"), "not seen"},
        {DENY("write_file", "{'path':{'beneath':['src/','./a b','app/[id]','~x']}}"), NULL},
        {DENY("write_file", "{'path':{'glob':'src/**'}}"), NULL},
        {DENY("run_command", "{'command':{'glob':'ls /'}}"), NULL},
        {DENY("filesystem", "{'operation':'wirte'}"), "never is that"},
        {DENY("filesystem", "{'operation':'write'}"), NULL},
    };
    check(rows, ARRAY_LEN(rows));
}

static void fields(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {RULE("run_command", "'action':'approve','budgetLimit':1"), "\"action\": \"budget\""},
        {RULE("run_command", "'action':'deny','budgetPeriod':'daily'"), "\"action\": \"budget\""},
        {RULE("run_command", "'action':'prompt','budgetLimit':0"), "\"action\": \"budget\""},
        {RULE("run_command", "'action':'budget','budgetLimit':0,'budgetPeriod':'daily'"), NULL},
        {RULE("write_file", "'action':'approve','grants':['git']"), "runs no commands"},
        {RULE("{read_file,stat}", "'action':'approve','grants':['git']"), "runs no commands"},
        {RULE("{stat,run_command}", "'action':'approve','grants':['git']"), NULL},
        {RULE("later", "'action':'approve','grants':['git'],'optional':true"), NULL},
        {RULE("run_command", "'action':'approve','grants':[]"), "grants nothing"},
        {DENY("run_command", "{'timeout_ms':{'less':5,'greater':10}}"), "above and below"},
        {DENY("run_command", "{'timeout_ms':{'less':5,'atLeast':5}}"), "above and below"},
        {DENY("run_command", "{'timeout_ms':{'atMost':5,'atLeast':5}}"), NULL},
        {DENY("run_command", "{'timeout_ms':{'less':50,'greater':10}}"), NULL},
        {DENY("run_command", "{'timeout_ms':{'less':7,'greater':5}}"), NULL},
        {DENY("run_command", "{'timeout_ms':{'less':2}}"), NULL},
        {DENY("run_command", "{'timeout_ms':{'atLeast':86400000}}"), NULL},
        {DENY("run_command", "{'timeout_ms':5.0}"), NULL},
        {DENY("run_command", "{'env.CC':{'glob':'g*'},'env.A':{'exists':true}}"), NULL},
        {DENY("read_file", "{'encoding':{'glob':'*8'}}"), NULL},
        {DENY("run_command", "{'timeout_ms':{'less':6,'atMost':5,'atLeast':5}}"), NULL},
        {DENY("run_command", "{'timeout_ms':{'greater':4,'atMost':5,'atLeast':5}}"), NULL},
        {DENY("run_command", "{'timeout_ms':{'less':5,'atMost':5,'atLeast':5}}"), "above and below"},
        {DENY("run_command", "{'stdin':{'exists':false,'equals':'x'}}"), "not given"},
        {DENY("write_file", "{'path':{'glob':''}}"), "matches nothing"},
        {"{'agents':{'build-*':{'capabilities':{'command':false}}}}", "write each name"},
        {"{'agents':{'{a,b}':{'capabilities':{'command':false}}}}", "write each name"},
        {"{'agents':{'*':{'capabilities':{'command':false}}}}", NULL},
        {"{'agents':{'build-1':{'capabilities':{'command':false}}}}", NULL},
        {"{'policy':{'rateLimits':{'run_command':{'windowMs':5}}}}", "set `maxCalls`"},
        {"{'policy':{'rateLimits':{'*':{'windowMs':5}}}}", "set `maxCalls`"},
        {"{'policy':{'rateLimits':{'run_command':{'maxCalls':5}}}}", NULL},
        {"{'policy':{'rateLimits':{'run_command':{'windowMs':5},'*':{'maxCalls':5}}}}", NULL},
    };
    check(rows, ARRAY_LEN(rows));
}

static void note(void *arg, const char *rule, const char *earlier)
{
    char *out = arg;
    size_t n = strlen(out);
    snprintf(out + n, 256 - n, "%s<%s ", rule, earlier);
}

static void unreached(void **state)
{
    (void)state;
#define RULES "{'approval':{'rules':["
#define ALL(tool) "{'toolName':'" tool "','action':'approve'}"
#define SOME(tool)                                                                                 \
    "{'toolName':'" tool "','action':'deny','condition':{'command':{'program':'rm'}}}"
    static const char *const rows[][2] = {
        {RULES ALL("run_command") "," SOME("run_command") "]}}",
         "approval.rules[1]<approval.rules[0] "},
        {RULES ALL("*") "," SOME("run_command") "," ALL("stat") "]}}",
         "approval.rules[1]<approval.rules[0] approval.rules[2]<approval.rules[0] "},
        {RULES SOME("run_command") "," ALL("run_*") "," SOME("run_command") "]}}",
         "approval.rules[2]<approval.rules[0] "},
        {RULES SOME("run_command") "," SOME("run_*") "," ALL("run_command") "," ALL("*") "]}}", ""},
        {RULES ALL("stat") "," ALL("*") "]}}", ""},
        {RULES SOME("run_command") "," SOME("run_command") "]}}",
         "approval.rules[1]<approval.rules[0] "},
        {RULES SOME("*") "," SOME("run_command") "]}}",
         "approval.rules[1]<approval.rules[0] "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char told[256] = "";
        struct policy *policy = make_policy(rows[i][0]);
        policy_each_unreached(policy, note, told);
        assert_string_equal(told, rows[i][1]);
        policy_free(policy);
    }
}

static void note_unknown(void *arg, const char *rule, const char *program, const char *subcommand)
{
    char *out = arg;
    size_t n = strlen(out);
    (void)rule;
    snprintf(out + n, 256 - n, "%s %s;", program, subcommand);
}

/* Only of programs whose subcommands are all known. */
static void unknown_subcommands(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"'git pusg'", "git pusg;"},
        {"'git push','git stash drop','git remote add'", ""},
        {"'docker pus','docker push','docker image push','docker compose up'", "docker pus;"},
        {"'kubectl delet','kubectl delete','kubectl rollout restart'", "kubectl delet;"},
        {"'gh pr merge','gh api'", ""},
        {"'cargo publish','cargo publsh'", "cargo publsh;"},
        {"'make deploi','npm run deploi','ls','git'", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char told[256] = "";
        FREE_AT_END char *rules =
            mem_format("{'approval':{'rules':[{'toolName':'run_command','action':'deny','condition':"
                       "{'any':[{'command':{'program':[%s]}}]}}]}}",
                       rows[i][0]);
        struct policy *policy = make_policy(rules);
        policy_each_unknown(policy, note_unknown, told);
        assert_string_equal(told, rows[i][1]);
        policy_free(policy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs),
        cmocka_unit_test(paths),
        cmocka_unit_test(fields),
        cmocka_unit_test(unreached),
        cmocka_unit_test(unknown_subcommands),
    };
    return cmocka_run_group_tests(tests, use_tools, NULL);
}
