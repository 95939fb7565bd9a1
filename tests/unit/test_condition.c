/* What conditions hold for, in part or not, and which are refused. */
#include "judge_parts.h"

#include "policy/condition.h"

struct row {
    const char *tool;
    const char *arguments;
    const char *condition;
    enum condition_result result;
};

#define NO CONDITION_NO
#define PARTLY CONDITION_PARTLY
#define YES CONDITION_YES
#define ERROR CONDITION_ERROR

static struct condition *make(const char *condition, const struct tool *const *tools,
                              struct tool_pattern *pattern, struct err *err)
{
    FREE_AT_END char *text = quoted(condition);
    const struct tool **meant = tools ? tools_meant(pattern, tools) : NULL;
    struct condition_place place = {"c", meant};
    struct condition *made = condition_new(text_str(text), &place, err);
    free(meant);
    return made;
}

static void check_call(const struct policy_call *call, const struct row *row)
{
    static const char *const names[] = {"no", "partly", "yes", "an error"};
    struct tool_pattern pattern = {.all = true};
    struct err err;
    FACTS_AT_END struct facts facts;
    facts_init(&facts, call);
    const struct tool **tools = tool_list();
    struct condition *condition = make(row->condition, facts.tool ? tools : NULL, &pattern, &err);
    free(tools);
    if (!condition)
        fail_msg("%s: %s", row->condition, err.message);
    enum condition_result result = condition_judge(condition, &facts);
    if (result != row->result)
        fail_msg("%s with %s: %s is %s, not %s (%s)", row->tool, row->arguments, row->condition,
                 names[result], names[row->result], facts.why);
    if (result == ERROR && !facts.why[0])
        fail_msg("%s: an error without a reason", row->condition);
    condition_free(condition);
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        JSON_AT_END yyjson_doc *doc = parsed(rows[i].arguments);
        struct policy_call call = make_call(rows[i].tool, doc);
        check_call(&call, &rows[i]);
    }
}

static void values(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"x", "{'a':'b'}", "{'a':'b'}", YES},
        {"x", "{'a':'b'}", "{'a':'c'}", NO},
        {"x", "{'a':'b'}", "{'a':{'equals':'b'}}", YES},
        {"x", "{'a':5}", "{'a':5}", YES},
        {"x", "{'a':5}", "{'a':5.0}", YES},
        {"x", "{'a':'5'}", "{'a':5}", NO},
        {"x", "{'a':18446744073709551615}", "{'a':18446744073709551615}", YES},
        {"x", "{'a':18446744073709551615}", "{'a':18446744073709551614}", NO},
        {"x", "{'a':-1}", "{'a':18446744073709551615}", NO},
        {"x", "{'a':true}", "{'a':true}", YES},
        {"x", "{'a':false}", "{'a':true}", NO},
        {"x", "{'a':null}", "{'a':{'exists':true}}", NO},
        {"x", "{}", "{'a':{'exists':false}}", YES},
        {"x", "{'a':0}", "{'a':{'exists':false}}", NO},
        {"x", "{}", "{'a':'b'}", NO},
        {"x", "{}", "{'a':{'less':5}}", NO},
        {"x", "{'a':'c'}", "{'a':{'in':['b','c']}}", YES},
        {"x", "{'a':'d'}", "{'a':{'in':['b','c',7]}}", NO},
        {"x", "{'a':7}", "{'a':{'in':['b','c',7]}}", YES},
        {"x", "{'a':4}", "{'a':{'less':5}}", YES},
        {"x", "{'a':5}", "{'a':{'less':5}}", NO},
        {"x", "{'a':5}", "{'a':{'atMost':5}}", YES},
        {"x", "{'a':5}", "{'a':{'greater':5}}", NO},
        {"x", "{'a':5.5}", "{'a':{'greater':5}}", YES},
        {"x", "{'a':5}", "{'a':{'atLeast':5,'less':6}}", YES},
        {"x", "{'a':6}", "{'a':{'atLeast':5,'less':6}}", NO},
        {"x", "{'a':'6'}", "{'a':{'less':6}}", ERROR},
        {"x", "{'a':true}", "{'a':{'less':6}}", ERROR},
        {"x", "{'a':{'b':{'c':1}}}", "{'a.b.c':1}", YES},
        {"x", "{'a':{'b':1}}", "{'a.b.c':1}", NO},
        {"x", "{'a':['b','b']}", "{'a':'b'}", YES},
        {"x", "{'a':['b','c']}", "{'a':'b'}", PARTLY},
        {"x", "{'a':['c','c']}", "{'a':'b'}", NO},
        {"x", "{'a':[]}", "{'a':'b'}", NO},
        {"x", "{'a':['b','c']}", "{'a':{'equals':['b','c']}}", YES},
        {"x", "{'a':['b','c']}", "{'a':{'equals':['b']}}", NO},
        {"x", "{'a':'b'}", "{'a':{'equals':['b']}}", NO},
        {"x", "{'a':[{'b':1},{'b':2}]}", "{'a.b':1}", PARTLY},
        {"native:edit_file", "{'path':'x','edits':[{'old_text':'a','new_text':'b'}]}",
         "{'edits.old_text':'a'}", YES},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void texts(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"x", "{'a':'rm /x/y'}", "{'a':{'glob':'rm *'}}", YES},
        {"x", "{'a':'arm /x'}", "{'a':{'glob':'rm *'}}", NO},
        {"x", "{'a':'/etc/passwd'}", "{'a':{'glob':'/etc/*'}}", YES},
        {"x", "{'a':'a\\nb'}", "{'a':{'glob':'a?b'}}", YES},
        {"x", "{'a':'ab'}", "{'a':{'glob':'{a,c}?'}}", YES},
        {"x", "{'a':5}", "{'a':{'glob':'5'}}", ERROR},
        {"x", "{'a':'git status'}", "{'a':{'regex':'^git status$'}}", YES},
        {"x", "{'a':'git status\\nrm x'}", "{'a':{'regex':'^git status$'}}", NO},
        {"x", "{'a':'git status\\n'}", "{'a':{'regex':'^git status$'}}", NO},
        {"x", "{'a':'xx secret yy'}", "{'a':{'regex':'s.cret'}}", YES},
        {"x", "{'a':'SECRET'}", "{'a':{'regex':'(?i)secret'}}", YES},
        {"x", "{'a':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'}", "{'a':{'regex':'^(a+)+$'}}",
         NO},
        {"x", "{'a':5}", "{'a':{'regex':'5'}}", ERROR},
        {"x", "{'args':['-a','--force']}", "{'args':{'regex':'^--force$'}}", PARTLY},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void combined(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"x", "{'a':1,'b':2}", "{'a':1,'b':2}", YES},
        {"x", "{'a':1,'b':3}", "{'a':1,'b':2}", NO},
        {"x", "{'a':1,'b':3}", "{'any':[{'a':1},{'b':2}]}", YES},
        {"x", "{'a':2,'b':3}", "{'any':[{'a':1},{'b':2}]}", NO},
        {"x", "{'a':1,'b':3}", "{'all':[{'a':1},{'b':2}]}", NO},
        {"x", "{'a':1,'b':3}", "{'a':1,'not':{'b':2}}", YES},
        {"x", "{'a':1}", "{'not':{'not':{'a':1}}}", YES},
        {"x", "{'a':['b','c']}", "{'not':{'a':'b'}}", PARTLY},
        {"x", "{'a':['b','c'],'d':1}", "{'a':'b','d':1}", PARTLY},
        {"x", "{'a':['b','c'],'d':1}", "{'a':'b','d':2}", NO},
        {"x", "{'a':['b','c'],'d':1}", "{'any':[{'a':'b'},{'d':1}]}", YES},
        {"x", "{'a':['b','c'],'d':1}", "{'any':[{'a':'b'},{'d':2}]}", PARTLY},
        /* What does not matter need not be told. */
        {"x", "{'a':'x','d':1}", "{'a':{'less':5},'d':2}", NO},
        {"x", "{'a':'x','d':1}", "{'d':1,'a':{'less':5}}", ERROR},
        {"x", "{'a':'x','d':1}", "{'any':[{'a':{'less':5}},{'d':1}]}", YES},
        {"x", "{'a':'x','d':1}", "{'any':[{'a':{'less':5}},{'d':2}]}", ERROR},
        {"x", "{'a':'x','d':['b','c']}", "{'any':[{'a':{'less':5}},{'d':'b'}]}", ERROR},
        {"x", "{'a':'x'}", "{'not':{'a':{'less':5}}}", ERROR},
        /* What is left out is what the tool takes then. */
        {"native:run_command", "{'command':'x'}", "{'timeout_ms':{'greater':30000}}", YES},
        {"native:run_command", "{'command':'x','timeout_ms':1}", "{'timeout_ms':{'greater':30000}}",
         NO},
        {"native:delete", "{'path':'x'}", "{'recursive':false}", YES},
        {"native:delete", "{'path':'x'}", "{'recursive':{'exists':true}}", NO},
        {"native:read_file", "{'path':'x'}", "{'encoding':'utf8'}", YES},
        {"native:read_file", "{'path':'x'}", "{'start_line':{'atLeast':0}}", NO},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void paths(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"native:read_file", "{'path':'src/a.c'}", "{'path':{'beneath':'src'}}", YES},
        {"native:read_file", "{'path':'./src//a.c'}", "{'path':{'beneath':'./src/'}}", YES},
        {"native:read_file", "{'path':'/workspace/src/a.c'}", "{'path':{'beneath':'src'}}", YES},
        {"native:read_file", "{'path':'/home/u/p/src/a.c'}", "{'path':{'beneath':'src'}}", YES},
        {"native:read_file", "{'path':'src/a.c'}", "{'path':{'beneath':'/workspace/src'}}", YES},
        {"native:read_file", "{'path':'src/a.c'}", "{'path':{'beneath':'/home/u/p/src'}}", YES},
        {"native:read_file", "{'path':'src/a.c'}", "{'path':{'beneath':'/home'}}", YES},
        {"native:read_file", "{'path':'src/a.c'}", "{'path':{'beneath':'/'}}", YES},
        {"native:read_file", "{'path':'src/a.c'}", "{'path':{'beneath':'/etc'}}", NO},
        {"native:read_file", "{'path':'srcx/a.c'}", "{'path':{'beneath':'src'}}", NO},
        {"native:read_file", "{'path':'src'}", "{'path':{'beneath':'src'}}", YES},
        {"native:read_file", "{'path':'x'}", "{'path':{'beneath':'.'}}", YES},
        {"native:read_file", "{'path':'lib/x'}", "{'path':{'beneath':['src','lib']}}", YES},
        {"native:read_file", "{'path':'src/../lib/x'}", "{'path':{'beneath':'lib'}}", ERROR},
        {"native:read_file", "{'path':'../x'}", "{'path':{'beneath':'lib'}}", ERROR},
        {"native:read_file", "{'path':'/etc/passwd'}", "{'path':{'beneath':'lib'}}", ERROR},
        {"native:read_file", "{'path':'a\\u0000b'}", "{'path':{'beneath':'lib'}}", ERROR},
        {"native:read_file", "{'path_b64':'c3JjL2EuYw=='}", "{'path':{'beneath':'src'}}", YES},
        {"native:read_file", "{'path_b64':'c3JjL2EuYw=='}", "{'path':'src/a.c'}", YES},
        {"native:read_file", "{'path_b64':'c3JjL2EuYw=='}", "{'path':{'exists':true}}", YES},
        {"native:read_file", "{'path':'x','path_b64':'c3JjL2EuYw=='}", "{'path':'x'}", NO},
        {"native:read_file", "{'path_b64':'!'}", "{'path':'x'}", ERROR},
        {"sidecar:read_file", "{'path':'x','path_b64':'c3JjL2EuYw=='}", "{'path':'x'}", YES},
        {"native:read_file", "{'path':'./a//b/'}", "{'path':'a/b'}", YES},
        {"native:read_file", "{'path':'a/b'}", "{'path':{'in':['c','./a/b']}}", YES},
        {"native:read_file", "{'path':'src/a.c'}", "{'path':{'glob':'src/*.c'}}", YES},
        {"native:read_file", "{'path':'src/x/a.c'}", "{'path':{'glob':'src/*.c'}}", NO},
        {"native:read_file", "{'path':'/workspace/src/a.c'}", "{'path':{'glob':'src/**'}}", YES},
        {"native:read_file", "{'path':'/workspace/a.key'}", "{'path':{'regex':'^a\\\\.key$'}}",
         YES},
        {"native:write_file", "{'path':'src/a','content':''}", "{'path':{'glob':'/home/u/**'}}",
         YES},
        /* Left out, it is the whole workspace. */
        {"native:list_files", "{}", "{'path':'.'}", YES},
        {"native:list_files", "{}", "{'path':{'beneath':'src'}}", NO},
        {"native:list_files", "{'recursive':true}", "{'path':{'beneath':'src'}}", PARTLY},
        {"native:list_files", "{'recursive':true}", "{'not':{'path':{'beneath':'src'}}}", PARTLY},
        {"native:search", "{'pattern':'x'}", "{'path':{'beneath':'secret'}}", PARTLY},
        {"native:search", "{'pattern':'x','path':'src'}", "{'path':{'beneath':'secret'}}", NO},
        {"native:search", "{'pattern':'x','path':'src'}", "{'path':{'beneath':'src'}}", YES},
        {"native:search", "{'pattern':'x','path':'src'}", "{'path':{'glob':'src/**'}}", YES},
        {"native:search", "{'pattern':'x','path':'src/a'}", "{'path':{'glob':'src/**'}}", YES},
        {"native:search", "{'pattern':'x','path':'src'}", "{'path':{'glob':'src/*'}}", PARTLY},
        {"native:search", "{'pattern':'x','path':'src'}", "{'path':{'glob':'**/*.key'}}", PARTLY},
        {"native:search", "{'pattern':'x','path':'src'}", "{'path':{'glob':'lib/*'}}", NO},
        {"native:search", "{'pattern':'x','path':'src'}", "{'path':'src/key'}", PARTLY},
        {"native:search", "{'pattern':'x','path':'src'}", "{'path':{'regex':'key$'}}", PARTLY},
        {"native:delete", "{'path':'a'}", "{'path':'a/b'}", NO},
        {"native:delete", "{'path':'a','recursive':true}", "{'path':'a/b'}", PARTLY},
        {"native:delete", "{'path':'a','recursive':true}", "{'path':'a'}", YES},
        {"native:move", "{'from':'a','to':'src/b'}", "{'to':{'beneath':'src'}}", YES},
        {"native:move", "{'from':'a','to':'b'}", "{'from':{'beneath':'a/c'}}", PARTLY},
        {"native:run_command", "{'command':'x'}", "{'cwd':'.'}", YES},
        {"native:run_command", "{'command':'x','cwd':'a/b'}", "{'cwd':{'beneath':'a'}}", YES},
        {"native:run_command", "{'command':'x','cwd':'a'}", "{'cwd':{'beneath':'a/b'}}", NO},
        {"runner:list_files", "{'path':'src/*.c'}", "{'path':{'beneath':'src'}}", YES},
        {"runner:list_files", "{'path':'s*/**/*.c'}", "{'path':{'beneath':'src'}}", PARTLY},
        {"runner:list_files", "{'path':'src/**/*.c'}", "{'path':{'beneath':'src/deep'}}", PARTLY},
        {"runner:list_files", "{'path':'src/*.c'}", "{'path':{'beneath':'src/deep'}}", NO},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

/* What a tool does not take must not make a rule about it true. */
static void not_taken(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"runner:shell", "{'command':'rm x','path':'src/a'}", "{'path':{'beneath':'src'}}", NO},
        {"runner:shell", "{'command':'rm x','path':'src/a'}", "{'path':'src/a'}", NO},
        {"runner:shell", "{'command':'rm x','path':'src/a'}", "{'path':{'exists':true}}", NO},
        {"runner:shell", "{'command':'rm x','argv':['ls']}", "{'command':{'program':'ls'}}", NO},
        {"runner:shell", "{'command':'rm x','args':['ls']}", "{'args':{'program':'rm'}}", YES},
        {"runner:shell", "{'command':'rm x','env':{'A':'b'}}", "{'command':{'program':'rm'}}", YES},
        {"runner:shell", "{'command':'rm x','timeout_ms':1}", "{'timeout_ms':{'less':5}}", NO},
        {"sidecar:search_files", "{'pattern':'x','recursive':false}", "{'path':{'beneath':'a'}}",
         PARTLY},
        {"toolhost:fs.apply_patch", "{'path':'@state/x','patch':{'update':{'other':'x'}}}",
         "{'patch.update.other':'x'}", YES},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void mounts(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"toolhost:fs.read", "{'path':'@project/src/a'}", "{'path':{'beneath':'@project/src'}}",
         YES},
        {"toolhost:fs.read", "{'path':'./@project\\\\src/a'}",
         "{'path':{'beneath':'@project/src'}}", YES},
        {"toolhost:fs.read", "{'path':'@project/src/a'}", "{'path':'@project/src/a'}", YES},
        {"toolhost:fs.read", "{'path':'@pkg/src/a'}", "{'path':{'beneath':'@project/src'}}", NO},
        {"toolhost:fs.read", "{'path':'@project'}", "{'path':{'beneath':'@project'}}", YES},
        /* It may not have been meant. */
        {"toolhost:fs.read", "{'path':'@project/src/a'}", "{'path':{'beneath':'src'}}", PARTLY},
        {"toolhost:fs.read", "{'path':'@project/src/a'}", "{'path':{'glob':'src/*'}}", PARTLY},
        {"toolhost:fs.read", "{'path':'@project/src/a'}", "{'path':{'glob':'@project/src/*'}}",
         YES},
        {"toolhost:fs.read", "{'path':'@project/src/a'}", "{'path':{'beneath':'lib'}}", NO},
        {"toolhost:fs.read", "{'path':'@project/../a'}", "{'path':{'beneath':'@project'}}", ERROR},
        {"toolhost:fs.read", "{'path':'@other/a'}", "{'path':{'beneath':'@project'}}", ERROR},
        {"toolhost:fs.search", "{'path':'@project','pattern':'x'}", "{'path':'@project/k'}",
         PARTLY},
        {"toolhost:fs.apply_patch", "{'path':'@state/x','patch':{'operation':'updateFrontmatter'}}",
         "{'patch.operation':'updateFrontmatter'}", YES},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void folders(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"system:filesystem", "{'operation':'read','path':'src/a'}", "{'path':{'beneath':'src'}}",
         YES},
        {"system:filesystem", "{'operation':'read','path':'/home/u/p/src/a'}",
         "{'path':{'beneath':'src'}}", YES},
        {"system:filesystem", "{'operation':'read','path':'src/../lib/a'}",
         "{'path':{'beneath':'lib'}}", YES},
        {"system:filesystem", "{'operation':'read','path':'/tmp/a'}", "{'path':{'beneath':'src'}}",
         NO},
        {"system:filesystem", "{'operation':'read','path':'/tmp/a'}", "{'path':{'beneath':'.'}}",
         NO},
        {"system:filesystem", "{'operation':'read','path':'/tmp/a'}", "{'path':{'beneath':'/tmp'}}",
         YES},
        {"system:filesystem", "{'operation':'read','path':'/tmp/a'}", "{'path':{'glob':'/tmp/*'}}",
         YES},
        {"system:filesystem", "{'operation':'read','path':'/tmp/a'}", "{'path':{'glob':'**'}}", NO},
        {"system:filesystem", "{'operation':'read','path':'/home/u/q'}", "{'path':'/home/u/q'}",
         YES},
        {"system:filesystem", "{'operation':'read','path':'../q'}", "{'path':'/home/u/q'}", YES},
        {"system:filesystem", "{'operation':'read','path':'/etc/x'}", "{'path':'/home/u/q'}",
         ERROR},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(rows[i].arguments);
        struct policy_call call = make_call(rows[i].tool, doc);
        call.roots = folder_roots;
        call.n_roots = ARRAY_LEN(folder_roots);
        call.base = FOLDER_BASE;
        check_call(&call, &rows[i]);
    }
}

#define RUN "native:run_command"

static void programs(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {RUN, "{'command':'git commit -m x'}", "{'command':{'program':'git'}}", YES},
        {RUN, "{'command':'git commit -m x'}", "{'command':{'program':'git commit'}}", YES},
        {RUN, "{'command':'git commit -m x'}", "{'command':{'program':' git   commit '}}", YES},
        {RUN, "{'command':'git push'}", "{'command':{'program':'git commit'}}", NO},
        {RUN, "{'command':'git stash pop'}", "{'command':{'program':'git stash'}}", YES},
        {RUN, "{'command':'git stash'}", "{'command':{'program':'git stash pop'}}", NO},
        {RUN, "{'command':'git commit && npm test'}",
         "{'command':{'program':['git commit','npm test']}}", YES},
        {RUN, "{'command':'git commit && rm x'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'ls | grep x'}", "{'command':{'program':['ls','grep']}}", YES},
        {RUN, "{'command':'/usr/bin/git push'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'/usr/bin/git push'}", "{'command':{'program':'/usr/bin/git'}}", YES},
        {RUN, "{'command':'./git push'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'git -c a=b push'}", "{'command':{'program':'git push'}}", PARTLY},
        {RUN, "{'command':'git -c a=b push'}", "{'command':{'program':'git commit'}}", NO},
        {RUN, "{'command':'git $X'}", "{'command':{'program':'git push'}}", PARTLY},
        /* The word behind an option that is not known may be its value. */
        {RUN, "{'command':'npm --tag test publish'}", "{'command':{'program':'npm publish'}}",
         PARTLY},
        {RUN, "{'command':'npm --tag test publish'}", "{'command':{'program':'npm test'}}", PARTLY},
        {RUN, "{'command':'npm --tag test publish'}", "{'command':{'program':'npm install'}}", NO},
        {RUN, "{'command':'X=1 npm --tag test publish'}", "{'command':{'program':'npm publish'}}",
         PARTLY},
        {RUN, "{'command':'npm --tag test run build'}", "{'command':{'program':'npm run build'}}",
         PARTLY},
        {RUN, "{'command':'npm --tag test run build'}", "{'command':{'program':'npm run test'}}",
         PARTLY},
        {RUN, "{'command':'npm --tag test $X'}", "{'command':{'program':'npm publish'}}", PARTLY},
        {RUN, "{'command':'ls | xargs npm --tag test'}", "{'command':{'program':'npm publish'}}",
         PARTLY},
        /* Which options it may have. */
        {RUN, "{'command':'sort -o b a'}", "{'command':{'program':'sort'}}", PARTLY},
        {RUN, "{'command':'sort -o b a'}", "{'command':{'program':'sort','options':'any'}}", YES},
        {RUN, "{'command':'sort -o b a'}", "{'command':{'options':'known','program':'sort'}}",
         PARTLY},
        {RUN, "{'command':'sort -n a'}", "{'command':{'program':'sort','options':'known'}}", YES},
        {RUN, "{'command':'sort --zz a'}", "{'command':{'program':'sort','options':'known'}}",
         PARTLY},
        {RUN, "{'command':'sort --zz a'}", "{'command':{'program':'sort'}}", YES},
        {RUN, "{'command':'make x'}", "{'command':{'program':'make','options':'known'}}", PARTLY},
        {RUN, "{'command':'git -c a=b push'}", "{'command':{'program':'git','options':'any'}}",
         YES},
        {RUN, "{'command':'git -c a=b push'}", "{'command':{'program':'git push','options':'any'}}",
         YES},
        {RUN, "{'command':'git -c a=b push'}", "{'command':{'program':'git pull','options':'any'}}",
         NO},
        {RUN, "{'command':'git --zz a push'}", "{'command':{'program':'git a','options':'any'}}",
         PARTLY},
        {RUN, "{'command':'printf -v x y'}", "{'command':{'program':'printf','options':'any'}}",
         PARTLY},
        {RUN, "{'command':'X=1 ls'}", "{'command':{'program':'ls','options':'any'}}", PARTLY},
        {RUN, "{'command':'ls; rm x'}", "{'command':{'program':'ls','options':'any'}}", PARTLY},
        {RUN, "{'command':'$X push'}", "{'command':{'program':'git push'}}", PARTLY},
        {RUN, "{'command':'A=1 git push'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'PATH=.; git push'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'for PATH in .; do git push; done'}", "{'command':{'program':'git'}}",
         PARTLY},
        {RUN, "{'command':'git push $((PATH=5))'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'git push ${a[PATH=5]}'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'git log > x'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'git log >> x'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'git log &> x'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'git log $(ls > x)'}", "{'command':{'program':['git','ls']}}", PARTLY},
        {RUN, "{'command':'git log `ls > x`'}", "{'command':{'program':['git','ls']}}", PARTLY},
        {RUN, "{'command':'git log \\\"`ls > x`\\\"'}", "{'command':{'program':['git','ls']}}",
         PARTLY},
        {RUN, "{'command':'git log \\\"$(ls > x)\\\"'}", "{'command':{'program':['git','ls']}}",
         PARTLY},
        {RUN, "{'command':'git log \\\"${x:=y}\\\"'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'git log 2>&1 >/dev/null < x'}", "{'command':{'program':'git'}}", YES},
        {RUN, "{'command':'git log >&x'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'git log > /dev/nullx'}", "{'command':{'program':'git'}}", PARTLY},
        {RUN, "{'command':'sudo rm x'}", "{'command':{'program':'sudo'}}", PARTLY},
        {RUN, "{'command':'sudo rm x'}", "{'command':{'program':'rm'}}", PARTLY},
        {RUN, "{'command':'timeout 5 git push'}", "{'command':{'program':'git push'}}", YES},
        {RUN, "{'command':'sh -c \\\"git push\\\"'}", "{'command':{'program':'git push'}}", YES},
        {RUN, "{'command':'sh -c \\\"git push > x\\\"'}", "{'command':{'program':'git push'}}",
         PARTLY},
        {RUN, "{'command':'echo \\\"'}", "{'command':{'program':'git push'}}", ERROR},
        {RUN, "{'argv':['git','push','a>b']}", "{'command':{'program':'git push'}}", YES},
        {RUN, "{'argv':['git','push']}", "{'argv':{'program':'git push'}}", YES},
        {RUN, "{'argv':['sh','-c','git push > x']}", "{'command':{'program':'git push'}}", PARTLY},
        {RUN, "{'argv':['it\\u0027s']}", "{'command':{'program':'its'}}", NO},
        {RUN, "{'argv':['git','push']}", "{'command':{'regex':'^git push$'}}", PARTLY},
        {RUN, "{'argv':['git','push']}", "{'command':'git push'}", PARTLY},
        {RUN, "{'argv':['git','push']}", "{'command':{'regex':'rm'}}", NO},
        {RUN, "{'command':'git push','env':{}}", "{'command':{'program':'git push'}}", YES},
        {RUN, "{'command':'git push','env':{'A':'b'}}", "{'command':{'program':'git push'}}",
         PARTLY},
        {RUN, "{'command':'git push','network':['a.b']}", "{'command':{'program':'git push'}}",
         PARTLY},
        {"system:bash", "{'command':'git','args':['push']}", "{'command':{'program':'git push'}}",
         YES},
        {"system:bash", "{'command':'git'}", "{'command':{'program':'git'}}", YES},
        {"system:bash", "{'command':'git push; rm x'}", "{'command':{'program':'rm'}}", NO},
        {"system:bash", "{'command':'git','args':['push',';','rm']}",
         "{'command':{'program':'git push'}}", YES},
        {"runner:shell", "{'command':'ls'}", "{'command':{'program':'ls'}}", YES},
        {"runner:shell", "{'command':'ls'}", "{'command':{'program':'ls'}}", YES},
        {"x", "{'command':'ls'}", "{'command':{'program':'ls'}}", NO},
        {"x", "{}", "{'command':{'program':'ls'}}", NO},
        {RUN, "{'command':'X=1'}", "{'command':{'program':'ls'}}", NO},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

#define DOMAIN "{'url':{'domain':'example.com'}}"

static void domains(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"http", "{'url':'https://example.com/x'}", DOMAIN, YES},
        {"http", "{'url':'HTTPS://API.Example.COM.:8443/x'}", DOMAIN, YES},
        {"http", "{'url':'https://example.com'}", DOMAIN, YES},
        {"http", "{'url':'https://example.com?x'}", DOMAIN, YES},
        {"http", "{'url':'https://notexample.com/'}", DOMAIN, NO},
        {"http", "{'url':'https://example.com.evil.org/'}", DOMAIN, NO},
        {"http", "{'url':'https://example.com@evil.org/'}", DOMAIN, NO},
        {"http", "{'url':'https://evil.org@example.com/'}", DOMAIN, YES},
        {"http", "{'url':'https://evil.org/@example.com'}", DOMAIN, NO},
        {"http", "{'url':'https://evil.org?@example.com'}", DOMAIN, NO},
        {"http", "{'url':'https://evil.org#@example.com'}", DOMAIN, NO},
        {"http", "{'url':'https://a@b@example.com/'}", DOMAIN, ERROR},
        {"http", "{'url':'https://evil.org\\\\@example.com/'}", DOMAIN, ERROR},
        {"http", "{'url':'https://exa\\tmple.com/'}", DOMAIN, ERROR},
        {"http", "{'url':' https://example.com/'}", DOMAIN, ERROR},
        {"http", "{'url':'https://exampl%65.com/'}", DOMAIN, ERROR},
        {"http", "{'url':'https://ex\\u00e4mple.com/'}", DOMAIN, ERROR},
        {"http", "{'url':'https://example.com:x/'}", DOMAIN, ERROR},
        {"http", "{'url':'https://example..com/'}", DOMAIN, ERROR},
        {"http", "{'url':'https:///x'}", DOMAIN, ERROR},
        {"http", "{'url':'example.com'}", DOMAIN, ERROR},
        {"http", "{'url':''}", DOMAIN, ERROR},
        {"http", "{'url':'https://127.0.0.1/'}", "{'url':{'domain':'127.0.0.1'}}", YES},
        {"http", "{'url':'https://2130706433/'}", "{'url':{'domain':'127.0.0.1'}}", ERROR},
        {"http", "{'url':'https://0x7f.1/'}", "{'url':{'domain':'127.0.0.1'}}", ERROR},
        {"http", "{'url':'https://1.127.0.0.1/'}", "{'url':{'domain':'127.0.0.1'}}", ERROR},
        {"http", "{'url':'https://[::1]:80/'}", "{'url':{'domain':'[0:0::1]'}}", YES},
        {"http", "{'url':'https://[::ffff:127.0.0.1]/'}", "{'url':{'domain':'127.0.0.1'}}", YES},
        {"http", "{'url':'https://[::1]x/'}", "{'url':{'domain':'::1'}}", ERROR},
        {"http", "{'url':'https://[::1/'}", "{'url':{'domain':'::1'}}", ERROR},
        {"http", "{'url':'https://b.org/'}", "{'url':{'domain':['a.org','b.org']}}", YES},
        {RUN, "{'command':'x','network':['a.org','b.org']}", "{'network':{'domain':'a.org'}}",
         PARTLY},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *tool;
        const char *condition;
        const char *message;
    } rows[] = {
        {"*", "{'path':{'benaeth':'x'}}", "c.path.benaeth: unknown test; did you mean beneath?"},
        {"*", "{'path':{'zzzzzzz':'x'}}", "c.path.zzzzzzz: unknown test; there are equals, in"},
        {"*", "{}", "c: must be an object with at least one argument"},
        {"*", "[]", "c: must be an object"},
        {"*", "{'path':{}}", "c.path: there is no test"},
        {"*", "{'path':['a']}", "c.path: must be a value or an object"},
        {"*", "{'path':null}", "c.path: must be a path"},
        {"*", "{'command':null}", "c.command: must be a text, a number"},
        {"*", "{'path':5}", "c.path: must be a path"},
        {"*", "{'path':'../x'}", "c.path: must not go up"},
        {"*", "{'path':{'beneath':[]}}", "c.path.beneath: must be a text, or a list"},
        {"*", "{'path':{'beneath':[5]}}", "c.path.beneath: must be a text"},
        {"*", "{'path':{'glob':'['}}", "c.path.glob: "},
        {"*", "{'command':{'glob':'{'}}", "c.command.glob: "},
        {"*", "{'command':{'regex':'('}}", "c.command.regex: not a valid regular expression"},
        {"*", "{'command':{'regex':'(\\\\w{1,500}){500}'}}",
         "c.command.regex: the expression gets too large"},
        {"*", "{'timeout_ms':{'less':'5'}}", "c.timeout_ms.less: must be a number"},
        {"*", "{'path':{'exists':1}}", "c.path.exists: must be true or false"},
        {"*", "{'command':{'in':'a'}}", "c.command.in: must be a list"},
        {"*", "{'command':{'in':[[]]}}", "c.command.in: must be a list of texts"},
        {"*", "{'path':{'program':'git'}}", "c.path.program: no program is started with this"},
        {"*", "{'command':{'program':''}}", "c.command.program: must be a program"},
        {"*", "{'command':{'program':'/bin/'}}", "c.command.program: must be a program"},
        {"*", "{'command':{'program':'ls','options':'all'}}",
         "c.command.options: must be \"any\" or \"known\""},
        {"*", "{'command':{'program':'ls','options':true}}", "c.command.options: must be"},
        {"*", "{'command':{'program':'ls','options':['any']}}", "c.command.options: must be"},
        {"*", "{'command':{'program':'ls','options':null}}", "c.command.options: must be"},
        {"*", "{'command':{'options':'any'}}", "c.command: `options` is about `program`"},
        {"*", "{'command':{'glob':'x','options':'any'}}", "c.command: `options` is about"},
        {"*", "{'options':'any','command':{'program':'ls'}}", "c.options: no tool"},
        {"*", "{'url':{'domain':'*.a.org'}}", "c.url.domain: must be a domain"},
        {"*", "{'any':[]}", "c.any: must be a list of conditions"},
        {"*", "{'any':[{'path':{'x':1}}]}", "c.any[0].path.x: unknown test"},
        {"*", "{'not':[]}", "c.not: must be an object"},
        {"*", "{'not':{'not':{'not':{'not':{'not':{'not':{'not':{'not':{'path':'a'}}}}}}}}}",
         "at most 8 deep"},
        {"*", "{'path_b64':'x'}", "c.path_b64: a test of `path` sees this one too"},
        {"*", "{'pth':'x'}", "c.pth: no tool that the rule is about has this argument"},
        {"read_file", "{'command':'x'}",
         "c.command: no tool that the rule is about has this argument; `read_file` takes path"},
        {"http", "{'path':'x'}", "`http` takes method, url, headers, body"},
        {"fs_apply_patch", "{'patch.operatoin':'x'}", "no tool that the rule is about"},
        {"run_command", "{'command':{'beneath':'src'}}", "`command` is a command, not a path: use"},
        {"run_command", "{'command':{'domain':'a.org'}}", "`command` is not an address: use"},
        {"run_command", "{'command':5}", "`command` is a text: write one, in quotes"},
        {"run_command", "{'timeout_ms':'5'}", "`timeout_ms` is a number: write one"},
        {"run_command", "{'timeout_ms':{'in':[5,'6']}}", "`timeout_ms` is a number: write one"},
        {"run_command", "{'timeout_ms':{'glob':'5*'}}", "`timeout_ms` is a number: use equals"},
        {"run_command", "{'timeout_ms':{'beneath':'5'}}", "`timeout_ms` is not a path"},
        {"run_command", "{'timeout_ms':5.5}", "`timeout_ms` is a whole number"},
        {"run_command", "{'timeout_ms':-1}", "`timeout_ms` never is that number"},
        {"run_command", "{'timeout_ms':{'in':[5,0]}}", "`timeout_ms` never is that number"},
        {"run_command", "{'timeout_ms':86400001}", "`timeout_ms` never is that number"},
        {"run_command", "{'timeout_ms':{'less':1}}", "`timeout_ms` has no number on that side"},
        {"run_command", "{'timeout_ms':{'atMost':0}}", "`timeout_ms` has no number on that side"},
        {"run_command", "{'timeout_ms':{'greater':86400000}}", "`timeout_ms` has no number on"},
        {"run_command", "{'timeout_ms':{'atLeast':1e12}}", "`timeout_ms` has no number on that"},
        {"run_command", "{'timeout_ms':{'greater':5,'less':6}}", "both above and below"},
        {"run_command", "{'timeout_ms':{'greater':5.2,'atMost':5.9}}", "both above and below"},
        {"run_command", "{'timeout_ms':{'equals':5,'greater':5}}", "both above and below"},
        {"run_command", "{'env.CC':5}", "`env.CC` is a text: write one, in quotes"},
        {"run_command", "{'env.CC':true}", "`env.CC` is a text"},
        {"run_command", "{'env.CC':{'less':5}}", "`env.CC` is not a number"},
        {"run_command", "{'env.CC':{'beneath':'x'}}", "`env.CC` is not a path"},
        {"run_command", "{'env.A.B':'x'}", "`env.A.B` is a text: a variable has no parts"},
        {"run_command", "{'env.A=B':'x'}", "is no name that a variable can have"},
        {"read_file", "{'encoding':{'glob':'utf99*'}}", "`encoding` never is that"},
        {"read_file", "{'encoding':{'regex':'^x'}}", "`encoding` never is that"},
        {"run_command", "{'env':{'glob':'x'}}", "`env` has parts: name one behind a dot"},
        {"read_file", "{'path':{'domain':'a.org'}}", "`path` is a path, not an address"},
        {"read_file", "{'path':{'less':5}}", "`path` is not a number"},
        {"read_file", "{'encoding':'utf99'}", "`encoding` never is that"},
        {"delete", "{'recursive':'true'}", "`recursive` is true or false"},
        {"delete", "{'recursive':{'regex':'t'}}", "`recursive` is true or false: use equals"},
        {"*", "{'command':{'program':'rm -rf'}}", "no options, patterns or quotes"},
        {"*", "{'command':{'program':'rm x'}}", "`rm` has no subcommands that rules know"},
        {"*", "{'command':{'program':'git push origin'}}", "name \"git push\""},
        {"*", "{'command':{'program':'npm run a b'}}", "name \"npm run a\""},
        {"*", "{'command':{'program':'make a b'}}", "by itself: \"make a\", \"make b\""},
        {"*", "{'a..b':1}", "a dotted name"},
        {"*", "{'a':1,'a':2}", "duplicate"},
    };
    const struct tool **tools = tool_list();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tool_pattern pattern;
        struct err err = {.code = ERR_COUNT};
        tool_pattern_read(&pattern, rows[i].tool, "t", &err);
        struct condition *condition = make(rows[i].condition, tools, &pattern, &err);
        if (condition)
            fail_msg("%s is taken", rows[i].condition);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s: %s, not %s", rows[i].condition, err.message, rows[i].message);
        assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
        assert_int_equal(strncmp(err.field, "c", 1), 0);
        tool_pattern_done(&pattern);
    }
    free(tools);
}

static void known_arguments(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"read_file", "{'path':'x'}"},          {"fs.*", "{'path':'@state/x'}"},
        {"fs_read", "{'startLine':1}"},         {"nothing_like_it", "{'whatever':1}"},
        {"http", "{'url':{'domain':'a.org'}}"}, {"browser", "{'screenshot':true}"},
        {"run_command", "{'env.PATH':'x'}"},    {"edit_file", "{'edits.old_text':'x'}"},
        {"http", "{'headers.Accept':'x'}"},
    };
    const struct tool **tools = tool_list();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tool_pattern pattern;
        struct err err;
        assert_int_equal(tool_pattern_read(&pattern, rows[i][0], "t", &err), 0);
        struct condition *condition = make(rows[i][1], tools, &pattern, &err);
        if (!condition)
            fail_msg("%s", err.message);
        condition_free(condition);
        tool_pattern_done(&pattern);
    }
    free(tools);
}

static void large(void **state)
{
    (void)state;
    BUF_AT_END struct buf text = BUF_INIT(1 << 20);
    struct condition_place place = {"c", NULL};
    struct err err;
    buf_add_text(&text, "{\"any\":[");
    for (int i = 0; i < 600; i++)
        buf_addf(&text, "%s{\"a\":%d}", i ? "," : "", i);
    buf_add_text(&text, "]}");
    assert_null(condition_new(buf_str(&text), &place, &err));
    assert_non_null(strstr(err.message, "more than 512 parts"));
    /* A text that is too long to be searched is not let through unseen. */
    JSON_AT_END yyjson_doc *doc = NULL;
    buf_reset(&text, 0);
    buf_init(&text, 4 << 20);
    buf_add_text(&text, "{\"a\":\"");
    for (int i = 0; i < (2 << 20); i++)
        buf_add_char(&text, 'x');
    buf_add_text(&text, "\"}");
    doc = parsed_bytes(buf_str(&text), JSON_STRICT);
    struct policy_call call = make_call("x", doc);
    check_call(&call, &(struct row){"x", "much", "{'a':{'regex':'y'}}", ERROR});
    check_call(&call, &(struct row){"x", "much", "{'a':{'glob':'y'}}", ERROR});
    check_call(&call, &(struct row){"x", "much", "{'a':'y'}", NO});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),  cmocka_unit_test(texts),           cmocka_unit_test(combined),
        cmocka_unit_test(paths),   cmocka_unit_test(not_taken),       cmocka_unit_test(mounts),
        cmocka_unit_test(folders), cmocka_unit_test(programs),        cmocka_unit_test(domains),
        cmocka_unit_test(refused), cmocka_unit_test(known_arguments), cmocka_unit_test(large),
    };
    return cmocka_run_group_tests(tests, use_tools, NULL);
}
