/* Mounts and namespaces. */
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/nsfs.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempts.h"

#define MOUNT(name, source, target, type, flags, data)                                             \
    CALL(name, mount, TEXT(source), TEXT(target), TEXT(type), flags, TEXT(data))
#define BARE_MOUNT(name, source, target, type, flags, data)                                        \
    BARE_CALL(name, mount, TEXT(source), TEXT(target), TEXT(type), flags, TEXT(data))
#define UMOUNT(name, target) CALL(name, umount2, TEXT(target), MNT_DETACH)

static struct mount_attr executable = {.attr_clr = MOUNT_ATTR_NOEXEC};
static struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};

/* In the classic way: a working directory that lies outside the new root. */
static enum outcome chroot_and_climb(const struct attempt *a)
{
    (void)a;
    int top = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0 || (mkdir("/tmp/jail", 0700) < 0 && errno != EEXIST))
        return NOT_TRIED;
    enum outcome outcome = judge(chroot("/tmp/jail"), "chroot");
    if (outcome == THROUGH && fchdir(top) == 0)
        judge(chdir("../../.."), "climbing");
    rmdir("/tmp/jail");
    return outcome;
}

const struct attempt mount_attempts[] = {
    BARE_MOUNT("mount-tmpfs", "none", "/tmp", "tmpfs", 0, NULL),
    BARE_MOUNT("mount-bind", "/usr", "/tmp", NULL, MS_BIND | MS_REC, NULL),
    BARE_MOUNT("mount-proc", "proc", "/tmp", "proc", 0, NULL),
    BARE_MOUNT("mount-devpts", "devpts", "/tmp", "devpts", 0, "newinstance"),
    BARE_MOUNT("mount-shared", NULL, "/", NULL, MS_REC | MS_SHARED, NULL),
    MOUNT("mount-overlay", "overlay", "/tmp", "overlay", 0, "lowerdir=/usr:/etc"),
    MOUNT("mount-sysfs", "sysfs", "/tmp", "sysfs", 0, NULL),
    MOUNT("mount-cgroup", "cgroup", "/tmp", "cgroup", 0, "memory"),
    MOUNT("mount-cgroup2", "cgroup", "/tmp", "cgroup2", 0, NULL),
    MOUNT("mount-fuse", "fuse", "/tmp", "fuse", 0, "fd=0,rootmode=40000,user_id=0,group_id=0"),
    MOUNT("remount-root-writable", NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL),
    MOUNT("remount-usr-writable", NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL),
    MOUNT("mount-move", "/proc", "/tmp", NULL, MS_MOVE, NULL),
    /* Beneath lies the cell's own, which knows the worker and other commands. */
    BARE_CALL("umount-proc", umount2, TEXT("/proc"), MNT_DETACH),
    UMOUNT("umount-workspace", "/workspace"),
    UMOUNT("umount-tmp", "/tmp"),
    UMOUNT("umount-usr", "/usr"),
    BARE_CALL("open-tree", open_tree, AT_FDCWD, TEXT("/"), OPEN_TREE_CLONE | AT_RECURSIVE),
    CALL("move-mount", move_mount, AT_FDCWD, TEXT("/proc"), AT_FDCWD, TEXT("/tmp"), 0),
    BARE_CALL("fsopen", fsopen, TEXT("tmpfs"), 0),
    BARE_CALL("fspick", fspick, AT_FDCWD, TEXT("/proc"), 0),
    CALL("fsmount", fsmount, 0, 0, 0),
    CALL("fsconfig", fsconfig, 0, 6, 0, 0, 0),
    BARE_CALL("mount-setattr", mount_setattr, AT_FDCWD, TEXT("/proc"), 0, TEXT(&executable),
              sizeof executable),
    CALL("mount-setattr-usr", mount_setattr, AT_FDCWD, TEXT("/usr"), 0, TEXT(&writable),
         sizeof writable),
    CALL("pivot-root", pivot_root, TEXT("/tmp"), TEXT("/tmp")),
    BARE_CALL("chroot", chroot, TEXT("/tmp")),
    {.name = "chroot-and-climb", .run = chroot_and_climb, .violation = "chroot", .bare = true},
    {0},
};

/* --- namespaces */

static const char *const kinds[] = {"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"};
#define KINDS (sizeof kinds / sizeof *kinds)

/* One's own: entering it again changes nothing, but is what the next step after a leak would be. */
static enum outcome setns_own(const struct attempt *a)
{
    (void)a;
    enum outcome worst = STOPPED;
    for (size_t i = 0; i < KINDS; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        worst = both(worst, judge(fd < 0 ? -1 : setns(fd, 0), path));
    }
    return worst;
}

static enum outcome setns_first(const struct attempt *a)
{
    (void)a;
    enum outcome worst = STOPPED;
    for (size_t i = 0; i < KINDS; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/1/ns/%s", kinds[i]);
        worst = both(worst, try_open(path, O_RDONLY));
    }
    return worst;
}

static enum outcome setns_pidfd(const struct attempt *a)
{
    (void)a;
    int fd = (int)syscall(SYS_pidfd_open, 1, 0);
    return fd < 0 ? NOT_TRIED : judge(setns(fd, CLONE_NEWNS | CLONE_NEWNET), "setns");
}

/* A namespace that is above shows the way to the machine's. */
static enum outcome parent_namespace(const struct attempt *a)
{
    (void)a;
    enum outcome worst = STOPPED;
    for (size_t i = 0; i < KINDS; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        worst = both(worst, judge(ioctl(fd, NS_GET_PARENT), "NS_GET_PARENT"));
        /* The owner of all but the user namespace is the one this process is in. */
        int owner = ioctl(fd, NS_GET_USERNS);
        if (owner >= 0)
            worst = both(worst, judge(ioctl(owner, NS_GET_PARENT), "the owner's NS_GET_PARENT"));
    }
    return worst;
}

static enum outcome clone_into(const struct attempt *a)
{
    long pid = syscall(SYS_clone, a->args[0] | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return judge(pid, a->name);
}

/* Its flags lie in memory, where the filter cannot see them. */
static enum outcome clone3_into(const struct attempt *a)
{
    struct clone_args args = {.flags = (uint64_t)a->args[0], .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        _exit(0);
    int error = errno;
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    errno = error;
    return judge_absent(pid, a->name);
}

static enum outcome write_maps(const struct attempt *a)
{
    (void)a;
    static const char *const files[] = {"uid_map", "gid_map", "setgroups"};
    enum outcome worst = STOPPED;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/%s", files[i]);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        const char *text = strcmp(files[i], "setgroups") == 0 ? "allow" : "0 0 1";
        worst = both(worst, judge(fd < 0 ? -1 : write(fd, text, strlen(text)), path));
    }
    return worst;
}

#define CLONE_INTO(name_, flag)                                                                    \
    {                                                                                              \
        .name = name_, .run = clone_into, .violation = "clone:namespaces", .bare = true, .args = { \
            flag                                                                                   \
        }                                                                                          \
    }

const struct attempt namespace_attempts[] = {
    BARE_CALL("unshare-user", unshare, CLONE_NEWUSER),
    BARE_CALL("unshare-mount", unshare, CLONE_NEWNS),
    BARE_CALL("unshare-pid", unshare, CLONE_NEWPID),
    BARE_CALL("unshare-network", unshare, CLONE_NEWNET),
    BARE_CALL("unshare-ipc", unshare, CLONE_NEWIPC),
    BARE_CALL("unshare-uts", unshare, CLONE_NEWUTS),
    BARE_CALL("unshare-cgroup", unshare, CLONE_NEWCGROUP),
    CALL("unshare-time", unshare, CLONE_NEWTIME),
    CLONE_INTO("clone-user", CLONE_NEWUSER),
    CLONE_INTO("clone-user-and-mount", CLONE_NEWUSER | CLONE_NEWNS),
    CLONE_INTO("clone-mount", CLONE_NEWNS),
    CLONE_INTO("clone-pid", CLONE_NEWPID),
    CLONE_INTO("clone-network", CLONE_NEWNET),
    CLONE_INTO("clone-ipc", CLONE_NEWIPC),
    CLONE_INTO("clone-uts", CLONE_NEWUTS),
    CLONE_INTO("clone-cgroup", CLONE_NEWCGROUP),
    /* The other half of the register is not the kernel's business. */
    CLONE_INTO("clone-user-high-bits", CLONE_NEWUSER | (0x5aL << 40)),
    {.name = "clone3-user", .run = clone3_into, .bare = true, .args = {CLONE_NEWUSER}},
    {.name = "clone3-plain", .run = clone3_into, .bare = true},
    {.name = "setns-own", .run = setns_own, .violation = "setns", .bare = true},
    {.name = "setns-first", .run = setns_first, .bare = true},
    {.name = "setns-pidfd", .run = setns_pidfd, .violation = "setns", .bare = true},
    {.name = "parent-namespace", .run = parent_namespace},
    {.name = "write-maps", .run = write_maps},
    {0},
};
