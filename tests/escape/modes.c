/* Files with rights of their own: set-user-ID, set-group-ID, devices, owners, capabilities. */
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attempts.h"

#define FILE_NAME "attempt-file"
#define TMP_FILE_NAME "/tmp/attempt-file"
#define FOLDER_NAME "attempt-folder"
#define GARBAGE (0x5aL << 40)
/* As makedev, which is no constant. */
#define DEVICE(major, minor) ((major) << 8 | (minor))

static int make_file(void)
{
    unlink(FILE_NAME);
    return open(FILE_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

/* Whatever the calls said: what is there now? */
static enum outcome look(enum outcome outcome)
{
    static const char *const names[] = {FILE_NAME, FOLDER_NAME, TMP_FILE_NAME};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stat st;
        if (lstat(names[i], &st) < 0)
            continue;
        if ((st.st_mode & (S_ISUID | S_ISGID)) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) {
            printf("%s has mode %o\n", names[i], (unsigned)st.st_mode);
            outcome = THROUGH;
        }
        if (S_ISDIR(st.st_mode))
            rmdir(names[i]);
        else
            unlink(names[i]);
    }
    return outcome;
}

static enum outcome mode_by_path(const struct attempt *a)
{
    int fd = make_file();
    if (fd < 0)
        return NOT_TRIED;
    long r = a->args[0] == AT_FDCWD ? syscall(a->call, AT_FDCWD, FILE_NAME, a->args[1], a->args[2])
                                    : syscall(a->call, FILE_NAME, a->args[1], a->args[2]);
    close(fd);
    return look(judge(r, a->name));
}

static enum outcome mode_by_descriptor(const struct attempt *a)
{
    int fd = make_file();
    if (fd < 0)
        return NOT_TRIED;
    long r = syscall(SYS_fchmod, fd, a->args[0]);
    close(fd);
    return look(judge(r, a->name));
}

/* Newer than the filter's reach: its arguments, or what it is, are not known there. */
static enum outcome mode_by_fchmodat2(const struct attempt *a)
{
    int fd = make_file();
    if (fd < 0)
        return NOT_TRIED;
    close(fd);
    return look(judge_absent(syscall(a->call, AT_FDCWD, FILE_NAME, 04755, 0), a->name));
}

static enum outcome mode_by_openat2(const struct attempt *a)
{
    struct open_how how = {.flags = O_CREAT | O_RDWR, .mode = 04755};
    unlink(FILE_NAME);
    return look(judge_absent(syscall(SYS_openat2, AT_FDCWD, FILE_NAME, &how, sizeof how), a->name));
}

static enum outcome mode_when_made(const struct attempt *a)
{
    umask(0);
    unlink(FILE_NAME);
    rmdir(FOLDER_NAME);
    return look(judge(syscall(a->call, a->args[0], a->args[1], a->args[2], a->args[3]), a->name));
}

static enum outcome mode_of_unnamed(const struct attempt *a)
{
    char path[64];
    unlink(FILE_NAME);
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t)04755);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && linkat(AT_FDCWD, path, AT_FDCWD, FILE_NAME, AT_SYMLINK_FOLLOW) < 0)
        return NOT_TRIED;
    return look(judge(fd, a->name));
}

/* Leaves a character device 0:0 where the file was. */
static enum outcome whiteout(const struct attempt *a)
{
    int fd = make_file();
    if (fd < 0)
        return NOT_TRIED;
    close(fd);
    long r = syscall(SYS_renameat2, AT_FDCWD, FILE_NAME, AT_FDCWD, "attempt-renamed",
                     RENAME_WHITEOUT);
    enum outcome outcome = judge(r, a->name);
    unlink("attempt-renamed");
    return look(outcome);
}

static enum outcome give_to_root(const struct attempt *a)
{
    (void)a;
    int fd = make_file();
    if (fd < 0)
        return NOT_TRIED;
    enum outcome outcome = both(judge(fchown(fd, 0, (gid_t)-1), "fchown to user 0"),
                                judge(fchown(fd, (uid_t)-1, 0), "fchown to group 0"));
    close(fd);
    return look(outcome);
}

static enum outcome set_attributes(const struct attempt *a)
{
    (void)a;
    struct vfs_cap_data caps = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                                .data = {{~0u, 0}, {~0u, 0}}};
    unsigned flags = FS_IMMUTABLE_FL;
    int fd = make_file();
    if (fd < 0)
        return NOT_TRIED;
    enum outcome worst = judge(fsetxattr(fd, "security.capability", &caps, sizeof caps, 0),
                               "security.capability");
    worst = both(worst, judge(fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0), "trusted.*"));
    worst = both(worst, judge(ioctl(fd, FS_IOC_SETFLAGS, &flags), "immutable"));
    close(fd);
    return look(worst);
}

/* Anyone may map project numbers once. That they are counted by is still not theirs to choose. */
static enum outcome set_project(const struct attempt *a)
{
    struct fsxattr attributes;
    int map = open("/proc/self/projid_map", O_WRONLY | O_CLOEXEC);
    if (map >= 0) {
        (void)!write(map, "0 0 4294967295", 14);
        close(map);
    }
    int fd = make_file();
    if (fd < 0)
        return NOT_TRIED;
    long r = ioctl(fd, FS_IOC_FSGETXATTR, &attributes);
    attributes.fsx_projid = 4711;
    if (r == 0)
        r = ioctl(fd, FS_IOC_FSSETXATTR, &attributes);
    close(fd);
    return look(judge(r, a->name));
}

#define BY_PATH(name_, nr, violation_, ...)                                                        \
    {                                                                                              \
        .name = name_, .run = mode_by_path, .violation = violation_, .bare = true,                 \
        .call = SYS_##nr, .args = {                                                                \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define MADE(name_, nr, violation_, bare_, ...)                                                    \
    {                                                                                              \
        .name = name_, .run = mode_when_made, .violation = violation_, .bare = bare_,              \
        .call = SYS_##nr, .args = {                                                                \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NAMED TEXT(FILE_NAME)
#define IN_TMP TEXT(TMP_FILE_NAME)

const struct attempt mode_attempts[] = {
#ifdef SYS_chmod
    BY_PATH("setuid-chmod", chmod, "chmod:setuid", 0, 04755),
    BY_PATH("setgid-chmod", chmod, "chmod:setgid", 0, 02755),
    BY_PATH("setuid-chmod-high-bits", chmod, "chmod:setuid", 0, 04755 | GARBAGE),
#endif
    BY_PATH("setuid-fchmodat", fchmodat, "chmod:setuid", AT_FDCWD, 06755),
    BY_PATH("setgid-fchmodat", fchmodat, "chmod:setgid", AT_FDCWD, 02755),
    {.name = "setuid-fchmod",
     .run = mode_by_descriptor,
     .violation = "chmod:setuid",
     .bare = true,
     .args = {04755}},
    {.name = "setgid-fchmod",
     .run = mode_by_descriptor,
     .violation = "chmod:setgid",
     .bare = true,
     .args = {02755}},
    {.name = "setuid-fchmodat2", .run = mode_by_fchmodat2, .call = 452},
    {.name = "setuid-openat2", .run = mode_by_openat2, .bare = true},
    {.name = "setuid-unnamed", .run = mode_of_unnamed, .violation = "open:setuid", .bare = true},
    MADE("setuid-openat", openat, "open:setuid", true, AT_FDCWD, NAMED, O_CREAT | O_WRONLY, 04755),
    MADE("setgid-openat", openat, "open:setgid", true, AT_FDCWD, NAMED, O_CREAT | O_WRONLY, 02755),
    MADE("setgid-mkdirat", mkdirat, "mkdir:setgid", false, AT_FDCWD, TEXT(FOLDER_NAME), 02755),
    MADE("setuid-mknodat", mknodat, "mknod:setuid", true, AT_FDCWD, NAMED, S_IFREG | 04755, 0),
#ifdef SYS_open
    MADE("setuid-open", open, "open:setuid", true, NAMED, O_CREAT | O_WRONLY, 04755),
    MADE("setuid-creat", creat, "open:setuid", true, NAMED, 04755),
    MADE("setgid-creat", creat, "open:setgid", true, NAMED, 02755),
    MADE("setgid-mkdir", mkdir, "mkdir:setgid", false, TEXT(FOLDER_NAME), 02755),
    MADE("setuid-mknod", mknod, "mknod:setuid", true, NAMED, S_IFREG | 04755, 0),
    MADE("device-mknod", mknod, "mknod:device", false, NAMED, S_IFCHR | 0666, DEVICE(1, 1)),
#endif
    MADE("device-memory", mknodat, "mknod:device", false, AT_FDCWD, NAMED, S_IFCHR | 0666,
         DEVICE(1, 1)),
    MADE("device-log", mknodat, "mknod:device", false, AT_FDCWD, NAMED, S_IFCHR | 0666,
         DEVICE(1, 11)),
    MADE("device-disk", mknodat, "mknod:device", false, AT_FDCWD, NAMED, S_IFBLK | 0666,
         DEVICE(254, 0)),
    MADE("device-in-tmp", mknodat, "mknod:device", false, AT_FDCWD, IN_TMP, S_IFBLK | 0666,
         DEVICE(254, 0)),
    /* No rights are asked for this one. */
    MADE("device-whiteout", mknodat, "mknod:device", true, AT_FDCWD, NAMED, S_IFCHR, 0),
    {.name = "whiteout-by-rename", .run = whiteout, .violation = "rename:whiteout", .bare = true},
    {.name = "give-to-root", .run = give_to_root},
    {.name = "set-attributes", .run = set_attributes},
    {.name = "set-project", .run = set_project},
    {0},
};
