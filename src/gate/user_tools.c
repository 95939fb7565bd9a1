#include "gate/user_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/str.h"
#include "cell/plan.h"
#include "core/git_identity.h"

#define TEXT_MAX (256u << 10)
#define GITCONFIG_MAX (256u << 10)
/* Hooks' programs need some of the places for folders, and the operator's list comes first. */
#define SHOWN_WITH_THESE 10
#define SHOWN_OF_THESE 6
#define PATHS_MAX 32

/* Managers of tools that need more than the folder on PATH; all relative to the home. */
static const struct tools {
    const char *on_path;
    const char *shown[4];
    const char *variable; /* NULL: none */
    const char *value;
} managers[] = {
    {".cargo/bin", {".cargo/bin", ".rustup"}, "RUSTUP_HOME", ".rustup"},
    {".local/bin",
     {".local/bin", ".local/lib", ".local/share/pipx", ".local/share/uv"},
     "PYTHONUSERBASE",
     ".local"},
    {".pyenv/shims", {".pyenv"}, "PYENV_ROOT", ".pyenv"},
    {".pyenv/bin", {".pyenv"}, "PYENV_ROOT", ".pyenv"},
    {".volta/bin", {".volta"}, "VOLTA_HOME", ".volta"},
    {".bun/bin", {".bun/bin"}, NULL, NULL},
    {".deno/bin", {".deno/bin"}, NULL, NULL},
    {"go/bin", {"go/bin"}, NULL, NULL},
    {"bin", {"bin"}, NULL, NULL},
};

struct finder {
    const struct reach *reach;
    char *home;      /* NULL: not known */
    char *home_real; /* which folder that is */
    struct buf *env;
    const struct str *given; /* commands.show */
    size_t n_given;
    char *shown[SHOWN_OF_THESE];
    size_t n_shown;
    char *path[PATHS_MAX];
    size_t n_path;
};

static bool is_system_path(const char *path)
{
    for (const char *const *at = plan_system_paths; *at; at++) {
        if (path_rest(path, *at))
            return true;
    }
    return false;
}

static bool is_shown_anyway(const struct finder *f, const char *path)
{
    for (size_t i = 0; i < f->n_given; i++) {
        if (path_rest(path, f->given[i].p))
            return true;
    }
    for (size_t i = 0; i < f->n_shown; i++) {
        if (path_rest(path, f->shown[i]))
            return true;
    }
    return is_system_path(path);
}

/* What an agent can write to would be a way to choose what a name stands for. */
static bool is_reached(const struct finder *f, const char *path, const char *real)
{
    for (size_t i = 0; i < f->reach->n; i++) {
        if (path_meets(f->reach->folders[i].root->host, real) ||
            path_meets(f->reach->folders[i].root->inside, path))
            return true;
    }
    return reach_through(f->reach, path) != NULL;
}

/* Readable for whoever commands run as, and changed by root and this user alone. */
static bool is_own_folder(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_mode & (S_IWGRP | S_IWOTH))
        return false;
    if (geteuid() == 0)
        return st.st_uid == 0 && (st.st_mode & 05) == 05;
    return (st.st_uid == 0 || st.st_uid == geteuid()) && access(path, R_OK | X_OK) == 0;
}

/* The cell has something of its own there. */
static bool is_cells_own(const char *path)
{
    static const char *const own[] = {"/proc", "/sys", "/dev", "/tmp", "/run", "/var", PLAN_HOME};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (path_meets(path, own[i]))
            return true;
    }
    return false;
}

/* Whatever HOME says: one of somebody's with all that is private in it. */
static bool is_like_home(const char *folder)
{
    static const char *const within[] = {".ssh",   ".gnupg",  ".config",
                                         ".local", ".bashrc", ".profile"};
    struct stat st;
    for (size_t i = 0; i < ARRAY_LEN(within); i++) {
        FREE_AT_END char *path = mem_format("%s/%s", folder, within[i]);
        if (lstat(path, &st) == 0)
            return true;
    }
    return strcmp(path_name(folder), ".local") == 0 || strcmp(path_name(folder), ".config") == 0;
}

static bool may_show(const struct finder *f, const char *path)
{
    FREE_AT_END char *real = realpath(path, NULL);
    return real && !is_cells_own(path) && !is_cells_own(real) && strcmp(real, "/") != 0 &&
           f->home && !path_rest(f->home_real, real) && !is_like_home(real) &&
           is_own_folder(real) && !is_reached(f, path, real);
}

/* True where commands see it then. */
static bool show_folder(struct finder *f, const char *path)
{
    if (is_shown_anyway(f, path))
        return true;
    if (f->n_shown == SHOWN_OF_THESE || f->n_given + f->n_shown >= SHOWN_WITH_THESE ||
        !may_show(f, path))
        return false;
    f->shown[f->n_shown++] = mem_dup(path);
    return true;
}

static void put_tool_variable(struct finder *f, const char *name, const char *value)
{
    FREE_AT_END char *entry = mem_format("%s=%s", name, value);
    size_t n = strlen(entry) + 1;
    for (size_t at = 0; at < f->env->len; at += strlen(f->env->data + at) + 1) {
        if (strcmp(f->env->data + at, entry) == 0)
            return;
    }
    buf_add(f->env, entry, n);
}

static bool show_manager(struct finder *f, const struct tools *tools)
{
    bool seen = false;
    for (size_t i = 0; i < ARRAY_LEN(tools->shown) && tools->shown[i]; i++) {
        FREE_AT_END char *path = mem_format("%s/%s", f->home, tools->shown[i]);
        bool is_there = show_folder(f, path);
        seen |= i == 0 && is_there;
    }
    if (seen && tools->variable) {
        FREE_AT_END char *value = mem_format("%s/%s", f->home, tools->value);
        put_tool_variable(f, tools->variable, value);
    }
    return seen;
}

/* `X/bin` with `X/lib` beside it: nvm's versions, a Go or Node that was unpacked somewhere. */
static bool show_with_library(struct finder *f, const char *folder)
{
    struct stat st;
    size_t n = (size_t)(path_name(folder) - folder);
    FREE_AT_END char *around = mem_copy(folder, n > 1 ? n - 1 : n);
    FREE_AT_END char *lib = mem_format("%s/lib", around);
    bool whole = strcmp(path_name(folder), "bin") == 0 && stat(lib, &st) == 0;
    return whole && show_folder(f, around);
}

static const struct tools *find_manager(const struct finder *f, const char *folder)
{
    const char *rest = f->home ? path_rest(folder, f->home) : NULL;
    for (size_t i = 0; rest && i < ARRAY_LEN(managers); i++) {
        if (strcmp(rest, managers[i].on_path) == 0)
            return &managers[i];
    }
    return NULL;
}

/* What lies in the home has its name there, however PATH spells it: by that a manager's folder is known. */
static char *name_at_home(const struct finder *f, const char *path, const char *real)
{
    const char *rest = f->home ? path_rest(real, f->home_real) : NULL;
    if (!rest || !*rest || find_manager(f, path))
        return mem_dup(path);
    FREE_AT_END char *named = mem_format("%s/%s", f->home, rest);
    return path_rest(path, f->home) && !find_manager(f, named) ? mem_dup(path) : TAKE_PTR(named);
}

static bool show_path_entry(struct finder *f, const char *folder)
{
    const struct tools *manager = find_manager(f, folder);
    if (manager)
        return show_manager(f, manager);
    /* Programs that only start others need these as well. */
    if (strcmp(path_name(folder), "shims") == 0)
        return is_shown_anyway(f, folder);
    return is_shown_anyway(f, folder) || show_with_library(f, folder) || show_folder(f, folder);
}

static bool is_on_system_path(const char *folder)
{
    static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                          "/usr/bin",        "/sbin",          "/bin"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        if (strcmp(folder, folders[i]) == 0)
            return true;
    }
    return false;
}

static void add_path_entry(struct finder *f, const char *folder)
{
    FREE_AT_END char *tidy = mem_dup(folder);
    path_tidy(tidy);
    FREE_AT_END char *real = tidy[0] == '/' ? realpath(tidy, NULL) : NULL;
    FREE_AT_END char *path = real ? name_at_home(f, tidy, real) : NULL;
    if (!real || is_on_system_path(path) || is_on_system_path(real) || f->n_path == PATHS_MAX)
        return;
    for (size_t i = 0; i < f->n_path; i++) {
        if (strcmp(f->path[i], path) == 0)
            return;
    }
    /* Of the system's folders, too, those that others could change are left out. */
    if (is_own_folder(real) && !is_reached(f, path, real) && show_path_entry(f, path))
        f->path[f->n_path++] = TAKE_PTR(path);
}

static void write_with(struct json_out *j, const char *key, const struct config *config,
                       const char *field, char *const *more, size_t n)
{
    const struct str *items = NULL;
    size_t count = 0;
    config_list(config, field, &items, &count);
    jo_key(j, key);
    jo_open(j, '[');
    for (size_t i = 0; i < count; i++)
        jo_bytes(j, items[i]);
    for (size_t i = 0; i < n; i++)
        jo_bytes(j, str_of(more[i]));
    jo_close(j, ']');
}

static int lay_tools_over(const struct finder *f, struct config *config, struct err *err)
{
    BUF_AT_END struct buf text = BUF_INIT(TEXT_MAX);
    struct json_out j = {.out = &text};
    if (f->n_path == 0)
        return 0;
    jo_open(&j, '{');
    jo_key(&j, "commands");
    jo_open(&j, '{');
    if (f->n_shown)
        write_with(&j, "show", config, "commands.show", f->shown, f->n_shown);
    write_with(&j, "path", config, "commands.path", f->path, f->n_path);
    jo_close(&j, '}');
    jo_close(&j, '}');
    if (text.failed)
        return 0;
    return config_apply(config, buf_str(&text), "PATH", CONFIG_OPERATOR, NULL, NULL, err);
}

/* Where it is not known, nothing is shown that might be in it. */
static void find_home(struct finder *f)
{
    const char *home = getenv("HOME");
    if (!home || home[0] != '/')
        return;
    FREE_AT_END char *tidy = mem_dup(home);
    path_tidy(tidy);
    f->home_real = realpath(tidy, NULL);
    if (f->home_real && strcmp(f->home_real, "/") != 0)
        f->home = TAKE_PTR(tidy);
}

int user_tools_use(struct config *config, const struct reach *reach, struct buf *env,
                   struct err *err)
{
    const char *path = getenv("PATH");
    struct finder f = {.reach = reach, .env = env};
    if (!path || !config_bool(config, "commands.userTools"))
        return 0;
    find_home(&f);
    if (!config_list(config, "commands.show", &f.given, &f.n_given))
        f.n_given = 0;
    FREE_AT_END char *copy = mem_dup(path);
    char *next = copy;
    for (const char *folder; (folder = strsep(&next, ":"));) {
        if (folder[0] == '/')
            add_path_entry(&f, folder);
    }
    int r = lay_tools_over(&f, config, err);
    for (size_t i = 0; i < f.n_shown; i++)
        free(f.shown[i]);
    for (size_t i = 0; i < f.n_path; i++)
        free(f.path[i]);
    free(f.home);
    free(f.home_real);
    return r;
}

/* --- git */

static void read_gitconfig(const char *folder, const char *name, struct git_identity *identity)
{
    BUF_AT_END struct buf text = BUF_INIT(GITCONFIG_MAX);
    FREE_AT_END char *path = folder ? mem_format("%s/%s", folder, name) : mem_dup(name);
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    size_t size = st.st_size < (off_t)GITCONFIG_MAX ? (size_t)st.st_size : GITCONFIG_MAX;
    if (buf_reserve(&text, size) < 0)
        return;
    ssize_t n = fd_read_upto(fd, text.data, size);
    if (n > 0)
        git_identity_read((struct str){text.data, (size_t)n}, identity);
}

char *user_tools_gitconfig(const struct config *config)
{
    struct git_identity identity = {{0}, {0}};
    BUF_AT_END struct buf out = BUF_INIT((size_t)8 * GIT_IDENTITY_MAX);
    const char *only = getenv("GIT_CONFIG_GLOBAL");
    const char *home = getenv("HOME");
    const char *xdg = getenv("XDG_CONFIG_HOME");
    if (!config_bool(config, "commands.gitIdentity"))
        return NULL;
    if (only) {
        read_gitconfig(NULL, only, &identity);
    } else {
        if (xdg && *xdg)
            read_gitconfig(xdg, "git/config", &identity);
        else if (home)
            read_gitconfig(home, ".config/git/config", &identity);
        if (home)
            read_gitconfig(home, ".gitconfig", &identity);
    }
    if (!identity.name[0] && !identity.email[0])
        return NULL;
    git_identity_write(&identity, &out);
    return out.failed ? NULL : mem_dup(buf_text(&out));
}
