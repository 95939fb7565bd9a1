#include "cell/rlimits.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "cell/failed.h"

#define MESSAGE_QUEUES_MAX 819200
#define PENDING_SIGNALS_MAX 8192

static int set_limit(int which, int64_t value, struct err *err)
{
    struct rlimit limit;
    if (value == 0)
        return 0;
    if (getrlimit(which, &limit) < 0)
        return cell_failed(err, "reading a limit");
    /* SIGKILL comes at the hard limit of processor time and says nothing; at the soft one, SIGXCPU. */
    rlim_t hard = (rlim_t)value + (which == RLIMIT_CPU);
    /* What the machine allows is never raised. */
    limit.rlim_max = hard < limit.rlim_max ? hard : limit.rlim_max;
    limit.rlim_cur = (rlim_t)value < limit.rlim_max ? (rlim_t)value : limit.rlim_max;
    return setrlimit(which, &limit) < 0 ? cell_failed(err, "setting a limit") : 0;
}

/* The soft limit alone; the program gets the same as its hard one (program.c). */
static int set_process_rlimit(int64_t value, struct err *err)
{
    struct rlimit limit;
    if (value == 0)
        return 0;
    if (getrlimit(RLIMIT_NPROC, &limit) < 0)
        return cell_failed(err, "reading a limit");
    limit.rlim_cur = (rlim_t)value < limit.rlim_max ? (rlim_t)value : limit.rlim_max;
    return setrlimit(RLIMIT_NPROC, &limit) < 0 ? cell_failed(err, "setting a limit") : 0;
}

int rlimits_set(const struct order *o, struct err *err)
{
#ifdef SANDGATE_SANITIZED
    const int64_t data = 0; /* a sanitizer's own memory is more than any limit for commands */
#else
    const int64_t data = o->data;
#endif
    if (set_limit(RLIMIT_DATA, data, err) < 0 || set_process_rlimit(o->processes, err) < 0 ||
        set_limit(RLIMIT_NOFILE, o->files, err) < 0 ||
        set_limit(RLIMIT_FSIZE, o->file_size, err) < 0 ||
        set_limit(RLIMIT_CPU, o->cpu_seconds, err) < 0)
        return -1;
    /* Not looked at. The first is the usual limit; the second is of timers, too. */
    if (set_limit(RLIMIT_MSGQUEUE, o->watch_memory ? MESSAGE_QUEUES_MAX : 0, err) < 0)
        return -1;
    return set_limit(RLIMIT_SIGPENDING, o->watch_memory ? PENDING_SIGNALS_MAX : 0, err);
}
