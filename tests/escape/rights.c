/* Rights over the machine: capabilities, identities, limits, what /proc lets one write, terminals. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/random.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempts.h"

/* --- identity */

static enum outcome become_root(const struct attempt *a)
{
    (void)a;
    gid_t group = 0;
    enum outcome worst = judge(setuid(0), "setuid(0)");
    worst = both(worst, judge(setreuid(0, 0), "setreuid(0)"));
    worst = both(worst, judge(setresuid(0, 0, 0), "setresuid(0)"));
    worst = both(worst, judge(setgid(0), "setgid(0)"));
    worst = both(worst, judge(setresgid(0, 0, 0), "setresgid(0)"));
    worst = both(worst, judge(setgroups(1, &group), "setgroups(0)"));
    worst = both(worst, judge(setgroups(0, NULL), "setgroups()"));
    /* This one cannot fail; it only does nothing. */
    setfsuid(0);
    if (setfsuid(0) == 0)
        worst = judge(0, "setfsuid(0)");
    return worst;
}

static enum outcome take_capabilities(const struct attempt *a)
{
    (void)a;
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) < 0)
        return NOT_TRIED;
    unsigned any = data[0].effective | data[1].effective | data[0].permitted | data[1].permitted;
    enum outcome worst = any ? judge(0, "having a capability") : STOPPED;
    memset(data, 0xff, sizeof data);
    worst = both(worst, judge(syscall(SYS_capset, &head, data), "capset"));
    data[0] = data[1] = (struct __user_cap_data_struct){.inheritable = 1u << CAP_SETUID};
    worst = both(worst, judge(syscall(SYS_capset, &head, data), "an inheritable capability"));
    worst = both(worst, judge(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0),
                              "an ambient capability"));
    worst = both(worst, judge(prctl(PR_SET_SECUREBITS, 0), "secure bits"));
    worst = both(worst, judge(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), "new privileges"));
    for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++) {
        if (prctl(PR_CAPBSET_READ, cap) == 1)
            worst = judge(0, "a capability in the bounding set");
    }
    return worst;
}

/* As a file that the machine's root made: who runs it is who ran it before. */
static enum outcome by_file(const struct attempt *a)
{
    (void)a;
    uid_t r, e, s;
    gid_t rg, eg, sg;
    if (getresuid(&r, &e, &s) < 0 || getresgid(&rg, &eg, &sg) < 0)
        return NOT_TRIED;
    printf("users %u %u %u, groups %u %u %u\n", r, e, s, rg, eg, sg);
    return r == e && e == s && rg == eg && eg == sg && e != 0 ? STOPPED : THROUGH;
}

/* --- limits */

static enum outcome raise_limits(const struct attempt *a)
{
    (void)a;
    static const int all[] = {RLIMIT_CORE, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC};
    enum outcome worst = STOPPED;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct rlimit limit;
        char name[32];
        snprintf(name, sizeof name, "limit %d", all[i]);
        if (getrlimit((__rlimit_resource_t)all[i], &limit) < 0)
            return NOT_TRIED;
        /* Memory may be its control group's matter. */
        if (all[i] == RLIMIT_DATA && limit.rlim_max == RLIM_INFINITY)
            continue;
        limit.rlim_max++;
        worst = both(worst, judge(setrlimit((__rlimit_resource_t)all[i], &limit), name));
    }
    return worst;
}

static enum outcome take_priority(const struct attempt *a)
{
    (void)a;
    const struct sched_param realtime = {.sched_priority = 1};
    const int class_realtime = 1 << 13;
    enum outcome worst = judge(setpriority(PRIO_PROCESS, 0, -1), "nice -1");
    worst = both(worst, judge(sched_setscheduler(0, SCHED_FIFO, &realtime), "SCHED_FIFO"));
    worst = both(worst, judge(sched_setscheduler(0, SCHED_RR, &realtime), "SCHED_RR"));
    return both(worst, judge(syscall(SYS_ioprio_set, 1, 0, class_realtime), "real-time I/O"));
}

static enum outcome put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    enum outcome outcome = judge(fd < 0 ? -1 : write(fd, text, strlen(text)), path);
    if (fd >= 0)
        close(fd);
    return outcome;
}

/* Upward it may go: to be the first to be killed harms nobody else. */
static enum outcome spare_from_memory_killer(const struct attempt *a)
{
    (void)a;
    enum outcome worst = both(put("/proc/self/oom_score_adj", "-1000"),
                              put("/proc/self/oom_score_adj", "-1"));
    return both(worst, both(put("/proc/1/oom_score_adj", "1000"), put("/proc/self/oom_adj", "-1")));
}

/* --- /proc */

#define DEEPEST 12

/* Some can be opened by all and refuse only then, so it is given back what it says. */
static enum outcome write_back(const char *path)
{
    char text[4096];
    int to = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (to < 0)
        return STOPPED;
    int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = from < 0 ? -1 : read(from, text, sizeof text);
    enum outcome outcome = judge(n <= 0 ? 0 : write(to, text, (size_t)n), path);
    close(to);
    if (from >= 0)
        close(from);
    return outcome;
}

/* Everything beneath that can be written. */
static enum outcome find_writable(const char *folder, int depth)
{
    enum outcome worst = STOPPED;
    DIR *dir = depth < DEEPEST ? opendir(folder) : NULL;
    if (!dir)
        return STOPPED;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[PATH_MAX];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            worst = both(worst, find_writable(path, depth + 1));
        if (S_ISREG(st.st_mode))
            worst = both(worst, write_back(path));
    }
    closedir(dir);
    return worst;
}

static enum outcome write_settings(const struct attempt *a)
{
    (void)a;
    if (access("/proc/sys/kernel/core_pattern", F_OK) < 0)
        return NOT_TRIED;
    return find_writable("/proc/sys", 0);
}

/* The rest of /proc without what belongs to processes. PSI triggers are for everyone, and watch only. */
static enum outcome write_proc(const struct attempt *a)
{
    (void)a;
    enum outcome worst = STOPPED;
    DIR *dir = opendir("/proc");
    if (!dir)
        return NOT_TRIED;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[PATH_MAX];
        struct stat st;
        const char *name = entry->d_name;
        snprintf(path, sizeof path, "/proc/%s", name);
        if (name[0] == '.' || (name[0] >= '0' && name[0] <= '9') || strcmp(name, "sys") == 0 ||
            strcmp(name, "pressure") == 0 || lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            worst = both(worst, find_writable(path, 0));
        if (S_ISREG(st.st_mode))
            worst = both(worst, write_back(path));
    }
    closedir(dir);
    return worst;
}

/* Addresses in the kernel are all zeros for those who may not know them. */
static enum outcome read_addresses(const struct attempt *a)
{
    (void)a;
    char line[512];
    FILE *file = fopen("/proc/kallsyms", "re");
    if (!file)
        return judge(-1, "/proc/kallsyms");
    enum outcome outcome = STOPPED;
    while (fgets(line, sizeof line, file)) {
        if (strtoull(line, NULL, 16) != 0)
            outcome = THROUGH;
    }
    fclose(file);
    return outcome;
}

/* --- the filter itself */

static enum outcome unlock(const struct attempt *a)
{
    struct sock_filter allow[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog program = {1, allow};
    enum outcome worst = both(
        judge(prctl(PR_SET_SECCOMP, SECCOMP_MODE_DISABLED, 0), "switching the filter off"),
        judge(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                      &program),
              "a listener of one's own"));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return NOT_TRIED;
    return both(worst, judge(mount("none", "/tmp", "tmpfs", 0, NULL), a->name));
}

#if defined __x86_64__
/* getpid as the 32-bit interface numbers it; mount has another number there than the filter knows. */
static enum outcome old_interface(const struct attempt *a)
{
    (void)a;
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return judge(0, "int 0x80");
}

static enum outcome by_old_interface(const struct attempt *a)
{
    return in_child(old_interface, a);
}

static enum outcome by_x32(const struct attempt *a)
{
    return judge_absent(syscall(0x40000000 | SYS_getpid), a->name);
}
#endif

static enum outcome newer_call(const struct attempt *a)
{
    return judge_absent(syscall(a->args[0], -1, 0, 0, 0, 0), a->name);
}

/* --- terminals */

static enum outcome type_into(int fd, const char *what)
{
    char text = 'x';
    int number = 0;
    enum outcome worst = judge(ioctl(fd, TIOCSTI, &text), what);
    text = 3; /* paste */
    worst = both(worst, judge(ioctl(fd, TIOCLINUX, &text), "TIOCLINUX"));
    worst = both(worst, judge(ioctl(fd, TIOCSETD, &number), "TIOCSETD"));
    return both(worst, judge(ioctl(fd, TIOCCONS), "TIOCCONS"));
}

/* One's own: what comes out there would be typed in. */
static enum outcome type_into_own(const struct attempt *a)
{
    (void)a;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        return NOT_TRIED;
    int slave = open(ptsname(master), O_RDWR | O_CLOEXEC);
    return slave < 0 ? NOT_TRIED : type_into(slave, "TIOCSTI");
}

/* That of whoever started the gate. */
static enum outcome type_into_callers(const struct attempt *a)
{
    (void)a;
    enum outcome worst = try_open("/dev/tty", O_RDWR);
    for (int fd = 0; fd < 64; fd++) {
        if (isatty(fd))
            worst = both(THROUGH, type_into(fd, "a terminal of the caller"));
    }
    return both(worst, judge(ioctl(0, TIOCSCTTY, 1), "TIOCSCTTY"));
}

static enum outcome credit_entropy(const struct attempt *a)
{
    (void)a;
    int bits = 1;
    int fd = open("/dev/random", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NOT_TRIED;
    return both(judge(ioctl(fd, RNDADDTOENTCNT, &bits), "RNDADDTOENTCNT"),
                judge(ioctl(fd, RNDCLEARPOOL), "RNDCLEARPOOL"));
}

#define RUN(name_, run_)                                                                           \
    {                                                                                              \
        .name = name_, .run = run_                                                                 \
    }

const struct attempt rights_attempts[] = {
    RUN("become-root", become_root),
    RUN("take-capabilities", take_capabilities),
    {.name = "by-file", .run = by_file, .argument = true},
    RUN("raise-limits", raise_limits),
    RUN("take-priority", take_priority),
    RUN("spare-from-memory-killer", spare_from_memory_killer),
    {.name = "write-settings", .run = write_settings, .bare = true},
    RUN("write-proc", write_proc),
    RUN("read-addresses", read_addresses),
    {.name = "unlock", .run = unlock, .violation = "mount", .bare = true},
#if defined __x86_64__
    RUN("by-old-interface", by_old_interface),
    RUN("by-x32", by_x32),
#endif
    {.name = "newer-call", .run = newer_call, .args = {4000}},
    {.name = "newest-call", .run = newer_call, .args = {INT_MAX}},
    {.name = "type-into-own", .run = type_into_own, .violation = "ioctl:TIOCSTI"},
    {.name = "type-into-callers", .run = type_into_callers, .argument = true},
    RUN("credit-entropy", credit_entropy),
    {0},
};
