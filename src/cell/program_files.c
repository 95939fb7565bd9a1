#include "cell/program_files.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/trusted.h"

#define LIST_MAX (64u << 10)

/* Its loader tells what it would load, and ends: nothing of the program runs. */
static int start_loader(const char *program, int out, pid_t *ret_pid)
{
    static char trace[] = "LD_TRACE_LOADED_OBJECTS=1";
    char *argv[] = {(char *)(uintptr_t)program, NULL};
    char *envp[] = {trace, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int r = posix_spawn(ret_pid, program, &actions, NULL, argv, envp);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int read_loaded(const char *program, struct buf *list)
{
    int ends[2];
    char piece[4096];
    pid_t pid = 0;
    int status = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    int r = start_loader(program, ends[1], &pid);
    close(ends[1]);
    ssize_t n = 0;
    while (r == 0 && (n = read(ends[0], piece, sizeof piece)) > 0)
        buf_add(list, piece, (size_t)n);
    close(ends[0]);
    while (r == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (r < 0)
        return r;
    return n < 0 || list->failed || status != 0 ? -EIO : 0;
}

static int add_trusted_file(struct cell_spec *spec, const char *host, const char *inside,
                            struct err *err)
{
    char why[TRUSTED_WHY_MAX];
    FD_AT_END int fd = trusted_open(host, why);
    if (fd < 0)
        return err_set(err, ERR_SANDBOX_UNAVAILABLE, "%.200s is not used for %.100s: %s", host,
                       spec->program, why[0] ? why : strerror(-fd));
    return spec_add_file(spec, host, inside, err);
}

/* `libx.so.1 => /usr/lib/libx.so.1 (0x…)`, `/lib64/ld-linux.so.2 (0x…)`, `linux-vdso.so.1 (0x…)`. */
static int add_loaded(struct cell_spec *spec, char *line, struct err *err)
{
    char inside[PATH_TEXT_MAX];
    char *name = line + strspn(line, " \t");
    char *arrow = strstr(name, " => ");
    char *path = arrow ? arrow + 4 : name;
    if (arrow)
        *arrow = '\0';
    if (arrow && path[0] != '/')
        return err_set(err, ERR_SANDBOX_UNAVAILABLE,
                       "the library %.100s that %.200s needs is not installed", name,
                       spec->program);
    char *end = strstr(path, " (0x");
    if (end)
        *end = '\0';
    if (path[0] != '/')
        return 0;
    if (!arrow || name[0] == '/')
        return add_trusted_file(spec, path, name, err);
    snprintf(inside, sizeof inside, SPEC_LIBRARIES "/%.200s", name);
    return add_trusted_file(spec, path, inside, err);
}

int program_files_add(struct cell_spec *spec, struct err *err)
{
    char why[TRUSTED_WHY_MAX];
    BUF_AT_END struct buf list = BUF_INIT(LIST_MAX);
    FD_AT_END int fd = trusted_program(spec->program, why);
    if (fd < 0)
        return err_set(err, ERR_SANDBOX_UNAVAILABLE, "%.200s: %s", spec->program, why);
    int r = read_loaded(spec->program, &list);
    if (r < 0)
        return err_set(err, err_code_for(-r, ERR_SANDBOX_UNAVAILABLE),
                       "finding the libraries of %.200s: %s", spec->program, strerror(-r));
    if (spec_add_file(spec, spec->program, SPEC_PROGRAM, err) < 0)
        return -1;
    buf_add_char(&list, '\0');
    char *next = list.data;
    for (char *line; (line = strsep(&next, "\n"));) {
        if (*line && add_loaded(spec, line, err) < 0)
            return -1;
    }
    return 0;
}
