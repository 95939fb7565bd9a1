#include <arpa/inet.h>
#include <cmocka.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/un.h>

#include "folder.h"
#include "locked.h"

extern char **environ;

/* In the locked process: the line at which something did not work. */
#define WORKS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

static void must_work(locked_fn act)
{
    struct locked l;
    locked_run(&l, act, NULL);
    if (l.result != 0)
        fail_msg("line %d, status %x", l.result, (unsigned)l.status);
    if (l.violations.n > 0)
        fail_msg("violation: %s", l.violations.seen[0].call);
}

static void *add_one(void *number)
{
    __atomic_add_fetch((int *)number, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static int start_threads(const void *arg)
{
    (void)arg;
    pthread_t threads[8];
    int count = 0;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        WORKS(pthread_create(&threads[i], NULL, add_one, &count) == 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        WORKS(pthread_join(threads[i], NULL) == 0);
    return count == ARRAY_LEN(threads) ? 0 : __LINE__;
}

static bool ends_with(pid_t pid, int code)
{
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == code;
}

static int start_processes(const void *arg)
{
    (void)arg;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    WORKS(ends_with(pid, 0));
    char *const argv[] = {(char[]){"false"}, NULL};
    WORKS(posix_spawn(&pid, "/bin/false", NULL, NULL, argv, environ) == 0);
    WORKS(ends_with(pid, 1));
    /* As the C library does it. */
    WORKS(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(7);
    WORKS(ends_with(pid, 7));
    return 0;
}

static int talk_over(int server, const struct sockaddr *address, socklen_t length)
{
    char byte;
    FD_AT_END int client = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    WORKS(client >= 0 && connect(client, address, length) == 0);
    FD_AT_END int accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    WORKS(accepted >= 0 && write(client, "x", 1) == 1);
    WORKS(read(accepted, &byte, 1) == 1 && byte == 'x');
    return 0;
}

static int use_unix_sockets(const void *arg)
{
    (void)arg;
    int pair[2];
    WORKS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    WORKS(close(pair[0]) == 0 && close(pair[1]) == 0);
    /* The second name is abstract. */
    static const struct sockaddr_un names[] = {{AF_UNIX, "socket"}, {AF_UNIX, "\0sandgate-test"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct sockaddr *address = (const void *)&names[i];
        FD_AT_END int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        WORKS(server >= 0 && bind(server, address, sizeof names[i]) == 0);
        WORKS(listen(server, 1) == 0);
        int line = talk_over(server, address, sizeof names[i]);
        if (line != 0)
            return line;
    }
    return 0;
}

static int use_loopback(const void *arg)
{
    (void)arg;
    struct sockaddr_in name = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
    socklen_t length = sizeof name;
    FD_AT_END int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
    WORKS(server >= 0 && bind(server, (struct sockaddr *)&name, length) == 0);
    WORKS(listen(server, 1) == 0 && getsockname(server, (struct sockaddr *)&name, &length) == 0);
    int line = talk_over(server, (struct sockaddr *)&name, length);
    if (line != 0)
        return line;
    struct ifaddrs *all = NULL;
    WORKS(getifaddrs(&all) == 0 && all != NULL);
    freeifaddrs(all);
    return 0;
}

static int make_files(const void *arg)
{
    (void)arg;
    FD_AT_END int file = open("file", O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    WORKS(file >= 0 && fchmod(file, 0600) == 0 && chmod("file", 0755) == 0);
    FD_AT_END int unnamed = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    WORKS(unnamed >= 0 || errno == EOPNOTSUPP);
    WORKS(mkfifo("pipe", 0644) == 0 && mkdir("one", 0755) == 0 && mkdir("two", 01777) == 0);
    WORKS(rename("file", "one/file") == 0 && rename("one/file", "two/file") == 0);
    WORKS(link("two/file", "one/link") == 0 && symlink("file", "two/symlink") == 0);
    WORKS(truncate("two/file", 10) == 0 && unlink("two/file") == 0);
    return 0;
}

static int use_a_terminal(const void *arg)
{
    (void)arg;
    struct winsize size = {24, 80, 0, 0};
    FD_AT_END int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    WORKS(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    FD_AT_END int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    WORKS(slave >= 0 && ioctl(slave, TIOCSWINSZ, &size) == 0 && isatty(slave));
    return 0;
}

/* Programs with a sandbox of their own, as browsers and language servers have. */
static int lock_more(const void *arg)
{
    (void)arg;
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};
    struct err err;
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_rule rule = {root, .writable = true, .command = true};
    WORKS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    WORKS(landlock_restrict(&rule, 1, true, &err) == 0);
    WORKS(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    return start_processes(NULL);
}

#define WORKING(act)                                                                               \
    static void can_##act(void **state)                                                            \
    {                                                                                              \
        (void)state;                                                                               \
        must_work(act);                                                                            \
    }

WORKING(start_threads)
WORKING(start_processes)
WORKING(use_unix_sockets)
WORKING(use_loopback)
WORKING(make_files)
WORKING(use_a_terminal)
WORKING(lock_more)

static int reach_outside(const void *arg)
{
    WORKS(kill(getppid(), 0) < 0 && errno == EPERM);
    FD_AT_END int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    WORKS(connect(client, arg, sizeof(struct sockaddr_un)) < 0 && errno == EPERM);
    return 0;
}

static void processes_and_abstract_sockets_outside_are_out_of_reach(void **state)
{
    (void)state;
    if (landlock_abi() < 6)
        skip();
    struct locked l;
    struct sockaddr_un name = {AF_UNIX, "\0sandgate-outside"};
    FD_AT_END int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(server, 1), 0);
    locked_run(&l, reach_outside, &name);
    assert_int_equal(l.result, 0);
}

static bool refused(long r, int error)
{
    return r < 0 && errno == error;
}

/* Of `here` everything may be done, `read` may be read, `data` written but not run. */
static int try_rights(const void *arg)
{
    (void)arg;
    WORKS(mkfifo("here/pipe", 0600) == 0);
    WORKS(mkfifo("data/pipe", 0600) == 0); /* the right to move one; the worker's filter makes none */
    WORKS(refused(mkfifo("read/pipe", 0600), EACCES));
    WORKS(close(open("data/new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
    WORKS(refused(open("read/new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), EACCES));
    WORKS(refused(rename("data/new", "here/new"), EXDEV)); /* it could be run there */
    WORKS(close(open("here/new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
    WORKS(rename("here/new", "data/new") == 0);
    pid_t pid;
    char *const argv[] = {(char[]){"true"}, NULL};
    WORKS(posix_spawn(&pid, "here/true", NULL, NULL, argv, environ) == 0 && ends_with(pid, 0));
    WORKS(posix_spawn(&pid, "data/true", NULL, NULL, argv, environ) == EACCES);
    WORKS(posix_spawn(&pid, "read/true", NULL, NULL, argv, environ) == EACCES);
    return 0;
}

static struct landlock_rule rule_for(const char *path, bool writable, bool command)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return (struct landlock_rule){fd, .writable = writable, .command = command};
}

static void rights_are_what_the_rules_say(void **state)
{
    (void)state;
    if (landlock_abi() < 2) /* no moving between folders */
        skip();
    static const char *const programs[] = {"/usr", "/bin", "/lib", "/lib64"};
    struct landlock_rule rules[3 + ARRAY_LEN(programs)];
    size_t n = 0;
    assert_int_equal(system("for d in here data read; do mkdir $d && cp /bin/true $d; done"), 0);
    rules[n++] = rule_for("here", true, true);
    rules[n++] = rule_for("data", true, false);
    rules[n++] = rule_for("read", false, false);
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        rules[n] = rule_for(programs[i], false, true);
        n += rules[n].folder >= 0;
    }
    struct locked l;
    locked_run_under(&l, rules, n, try_rights, NULL);
    for (size_t i = 0; i < n; i++)
        close(rules[i].folder);
    assert_int_equal(l.result, 0);
}

static int ask_a_device(const void *arg)
{
    (void)arg;
    int number;
    FD_AT_END int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    WORKS(master >= 0);
    return ioctl(master, TIOCGPTN, &number) < 0 ? errno : 0;
}

static void devices_need_a_rule(void **state)
{
    (void)state;
    struct locked l;
    struct landlock_rule rule = rule_for("/dev", true, true);
    locked_run_under(&l, &rule, 1, ask_a_device, NULL);
    assert_int_equal(l.result, landlock_abi() < 5 ? 0 : EACCES);
    rule.writable = rule.command = false;
    rule.devices = true;
    locked_run_under(&l, &rule, 1, ask_a_device, NULL);
    assert_int_equal(l.result, 0);
    close(rule.folder);
}

static int run_script(const void *script)
{
    int log = open("log", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execl("/bin/sh", "sh", "-ec", script, NULL);
    return errno;
}

static void show_log(void)
{
    char text[4096];
    FD_AT_END int log = open("log", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd_read_upto(log, text, sizeof text);
    print_message("%.*s\n", n > 0 ? (int)n : 0, text);
}

/* Runs a script that needs the program; `may` is a violation that it may cause. */
static void must_run(const char *program, const char *script, const char *may)
{
    char question[100];
    snprintf(question, sizeof question, "command -v %s >/dev/null", program);
    if (system(question) != 0) {
        print_message("# %s is not installed: nothing was tried with it\n", program);
        skip();
    }
    struct locked l;
    locked_run(&l, run_script, script);
    if (l.status != 0 || l.result != -1)
        show_log();
    assert_int_equal(l.status, 0);
    for (uint32_t i = 0; i < l.violations.n; i++) {
        if (!may || strcmp(l.violations.seen[i].call, may) != 0)
            fail_msg("violation: %s", l.violations.seen[i].call);
    }
}

static void bash_runs(void **state)
{
    (void)state;
    must_run("bash",
             "test \"$(bash -c 'echo a | cat; (exit 3) & wait $! || echo $?; cat <(echo b)')\" = "
             "\"$(printf 'a\\n3\\nb')\"",
             NULL);
}

static void git_runs(void **state)
{
    (void)state;
    must_run("git",
             "export HOME=$PWD; git --version; git init -q r; cd r; echo a >a; git add .; "
             "git -c user.name=n -c user.email=e@x commit -qm m; git gc -q; git status --short; "
             "git clone -q . ../c; git log --oneline",
             NULL);
}

static void python_runs(void **state)
{
    (void)state;
    must_run("python3",
             "python3 -c '\n"
             "import multiprocessing, socket, subprocess, threading\n"
             "t = threading.Thread(target=print); t.start(); t.join()\n"
             "assert subprocess.run([\"echo\", \"a\"], capture_output=True).stdout == b\"a\\n\"\n"
             "s = socket.create_server((\"127.0.0.1\", 0))\n"
             "socket.create_connection(s.getsockname()).close()\n"
             "multiprocessing.get_context(\"fork\").Lock()\n"
             "'",
             NULL);
}

static void node_runs(void **state)
{
    (void)state;
    must_run(
        "node",
        "node -e '\n"
        "const assert = require(\"assert\");\n"
        "assert.equal(require(\"child_process\").execSync(\"echo a\").toString(), \"a\\n\");\n"
        "new (require(\"worker_threads\").Worker)(\"1\", {eval: true});\n"
        "require(\"fs\").readFile(\"/etc/passwd\", e => assert.ifError(e));\n"
        "const s = require(\"net\").createServer(c => c.end()).listen(0, \"127.0.0.1\", () =>\n"
        "  require(\"net\").connect(s.address()).resume().on(\"close\", () => s.close()));\n"
        "'",
        NULL);
}

static void gcc_runs(void **state)
{
    (void)state;
    must_run("gcc",
             "printf '#include <stdio.h>\\nint main(void) { return puts(\"hello\") < 0; }' >h.c; "
             "gcc -pipe -O1 -o h h.c; test \"$(./h)\" = hello",
             NULL);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(can_start_threads),
        cmocka_unit_test(can_start_processes),
        IN_FOLDER(can_use_unix_sockets),
        cmocka_unit_test(can_use_loopback),
        IN_FOLDER(can_make_files),
        cmocka_unit_test(can_use_a_terminal),
        cmocka_unit_test(can_lock_more),
        cmocka_unit_test(processes_and_abstract_sockets_outside_are_out_of_reach),
        IN_FOLDER(rights_are_what_the_rules_say),
        cmocka_unit_test(devices_need_a_rule),
        IN_FOLDER(bash_runs),
        IN_FOLDER(git_runs),
        IN_FOLDER(python_runs),
        IN_FOLDER(node_runs),
        IN_FOLDER(gcc_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
