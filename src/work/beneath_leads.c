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
    const struct git_move *move; /* NULL: it is asked whether `path` is led to */
    char *moved;                 /* with `move`: the lead that is another then */
    struct str git;
    unsigned leads;
    bool led;
};

static bool touches(const struct checking *c, const char *text)
{
    struct str target = {text, strlen(text)};
    /* A folder around the git directory is more than anybody meant. */
    if (strcmp(text, ".") == 0 || path_lies_in(c->git, target))
        return false;
    return path_is_in(c->path, target) || (c->carries && path_lies_in(target, c->path));
}

static bool is_at_path(const struct checking *c, const char *lead)
{
    BUF_AT_END struct buf links = BUF_INIT(GIT_LEAD_LINKS_MAX);
    char where[PATH_TEXT_MAX];
    bool led = git_leads_way(c->root, lead, where, &links) == GIT_LEAD_INSIDE && touches(c, where);
    size_t at = 0;
    for (const char *link; !led && (link = git_leads_next_link(&links, &at));)
        led = touches(c, link);
    return led || links.failed;
}

/* Where a path that lies in `from` would be in `to`. False: it is too long. */
static bool move_path(const struct git_move *move, const char *path, char ret[PATH_TEXT_MAX])
{
    const char *rest = path + strlen(move->from);
    return snprintf(ret, PATH_TEXT_MAX, "%s%s", move->to, rest) < PATH_TEXT_MAX;
}

static bool is_in_folder(const char *path, const char *folder)
{
    return path_is_in((struct str){path, strlen(path)}, (struct str){folder, strlen(folder)});
}

/* It is moved along, or it stays and is not taken for what was moved. */
static bool leads_to_the_same(const struct git_move *move, const char *before, const char *after)
{
    char expected[PATH_TEXT_MAX];
    if (is_in_folder(before, move->from))
        return move_path(move, before, expected) && strcmp(after, expected) == 0;
    return move->root->number == move->to_root->number && !is_in_folder(after, move->to) &&
           strcmp(after, before) == 0;
}

static bool is_changed_by_move(const struct git_move *move, const char *lead,
                               enum git_lead_from from)
{
    char path[PATH_TEXT_MAX];
    char before[PATH_TEXT_MAX];
    char after[PATH_TEXT_MAX];
    bool same_root = move->root->number == move->to_root->number;
    const struct beneath_moved moved = {same_root ? move->from : NULL, move->to, move->dir,
                                        move->name};
    struct beneath_root then = *move->to_root;
    then.moved = &moved;
    bool along = from == GIT_LEAD_FROM_FOLDER && is_in_folder(lead, move->from);
    if (from == GIT_LEAD_FROM_HOST || (along && !move_path(move, lead, path)))
        return true;
    enum git_lead_place was = git_leads_place(move->root, lead, before);
    enum git_lead_place is = git_leads_place(&then, along ? path : lead, after);
    if (was != is || was == GIT_LEAD_UNKNOWN)
        return true;
    return was == GIT_LEAD_INSIDE && !leads_to_the_same(move, before, after);
}

static void compare_lead(void *arg, const char *lead, enum git_lead_from from)
{
    struct checking *c = arg;
    c->leads++;
    if (c->led)
        return;
    c->led = c->move ? is_changed_by_move(c->move, lead, from) : is_at_path(c, lead);
    if (c->led && c->move)
        snprintf(c->moved, PATH_TEXT_MAX, "%s", lead);
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
    enum git_lead_from from = git_leads_locate(c->root, folder, text, path);
    if (from == GIT_LEAD_TOO_LONG)
        return;
    c->git = tree;
    compare_lead(c, path, from);
    if (!git_leads_where(c->root, path, where))
        return;
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
            compare_lead(c, path, GIT_LEAD_FROM_FOLDER);
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

bool beneath_leads_change(const struct git_move *move, struct str folder, bool bare,
                          char lead[PATH_TEXT_MAX])
{
    struct checking c = {.root = move->root, .move = move, .moved = lead};
    char text[BENEATH_REAL_MAX + 8];
    lead[0] = '\0';
    if (bare) {
        check_directory(&c, folder, folder);
        check_common(&c, folder, folder);
        return c.led;
    }
    snprintf(text, sizeof text, "%.*s/.git", (int)folder.n, folder.p);
    FD_AT_END int fd = beneath_open_at(move->root->fd, text, O_PATH | O_NOFOLLOW, 0,
                                       RESOLVE_NO_SYMLINKS);
    if (fd >= 0)
        check_git_of_folder(&c, folder, fd);
    return c.led;
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
