/* The worker's filter by its arguments: the kernel reads only the low half of an int, so the other half of the register
 * must neither let a refused call through nor end a worker that makes an allowed one. */
#include <cmocka.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "locked.h"

#define GARBAGE (0x5aL << 40)
#define LOW_GARBAGE (1L << 32)
#define PATH(text) (long)(uintptr_t)(text)
#define PAGE 4096
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

static char *page; /* private, anonymous */
static int file;   /* our own, to change the mode of */

struct row {
    long nr;
    long args[6];
    unsigned wide; /* the argument that the filter looks at */
};

/* In the locked process: _exit with 0 or 1, or death by the filter. */
static bool lone; /* without namespaces */

static int lock_it(const struct landlock_rule *rule, struct err *err)
{
    return lone ? lock_as(ROLE_LONE_WORKER, rule, 1, NULL, err)
                : lock_as(ROLE_WORKER, rule, 1, NULL, err);
}

static void make_call(const struct row *row, long high)
{
    struct err err;
    struct landlock_rule rule = {open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    long a[6];
    memcpy(a, row->args, sizeof a);
    a[row->wide] |= high;
    locked_get_capabilities();
    if (lock_it(&rule, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        _exit(101);
    }
    long r = syscall(row->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    syscall(SYS_exit_group, r < 0 && errno == EPERM);
}

static int run(const struct row *row, long high)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        make_call(row, high);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 101)
        fail_msg("not locked");
    return status;
}

/* A sanitized build refuses where others end the process. */
static bool is_refused(int status)
{
#ifdef SANDGATE_SANITIZED
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
#else
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
#endif
}

static void check(const struct row *rows, size_t count, bool refused)
{
    static const long high[] = {0, LOW_GARBAGE, GARBAGE, (long)0xffffffff00000000UL};
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(high); k++) {
            int status = run(&rows[i], high[k]);
            if (is_refused(status) != refused)
                fail_msg("call %ld, argument %u %lx with %lx: status %x", rows[i].nr, rows[i].wide,
                         rows[i].args[rows[i].wide], high[k], (unsigned)status);
        }
    }
}

static void refused_calls_stay_refused(void **state)
{
    (void)state;
    const struct row rows[] = {
        {SYS_madvise, {PATH(page), PAGE, MADV_REMOVE}, 2},
        {SYS_madvise, {PATH(page), PAGE, MADV_DONTFORK}, 2},
        {SYS_mprotect, {PATH(page), PAGE, PROT_READ | PROT_EXEC}, 2},
        {SYS_fchmod, {file, S_ISUID | 0755}, 1},
        {SYS_fchmod, {file, S_ISGID | 0755}, 1},
        {SYS_mmap, {0, PAGE, PROT_READ | PROT_EXEC, PRIVATE, -1, 0}, 2},
        {SYS_mmap, {0, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0}, 3},
        {SYS_mmap, {0, PAGE, PROT_READ, MAP_SHARED_VALIDATE, 0, 0}, 3},
        {SYS_sched_setaffinity, {1, 8, PATH(page)}, 0},
        {SYS_fcntl, {0, F_SETFL, O_NONBLOCK}, 1},
        {SYS_fcntl, {0, F_SETOWN, 1}, 1},
        {SYS_fcntl, {0, F_SETLEASE, F_WRLCK}, 1},
        {SYS_fcntl, {0, F_DUPFD, 0}, 1},
        {SYS_clone, {SIGCHLD}, 0},
        {SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}, 0},
        {SYS_clone, {CLONE_NEWUSER | SIGCHLD}, 0},
    };
    check(rows, ARRAY_LEN(rows), true);
}

/* Nothing that starts a program, talks to others, makes links or devices, or reaches another process. */
static void what_no_operation_needs_is_refused(void **state)
{
    (void)state;
    const struct row rows[] = {
        {SYS_execve, {PATH("/bin/true"), 0, 0}, 0},
        {SYS_execveat, {AT_FDCWD, PATH("/bin/true"), 0, 0, 0}, 4},
        {SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0},
        {SYS_socket, {AF_INET, SOCK_STREAM, 0}, 0},
        {SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, PATH(page)}, 0},
        {SYS_connect, {0, PATH(page), 16}, 2},
        {SYS_bind, {0, PATH(page), 16}, 2},
        {SYS_kill, {1, 0}, 1},
        {SYS_ptrace, {0, 0, 0, 0}, 1},
        {SYS_process_vm_readv, {1, 0, 0, 0, 0, 0}, 5},
        {SYS_unshare, {CLONE_NEWNS}, 0},
        {SYS_setns, {0, 0}, 1},
        {SYS_mount, {0, 0, 0, 0, 0}, 3},
        {SYS_linkat, {0, PATH("a"), 0, PATH("b"), 0}, 4},
        {SYS_symlinkat, {PATH("a"), 0, PATH("b")}, 1},
        {SYS_mknodat, {0, PATH("a"), S_IFIFO | 0644, 0}, 3},
        {SYS_prctl, {PR_SET_DUMPABLE, 1}, 1},
        {SYS_setuid, {0}, 0},
        {SYS_io_uring_setup, {1, PATH(page)}, 0},
        {SYS_bpf, {0, 0, 0}, 2},
    };
    check(rows, ARRAY_LEN(rows), true);
}

static void allowed_calls_stay_allowed(void **state)
{
    (void)state;
    const struct row rows[] = {
        {SYS_madvise, {PATH(page), PAGE, MADV_DONTNEED}, 2},
        {SYS_madvise, {PATH(page), PAGE, MADV_FREE}, 2},
        {SYS_madvise, {PATH(page), PAGE, 102}, 2}, /* MADV_GUARD_INSTALL: thread stacks */
        {SYS_fchmod, {file, 0755}, 1},
        {SYS_sched_setaffinity, {0, 8, PATH(page)}, 0},
        {SYS_fcntl, {0, F_GETFD}, 1},
        {SYS_fcntl, {0, F_GETFL}, 1},
        {SYS_fcntl, {0, F_DUPFD_CLOEXEC, 10}, 1},
    };
    check(rows, ARRAY_LEN(rows), false);
}

/* Landlock looks neither at modes and times of files outside, nor, in older versions, at signals. They fail rather than end
 * the worker, or every folder that is closed to its owner would end the cell. */
static void without_namespaces_less_is_allowed(void **state)
{
    (void)state;
    const struct row rows[] = {
        {SYS_fchmodat, {AT_FDCWD, PATH("none"), 0700}, 2},
        {452, {AT_FDCWD, PATH("none"), 0700, 0}, 2},
        {SYS_utimensat, {AT_FDCWD, PATH("none"), 0, 0}, 3},
        {SYS_tgkill, {-1, -1, 0}, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        lone = false;
        int usual = run(&rows[i], 0);
        lone = true;
        int status = run(&rows[i], 0);
        lone = false;
        assert_true(WIFEXITED(usual) && WEXITSTATUS(usual) == 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
            fail_msg("call %ld: status %x", rows[i].nr, (unsigned)status);
    }
}

/* The same calls are refused and allowed otherwise. */
static void without_namespaces_as_with_them(void **state)
{
    lone = true;
    what_no_operation_needs_is_refused(state);
    refused_calls_stay_refused(state);
    allowed_calls_stay_allowed(state);
    lone = false;
}

static int set_up(void **state)
{
    (void)state;
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, PRIVATE, -1, 0);
    file = memfd_create("file", MFD_CLOEXEC);
    return page == MAP_FAILED || file < 0 ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_calls_stay_refused),
        cmocka_unit_test(what_no_operation_needs_is_refused),
        cmocka_unit_test(allowed_calls_stay_allowed),
        cmocka_unit_test(without_namespaces_less_is_allowed),
        cmocka_unit_test(without_namespaces_as_with_them),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
