#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cell/watch.h"
#include "folder.h"

#define MIB ((uint64_t)1 << 20)
#define NOT_ALLOWED 77
#define TMPFS_TYPE 0x01021994

/* ---- an init with its own /proc, and children that use something ---- */

struct told {
    struct watch before, during, after, last;
};

static void *touch(int flags, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        _exit(98);
    memset(p, 1, bytes);
    return p;
}

/* Tells that it is ready, then waits for the other end to close. */
static void ready(int fd)
{
    char byte = 'r';
    if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 0)
        _exit(97);
}

static void private_memory(int fd)
{
    touch(MAP_PRIVATE, 100 * MIB);
    ready(fd);
}

/* Three processes map the same. */
static void shared_memory(int fd)
{
    touch(MAP_SHARED, 100 * MIB);
    int inner[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, inner) < 0)
        _exit(96);
    for (int i = 0; i < 2; i++) {
        char byte;
        if (fork() == 0) {
            close(inner[0]);
            ready(inner[1]);
            _exit(0);
        }
        if (read(inner[0], &byte, 1) != 1)
            _exit(95);
    }
    ready(fd);
    close(inner[0]);
    close(inner[1]);
    while (wait(NULL) > 0)
        continue;
}

/* Two processes with 60 MiB each that the other does not have. */
static void separate_shared_memory(int fd)
{
    int inner[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, inner) < 0)
        _exit(96);
    if (fork() == 0) {
        close(inner[0]);
        touch(MAP_SHARED, 60 * MIB);
        ready(inner[1]);
        _exit(0);
    }
    close(inner[1]);
    touch(MAP_SHARED, 60 * MIB);
    if (read(inner[0], &byte, 1) != 1)
        _exit(95);
    ready(fd);
    close(inner[0]);
    wait(NULL);
}

static void write_20_mib(const char *path)
{
    static char block[1 << 20];
    FD_AT_END int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int i = 0; i < 20; i++) {
        if (fd_write_all(file, block, sizeof block) < 0)
            _exit(94);
    }
}

/* One file itself, one by a child that has ended before. */
static void files(int fd)
{
    if (fork() == 0) {
        write_20_mib("by-child");
        _exit(0);
    }
    wait(NULL);
    write_20_mib("own");
    ready(fd);
}

static void tmpfs_file(int fd)
{
    write_20_mib("/tmp/file");
    ready(fd);
}

static int wait_on_pipe(void *arg)
{
    char byte;
    return (int)read(*(int *)arg, &byte, 1);
}

/* Four threads and five children, one of them a zombie. */
static void processes(int fd)
{
    static char stacks[3][65536];
    int hold[2];
    if (pipe2(hold, O_CLOEXEC) < 0)
        _exit(96);
    for (int i = 0; i < 5; i++) {
        if (fork() == 0) {
            close(hold[1]);
            _exit(i == 0 ? 0 : wait_on_pipe(&hold[0]));
        }
    }
    siginfo_t info;
    waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
    for (int i = 0; i < 3; i++)
        clone(wait_on_pipe, stacks[i] + sizeof stacks[i],
              CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
              &hold[0]);
    ready(fd);
    _exit(0);
}

/* Closed to all but root, as a program that may not be read, or one that is being loaded. */
static void hides(int fd)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    ready(fd);
}

static bool is_program; /* what acts is the program that the watch was told of */
static int n_looks = 1;

static int write_map(const char *path, const char *text)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -1 : fd_write_all(fd, text, strlen(text));
}

/* In a user namespace of its own one may make files only as somebody. */
static int map_user(uid_t uid, gid_t gid)
{
    char line[32];
    snprintf(line, sizeof line, "%u %u 1", uid, uid);
    if (write_map("/proc/self/uid_map", line) < 0 || write_map("/proc/self/setgroups", "deny") < 0)
        return -1;
    snprintf(line, sizeof line, "%u %u 1", gid, gid);
    return write_map("/proc/self/gid_map", line);
}

static int run_init(void (*act)(int), int out, const struct watch_limits *limits)
{
    struct told told;
    int talk[2];
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, NULL) < 0 ||
        (act == tmpfs_file && mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0))
        return NOT_ALLOWED;
    FD_AT_END int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FD_AT_END int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    watch_init(&told.before, proc, limits);
    if (act == tmpfs_file)
        watch_add_tmpfs(&told.before, tmp);
    watch_look(&told.before);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) < 0)
        return 96;
    pid_t pid = fork();
    if (pid == 0) {
        close(talk[0]);
        act(talk[1]);
        _exit(0);
    }
    close(talk[1]);
    if (read(talk[0], &byte, 1) != 1)
        return 95;
    told.during = told.before;
    if (is_program)
        watch_add_program(&told.during, pid);
    for (int i = 0; i < n_looks; i++)
        watch_look(&told.during);
    close(talk[0]);
    while (wait(NULL) > 0)
        continue;
    told.after = told.last = told.during;
    watch_look(&told.after);
    watch_look_last(&told.last);
    return fd_write_all(out, &told, sizeof told) < 0 ? 94 : 0;
}

/* False where no namespaces are to be had. */
static bool watched(void (*act)(int), const struct watch_limits *limits, struct told *ret)
{
    int out[2];
    int status = -1;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    uid_t uid = geteuid();
    gid_t gid = getegid();
    unsigned long flags = CLONE_NEWPID | CLONE_NEWNS | SIGCHLD;
    pid_t pid = (pid_t)syscall(SYS_clone, uid ? flags | CLONE_NEWUSER : flags, 0, 0, 0, 0);
    if (pid == 0)
        _exit(uid && map_user(uid, gid) < 0 ? NOT_ALLOWED : run_init(act, out[1], limits));
    close(out[1]);
    bool told = pid > 0 && fd_read_upto(out[0], ret, sizeof *ret) == (ssize_t)sizeof *ret;
    close(out[0]);
    if (pid > 0)
        assert_int_equal(waitpid(pid, &status, 0), pid);
    if (pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_ALLOWED)) {
        assert_int_equal(status, 0);
        assert_true(told);
        assert_int_equal(ret->last.memory, ret->after.memory);
        assert_int_equal(ret->last.memory_peak, ret->after.memory_peak);
        assert_int_equal(ret->last.processes, ret->after.processes);
        assert_int_equal(ret->last.written, ret->after.written);
        return true;
    }
    print_message("no pid namespace with its own /proc can be made here\n");
    return false;
}

static const struct watch_limits none;

static void sees_private_memory(void **state)
{
    (void)state;
    struct told t;
    if (!watched(private_memory, &none, &t))
        skip();
    assert_int_equal(t.before.memory, 0);
    assert_in_range(t.during.memory, 100 * MIB, 120 * MIB);
    assert_int_equal(t.after.memory, 0);
    assert_int_equal(t.after.memory_peak, t.during.memory);
}

static void sees_shared_memory_once(void **state)
{
    (void)state;
    struct told t;
    if (!watched(shared_memory, &none, &t))
        skip();
    assert_int_equal(t.during.processes, 3);
    assert_in_range(t.during.memory, 100 * MIB, 120 * MIB);
    /* Where the limit lies between one and three times that, it is looked at closely. */
    assert_true(watched(shared_memory, &(struct watch_limits){.memory = 150 * MIB}, &t));
    assert_in_range(t.during.memory, 100 * MIB, 120 * MIB);
}

static void sees_separate_shared_memory(void **state)
{
    (void)state;
    struct told t;
    struct watch_limits limits = {.memory = 100 * MIB};
    if (!watched(separate_shared_memory, &limits, &t))
        skip();
    assert_in_range(t.during.memory, 120 * MIB, 140 * MIB);
    assert_int_equal(watch_exceeded(&t.during, &limits), WATCH_MEMORY);
}

static void sees_files_in_tmpfs(void **state)
{
    (void)state;
    struct told t;
    if (!watched(tmpfs_file, &none, &t))
        skip();
    assert_in_range(t.during.memory, 20 * MIB, 24 * MIB);
    assert_in_range(t.during.written, 0, 1 * MIB);
}

static void sees_written_files(void **state)
{
    (void)state;
    struct statfs st;
    struct told t;
    assert_int_equal(statfs(".", &st), 0);
    if (st.f_type == TMPFS_TYPE) {
        print_message("the folder for temporary files is not on a disk\n");
        skip();
    }
    if (!watched(files, &none, &t))
        skip();
    assert_in_range(t.during.written - t.before.written, 40 * MIB, 48 * MIB);
    assert_in_range(t.after.written - t.before.written, 40 * MIB, 48 * MIB);
}

static void sees_processes(void **state)
{
    (void)state;
    struct told t;
    if (!watched(processes, &none, &t))
        skip();
    assert_int_equal(t.before.processes, 0);
    assert_int_equal(t.during.processes, 9);
    assert_int_equal(t.after.processes_peak, 9);
    assert_int_equal(t.after.processes, 0);
}

/* How many are killed, with these looks; -1: no namespaces are to be had. Root would be shown everything. */
static int killed(bool program, int looks)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct told told;
        if (geteuid() == 0 &&
            (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
            _exit(99);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else it could not map itself */
        is_program = program;
        n_looks = looks;
        _exit(watched(hides, &none, &told) ? (int)told.during.hidden : NOT_ALLOWED);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == NOT_ALLOWED ? -1 : WEXITSTATUS(status);
}

static void kills_what_hides_its_files(void **state)
{
    (void)state;
    int other = killed(false, 1);
    if (other < 0)
        return;
    assert_true(other > 0);
    assert_int_equal(killed(true, 1), 0);
    assert_int_equal(killed(true, 3), 0);
    assert_true(killed(true, 20) > 0);
}

static void names_the_limit(void **state)
{
    (void)state;
    struct watch w = {.memory = 10, .processes = 10, .written = 10};
    assert_int_equal(watch_exceeded(&w, &none), WATCH_OK);
    assert_int_equal(watch_exceeded(&w, &(struct watch_limits){10, 10, 10}), WATCH_OK);
    assert_int_equal(watch_exceeded(&w, &(struct watch_limits){.memory = 9}), WATCH_MEMORY);
    assert_int_equal(watch_exceeded(&w, &(struct watch_limits){.processes = 9}), WATCH_PROCESSES);
    assert_int_equal(watch_exceeded(&w, &(struct watch_limits){.written = 9}), WATCH_WRITTEN);
}

static void reads_fields(void **state)
{
    (void)state;
    static const char text[] = "Name:\tRssAnon:\nxRssAnon:\t3 kB\nRssAnon:\t   17 kB\nThreads:";
    assert_int_equal(watch_field(text, "RssAnon:"), 17);
    assert_int_equal(watch_field(text, "Threads:"), 0);
    assert_int_equal(watch_field(text, "VmSwap:"), 0);
    assert_int_equal(watch_field("", "VmSwap:"), 0);
    assert_int_equal(watch_field("write_bytes: 5\ncancelled_write_bytes: 2\n", "write_bytes:"), 5);
}

/* Processes that come and go while it looks. */
static void look_is_quick(void **state)
{
    (void)state;
    FD_AT_END int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct watch w;
    watch_init(&w, proc, &none);
    pid_t busy = fork();
    if (busy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            pid_t pid = fork();
            if (pid == 0)
                _exit(0);
            waitpid(pid, NULL, 0);
        }
    }
    uint64_t start = clock_mono_ns();
    uint32_t seen = 0;
    for (int i = 0; i < 50; i++) {
        watch_look(&w);
        seen += w.processes;
        assert_true(w.processes >= 1);
    }
    uint64_t ns = clock_mono_ns() - start;
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
    print_message("a look takes %.1f us a thread\n", (double)ns / seen / 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sees_private_memory),
        cmocka_unit_test(sees_shared_memory_once),
        cmocka_unit_test(sees_separate_shared_memory),
        cmocka_unit_test(sees_files_in_tmpfs),
        cmocka_unit_test_setup_teardown(sees_written_files, folder_set_up, folder_tear_down),
        cmocka_unit_test(sees_processes),
        cmocka_unit_test(kills_what_hides_its_files),
        cmocka_unit_test(names_the_limit),
        cmocka_unit_test(reads_fields),
        cmocka_unit_test(look_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
