/* Parts of the kernel that reach beyond one process, or that are large and seldom needed. All are named so that they
 * would change nothing if they were let through. */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/kcmp.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <sys/fanotify.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "attempts.h"

static struct io_uring_params ring;
static struct timex clock_state;
static struct perf_event_attr counter = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof counter,
                                         .config = PERF_COUNT_SW_CPU_CLOCK,
                                         .exclude_kernel = 1};
static union bpf_attr map = {
    .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
static struct {
    unsigned bytes;
    int type;
    unsigned char handle[128];
} handle = {.bytes = 128};
static int mount_id;
static char buffer[4096];

/* To what it is now, so that nobody's clock jumps. */
static enum outcome set_clock(const struct attempt *a)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct timeval same = {now.tv_sec, now.tv_nsec / 1000};
    if (a->call == SYS_settimeofday)
        return judge(syscall(SYS_settimeofday, &same, NULL), a->name);
    return judge(syscall(SYS_clock_settime, CLOCK_REALTIME, &now), a->name);
}

static enum outcome open_by_handle(const struct attempt *a)
{
    int at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* The root of most file systems. */
    uint32_t root[2] = {2, 0};
    handle.bytes = sizeof root;
    handle.type = 1;
    __builtin_memcpy(handle.handle, root, sizeof root);
    return at < 0 ? NOT_TRIED : judge(syscall(a->call, at, &handle, O_RDONLY), a->name);
}

/* With its own number given, which is not 0: by number another could be meant. */
static enum outcome move_own_pages(const struct attempt *a)
{
    unsigned long nodes = 1;
    if (a->call == SYS_migrate_pages)
        return judge(syscall(a->call, getpid(), 8, &nodes, &nodes), a->name);
    return judge(syscall(a->call, getpid(), 0, NULL, NULL, NULL, 0), a->name);
}

static enum outcome compare(const struct attempt *a)
{
    return judge(syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0), a->name);
}

#define SELF(name_, nr, run_)                                                                      \
    {                                                                                              \
        .name = name_, .run = run_, .violation = #nr, .call = SYS_##nr                             \
    }

const struct attempt kernel_attempts[] = {
    BARE_CALL("keyctl", keyctl, 0, -3L, 1),
    BARE_CALL("add-key", add_key, TEXT("user"), TEXT("attempt"), TEXT("x"), 1, -2L),
    CALL("request-key", request_key, TEXT("user"), TEXT("attempt"), 0, -2L),
    BARE_CALL("userfaultfd", userfaultfd, O_CLOEXEC | 1),
    BARE_CALL("io-uring-setup", io_uring_setup, 4, TEXT(&ring)),
    CALL("io-uring-enter", io_uring_enter, 0, 1, 0, 0, 0),
    CALL("io-uring-register", io_uring_register, -1, 0, 0, 0),
    CALL("bpf", bpf, BPF_MAP_CREATE, TEXT(&map), sizeof map),
    CALL("perf-event-open", perf_event_open, TEXT(&counter), 0, -1, -1, 0),
    BARE_CALL("fanotify-init", fanotify_init, FAN_CLASS_NOTIF | FAN_REPORT_FID, 0),
    BARE_CALL("name-to-handle", name_to_handle_at, AT_FDCWD, TEXT("."), TEXT(&handle),
              TEXT(&mount_id), 0),
    SELF("open-by-handle", open_by_handle_at, open_by_handle),
    CALL("quotactl", quotactl, 0x80000400L /* Q_GETFMT of users */, TEXT("/dev/vda"), 0,
         TEXT(buffer)),
    CALL("swapon", swapon, TEXT("attempt-swap"), 0),
    CALL("swapoff", swapoff, TEXT("attempt-swap")),
    CALL("kexec-load", kexec_load, 0, 0, 0, 0),
    CALL("init-module", init_module, TEXT(buffer), sizeof buffer, TEXT("")),
    CALL("finit-module", finit_module, 0, TEXT(""), 0),
    CALL("delete-module", delete_module, TEXT("attempt"), O_NONBLOCK),
    CALL("reboot", reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_CAD_OFF),
    BARE_CALL("sethostname", sethostname, TEXT("escaped"), 7),
    BARE_CALL("setdomainname", setdomainname, TEXT("escaped"), 7),
    SELF("settimeofday", settimeofday, set_clock),
    SELF("clock-settime", clock_settime, set_clock),
    BARE_CALL("adjtimex", adjtimex, TEXT(&clock_state)),
    BARE_CALL("clock-adjtime", clock_adjtime, CLOCK_REALTIME, TEXT(&clock_state)),
    CALL("syslog", syslog, 3, TEXT(buffer), sizeof buffer),
    CALL("acct", acct, TEXT("attempt-accounts")),
    CALL("vhangup", vhangup, 0),
#ifdef SYS_iopl
    CALL("iopl", iopl, 3),
    CALL("ioperm", ioperm, 0x70, 1, 1),
    BARE_CALL("modify-ldt", modify_ldt, 0, TEXT(buffer), 16),
#endif
#ifdef SYS_ustat
    CALL("ustat", ustat, 0, TEXT(buffer)),
    BARE_CALL("sysfs", sysfs, 3),
#endif
    BARE_CALL("personality", personality, READ_IMPLIES_EXEC),
    BARE_CALL("personality-high-bits", personality, 1L << 32 | READ_IMPLIES_EXEC),
    CALL("personality-layout", personality, ADDR_COMPAT_LAYOUT | MMAP_PAGE_ZERO),
    {.name = "change-memory-map",
     .violation = "prctl:PR_SET_MM",
     .bare = true,
     .call = SYS_prctl,
     .args = {PR_SET_MM, PR_SET_MM_MAP_SIZE, TEXT(buffer), 0, 0}},
    {.name = "change-memory-map-high-bits",
     .violation = "prctl:PR_SET_MM",
     .bare = true,
     .call = SYS_prctl,
     .args = {1L << 32 | PR_SET_MM, PR_SET_MM_MAP_SIZE, TEXT(buffer), 0, 0}},
    SELF("move-pages", move_pages, move_own_pages),
    SELF("migrate-pages", migrate_pages, move_own_pages),
    {.name = "kcmp", .run = compare, .violation = "kcmp", .bare = true},
    {0},
};
