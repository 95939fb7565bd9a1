#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/limits_parts.h"

#define NAME_START "sandgate-"

static const struct {
    const char *controller;
    const char *file[2]; /* that must be writable: cgroup1's, cgroup2's */
} kinds_of[LIMIT_KINDS] = {
    [LIMIT_MEMORY] = {"memory", {"memory.limit_in_bytes", "memory.max"}},
    [LIMIT_PROCESSES] = {"pids", {"pids.max", "pids.max"}},
    [LIMIT_CPU] = {"cpu", {"cpu.cfs_quota_us", "cpu.max"}},
};

/* The text of a small file; "" when it cannot be read. */
static void read_small(int dir, const char *name, char *text, size_t size)
{
    FD_AT_END int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, size - 1);
    text[n < 0 ? 0 : n] = 0;
}

static bool lists(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n) {
        if ((at == words || at[-1] == ' ') && strchr(" \n", at[n]))
            return true;
    }
    return false;
}

/* cgroup2: a directory's groups have only the controllers that it has itself and that were switched on
 * for them. What this does not achieve is missing in the group that is made next. */
static unsigned switch_on(int dir, unsigned kinds)
{
    char has[512];
    char on[512];
    char word[16];
    read_small(dir, "cgroup.controllers", has, sizeof has);
    read_small(dir, "cgroup.subtree_control", on, sizeof on);
    for (unsigned kind = 0; kind < LIMIT_KINDS; kind++) {
        if (!lists(has, kinds_of[kind].controller))
            kinds &= ~LIMIT_BIT(kind);
        if (!(kinds & LIMIT_BIT(kind)) || lists(on, kinds_of[kind].controller))
            continue;
        FD_AT_END int fd = openat(dir, "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
        snprintf(word, sizeof word, "+%s", kinds_of[kind].controller);
        if (fd >= 0)
            fd_write_all(fd, word, strlen(word));
    }
    return kinds;
}

/* Makes a group there to see what it limits; it stays when that is anything. */
static unsigned probe(int dir, bool v2, unsigned kinds, const char *name)
{
    unsigned found = 0;
    /* Entering needs the right to move from here to there: kernels ask for it at the directory that
     * is above both. */
    if (v2 && faccessat(dir, "cgroup.procs", W_OK, AT_EACCESS) < 0)
        return 0;
    if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
        return 0;
    FD_AT_END int group = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (unsigned kind = 0; group >= 0 && kind < LIMIT_KINDS; kind++) {
        if ((kinds & LIMIT_BIT(kind)) &&
            faccessat(group, kinds_of[kind].file[v2], W_OK, AT_EACCESS) == 0)
            found |= LIMIT_BIT(kind);
    }
    if (group >= 0 && faccessat(group, "cgroup.procs", W_OK, AT_EACCESS) < 0)
        found = 0;
    if (!found)
        unlinkat(dir, name, AT_REMOVEDIR);
    return found;
}

static bool try(struct limits_tree *t, const char *path, bool v2, unsigned kinds, const char *name)
{
    FD_AT_END int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return false;
    if (v2)
        kinds = switch_on(dir, kinds);
    unsigned found = kinds ? probe(dir, v2, kinds, name) : 0;
    if (!found)
        return false;
    *t = (struct limits_tree){TAKE_FD(dir), v2, found};
    return true;
}

bool limits_tree_open(struct limits_tree *t, const struct limits_place *p, unsigned kinds,
                      const char *first_name)
{
    kinds &= p->kinds;
    if (!kinds)
        return false;
    if (!p->v2)
        return try(t, p->own, false, kinds, first_name);
    /* In cgroup2 a group with processes, as this one's, cannot have groups with limits: a sibling it
     * must be. Only the top of everything may have both. */
    char path[PATH_MAX];
    memcpy(path, p->own, sizeof path);
    size_t top = strlen(p->mount);
    char *slash = strrchr(path, '/');
    if (slash && (size_t)(slash - path) > top) {
        *slash = 0;
        if (try(t, path, true, kinds, first_name))
            return true;
    }
    return try(t, p->mount, true, kinds, first_name);
}

/* When a process began, in the kernel's ticks; false when it is gone or only waits to be reaped. */
static bool alive_since(const char *pid, uint64_t *ret)
{
    char path[64];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    read_small(AT_FDCWD, path, text, sizeof text);
    /* The second field is a name in parentheses, with anything in it. */
    char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || strchr("ZX", at[2]))
        return false;
    for (int field = 2; field < 22; field++) {
        at = strchr(at + 1, ' ');
        if (!at)
            return false;
    }
    *ret = strtoull(at, NULL, 10);
    return true;
}

bool limits_prefix(char prefix[LIMIT_NAME_MAX], const char *tag)
{
    struct stat st;
    uint64_t start;
    /* A number of a process says nothing without the namespace that counts so. */
    if (stat("/proc/self/ns/pid", &st) < 0 || !alive_since("self", &start))
        return false;
    snprintf(prefix, LIMIT_NAME_MAX, NAME_START "%" PRIu64 "-%d-%" PRIu64 "-%.32s-",
             (uint64_t)st.st_ino, (int)getpid(), start, tag);
    return true;
}

/* Whether `name` is that of a group whose gate, in this pid namespace, is no more. */
static bool left_behind(const char *name, uint64_t pid_namespace)
{
    uint64_t number[3];
    if (strncmp(name, NAME_START, sizeof NAME_START - 1) != 0)
        return false;
    const char *at = name + sizeof NAME_START - 1;
    for (size_t i = 0; i < ARRAY_LEN(number); i++) {
        char *end;
        if (*at < '0' || *at > '9')
            return false;
        number[i] = strtoull(at, &end, 10);
        if (*end != '-')
            return false;
        at = end + 1;
    }
    char pid[24];
    uint64_t start;
    snprintf(pid, sizeof pid, "%" PRIu64, number[1]);
    return number[0] == pid_namespace && !(alive_since(pid, &start) && start == number[2]);
}

void limits_sweep(const struct limits_tree *t)
{
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) < 0)
        return;
    DIR *entries = fd_list(t->dir);
    if (!entries)
        return;
    const struct dirent *e;
    while ((e = readdir(entries))) {
        if (left_behind(e->d_name, (uint64_t)st.st_ino))
            unlinkat(t->dir, e->d_name, AT_REMOVEDIR);
    }
    closedir(entries);
}
