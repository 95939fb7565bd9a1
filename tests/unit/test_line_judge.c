/* Command lines that rules approve, run by a real bash: no program may start that no rule approves. Lines are made of
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

#include "judge_parts.h"
#include "random.h"
#include "base/buf.h"

#define LINES 20000
#define LINE_MAX_BYTES 2000
#define APPROVED                                                                                   \
    "ls", "cat", "grep", "head", "wc", "echo", "find", "printf", "test", "[", "true", "cd", "./run"

static const char *const approved[] = {APPROVED, NULL};
/* They are there, and no rule is about them. */
static const char *const others[] = {"rm", "touch", "make", "python3", "git", "sed", "awk", NULL};
static const char *const starters[] = {"find",   "xargs",  "timeout", "nice", "nohup",
                                       "setsid", "stdbuf", "env",     "bash", "sh",
                                       "dash",   "strace", NULL};

static const char *const ordinary[] = {
    "ls -la src",
    "cat a.txt | grep -n foo | head -5",
    "cd sub && ls",
    "echo \"$HOME\" 'x y' z",
    "find . -name '*.c' -exec grep -l foo {} \\;",
    "find . -type f | xargs wc -l",
    "timeout 5 ls; echo $?",
    "sh -c 'ls -l | head'",
    "bash -euo pipefail -c \"cat a.txt\"",
    "grep -rn \"a\\|b$\" . 2>/dev/null || true",
    "echo $(cat a.txt) \"$(ls)\"",
    "( cd sub && ls ) >/dev/null 2>&1",
    "cat <<'EOF'\nrm victim\nEOF\n",
    "[ -f a.txt ] && echo yes",
    "ls # rm victim",
    "ls \\\n -l",
    "xargs -I{} cat {} < a.txt",
    "nice -n 5 cat *.txt ~/x",
    "./run -x | wc",
    "printf '%s\\n' a b",
    "! ls; true",
    "command -v ls && nohup ls",
    "find sub a* -print0 | xargs -0 -n 1 head -1",
    "cat a.txt |\n# x\nwc -l",
};

static const char *const pieces[] = {
    ";",
    ";;",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "\n",
    "\\\n",
    "(",
    ")",
    "((",
    "))",
    "$(",
    "$((",
    "`",
    "'",
    "\"",
    "\\",
    "$",
    "$'",
    "$\"",
    "${",
    "}",
    "{",
    "{}",
    "[",
    "]",
    "[[",
    "]]",
    "]=1",
    "a[",
    "=",
    "+=",
    "<",
    ">",
    ">>",
    "<<",
    "<<<",
    "<(",
    ">(",
    "<&",
    ">&",
    "&>",
    "2>&1",
    "2>",
    "10>",
    ">/dev/null",
    "< a.txt",
    "<<E\n",
    "<<'E'\n",
    "<<-E\n",
    "\nE\n",
    "\nEOF\n",
    "EOF",
    "#",
    " #",
    "!",
    " ! ",
    "~",
    "*",
    "?",
    "^",
    "%",
    "@",
    "+",
    ",",
    ":",
    " ",
    "\t",
    "\r",
    "\v",
    "\xc2\xa0",
    "\x01",
    "\x7f",
    "\xff",
    "rm victim",
    " rm victim ",
    ";rm victim;",
    "|rm victim",
    "$(rm victim)",
    "`rm victim`",
    "touch x",
    "rm",
    "./rm",
    "10/ls",
    "./10/ls",
    "PATH=10 ",
    "PATH=. ",
    "IFS=x ",
    "BASH_ENV=a.sh ",
    "{PATH}<",
    "{PATH}</dev/null",
    "eval ",
    "exec ",
    "source a.sh",
    ". ./a.sh",
    "builtin ",
    "command ",
    "time ",
    "coproc ",
    "if ",
    " then ",
    " fi ",
    "for x in a; do ",
    " done",
    "while ",
    "case x in x) ",
    " esac",
    "function f ",
    "f()",
    "ls() ",
    "alias ls=rm",
    "export PATH=10",
    "hash -p 10/ls ls",
    "trap 'rm x' EXIT",
    "read x",
    "set -- x",
    "printf -v 'a[$(rm x)]' y",
    "test -v 'a[$(rm x)]'",
    "[ -v 'a[$(rm x)]' ]",
    "let 'a[$(rm x)]'",
    "-exec ",
    " -exec rm x \\; ",
    " -execdir rm {} + ",
    " -ok ",
    " \\; ",
    " + ",
    " -delete ",
    " -fprint f ",
    "xargs ",
    " | xargs ",
    " | sh",
    " | bash",
    "xargs -I{} ",
    "xargs -i ",
    "xargs --process-slot-var PATH ",
    "xargs -a a.txt ",
    "sh -c ",
    "bash -c ",
    "sh ",
    "bash ",
    "dash -c ",
    "bash -lc ",
    "bash -O x -c ",
    "timeout 5 ",
    "timeout --kill 5 rm ",
    "timeout -k rm 5 ",
    "nice ",
    "nohup ",
    "setsid ",
    "stdbuf -oL ",
    "env ",
    "env -S ",
    "env rm ",
    "env --split-str='rm x' ",
    "nice -n ",
    "strace -o '|rm x' ",
    "-c",
    " -- ",
    "--",
    "-",
    "$x",
    "$_",
    "$0",
    "$@",
    "$!",
    "$HOME",
    "\"$x\"",
    "$x[0]",
    "${x@P}",
    "${x:=rm}",
    "$[1]",
    "a.txt",
    "x y",
    "E",
    "E)",
    "'E'",
    "ls",
    "cat",
    "echo",
    "\\;",
    "\\(",
    "\\)",
    "'\\''",
    "\"\\\"\"",
    "\"$\\\n(rm x)\"",
    "$\\\n(rm x)",
    "\\\nrm x",
    "<\\\n<E",
};

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
    char *const env[] = {path, "HOME=/nonexistent", "LANG=C.UTF-8", NULL};
    char *const argv[] = {"bash", "-c", (char *)(uintptr_t)line, NULL};
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

/* Fails when the log names a program that is not approved; empties it. Number of programs that ran. */
static size_t check_log(const char *line)
{
    char path[8192];
    char name[600];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/log", world);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(name, sizeof name, f)) {
        name[strcspn(name, "\n")] = '\0';
        bool good = strcmp(name, "work/run") == 0 ||
                    (strncmp(name, "bin/", 4) == 0 && among(approved, name + 4));
        if (!good)
            fail_msg("%s ran: <<<%s>>>", name, line);
        count++;
    }
    fclose(f);
    assert_int_equal(truncate(path, 0), 0);
    return count;
}

static bool is_allowed(const struct policy *policy, const char *line)
{
    BUF_AT_END struct buf text = BUF_INIT(1 << 20);
    struct verdict verdict;
    struct err err;
    yyjson_mut_doc *mut = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(mut);
    yyjson_mut_doc_set_root(mut, root);
    yyjson_mut_obj_add_str(mut, root, "command", line);
    yyjson_doc *doc = yyjson_mut_doc_imut_copy(mut, NULL);
    yyjson_mut_doc_free(mut);
    assert_non_null(doc);
    struct policy_call call = make_call("native:run_command", doc);
    bool allowed = policy_judge(policy, &call, &verdict, NULL, NULL, &err) == 0 &&
                   verdict.kind == VERDICT_ALLOW;
    yyjson_doc_free(doc);
    return allowed;
}

static void make_line(struct buf *line)
{
    buf_add_text(line, ordinary[random_below(ARRAY_LEN(ordinary))]);
    for (size_t i = random_below(6); i > 0; i--) {
        bool whole = random_below(12) == 0;
        const char *piece = whole ? ordinary[random_below(ARRAY_LEN(ordinary))]
                                  : pieces[random_below(ARRAY_LEN(pieces))];
        char rest[LINE_MAX_BYTES * 4];
        size_t at = random_below(line->len + 1);
        size_t gone = random_below(4) == 0 ? random_below(3) : 0;
        size_t from = at + gone < line->len ? at + gone : line->len;
        size_t n = line->len - from;
        memcpy(rest, line->data + from, n);
        line->len = at;
        buf_add_text(line, piece);
        buf_add(line, rest, n);
        if (line->len > LINE_MAX_BYTES)
            return;
    }
}

static struct policy *approving(void)
{
    return make_policy(
        "{'approval':{'default':'prompt','rules':[{'toolName':'run_command',"
        "'condition':{'command':{'program':['ls','cat','grep','head','wc','echo',"
        "'find','printf','test','[','true','cd','./run','command']}},'action':'approve'}]}}");
}

static void no_other_program_runs(void **state)
{
    (void)state;
    struct policy *policy = approving();
    size_t allowed = 0;
    size_t ran = 0;
    random_begin();
    for (unsigned i = random_rounds(LINES); i > 0; i--) {
        BUF_AT_END struct buf line = BUF_INIT(1 << 16);
        make_line(&line);
        const char *text = buf_text(&line);
        if (!is_allowed(policy, text))
            continue;
        allowed++;
        run_line(text);
        ran += check_log(text);
    }
    printf("# %zu lines allowed, %zu programs ran\n", allowed, ran);
    /* Else the generator is of no use. */
    assert_true(allowed > LINES / 50 && ran > allowed / 4);
    policy_free(policy);
}

static void every_ordinary_line_is_allowed(void **state)
{
    (void)state;
    struct policy *policy = approving();
    for (size_t i = 0; i < ARRAY_LEN(ordinary); i++) {
        if (!is_allowed(policy, ordinary[i]))
            fail_msg("not allowed: %s", ordinary[i]);
        run_line(ordinary[i]);
        check_log(ordinary[i]);
    }
    policy_free(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ordinary_line_is_allowed),
        cmocka_unit_test(no_other_program_runs),
    };
    registry_use(tools_all);
    make_world();
    lock_world();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
