#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell/leaves.h"
#include "cell/program.h"

/* Of whom nothing else runs. Root is not held by this limit. */
#define OTHER_USER 61234

struct outcome {
    enum ran_kind kind;
    char reason[40];
    int status; /* of the program */
};

/* In a process of its own, with these limits of processes. */
static struct outcome start(rlim_t soft, rlim_t hard, char **args)
{
    struct outcome out = {0};
    int pipe_fds[2];
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *env[] = {NULL};
        struct order_vectors vectors = {.args = args, .env = env};
        struct order order = {.processes = (int64_t)soft};
        struct rlimit limit;
        struct err err = {0};
        pid_t program;
        int64_t error;
        if ((geteuid() == 0 && setresuid(OTHER_USER, OTHER_USER, OTHER_USER) < 0) ||
            getrlimit(RLIMIT_NPROC, &limit) < 0)
            _exit(1);
        limit.rlim_cur = soft;
        limit.rlim_max = hard < limit.rlim_max ? hard : limit.rlim_max;
        if (setrlimit(RLIMIT_NPROC, &limit) < 0)
            _exit(1);
        out.kind = program_start(&order, &vectors, &program, &error, &err);
        snprintf(out.reason, sizeof out.reason, "%s", err.reason);
        if (out.kind == RAN_ENDED)
            waitpid(program, &out.status, 0);
        _exit(write(pipe_fds[1], &out, sizeof out) == sizeof out ? 0 : 1);
    }
    close(pipe_fds[1]);
    assert_int_equal(read(pipe_fds[0], &out, sizeof out), sizeof out);
    close(pipe_fds[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return out;
}

static char *nothing[] = {"/bin/true", NULL};

static void own_limit(void **state)
{
    (void)state;
    struct outcome out = start(1, RLIM_INFINITY, nothing);
    assert_int_equal(out.kind, RAN_BUSY);
    assert_string_equal(out.reason, RAN_PROCESS_LIMIT);
}

static void limit_of_the_machine(void **state)
{
    (void)state;
    struct outcome out = start(1, 1, nothing);
    assert_int_equal(out.kind, RAN_BUSY);
    assert_string_equal(out.reason, "");
}

static void program_cannot_raise_it(void **state)
{
    (void)state;
    char *args[] = {"/bin/bash", "-c", "[ $(ulimit -Hu) = 4000 ] && [ $(ulimit -Su) = 4000 ]",
                    NULL};
    struct outcome out = start(4000, RLIM_INFINITY, args);
    assert_int_equal(out.kind, RAN_ENDED);
    assert_int_equal(out.status, 0);
}

/* A line that was taken for `ls`: nothing else of it starts, whatever path it takes. */
static void nothing_but_leaves(void **state)
{
    (void)state;
    static char line[] =
        "ls / > /dev/null || exit 10\n"
        "for p in touch /usr/bin/touch env sh python3 perl ./own; do\n"
        "  $p --version > /dev/null 2>&1; s=$?; [ $s = 126 ] || [ $s = 127 ] || exit 11\n"
        "done\n"
        "[ $(echo x | (read y; echo $y)) = x ] || exit 12\n"
        "exec env true\n";
    static char *args[] = {"/bin/bash", "-c", line, NULL};
    static char *env[] = {"PATH=/usr/bin:/bin", NULL};
    static struct str names[] = {STR_INIT("ls")};
    struct order_vectors vectors = {.args = args, .env = env, .leaves = names};
    struct order order = {.only_leaves = true, .n_leaves = 1};
    pid_t pid = fork();
    if (pid == 0) {
        struct err err;
        pid_t program;
        int64_t error;
        int status;
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        leaves_prepare();
        if (program_start(&order, &vectors, &program, &error, &err) != RAN_ENDED)
            _exit(1);
        waitpid(program, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 126);
}

/* Without the rules the command is not started at all. */
static void leaves_without_rules(void **state)
{
    (void)state;
    static char *env[] = {NULL};
    struct order_vectors vectors = {.args = nothing, .env = env};
    struct order order = {.only_leaves = true};
    struct err err;
    pid_t program;
    int64_t error;
    assert_int_equal(program_start(&order, &vectors, &program, &error, &err), RAN_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_limit),
        cmocka_unit_test(limit_of_the_machine),
        cmocka_unit_test(program_cannot_raise_it),
        cmocka_unit_test(nothing_but_leaves),
        cmocka_unit_test(leaves_without_rules),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
