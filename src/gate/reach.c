#include "gate/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/trusted.h"
#include "gate/reach_words.h"
#include "gate/state.h"

#define LINKS_MAX 40
/* An interpreter may be a script itself; the kernel follows as many. */
#define SCRIPTS_MAX 5
#define SCRIPT_LINE_MAX 256

static void add_reached_folders(struct reach *ret, const struct root *roots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        if (!roots[i].writable || stat(roots[i].host, &st) < 0)
            continue;
        ret->folders[ret->n].root = &roots[i];
        ret->folders[ret->n].device = st.st_dev;
        ret->folders[ret->n++].inode = st.st_ino;
    }
}

void reach_init(struct reach *ret, const struct places *places)
{
    *ret = (struct reach){0};
    add_reached_folders(ret, places->roots, places->count);
    add_reached_folders(ret, places->commands, places->n_commands);
}

void reach_init_at(struct reach *ret, const struct workplace *at)
{
    *ret = (struct reach){0};
    add_reached_folders(ret, at->roots, at->n_roots);
    add_reached_folders(ret, at->command_roots, at->n_command_roots);
}

static const char *find_reached_folder(const struct reach *reach, const struct stat *st)
{
    for (size_t i = 0; i < reach->n; i++) {
        if (reach->folders[i].device == st->st_dev && reach->folders[i].inode == st->st_ino)
            return reach->folders[i].root->host;
    }
    return NULL;
}

/* A path that is being followed, a component at a time. */
struct way {
    char at[PATH_MAX]; /* without links; "" is the root */
    char rest[2 * PATH_MAX];
    unsigned links;
};

static bool follow_link(struct way *way, const char *link)
{
    char target[PATH_MAX];
    char rest[sizeof way->rest];
    ssize_t n = readlink(link, target, sizeof target - 1);
    if (n <= 0 || ++way->links > LINKS_MAX)
        return false;
    target[n] = '\0';
    snprintf(rest, sizeof rest, "%s", way->rest);
    if ((size_t)snprintf(way->rest, sizeof way->rest, "%s/%s", target, rest) >= sizeof way->rest)
        return false;
    if (target[0] == '/')
        way->at[0] = '\0';
    return true;
}

/* False at its end, or where it cannot be followed. */
static bool next_step(struct way *way, struct stat *ret)
{
    char name[PATH_NAME_MAX + 1];
    char next[PATH_MAX];
    if (path_take_name(way->rest, name) <= 0)
        return false;
    if (strcmp(name, "..") == 0) {
        char *slash = strrchr(way->at, '/');
        if (slash)
            *slash = '\0';
    } else if (strcmp(name, ".") != 0) {
        if ((size_t)snprintf(next, sizeof next, "%s/%s", way->at, name) >= sizeof next ||
            lstat(next, ret) < 0)
            return false;
        if (S_ISLNK(ret->st_mode)) {
            if (!follow_link(way, next))
                return false;
        } else {
            memcpy(way->at, next, sizeof next);
        }
    }
    return lstat(way->at[0] ? way->at : "/", ret) == 0;
}

const char *reach_through(const struct reach *reach, const char *path)
{
    struct way way = {0};
    struct stat st;
    if ((size_t)snprintf(way.rest, sizeof way.rest, "%s", path) >= sizeof way.rest ||
        lstat("/", &st) < 0)
        return NULL;
    const char *found = find_reached_folder(reach, &st);
    while (!found && next_step(&way, &st))
        found = find_reached_folder(reach, &st);
    return found;
}

int reach_refuse(const char *field, const char *path, const char *folder, struct err *err)
{
    return err_field(err, field,
                     "%s: %.200s is reached through %.200s, where an agent could change it: move "
                     "it, or work in a folder further down",
                     field, path, folder);
}

static int check_path_reach(const struct reach *reach, const char *field, const char *path,
                            struct err *err)
{
    const char *folder = reach_through(reach, path);
    return folder ? reach_refuse(field, path, folder, err) : 0;
}

/* A program that is missing is told of when it is started. */
static int check_owner(const char *field, const char *program, struct err *err)
{
    char why[TRUSTED_WHY_MAX];
    int fd = trusted_open(program, why);
    if (fd == -EPERM && why[0])
        return err_field(
            err, field, "%s: %.200s is not used, others than root and its user could change it: %s",
            field, program, why);
    if (fd >= 0)
        close(fd);
    return 0;
}

/* The program, and that which a script's first line names, with what that is given. */
static int check_program_reach(const struct reach *reach, const char *field, const char *program,
                               struct err *err)
{
    char path[PATH_MAX];
    char line[SCRIPT_LINE_MAX];
    snprintf(path, sizeof path, "%s", program);
    for (int i = 0; i < SCRIPTS_MAX; i++) {
        if (check_owner(field, path, err) < 0)
            return -1;
        FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, line, sizeof line - 1);
        line[n < 0 ? 0 : n] = '\0';
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "#!", 2) != 0)
            return 0;
        if (reach_check_word(reach, field, line + 2, err) < 0)
            return -1;
        const char *start = line + 2 + strspn(line + 2, " \t");
        snprintf(path, sizeof path, "%.*s", (int)strcspn(start, " \t"), start);
    }
    return 0;
}

static int check_command_reach(const struct reach *reach, const struct config *config,
                               const char *field, struct err *err)
{
    const struct str *words;
    size_t count = 0;
    if (!config_list(config, field, &words, &count))
        return 0;
    if (reach_check_words(reach, field, words, count, err) < 0)
        return -1;
    return count ? check_program_reach(reach, field, words[0].p, err) : 0;
}

static bool is_inside(const struct reach *reach, const char *path)
{
    for (size_t i = 0; i < reach->n; i++) {
        const struct root *root = reach->folders[i].root;
        if (path_named(str_of(path), root->host, root->inside, root->also))
            return true;
    }
    return false;
}

/* Rules know programs by their names: none of these may be an agent's. */
static int check_search_path(const struct reach *reach, const struct config *config,
                             struct err *err)
{
    static const char field[] = "commands.path";
    const struct str *folders;
    size_t count = 0;
    if (!config_list(config, field, &folders, &count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        const char *path = folders[i].p;
        if (path[0] != '/' || strchr(path, ':'))
            return err_field(err, field, "%s: `%.200s` is not the absolute path of one folder",
                             field, path);
        if (is_inside(reach, path))
            return reach_refuse(field, path, "the workspace", err);
        if (check_path_reach(reach, field, path, err) < 0)
            return -1;
    }
    return 0;
}

/* A writable folder that lies in this one. */
static const char *find_reached_inside(const struct reach *reach, const char *folder)
{
    FREE_AT_END char *real = realpath(folder, NULL);
    for (size_t i = 0; real && i < reach->n; i++) {
        if (path_rest(reach->folders[i].root->host, real))
            return reach->folders[i].root->host;
    }
    return NULL;
}

/* A manifest says what its tool may do. */
static int check_tool_folders(const struct reach *reach, const struct config *config,
                              struct err *err)
{
    static const char field[] = "runtime.toolFolders";
    const struct str *folders;
    size_t count = 0;
    if (!config_list(config, field, &folders, &count))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (is_inside(reach, folders[i].p))
            return reach_refuse(field, folders[i].p, "the workspace", err);
        if (check_path_reach(reach, field, folders[i].p, err) < 0)
            return -1;
        const char *inside = find_reached_inside(reach, folders[i].p);
        if (inside)
            return err_field(err, field,
                             "%s: %.200s has %.200s in it, where an agent could change a tool: "
                             "move it, or work elsewhere",
                             field, folders[i].p, inside);
    }
    return 0;
}

int reach_check(const struct reach *reach, const struct config *config, const char *config_file,
                struct err *err)
{
    char *own[STATE_OWN_MAX];
    size_t n_own = state_own_files(config_file, own);
    const char *excludes = config_text(config, "files.excludesFile");
    const char *authorities = config_text(config, "network.caFile");
    int r = check_command_reach(reach, config, "audit.anchor", err);
    if (r == 0)
        r = check_search_path(reach, config, err);
    for (size_t i = 0; r == 0 && i < config_count(config, "hooks"); i++) {
        char field[64];
        snprintf(field, sizeof field, "hooks[%zu].command", i);
        r = check_command_reach(reach, config, field, err);
    }
    if (r == 0)
        r = check_tool_folders(reach, config, err);
    if (r == 0 && excludes)
        r = check_path_reach(reach, "files.excludesFile", excludes, err);
    if (r == 0 && authorities)
        r = check_path_reach(reach, "network.caFile", authorities, err);
    for (size_t i = 0; i < n_own; i++) {
        const char *folder = r == 0 ? reach_through(reach, own[i]) : NULL;
        if (folder)
            r = err_set(err, ERR_INVALID_ARGUMENTS,
                        "%.200s is Sandgate's own and is reached through %.200s, where an agent "
                        "could change it: work in a folder further down, or move it",
                        own[i], folder);
        free(own[i]);
    }
    return r;
}

/* Behind the folder of the gate's file; the second is a build's. */
static const char *const role_folders[] = {"/../libexec/sandgate/", "/src/roles/"};

int reach_role_program(const struct reach *reach, const char *own, const char *name, char *path,
                       struct err *err)
{
    char why[TRUSTED_WHY_MAX];
    int folder = (int)(strrchr(own, '/') - own);
    for (size_t i = ARRAY_LEN(role_folders); i-- > 0;) {
        snprintf(path, PATH_MAX, "%.*s%s%s", folder, own, role_folders[i], name);
        if (access(path, F_OK) == 0)
            break;
    }
    if (check_path_reach(reach, name, path, err) < 0)
        return -1;
    FD_AT_END int fd = trusted_program(path, why);
    return fd < 0 ? err_set(err, ERR_SANDBOX_UNAVAILABLE, "%.200s: %s", path, why) : 0;
}

char *reach_path(const struct reach *reach, const char *list)
{
    FREE_AT_END char *copy = mem_dup(list);
    BUF_AT_END struct buf kept = BUF_INIT(64u << 10);
    char *next = copy;
    for (const char *folder; (folder = strsep(&next, ":"));) {
        if (folder[0] == '/' && !reach_through(reach, folder))
            buf_addf(&kept, "%s%s", kept.len ? ":" : "", folder);
    }
    return mem_dup(kept.len && !kept.failed ? buf_text(&kept) : "/usr/local/bin:/usr/bin:/bin");
}
