#include "cell/program.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cell/leaves.h"
#include "cell/tty.h"
#include "policy/command_rules.h"

#define NAME_SHOWN 120
/* PATH has few folders, and a list names a program once or twice. */
#define ALLOWED_FILES_MAX 128

static const char *find_env_value(char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; *env; env++) {
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    }
    return NULL;
}

static bool is_runnable_program(const char *path)
{
    struct stat st;
    return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* As a shell does: a name without a slash is looked for along PATH. */
static int find_program(const char *name, char *const *env, char found[PATH_MAX])
{
    if (strchr(name, '/')) {
        snprintf(found, PATH_MAX, "%s", name);
        return strlen(name) < PATH_MAX && access(name, F_OK) == 0 ? 0 : -1;
    }
    const char *path = find_env_value(env, "PATH");
    while (path && *path && *name) {
        size_t n = strcspn(path, ":");
        int length = snprintf(found, PATH_MAX, "%.*s/%s", (int)n, path, name);
        /* Empty or relative entries mean the working directory, where names can be laid out as traps. */
        if (path[0] == '/' && length < PATH_MAX && is_runnable_program(found))
            return 0;
        path += n + (path[n] == ':');
    }
    return -1;
}

/* The files that the allowed entries of this name lead to: a path itself, a name in each folder of PATH. */
struct allowed_files {
    struct str all[ALLOWED_FILES_MAX];
    size_t n;
};

static void add_allowed_file(struct allowed_files *files, const char *path)
{
    char *real = files->n < ALLOWED_FILES_MAX ? realpath(path, NULL) : NULL;
    if (real)
        files->all[files->n++] = (struct str){real, strlen(real)};
}

static void add_allowed_on_path(struct allowed_files *files, const char *path, const char *name)
{
    char file[PATH_MAX];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        int length = snprintf(file, PATH_MAX, "%.*s/%s", (int)n, path, name);
        if (path[0] == '/' && length < PATH_MAX)
            add_allowed_file(files, file);
        path += n + (path[n] == ':');
    }
}

static void find_allowed(const struct order *o, const struct order_vectors *v, struct str called,
                         struct allowed_files *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < (size_t)o->n_allowed; i++) {
        const char *entry = v->allowed[i].p;
        if (!command_names_program(v->allowed[i], called))
            continue;
        if (strchr(entry, '/'))
            add_allowed_file(ret, entry);
        else
            add_allowed_on_path(ret, find_env_value(v->env, "PATH"), entry);
    }
}

static int check_command_lists(const struct order *o, const struct order_vectors *v,
                               const char *found, struct err *err)
{
    char resolved[PATH_MAX];
    struct allowed_files files;
    struct str called = {found, strlen(found)};
    if (!o->listed)
        return 0;
    if (!realpath(found, resolved))
        return err_set(err, ERR_NOT_FOUND, "%s: %s", found, strerror(errno));
    find_allowed(o, v, called, &files);
    const struct command_lists lists = {
        .allow_all = o->allow_all,
        .allowed = v->allowed,
        .n_allowed = (size_t)o->n_allowed,
        .denied = v->denied,
        .n_denied = (size_t)o->n_denied,
        .files = files.all,
        .n_files = files.n,
    };
    int r = command_check_program(called, (struct str){resolved, strlen(resolved)}, &lists, err);
    for (size_t i = 0; i < files.n; i++)
        free((char *)(uintptr_t)files.all[i].p);
    return r;
}

/* The soft limit is set where the command's others are (command.c): the hard one only here, see limit_is_why. */
static int lower_hard_limit(const struct order *order)
{
    struct rlimit limit;
    if (!order->processes)
        return 0;
    if (getrlimit(RLIMIT_NPROC, &limit) < 0)
        return -1;
    limit.rlim_max = limit.rlim_cur;
    return setrlimit(RLIMIT_NPROC, &limit);
}

/* Not posix_spawn, which asks for the disposition of all 64 signals: in a cell only SIGXFSZ is ignored, and none is caught. The child
 * shares this process's memory until it runs the program. */
static int spawn_program(const char *path, const struct order *order, const struct order_vectors *v,
                         pid_t *ret_pid)
{
    volatile int error = 0;
    sigset_t none;
    sigemptyset(&none);
    /* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork): plain system calls */
    pid_t pid = vfork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_DFL);
        if (order->terminal)
            tty_take_foreground();
        else
            setsid();
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (lower_hard_limit(order) == 0 && (!order->only_leaves || leaves_enter() == 0))
            execve(path, v->args, v->env);
        error = errno;
        _exit(127);
    }
    /* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
    if (pid < 0)
        return errno;
    if (error)
        waitpid(pid, NULL, 0);
    *ret_pid = pid;
    return error;
}

/* Whether it is the command's own limit of processes that leaves no room: without it there is. Whatever else the
 * machine lacks may come back by itself. */
static bool limit_is_why(const struct order *order)
{
    struct rlimit limit;
    if (!order->processes || getrlimit(RLIMIT_NPROC, &limit) < 0 ||
        limit.rlim_cur == limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NPROC, &limit) < 0)
        return false;
    /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): it ends at once */
    pid_t pid = vfork();
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return pid > 0;
}

enum ran_kind program_start(const struct order *order, const struct order_vectors *vectors,
                            pid_t *ret_pid, int64_t *ret_error, struct err *err)
{
    char found[PATH_MAX];
    const char *name = vectors->args[0];
    if (find_program(name, vectors->env, found) < 0) {
        err_set(err, ERR_NOT_FOUND, "%.*s", NAME_SHOWN, name);
        return RAN_NOT_FOUND;
    }
    if (check_command_lists(order, vectors, found, err) < 0)
        return err->code == ERR_NOT_FOUND ? RAN_NOT_FOUND : RAN_REFUSED;
    if (order->only_leaves && leaves_allow(found, vectors->leaves, (size_t)order->n_leaves,
                                           find_env_value(vectors->env, "PATH"), err) < 0)
        return RAN_FAILED;
    int r = spawn_program(found, order, vectors, ret_pid);
    if (r == 0)
        return RAN_ENDED;
    *ret_error = r;
    if (r == EACCES || r == ENOENT || r == ENOEXEC || r == EISDIR || r == ELIBBAD) {
        err_set(err, ERR_NOT_FOUND, "%.*s", NAME_SHOWN, name);
        return RAN_NO_PROGRAM;
    }
    err_set(err, ERR_INTERNAL, "starting `%.*s`: %s", NAME_SHOWN, name, strerror(r));
    if (r == EAGAIN && limit_is_why(order))
        err_reason(err, RAN_PROCESS_LIMIT);
    /* Its own limits may be why there is no memory: those do not change. */
    return r == EAGAIN || r == ENFILE ? RAN_BUSY : RAN_FAILED;
}
