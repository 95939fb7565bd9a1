/* Rules that a person made, and the ones that are offered. */
#include "judge_parts.h"

static const char *const dialects[] = {"native", "sidecar", "system", "toolhost", "runner"};

static const char *dialect_of(const struct policy_call *call)
{
    return call->tool ? dialects[call->tool->dialect] : "system";
}

static void add(struct allowed *allowed, const char *rule, const char *name)
{
    FREE_AT_END char *text = quoted(rule);
    struct err err;
    if (allowed_add(allowed, text_str(text), name, &err) < 0)
        fail_msg("%s", err.message);
}

static const char *find(const struct allowed *allowed, const char *tool, const char *arguments,
                        const char *agent, const char *workspace)
{
    JSON_AT_END yyjson_doc *doc = parsed(arguments);
    struct policy_call call = make_call(tool, doc);
    call.agent = agent;
    return allowed_find(allowed, &call, dialect_of(&call), workspace);
}

static void found(void **state)
{
    (void)state;
    struct allowed *allowed = allowed_new();
    add(allowed, "{'toolName':'stat','dialect':'native','workspace':'/a','agent':'bob'}", "one");
    add(allowed, "{'toolName':'write_file','condition':{'path':{'beneath':'src'}}}", "two");
    add(allowed, "{'toolName':'run_command','condition':{'command':{'program':'git'}}}", "three");
    add(allowed, "{'toolName':'fs_read'}", "four");
    assert_string_equal(find(allowed, "native:stat", "{'path':'x'}", "bob", "/a"), "one");
    assert_null(find(allowed, "native:stat", "{'path':'x'}", "bob", "/b"));
    assert_null(find(allowed, "native:stat", "{'path':'x'}", "bob", NULL));
    assert_null(find(allowed, "native:stat", "{'path':'x'}", "eve", "/a"));
    assert_null(find(allowed, "native:stat", "{'path':'x'}", NULL, "/a"));
    const char *two = find(allowed, "native:write_file", "{'path':'src/x'}", NULL, "/a");
    assert_string_equal(two, "two");
    assert_true(allowed_by_path(allowed, two));
    assert_null(find(allowed, "native:write_file", "{'path':'src/x'}", "bob", "/a"));
    assert_null(find(allowed, "toolhost:fs.read", "{'path':'@project/x'}", "", "/a"));
    assert_string_equal(find(allowed, "runner:write_file", "{'path':'src/x'}", NULL, "/a"), "two");
    assert_null(find(allowed, "native:write_file", "{'path':'x'}", NULL, "/a"));
    assert_null(find(allowed, "native:write_file", "{'path':'src/../x'}", NULL, "/a"));
    const char *three = find(allowed, "native:run_command", "{'command':'git push'}", NULL, "/a");
    assert_string_equal(three, "three");
    assert_false(allowed_by_path(allowed, three));
    assert_null(find(allowed, "native:run_command", "{'command':'git push; ls'}", NULL, "/a"));
    assert_null(find(allowed, "native:run_command", "{'command':'git push > x'}", NULL, "/a"));
    assert_null(find(allowed, "native:run_command", "{'command':'git \\\"'}", NULL, "/a"));
    assert_string_equal(find(allowed, "toolhost:fs.read", "{'path':'@project/x'}", NULL, "/a"),
                        "four");
    assert_null(find(allowed, "unknown", "{}", NULL, "/a"));
    allowed_free(allowed);
}

/* A rule from before, or for the same without the grant, does not give it; and the other way round. */
static void grants_are_apart(void **state)
{
    (void)state;
    struct allowed *allowed = allowed_new();
    add(allowed, "{'toolName':'run_command','condition':{'command':{'program':'git'}}}", "plain");
    assert_null(
        find(allowed, "native:run_command", "{'command':'git push','git':true}", NULL, "/a"));
    add(allowed, "{'toolName':'run_command','grants':['git'],'condition':{'command':'make'}}",
        "granting");
    assert_string_equal(
        find(allowed, "native:run_command", "{'command':'make','git':true}", NULL, "/a"),
        "granting");
    assert_null(find(allowed, "native:run_command", "{'command':'make'}", NULL, "/a"));
    assert_null(find(allowed, "native:run_command", "{'command':'make','git':false}", NULL, "/a"));
    allowed_free(allowed);
}

static void refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"[]", "r: must be an object"},
        {"{", "r: "},
        {"{}", "r.toolName: is required"},
        {"{'toolName':5}", "r.toolName: must be a text"},
        {"{'toolName':''}", "r.toolName: must be a text"},
        {"{'toolName':'['}", "r.toolName: "},
        {"{'toolName':'stat','action':'approve'}", "r: only toolName, condition"},
        {"{'toolName':'stat','grants':[]}", "r.grants: must be"},
        {"{'toolName':'stat','grants':['other']}", "r.grants: must be"},
        {"{'toolName':'stat','agent':null}", "r.agent: must be a text"},
        {"{'toolName':'stat','condition':[]}", "r.condition: must be an object"},
        {"{'toolName':'stat','condition':{'pth':'x'}}", "r.condition.pth: no tool"},
    };
    struct allowed *allowed = allowed_new();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        FREE_AT_END char *text = quoted(rows[i][0]);
        struct err err;
        assert_int_equal(allowed_add(allowed, text_str(text), "r", &err), -1);
        if (strncmp(err.message, rows[i][1], strlen(rows[i][1])) != 0)
            fail_msg("%s: %s, not %s", rows[i][0], err.message, rows[i][1]);
    }
    allowed_free(allowed);
}

struct row {
    const char *tool;
    const char *arguments;
    const char *condition; /* NULL: nothing is offered */
};

#define RUN "native:run_command"
#define ALONE "'env':{'exists':false},'stdin':{'exists':false},'network':{'exists':false}"
#define KNOWN(programs) "{'command':{'program':[" programs "],'options':'known'}}"
#define EXACT(text)                                                                                \
    "{'command':'" text "','argv':{'exists':false},'cwd':{'exists':false}," ALONE "}"

static const struct row offers[] = {
    {RUN, "{'command':'git commit -m x && npm test'}", EXACT("git commit -m x && npm test")},
    {RUN, "{'command':'git status -s','cwd':'a'}",
     "{'command':'git status -s','argv':{'exists':false},'cwd':'a'," ALONE "}"},
    {RUN, "{'command':'ls -l','cwd':'a'}", KNOWN("'ls'")},
    {RUN, "{'command':'git -C . --no-pager log -5 --oneline'}", KNOWN("'git log'")},
    {RUN, "{'command':'git -C a log -5'}", EXACT("git -C a log -5")},
    {RUN, "{'command':'cd a && git log -5'}", EXACT("cd a && git log -5")},
    {RUN, "{'command':'cd /workspace && git log -5'}", KNOWN("'cd','git log'")},
    {RUN, "{'command':'git log --output=x'}", EXACT("git log --output=x")},
    {RUN, "{'command':'git branch --show-current'}", KNOWN("'git branch'")},
    {RUN, "{'command':'git branch x'}", EXACT("git branch x")},
    {RUN, "{'command':'ls -l | wc -l'}", KNOWN("'ls','wc'")},
    {RUN, "{'command':'ls --unheard-of'}", EXACT("ls --unheard-of")},
    {RUN, "{'command':'sed -n 5,10p a.c'}", KNOWN("'sed'")},
    {RUN, "{'command':'make test'}", EXACT("make test")},
    {RUN, "{'command':'pytest -q'}", EXACT("pytest -q")},
    {RUN, "{'command':'cargo test'}", EXACT("cargo test")},
    {RUN, "{'command':'npm run build'}", EXACT("npm run build")},
    {RUN, "{'command':'make'}", EXACT("make")},
    {RUN, "{'command':'git'}", EXACT("git")},
    {RUN, "{'command':'python3 x.py'}", EXACT("python3 x.py")},
    {RUN, "{'command':'node -e 1'}", EXACT("node -e 1")},
    {RUN, "{'command':'bash x.sh'}", EXACT("bash x.sh")},
    {RUN, "{'command':'rm -rf build'}", EXACT("rm -rf build")},
    {RUN, "{'command':'dd if=a of=b'}", EXACT("dd if=a of=b")},
    {RUN, "{'command':'curl x'}", EXACT("curl x")},
    {RUN, "{'command':'sed -i s/a/b/e x'}", EXACT("sed -i s/a/b/e x")},
    {RUN, "{'command':'env'}", EXACT("env")},
    {RUN, "{'command':'find . -exec rm {} +'}", EXACT("find . -exec rm {} +")},
    {RUN, "{'command':'find . -name x -size -5'}", KNOWN("'find'")},
    {RUN, "{'command':'find . -exec ls {} +'}", EXACT("find . -exec ls {} +")},
    {RUN, "{'command':'xargs python'}", EXACT("xargs python")},
    {RUN, "{'command':'sudo git push'}", EXACT("sudo git push")},
    {RUN, "{'command':'npx prettier'}", EXACT("npx prettier")},
    {RUN, "{'command':'docker run x'}", EXACT("docker run x")},
    {RUN, "{'command':'git -c x=y log'}", EXACT("git -c x=y log")},
    {RUN, "{'command':'git config alias.x !sh'}", EXACT("git config alias.x !sh")},
    {RUN, "{'command':'ls > x'}", EXACT("ls > x")},
    {RUN, "{'command':'PATH=. ; ls'}", EXACT("PATH=. ; ls")},
    {RUN, "{'command':'./ls'}", EXACT("./ls")},
    {RUN, "{'command':'unheard_of x'}", EXACT("unheard_of x")},
    {RUN, "{'command':'ls && python x'}", EXACT("ls && python x")},
    {RUN, "{'command':'python x','cwd':'./a/'}",
     "{'command':'python x','argv':{'exists':false},'cwd':'a'," ALONE "}"},
    {RUN, "{'command':'$X'}", NULL},
    {RUN, "{'command':'sh -c $X'}", NULL},
    {RUN, "{'command':'echo \\\"'}", NULL},
    {RUN, "{'command':'A=1'}", NULL},
    {RUN, "{'command':'python','stdin':'x'}", NULL},
    {RUN, "{'command':'ls','env':{'A':'b'}}", NULL},
    {RUN, "{'argv':['git','diff','--stat']}", KNOWN("'git diff'")},
    {RUN, "{'argv':['python','-c','x']}",
     "{'command':{'exists':false},'argv':{'equals':['python','-c','x']},'cwd':{'exists':false}," ALONE
     "}"},
    {"system:bash", "{'command':'git','args':['status']}", KNOWN("'git status'")},
    {"system:bash", "{'command':'ls'}", KNOWN("'ls'")},
    {"system:bash", "{'command':'rm','args':['x']}",
     "{'command':'rm','args':{'equals':['x']},'cwd':{'exists':false}}"},
    {"system:bash", "{'command':'rm'}",
     "{'command':'rm','args':{'exists':false},'cwd':{'exists':false}}"},
    {"runner:shell", "{'command':'perl x'}",
     "{'command':'perl x','working_directory':{'exists':false}}"},
    {"sidecar:run_command", "{'command':'cat -n x'}", KNOWN("'cat'")},
    {"native:write_file", "{'path':'src/a/b.c','content':''}", "{'path':{'beneath':'src/a'}}"},
    {"native:write_file", "{'path':'/workspace/src/b.c','content':''}",
     "{'path':{'beneath':'src'}}"},
    {"native:write_file", "{'path':'b.c','content':''}", "{'path':'b.c'}"},
    {"native:write_file", "{'path':'../b.c','content':''}", NULL},
    {"native:write_file", "{'path_b64':'/w==','content':''}", NULL},
    {"native:search", "{'pattern':'x'}", "{'path':'.'}"},
    {"native:search", "{'pattern':'x','path':'a/b'}", "{'path':{'beneath':'a'}}"},
    {"native:delete", "{'path':'a/b'}", "{'recursive':false,'path':{'beneath':'a'}}"},
    {"native:delete", "{'path':'a/b','recursive':true}", "{'recursive':true,'path':'a/b'}"},
    {"native:move", "{'from':'a/b','to':'c'}", "{'overwrite':false,'from':'a/b','to':'c'}"},
    {"native:move", "{'from':'a/b','to':'c/d','overwrite':true}",
     "{'overwrite':true,'from':'a/b','to':'c/d'}"},
    {"system:filesystem", "{'operation':'write','path':'a/b','content':''}",
     "{'operation':'write','path':{'beneath':'a'}}"},
    {"toolhost:fs.write", "{'path':'@project/a/b','content':''}",
     "{'path':{'beneath':'@project/a'}}"},
    {"toolhost:fs.write", "{'path':'@project/b','content':''}", "{'path':'@project/b'}"},
    {"system:http", "{'method':'GET','url':'https://API.a.org:80/x'}",
     "{'method':'GET','url':{'domain':'api.a.org'}}"},
    {"browser", "{'url':'https://a.org/x'}", "{'url':{'domain':'a.org'}}"},
    {"browser", "{'url':'a.org/x'}", NULL},
    {"native:time.now", "{}", NULL},
    {"native:read_output", "{'output_id':'x'}", NULL},
    {"unknown", "{'path':'a/b'}", NULL},
};

static void offered(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(offers); i++) {
        const struct row *row = &offers[i];
        JSON_AT_END yyjson_doc *doc = parsed(row->arguments);
        struct policy_call call = make_call(row->tool, doc);
        BUF_AT_END struct buf out = BUF_INIT(1 << 16);
        bool any = propose_rule(&call, dialect_of(&call), "/w", &out);
        if (any != (row->condition != NULL))
            fail_msg("%s %s: %s", row->tool, row->arguments, any ? buf_text(&out) : "nothing");
        if (!any) {
            assert_int_equal(out.len, 0);
            continue;
        }
        FREE_AT_END char *condition = quoted(row->condition);
        FREE_AT_END char *expected = mem_format(
            "{\"toolName\":\"%s\",\"dialect\":\"%s\",\"workspace\":\"/w\",\"condition\":%s}",
            call.name, dialect_of(&call), condition);
        assert_string_equal(buf_text(&out), expected);
    }
}

/* What is offered can be used, and allows what it was offered for. */
static void offered_is_enough(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(offers); i++) {
        const struct row *row = &offers[i];
        JSON_AT_END yyjson_doc *doc = parsed(row->arguments);
        struct policy_call call = make_call(row->tool, doc);
        BUF_AT_END struct buf out = BUF_INIT(1 << 16);
        struct err err;
        call.agent = "bob";
        if (!propose_rule(&call, dialect_of(&call), "/w", &out))
            continue;
        struct allowed *allowed = allowed_new();
        if (allowed_add(allowed, buf_str(&out), "offered", &err) < 0)
            fail_msg("%s: %s", buf_text(&out), err.message);
        if (!allowed_find(allowed, &call, dialect_of(&call), "/w"))
            fail_msg("%s %s is not allowed by %s", row->tool, row->arguments, buf_text(&out));
        assert_null(allowed_find(allowed, &call, dialect_of(&call), "/x"));
        call.agent = NULL;
        assert_null(allowed_find(allowed, &call, dialect_of(&call), "/w"));
        allowed_free(allowed);
    }
}

/* And not much more. */
static void offered_is_narrow(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {RUN, "{'command':'git commit'}", "{'command':'git push'}"},
        {RUN, "{'command':'git commit'}", "{'command':'git commit; rm x'}"},
        {RUN, "{'command':'git commit'}", "{'command':'git commit','env':{'GIT_EDITOR':'x'}}"},
        {RUN, "{'command':'python x'}", "{'command':'python y'}"},
        {RUN, "{'command':'python x'}", "{'command':'python x','cwd':'a'}"},
        {RUN, "{'command':'python'}", "{'command':'python','stdin':'x'}"},
        {RUN, "{'command':'python'}", "{'argv':['python']}"},
        {RUN, "{'argv':['python']}", "{'argv':['python','x']}"},
        {RUN, "{'argv':['python']}", "{'command':'python'}"},
        {"system:bash", "{'command':'rm','args':['x']}", "{'command':'rm','args':['x','y']}"},
        {"system:bash", "{'command':'rm'}", "{'command':'rm','args':['x']}"},
        {RUN, "{'command':'git push'}", "{'command':'git push --receive-pack=x .'}"},
        {RUN, "{'command':'git grep x'}", "{'command':'git grep -Otouch x'}"},
        {RUN, "{'command':'ls'}", "{'command':'xargs -I ls sh -c ls'}"},
        {RUN, "{'command':'tree'}", "{'command':'tree -o a'}"},
        {RUN, "{'command':'git status'}", "{'command':'git -c core.pager=x status'}"},
        {RUN, "{'command':'git status'}", "{'command':'git -C status -c core.fsmonitor=x status'}"},
        {RUN, "{'command':'git status -s | awk 1'}", "{'command':'git -C a status -s | awk 1'}"},
        {RUN, "{'command':'git status'}", "{'command':'git status','cwd':'a'}"},
        {RUN, "{'command':'cd .; git status'}", "{'command':'cd a; git status'}"},
        {RUN, "{'command':'git log'}", "{'command':'git log -M --output=x'}"},
        {RUN, "{'command':'git diff'}", "{'command':'git diff --ext-diff'}"},
        {RUN, "{'command':'git branch -a'}", "{'command':'git branch x'}"},
        {RUN, "{'command':'ls'}", "{'command':'ls --unheard-of'}"},
        {RUN, "{'command':'cat a'}", "{'command':'cat $x'}"},
        {RUN, "{'command':'sed -n 1p a'}", "{'command':'sed -n 1w/b a'}"},
        {RUN, "{'command':'sed -n 1p a'}", "{'command':'sed -i 1p a'}"},
        {RUN, "{'command':'uniq a'}", "{'command':'uniq a b'}"},

        {RUN, "{'command':'sort a'}", "{'command':'sort -rob a'}"},
        {RUN, "{'command':'date'}", "{'command':'date 01010000'}"},
        {RUN, "{'command':'hostname'}", "{'command':'hostname x'}"},
        {RUN, "{'command':'find . -name x'}", "{'command':'find . -name x -delete'}"},
        {RUN, "{'command':'grep x a'}", "{'command':'xargs grep x'}"},
        {"native:edit_file", "{'path':'a/b','edits':[],'dry_run':true}",
         "{'path':'a/b','edits':[]}"},
        {"native:write_file", "{'path':'a/b','content':'','create_only':true}",
         "{'path':'a/b','content':''}"},
        {"native:write_file", "{'path':'a/b','content':'','append':true}",
         "{'path':'a/b','content':''}"},
        {"native:delete", "{'path':'a/b'}", "{'path':'a/b','recursive':true}"},
        {"native:delete", "{'path':'a/b','recursive':true}", "{'path':'a','recursive':true}"},
        {"native:move", "{'from':'a/b','to':'c'}", "{'from':'a/e','to':'c'}"},
        {"native:move", "{'from':'a/b','to':'c/d'}", "{'from':'a/b','to':'c/e'}"},
        {"native:move", "{'from':'a/b','to':'a/c'}", "{'from':'a/b','to':'a/c','overwrite':true}"},
        {"native:move", "{'from':'a/b','to':'a/c'}", "{'from':'a/b','to':'d'}"},
        {"system:filesystem", "{'operation':'write','path':'a/b'}",
         "{'operation':'delete','path':'a/b'}"},
        {"native:search", "{'pattern':'x','path':'a/b'}", "{'pattern':'x'}"},
        {"system:http", "{'method':'GET','url':'https://a.org'}",
         "{'method':'POST','url':'https://a.org'}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(rows[i][1]);
        JSON_AT_END yyjson_doc *other = parsed(rows[i][2]);
        struct policy_call call = make_call(rows[i][0], doc);
        BUF_AT_END struct buf out = BUF_INIT(1 << 16);
        struct err err;
        assert_true(propose_rule(&call, dialect_of(&call), "/w", &out));
        struct allowed *allowed = allowed_new();
        assert_int_equal(allowed_add(allowed, buf_str(&out), "offered", &err), 0);
        call = make_call(rows[i][0], other);
        if (allowed_find(allowed, &call, dialect_of(&call), "/w"))
            fail_msg("%s allows %s", buf_text(&out), rows[i][2]);
        allowed_free(allowed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found),
        cmocka_unit_test(grants_are_apart),
        cmocka_unit_test(refused),
        cmocka_unit_test(offered),
        cmocka_unit_test(offered_is_enough),
        cmocka_unit_test(offered_is_narrow),
    };
    return cmocka_run_group_tests(tests, use_tools, NULL);
}
