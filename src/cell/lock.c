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

/* The filter program, compiled when Sandgate is built (cell/filter_gen.c): compiling it with
 * libseccomp at run time would cost each cell up to 2 ms. */
#include "cell/filter_worker.h"

#define WORKER_DATA_MAX (1u << 30)

static int failed(struct err *err, const char *what)
{
    return err_set(err, ERR_SANDBOX_UNAVAILABLE, "%s: %s", what, strerror(errno));
}

static int drop_capabilities(struct err *err)
{
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap) < 0)
            return failed(err, "emptying the capability bounding set");
    }
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    if (syscall(SYS_capset, &head, none) < 0)
        return failed(err, "dropping capabilities");
    return 0;
}

static int filter_calls(struct err *err)
{
    /* The kernel does not write through `filter`. */
    struct sock_fprog program = {ARRAY_LEN(filter_worker),
                                 (struct sock_filter *)(uintptr_t)filter_worker};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return failed(err, "filtering system calls");
    return 0;
}

/* Far more than any operation needs; a worker that was taken over does not get the machine's memory. */
static int limit_memory(struct err *err)
{
#ifndef SANDGATE_SANITIZED
    struct rlimit data = {WORKER_DATA_MAX, WORKER_DATA_MAX};
    if (setrlimit(RLIMIT_DATA, &data) < 0)
        return failed(err, "limiting its memory");
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

int lock_worker(const struct landlock_rule *rules, size_t count, struct err *err)
{
    struct rlimit no_core = {0, 0};
    if (setrlimit(RLIMIT_CORE, &no_core) < 0)
        return failed(err, "switching core files off");
    allow_files();
    if (limit_memory(err) < 0 || drop_capabilities(err) < 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return failed(err, "refusing new privileges");
    if (landlock_restrict(rules, count, err) < 0)
        return -1;
    return filter_calls(err);
}
