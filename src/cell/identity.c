#include "cell/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/failed.h"
#include "cell/mounts.h"

static int write_mapping_file(const char *path, const char *text)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return fd_write_all(fd, text, strlen(text));
}

static int write_map(pid_t pid, const char *file, uint32_t from, uint32_t to)
{
    char path[64];
    char line[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    snprintf(line, sizeof line, "%u %u 1", from, to);
    return write_mapping_file(path, line);
}

/* A sanitizer keeps notes of each thread in memory that such a process would share with it. */
#ifdef SANDGATE_SANITIZED
#define SHARED_MEMORY 0
#else
#define SHARED_MEMORY CLONE_VM
#endif

/* Holds a user namespace while it is opened. */
static pid_t holder;

static int hold_namespace(void *parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* One who died before that sends no signal any more. */
    while (getppid() == *(const pid_t *)parent)
        pause();
    _exit(0);
}

static void wait_for_holder(void)
{
    while (holder > 0 && waitpid(holder, NULL, 0) < 0 && errno == EINTR)
        continue;
    holder = 0;
}

int identity_open_mapping(const struct cell_root *root, const struct cell_spec *spec, int *ret_fd,
                          struct err *err)
{
    static char stack[16 << 10] __attribute__((aligned(16)));
    static pid_t self;
    self = getpid();
    wait_for_holder();
    /* It has this process's memory: a copy would take longer to make than it is needed. */
    holder = clone(hold_namespace, stack + sizeof stack, SHARED_MEMORY | CLONE_NEWUSER | SIGCHLD,
                   &self);
    if (holder < 0)
        return cell_failed(err, "making a user namespace for a mapping");
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)holder);
    int fd = -1;
    int r = write_map(holder, "uid_map", root->uid, spec->uid);
    if (r == 0)
        r = write_map(holder, "gid_map", root->gid, spec->gid);
    if (r == 0) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        r = fd < 0 ? -errno : 0;
    }
    if (kill(holder, SIGKILL) < 0)
        holder = 0; /* not to be waited for: it ends with this process */
    if (r < 0) {
        errno = -r;
        return cell_failed(err, "writing an owner mapping");
    }
    *ret_fd = fd;
    return 0;
}

static int take_root(const struct cell_root *root, const struct cell_spec *spec, bool readonly,
                     int *ret_tree, struct err *err)
{
    FD_AT_END int mapping = -1;
    if ((root->uid != spec->uid || root->gid != spec->gid) &&
        identity_open_mapping(root, spec, &mapping, err) < 0)
        return -1;
    if (mounts_take_tree(root->host, readonly, mapping, ret_tree, err) < 0)
        return -1;
    return mounts_check_identity(*ret_tree, root, err);
}

int identity_write_maps(pid_t pid, uint32_t uid, uint32_t gid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/setgroups", (int)pid);
    int r = write_mapping_file(path, "deny");
    if (r == 0)
        r = write_map(pid, "uid_map", uid, uid);
    return r < 0 ? r : write_map(pid, "gid_map", gid, gid);
}

static int map_user(pid_t pid, uint32_t uid, uint32_t gid, struct err *err)
{
    int r = identity_write_maps(pid, uid, gid);
    if (r == 0)
        return 0;
    errno = -r;
    return cell_failed(err, "mapping the cell's user");
}

int identity_take_trees(const struct cell_spec *spec, struct trees *ret, struct err *err)
{
    trees_init(ret);
    if (geteuid() != 0)
        return 0;
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (take_root(&spec->roots[i], spec, spec_root_is_readonly(spec, i), &ret->root[i], err) <
            0)
            return -1;
    }
    if (spec->layer.host && take_root(&spec->layer, spec, false, &ret->layer, err) < 0)
        return -1;
    for (size_t i = 0; i < spec->n_shown; i++) {
        if (mounts_take_tree(spec->shown[i], true, -1, &ret->shown[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < spec->n_files; i++) {
        if (mounts_take_tree(spec->files[i].host, true, -1, &ret->file[i], err) < 0)
            return -1;
    }
    return 0;
}

/* A process whose user is root is closed to all others, and its files can be written by root all the same. */
static bool maps_at_once(void)
{
    return geteuid() != 0;
}

/* The trees in this process's descriptors may be root's files made writable for the cell's uid, and the control
 * socket is what the gate believes. Whoever has that uid could take them from a dumpable process (pidfd_getfd,
 * ptrace), so it is none from before it has that uid, and as soon as its maps are written. */
static int close_to_others(struct err *err)
{
    return prctl(PR_SET_DUMPABLE, 0) < 0 ? cell_failed(err, "closing its process files") : 0;
}

static pid_t start_in_namespaces(bool network, int go[2], struct err *err)
{
    if (geteuid() == 0 && setgroups(0, NULL) < 0)
        return cell_failed(err, "leaving root's groups");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, go) < 0)
        return cell_failed(err, "making a pair of sockets");
    pid_t pid = (pid_t)syscall(SYS_clone,
                               CLONE_PARENT | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
                                   (network ? 0 : CLONE_NEWNET) | CLONE_NEWIPC | CLONE_NEWUTS |
                                   CLONE_NEWCGROUP | SIGCHLD,
                               0, 0, 0, 0);
    if (pid < 0)
        return cell_failed(err, "making namespaces");
    fd_closep(&go[pid == 0]);
    return pid;
}

int identity_start(bool network, pid_t *ret_pid, int *ret_go, struct err *err)
{
    int go[2] = {-1, -1};
    bool at_once = maps_at_once();
    char byte;
    pid_t pid = *ret_pid = start_in_namespaces(network, go, err);
    if (pid < 0)
        return -1;
    *ret_go = go[pid != 0];
    if (pid == 0 && at_once && read(go[0], &byte, 1) != 1)
        _exit(1); /* the other side tells why */
    if (pid > 0 && at_once && map_user(pid, geteuid(), getegid(), err) < 0)
        return -1;
    if (pid > 0 && at_once && send(go[1], "", 1, MSG_NOSIGNAL) != 1)
        return cell_failed(err, "waking the launcher");
    return close_to_others(err);
}

int identity_map(const struct cell_spec *spec, pid_t launcher, struct err *err)
{
    return maps_at_once() ? 0 : map_user(launcher, spec->uid, spec->gid, err);
}

int identity_become(const struct cell_spec *spec, struct err *err)
{
    if (setresgid(spec->gid, spec->gid, spec->gid) < 0 ||
        setresuid(spec->uid, spec->uid, spec->uid) < 0)
        return cell_failed(err, "becoming the cell's user");
    return close_to_others(err);
}

static int set_capabilities(bool all)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {0};
    if (all && syscall(SYS_capget, &head, sets) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(sets); i++)
        sets[i].effective = sets[i].permitted;
    return (int)syscall(SYS_capset, &head, sets);
}

/* The uid decides over signals and what others may do to this process; the one for files only over these. */
static int leave_root(const struct cell_spec *spec)
{
    const struct cell_root *first = &spec->roots[0];
    if (setgroups(0, NULL) < 0 || prctl(PR_SET_KEEPCAPS, 1) < 0 ||
        setresgid(spec->gid, spec->gid, spec->gid) < 0 ||
        setresuid(spec->uid, spec->uid, spec->uid) < 0 || set_capabilities(true) < 0)
        return -1;
    setfsgid(first->gid);
    setfsuid(first->uid);
    errno = EPERM;
    /* They tell what was set before, and nothing else. */
    bool set = (gid_t)setfsgid((gid_t)-1) == first->gid && (uid_t)setfsuid((uid_t)-1) == first->uid;
    return set ? set_capabilities(false) : -1;
}

int identity_drop(const struct cell_spec *spec, struct err *err)
{
    if (geteuid() == 0 && leave_root(spec) < 0)
        return cell_failed(err, "becoming the cell's user");
    return close_to_others(err);
}

void identity_done(void)
{
    wait_for_holder();
}
