#include "gate/state.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/path.h"

/* Where the user is at home when the environment does not say. Only the file is looked at: other sources are
 * libraries, which a program that is linked statically does not load. */
static char *home_from_file(void)
{
    char *home = NULL;
    FILE *file = fopen("/etc/passwd", "re");
    for (const struct passwd *user; file && !home && (user = fgetpwent(file));) {
        if (user->pw_uid == geteuid() && user->pw_dir[0] == '/')
            home = mem_dup(user->pw_dir);
    }
    if (file)
        fclose(file);
    return home;
}

/* $variable/leaf, else ~/fallback/leaf; NULL when there is no home. */
static char *user_path(const char *variable, const char *fallback, const char *leaf)
{
    const char *base = getenv(variable);
    /* The base directory rules say that a relative value is to be ignored. */
    if (base && base[0] == '/')
        return mem_format("%s/%s", base, leaf);
    const char *named = getenv("HOME");
    FREE_AT_END char *home = named && named[0] == '/' ? mem_dup(named) : home_from_file();
    return home ? mem_format("%s/%s/%s", home, fallback, leaf) : NULL;
}

static char *user_folder(const char *variable, const char *fallback)
{
    return user_path(variable, fallback, "sandgate");
}

char *state_config_path(void)
{
    return user_folder("XDG_CONFIG_HOME", ".config");
}

static char *absolute(const char *path)
{
    FREE_AT_END char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    return here ? mem_format("%s/%s", here, path) : mem_dup(path);
}

/* The real path of what need not exist yet: links in the part that does are followed. */
static char *real_or_future(const char *path)
{
    FREE_AT_END char *there = mem_dup(path);
    for (size_t n = strlen(there);; n = strlen(there)) {
        FREE_AT_END char *real = realpath(*there ? there : "/", NULL);
        if (real)
            return mem_format("%s%s", strcmp(real, "/") == 0 ? "" : real, path + n);
        char *slash = strrchr(there, '/');
        if (!slash)
            return mem_dup(path);
        *slash = '\0';
    }
}

char *state_config_file(const char *file)
{
    const char *named = file ? file : getenv("SANDGATE_CONFIG");
    return named ? absolute(named) : NULL;
}

int state_refuse_inside(const char *folder, const char *config_file, struct err *err)
{
    const char *named = config_file ? config_file : getenv("SANDGATE_CONFIG");
    char *own[] = {user_folder("XDG_STATE_HOME", ".local/state"), state_config_path(),
                   mem_dup(named)};
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        FREE_AT_END char *real = own[i] ? real_or_future(own[i]) : NULL;
        if (real && r == 0 && path_beneath((struct str){real, strlen(real)}, folder))
            r = err_set(
                err, ERR_INVALID_ARGUMENTS,
                "%s is Sandgate's own and lies in %s, where an agent could change it: work in "
                "a folder further down, or move it (XDG_STATE_HOME, XDG_CONFIG_HOME, --config)",
                real, folder);
        free(own[i]);
    }
    return r;
}

size_t state_own_files(const char *config_file, char *ret[STATE_OWN_MAX])
{
    const char *named = config_file ? config_file : getenv("SANDGATE_CONFIG");
    FREE_AT_END char *state = user_folder("XDG_STATE_HOME", ".local/state");
    FREE_AT_END char *config = state_config_path();
    size_t n = 0;
    if (state)
        ret[n++] = mem_format("%s/state.db", state);
    if (config) {
        ret[n++] = mem_format("%s/config.json", config);
        ret[n++] = mem_format("%s/approved.json", config);
    }
    if (named)
        ret[n++] = absolute(named);
    return n;
}

static int make_state_folders(char *path)
{
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        int r = mkdir(path, 0755);
        *at = '/';
        if (r < 0 && errno != EEXIST)
            return -errno;
    }
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

char *state_path(void)
{
    return user_folder("XDG_STATE_HOME", ".local/state");
}

int state_open(int *ret_fd, struct err *err)
{
    FREE_AT_END char *path = state_path();
    if (!path)
        return err_set(err, ERR_INTERNAL,
                       "no place for the state: set XDG_STATE_HOME or HOME to an absolute path");
    FD_AT_END int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && make_state_folders(path) == 0)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, err_code_for_file(errno), "the state folder %s: %s", path,
                       strerror(errno));
    if (st.st_uid != geteuid() || (st.st_mode & 077))
        return err_set(
            err, ERR_INTERNAL,
            "the state folder %s must be yours alone: chmod 700 it, or set XDG_STATE_HOME", path);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

/* What opening says does not exist may be a link that leads nowhere: then someone meant to have it. */
static bool is_absent_path(const char *path, int error)
{
    struct stat st;
    return error == ENOENT && lstat(path, &st) < 0 && errno == ENOENT;
}

int state_open_config(bool make, int *ret_fd, struct err *err)
{
    *ret_fd = -1;
    FREE_AT_END char *path = state_config_path();
    if (!path)
        return make ? err_set(err, ERR_INTERNAL,
                              "no place for the configuration: set XDG_CONFIG_HOME or HOME to an "
                              "absolute path")
                    : 0;
    FD_AT_END int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = errno;
    if (fd < 0 && !make && is_absent_path(path, error))
        return 0;
    if (fd < 0 && make && error == ENOENT && make_state_folders(path) == 0)
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    else
        errno = error;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, err_code_for_file(errno), "the configuration folder %s: %s", path,
                       strerror(errno));
    if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022))
        return err_set(err, ERR_INTERNAL,
                       "the configuration folder %s must belong to you or to root and be writable "
                       "by nobody else: chown it, or chmod go-w",
                       path);
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static int load_file(struct config *config, const char *path, bool must_exist, struct err *err)
{
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = errno;
    if (fd < 0 && !must_exist && is_absent_path(path, error))
        return 0;
    BUF_AT_END struct buf text = BUF_INIT(CONFIG_BYTES_MAX + 1);
    ssize_t n = fd < 0 ? -error : buf_reserve(&text, CONFIG_BYTES_MAX + 1);
    struct stat st;
    if (n == 0 && fstat(fd, &st) < 0)
        n = -errno;
    /* It says what an agent may do: whoever writes it decides. */
    if (n == 0 && ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022)))
        return err_set(
            err, ERR_INVALID_ARGUMENTS,
            "the configuration %s must belong to you or to root and be writable by nobody "
            "else: chown it, or chmod go-w",
            path);
    if (n == 0)
        n = fd_read_upto(fd, text.data, CONFIG_BYTES_MAX + 1);
    if (n < 0)
        return err_set(err, ERR_INVALID_ARGUMENTS, "the configuration %s: %s", path,
                       strerror((int)-n));
    return config_apply(config, (struct str){text.data, (size_t)n}, path, CONFIG_OPERATOR, NULL,
                        NULL, err);
}

extern char **environ;

int state_load_config(struct config *config, const char *file, struct err *err)
{
    const char *path = file ? file : getenv("SANDGATE_CONFIG");
    FREE_AT_END char *folder = state_config_path();
    FREE_AT_END char *usual = folder ? mem_format("%s/config.json", folder) : NULL;
    struct stat st;
    if (!path && folder && lstat(folder, &st) == 0 && stat(folder, &st) < 0)
        return err_set(err, ERR_INVALID_ARGUMENTS, "the configuration folder %s: %s", folder,
                       strerror(errno));
    if (path ? load_file(config, path, true, err) < 0
             : usual && load_file(config, usual, false, err) < 0)
        return -1;
    if (config_apply_env(config, environ, err) < 0)
        return -1;
    return config_check_promises(config, err);
}

int state_read_excludes(const struct config *config, struct buf *out, struct err *err)
{
    const char *named = config_text(config, "files.excludesFile");
    FREE_AT_END char *usual = named ? NULL : user_path("XDG_CONFIG_HOME", ".config", "git/ignore");
    const char *path = named ? named : usual;
    if (!path)
        return 0;
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                st.st_size <= STATE_EXCLUDES_MAX && buf_reserve(out, STATE_EXCLUDES_MAX) == 0;
    ssize_t n = good ? fd_read_upto(fd, out->data, STATE_EXCLUDES_MAX) : -1;
    if (n >= 0)
        out->len = (size_t)n;
    /* Git does not mind when its own cannot be read. */
    return n >= 0 || !named ? 0
                            : err_field(err, "files.excludesFile",
                                        "files.excludesFile: %s is not a readable file of at most "
                                        "%d bytes",
                                        named, STATE_EXCLUDES_MAX);
}
