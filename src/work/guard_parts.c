#include "work/guard_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "work/beneath_walk.h"
#include "work/dir_entries.h"
#include "work/git_leads.h"
#include "work/guard_read.h"

/* Of a folder that stands for `hooks` or the like. */
#define LISTED_MAX 4096u
#define ALTERNATES_MAX (64u << 10)

static const char *const link_names[] = {"HEAD",      "config",      "config.worktree",
                                         "commondir", "packed-refs", "remotes",
                                         "branches",  "index",       "shallow"};
/* Each may be a link itself, and so may all that is in it. */
static const char *const folder_names[] = {"hooks", "info",    "objects",  "refs",
                                           "logs",  "modules", "worktrees"};

static bool is_one_of_part_names(struct str name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(name, names[i]))
            return true;
    }
    return false;
}

static bool is_folder_name(struct str name)
{
    return is_one_of_part_names(name, folder_names, ARRAY_LEN(folder_names));
}

static struct str name_of_tree_folder(const struct tree *t, uint32_t folder)
{
    return tree_name(t, t->folders[folder].name, t->folders[folder].name_n);
}

static bool is_link_lead(const struct tree *t, uint32_t folder, struct str name)
{
    if (is_folder_name(name) || is_one_of_part_names(name, link_names, ARRAY_LEN(link_names)))
        return true;
    for (uint32_t at = folder; at != TREE_NONE; at = t->folders[at].parent) {
        if (is_folder_name(name_of_tree_folder(t, at)))
            return true;
    }
    return false;
}

static bool is_config_name(struct str name)
{
    return str_is(name, "config") || str_is(name, "config.worktree");
}

bool guard_is_lead(const struct tree *t, uint32_t folder, struct str name, unsigned char type)
{
    if (type == DT_LNK)
        return is_link_lead(t, folder, name);
    return type == DT_REG &&
           (str_is(name, "commondir") || is_config_name(name) ||
            (str_is(name, "alternates") && str_is(name_of_tree_folder(t, folder), "info")));
}

/* A link that somebody made while commands ran: none of these can write in a git directory, so it is the user's, and what
 * it leads to is guarded from the next command on. */
static bool may_be_new_link(const struct following *f, const char *path)
{
    struct statx st;
    FD_AT_END int fd = beneath_open_at(f->root.fd, path, O_PATH | O_NOFOLLOW, 0, 0);
    return f->ran_ns > 0 &&
           (fd < 0 || folder_stat(fd, "", &st) < 0 ||
            tree_time_latest(st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec) >= f->ran_ns);
}

/* Links in a folder that stands for `hooks` or the like. */
static void follow_listed(struct following *f, struct str folder, int fd)
{
    char path[PATH_TEXT_MAX];
    FD_AT_END int dir = beneath_reopen_dir(fd);
    DIR_ENTRIES_AT_END struct dir_entries in = {.dir = dir};
    unsigned seen = 0;
    if (dir < 0)
        beneath_note_lack(errno);
    for (const struct dirent64 *d; dir >= 0 && (d = dir_entries_next(&in));) {
        if (++seen > LISTED_MAX) {
            f->error = -E2BIG;
            return;
        }
        int length = snprintf(path, sizeof path, "%.*s/%s", (int)folder.n, folder.p, d->d_name);
        unsigned char type = folder_entry_type(dir, d->d_name, d->d_type);
        if ((type == DT_LNK || type == DT_UNKNOWN) && length < (int)sizeof path)
            follow_link(f, (struct str){path, (size_t)length}, GUARDED_PART);
    }
}

static void follow_part_link(struct following *f, const char *path)
{
    char plain[PATH_TEXT_MAX];
    size_t n;
    struct statx st;
    if (may_be_new_link(f, path))
        return;
    follow_links_on_way(f, path);
    follow_link(f, (struct str){path, strlen(path)}, GUARDED_PART);
    FD_AT_END int fd = follow_open(f, path, plain, &n, &st);
    if (fd >= 0 && n > 0 && S_ISDIR(st.stx_mode))
        follow_listed(f, (struct str){plain, n}, fd);
}

/* Folders of objects, one a line, relative to `objects`. */
static void follow_alternates(struct following *f, struct str objects, int info)
{
    char path[PATH_TEXT_MAX];
    char plain[PATH_TEXT_MAX];
    size_t n;
    struct statx st;
    FREE_AT_END char *text = mem_zero(ALTERNATES_MAX);
    FD_AT_END int file = beneath_open_child_file(info, "alternates");
    ssize_t length = file < 0 ? 0 : fd_read_upto(file, text, ALTERNATES_MAX - 1);
    if (length < 0)
        beneath_note_lack(-(int)length);
    else if (length == ALTERNATES_MAX - 1)
        f->error = -EFBIG;
    if (length <= 0)
        return;
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        if (!*line || !follow_locate(f, objects, line, path))
            continue;
        follow_links_on_way(f, path);
        FD_AT_END int fd = follow_open(f, path, plain, &n, &st);
        if (fd < 0)
            follow_missing(f, path, GUARDED_PART);
        if (fd >= 0 && n > 0 && S_ISDIR(st.stx_mode))
            follow_add(f, (struct str){plain, n}, GUARDED_PART, &st);
    }
}

static struct str parent_of_git_path(struct str path)
{
    const char *slash = memrchr(path.p, '/', path.n);
    return (struct str){path.p, slash ? (size_t)(slash - path.p) : 0};
}

static void follow_text(struct following *f, struct str folder, const char *name, bool common)
{
    char path[PATH_TEXT_MAX];
    char line[PATH_TEXT_MAX];
    memcpy(path, folder.p, folder.n);
    path[folder.n] = '\0';
    FD_AT_END int fd = beneath_open_at(f->root.fd, folder.n ? path : ".", O_PATH | O_DIRECTORY, 0,
                                       0);
    if (fd < 0)
        return;
    if (strcmp(name, "alternates") == 0)
        follow_alternates(f, parent_of_git_path(folder), fd);
    else if (common && follow_read_line(fd, "commondir", line))
        follow_git_directory(f, folder, line, false);
}

static void follow_marks(struct following *f, uint32_t folder, bool common)
{
    const struct tree *t = f->tree;
    char path[PATH_TEXT_MAX];
    for (uint32_t at = t->folders[folder].marks; at != TREE_NONE; at = t->marks[at].next) {
        const struct tree_mark *mark = &t->marks[at];
        struct str name = tree_name(t, mark->name, mark->name_n);
        unsigned char type = mark->type == TYPE_SYMLINK ? DT_LNK
                             : mark->type == TYPE_FILE  ? DT_REG
                                                        : DT_UNKNOWN;
        if (!guard_is_lead(t, folder, name, type))
            continue;
        f->list->leads = true;
        size_t n = tree_path(t, folder, path);
        size_t own = n + (n > 0);
        snprintf(path + n, sizeof path - n, "%s%.*s", n ? "/" : "", (int)name.n, name.p);
        if (type == DT_LNK)
            follow_part_link(f, path);
        else if (!is_config_name(name))
            follow_text(f, (struct str){path, n}, path + own, common);
    }
}

/* A folder and all in it. */
static void follow_all_marks(struct following *f, uint32_t top, bool common)
{
    const struct tree *t = f->tree;
    uint32_t at = top;
    for (;;) {
        follow_marks(f, at, common);
        if (t->folders[at].first != TREE_NONE) {
            at = t->folders[at].first;
            continue;
        }
        while (at != top && t->folders[at].next == TREE_NONE)
            at = t->folders[at].parent;
        if (at == top)
            return;
        at = t->folders[at].next;
    }
}

/* The folder of a git directory that is called .git; another one is its own. */
static struct str work_tree_of(struct str git)
{
    static const char name[] = ".git";
    const size_t n = sizeof name - 1;
    bool named = git.n >= n && strncasecmp(git.p + git.n - n, name, n) == 0 &&
                 (git.n == n || git.p[git.n - n - 1] == '/');
    return named ? parent_of_git_path(git) : git;
}

void follow_part(struct following *f, struct str git, const char *path)
{
    char plain[PATH_TEXT_MAX];
    size_t n;
    struct statx st;
    follow_links_on_way(f, path);
    FD_AT_END int fd = follow_open(f, path, plain, &n, &st);
    if (fd < 0)
        follow_missing(f, path, GUARDED_PART);
    /* A folder around the git directory is more than anybody meant. */
    if (fd < 0 || n == 0 || path_beneath(git, plain))
        return;
    follow_add(f, (struct str){plain, n}, GUARDED_PART, &st);
    if (S_ISDIR(st.stx_mode))
        follow_listed(f, (struct str){plain, n}, fd);
}

struct leading {
    struct following *f;
    struct str git;
};

static void take_lead(void *arg, const char *path, enum git_lead_from from)
{
    (void)from;
    const struct leading *l = arg;
    follow_part(l->f, l->git, path);
}

void follow_settings(struct following *f, struct str git, struct str tree)
{
    struct leading l = {f, git};
    unsigned found = git_leads_settings(&f->root, git, tree, take_lead, &l, &f->list->unread);
    if (found & GIT_LEADS_CUT)
        f->error = -EFBIG;
    else if (found & GIT_LEADS_MANY)
        f->error = -EOVERFLOW;
}

void follow_parts(struct following *f, struct str path, bool common)
{
    const struct tree *t = f->tree;
    uint32_t folder = tree_find(t, path);
    if (folder == TREE_NONE)
        return;
    follow_marks(f, folder, common);
    follow_settings(f, path, work_tree_of(path));
    for (uint32_t at = t->folders[folder].first; at != TREE_NONE; at = t->folders[at].next) {
        if (is_folder_name(name_of_tree_folder(t, at)))
            follow_all_marks(f, at, common);
    }
}
