/* The folder that a command works in: git runs what the settings of the repository there say, and a program by a relative
 * path is another file there. An approval is for the workspace, or for the folder that the rule names. */
#include <cmocka.h>

#include "judge_parts.h"

static struct policy *with_condition(const char *condition)
{
    FREE_AT_END char *json = mem_format(
        "{'approval':{'rules':[{'toolName':'run_command','action':'approve',"
        "'condition':{%s}}]}}",
        condition);
    return make_policy(json);
}

/* NULL: nobody is asked; else the reason, which the next call overwrites. */
static const char *why_asked(const struct policy *policy, const char *arguments)
{
    static char why[sizeof((struct verdict *)0)->why];
    JSON_AT_END yyjson_doc *doc = parsed(arguments);
    struct policy_call call = make_call("native:run_command", doc);
    struct verdict verdict;
    struct err err;
    assert_int_equal(policy_judge(policy, &call, &verdict, NULL, NULL, &err), 0);
    bool allowed = verdict.kind == VERDICT_ALLOW;
    memcpy(why, verdict.why, sizeof why);
    verdict_done(&verdict);
    return allowed ? NULL : why;
}

#define GIT                                                                                        \
    "'command':{'program':['git status','git grep','git add','git commit','git describe','cd',"    \
    "'mkdir','find','gh','git-lfs']}"
#define RUN "'command':{'program':['./run.sh','sub/tool','cd','find','sh']}"

struct row {
    const char *condition;
    const char *arguments;
    const char *word; /* in the question; NULL: nobody is asked */
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct policy *policy = with_condition(rows[i].condition);
        const char *why = why_asked(policy, rows[i].arguments);
        if (!why != !rows[i].word)
            fail_msg("%s by %s: %s", rows[i].arguments, rows[i].condition,
                     why ? why : "nobody is asked");
        if (why && !strstr(why, rows[i].word))
            fail_msg("%s by %s: %s", rows[i].arguments, rows[i].condition, why);
        policy_free(policy);
    }
}

static void git_of_another_folder(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {GIT, "{'command':'git -C bare status'}", "-C"},
        {GIT, "{'command':'git -C bare status; mkdir -p mm'}", "-C"},
        {GIT, "{'command':'git -C bare grep 1'}", "-C"},
        {GIT, "{'command':'git -C bare commit -m x'}", "-C"},
        {GIT, "{'command':'git -C . -C bare status'}", "-C"},
        {GIT, "{'command':'git -C $x status'}", "$x"},
        {GIT, "{'command':'git -C /workspace/bare status'}", "-C"},
        {GIT, "{'command':'git --git-dir=bare status'}", "--git-dir"},
        {GIT, "{'command':'git --work-tree=bare status'}", "--work-tree"},
        {GIT, "{'command':'GIT_DIR=bare git status'}", "variable"},
        {GIT, "{'command':'git status','env':{'GIT_DIR':'bare'}}", "variables"},
        {GIT, "{'command':'git status','cwd':'bare'}", "bare"},
        {GIT, "{'argv':['git','status'],'cwd':'bare'}", "bare"},
        {GIT, "{'argv':['git','-C','bare','status']}", "-C"},
        {GIT, "{'command':'git status','cwd':'bare/..'}", "bare"},
        {GIT, "{'command':'cd bare && git status'}", "bare"},
        {GIT, "{'command':'cd .; cd bare; git describe'}", "bare"},
        {GIT, "{'command':'cd /workspace && cd bare && git status'}", "bare"},
        {GIT, "{'command':'cd /workspace/bare; git status'}", "bare"},
        {GIT, "{'command':'cd - && git status'}", "-"},
        {GIT, "{'command':'cd && git status'}", "cd"},
        {GIT, "{'command':'(cd bare && git status)'}", "bare"},
        {GIT, "{'command':'mkdir $(cd bare && git status)'}", "bare"},
        {GIT, "{'command':'find . -execdir git status \\\\;'}", "-execdir"},
        {GIT, "{'command':'sh -c \\\"cd bare; git status\\\"'}", "bare"},
        {GIT, "{'command':'cd bare && gh pr status'}", "bare"},
        {GIT, "{'command':'git-lfs ls-files','cwd':'bare'}", "bare"},
        {GIT ",'any':[{'cwd':'bare'},{'timeout_ms':{'exists':false}}]",
         "{'command':'git status','cwd':'bare'}", "bare"},
        {GIT ",'cwd':{'exists':true}", "{'command':'git status','cwd':'bare'}", "bare"},
        {GIT ",'cwd':'bare'", "{'command':'cd x && git status','cwd':'bare'}", "x"},
    };
    check(rows, ARRAY_LEN(rows));
}

static void git_of_its_folder(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {GIT, "{'command':'git status'}", NULL},
        {GIT, "{'command':'git status','cwd':'.'}", NULL},
        {GIT, "{'command':'git status','cwd':'/workspace/'}", NULL},
        {GIT, "{'command':'git -C . status'}", NULL},
        {GIT, "{'command':'git -C /workspace status'}", NULL},
        {GIT, "{'command':'cd /workspace && git status'}", NULL},
        {GIT, "{'command':'cd ./ && git status'}", NULL},
        {GIT, "{'command':'git status && cd bare'}", NULL},
        {GIT, "{'command':'cd bare && mkdir x'}", NULL},
        {GIT, "{'command':'mkdir x','cwd':'bare'}", NULL},
        {GIT ",'cwd':'bare'", "{'command':'git status','cwd':'bare'}", NULL},
        {GIT ",'cwd':{'beneath':'web'}", "{'command':'git status','cwd':'web/a'}", NULL},
        {"'all':[{'cwd':'bare'},{" GIT "}]", "{'command':'git status','cwd':'bare'}", NULL},
    };
    check(rows, ARRAY_LEN(rows));
}

static void programs_by_relative_paths(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {RUN, "{'command':'./run.sh'}", NULL},
        {RUN, "{'command':'././run.sh'}", NULL},
        {RUN, "{'command':'./sub/tool'}", NULL},
        {RUN, "{'command':'./tool','cwd':'sub'}", NULL},
        {RUN, "{'command':'cd . && ./run.sh'}", NULL},
        {RUN ",'cwd':'sub'", "{'command':'./run.sh','cwd':'sub'}", NULL},
        {RUN, "{'command':'./run.sh','cwd':'sub'}", "sub"},
        {RUN, "{'argv':['./run.sh'],'cwd':'sub'}", "sub"},
        {RUN, "{'command':'sub/tool','cwd':'sub'}", "sub"},
        {RUN, "{'command':'../run.sh','cwd':'sub'}", "sub"},
        {RUN, "{'command':'cd sub && ./run.sh'}", "sub"},
        {RUN, "{'command':'cd sub; ./run.sh'}", "sub"},
        {RUN, "{'command':'sh -c \\\"cd sub; ./run.sh\\\"'}", "sub"},
        {RUN, "{'command':'find sub -name run.sh -execdir ./run.sh \\\\;'}", "-execdir"},
        {RUN, "{'command':'find sub -okdir ./run.sh \\\\;'}", "-okdir"},
        {RUN, "{'command':'run.sh'}", "run.sh"},
    };
    check(rows, ARRAY_LEN(rows));
}

/* What is denied is denied wherever it works. */
static void denials_hold_anywhere(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "{'command':'git push','cwd':'sub'}",       "{'command':'git -C sub push'}",
        "{'command':'cd sub && git push'}",         "{'command':'./run.sh','cwd':'sub'}",
        "{'command':'find . -execdir ./run.sh +'}", "{'command':'cd sub; ../run.sh'}",
    };
    struct policy *policy = make_policy(
        "{'approval':{'default':'approve','rules':[{'toolName':'run_command','action':'deny',"
        "'condition':{'command':{'program':['git push','./run.sh']}}}]}}");
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(calls[i]);
        struct policy_call call = make_call("native:run_command", doc);
        struct verdict verdict;
        struct err err;
        if (policy_judge(policy, &call, &verdict, NULL, NULL, &err) == 0)
            fail_msg("%s is not denied", calls[i]);
        verdict_done(&verdict);
    }
    policy_free(policy);
}

/* One program that writes does not lift the limit for the others of its line. */
static void lines_are_limited(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *names; /* NULL: it may start anything */
    } rows[] = {
        {"git status; mkdir -p mm", "git mkdir "},
        {"git status --short | awk '{print $2}' | sort -u", "git awk sort "},
        {"git describe --dirty && touch a && cp a b && rm b", "git touch cp rm "},
        {"find . -name x -exec sed -n p {} +", "find sed "},
        {"git grep x | xargs jq .", "xargs git jq "},
        {"tee a; tree; rg x; xxd a", "tee tree rg xxd "},
        {"git add a; mkdir x", NULL},
        {"git remote update; mkdir x", NULL},
        {"git status; make", NULL},
        {"mkdir x; tar czf a.tgz x", NULL},
    };
    struct policy *policy = with_condition(
        "'command':{'program':['git','mkdir','awk','sort','touch','cp','rm','find','sed','jq','tee',"
        "'tree','rg','xxd','make','tar']}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        FREE_AT_END char *json = mem_format("{\"command\":\"%s\"}", rows[i].line);
        JSON_AT_END yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
        struct policy_call call = make_call("native:run_command", doc);
        struct verdict verdict;
        struct err err;
        assert_int_equal(policy_judge(policy, &call, &verdict, NULL, NULL, &err), 0);
        assert_int_equal(verdict.kind, VERDICT_ALLOW);
        for (size_t k = 0; k < verdict.leaves_n; k++)
            verdict.leaves[k] = verdict.leaves[k] ? verdict.leaves[k] : ' ';
        const char *names = rows[i].names ? rows[i].names : "";
        if (verdict.leaves_n != strlen(names) ||
            memcmp(verdict.leaves ? verdict.leaves : "", names, verdict.leaves_n) != 0)
            fail_msg("%s: %.*s", rows[i].line, (int)verdict.leaves_n, verdict.leaves);
        verdict_done(&verdict);
    }
    policy_free(policy);
}

static void input_may_be_a_script(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"'command':{'program':'sqlite3'}", "{'command':'sqlite3 a.db'}", NULL},
        {"'command':{'program':'sqlite3'}", "{'command':'sqlite3 a.db','stdin':'.shell x'}",
         "input"},
        {"'command':{'program':'sqlite3'}", "{'argv':['sqlite3','a.db'],'stdin':'.shell x'}",
         "input"},
        {"'command':{'program':'jq'}", "{'command':'jq .','stdin':'{}'}", NULL},
        {"'command':{'program':'sqlite3','options':'any'}",
         "{'command':'sqlite3 a.db','stdin':'.shell x'}", NULL},
    };
    check(rows, ARRAY_LEN(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(git_of_another_folder),      cmocka_unit_test(git_of_its_folder),
        cmocka_unit_test(programs_by_relative_paths), cmocka_unit_test(denials_hold_anywhere),
        cmocka_unit_test(lines_are_limited),          cmocka_unit_test(input_may_be_a_script),
    };
    return cmocka_run_group_tests(tests, use_tools, NULL);
}
