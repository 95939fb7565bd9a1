/* Files of the machine: what can be seen, read and written. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempts.h"

static enum outcome read_path(const struct attempt *a)
{
    (void)a;
    return try_open(argument(0), O_RDONLY);
}

static enum outcome write_path(const struct attempt *a)
{
    (void)a;
    int fd = open(argument(0), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return judge(fd < 0 ? -1 : write(fd, "attempt\n", 8), argument(0));
}

/* From here upward, as far as it goes, and then down to a path of the machine. */
static enum outcome climb(const struct attempt *a)
{
    (void)a;
    int at = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 64 && at >= 0; i++) {
        int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = up;
    }
    if (at < 0)
        return NOT_TRIED;
    return judge(faccessat(at, argument(0) + 1, F_OK, 0), argument(0));
}

static enum outcome by_magic_link(const struct attempt *a)
{
    (void)a;
    static const char *const ways[] = {"/proc/self/root",
                                       "/proc/self/root/..",
                                       "/proc/self/cwd/../../..",
                                       "/proc/thread-self/root/../..",
                                       "/proc/1/root",
                                       "/proc/1/cwd/../.."};
    enum outcome worst = STOPPED;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s%s", ways[i], argument(0));
        worst = both(worst, judge(access(path, F_OK), path));
    }
    return worst;
}

/* --- the system's files */

static enum outcome make_in(const struct attempt *a)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sandgate-attempt", (const char *)a->args[0]);
    return both(try_open(path, O_WRONLY | O_CREAT), judge(mkdir(path, 0755), path));
}

static enum outcome change(const struct attempt *a)
{
    const char *path = (const char *)a->args[0];
    enum outcome worst = try_open(path, O_WRONLY);
    worst = both(worst, judge(truncate(path, 0), "truncating it"));
    worst = both(worst, judge(unlink(path), "removing it"));
    worst = both(worst, judge(rename(path, "/tmp/taken"), "moving it"));
    return both(worst, judge(chmod(path, 0666), "its mode"));
}

static enum outcome read_one(const struct attempt *a)
{
    return try_open((const char *)a->args[0], O_RDONLY);
}

static enum outcome use_one(const struct attempt *a)
{
    const char *path = (const char *)a->args[0];
    return both(try_open(path, O_RDONLY), try_open(path, O_WRONLY));
}

static bool is_among(const char *name, const char *names)
{
    size_t n = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += n) {
        if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* Whatever is there beyond the names that are known. */
static enum outcome list_more(const struct attempt *a)
{
    const char *path = (const char *)a->args[0];
    enum outcome outcome = STOPPED;
    DIR *dir = opendir(path);
    if (!dir)
        return judge(-1, path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (is_among(entry->d_name, (const char *)a->args[1]))
            continue;
        printf("%s/%s is there\n", path, entry->d_name);
        outcome = THROUGH;
    }
    closedir(dir);
    return outcome;
}

/* Where it is mounted. */
static const char *workspace(void)
{
    static char path[4096];
    return realpath("/workspace", path) ? path : "/workspace";
}

/* Each line of mountinfo: number, parent, device, root, point, options, … */
static enum outcome loose_mounts(const struct attempt *a)
{
    (void)a;
    enum outcome outcome = STOPPED;
    char line[4096];
    char point[4096];
    char options[1024];
    FILE *file = fopen("/proc/self/mountinfo", "re");
    if (!file)
        return NOT_TRIED;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%*s %*s %*s %*s %4095s %1023s", point, options) != 2)
            return NOT_TRIED;
        bool device = strncmp(point, "/dev/", 5) == 0;
        bool system = !device && strcmp(point, "/tmp") != 0 && strcmp(point, "/proc") != 0 &&
                      strcmp(point, workspace()) != 0 && strncmp(point, "/home/", 6) != 0;
        if (strstr(options, "nosuid") && (device || strstr(options, "nodev")) &&
            (!system || strncmp(options, "ro,", 3) == 0) &&
            (strcmp(point, "/") != 0 || strstr(options, "noexec")))
            continue;
        printf("%s: %s\n", point, options);
        outcome = THROUGH;
    }
    fclose(file);
    return outcome;
}

/* --- the workspace's own place */

static enum outcome move_workspace(const struct attempt *a)
{
    (void)a;
    enum outcome worst = judge(rename(workspace(), "/tmp/workspace"), "moving the workspace");
    worst = both(worst, judge(rename(workspace(), "/workspace2"), "renaming it"));
    worst = both(worst, judge(rename("/workspace", "/tmp/name"), "renaming its second name"));
    worst = both(worst, judge(rmdir(workspace()), "removing it"));
    return both(worst, judge(symlink("/etc", "/workspace2"), "a link beside it"));
}

static enum outcome link_in(const struct attempt *a)
{
    (void)a;
    char path[64];
    int fd = open("/etc/passwd", O_PATH | O_CLOEXEC);
    if (fd < 0)
        return NOT_TRIED;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum outcome worst = judge(link("/etc/passwd", "passwd"), "link");
    worst = both(worst, judge(linkat(AT_FDCWD, path, AT_FDCWD, "passwd", AT_SYMLINK_FOLLOW),
                              "linkat by a descriptor's name"));
    worst = both(worst,
                 judge(linkat(fd, "", AT_FDCWD, "passwd", AT_EMPTY_PATH), "linkat by descriptor"));
    return both(worst, judge(rename("/etc/passwd", "passwd"), "rename"));
}

/* --- programs from anywhere: allowed, and held as firmly as any other */

static enum outcome copy_self(int to)
{
    char buffer[65536];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ssize_t n = from < 0 ? -1 : 1;
    while (n > 0 && (n = read(from, buffer, sizeof buffer)) > 0)
        n = write(to, buffer, (size_t)n);
    if (from >= 0)
        close(from);
    return n < 0 ? NOT_TRIED : STOPPED;
}

static enum outcome run_again(int fd)
{
    char name[] = "attempts";
    char what[] = "mount-tmpfs";
    char *argv[] = {name, what, NULL};
    printf("running the copy\n");
    fflush(stdout);
    fexecve(fd, argv, environ);
    perror("running the copy");
    return NOT_TRIED;
}

static enum outcome run_from_tmp(const struct attempt *a)
{
    (void)a;
    int fd = open("/tmp/copy", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    if (fd < 0 || copy_self(fd) != STOPPED)
        return NOT_TRIED;
    close(fd);
    fd = open("/tmp/copy", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? NOT_TRIED : run_again(fd);
}

static enum outcome run_from_memory(const struct attempt *a)
{
    int fd = memfd_create("copy", MFD_CLOEXEC);
    /* It cannot be had where no control group would count it. */
    if (fd < 0 && errno == ENOSYS)
        return run_from_tmp(a);
    return fd < 0 || copy_self(fd) != STOPPED ? NOT_TRIED : run_again(fd);
}

#define WITH(name_, run_, argument_)                                                               \
    {                                                                                              \
        .name = name_, .run = run_, .args = { TEXT(argument_) }                                    \
    }

const struct attempt file_attempts[] = {
    {.name = "read-path", .run = read_path, .argument = true},
    {.name = "write-path", .run = write_path, .argument = true},
    {.name = "climb", .run = climb, .argument = true},
    {.name = "by-magic-link", .run = by_magic_link, .argument = true},
    WITH("make-in-root", make_in, ""),
    WITH("make-in-usr", make_in, "/usr"),
    WITH("make-in-bin", make_in, "/bin"),
    WITH("make-in-etc", make_in, "/etc"),
    WITH("make-in-opt", make_in, "/opt"),
    WITH("make-in-home", make_in, "/home"),
    WITH("make-in-dev", make_in, "/dev"),
    WITH("make-in-run", make_in, "/run"),
    WITH("make-in-proc", make_in, "/proc"),
    WITH("change-passwd", change, "/etc/passwd"),
    WITH("change-program", change, "/usr/bin/env"),
    WITH("read-shadow", read_one, "/etc/shadow"),
    WITH("read-gshadow", read_one, "/etc/gshadow"),
    WITH("read-sudoers", read_one, "/etc/sudoers"),
    WITH("read-home-of-root", read_one, "/root"),
    WITH("read-sys", read_one, "/sys"),
    WITH("read-run-of-host", read_one, "/run/systemd"),
    WITH("read-var-of-host", read_one, "/var/lib"),
    WITH("read-boot", read_one, "/boot"),
    WITH("use-kernel-memory", use_one, "/proc/kcore"),
    WITH("use-kernel-log", use_one, "/proc/kmsg"),
    WITH("use-page-flags", use_one, "/proc/kpageflags"),
    WITH("use-dev-mem", use_one, "/dev/mem"),
    WITH("use-dev-kmsg", use_one, "/dev/kmsg"),
    WITH("use-dev-tty", use_one, "/dev/tty"),
    WITH("use-dev-console", use_one, "/dev/console"),
    WITH("use-dev-fuse", use_one, "/dev/fuse"),
    WITH("use-dev-kvm", use_one, "/dev/kvm"),
    WITH("use-dev-tun", use_one, "/dev/net/tun"),
    WITH("use-dev-userfaultfd", use_one, "/dev/userfaultfd"),
    WITH("use-dev-disk", use_one, "/dev/vda"),
    {.name = "list-more-in-root",
     .run = list_more,
     .args = {TEXT("/"),
              TEXT(". .. .sandgate bin dev etc home lib lib32 lib64 libx32 nix opt proc run sbin "
                   "tmp usr var workspace")}},
    {.name = "list-more-in-home", .run = list_more, .args = {TEXT("/home"), TEXT(". .. agent")}},
    {.name = "list-more-in-var",
     .run = list_more,
     .args = {TEXT("/var"), TEXT(". .. denied gitconfig group hidden passwd points tmp")}},
    {.name = "list-more-in-run", .run = list_more, .args = {TEXT("/run"), TEXT(". ..")}},
    {.name = "list-more-in-dev",
     .run = list_more,
     .args = {TEXT("/dev"),
              TEXT(". .. fd full null ptmx pts random shm stderr stdin stdout urandom "
                   "tty zero")}},
    {.name = "loose-mounts", .run = loose_mounts, .bare = true},
    {.name = "move-workspace", .run = move_workspace},
    {.name = "link-in", .run = link_in},
    {.name = "run-from-memory", .run = run_from_memory, .violation = "mount", .bare = true},
    {.name = "run-from-tmp", .run = run_from_tmp, .violation = "mount", .bare = true},
    {0},
};
