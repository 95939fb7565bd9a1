#include "cell/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/identity.h"
#include "cell/landlock.h"
#include "cell/mounts.h"
#include "cell/probe_parts.h"
#include "cell/tier.h"

/* One that takes longer is stuck. */
#define TRY_SECONDS 5
#define OUT_MAX (64u << 10)
/* What a cell is made with. */
#define CELL_NAMESPACES                                                                            \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP)
/* Who a cell is that works in a folder of root. */
#define NOT_ROOT 65534

/* Each tries something: 0, or -1 with errno. */
typedef int try_fn(struct finding *f);

/* --- in namespaces */

static void wait_for_try(pid_t pid, int *ret_status)
{
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        continue;
}

static int try_inside(unsigned long flags, try_fn *try, struct finding *f)
{
    int go[2];
    int status = 0;
    char byte;
    if (pipe2(go, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        return -1;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(go[1]);
        int r = read(go[0], &byte, 1) == 1 ? try(f) : -1;
        f->error = r < 0 ? errno : 0;
        _exit(r < 0);
    }
    int r = identity_write_maps(pid, geteuid(), getegid());
    if (r == 0 && write(go[1], "", 1) != 1)
        r = -errno;
    close(go[1]);
    wait_for_try(pid, &status);
    errno = r < 0 ? -r : WIFSIGNALED(status) ? EPERM : f->error;
    return r < 0 || status ? -1 : 0;
}

static int try_being_there(struct finding *f)
{
    (void)f;
    return 0;
}

static int try_user_namespace(struct finding *f)
{
    return try_inside(CLONE_NEWUSER, try_being_there, f);
}

static int try_namespaces(struct finding *f)
{
    return try_inside(CELL_NAMESPACES, try_being_there, f);
}

static int make_mounts_private(void)
{
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* A small file system to work in. */
static int enter_scratch(void)
{
    const char *staging = mounts_staging();
    if (!staging)
        errno = ENOENT;
    if (!staging || make_mounts_private() < 0 ||
        mount("tmpfs", staging, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=0755") < 0)
        return -1;
    return chdir(staging);
}

static int make_root(struct finding *f)
{
    struct err err;
    FD_AT_END int tree = -1;
    (void)f;
    if (make_mounts_private() < 0 || mounts_take_tree("/", true, -1, &tree, &err) < 0 ||
        enter_scratch() < 0 || mkdir("system", 0755) < 0 ||
        move_mount(tree, "", AT_FDCWD, "system", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
        syscall(SYS_pivot_root, ".", ".") < 0)
        return -1;
    return umount2(".", MNT_DETACH);
}

static int try_mounts(struct finding *f)
{
    return try_inside(CELL_NAMESPACES, make_root, f);
}

/* As a gate of root takes its folders, before there is a namespace. */
static int try_root_mounts(struct finding *f)
{
    struct err err;
    FD_AT_END int tree = -1;
    if (geteuid() != 0) {
        f->state = FINDING_UNNEEDED;
        return 0;
    }
    return mounts_take_tree(".", false, -1, &tree, &err);
}

static int mount_proc(struct finding *f)
{
    (void)f;
    if (make_mounts_private() < 0)
        return -1;
    return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

static int try_proc(struct finding *f)
{
    return try_inside(CELL_NAMESPACES, mount_proc, f);
}

static int mount_overlay(struct finding *f)
{
    (void)f;
    if (enter_scratch() < 0 || mkdir("lower", 0755) < 0 || mkdir("upper", 0755) < 0 ||
        mkdir("work", 0755) < 0)
        return -1;
    return mount("overlay", "lower", "overlay", MS_NOSUID | MS_NODEV,
                 "lowerdir=lower,upperdir=upper,workdir=work,userxattr,index=off,metacopy=off,"
                 "redirect_dir=nofollow");
}

static int try_overlay(struct finding *f)
{
    return try_inside(CELL_NAMESPACES, mount_overlay, f);
}

/* --- locks */

static int try_landlock(struct finding *f)
{
    struct err err;
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        landlock_restrict(NULL, 0, false, &err) < 0)
        return -1;
    f->version = (int)abi;
    FD_AT_END int open_still = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    errno = ENOTRECOVERABLE;
    return open_still < 0 ? 0 : -1;
}

static struct sock_filter allow_all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static const struct sock_fprog allow_program = {ARRAY_LEN(allow_all), allow_all};

static int try_seccomp(struct finding *f)
{
    (void)f;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allow_program);
}

static int try_seccomp_notify(struct finding *f)
{
    (void)f;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                   &allow_program) < 0
               ? -1
               : 0;
}

/* --- what processes use */

static int try_openat2(struct finding *f)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    FD_AT_END int fd = root < 0 ? -1 : (int)syscall(SYS_openat2, root, ".", &how, sizeof how);
    (void)f;
    return fd < 0 ? -1 : 0;
}

static int try_pidfd(struct finding *f)
{
    FD_AT_END int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    (void)f;
    return fd < 0 ? -1 : (int)syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0);
}

/* On the file system of the working directory. */
static int try_idmap(struct finding *f)
{
    const struct cell_root root = {.uid = 0, .gid = 0};
    const struct cell_spec spec = {.uid = NOT_ROOT, .gid = NOT_ROOT};
    struct err err;
    FD_AT_END int mapping = -1;
    FD_AT_END int tree = -1;
    if (geteuid() != 0) {
        f->state = FINDING_UNNEEDED;
        return 0;
    }
    int r = identity_open_mapping(&root, &spec, &mapping, &err);
    if (r == 0)
        r = mounts_take_tree(".", false, mapping, &tree, &err);
    int error = errno;
    identity_done();
    errno = error;
    return r;
}

/* --- limits */

static int try_limit(struct finding *f, enum limit_kind kind)
{
    struct limits *limits = NULL;
    int r = limits_open(&limits, "doctor");
    f->means = tier_limit(limits, kind);
    limits_close(limits);
    errno = r < 0 ? -r : ENOENT;
    return f->means == MEANS_CGROUP2 || f->means == MEANS_CGROUP1 ? 0 : -1;
}

static int try_cgroup_memory(struct finding *f)
{
    return try_limit(f, LIMIT_MEMORY);
}

static int try_cgroup_processes(struct finding *f)
{
    return try_limit(f, LIMIT_PROCESSES);
}

static int try_cgroup_cpu(struct finding *f)
{
    return try_limit(f, LIMIT_CPU);
}

/* --- all of them */

static try_fn *const tries[MECHANISM_COUNT] = {
    [MECHANISM_USER_NAMESPACES] = try_user_namespace,
    [MECHANISM_NAMESPACES] = try_namespaces,
    [MECHANISM_MOUNTS] = try_mounts,
    [MECHANISM_ROOT_MOUNTS] = try_root_mounts,
    [MECHANISM_PROC] = try_proc,
    [MECHANISM_LANDLOCK] = try_landlock,
    [MECHANISM_SECCOMP] = try_seccomp,
    [MECHANISM_OPENAT2] = try_openat2,
    [MECHANISM_SECCOMP_NOTIFY] = try_seccomp_notify,
    [MECHANISM_PIDFD] = try_pidfd,
    [MECHANISM_OVERLAY] = try_overlay,
    [MECHANISM_IDMAP] = try_idmap,
    [MECHANISM_CGROUP_MEMORY] = try_cgroup_memory,
    [MECHANISM_CGROUP_PROCESSES] = try_cgroup_processes,
    [MECHANISM_CGROUP_CPU] = try_cgroup_cpu,
};

/* `f` is in memory that the child shares. */
static void try_mechanism(enum mechanism m, struct finding *f)
{
    int status = 0;
    *f = (struct finding){.state = FINDING_NO};
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(TRY_SECONDS);
        int r = tries[m](f);
        f->error = r < 0 ? errno : 0;
        if (r == 0 && f->state == FINDING_NO)
            f->state = FINDING_YES;
        _exit(0);
    }
    if (pid < 0)
        f->error = errno;
    else
        wait_for_try(pid, &status);
    /* What a filter does to whom it does not let live. */
    if (WIFSIGNALED(status)) {
        f->state = FINDING_NO;
        f->error = WTERMSIG(status) == SIGALRM ? ETIMEDOUT : EPERM;
    }
}

int probe_main(void)
{
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    struct json_out j = {.out = &out};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct findings *f = mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                              -1, 0);
    if (f == MAP_FAILED)
        return 1;
    for (enum mechanism m = 0; m < MECHANISM_COUNT; m++) {
        try_mechanism(m, &f->of[m]);
        if (f->of[m].state == FINDING_NO)
            probe_explain(m, f);
    }
    findings_write(f, &j);
    return out.failed || fd_write_all(STDOUT_FILENO, out.data, out.len) < 0;
}
