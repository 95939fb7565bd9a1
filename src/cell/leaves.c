#include "cell/leaves.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/landlock.h"

/* Newer than the headers of the oldest distribution that is supported. */
#define FS_REFER (1ULL << 13) /* ABI 2 */

/* A script's shell and that shell's loader. */
#define DEPTH_MAX 3
#define SEGMENTS_MAX 64

static int ruleset = -1;

void leaves_prepare(void)
{
    /* Renames between folders are refused by every set of rules that does not allow them, asked or not. */
    uint64_t fs = LANDLOCK_ACCESS_FS_EXECUTE | (landlock_abi() >= 2 ? FS_REFER : 0);
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &fs, sizeof fs, 0);
    if (ruleset < 0 || !(fs & FS_REFER))
        return;
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_path_beneath_attr all = {.allowed_access = FS_REFER, .parent_fd = root};
    if (root < 0 ||
        syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &all, 0) < 0)
        fd_closep(&ruleset);
}

static bool is_known_shell(const char *path)
{
    static const char *const shells[] = {"/bin/sh",       "/usr/bin/sh", "/bin/bash",
                                         "/usr/bin/bash", "/bin/dash",   "/usr/bin/dash"};
    for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
        if (strcmp(shells[i], path) == 0)
            return true;
    }
    return false;
}

/* The first word behind #!, where it is a shell: that may be started anyway. Other interpreters may not. */
static bool read_script_shell(char *head, char ret[PATH_MAX])
{
    char *word = head + 2 + strspn(head + 2, " \t");
    word[strcspn(word, " \t\r\n")] = '\0';
    snprintf(ret, PATH_MAX, "%s", word);
    return is_known_shell(ret);
}

static bool read_loader(int fd, const char *head, char ret[PATH_MAX])
{
    Elf64_Ehdr file;
    memcpy(&file, head, sizeof file);
    for (unsigned i = 0; i < file.e_phnum && i < SEGMENTS_MAX; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(file.e_phoff + i * sizeof segment);
        if (pread(fd, &segment, sizeof segment, at) != sizeof segment)
            return false;
        if (segment.p_type != PT_INTERP)
            continue;
        if (segment.p_filesz == 0 || segment.p_filesz >= PATH_MAX ||
            pread(fd, ret, segment.p_filesz, (off_t)segment.p_offset) != (ssize_t)segment.p_filesz)
            return false;
        ret[segment.p_filesz] = '\0';
        return true;
    }
    return false;
}

/* What the kernel starts in the file's place. False: the file itself is enough, or it is not known. */
static bool read_leaf_starter(int fd, char ret[PATH_MAX])
{
    char head[256] = {0};
    ssize_t n = pread(fd, head, sizeof head - 1, 0);
    if (n > 2 && head[0] == '#' && head[1] == '!')
        return read_script_shell(head, ret);
    if (n >= (ssize_t)sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0 &&
        head[EI_CLASS] == ELFCLASS64)
        return read_loader(fd, head, ret);
    return false;
}

/* 0 also where there is no such file. */
static int allow_leaf(const char *path, int depth)
{
    char starter[PATH_MAX];
    struct stat st;
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ? 0 : -1;
    if (fstat(fd, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode))
        return 0;
    struct landlock_path_beneath_attr file = {.allowed_access = LANDLOCK_ACCESS_FS_EXECUTE,
                                              .parent_fd = fd};
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &file, 0) < 0)
        return -1;
    return depth < DEPTH_MAX && read_leaf_starter(fd, starter) ? allow_leaf(starter, depth + 1) : 0;
}

static int allow_named(struct str name, const char *path)
{
    char file[PATH_MAX];
    for (const char *at = path; at && *at;) {
        size_t n = strcspn(at, ":");
        int length = snprintf(file, sizeof file, "%.*s/%.*s", (int)n, at, (int)name.n, name.p);
        if (*at == '/' && length < PATH_MAX && allow_leaf(file, 0) < 0)
            return -1;
        at += n + (at[n] == ':');
    }
    return 0;
}

/* git starts itself for a submodule, from its own folder. */
static int allow_git(void)
{
    return allow_leaf("/usr/lib/git-core/git", 0) < 0 ||
                   allow_leaf("/usr/libexec/git-core/git", 0) < 0
               ? -1
               : 0;
}

int leaves_allow(const char *program, const struct str *names, size_t n, const char *path,
                 struct err *err)
{
    int r = ruleset < 0 ? -1 : allow_leaf(program, 0);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = allow_named(names[i], path);
        if (r == 0 && str_is(names[i], "git"))
            r = allow_git();
    }
    return r == 0 ? 0
                  : err_set(err, ERR_INTERNAL, "limiting what the command may start: %s",
                            ruleset < 0 ? "no rules could be made" : strerror(errno));
}

int leaves_enter(void)
{
    return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}
