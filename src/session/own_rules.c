#include "session/own_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/git_settings.h"
#include "core/guard.h"

#define CONFIG_MAX ((size_t)1 << 20)
#define DEPTH_MAX 10 /* git follows no more */
#define RULES_MAX 64u
#define SYSTEM_CONFIG "/etc/gitconfig"

struct own_rules {
    const struct cell_spec *spec;
    struct buf *out;
    const char *home;   /* NULL: none */
    const char *folder; /* of the configuration that is read */
    unsigned count;
    int depth;
};

static void add_pattern(struct own_rules *r, const char *text)
{
    struct err err;
    struct str pattern = {text, strlen(text)};
    if (r->count == RULES_MAX)
        log_warning("git's configuration names more than %u paths in the session's folders: %s and "
                    "those behind it are not protected",
                    RULES_MAX, text);
    if (r->count++ >= RULES_MAX)
        return;
    if (guard_check(pattern, &err) < 0)
        log_warning("%s cannot be protected: %s", text, err.message);
    else
        guard_pack(r->out, GUARD_PROTECTED, pattern);
}

/* What a glob takes for more than itself becomes `?`, which stands for any one character. */
static void add_literal_rule(struct own_rules *r, const char *root, const char *path)
{
    FREE_AT_END char *text = mem_format("%s%s", root, path);
    for (char *at = text; *at; at++) {
        if (strchr("*?[]{}\\!", *at))
            *at = '?';
    }
    add_pattern(r, text);
}

/* True: it lies in a folder of the session, and is protected from now on. */
static bool add_absolute(struct own_rules *r, const char *path)
{
    bool any = false;
    for (size_t i = 0; i < r->spec->n_roots; i++) {
        const char *rest = path_rest(path, r->spec->roots[i].host);
        if (r->spec->roots[i].store || !rest || !*rest)
            continue;
        add_literal_rule(r, "/", rest);
        any = true;
    }
    return any;
}

/* Without `.` and double slashes; false with `..`, which would leave the work tree. */
static bool make_work_tree_path(const char *path, char plain[PATH_MAX])
{
    size_t n = 0;
    while (*path) {
        size_t length = strcspn(path, "/");
        bool dot = length == 1 && path[0] == '.';
        if (length == 2 && path[0] == '.' && path[1] == '.')
            return false;
        if (n + length + 2 > PATH_MAX)
            return false;
        if (length && !dot) {
            if (n)
                plain[n++] = '/';
            memcpy(plain + n, path, length);
            n += length;
        }
        path += length + (path[length] == '/');
    }
    plain[n] = '\0';
    return n > 0;
}

static void read_git_config_file(struct own_rules *r, const char *path);

static void take_include(struct own_rules *r, const char *text)
{
    FREE_AT_END char *path = text[0] == '/' ? mem_dup(text) : mem_format("%s/%s", r->folder, text);
    char real[PATH_MAX];
    /* One in the session's folders is for the agent to see, not for this process to read. */
    if (add_absolute(r, realpath(path, real) ? real : path) || r->depth == DEPTH_MAX)
        return;
    r->depth++;
    read_git_config_file(r, path);
    r->depth--;
}

static bool is_file_at_top(const struct own_rules *r, const char *path)
{
    struct stat st;
    for (size_t i = 0; i < r->spec->n_roots; i++) {
        FREE_AT_END char *full = mem_format("%s/%s", r->spec->roots[i].host, path);
        if (!r->spec->roots[i].store && lstat(full, &st) == 0 && S_ISREG(st.st_mode))
            return true;
    }
    return false;
}

/* Of one that is not relative nothing is known but its text. */
static void take_glob(struct own_rules *r, const char *text)
{
    char plain[PATH_MAX];
    if (text[0] == '/' || text[0] == '~' || !make_work_tree_path(text, plain))
        return;
    FREE_AT_END char *pattern = mem_format("/%s", plain);
    add_pattern(r, pattern);
}

/* By an absolute path, or by one of dots. */
static bool is_work_tree(const struct own_rules *r, const char *path)
{
    for (size_t i = 0; i < r->spec->n_roots; i++) {
        const char *rest = path_rest(path, r->spec->roots[i].host);
        if (!r->spec->roots[i].store && rest && !*rest)
            return true;
    }
    return path[0] != '/' && path[strspn(path, "./")] == '\0' && !strstr(path, "..");
}

/* In the work tree itself each name counts. */
static void take_names(struct own_rules *r, const char *const *names)
{
    for (; *names; names++)
        add_literal_rule(r, "/", *names);
}

static void take_git_setting(void *arg, enum git_setting use, const char *text)
{
    struct own_rules *r = arg;
    char plain[PATH_MAX];
    bool folder = use == GIT_SETTING_HOOKS || use == GIT_SETTING_TEMPLATE;
    if (use == GIT_SETTING_UNREAD) {
        log_warning(
            "the program that %s in git's configuration runs cannot be told from its text: if "
            "it lies in the workspace, name it in files.protected",
            text);
        return;
    }
    if (use == GIT_SETTING_GLOB) {
        take_glob(r, text);
        return;
    }
    bool at_home = text[0] == '~' && text[1] == '/' && r->home;
    FREE_AT_END char *path = at_home ? mem_format("%s%s", r->home, text + 1) : mem_dup(text);
    if (use == GIT_SETTING_INCLUDE)
        take_include(r, path);
    else if (folder && is_work_tree(r, path))
        take_names(r, use == GIT_SETTING_HOOKS ? git_hook_names : git_template_names);
    else if (path[0] == '/')
        add_absolute(r, path);
    /* A word may be anything, if it neither says that it is a file in the work tree nor is one. */
    else if (path[0] != '~' && make_work_tree_path(path, plain) &&
             (use == GIT_SETTING_PATH || folder || strncmp(path, "./", 2) == 0 ||
              is_file_at_top(r, plain)))
        /* In any repository; an ordinary name only in the one at the top, or a folder of sources would be taken for it. */
        add_literal_rule(r, plain[0] == '.' ? "" : "/", plain);
}

static bool is_in_session(const struct own_rules *r, const char *path)
{
    char real[PATH_MAX];
    for (size_t i = 0; realpath(path, real) && i < r->spec->n_roots; i++) {
        if (path_rest(real, r->spec->roots[i].host))
            return true;
    }
    return false;
}

static void read_git_config_file(struct own_rules *r, const char *path)
{
    struct stat st;
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || is_in_session(r, path))
        return;
    size_t size = (size_t)st.st_size < CONFIG_MAX ? (size_t)st.st_size : CONFIG_MAX;
    if ((size_t)st.st_size > CONFIG_MAX)
        log_warning("%s is larger than 1 MiB: what it names behind that is not protected", path);
    FREE_AT_END char *text = mem_zero(size + 1);
    ssize_t n = fd_read_upto(fd, text, size);
    const char *around = r->folder;
    FREE_AT_END char *folder = mem_dup(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    r->folder = folder;
    if (n > 0)
        git_settings_each((struct str){text, (size_t)n}, take_git_setting, r);
    r->folder = around;
}

static void read_user_configs(struct own_rules *r)
{
    const char *named = getenv("GIT_CONFIG_GLOBAL");
    const char *xdg = getenv("XDG_CONFIG_HOME");
    read_git_config_file(r, SYSTEM_CONFIG);
    if (named && named[0] == '/') {
        read_git_config_file(r, named);
        return;
    }
    FREE_AT_END char *first = xdg && xdg[0] == '/' ? mem_format("%s/git/config", xdg)
                              : r->home            ? mem_format("%s/.config/git/config", r->home)
                                                   : NULL;
    FREE_AT_END char *second = r->home ? mem_format("%s/.gitconfig", r->home) : NULL;
    if (first)
        read_git_config_file(r, first);
    if (second)
        read_git_config_file(r, second);
}

/* Whoever can replace it decides what the user's next gate does. */
static void add_own_program(struct own_rules *r)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return;
    path[n] = '\0';
    add_absolute(r, path);
}

void own_rules_add(const struct cell_spec *spec, struct buf *out)
{
    const char *home = getenv("HOME");
    struct own_rules r = {.spec = spec, .out = out, .home = home && home[0] == '/' ? home : NULL};
    add_own_program(&r);
    read_user_configs(&r);
}
