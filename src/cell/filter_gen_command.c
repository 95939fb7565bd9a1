/* A command's filter. Commands are arbitrary programs, so what is not named here is allowed; what is
 * named reaches beyond the command, or is a part of the kernel that is large, seldom needed and known
 * for its holes.
 *
 * Arguments are compared by their low 32 bits: that is all the kernel reads of those named here, and
 * the other half of a register may hold anything. */
#include "cell/filter_gen.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "cell/filter_code.h"
#include "cell/space.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "where the low half of an argument stands is known for little-endian machines only"
#endif

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

#ifndef PR_FUTEX_HASH
#define PR_FUTEX_HASH 78
#endif
#ifndef TCP_MD5SIG_EXT
#define TCP_MD5SIG_EXT 38
#endif
#define POLL_MAX 4096 /* a power of two */

#define ALLOW SECCOMP_RET_ALLOW
#define REPORT SECCOMP_RET_USER_NOTIF /* refused by init, which counts it: cell/violations.h */
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS)
#define NOTHING SECCOMP_RET_ERRNO            /* told that it was done */
#define UNKNOWN (SECCOMP_RET_ERRNO | EINVAL) /* as a kernel that does not have it */

/* Refused whatever the arguments. */
static const char *const reported[] = {
    /* mounts and namespaces */
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "setns",
    "unshare",
    /* other processes */
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kcmp",
    "pidfd_getfd",
    /* keys are not divided by namespaces as files are */
    "keyctl",
    "add_key",
    "request_key",
    /* large, and not seen by this filter or by Landlock */
    "bpf",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "userfaultfd",
    "perf_event_open",
    "fanotify_init",
    "name_to_handle_at",
    "open_by_handle_at",
    /* the machine */
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "reboot",
    "swapon",
    "swapoff",
    "sethostname",
    "setdomainname",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "acct",
    "quotactl",
    "quotactl_fd",
    "syslog",
    "vhangup",
    "iopl",
    "ioperm",
    /* remains of older times */
    "modify_ldt",
    "vm86",
    "vm86old",
    "nfsservctl",
    "lookup_dcookie",
    "uselib",
    "ustat",
    "sysfs",
    /* hints about extents make a small write allocate much; as the ioctl below */
    "file_setattr",
    /* Decided by init: the first two hold memory that no process shows, which only a cgroup counts; the third takes
     * space on a disk that the kernel accounts for to nobody. */
    "memfd_create",
    "vmsplice",
    "fallocate",
    /* Allowed by init, which then counts what such descriptors hold. */
    "epoll_create",
    "epoll_create1",
    "inotify_init",
    "inotify_init1",
    /* Decided by init: a ruleset holds up to 65,536 rules, which only a cgroup counts. */
    "landlock_create_ruleset",
};

/* Their arguments lie in memory, where a filter cannot look. Programs then use the older call; for
 * clone3 only this answer makes the C library and node do so. */
static const char *const absent[] = {
    "clone3", "openat2", "fchmodat2",
    /* Its pages are nobody's resident memory once they are not mapped. */
    "memfd_secret"};

struct test {
    uint8_t arg;
    bool differs;
    uint32_t mask; /* 0: no test */
    uint32_t value;
};

#define IS(arg, value)                                                                             \
    {                                                                                              \
        arg, false, UINT32_MAX, (uint32_t)(value)                                                  \
    }
#define NOT(arg, value)                                                                            \
    {                                                                                              \
        arg, true, UINT32_MAX, (uint32_t)(value)                                                   \
    }
#define PART_IS(arg, mask, value)                                                                  \
    {                                                                                              \
        arg, false, mask, value                                                                    \
    }
#define PART_NOT(arg, mask, value)                                                                 \
    {                                                                                              \
        arg, true, mask, value                                                                     \
    }
#define ANY(arg, mask)                                                                             \
    {                                                                                              \
        arg, true, mask, 0                                                                         \
    }

/* The first rule of a call of which all tests hold decides. Rules of one call stand together. */
struct rule {
    const char *call;
    uint32_t action;
    struct test when[6];
};

#define NAMESPACES                                                                                 \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP | CLONE_NEWTIME)
#define SET_ID (S_ISUID | S_ISGID)
/* O_TMPFILE contains O_DIRECTORY, and the mode of an open that makes nothing is whatever the register held. */
#define CREATES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define PERSONALITIES (PER_LINUX32 | UNAME26 | ADDR_NO_RANDOMIZE)
#define SOCKET_TYPE 0xf

static const struct rule rules[] = {
    {"clone", REPORT, {ANY(0, NAMESPACES)}},
    /* Descriptors of a thread that does not share them are not in its process's numbers. */
    {"clone", REPORT, {ANY(0, CLONE_THREAD), PART_IS(0, CLONE_FILES, 0)}},

    /* Through a mapped owner a command's files are root's on the disk: none may be setuid or setgid. */
    {"chmod", REPORT, {ANY(1, SET_ID)}},
    {"fchmod", REPORT, {ANY(1, SET_ID)}},
    {"fchmodat", REPORT, {ANY(2, SET_ID)}},
    {"open", REPORT, {ANY(1, CREATES), ANY(2, SET_ID)}},
    {"openat", REPORT, {ANY(2, CREATES), ANY(3, SET_ID)}},
    {"creat", REPORT, {ANY(1, SET_ID)}},
    {"mkdir", REPORT, {ANY(1, SET_ID)}},
    {"mkdirat", REPORT, {ANY(2, SET_ID)}},
    {"mknod", REPORT, {ANY(1, SET_ID)}},
    {"mknod", REPORT, {PART_IS(1, S_IFMT, S_IFCHR)}},
    {"mknod", REPORT, {PART_IS(1, S_IFMT, S_IFBLK)}},
    {"mknodat", REPORT, {ANY(2, SET_ID)}},
    {"mknodat", REPORT, {PART_IS(2, S_IFMT, S_IFCHR)}},
    {"mknodat", REPORT, {PART_IS(2, S_IFMT, S_IFBLK)}},

    /* Nor a device, which this leaves in the old place; Landlock does not take it for one. */
    {"renameat2", REPORT, {ANY(4, RENAME_WHITEOUT)}},

    /* A socket of another family or protocol makes the kernel load a module that nobody else uses. */
    {"socket", ALLOW, {IS(0, AF_UNIX)}},
    {"socket", ALLOW, {IS(0, AF_NETLINK), IS(2, NETLINK_ROUTE)}},
    {"socket", REPORT, {NOT(0, AF_INET), NOT(0, AF_INET6)}},
    {"socket",
     REPORT,
     {PART_NOT(1, SOCKET_TYPE, SOCK_STREAM), PART_NOT(1, SOCKET_TYPE, SOCK_DGRAM)}},
    {"socket",
     REPORT,
     {NOT(2, 0), NOT(2, IPPROTO_TCP), NOT(2, IPPROTO_UDP), NOT(2, IPPROTO_MPTCP),
      NOT(2, IPPROTO_ICMP), NOT(2, IPPROTO_ICMPV6)}},
    {"socketpair", REPORT, {NOT(0, AF_UNIX)}},

    /* Decided by init: a filter takes much more than its socket is charged for, which only a cgroup counts. */
    {"setsockopt", REPORT, {IS(1, SOL_SOCKET), IS(2, SO_ATTACH_FILTER)}},
    {"setsockopt", REPORT, {IS(1, SOL_SOCKET), IS(2, SO_ATTACH_BPF)}},
    {"setsockopt", REPORT, {IS(1, SOL_SOCKET), IS(2, SO_ATTACH_REUSEPORT_CBPF)}},
    {"setsockopt", REPORT, {IS(1, SOL_SOCKET), IS(2, SO_ATTACH_REUSEPORT_EBPF)}},

    /* Keys, up to a fixed size a socket that no limit here changes. */
    {"setsockopt", UNKNOWN, {IS(1, IPPROTO_TCP), IS(2, TCP_MD5SIG)}},
    {"setsockopt", UNKNOWN, {IS(1, IPPROTO_TCP), IS(2, TCP_MD5SIG_EXT)}},
    /* The kernel keeps 72 bytes for each entry while a thread waits, and nobody counts them. */
    {"poll", UNKNOWN, {ANY(1, ~(uint32_t)(POLL_MAX - 1))}},
    {"ppoll", UNKNOWN, {ANY(1, ~(uint32_t)(POLL_MAX - 1))}},

    /* Typing into the terminal of someone else, the console's clipboard, line disciplines. */
    {"ioctl", REPORT, {IS(1, TIOCSTI)}},
    {"ioctl", REPORT, {IS(1, TIOCLINUX)}},
    {"ioctl", REPORT, {IS(1, TIOCSETD)}},

    /* fallocate by other names, with the length in memory. */
    {"ioctl", REPORT, {IS(1, FS_IOC_RESVSP)}},
    {"ioctl", REPORT, {IS(1, FS_IOC_RESVSP64)}},
    {"ioctl", REPORT, {IS(1, FS_IOC_ZERO_RANGE)}},
    {"ioctl", REPORT, {IS(1, FS_IOC_FSSETXATTR)}},

    /* The first process has the same user: without files or processor time it could not look at limits. */
    {"prlimit64", REPORT, {IS(0, 1)}},
    {"sched_setscheduler", REPORT, {IS(0, 1)}},
    {"sched_setparam", REPORT, {IS(0, 1)}},
    {"sched_setattr", REPORT, {IS(0, 1)}},
    {"sched_setaffinity", REPORT, {IS(0, 1)}},
    {"setpriority", REPORT, {IS(0, PRIO_PROCESS), IS(1, 1)}},

    {"prctl", REPORT, {IS(0, PR_SET_MM)}},
    /* One call takes as much kernel memory as it asks for. */
    {"prctl", UNKNOWN, {IS(0, PR_FUTEX_HASH)}},
    /* Nobody is traced in here, and the first process has to see what each one uses. */
    {"prctl", NOTHING, {IS(0, PR_SET_DUMPABLE)}},
    {"personality", ALLOW, {IS(0, UINT32_MAX)}}, /* asks, changes nothing */
    {"personality", REPORT, {ANY(0, ~(uint32_t)PERSONALITIES)}},
    /* Its own memory only; mbind and set_mempolicy know no other. */
    {"move_pages", REPORT, {NOT(0, 0)}},
    {"migrate_pages", REPORT, {NOT(0, 0)}},
};

struct call {
    int nr;
    const char *name;
    uint32_t action; /* where it has no rules */
    const struct rule *rules;
    size_t n_rules;
};

#define CALLS_MAX 256

struct calls {
    struct call row[CALLS_MAX];
    size_t n;
};

static struct call *add_filtered_call(struct calls *calls, const char *name, uint32_t action)
{
    int nr = seccomp_syscall_resolve_name(name);
    /* Some names exist only on some machines. */
    if (nr < 0)
        return NULL;
    if (calls->n == CALLS_MAX)
        exit(1);
    calls->row[calls->n] = (struct call){nr, name, action, NULL, 0};
    return &calls->row[calls->n++];
}

static int by_number(const void *a, const void *b)
{
    return ((const struct call *)a)->nr - ((const struct call *)b)->nr;
}

static void collect_filter_calls(struct calls *calls)
{
    for (size_t i = 0; i < sizeof reported / sizeof *reported; i++)
        add_filtered_call(calls, reported[i], REPORT);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        add_filtered_call(calls, absent[i], ABSENT);
    const size_t count = sizeof rules / sizeof *rules;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && strcmp(rules[i].call, rules[next].call) == 0;)
            next++;
        struct call *call = add_filtered_call(calls, rules[i].call, ALLOW);
        if (call) {
            call->rules = &rules[i];
            call->n_rules = next - i;
        }
    }
    qsort(calls->row, calls->n, sizeof *calls->row, by_number);
    for (size_t i = 1; i < calls->n; i++) {
        if (calls->row[i - 1].nr == calls->row[i].nr) {
            fprintf(stderr, "%s stands there twice\n", calls->row[i].name);
            exit(1);
        }
    }
}

static bool is_same_rule(const struct rule *a, const struct rule *b)
{
    for (size_t i = 0; i < sizeof a->when / sizeof *a->when; i++) {
        const struct test *x = &a->when[i];
        const struct test *y = &b->when[i];
        if (x->arg != y->arg || x->differs != y->differs || x->mask != y->mask ||
            x->value != y->value)
            return false;
    }
    return a->action == b->action;
}

/* What it does is the same, whatever it is called. */
static bool is_alike(const struct call *a, const struct call *b)
{
    bool same = a->action == b->action && a->n_rules == b->n_rules;
    for (size_t i = 0; same && i < a->n_rules; i++)
        same = is_same_rule(&a->rules[i], &b->rules[i]);
    return same;
}

/* What stands in the accumulator behind a test: an argument, or a part of it. */
static bool leaves_alike(const struct test *a, const struct test *b)
{
    return a->arg == b->arg && a->mask == b->mask;
}

static struct place add_filter_rule(struct code *c, const struct rule *rule, struct place otherwise)
{
    size_t n = 0;
    while (n < sizeof rule->when / sizeof *rule->when && rule->when[n].mask != 0)
        n++;
    struct place holds = code_return(rule->action);
    while (n-- > 0) {
        const struct test *test = &rule->when[n];
        holds = code_branch(c, BPF_JEQ, test->value, test->differs ? otherwise : holds,
                            test->differs ? holds : otherwise);
        if (n > 0 && leaves_alike(&rule->when[n - 1], test))
            continue;
        if (test->mask != UINT32_MAX)
            code_add(c, BPF_ALU | BPF_AND | BPF_K, test->mask);
        holds = code_load(c, offsetof(struct seccomp_data, args) + test->arg * sizeof(uint64_t));
    }
    return holds;
}

/* Calls with the same rules share them. */
static struct place add_rules(struct code *c, const struct call *call)
{
    static struct {
        const struct call *call;
        struct place place;
    } known[CALLS_MAX];
    static size_t n;
    for (size_t i = 0; i < n; i++) {
        if (is_alike(known[i].call, call))
            return known[i].place;
    }
    struct place place = code_return(call->action);
    for (size_t i = call->n_rules; i-- > 0;)
        place = add_filter_rule(c, &call->rules[i], place);
    known[n].call = call;
    known[n++].place = place;
    return place;
}

/* Numbers from `first` on, up to the next span's, that are treated alike. */
struct span {
    uint32_t first;
    uint32_t action;
    const struct call *call; /* with rules; NULL: the action is all */
};

struct spans {
    struct span row[2 * CALLS_MAX + 1];
    size_t n;
};

static void add_span(struct spans *spans, uint32_t first, uint32_t action, const struct call *call)
{
    const struct span *last = spans->n ? &spans->row[spans->n - 1] : NULL;
    if (last && !call && !last->call && last->action == action)
        return;
    spans->row[spans->n++] = (struct span){first, action, call};
}

static void divide(const struct calls *calls, struct spans *spans)
{
    uint32_t next = 0;
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->row[i];
        uint32_t nr = (uint32_t)call->nr;
        if (nr > next)
            add_span(spans, next, ALLOW, NULL);
        add_span(spans, nr, call->action, call->n_rules ? call : NULL);
        next = nr + 1;
    }
    add_span(spans, next, ALLOW, NULL);
}

/* A binary search for the number, which is in the accumulator. */
static struct place add_search(struct code *c, const struct span *spans, size_t n)
{
    if (n == 1)
        return spans->call ? add_rules(c, spans->call) : code_return(spans->action);
    struct place above = add_search(c, spans + n / 2, n - n / 2);
    struct place below = add_search(c, spans, n / 2);
    return code_branch(c, BPF_JGE, spans[n / 2].first, above, below);
}

/* The highest number that libseccomp has a name for. */
static uint32_t last_known(void)
{
    uint32_t last = 0;
    for (int nr = 0; nr < 4096; nr++) {
        char *name = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), nr);
        if (name)
            last = (uint32_t)nr;
        free(name);
    }
    return last;
}

/* Up to where the number decides, this uses only instructions that the kernel (5.11 and later) can run
 * ahead for every number: calls without rules then cost next to nothing. */
void filter_command_compile(struct program *p)
{
    static struct calls calls;
    static struct spans spans;
    static struct code code;
    collect_filter_calls(&calls);
    divide(&calls, &spans);
    struct place place = add_search(&code, spans.row, spans.n);
    /* What is newer than this list has not been thought about; x32 is up there too. */
    code_branch(&code, BPF_JGT, last_known(), code_return(ABSENT), place);
    place = code_load(&code, offsetof(struct seccomp_data, nr));
    /* Calls of the machine's 32-bit interface have other numbers. */
    code_branch(&code, BPF_JEQ, seccomp_arch_native(), place,
                code_return(SECCOMP_RET_KILL_PROCESS));
    code_load(&code, offsetof(struct seccomp_data, arch));
    code_finish(&code, p);
}

static bool is_reported(const struct call *call)
{
    for (size_t i = 0; i < call->n_rules; i++) {
        if (call->rules[i].action == REPORT)
            return true;
    }
    return call->action == REPORT;
}

void filter_command_print_reported(void)
{
    static struct calls calls;
    collect_filter_calls(&calls);
    printf(
        "/* Made by filter_gen.c: {number, name} of each call that a command's filter reports. */\n");
    for (size_t i = 0; i < calls.n; i++) {
        if (is_reported(&calls.row[i]))
            printf("{%d, \"%s\"},\n", calls.row[i].nr, calls.row[i].name);
    }
}
