#include "cell/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/mounts.h"

#define NAMESPACE_ADVICE                                                                           \
    "user namespaces must be allowed (sysctl kernel.unprivileged_userns_clone, "                   \
    "kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces)"

static int failed(struct err *err, const char *what, const char *advice)
{
    return err_set(err, ERR_SANDBOX_UNAVAILABLE, "%s: %s%s%s", what, strerror(errno),
                   *advice ? "; " : "", advice);
}

static int write_file(const char *path, const char *text)
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
    return write_file(path, line);
}

/* A user namespace that exists only as a mapping: a child holds it while it is opened. */
static int open_mapping(const struct cell_root *root, const struct cell_spec *spec, int *ret_fd,
                        struct err *err)
{
    pid_t self = getpid();
    pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* One who died before that sends no signal any more. */
        while (getppid() == self)
            pause();
        _exit(0);
    }
    if (child < 0)
        return failed(err, "making a user namespace for a mapping", NAMESPACE_ADVICE);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)child);
    int fd = -1;
    int r = write_map(child, "uid_map", root->uid, spec->uid);
    if (r == 0)
        r = write_map(child, "gid_map", root->gid, spec->gid);
    if (r == 0) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
        r = fd < 0 ? -errno : 0;
    }
    kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (r < 0) {
        errno = -r;
        return failed(err, "writing an owner mapping", "");
    }
    *ret_fd = fd;
    return 0;
}

static int take_root(const struct cell_root *root, const struct cell_spec *spec, int *ret_tree,
                     struct err *err)
{
    FD_AT_END int mapping = -1;
    if ((root->uid != spec->uid || root->gid != spec->gid) &&
        open_mapping(root, spec, &mapping, err) < 0)
        return -1;
    if (mounts_take_tree(root->host, !root->writable, mapping, ret_tree, err) < 0)
        return -1;
    return mounts_check_identity(*ret_tree, root, err);
}

static int write_maps(pid_t pid, const struct cell_spec *spec)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/setgroups", (int)pid);
    int r = write_file(path, "deny");
    if (r == 0)
        r = write_map(pid, "uid_map", spec->uid, spec->uid);
    return r < 0 ? r : write_map(pid, "gid_map", spec->gid, spec->gid);
}

/* The trees in this process's descriptors are root's files made writable for the cell's uid, and the
 * control socket is what the gate believes. Whoever has that uid could take them from a dumpable
 * process (pidfd_getfd, ptrace), so it never becomes one, and cannot write its own maps. */
static int start_mapper(const struct cell_spec *spec, struct identity_mapper *ret, struct err *err)
{
    int go[2];
    pid_t self = getpid();
    if (pipe2(go, O_CLOEXEC) < 0)
        return failed(err, "making a pipe", "");
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(go[1]);
        _exit(read(go[0], &byte, 1) == 1 && write_maps(self, spec) == 0 ? 0 : 1);
    }
    close(go[0]);
    if (pid < 0) {
        close(go[1]);
        return failed(err, "starting the one who maps", "");
    }
    *ret = (struct identity_mapper){pid, go[1]};
    return 0;
}

int identity_drop_root(const struct cell_spec *spec, struct trees *ret_trees,
                       struct identity_mapper *ret_mapper, struct err *err)
{
    *ret_mapper = (struct identity_mapper){0, -1};
    for (size_t i = 0; i < ROOTS_MAX; i++)
        ret_trees->root[i] = -1;
    for (size_t i = 0; i < SHOWN_MAX; i++)
        ret_trees->shown[i] = -1;
    if (geteuid() != 0)
        return 0;
    for (size_t i = 0; i < spec->n_roots; i++) {
        if (take_root(&spec->roots[i], spec, &ret_trees->root[i], err) < 0)
            return -1;
    }
    for (size_t i = 0; i < spec->n_shown; i++) {
        if (mounts_take_tree(spec->shown[i], true, -1, &ret_trees->shown[i], err) < 0)
            return -1;
    }
    if (start_mapper(spec, ret_mapper, err) < 0)
        return -1;
    if (setgroups(0, NULL) < 0 || setresgid(spec->gid, spec->gid, spec->gid) < 0 ||
        setresuid(spec->uid, spec->uid, spec->uid) < 0)
        return failed(err, "giving up root's rights", "");
    /* Changing uids did it already, unless fs.suid_dumpable says otherwise. */
    return prctl(PR_SET_DUMPABLE, 0) < 0 ? failed(err, "closing its process files", "") : 0;
}

static int let_map(struct identity_mapper *mapper)
{
    int status = -1;
    int r = fd_write_all(mapper->go, "", 1);
    fd_closep(&mapper->go);
    while (waitpid(mapper->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return r < 0 ? r : status == 0 ? 0 : -EPERM;
}

int identity_unshare(const struct cell_spec *spec, struct identity_mapper *mapper, struct err *err)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWUTS | CLONE_NEWCGROUP) < 0)
        return failed(err, "making namespaces", NAMESPACE_ADVICE);
    int r = mapper->pid ? let_map(mapper) : write_maps(getpid(), spec);
    if (r == 0)
        return 0;
    errno = -r;
    return failed(err, "mapping the cell's user", "");
}
