/* The filters of the worker and of programs of their own: what is not listed ends the process. That of commands is in
 * filter_gen_command.c. */
#include "cell/filter_gen.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* A build with sanitizers, which is never for use: their runtimes make calls of their own (filter_sanitizers.h), and
 * an unknown call fails instead of ending the process, so that a report is written to its end. */
#ifdef SANDGATE_SANITIZED
#include "cell/filter_sanitizers.h"
#define DEFAULT_ACTION SCMP_ACT_ERRNO(EPERM)
#else
#define DEFAULT_ACTION SCMP_ACT_KILL_PROCESS
#endif

static const char *const for_files[] = {
    /* by descriptor only: every name is opened with openat2 */
    "openat2",
    "pread64",
    "readv",
    "write",
    "pwrite64",
    "writev",
    "lseek",
    "fstatfs",
    "statx",
    "getdents64",
    "readlinkat",
    "mkdirat",
    "unlinkat",
    "renameat",
    "renameat2",
    "ftruncate",
    "fsync",
    "fdatasync",
    "faccessat2",
    "copy_file_range",
    "flock",
    "fgetxattr",
    /* hearing of changes in folders; a folder is named to it by going there */
    "inotify_init1",
    "inotify_add_watch",
    "inotify_rm_watch",
    "fchdir",
    NULL,
};

static const char *const for_all[] = {
    /* the gate, and large bodies of its calls */
    "close",
    "read",
    "fstat",
    "newfstatat",
    "fstatat64",
    "recvmsg",
    "sendmsg",
    "sendto",
    /* memory and threads */
    "munmap",
    "mremap",
    "brk",
    "futex",
    "set_robust_list",
    "rseq",
    "sched_yield",
    "gettid",
    "getpid",
    "clock_gettime",
    "clock_nanosleep",
    "getrandom",
    "exit",
    "exit_group",
    "rt_sigreturn",
    "rt_sigprocmask",
    "rt_sigaction",
    "restart_syscall",
    NULL,
};

/* Where namespaces keep others' files and processes away. Landlock covers neither modes and times of files outside nor,
 * below ABI 6, signals. */
static const char *const allowed_in_namespaces[] = {
    /* a copy in quarantine has the times of what was moved there */
    "utimensat",
    "tgkill",
    NULL,
};

/* The C library asks for them, and gets along without. */
static const char *const absent_without[] = {"utimensat", "tgkill", "fchmodat", "fchmodat2", NULL};
/* What is taken over from a session's layer may be a link, and has the attributes that it has there; of much of it each file by
 * itself would be waited for on the disk. */
static const char *const committer_allowed[] = {"symlinkat", "fsetxattr", "flistxattr", "syncfs",
                                                NULL};

/* Asked for by the C library, which lives well without an answer. */
static const char *const absent[] = {"clone3", "sysinfo", "prlimit64", "sched_getaffinity",
                                     "open",   "ioctl",   "readlink",  "uname",
                                     "getcwd", NULL};

static void check_added(int r, const char *name)
{
    if (r == 0)
        return;
    fprintf(stderr, "%s: %s\n", name, strerror(-r));
    exit(1);
}

static void add_seccomp_call(scmp_filter_ctx ctx, uint32_t action, const char *name)
{
    int nr = seccomp_syscall_resolve_name(name);
    /* Some names exist only on some machines; and in a build for sanitizers others are answered like that anyway. */
    if (nr == __NR_SCMP_ERROR || nr < 0 || action == DEFAULT_ACTION)
        return;
    check_added(seccomp_rule_add(ctx, action, nr, 0), name);
}

/* A rule that allows a call by one of its arguments: the masked bits have to be `value`. Where the kernel takes an
 * int, the mask is INT_BITS: it reads only the low half of the register, so the other half must not decide. */
struct condition {
    int nr;
    const char *name;
    unsigned arg;
    scmp_datum_t mask;
    scmp_datum_t value;
    bool in_namespaces; /* only there */
    int error;          /* in place of the call; 0: it is made */
};

#define INT_BITS UINT32_MAX
#define THREAD (CLONE_THREAD | CLONE_VM | CLONE_SIGHAND)
#define WHEN(call, arg, mask, value)                                                               \
    {                                                                                              \
        SCMP_SYS(call), #call, arg, mask, value, false, 0                                          \
    }
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

/* Each allows its call by itself. */
static const struct condition file_conditions[] = {
    /* Through a mapped owner the worker's files are root's on the disk: none may be setuid or setgid. A
     * mode given when a file is made cannot be seen here, but the kernel takes the bits away with the
     * first write, unless the file is written through shared memory. */
    WHEN(fchmod, 1, S_ISUID | S_ISGID, 0),
    /* A folder that is to be emptied may be closed to its owner. */
    {SCMP_SYS(fchmodat), "fchmodat", 2, S_ISUID | S_ISGID, 0, true},
    /* Libraries may be older than the call; its number is the same for all machines. */
    {452, "fchmodat2", 2, S_ISUID | S_ISGID, 0, true},
    {0},
};

static const struct condition conditions[] = {
    /* Threads, never processes. */
    WHEN(clone, 0, THREAD, THREAD),
    /* Memory is never made executable. */
    WHEN(mprotect, 2, PROT_EXEC, 0),
    /* What memory allocators and thread stacks ask for. MADV_REMOVE would punch holes into the memory that is
     * shared with the gate. */
    WHEN(madvise, 2, INT_BITS, MADV_NORMAL),
    WHEN(madvise, 2, INT_BITS, MADV_RANDOM),
    WHEN(madvise, 2, INT_BITS, MADV_SEQUENTIAL),
    WHEN(madvise, 2, INT_BITS, MADV_WILLNEED),
    WHEN(madvise, 2, INT_BITS, MADV_DONTNEED),
    WHEN(madvise, 2, INT_BITS, MADV_FREE),
    WHEN(madvise, 2, INT_BITS, MADV_HUGEPAGE),
    WHEN(madvise, 2, INT_BITS, MADV_NOHUGEPAGE),
    WHEN(madvise, 2, INT_BITS, MADV_DONTDUMP),
    WHEN(madvise, 2, INT_BITS, MADV_GUARD_INSTALL),
    WHEN(madvise, 2, INT_BITS, MADV_GUARD_REMOVE),
    /* Itself only. */
    WHEN(sched_setaffinity, 0, INT_BITS, 0),
    /* No leases, no receivers of signals, no change of flags that others share. */
    WHEN(fcntl, 1, INT_BITS, F_DUPFD_CLOEXEC),
    WHEN(fcntl, 1, INT_BITS, F_GETFD),
    WHEN(fcntl, 1, INT_BITS, F_SETFD),
    WHEN(fcntl, 1, INT_BITS, F_GETFL),
    {0},
};

/* Where openat2 is refused by a filter around all this, base/resolve.c opens each name by itself. The C library, which asks
 * for files of the system, gets along without. */
static void add_open_by_names(scmp_filter_ctx ctx)
{
    check_added(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, O_NOFOLLOW, O_NOFOLLOW)),
                "openat");
    check_added(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat), 1,
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, O_NOFOLLOW, 0)),
                "openat");
}

/* A filter: what it allows beside `for_all`; the lists end with an empty row. */
struct filter {
    const char *name;
    const char *const *calls;
    const char *const *more;
    const char *const *refused; /* with EPERM */
    const struct condition *conditions;
    bool alone; /* not in namespaces */
};

/* The alarm that ends a call, and the stack that a guest's fault is handled on. */
static const char *const for_tools[] = {"setitimer", "sigaltstack", NULL};

/* A compiled module is made executable before it can be written out. Nothing calls it. */
static const struct condition compile_conditions[] = {
    WHEN(mprotect, 2, INT_BITS, PROT_READ | PROT_EXEC),
    {0},
};

static const char *const nothing[] = {NULL};
static const struct condition no_conditions[] = {{0}};

/* Looking up names, by the C library; servers, by libcurl; certificates, by OpenSSL. Landlock lets it read what its cell
 * holds, and write nothing. */
static const char *const for_network[] = {
    "openat",     "pread64",  "readv",      "write",        "writev",      "lseek",
    "statx",      "getuid",   "geteuid",    "getgid",       "getegid",     "connect",
    "bind",       "recvfrom", "sendmmsg",   "recvmmsg",     "getsockname", "getpeername",
    "setsockopt", "shutdown", "getsockopt", "poll",         "ppoll",       "pipe2",
    "select",     "pselect6", "eventfd2",   "gettimeofday", "time",        NULL,
};

#define FAILS(call, arg, mask, value, error)                                                       \
    {                                                                                              \
        SCMP_SYS(call), #call, arg, mask, value, false, error                                      \
    }

/* TCP and UDP. The library asks others first where it may. */
static const struct condition network_conditions[] = {
    WHEN(socket, 0, INT_BITS, AF_INET),
    WHEN(socket, 0, INT_BITS, AF_INET6),
    FAILS(socket, 0, INT_BITS, AF_UNIX, EAFNOSUPPORT),
    FAILS(socket, 0, INT_BITS, AF_NETLINK, EAFNOSUPPORT),
    WHEN(socketpair, 0, INT_BITS, AF_UNIX),
    WHEN(fcntl, 1, INT_BITS, F_SETFL),
    {0},
};

static const struct filter filters[] = {
    {"worker", for_files, nothing, nothing, file_conditions, false},
    {"lone_worker", for_files, nothing, absent_without, file_conditions, true},
    {"committer", for_files, committer_allowed, nothing, file_conditions, false},
    {"net", for_network, nothing, nothing, network_conditions, false},
    {"wasm", for_tools, nothing, nothing, no_conditions, false},
    {"compile", for_tools, nothing, nothing, compile_conditions, false},
    {"parse", nothing, nothing, nothing, no_conditions, false},
    {0},
};

static void add_conditions(scmp_filter_ctx ctx, const struct condition *c, bool alone)
{
    for (; c->name; c++) {
        if (c->in_namespaces && alone)
            continue;
        check_added(seccomp_rule_add(
                        ctx, c->error ? SCMP_ACT_ERRNO((uint32_t)c->error) : SCMP_ACT_ALLOW, c->nr,
                        1, SCMP_CMP(c->arg, SCMP_CMP_MASKED_EQ, c->mask, c->value & c->mask)),
                    c->name);
    }
}

static void add_conditional(scmp_filter_ctx ctx, const struct filter *filter)
{
    add_conditions(ctx, conditions, filter->alone);
    add_conditions(ctx, filter->conditions, filter->alone);
    /* Never executable, and never shared: what it shares with the gate it has mapped already. */
    check_added(seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                 SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED, 0)),
                "mmap");
    if (filter->alone)
        add_open_by_names(ctx);
}

static void add_calls(scmp_filter_ctx ctx, uint32_t action, const char *const *names)
{
    for (; *names; names++)
        add_seccomp_call(ctx, action, *names);
}

static bool is_call_listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

static void filter_compile(const struct filter *filter, struct program *program)
{
    scmp_filter_ctx ctx = seccomp_init(DEFAULT_ACTION);
    if (!ctx)
        exit(1);
    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* binary tree */
    /* Calls of the machine's other interfaces (32-bit, x32) as well; otherwise only the thread ends. */
    seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, DEFAULT_ACTION);
    add_calls(ctx, SCMP_ACT_ALLOW, for_all);
    add_calls(ctx, SCMP_ACT_ALLOW, filter->calls);
    add_calls(ctx, SCMP_ACT_ALLOW, filter->more);
    add_calls(ctx, SCMP_ACT_ERRNO(EPERM), filter->refused);
    add_calls(ctx, SCMP_ACT_ERRNO(ENOSYS), absent);
    if (!filter->alone)
        add_calls(ctx, SCMP_ACT_ALLOW, allowed_in_namespaces);
    if (!filter->alone && !is_call_listed(filter->calls, "openat")) {
        add_seccomp_call(ctx, SCMP_ACT_ERRNO(ENOSYS), "openat");
    }
#ifdef SANDGATE_SANITIZED
    add_calls(ctx, SCMP_ACT_ALLOW, sanitizer_calls);
#endif
    add_conditional(ctx, filter);
    int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0 || seccomp_export_bpf(ctx, fd) < 0)
        exit(1);
    ssize_t n = pread(fd, program->code, sizeof program->code, 0);
    close(fd);
    seccomp_release(ctx);
    if (n <= 0 || (size_t)n == sizeof program->code)
        exit(1);
    program->n = (size_t)n / sizeof *program->code;
}

static void print_filter(const char *name, const struct program *program)
{
    printf("/* Made by filter_gen.c from the list of system calls there. */\n"
           "static const struct sock_filter filter_%s[] = {\n",
           name);
    for (size_t i = 0; i < program->n; i++)
        printf("    {0x%04x, %u, %u, 0x%08x},\n", program->code[i].code, program->code[i].jt,
               program->code[i].jf, program->code[i].k);
    printf("};\n");
}

int main(int argc, char **argv)
{
    static struct program program;
    const char *what = argc == 2 ? argv[1] : "";
    const struct filter *filter = filters;
    while (filter->name && strcmp(filter->name, what) != 0)
        filter++;
    if (filter->name) {
        filter_compile(filter, &program);
        print_filter(filter->name, &program);
    } else if (strcmp(what, "command") == 0) {
        filter_command_compile(&program);
        print_filter("command", &program);
    } else if (strcmp(what, "reported") == 0) {
        filter_command_print_reported();
    } else {
        fprintf(stderr,
                "usage: filter_gen worker|lone_worker|committer|net|parse|wasm|compile|command|"
                "reported\n");
        return 2;
    }
    return 0;
}
