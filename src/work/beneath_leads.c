/* Tools do not change what a git directory leads to (git_leads.h), nor make it where it is missing. Looked at are the git
 * directories of the folders around a path, and what the last scan found of others. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "core/guard_pattern.h"
#include "core/path.h"
#include "work/beneath_walk.h"
#include "work/git_leads.h"
#include "work/guard_follow.h"
#include "work/guard_read.h"
#include "work/guard_trees.h"

#define GIT_FILE_PREFIX "gitdir: "
/* Of git directories that lead nowhere: most do. */
#define CACHED 4

/* When what decides whether it leads anywhere has last changed. */
static const char *const stamped[] = {
    "",       "hooks",           "info",      "objects/info",
    "config", "config.worktree", "commondir", "objects/info/alternates"};

struct stamp {
    uint64_t inode;
    struct tree_time changed;
};

struct stamps {
    size_t root;
    char path[256]; /* "": none */
    struct stamp of[ARRAY_LEN(stamped)];
};

struct checking {
    const struct beneath_root *root;
    struct str path;
    bool carries;
    struct str git;
    unsigned leads;
    bool led;
};

static void compare_lead(void *arg, const char *lead)
{
    struct checking *c = arg;
    char where[PATH_TEXT_MAX];
    c->leads++;
    if (c->led || !git_leads_where(c->root, lead, where))
        return;
    struct str target = {where, strlen(where)};
    /* A folder around the git directory is more than anybody meant. */
    if (strcmp(where, ".") == 0 || path_lies_in(c->git, target))
        return;
    c->led = path_is_in(c->path, target) || (c->carries && path_lies_in(target, c->path));
}

static bool read_stamps(int git, struct stamps *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < ARRAY_LEN(stamped); i++) {
        struct statx st = {0};
        int error = folder_stat(git, stamped[i], &st);
        if (error < 0 && error != -ENOENT)
            return false;
        ret->of[i] = error < 0
                         ? (struct stamp){0}
                         : (struct stamp){st.stx_ino, {st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec}};
        if (error == 0 && tree_time_is_new(&ret->of[i].changed, &now))
            return false;
    }
    return true;
}

static _Thread_local struct stamps cache[CACHED];
static _Thread_local unsigned oldest;

static bool is_cached(const struct stamps *now)
{
    for (size_t i = 0; i < CACHED; i++) {
        if (cache[i].root == now->root && strcmp(cache[i].path, now->path) == 0 &&
            memcmp(cache[i].of, now->of, sizeof now->of) == 0)
            return true;
    }
    return false;
}

/* A git directory, and the work tree that it is of. */
static void check_directory(struct checking *c, struct str git, struct str tree)
{
    char path[PATH_TEXT_MAX];
    struct stamps now = {.root = c->root->number};
    if (!git_leads_locate(c->root, git, ".", path))
        return;
    FD_AT_END int fd = beneath_open_at(c->root->fd, path, O_PATH | O_DIRECTORY, 0, 0);
    bool stamps = fd >= 0 && git.n && git.n < sizeof now.path && read_stamps(fd, &now);
    if (stamps)
        memcpy(now.path, git.p, git.n);
    if (stamps && is_cached(&now))
        return;
    unsigned before = c->leads;
    c->git = git;
    unsigned found = git_leads_each(c->root, git, tree, compare_lead, c);
    c->led |= (found & (GIT_LEADS_CUT | GIT_LEADS_MANY)) != 0;
    if (stamps && c->leads == before && !found && !beneath_lacks())
        cache[oldest++ % CACHED] = now;
}

/* One that a text in a file of `folder` names: it may not be there yet. */
static void check_named(struct checking *c, struct str folder, const char *text, struct str tree)
{
    char path[PATH_TEXT_MAX];
    char where[PATH_TEXT_MAX];
    if (!git_leads_locate(c->root, folder, text, path) || !git_leads_where(c->root, path, where))
        return;
    c->git = tree;
    compare_lead(c, path);
    check_directory(c, (struct str){where, strlen(where)}, tree);
}

static void check_common(struct checking *c, struct str git, struct str tree)
{
    char line[PATH_TEXT_MAX];
    char path[PATH_TEXT_MAX];
    if (!git_leads_locate(c->root, git, ".", path))
        return;
    FD_AT_END int fd = beneath_open_at(c->root->fd, path, O_PATH | O_DIRECTORY, 0, 0);
    if (fd >= 0 && follow_read_line(fd, "commondir", line))
        check_named(c, git, line, tree);
}

/* The folder has a `.git`: a git directory, a link to one, or a file that names one. */
static void check_git_of_folder(struct checking *c, struct str folder, int git)
{
    char path[PATH_TEXT_MAX];
    char where[PATH_TEXT_MAX];
    char line[PATH_TEXT_MAX];
    struct stat st;
    if (fstat(git, &st) < 0 || !git_leads_locate(c->root, folder, ".git", path))
        return;
    if (!S_ISREG(st.st_mode)) {
        if (!git_leads_where(c->root, path, where))
            return;
        struct str target = {where, strlen(where)};
        c->git = folder;
        if (S_ISLNK(st.st_mode))
            compare_lead(c, path);
        check_directory(c, target, folder);
        check_common(c, target, folder);
        return;
    }
    const char *text = line + strlen(GIT_FILE_PREFIX);
    char around[PATH_TEXT_MAX];
    if (!git_leads_locate(c->root, folder, ".", around))
        return;
    FD_AT_END int dir = beneath_open_at(c->root->fd, around, O_PATH | O_DIRECTORY, 0, 0);
    if (dir < 0 || !follow_read_line(dir, ".git", line) ||
        strncmp(line, GIT_FILE_PREFIX, strlen(GIT_FILE_PREFIX)) != 0)
        return;
    text += strspn(text, " ");
    check_named(c, folder, text, folder);
    if (git_leads_locate(c->root, folder, text, path) && git_leads_where(c->root, path, where))
        check_common(c, (struct str){where, strlen(where)}, folder);
}

bool beneath_is_led_to(const struct beneath_root *root, const char *path, bool carries,
                       int *ret_error)
{
    struct checking c = {.root = root, .path = {path, strlen(path)}, .carries = carries};
    struct str name;
    size_t before = 0;
    int lack = 0;
    if (strcmp(path, ".") == 0)
        return false;
    if (root->trees && guard_trees_lead(root, c.path, carries))
        return true;
    beneath_take_lack();
    for (size_t at = 0; !c.led && !lack && guard_next_name(c.path, &at, &name); before = at - 1) {
        char text[BENEATH_REAL_MAX + 8];
        snprintf(text, sizeof text, "%.*s%s.git", (int)before, path, before ? "/" : "");
        FD_AT_END int fd = beneath_open_at(root->fd, text, O_PATH | O_NOFOLLOW, 0,
                                           RESOLVE_NO_SYMLINKS);
        if (fd >= 0)
            check_git_of_folder(&c, (struct str){path, before}, fd);
        lack = beneath_take_lack();
    }
    if (lack)
        *ret_error = lack;
    return c.led || lack;
}
