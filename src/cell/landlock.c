#include "cell/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/failed.h"

/* Newer than the headers of the oldest distribution that is supported. */
#define FS_REFER (1ULL << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define NET_ALL 3ULL              /* ABI 4: bind and connect TCP */
#define SCOPE_ALL 3ULL            /* ABI 6: abstract unix sockets, signals */

struct ruleset {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};

#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* To rename a link, a FIFO or a socket takes the right to make one; the worker's filter has no call that does. Device files
 * are made by nobody. */
#define FS_WRITE                                                                                   \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                               \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |  \
     LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SOCK)
/* All thirteen rights of the first version: execute, …, make block device, make symlink. */
#define FS_ALL_V1 ((1ULL << 13) - 1)

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

static struct ruleset handled(int abi)
{
    struct ruleset set = {.fs = FS_ALL_V1};
    if (abi >= 2)
        set.fs |= FS_REFER;
    if (abi >= 3)
        set.fs |= FS_TRUNCATE;
    if (abi >= 4)
        set.net = NET_ALL;
    if (abi >= 5)
        set.fs |= FS_IOCTL_DEV;
    if (abi >= 6)
        set.scoped = SCOPE_ALL;
    return set;
}

static size_t ruleset_size(int abi)
{
    return abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
}

static uint64_t rights(const struct landlock_rule *rule)
{
    uint64_t fs = FS_READ;
    if (rule->writable)
        fs |= FS_WRITE | FS_REFER | FS_TRUNCATE;
    if (rule->command)
        fs |= LANDLOCK_ACCESS_FS_EXECUTE;
    if (rule->devices)
        fs |= LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
    return fs;
}

/* The kernel takes no rights about folders for a file. */
#define FS_OF_FILE                                                                                 \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE)

static int allow_in_ruleset(int ruleset, int folder, uint64_t fs, struct err *err)
{
    struct stat st;
    if (fstat(folder, &st) < 0)
        return cell_failed(err, "Landlock rule");
    if (!S_ISDIR(st.st_mode))
        fs &= FS_OF_FILE;
    struct landlock_path_beneath_attr beneath = {.allowed_access = fs, .parent_fd = folder};
    return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) < 0
               ? cell_failed(err, "Landlock rule")
               : 0;
}

static int enter_ruleset(int ruleset, struct err *err)
{
    return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? cell_failed(err, "Landlock") : 0;
}

int landlock_restrict(const struct landlock_rule *rules, size_t count, bool tcp, struct err *err)
{
    int abi = landlock_abi();
    if (abi == 0)
        return cell_failed(err, "Landlock");
    struct ruleset set = handled(abi);
    if (tcp)
        set.net = 0;
    FD_AT_END int fd = (int)syscall(SYS_landlock_create_ruleset, &set, ruleset_size(abi), 0);
    if (fd < 0)
        return cell_failed(err, "Landlock rules");
    for (size_t i = 0; i < count; i++) {
        if (allow_in_ruleset(fd, rules[i].folder, rights(&rules[i]) & set.fs, err) < 0)
            return -1;
    }
    return enter_ruleset(fd, err);
}

int landlock_stay_connected(struct err *err)
{
    uint64_t fs = handled(landlock_abi()).fs;
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    FD_AT_END int fd = root < 0 ? -1 : (int)syscall(SYS_landlock_create_ruleset, &fs, sizeof fs, 0);
    if (fd < 0)
        return cell_failed(err, "Landlock rules");
    return allow_in_ruleset(fd, root, fs, err) < 0 ? -1 : enter_ruleset(fd, err);
}

struct read_only {
    const char *path;
    int fd; /* or -errno */
};

/* In a thread of its own: the limit ends with it, and what it opened stays as it was opened. */
static void *open_read_only(void *arg)
{
    struct read_only *r = arg;
    struct ruleset set = {.fs = FS_IOCTL_DEV};
    FD_AT_END int rules = (int)syscall(SYS_landlock_create_ruleset, &set, ruleset_size(1), 0);
    bool limited = rules >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    r->fd = limited ? open(r->path, O_RDONLY | O_NOCTTY | O_CLOEXEC) : -1;
    if (r->fd < 0)
        r->fd = -errno;
    return NULL;
}

int landlock_open_device(const char *path)
{
    struct read_only r = {.path = path};
    pthread_t thread;
    if (landlock_abi() < 5)
        return -EOPNOTSUPP;
    int error = pthread_create(&thread, NULL, open_read_only, &r);
    if (error)
        return -error;
    pthread_join(thread, NULL);
    return r.fd;
}
