/* What a locked process is left with, as the kernel tells it from outside. */
#include <cmocka.h>
#include <stdlib.h>

#include "base/mem.h"
#include "folder.h"
#include "locked.h"

#define WORKER_DATA_MAX (1LL << 30)

/* Behind `key` in a file of /proc/PID, up to the end of its line. */
static char *told(pid_t pid, const char *file, const char *key)
{
    char text[8192] = "";
    FREE_AT_END char *path = mem_format("/proc/%d/%s", (int)pid, file);
    FREE_AT_END char *line = mem_format("\n%s", key);
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fd_read_upto(fd, text, sizeof text - 1) > 0);
    char *at = strstr(text, line);
    if (!at)
        fail_msg("%s has no %s", path, key);
    at += strlen(line) + strspn(at + strlen(line), " \t");
    return mem_copy(at, strcspn(at, "\n"));
}

static void expect(pid_t pid, const char *key, const char *value)
{
    FREE_AT_END char *got = told(pid, "status", key);
    if (strcmp(got, value) != 0)
        fail_msg("%s %s, not %s", key, got, value);
}

static int64_t hard_limit(pid_t pid, const char *name)
{
    FREE_AT_END char *line = told(pid, "limits", name);
    const char *hard = line + strcspn(line, " ");
    hard += strspn(hard, " ");
    return strncmp(hard, "unlimited", strlen("unlimited")) == 0 ? INT64_MAX
                                                                : strtoll(hard, NULL, 10);
}

static void assert_locked(pid_t pid)
{
    static const char *const sets[] = {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};
    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        expect(pid, sets[i], "0000000000000000");
    expect(pid, "NoNewPrivs:", "1");
    expect(pid, "Seccomp:", "2");
    /* One byte, so that a kernel that pipes cores to a program on the host starts none. */
    assert_true(hard_limit(pid, "Max core file size") <= 1);
}

static int wait_for_byte(const void *arg)
{
    char byte;
    return read(*(const int *)arg, &byte, 1) == 1 ? 0 : 1;
}

static void a_command_has_no_rights(void **state)
{
    (void)state;
    int pipe_fds[2];
    struct locked l;
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_rule all = {root, .command = true};
    assert_int_equal(pipe(pipe_fds), 0);
    locked_start(&l, &all, 1, wait_for_byte, &pipe_fds[0]);
    assert_locked(l.pid);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    locked_watch(&l);
    assert_int_equal(l.result, 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void be_worker(int ready, int wait)
{
    char byte = 'x';
    struct err err;
    struct landlock_rule rule = {open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    locked_get_capabilities();
    if (lock_as(ROLE_WORKER, &rule, 1, NULL, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        _exit(101);
    }
    bool good = write(ready, &byte, 1) == 1 && read(wait, &byte, 1) == 1;
    syscall(SYS_exit_group, !good);
}

static void a_worker_has_no_rights_and_little_memory(void **state)
{
    (void)state;
    int up[2];
    int down[2];
    char byte;
    int status;
    assert_true(pipe(up) == 0 && pipe(down) == 0);
    pid_t pid = fork();
    if (pid == 0)
        be_worker(up[1], down[0]);
    close(up[1]);
    assert_int_equal(read(up[0], &byte, 1), 1);
    assert_locked(pid);
#ifndef SANDGATE_SANITIZED
    assert_true(hard_limit(pid, "Max data size") <= WORKER_DATA_MAX);
#endif
    assert_int_equal(write(down[1], "x", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(up[0]);
    close(down[0]);
    close(down[1]);
}

static void make_file(const char *path)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
}

struct attempt {
    const char *path;
    int flags;
};

static int try_open(const void *arg)
{
    const struct attempt *attempt = arg;
    int fd = open(attempt->path, attempt->flags | O_CLOEXEC, 0644);
    return fd >= 0 ? 0 : errno;
}

static int opened(const struct landlock_rule *rules, size_t count, const char *path, int flags)
{
    struct locked l;
    locked_run_under(&l, rules, count, try_open, &(struct attempt){path, flags});
    return l.result;
}

static void files_are_reached_as_the_rules_say(void **state)
{
    (void)state;
    assert_true(mkdir("read", 0755) == 0 && mkdir("write", 0755) == 0 && mkdir("none", 0755) == 0);
    make_file("read/f");
    make_file("write/f");
    make_file("none/f");
    FD_AT_END int reads = open("read", O_PATH | O_DIRECTORY | O_CLOEXEC);
    FD_AT_END int writes = open("write", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct landlock_rule rules[] = {{reads}, {writes, .writable = true}};
    assert_int_equal(opened(rules, 2, "read/f", O_RDONLY), 0);
    assert_int_equal(opened(rules, 2, "read/f", O_WRONLY), EACCES);
    assert_int_equal(opened(rules, 2, "read/new", O_WRONLY | O_CREAT), EACCES);
    assert_int_equal(opened(rules, 2, "write/f", O_WRONLY), 0);
    assert_int_equal(opened(rules, 2, "write/new", O_WRONLY | O_CREAT), 0);
    assert_int_equal(opened(rules, 2, "none/f", O_RDONLY), EACCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_has_no_rights),
        cmocka_unit_test(a_worker_has_no_rights_and_little_memory),
        cmocka_unit_test_setup_teardown(files_are_reached_as_the_rules_say, folder_set_up,
                                        folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
