/* Programs that are denied however they are started, and commands that may start only a few. */
#include "judge_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/denied_files.h"
#include "cell/stub.h"
#include "core/denials.h"

#define DENY(tool, condition) "{'toolName':'" tool "','action':'deny','condition':" condition "}"
#define RUN(condition) DENY("run_command", condition)
#define APPROVE(condition) "{'toolName':'run_command','action':'approve','condition':" condition "}"
#define ALL "{'toolName':'run_command','action':'approve'}"

struct row {
    const char *tool;
    const char *rules;
    const char *expected; /* kind, name, `=`, number of the rule */
};

static void describe(const struct denials *denials, struct buf *out)
{
    struct denial denial;
    for (struct str rest = denials ? denials->packed : (struct str){0};
         denials_next(&rest, &denial) > 0;)
        buf_addf(out, "%c%s=%s ", (char)denial.kind, denial.name, denial.rule);
}

static void expect_denied(const char *tool, const char *config, const char *expected)
{
    BUF_AT_END struct buf got = BUF_INIT(64u << 10);
    struct policy *policy = make_policy(config);
    JSON_AT_END yyjson_doc *doc = parsed("{'command':'echo'}");
    struct policy_call call = make_call(tool, doc);
    struct verdict verdict;
    struct err err;
    assert_int_equal(policy_judge(policy, &call, &verdict, NULL, NULL, &err), 0);
    describe(verdict.denied, &got);
    if (strcmp(got.len ? buf_text(&got) : "", expected) != 0)
        fail_msg("%s: %s, not %s", config, got.len ? buf_text(&got) : "", expected);
    policy_free(policy);
    /* The list outlives its policy, as a call does. */
    verdict_done(&verdict);
}

static void wholly(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"native:run_command", RUN("{'command':{'program':['rm','dd']}}"),
         "nrm=approval.rules[0] ndd=approval.rules[0] "},
        {"native:run_command", RUN("{'command':{'program':'/usr/bin/rm'}}"),
         "nrm=approval.rules[0] "},
        {"native:run_command", RUN("{'command':{'program':['git push','rm']}}"),
         "nrm=approval.rules[0] "},
        {"native:run_command", RUN("{'all':[{'command':{'program':'rm'}}]}"),
         "nrm=approval.rules[0] "},
        {"native:run_command", RUN("{'any':[{'command':{'program':'rm'}},{'cwd':{'equals':'x'}}]}"),
         "nrm=approval.rules[0] "},
        {"native:run_command", RUN("{'command':{'program':'rm'},'cwd':{'equals':'x'}}"), ""},
        {"native:run_command", RUN("{'command':{'program':'rm','glob':'*-f*'}}"), ""},
        {"native:run_command", RUN("{'not':{'command':{'program':'echo'}}}"), ""},
        {"native:run_command", DENY("bash", "{'command':{'program':'rm'}}"), ""},
        {"native:run_command", DENY("*", "{'command':{'program':'rm'}}"), "nrm=approval.rules[0] "},
        {"native:run_command",
         RUN("{'command':{'program':'rm'}}") "," RUN("{'command':{'program':['rm','dd']}}"),
         "nrm=approval.rules[0] ndd=approval.rules[1] "},
        /* What comes first decides. */
        {"native:run_command", ALL "," RUN("{'command':{'program':'rm'}}"), ""},
        {"native:run_command",
         APPROVE("{'command':{'program':['rm','ls']}}") "," RUN(
             "{'command':{'program':['rm','dd']}}"),
         "ndd=approval.rules[1] "},
        {"native:run_command",
         APPROVE("{'command':{'program':'perl5.36.0'}}") "," RUN("{'command':{'program':'perl'}}"),
         ""},
        {"native:run_command",
         APPROVE("{'command':{'program':'python2'}}") "," RUN("{'command':{'program':'python3'}}"),
         "npython3=approval.rules[1] "},
        /* What a package calls its program besides. */
        {"native:run_command", RUN("{'command':{'program':'npm'}}"),
         "nnpm=approval.rules[0] nnpx=approval.rules[0] "},
        {"native:run_command", RUN("{'command':{'program':'npx'}}"), "nnpx=approval.rules[0] "},
        {"native:run_command", RUN("{'command':{'program':'nodejs'}}"),
         "nnodejs=approval.rules[0] nnode=approval.rules[0] "},
        {"native:run_command",
         APPROVE("{'command':{'program':'npx'}}") "," RUN("{'command':{'program':'npm'}}"),
         "nnpm=approval.rules[1] "},
        {"native:run_command",
         APPROVE("{'command':{'program':'npm test'}}") "," RUN("{'command':{'program':'npm'}}"),
         ""},
        {"native:run_command",
         APPROVE("{'cwd':{'beneath':'src'}}") "," RUN("{'command':{'program':'rm'}}"), ""},
        {"native:run_command", RUN("{'command':{'program':'rm'}}") "," ALL,
         "nrm=approval.rules[0] "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        FREE_AT_END char *config = mem_format("{'approval':{'default':'approve','rules':[%s]}}",
                                              rows[i].rules);
        expect_denied(rows[i].tool, config, rows[i].expected);
    }
}

static void lists_of_tools(void **state)
{
    (void)state;
    expect_denied("system:bash",
                  "{'approval':{'default':'approve'},'tools':{'bash':{'deniedCommands':["
                  "'rm','/opt/x/run']}}}",
                  "nrm=tools.bash.deniedCommands[0] p/opt/x/run=tools.bash.deniedCommands[1] ");
    expect_denied("native:run_command", "{'tools':{'bash':{'deniedCommands':['rm']}}}", "");
    BUF_AT_END struct buf got = BUF_INIT(64u << 10);
    struct policy *policy = make_policy("{}");
    JSON_AT_END yyjson_doc *doc = parsed("{'command':'echo'}");
    struct policy_call call = make_call("sidecar:run_command", doc);
    struct verdict verdict;
    struct err err;
    assert_int_equal(policy_judge(policy, &call, &verdict, NULL, NULL, &err), 0);
    describe(verdict.denied, &got);
    assert_non_null(strstr(buf_text(&got), "nsudo=blocked:sudo "));
    assert_non_null(strstr(buf_text(&got), "gmkfs.*=blocked:mkfs "));
    assert_null(strstr(buf_text(&got), "nrm="));
    assert_null(strstr(buf_text(&got), "nchmod="));
    verdict_done(&verdict);
    policy_free(policy);
}

static void too_many(void **state)
{
    (void)state;
    BUF_AT_END struct buf config = BUF_INIT(1u << 20);
    buf_add_text(&config, "{'approval':{'default':'approve','rules':[");
    for (int i = 0; i < 300; i++)
        buf_addf(&config, "%s" RUN("{'command':{'program':'%0400d'}}"), i ? "," : "", i);
    buf_add_text(&config, "]}}");
    struct policy *policy = make_policy(buf_text(&config));
    JSON_AT_END yyjson_doc *doc = parsed("{'command':'echo'}");
    struct policy_call call = make_call("native:run_command", doc);
    struct verdict verdict;
    struct err err;
    assert_int_equal(policy_judge(policy, &call, &verdict, NULL, NULL, &err), -1);
    assert_string_equal(err.reason, "rule_cannot_be_kept");
    verdict_done(&verdict);
    policy_free(policy);
}

static void packed_lists(void **state)
{
    (void)state;
    static const struct str broken[] = {STR_INIT("n"),         STR_INIT("nrm"),
                                        STR_INIT("nrm\0rule"), STR_INIT("x\0r\0"),
                                        STR_INIT("n\0rule\0"), STR_INIT("\0rm\0rule\0")};
    struct denial denial;
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct str rest = broken[i];
        assert_int_equal(denials_next(&rest, &denial), -1);
    }
    struct str rest = {0};
    assert_int_equal(denials_next(&rest, &denial), 0);
}

struct leaf_row {
    const char *command;
    const char *expected; /* names with a blank behind each; NULL: it may start anything */
};

static void leaves(void **state)
{
    (void)state;
    static const struct leaf_row rows[] = {
        {"ls", "ls "},
        {"ls -l | grep x | wc -l", "ls grep wc "},
        {"git status", "git "},
        {"git status && git log", "git git "},
        {"git push", NULL},
        {"git commit", NULL},
        {"make", NULL},
        {"ls && make", NULL},
        {"timeout 5 ls", "timeout ls "},
        {"sh -c ls", "sh ls "},
        {"./ls", NULL},
    };
    struct policy *policy = make_policy(
        "{'approval':{'default':'approve','rules':[{'toolName':'run_command','action':'approve',"
        "'condition':{'command':{'program':['ls','grep','wc','git','make']}}}]}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        FREE_AT_END char *arguments = mem_format("{'command':'%s'}", rows[i].command);
        JSON_AT_END yyjson_doc *doc = parsed(arguments);
        struct policy_call call = make_call("native:run_command", doc);
        struct verdict verdict;
        struct err err;
        assert_int_equal(policy_judge(policy, &call, &verdict, NULL, NULL, &err), 0);
        for (size_t k = 0; k < verdict.leaves_n; k++)
            verdict.leaves[k] = verdict.leaves[k] ? verdict.leaves[k] : ' ';
        const char *got = verdict.leaves ? verdict.leaves : "any";
        if (strcmp(got, rows[i].expected ? rows[i].expected : "any") != 0)
            fail_msg("%s: %s", rows[i].command, got);
        verdict_done(&verdict);
    }
    policy_free(policy);
    /* What was approved whatever it runs is not limited. */
    policy = make_policy("{'approval':{'default':'approve'}}");
    JSON_AT_END yyjson_doc *doc = parsed("{'command':'ls'}");
    struct policy_call call = make_call("native:run_command", doc);
    struct verdict verdict;
    struct err err;
    assert_int_equal(policy_judge(policy, &call, &verdict, NULL, NULL, &err), 0);
    assert_null(verdict.leaves);
    verdict_done(&verdict);
    policy_free(policy);
}

static void homes(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"{'command':{'program':['git','curl']}}", "{'command':'git add a && curl http://a'}",
         "own"},
        {"{'command':{'program':['ls']}}", "{'command':'ls'}", "own"},
        {"{'command':'hg status'}", "{'command':'hg status'}", "own"},
        {"{'command':{'glob':'hg *'}}", "{'command':'hg x $('}", "own"},
        {"{'command':{'program':['make','git']}}", "{'command':'make && git status'}", "shared"},
        {"{'command':{'program':['python3.11']}}", "{'command':'python3.11 x'}", "shared"},
        {"{'command':{'program':['./run']}}", "{'command':'./run'}", "shared"},
        {"{'cwd':{'exists':false}}", "{'command':'git status'}", "shared"},
        {"{'command':{'program':['rm']}}", "{'command':'git status'}", "shared"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        FREE_AT_END char *config = mem_format(
            "{'approval':{'default':'approve','rules':[{'toolName':'run_command','action':'approve',"
            "'condition':%s}]}}",
            rows[i][0]);
        struct policy *policy = make_policy(config);
        JSON_AT_END yyjson_doc *doc = parsed(rows[i][1]);
        struct policy_call call = make_call("native:run_command", doc);
        struct verdict verdict;
        struct err err;
        assert_int_equal(policy_judge(policy, &call, &verdict, NULL, NULL, &err), 0);
        if (verdict.own_home != (strcmp(rows[i][2], "own") == 0))
            fail_msg("%s: %s: not %s", rows[i][0], rows[i][1], rows[i][2]);
        verdict_done(&verdict);
        policy_free(policy);
    }
}

/* What a person is asked about is not, though a rule names its programs. */
static void what_is_asked_about_may_start_any(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'approval':{'default':'approve','rules':[{'toolName':'run_command','action':'approve',"
        "'condition':{'command':{'program':['git','ls']}}}]}}");
    JSON_AT_END yyjson_doc *doc = parsed("{'command':'git status','git':true}");
    struct policy_call call = make_call("native:run_command", doc);
    struct verdict verdict;
    struct err err;
    assert_int_equal(policy_judge(policy, &call, &verdict, NULL, NULL, &err), 0);
    assert_int_equal(verdict.kind, VERDICT_ASK);
    assert_null(verdict.leaves);
    verdict_done(&verdict);
    policy_free(policy);
}

/* A rule that a person made when asked. */
static void leaves_of_remembered_rules(void **state)
{
    (void)state;
    static const char rule[] = "{\"toolName\":\"run_command\","
                               "\"condition\":{\"command\":{\"program\":[\"git\",\"make\"]}}}";
    struct allowed *allowed = allowed_new();
    struct err err;
    assert_int_equal(allowed_add(allowed, text_str(rule), "this session", &err), 0);
    static const char *const commands[] = {"{'command':'git status'}", "{'command':'make'}"};
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        JSON_AT_END yyjson_doc *doc = parsed(commands[i]);
        struct policy_call call = make_call("native:run_command", doc);
        struct verdict verdict = {0};
        const char *found = allowed_find(allowed, &call, "native", "/home/u/p");
        assert_non_null(found);
        allowed_limit(allowed, found, &call, &verdict);
        if (i == 0)
            assert_string_equal(verdict.leaves, "git");
        else
            assert_null(verdict.leaves);
        verdict_done(&verdict);
    }
    allowed_free(allowed);
}

/* --- files */

struct folder {
    char path[64];
};

static void make(const struct folder *f, const char *name)
{
    FREE_AT_END char *path = mem_format("%s/%s", f->path, name);
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
}

static void make_link(const struct folder *f, const char *target, const char *name)
{
    FREE_AT_END char *path = mem_format("%s/%s", f->path, name);
    assert_int_equal(symlink(target, path), 0);
}

static void make_name(const struct folder *f, const char *old, const char *name)
{
    FREE_AT_END char *from = mem_format("%s/%s", f->path, old);
    FREE_AT_END char *to = mem_format("%s/%s", f->path, name);
    assert_int_equal(link(from, to), 0);
}

static void fill(const struct folder *f, const char *name, const char *text)
{
    FREE_AT_END char *path = mem_format("%s/%s", f->path, name);
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void remove_all(const struct folder *f)
{
    FREE_AT_END char *command = mem_format("rm -rf %s", f->path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): its own folder */
}

static void note_skipped(void *arg, const struct denial *denial, const char *path, const char *why)
{
    (void)path;
    buf_addf(arg, "-%s (%s) ", denial->name, why);
}

static void expect_found(const struct folder *f, const char *names, const char *expected)
{
    BUF_AT_END struct buf packed = BUF_INIT(4096);
    BUF_AT_END struct buf got = BUF_INIT(4096);
    struct denied_files files = {0};
    FREE_AT_END char *list = mem_dup(names);
    char *next = list;
    for (char *name; (name = strsep(&next, " "));)
        denials_add(&packed,
                    &(struct denial){strchr(name, '*') ? DENIAL_GLOB : DENIAL_NAME, name, "rule"});
    denied_find(buf_str(&packed), &(struct denied_view){.path = f->path}, &files, note_skipped,
                &got);
    for (size_t i = 0; i < files.n; i++)
        buf_addf(&got, "%s ", strrchr(files.all[i].path, '/') + 1);
    if (strcmp(got.len ? buf_text(&got) : "", expected) != 0)
        fail_msg("%s: %s, not %s", names, got.len ? buf_text(&got) : "", expected);
    denied_files_done(&files);
}

static void files_of_programs(void **state)
{
    (void)state;
    struct folder f = {"/tmp/denied-XXXXXX"};
    assert_non_null(mkdtemp(f.path));
    static const char *const plain[] = {"zz-one",  "zz-two",     "zz-lang3.11", "zz-many",
                                        "busybox", "zz-archive", "zz-fs.a",     "zz-fs.b"};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        make(&f, plain[i]);
    make_link(&f, "zz-lang3.11", "zz-lang3");
    make_link(&f, "zz-lang3", "zz-lang");
    make_link(&f, "zz-many", "zz-alpha");
    make_link(&f, "busybox", "zz-applet");
    make_link(&f, "nowhere", "zz-broken");
    make_name(&f, "zz-archive", "zz-unpack");
    make_name(&f, "zz-two", "zz-two5.1");
    expect_found(&f, "zz-one", "zz-one ");
    expect_found(&f, "zz-missing", "");
    expect_found(&f, "zz-broken", "");
    expect_found(&f, "zz-lang", "zz-lang3.11 ");
    expect_found(&f, "zz-lang3", "zz-lang3.11 ");
    expect_found(&f, "zz-alpha", "-zz-alpha (the name is a link to another program) ");
    expect_found(&f, "zz-alpha zz-many", "zz-many ");
    expect_found(&f, "zz-many", "zz-many ");
    expect_found(&f, "zz-applet", "-zz-applet (it is many programs in one file) ");
    expect_found(&f, "zz-archive", "-zz-archive (the same file is another program too) ");
    expect_found(&f, "zz-fs.*", "zz-fs.a zz-fs.b ");
    fill(&f, "zz-one", "program");
    fill(&f, "zz-one5.36.0", "program");
    fill(&f, "zz-one.basic", "another");
    fill(&f, "zz-other", "program");
    expect_found(&f, "zz-one", "zz-one zz-one5.36.0 ");
    expect_found(&f, "zz-one5.36.0", "zz-one5.36.0 zz-one ");
    remove_all(&f);
    struct folder both = {"/tmp/denied-XXXXXX"};
    assert_non_null(mkdtemp(both.path));
    make(&both, "zz-two");
    make_name(&both, "zz-two", "zz-two5.1");
    BUF_AT_END struct buf packed = BUF_INIT(4096);
    struct denied_files files = {0};
    denials_add(&packed, &(struct denial){DENIAL_NAME, "zz-two", "rule"});
    denied_find(buf_str(&packed), &(struct denied_view){.path = both.path}, &files, NULL, NULL);
    assert_int_equal(files.n, 2);
    denied_files_done(&files);
    remove_all(&both);
}

#if defined(__x86_64__) || defined(__aarch64__)
/* Run for real. Its ptrace is refused here by the kernel itself. */
static void stub_runs(void **state)
{
    (void)state;
    static const char text[] = "sandgate: rm is denied by the rule approval.rules[2]\n";
    char path[] = "/tmp/stub-XXXXXX";
    BUF_AT_END struct buf stub = BUF_INIT(4096);
    char got[sizeof text + 1] = {0};
    int pipe_fds[2];
    int status;
    stub_write(&stub, 7, text);
    int fd = mkstemp(path);
    assert_true(fd >= 0 && fchmod(fd, 0755) == 0 && fd_write_all(fd, stub.data, stub.len) == 0);
    close(fd);
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipe_fds[1], STDERR_FILENO);
        execl(path, "rm", (char *)NULL);
        _exit(1);
    }
    close(pipe_fds[1]);
    assert_int_equal(fd_read_upto(pipe_fds[0], got, sizeof got), sizeof text - 1);
    assert_string_equal(got, text);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 126);
    close(pipe_fds[0]);
    unlink(path);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wholly),
        cmocka_unit_test(lists_of_tools),
        cmocka_unit_test(too_many),
        cmocka_unit_test(packed_lists),
        cmocka_unit_test(leaves),
        cmocka_unit_test(homes),
        cmocka_unit_test(what_is_asked_about_may_start_any),
        cmocka_unit_test(leaves_of_remembered_rules),
        cmocka_unit_test(files_of_programs),
#if defined(__x86_64__) || defined(__aarch64__)
        cmocka_unit_test(stub_runs),
#endif
    };
    return cmocka_run_group_tests_name("exec_denied", tests, use_tools, NULL);
}
