/* Command lines that rules approve, run by a real bash: no program may start, and no subcommand or target run, that no rule
 * approves. Lines are made of
 * ordinary ones and of pieces that shells read in surprising ways. Every program is a stub that notes its name, but for those
 * that start others. The root is read-only meanwhile. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doc_rules.h"
#include "hostile_lines.h"
#include "base/buf.h"

/* Each that is allowed starts a shell. */
#define LINES 8000
#define SOAK_LINES 20000
#define APPROVED                                                                                   \
    "ls", "cat", "grep", "head", "wc", "echo", "find", "printf", "test", "[", "true", "cd", "./run"

static const char *const approved[] = {APPROVED, NULL};
/* They are there, and no rule is about them. */
static const char *const others[] = {"rm",  "touch",  "make",     "python3", "git",  "sed",
                                     "awk", "pytest", "git-push", "uniq",    "sort", NULL};
static const char *const targets[] = {"make test", "make lint", "git status", "git log", "uniq",
                                      "sort",      "cat",       "find",       "ls",      NULL};
static const char *const starters[] = {"find",   "xargs",  "timeout", "nice", "nohup",
                                       "setsid", "stdbuf", "env",     "bash", "sh",
                                       "dash",   "strace", NULL};

static char world[4096];

static bool among(const char *const *list, const char *name)
{
    for (; *list; list++) {
        if (strcmp(*list, name) == 0)
            return true;
    }
    return false;
}

/* --- the world that lines run in */

static void copy_to(const char *from, const char *to)
{
    char path[8192];
    char buffer[65536];
    snprintf(path, sizeof path, "%s/%s", world, to);
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(in >= 0 && out >= 0);
    for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;)
        assert_int_equal(write(out, buffer, (size_t)n), n);
    close(in);
    close(out);
}

static void make_folder(const char *name)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", world, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void make_file(const char *name, const char *text)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", world, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make_stubs(const char *stub, const char *const *names)
{
    char name[256];
    for (; *names; names++) {
        if (strchr(*names, '/') || among(starters, *names))
            continue;
        snprintf(name, sizeof name, "bin/%s", *names);
        copy_to(stub, name);
    }
}

static void link_starters(void)
{
    for (size_t i = 0; starters[i]; i++) {
        char real[256];
        char path[8192];
        snprintf(real, sizeof real, "/usr/bin/%s", starters[i]);
        snprintf(path, sizeof path, "%s/real/%s", world, starters[i]);
        if (access(real, X_OK) == 0)
            assert_int_equal(symlink(real, path), 0);
    }
}

static void make_world(void)
{
    static const char *const folders[] = {"bin", "real", "work", "work/sub", "work/10", "work/src"};
    char stub[4096];
    ssize_t n = readlink("/proc/self/exe", stub, sizeof stub - 16);
    assert_true(n > 0);
    stub[n] = '\0';
    *strrchr(stub, '/') = '\0';
    strcpy(strrchr(stub, '/'), "/line_stub");
    const char *tmp = getenv("TMPDIR");
    snprintf(world, sizeof world, "%s/judge", tmp ? tmp : "/tmp");
    assert_int_equal(mkdir(world, 0755), 0);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        make_folder(folders[i]);
    make_stubs(stub, approved);
    make_stubs(stub, others);
    link_starters();
    copy_to(stub, "work/run");
    copy_to(stub, "work/rm");
    copy_to(stub, "work/10/ls");
    copy_to(stub, "work/10/cat");
    make_file("work/a.txt", "a.txt\nrm victim\n-exec\n");
    make_file("work/a.sh", "rm from-script\n");
    make_file("work/a;rm x", "");
    make_file("work/-delete", "");
    make_file("work/-ob", "");
    make_file("work/b1", "");
    make_file("work/b2", "");
    make_file("work/deploy", "");
    make_folder("work/S=x");
    make_file("work/S=x/y", "");
    make_file("log", "");
}

/* Nothing but the world can be written, and nothing outside is reached. */
static void lock_world(void)
{
    struct mount_attr all = {.attr_set = MOUNT_ATTR_RDONLY};
    struct mount_attr own = {.attr_clr = MOUNT_ATTR_RDONLY};
    assert_int_equal(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC), 0);
    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal(mount(world, world, NULL, MS_BIND | MS_REC, NULL), 0);
    assert_int_equal(mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &all, sizeof all), 0);
    assert_int_equal(mount_setattr(AT_FDCWD, world, 0, &own, sizeof own), 0);
}

/* --- one line */

static void be_bash(const char *line)
{
    char path[16384];
    char work[8192];
    snprintf(path, sizeof path, "PATH=%s/bin:%s/real", world, world);
    snprintf(work, sizeof work, "%s/work", world);
    char home[] = "HOME=/nonexistent";
    char language[] = "LANG=C.UTF-8";
    char bash[] = "bash";
    char option[] = "-c";
    char *const env[] = {path, home, language, NULL};
    char *const argv[] = {bash, option, (char *)(uintptr_t)line, NULL};
    int null = open("/dev/null", O_RDWR);
    struct rlimit limit = {1 << 20, 1 << 20};
    setpgid(0, 0);
    if (chdir(work) < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        _exit(99);
    close_range(3, ~0u, 0);
    setrlimit(RLIMIT_FSIZE, &limit);
    alarm(10);
    execve("/bin/bash", argv, env);
    _exit(99);
}

static void run_line(const char *line)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_bash(line);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    kill(-pid, SIGKILL);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 99);
}

/* The next argument that is no option, as far as these programs have options with a value. */
static char *next_operand(char **rest)
{
    for (char *word; (word = strsep(rest, "\t"));) {
        if (strcmp(word, "-C") == 0 || strcmp(word, "-f") == 0 || strcmp(word, "-o") == 0)
            strsep(rest, "\t");
        else if (word[0] != '-' && word[0])
            return word;
    }
    return NULL;
}

static bool names_use(const char *const *names, const char *program, const char *word)
{
    char use[600];
    snprintf(use, sizeof use, "%s %s", program, word);
    return among(names, program) || among(names, use);
}

/* Every target of make, the first word of others. `rest` are the arguments. */
static bool use_is_named(const char *const *names, const char *program, char *rest)
{
    char *word = next_operand(&rest);
    if (!word || !names_use(names, program, word))
        return among(names, program);
    while (strcmp(program, "make") == 0 && (word = next_operand(&rest))) {
        if (!names_use(names, program, word))
            return false;
    }
    return true;
}

/* `-f 2` and `-cf 2` of uniq. */
static bool uniq_takes_next(const char *word)
{
    size_t n = strcspn(word, "fsw");
    return word[0] == '-' && word[1] != '-' && word[n] && !word[n + 1];
}

/* An approval of these does not cover that they write a file. */
static bool use_writes(const char *program, char *rest)
{
    unsigned operands = 0;
    bool output = false;
    bool closed = false;
    for (char *word; (word = strsep(&rest, "\t"));) {
        size_t n = strcspn(word, "=");
        bool named = n > 2 && strncmp(word, "--output", n) == 0;
        output |= !closed && (strncmp(word, "-o", 2) == 0 || named);
        operands += closed || word[0] != '-';
        if (!closed && strcmp(program, "uniq") == 0 && uniq_takes_next(word))
            strsep(&rest, "\t");
        closed |= strcmp(word, "--") == 0;
    }
    return strcmp(program, "sort") == 0 ? output : strcmp(program, "uniq") == 0 && operands > 1;
}

/* Fails when the log names a use that is not among `names`; empties it. Number of programs that ran. */
static size_t check_log(const char *line, const char *const *names)
{
    char path[8192];
    char run[4096];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/log", world);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(run, sizeof run, f)) {
        run[strcspn(run, "\n")] = '\0';
        char words[4096];
        char *name = run;
        char *rest = strchr(run, '\t');
        if (rest)
            *rest++ = '\0';
        strcpy(words, rest ? rest : "");
        bool own = strcmp(name, "work/run") == 0 && among(names, "./run");
        bool good = strncmp(name, "bin/", 4) == 0 && use_is_named(names, name + 4, rest) &&
                    !use_writes(name + 4, words);
        if (!own && !good)
            fail_msg("%s ran: <<<%s>>>", name, line);
        count++;
    }
    fclose(f);
    assert_int_equal(truncate(path, 0), 0);
    return count;
}

static struct policy *approving(void)
{
    return make_policy(
        "{'approval':{'default':'prompt','rules':[{'toolName':'run_command',"
        "'condition':{'command':{'program':['ls','cat','grep','head','wc','echo',"
        "'find','printf','test','[','true','cd','./run','command']}},'action':'approve'}]}}");
}

static void run_hostile_lines(const struct policy *policy, const char *const *base,
                              const char *const *names)
{
    size_t allowed = 0;
    size_t ran = 0;
    random_begin();
    for (unsigned i = random_rounds(random_is_soak() ? SOAK_LINES : LINES); i > 0; i--) {
        BUF_AT_END struct buf line = BUF_INIT(1 << 16);
        make_hostile_line(&line, base);
        const char *text = buf_text(&line);
        if (!line_is_allowed(policy, text))
            continue;
        allowed++;
        run_line(text);
        ran += check_log(text, names);
    }
    printf("# %zu lines allowed, %zu programs ran\n", allowed, ran);
    /* Else the generator is of no use. */
    assert_true(allowed > LINES / 50 && ran > allowed / 4);
}

static void no_other_program_runs(void **state)
{
    (void)state;
    struct policy *policy = approving();
    run_hostile_lines(policy, ordinary_lines, approved);
    policy_free(policy);
}

static void every_ordinary_line_is_allowed(void **state)
{
    (void)state;
    struct policy *policy = approving();
    for (size_t i = 0; ordinary_lines[i]; i++) {
        if (!line_is_allowed(policy, ordinary_lines[i]))
            fail_msg("not allowed: %s", ordinary_lines[i]);
        run_line(ordinary_lines[i]);
        check_log(ordinary_lines[i], approved);
    }
    policy_free(policy);
}

static void no_other_target_runs(void **state)
{
    (void)state;
    struct policy *policy = make_policy(
        "{'approval':{'default':'prompt','rules':[{'toolName':'run_command',"
        "'condition':{'command':{'program':['make test','make lint','git status','git log',"
        "'uniq','sort','cat','find','ls']}},'action':'approve'}]}}");
    for (size_t i = 0; target_lines[i]; i++) {
        if (!line_is_allowed(policy, target_lines[i]))
            fail_msg("not allowed: %s", target_lines[i]);
    }
    run_hostile_lines(policy, target_lines, targets);
    policy_free(policy);
}

/* Rule sets that people copy from the docs. */
static void check_doc_rules(const struct policy *policy, const char *const *names)
{
    for (size_t i = 0; documented_lines[i]; i++) {
        if (!line_is_allowed(policy, documented_lines[i]))
            fail_msg("not allowed: %s", documented_lines[i]);
    }
    run_hostile_lines(policy, documented_lines, names);
}

static void no_other_program_runs_by_the_docs(void **state)
{
    (void)state;
    each_doc_rules(check_doc_rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ordinary_line_is_allowed),
        cmocka_unit_test(no_other_program_runs),
        cmocka_unit_test(no_other_target_runs),
        cmocka_unit_test(no_other_program_runs_by_the_docs),
    };
    registry_use(tools_all);
    make_world();
    lock_world();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
