#include "cell/lock.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The filter programs, compiled when Sandgate is built (cell/filter_gen.c): compiling them with
 * libseccomp at run time would cost each cell up to 2 ms. */
#include "cell/failed.h"
#include "cell/filter_command.h"
#include "cell/filter_committer.h"
#include "cell/filter_lone_worker.h"
#include "cell/filter_net.h"
#include "cell/filter_compile.h"
#include "cell/filter_parse.h"
#include "cell/filter_wasm.h"
#include "cell/filter_worker.h"

/* Linux 5.19: once its call has been seen, only a deadly signal ends the wait for an answer. Otherwise
 * any signal does, and the call is made and counted again. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define WORKER_DATA_MAX (1u << 30)

static bool bounds_done; /* and so it is after a fork */

int lock_bounds(struct err *err)
{
    int has;
    for (unsigned long cap = 0; !bounds_done && (has = prctl(PR_CAPBSET_READ, cap)) >= 0; cap++) {
        if (has && prctl(PR_CAPBSET_DROP, cap) < 0)
            return cell_failed(err, "emptying the capability bounding set");
    }
    bounds_done = true;
    return 0;
}

void lock_bounds_if_allowed(void)
{
    struct err err;
    (void)lock_bounds(&err);
    bounds_done = true;
}

static int drop_capabilities(struct err *err)
{
    if (lock_bounds(err) < 0)
        return -1;
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    if (syscall(SYS_capset, &head, none) < 0)
        return cell_failed(err, "dropping capabilities");
    return 0;
}

/* The kernel does not write through `filter`. */
#define PROGRAM(array)                                                                             \
    {                                                                                              \
        ARRAY_LEN(array), (struct sock_filter *)(uintptr_t)(array)                                 \
    }

static const struct lock {
    struct sock_fprog filter;
    bool serves;    /* it has many files open, and may not take the machine's memory */
    bool tcp;       /* its network namespace has only a loopback: every port there is its own */
    bool connected; /* see landlock_stay_connected */
    bool answered;  /* what the filter refuses waits for an answer */
} locks[] = {
    [ROLE_WORKER] = {PROGRAM(filter_worker), .serves = true},
    [ROLE_LONE_WORKER] = {PROGRAM(filter_lone_worker), .serves = true},
    [ROLE_COMMITTER] = {PROGRAM(filter_committer), .serves = true},
    [ROLE_COMMAND] = {PROGRAM(filter_command), .tcp = true, .connected = true, .answered = true},
    [ROLE_NET] = {PROGRAM(filter_net), .serves = true, .tcp = true},
    [ROLE_PARSE] = {PROGRAM(filter_parse), .serves = true},
    [ROLE_WASM] = {PROGRAM(filter_wasm), .serves = true},
    [ROLE_COMPILE] = {PROGRAM(filter_compile), .serves = true},
};

static int filter_calls(const struct lock *lock, int *ret_listener, struct err *err)
{
    unsigned long listen = lock->answered ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
    unsigned long wait = lock->answered ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
    long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listen | wait, &lock->filter);
    if (fd < 0 && errno == EINVAL)
        fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listen, &lock->filter);
    if (fd >= 0 && ret_listener)
        *ret_listener = (int)fd;
    return fd < 0 ? cell_failed(err, "filtering system calls") : 0;
}

/* Far more than any operation needs; a worker that was taken over does not get the machine's memory. */
static int limit_memory(struct err *err)
{
#ifndef SANDGATE_SANITIZED
    struct rlimit data;
    if (getrlimit(RLIMIT_DATA, &data) < 0)
        return cell_failed(err, "reading its memory limit");
    /* A lower limit that the machine has set stays. */
    if (data.rlim_max > WORKER_DATA_MAX)
        data.rlim_max = WORKER_DATA_MAX;
    if (data.rlim_cur > data.rlim_max)
        data.rlim_cur = data.rlim_max;
    if (setrlimit(RLIMIT_DATA, &data) < 0)
        return cell_failed(err, "limiting its memory");
#endif
    (void)err;
    return 0;
}

/* A walk holds a descriptor for each folder it is in, and several threads walk: what is usual, 1,024, is little. */
static void allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

static int drop_rights(struct err *err)
{
    /* One byte: with none, a kernel that pipes cores to a program on the host would still do it. */
    struct rlimit no_core;
    if (getrlimit(RLIMIT_CORE, &no_core) < 0)
        return cell_failed(err, "switching core files off");
    no_core.rlim_cur = no_core.rlim_max = no_core.rlim_max > 0;
    if (setrlimit(RLIMIT_CORE, &no_core) < 0)
        return cell_failed(err, "switching core files off");
    if (drop_capabilities(err) < 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return cell_failed(err, "refusing new privileges");
    return 0;
}

int lock_as(enum role role, const struct landlock_rule *rules, size_t count, int *ret_listener,
            struct err *err)
{
    const struct lock *lock = &locks[role];
    if (lock->serves)
        allow_files();
    if ((lock->serves && limit_memory(err) < 0) || drop_rights(err) < 0 ||
        landlock_restrict(rules, count, lock->tcp, err) < 0 ||
        (lock->connected && landlock_stay_connected(err) < 0))
        return -1;
    return filter_calls(lock, ret_listener, err);
}
