#include <cmocka.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "folder.h"
#include "json_text.h"
#include "locked.h"

/* What a system call gives in a locked process. */
struct row {
    const char *violation; /* NULL: none */
    int error;             /* 0: it works */
    long nr;
    long args[6];
};

#define REFUSED(call)                                                                              \
    {                                                                                              \
#call, EPERM, SYS_##call                                                                   \
    }
/* Of an int the kernel sees only the low half. */
#define GARBAGE (0x5aL << 40)
#define LOW_GARBAGE (1L << 32)
#define HERE AT_FDCWD
#define PATH(text) (long)(uintptr_t)(text)

static int make_call(const void *arg)
{
    const struct row *row = arg;
    const long *a = row->args;
    long r = syscall(row->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (r == 0 && row->nr == SYS_clone)
        _exit(0);
    return r < 0 ? errno : 0;
}

static void check(const struct row *row, const struct locked *l)
{
    const char *seen = l->violations.n ? l->violations.seen[0].call : "none";
    const char *wanted = row->violation ? row->violation : "none";
    if (l->result != row->error || l->violations.n > 1 || strcmp(seen, wanted) != 0)
        fail_msg("call %ld (%lx %lx %lx %lx): error %d and violation %s, not %d and %s", row->nr,
                 row->args[0], row->args[1], row->args[2], row->args[3], l->result, seen,
                 row->error, wanted);
    if (row->violation)
        assert_int_equal(l->violations.seen[0].count, 1);
}

/* The arguments that the filter looks at: the kernel takes all of them as int, or as less. */
static const struct {
    long nr;
    unsigned args[3];
    size_t n;
    bool repeats; /* the same call may be made again where it is allowed */
} looked_at[] = {
    {SYS_clone, {0}, 1, false},
    {SYS_fchmod, {1}, 1, false},
    {SYS_fchmodat, {2}, 1, false},
    {SYS_openat, {2, 3}, 2, false},
    {SYS_mkdirat, {2}, 1, false},
    {SYS_mknodat, {2}, 1, false},
    {SYS_renameat2, {4}, 1, false},
#ifdef __x86_64__
    {SYS_chmod, {1}, 1, false},
    {SYS_open, {1, 2}, 2, false},
    {SYS_creat, {1}, 1, false},
    {SYS_mkdir, {1}, 1, false},
    {SYS_mknod, {1}, 1, false},
#endif
    {SYS_socket, {0, 1, 2}, 3, true},
    {SYS_socketpair, {0}, 1, true},
    {SYS_ioctl, {1}, 1, true},
    {SYS_prlimit64, {0}, 1, true},
    {SYS_sched_setscheduler, {0}, 1, true},
    {SYS_sched_setparam, {0}, 1, true},
    {SYS_sched_setattr, {0}, 1, true},
    {SYS_sched_setaffinity, {0}, 1, true},
    {SYS_setpriority, {0, 1}, 2, true},
    {SYS_prctl, {0}, 1, true},
    {SYS_personality, {0}, 1, true},
    {SYS_move_pages, {0}, 1, true},
    {SYS_migrate_pages, {0}, 1, true},
};

/* Whatever the other half of each register holds, the answer is the same. */
static void check_wide(const struct row *row)
{
    struct locked l;
    for (size_t i = 0; i < ARRAY_LEN(looked_at); i++) {
        if (looked_at[i].nr != row->nr || !(row->violation || looked_at[i].repeats))
            continue;
        struct row all = *row;
        for (size_t k = 0; k < looked_at[i].n; k++) {
            struct row one = *row;
            one.args[looked_at[i].args[k]] |= LOW_GARBAGE;
            all.args[looked_at[i].args[k]] |= GARBAGE;
            locked_run(&l, make_call, &one);
            check(&one, &l);
        }
        locked_run(&l, make_call, &all);
        check(&all, &l);
    }
}

static void check_rows(const struct row *rows, size_t count)
{
    struct locked l;
    for (size_t i = 0; i < count; i++) {
        locked_run(&l, make_call, &rows[i]);
        check(&rows[i], &l);
        check_wide(&rows[i]);
    }
}

static const struct row refused[] = {
    REFUSED(mount),
    REFUSED(umount2),
    REFUSED(pivot_root),
    REFUSED(chroot),
    REFUSED(move_mount),
    REFUSED(open_tree),
    REFUSED(fsopen),
    REFUSED(fsconfig),
    REFUSED(fsmount),
    REFUSED(fspick),
    REFUSED(mount_setattr),
    REFUSED(setns),
    REFUSED(unshare),
    REFUSED(ptrace),
    REFUSED(process_vm_readv),
    REFUSED(process_vm_writev),
    REFUSED(process_madvise),
    REFUSED(kcmp),
    REFUSED(pidfd_getfd),
    REFUSED(keyctl),
    REFUSED(add_key),
    REFUSED(request_key),
    REFUSED(bpf),
    REFUSED(io_uring_setup),
    REFUSED(io_uring_enter),
    REFUSED(io_uring_register),
    REFUSED(userfaultfd),
    REFUSED(perf_event_open),
    REFUSED(fanotify_init),
    REFUSED(name_to_handle_at),
    REFUSED(open_by_handle_at),
    REFUSED(kexec_load),
    REFUSED(kexec_file_load),
    REFUSED(init_module),
    REFUSED(finit_module),
    REFUSED(delete_module),
    REFUSED(reboot),
    REFUSED(swapon),
    REFUSED(swapoff),
    REFUSED(sethostname),
    REFUSED(setdomainname),
    REFUSED(settimeofday),
    REFUSED(clock_settime),
    REFUSED(clock_adjtime),
    REFUSED(adjtimex),
    REFUSED(acct),
    REFUSED(quotactl),
    REFUSED(quotactl_fd),
    REFUSED(syslog),
    REFUSED(vhangup),
    REFUSED(nfsservctl),
    REFUSED(lookup_dcookie),
#ifdef __x86_64__
    REFUSED(iopl),
    REFUSED(ioperm),
    REFUSED(modify_ldt),
    REFUSED(uselib),
    REFUSED(ustat),
    REFUSED(sysfs),
#endif
    {"unshare", EPERM, SYS_unshare, {CLONE_NEWUSER}},
};

static void calls_that_reach_beyond_the_command(void **state)
{
    (void)state;
    check_rows(refused, ARRAY_LEN(refused));
}

static void namespaces(void **state)
{
    (void)state;
    static const long flags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID, CLONE_NEWNET,
                                 CLONE_NEWIPC,  CLONE_NEWUTS, 0x02000000,   0x80};
    struct locked l;
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        struct row row = {"clone:namespaces", EPERM, SYS_clone, {flags[i] | SIGCHLD}};
        locked_run(&l, make_call, &row);
        check(&row, &l);
        row.args[0] |= GARBAGE | CLONE_VM;
        locked_run(&l, make_call, &row);
        check(&row, &l);
    }
}

/* One that was made would end this process: it has no stack. */
static void threads_with_descriptors_of_their_own(void **state)
{
    (void)state;
    struct locked l;
    struct row row = {"clone:files", EPERM, SYS_clone, {CLONE_VM | CLONE_SIGHAND | CLONE_THREAD}};
    locked_run(&l, make_call, &row);
    check(&row, &l);
    row.args[0] |= GARBAGE | CLONE_FS;
    locked_run(&l, make_call, &row);
    check(&row, &l);
}

static void set_id_bits(void **state)
{
    (void)state;
    const int tmpfile = O_TMPFILE | O_RDWR;
    const struct row rows[] = {
        {"chmod:setuid", EPERM, SYS_fchmod, {folder_fd, S_ISUID | 0755}},
        {"chmod:setgid", EPERM, SYS_fchmod, {folder_fd, GARBAGE | S_ISGID | 0755}},
        {"chmod:setuid", EPERM, SYS_fchmodat, {HERE, PATH("f"), S_ISUID | S_ISGID | 0755}},
        {"open:setuid", EPERM, SYS_openat, {HERE, PATH("f"), O_CREAT | O_RDWR, S_ISUID | 0755}},
        {"open:setgid", EPERM, SYS_openat, {HERE, PATH("f"), GARBAGE | O_CREAT, S_ISGID}},
        {"open:setuid", EPERM, SYS_openat, {HERE, PATH("."), tmpfile, S_ISUID | 0755}},
        {"mkdir:setgid", EPERM, SYS_mkdirat, {HERE, PATH("d"), S_ISGID | 0755}},
        {"mknod:setuid", EPERM, SYS_mknodat, {HERE, PATH("f"), S_IFREG | S_ISUID | 0755}},
        {"mknod:device", EPERM, SYS_mknodat, {HERE, PATH("f"), S_IFCHR | 0600}},
        {"mknod:device", EPERM, SYS_mknodat, {HERE, PATH("f"), S_IFBLK | 0600, 0x801}},
        {"rename:whiteout",
         EINVAL,
         SYS_renameat2,
         {HERE, PATH("own"), HERE, PATH("moved"), RENAME_WHITEOUT}},
#ifdef __x86_64__
        {"chmod:setuid", EPERM, SYS_chmod, {PATH("f"), S_ISUID | 0755}},
        {"chmod:setgid", EPERM, SYS_chmod, {PATH("f"), S_ISGID | 0755}},
        {"open:setuid", EPERM, SYS_open, {PATH("f"), O_CREAT | O_WRONLY, S_ISUID | 0755}},
        {"open:setgid", EPERM, SYS_open, {PATH("."), tmpfile, S_ISGID | 0755}},
        {"open:setuid", EPERM, SYS_creat, {PATH("f"), S_ISUID | 0755}},
        {"mkdir:setuid", EPERM, SYS_mkdir, {PATH("d"), S_ISUID | 0755}},
        {"mknod:setgid", EPERM, SYS_mknod, {PATH("f"), S_IFREG | S_ISGID | 0755}},
        {"mknod:device", EPERM, SYS_mknod, {PATH("f"), S_IFCHR | 0600}},
        {"mknod:device", EPERM, SYS_mknod, {PATH("f"), GARBAGE | S_IFBLK | 0600, 0x801}},
#endif
    };
    check_rows(rows, ARRAY_LEN(rows));
    assert_int_equal(access("f", F_OK), -1);
    assert_int_equal(access("d", F_OK), -1);
}

/* The mode of an open that makes nothing is what the register happened to hold. */
static void modes_that_do_not_count(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, 0, SYS_openat, {HERE, PATH("."), O_RDONLY, 07777}},
        {NULL, 0, SYS_openat, {HERE, PATH("."), O_RDONLY | O_DIRECTORY, 07777}},
        {NULL, 0, SYS_openat, {HERE, PATH("new"), O_RDWR | O_CREAT, S_ISVTX | 0644}},
        {NULL, 0, SYS_fchmodat, {HERE, PATH("new"), 0755, S_ISUID}},
        {NULL, 0, SYS_fchmod, {folder_fd, 01777, S_ISUID}},
        {NULL, 0, SYS_mkdirat, {HERE, PATH("newdir"), 01777}},
        {NULL, 0, SYS_mknodat, {HERE, PATH("pipe"), S_IFIFO | 0644}},
        {NULL, 0, SYS_mknodat, {HERE, PATH("file"), S_IFREG | 0644}},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void sockets(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"socket:AF_PACKET", EAFNOSUPPORT, SYS_socket, {AF_PACKET, SOCK_RAW}},
        {"socket:AF_PACKET", EAFNOSUPPORT, SYS_socket, {GARBAGE | AF_PACKET, SOCK_DGRAM}},
        {"socket:AF_VSOCK", EAFNOSUPPORT, SYS_socket, {AF_VSOCK, SOCK_STREAM}},
        {"socket:AF_ALG", EAFNOSUPPORT, SYS_socket, {AF_ALG, SOCK_SEQPACKET}},
        {"socket:AF_KEY", EAFNOSUPPORT, SYS_socket, {AF_KEY, SOCK_RAW, 2}},
        {"socket:family", EAFNOSUPPORT, SYS_socket, {AF_UNSPEC, SOCK_STREAM}},
        {"socket:family", EAFNOSUPPORT, SYS_socket, {4711, SOCK_STREAM}},
        {"socket:AF_NETLINK", EAFNOSUPPORT, SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_AUDIT}},
        {"socket:AF_NETLINK", EAFNOSUPPORT, SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER}},
        {"socket:SOCK_RAW", EPERM, SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}},
        {"socket:SOCK_RAW", EPERM, SYS_socket, {AF_INET6, GARBAGE | SOCK_RAW | SOCK_CLOEXEC, 58}},
        {"socket:SOCK_PACKET", EPERM, SYS_socket, {AF_INET, SOCK_PACKET, 0x300}},
        {"socket:SOCK_SEQPACKET", ESOCKTNOSUPPORT, SYS_socket, {AF_INET, SOCK_SEQPACKET}},
        {"socket:SOCK_DCCP", ESOCKTNOSUPPORT, SYS_socket, {AF_INET6, SOCK_DCCP}},
        {"socket:type", ESOCKTNOSUPPORT, SYS_socket, {AF_INET, 15}},
        {"socket:protocol", EPROTONOSUPPORT, SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}},
        {"socketpair:AF_TIPC", EAFNOSUPPORT, SYS_socketpair, {AF_TIPC, SOCK_STREAM}},
        {NULL, 0, SYS_socket, {GARBAGE | AF_UNIX, GARBAGE | SOCK_STREAM}},
        {NULL, 0, SYS_socket, {AF_UNIX, SOCK_RAW}},
        {NULL, 0, SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP}},
        {NULL, 0, SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_UDP}},
        {NULL, 0, SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE}},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void terminals_and_the_process_itself(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ioctl:TIOCSTI", EPERM, SYS_ioctl, {0, TIOCSTI, PATH("x")}},
        {"ioctl:TIOCSTI", EPERM, SYS_ioctl, {0, GARBAGE | TIOCSTI, PATH("x")}},
        {"ioctl:TIOCLINUX", EPERM, SYS_ioctl, {0, TIOCLINUX, PATH("x")}},
        {"ioctl:TIOCSETD", EPERM, SYS_ioctl, {0, TIOCSETD, PATH("x")}},
        {"prlimit64", EPERM, SYS_prlimit64, {1, RLIMIT_NOFILE}},
        {"sched_setscheduler", EPERM, SYS_sched_setscheduler, {GARBAGE | 1}},
        {"sched_setparam", EPERM, SYS_sched_setparam, {1}},
        {"sched_setattr", EPERM, SYS_sched_setattr, {1}},
        {"sched_setaffinity", EPERM, SYS_sched_setaffinity, {1}},
        {"setpriority", EPERM, SYS_setpriority, {PRIO_PROCESS, 1, 19}},
        {NULL, 0, SYS_prlimit64, {0, RLIMIT_NOFILE}},
        {NULL, 0, SYS_setpriority, {PRIO_PROCESS, 0, 19}},
        {"prctl:PR_SET_MM", EPERM, SYS_prctl, {PR_SET_MM, PR_SET_MM_BRK}},
        /* PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS */
        {NULL, EINVAL, SYS_prctl, {78, 1, 4}},
        {NULL, EINVAL, SYS_prctl, {GARBAGE | 78, 1, 4}},
        {NULL, EINVAL, SYS_ppoll, {PATH("x"), 4096}},
        {NULL, EINVAL, SYS_ppoll, {PATH("x"), 1 << 20}},
        {NULL, 0, SYS_ppoll, {0, 0, PATH("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")}},
        {"personality", EPERM, SYS_personality, {READ_IMPLIES_EXEC}},
        {"personality", EPERM, SYS_personality, {MMAP_PAGE_ZERO | ADDR_NO_RANDOMIZE}},
        {"personality", EPERM, SYS_personality, {GARBAGE | PER_SVR4}},
        {"move_pages", EPERM, SYS_move_pages, {1}},
        {"migrate_pages", EPERM, SYS_migrate_pages, {1}},
        {NULL, 0, SYS_move_pages, {0}},
        {NULL, 0, SYS_personality, {0xffffffff}},
        {NULL, 0, SYS_personality, {0}},
        {NULL, 0, SYS_personality, {PER_LINUX32}},
        {NULL, 0, SYS_personality, {ADDR_NO_RANDOMIZE}},
        {NULL, 0, SYS_personality, {UNAME26 | PER_LINUX32}},
        {NULL, 0, SYS_prctl, {PR_SET_NAME, PATH("name")}},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void calls_that_are_not_there(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {NULL, ENOSYS, SYS_clone3}, {NULL, ENOSYS, SYS_openat2},
        {NULL, ENOSYS, 452},                                                 /* fchmodat2 */
        {NULL, ENOSYS, 447},                                                 /* memfd_secret */
        {NULL, ENOSYS, 4000},       {NULL, ENOSYS, 0x40000000 | SYS_getpid}, /* x32 */
    };
    check_rows(rows, ARRAY_LEN(rows));
}

/* open_tree_attr: younger than what the filter was made with, or known to it. */
static void a_new_call_that_mounts(void **state)
{
    (void)state;
    static const struct row either[] = {{NULL, ENOSYS, 467}, {"open_tree_attr", EPERM, 467}};
    struct locked l;
    locked_run(&l, make_call, &either[0]);
    check(&either[l.result == EPERM], &l);
}

#ifdef __x86_64__
static int call_by_interrupt(const void *arg)
{
    (void)arg;
    long r = 20; /* getpid there */
    __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
    return 0;
}

static void the_32_bit_interface_ends_the_process(void **state)
{
    (void)state;
    struct locked l;
    locked_run(&l, call_by_interrupt, NULL);
    assert_true(WIFSIGNALED(l.status));
    assert_int_equal(WTERMSIG(l.status), SIGSYS);
    assert_int_equal(l.result, -1);
}
#endif

static int make_all_calls(const void *arg)
{
    (void)arg;
    for (int times = 0; times < 3; times++) {
        for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
            if (make_call(&refused[i]) != EPERM)
                return (int)refused[i].nr;
        }
    }
    return 0;
}

static void only_so_many_names_are_kept(void **state)
{
    (void)state;
    struct locked l;
    locked_run(&l, make_all_calls, NULL);
    assert_int_equal(l.result, 0);
    assert_int_equal(l.violations.n, VIOLATIONS_MAX);
    uint32_t sum = l.violations.others;
    for (size_t i = 0; i < VIOLATIONS_MAX; i++) {
        assert_string_equal(l.violations.seen[i].call, refused[i].violation);
        sum += l.violations.seen[i].count;
    }
    assert_int_equal(sum, 3 * ARRAY_LEN(refused));
    /* `unshare` stands twice in the list and is among the first. */
    assert_int_equal(l.violations.others, 3 * (ARRAY_LEN(refused) - VIOLATIONS_MAX - 1));
}

static void as_json(void **state)
{
    (void)state;
    struct violations v = {0};
    BUF_AT_END struct buf out = {.max = 4096};
    struct json_out j = {.out = &out};
    violations_write(&v, &j);
    assert_string_equal(buf_text(&out), "[]");
    v = (struct violations){{{"mount", 3}, {"chmod:setuid", 1}}, .n = 2, .others = 7};
    buf_reset(&out, SIZE_MAX);
    j = (struct json_out){.out = &out};
    violations_write(&v, &j);
    FREE_AT_END char *wanted = quoted(
        "[{'call':'mount','count':3},{'call':'chmod:setuid','count':1},"
        "{'call':'other','count':7}]");
    assert_string_equal(buf_text(&out), wanted);
}

static void one_that_dies_before_the_answer(void **state)
{
    (void)state;
    struct locked l;
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_rule all = {root, .command = true};
    locked_start(&l, &all, 1, make_call, &refused[0]);
    struct pollfd report = {l.listener, POLLIN, 0};
    assert_int_equal(poll(&report, 1, LOCKED_TIMEOUT_MS), 1);
    assert_int_equal(report.revents, POLLIN);
    assert_int_equal(kill(l.pid, SIGKILL), 0);
    struct pollfd end = {l.pidfd, POLLIN, 0};
    assert_int_equal(poll(&end, 1, LOCKED_TIMEOUT_MS), 1);
    assert_true(violations_take(l.listener, &l.violations, NULL));
    assert_int_equal(l.violations.n, 0);
    locked_end(&l);
    assert_true(WIFSIGNALED(l.status));
}

/* Puts something that takes no answer in the listener's place. */
static bool spoil_listener(void *self, const char *call, const struct seccomp_data *data)
{
    const struct locked *l = self;
    (void)call;
    (void)data;
    FD_AT_END int other = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_true(dup3(other, l->listener, O_CLOEXEC) >= 0);
    return true;
}

static void one_that_cannot_be_answered(void **state)
{
    (void)state;
    struct locked l;
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_rule all = {root, .command = true};
    locked_start(&l, &all, 1, make_call, &refused[0]);
    struct pollfd report = {l.listener, POLLIN, 0};
    assert_int_equal(poll(&report, 1, LOCKED_TIMEOUT_MS), 1);
    FD_AT_END int listener = fcntl(l.listener, F_DUPFD_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_false(violations_take(l.listener, &l.violations,
                                 &(struct violations_judge){spoil_listener, NULL, &l}));
    fd_closep(&listener);
    struct pollfd end = {l.pidfd, POLLIN, 0};
    assert_int_equal(poll(&end, 1, LOCKED_TIMEOUT_MS), 1);
    locked_end(&l);
    assert_int_equal(l.result, ENOSYS);
}

/* As a command's init: itself locked, it answers for those it started. */
static int answer_for_a_child(const struct landlock_rule *rule)
{
    int listener, status;
    struct err err;
    struct violations v = {0};
    locked_get_capabilities();
    if (lock_as(ROLE_COMMAND, rule, 1, &listener, &err) < 0 ||
        fcntl(listener, F_GETFD) != FD_CLOEXEC)
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(make_call(&refused[0]));
    struct pollfd report = {listener, POLLIN, 0};
    if (poll(&report, 1, LOCKED_TIMEOUT_MS) != 1)
        return 2;
    if (!violations_take(listener, &v, NULL) || v.n != 1 || v.seen[0].count != 1)
        return 3;
    return waitpid(pid, &status, 0) == pid && status == EPERM << 8 ? 0 : 4;
}

static void the_one_who_answers_is_locked_too(void **state)
{
    (void)state;
    int status;
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_rule all = {root, .command = true};
    pid_t pid = fork();
    if (pid == 0)
        _exit(answer_for_a_child(&all));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void nothing(int number)
{
    (void)number;
}

static int make_calls_under_signals(const void *arg)
{
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}};
    if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &often, NULL) < 0)
        return 1;
    for (int i = 0; i < 1000; i++) {
        int error = make_call(arg);
        if (error != EPERM)
            return error + 1000;
    }
    return 0;
}

/* Before Linux 6.17 a signal at the wrong moment could have a call made twice. */
static void signals_do_not_disturb(void **state)
{
    (void)state;
    struct locked l;
    locked_run(&l, make_calls_under_signals, &refused[0]);
    assert_int_equal(l.result, 0);
    assert_int_equal(l.violations.n, 1);
    assert_in_range(l.violations.seen[0].count, 1000, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_reach_beyond_the_command),
        cmocka_unit_test(namespaces),
        cmocka_unit_test(threads_with_descriptors_of_their_own),
        cmocka_unit_test_setup_teardown(set_id_bits, folder_set_up, folder_tear_down),
        cmocka_unit_test_setup_teardown(modes_that_do_not_count, folder_set_up, folder_tear_down),
        cmocka_unit_test(sockets),
        cmocka_unit_test(terminals_and_the_process_itself),
        cmocka_unit_test(calls_that_are_not_there),
        cmocka_unit_test(a_new_call_that_mounts),
#ifdef __x86_64__
        cmocka_unit_test(the_32_bit_interface_ends_the_process),
#endif
        cmocka_unit_test(only_so_many_names_are_kept),
        cmocka_unit_test(as_json),
        cmocka_unit_test(one_that_dies_before_the_answer),
        cmocka_unit_test(one_that_cannot_be_answered),
        cmocka_unit_test(the_one_who_answers_is_locked_too),
        cmocka_unit_test(signals_do_not_disturb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
