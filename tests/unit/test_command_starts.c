/* Rules about subcommands and what a command may start by a variable, or by words that are known only when it runs. */
#include <cmocka.h>
#include <stdio.h>

#include "judge_parts.h"
#include "policy/program_variables.h"

#define ORDINARY SOURCE_DIR "/tests/unit/data/undenied_lines.txt"

static struct policy *deny_push(void)
{
    return make_policy("{'approval':{'default':'approve','rules':[{'toolName':'run_command',"
                       "'action':'deny','condition':{'command':{'program':'git push'}}}]}}");
}

static struct policy *approve_if(const char *condition)
{
    FREE_AT_END char *json = mem_format(
        "{'approval':{'default':'prompt','rules':[{'toolName':'run_command','action':'approve',"
        "'condition':%s}]}}",
        condition);
    return make_policy(json);
}

static bool call_is_allowed(const struct policy *policy, const char *arguments)
{
    struct verdict verdict;
    struct err err;
    FREE_AT_END char *text = quoted(arguments);
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    assert_non_null(doc);
    struct policy_call call = make_call("native:run_command", doc);
    bool allowed = policy_judge(policy, &call, &verdict, NULL, NULL, &err) == 0 &&
                   verdict.kind == VERDICT_ALLOW;
    verdict_done(&verdict);
    yyjson_doc_free(doc);
    return allowed;
}

static void ordinary_lines_are_left_alone(void **state)
{
    (void)state;
    char line[4096];
    size_t n = 0;
    struct policy *policy = deny_push();
    FILE *f = fopen(ORDINARY, "re");
    assert_non_null(f);
    for (; fgets(line, sizeof line, f);) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#')
            continue;
        if (!line_is_allowed(policy, line))
            fail_msg("a denial of `git push` refuses: %s", line);
        n++;
    }
    fclose(f);
    assert_true(n > 150);
    policy_free(policy);
}

static const struct call {
    const char *arguments;
    bool allowed;
} calls[] = {
    {"{'command':'git diff','env':{'GIT_EXTERNAL_DIFF':'git push'}}", false},
    {"{'command':'git diff','env':{'GIT_EXTERNAL_DIFF':'./x.sh'}}", false},
    {"{'command':'git log','env':{'GIT_PAGER':'git push'}}", false},
    {"{'command':'git log','env':{'GIT_PAGER':'eval $x'}}", false},
    {"{'argv':['git','log'],'env':{'GIT_PAGER':'git push'}}", false},
    {"{'command':'git fetch','env':{'GIT_SSH_COMMAND':'sh -c x'}}", false},
    {"{'command':'git commit','env':{'GIT_EDITOR':'python3 x'}}", false},
    {"{'command':'git log','env':{'GIT_CONFIG_COUNT':'1','GIT_CONFIG_KEY_0':'core.pager',"
     "'GIT_CONFIG_VALUE_0':'./x'}}",
     false},
    {"{'command':'git log','env':{'GIT_CONFIG_PARAMETERS':'alias.x=push'}}", false},
    {"{'command':'git log','env':{'GIT_CONFIG_GLOBAL':'x'}}", false},
    {"{'command':'less f','env':{'LESSOPEN':'|x %s'}}", false},
    {"{'command':'ls','env':{'BASH_ENV':'x'}}", false},
    {"{'command':'ls','env':{'LD_PRELOAD':'./x.so'}}", false},
    {"{'command':'node a','env':{'NODE_OPTIONS':'--require ./x'}}", false},
    {"{'command':'make','env':{'MAKEFLAGS':'--eval=x'}}", false},
    {"{'command':'cargo build','env':{'RUSTC_WRAPPER':'./x'}}", false},
    {"{'command':'cargo x','env':{'CARGO_ALIAS_X':'run'}}", false},
    {"{'command':'go build','env':{'GOFLAGS':'-toolexec=x'}}", false},
    {"{'command':'x','env':{'FOO':'git push'}}", false},
    {"{'command':'git log','env':{'GIT_PAGER':'cat'}}", true},
    {"{'command':'git log','env':{'GIT_PAGER':''}}", true},
    {"{'command':'git log','env':{'GIT_PAGER':'less -R'}}", true},
    {"{'command':'git log','env':{'GIT_CONFIG_COUNT':'1','GIT_CONFIG_KEY_0':'user.name',"
     "'GIT_CONFIG_VALUE_0':'x'}}",
     true},
    {"{'command':'node a','env':{'NODE_OPTIONS':'--max-old-space-size=4096'}}", true},
    {"{'command':'make','env':{'MAKEFLAGS':'-j4 -s'}}", true},
    {"{'command':'cargo test','env':{'CARGO_TERM_COLOR':'never','RUST_BACKTRACE':'1'}}", true},
    {"{'command':'ls','env':{'FOO':'bar','CI':'1','PATH':'/usr/bin'}}", true},
};

static void variables_of_the_call_are_looked_at(void **state)
{
    (void)state;
    struct policy *policy = deny_push();
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (call_is_allowed(policy, calls[i].arguments) != calls[i].allowed)
            fail_msg("%s: %s", calls[i].allowed ? "not allowed" : "allowed", calls[i].arguments);
    }
    policy_free(policy);
}

/* An approval by the text of a command says nothing about what a variable makes of it. */
static void approved_texts_ask_with_variables(void **state)
{
    (void)state;
    static const char *const asks[] = {
        "'GIT_PAGER':'./x'", "'PATH':'bin'",       "'LESSOPEN':'|x'", "'EDITOR':'vi'",
        "'BASH_ENV':'x'",    "'PYTHONPATH':'x'",   "'RUBYOPT':'-rx'", "'HOME':'/x'",
        "'CC':'./x'",        "'KUBECONFIG':'./x'", "'LD_AUDIT':'x'",  "'npm_config_x':'y'",
    };
    static const char *const passes[] = {"'FOO':'x'", "'CI':'1'", "'GIT_PAGER':'cat'"};
    static const char *const conditions[] = {"{'command':'make test'}",
                                             "{'command':{'glob':'make *'}}",
                                             "{'command':{'regex':'^make test$'}}"};
    for (size_t c = 0; c < ARRAY_LEN(conditions); c++) {
        struct policy *policy = approve_if(conditions[c]);
        assert_true(call_is_allowed(policy, "{'command':'make test'}"));
        for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
            FREE_AT_END char *call = mem_format("{'command':'make test','env':{%s}}", asks[i]);
            if (call_is_allowed(policy, call))
                fail_msg("%s approves %s", conditions[c], call);
        }
        for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
            FREE_AT_END char *call = mem_format("{'command':'make test','env':{%s}}", passes[i]);
            assert_true(call_is_allowed(policy, call));
        }
        policy_free(policy);
    }
    struct policy *own = approve_if("{'command':'make test','env.CC':{'exists':true}}");
    assert_true(call_is_allowed(own, "{'command':'make test','env':{'CC':'./x'}}"));
    policy_free(own);
}

static enum variable_starts starts(const char *name, const char *value)
{
    return variable_starts(text_str(name), text_str(value), true);
}

static void values_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(starts("PAGER", "cat"), VARIABLE_NOTHING);
    assert_int_equal(starts("PAGER", "vim -c x"), VARIABLE_NAMED);
    assert_int_equal(starts("PAGER", "cat | sh"), VARIABLE_ANY);
    assert_int_equal(starts("PAGER", "./cat"), VARIABLE_ANY);
    assert_int_equal(starts("PATH", "x"), VARIABLE_FILES);
    assert_int_equal(starts("CARGO_HOME", "x"), VARIABLE_FILES);
    assert_int_equal(starts("CARGO_TARGET_X_RUNNER", "x"), VARIABLE_ANY);
    assert_int_equal(starts("GITPAGER", "x"), VARIABLE_NOTHING);
    assert_int_equal(variable_starts(STR("PAGER"), STR("cat"), false), VARIABLE_ANY);
    assert_int_equal(variable_starts(STR("FOO"), STR("x"), false), VARIABLE_NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_lines_are_left_alone),
        cmocka_unit_test(variables_of_the_call_are_looked_at),
        cmocka_unit_test(approved_texts_ask_with_variables),
        cmocka_unit_test(values_are_told_apart),
    };
    return cmocka_run_group_tests(tests, use_tools, NULL);
}
