#include "work/git_leads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/git_settings.h"
#include "core/path.h"
#include "work/beneath_walk.h"
#include "work/dir_entries.h"
#include "work/git_globs.h"
#include "work/guard_read.h"

#define CONFIG_MAX ((size_t)1 << 20)
/* Of configurations that include each other: git follows no more. */
#define DEPTH_MAX 10
#define FILES_MAX 64
#define LINES_BYTES (32u << 10)
#define LINE_MAX_BYTES PATH_TEXT_MAX

/* Each may be a link. */
static const char *const names[] = {
    "HEAD",     "config", "config.worktree", "commondir", "packed-refs", "remotes",
    "branches", "index",  "shallow",         "hooks",     "info",        "objects",
    "refs",     "logs",   "modules",         "worktrees"};
/* And so may all that is in these. */
static const char *const folders[] = {"hooks", "info", "objects/info"};

static struct beneath_root unguarded(const struct beneath_root *root)
{
    struct beneath_root plain = *root;
    plain.guard = NULL;
    plain.trees = NULL;
    plain.no_links = plain.as_named = false;
    return plain;
}

static void cut_last_lead_name(struct buf *path)
{
    while (path->len && path->data[path->len - 1] != '/')
        path->len--;
    if (path->len > 1)
        path->len--;
}

/* Adds names to an absolute path, `..` and all. False: `..` has left the folder whose path was `top` bytes long. */
static bool add_lead_names(struct buf *path, struct str text, size_t top)
{
    bool inside = true;
    for (size_t at = 0, n; at < text.n; at += n + 1) {
        const char *slash = memchr(text.p + at, '/', text.n - at);
        struct str name = {text.p + at, slash ? (size_t)(slash - text.p) - at : text.n - at};
        n = name.n;
        if (str_is(name, ".."))
            cut_last_lead_name(path);
        else if (n && !str_is(name, ".")) {
            if (path->len > 1)
                buf_add_char(path, '/');
            buf_add(path, name.p, name.n);
        }
        inside &= path->len >= top;
    }
    return inside;
}

/* A name may be a link, and `..` behind it leads on from where that leads: the text does not tell where. */
static bool goes_up_first(const char *text)
{
    bool named = false;
    for (size_t n; *text; text += n + strspn(text + n, "/")) {
        n = strcspn(text, "/");
        bool up = n == 2 && memcmp(text, "..", 2) == 0;
        if (up && named)
            return false;
        named |= !up && !(n == 1 && text[0] == '.');
    }
    return true;
}

/* A relative text that leaves the root and comes back to it by the name that this has on the host. False: it does not. */
static bool comes_back(const struct beneath_root *root, struct str folder, const char *text,
                       char path[PATH_TEXT_MAX])
{
    BUF_AT_END struct buf whole = BUF_INIT(4 * PATH_TEXT_MAX);
    size_t top = path_prefix_length(root->host);
    buf_add(&whole, root->host, top);
    bool inside = add_lead_names(&whole, folder, top);
    inside = add_lead_names(&whole, (struct str){text, strlen(text)}, top) && inside;
    if (inside || whole.failed || !path_beneath(buf_str(&whole), root->host))
        return false;
    const char *rest = path_rest(buf_text(&whole), root->host);
    return snprintf(path, PATH_TEXT_MAX, "%s", *rest ? rest : ".") < PATH_TEXT_MAX;
}

enum git_lead_from git_leads_locate(const struct beneath_root *root, struct str folder,
                                    const char *text, char path[PATH_TEXT_MAX])
{
    struct str all = {text, strlen(text)};
    bool absolute = text[0] == '/';
    enum git_lead_from from = absolute ? GIT_LEAD_FROM_TOP : GIT_LEAD_FROM_FOLDER;
    if (!absolute && goes_up_first(text) && comes_back(root, folder, text, path))
        return GIT_LEAD_FROM_HOST;
    if (absolute) {
        size_t named = path_named(all, root->host, root->inside, root->also);
        folder.n = 0;
        if (named == 0)
            return snprintf(path, PATH_TEXT_MAX, "%s", text) < PATH_TEXT_MAX ? from
                                                                             : GIT_LEAD_TOO_LONG;
        text += named;
        while (*text == '/')
            text++;
    }
    int n = snprintf(path, PATH_TEXT_MAX, "%.*s%s%s", (int)folder.n, folder.p, folder.n ? "/" : "",
                     *text ? text : ".");
    return n < PATH_TEXT_MAX ? from : GIT_LEAD_TOO_LONG;
}

enum git_lead_place git_leads_place(const struct beneath_root *root, const char *path,
                                    char ret[PATH_TEXT_MAX])
{
    struct beneath_root plain = unguarded(root);
    struct beneath_walk w;
    struct beneath_real real;
    if (path[0] == '/')
        return GIT_LEAD_OUTSIDE;
    real.text = NULL;
    int r = beneath_walk_to(&w, &plain, path, BENEATH_PARENTS | BENEATH_LOOK, &real);
    /* The walk ends at the first folder that is missing; what it has not gone is plain by then. */
    bool missing = r == -ENOENT || r == -EACCES || r == -EROFS || r == -EPERM;
    int n = -1;
    if (real.text && r >= 0)
        n = snprintf(ret, PATH_TEXT_MAX, "%s", real.text);
    else if (real.text && missing)
        n = snprintf(ret, PATH_TEXT_MAX, "%s%s%s", real.text, w.rest[0] ? "/" : "", w.rest);
    beneath_walk_done(&w);
    if (n >= 0 && n < PATH_TEXT_MAX)
        return GIT_LEAD_INSIDE;
    return r == -EXDEV ? GIT_LEAD_OUTSIDE : GIT_LEAD_UNKNOWN;
}

enum git_lead_place git_leads_way(const struct beneath_root *root, const char *path,
                                  char ret[PATH_TEXT_MAX], struct buf *links)
{
    struct beneath_root noting = *root;
    noting.passed = links;
    return git_leads_place(&noting, path, ret);
}

const char *git_leads_next_link(const struct buf *links, size_t *at)
{
    const char *link = *at < links->len ? links->data + *at : NULL;
    *at += link ? strlen(link) + 1 : 0;
    return link;
}

bool git_leads_where(const struct beneath_root *root, const char *path, char ret[PATH_TEXT_MAX])
{
    return git_leads_place(root, path, ret) == GIT_LEAD_INSIDE;
}

struct settings {
    const struct beneath_root *root;
    struct str git;
    struct str folder; /* of the configuration at hand */
    struct str tree;
    git_lead_fn fn;
    void *arg;
    int depth;
    int files;
    unsigned found; /* enum git_leads_found */
    int64_t unread;
};

static void read_lead_config(struct settings *s, const char *path);

/* A word of a command line counts if it is a file, or is written like the path of one that is missing. */
static bool is_lead_program(struct settings *s, enum git_setting use, const char *word,
                            const char *path)
{
    struct beneath_root plain = unguarded(s->root);
    struct stat st;
    struct err err;
    FD_AT_END int fd = -1;
    bool there = beneath_open(&plain, path, O_PATH, &fd, &err) == 0 && fstat(fd, &st) == 0;
    bool counts = there ? S_ISREG(st.st_mode)
                        : use == GIT_SETTING_WORD && git_setting_is_path(word);
    if (!counts)
        s->found |= GIT_LEADS_LATER;
    return counts;
}

/* A folder around the git directory, or the work tree, is more than anybody meant: there each name counts by itself. */
static bool is_around(const struct settings *s, const char *path)
{
    char where[PATH_TEXT_MAX];
    if (!git_leads_where(s->root, path, where))
        return false;
    struct str folder = {where, strlen(where)};
    return str_is(folder, ".") || folder.n == 0 || path_is_in(s->git, folder) ||
           path_is_in(s->tree, folder);
}

static void take_lead_folder(struct settings *s, const char *path, enum git_lead_from from,
                             const char *const *inside)
{
    char name[PATH_TEXT_MAX];
    if (!is_around(s, path)) {
        s->fn(s->arg, path, from);
        return;
    }
    for (; *inside; inside++) {
        if (snprintf(name, sizeof name, "%s/%s", path, *inside) < (int)sizeof name)
            s->fn(s->arg, name, from);
    }
}

static void take_lead_setting(void *arg, enum git_setting use, const char *text)
{
    struct settings *s = arg;
    char path[PATH_TEXT_MAX];
    bool include = use == GIT_SETTING_INCLUDE;
    if (use == GIT_SETTING_UNREAD) {
        s->unread = git_setting_number(text);
        return;
    }
    /* The user's home is not looked into. */
    if (text[0] == '~')
        return;
    enum git_lead_from from = git_leads_locate(s->root, include ? s->folder : s->tree, text, path);
    if (from == GIT_LEAD_TOO_LONG)
        return;
    if (use == GIT_SETTING_GLOB) {
        /* One that is made later may match. */
        s->found |= GIT_LEADS_LATER;
        if (!git_glob_each(s->root, path, from, s->fn, s->arg))
            s->found |= GIT_LEADS_MANY;
        return;
    }
    if (use == GIT_SETTING_HOOKS || use == GIT_SETTING_TEMPLATE) {
        take_lead_folder(s, path, from,
                         use == GIT_SETTING_HOOKS ? git_hook_names : git_template_names);
        return;
    }
    if ((use == GIT_SETTING_WORD || use == GIT_SETTING_FILE) &&
        !is_lead_program(s, use, text, path))
        return;
    s->fn(s->arg, path, from);
    if (include && s->files >= FILES_MAX) {
        s->found |= GIT_LEADS_CUT;
    } else if (include && s->depth < DEPTH_MAX) {
        s->files++;
        s->depth++;
        read_lead_config(s, path);
        s->depth--;
    }
}

static struct str folder_of_config(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (struct str){path, slash ? (size_t)(slash - path) : 0};
}

static void read_lead_config(struct settings *s, const char *path)
{
    struct beneath_root plain = unguarded(s->root);
    struct str around = s->folder;
    struct stat st;
    struct err err;
    FD_AT_END int fd = -1;
    if (beneath_open_file(&plain, path, &fd, &st, &err) < 0)
        return;
    size_t size = (size_t)st.st_size < CONFIG_MAX ? (size_t)st.st_size : CONFIG_MAX;
    if ((size_t)st.st_size > CONFIG_MAX)
        s->found |= GIT_LEADS_CUT;
    FREE_AT_END char *text = mem_zero(size + 1);
    ssize_t n = fd_read_upto(fd, text, size);
    s->folder = folder_of_config(path);
    if (n < 0)
        beneath_note_lack(-(int)n);
    if (n > 0)
        git_settings_each((struct str){text, (size_t)n}, take_lead_setting, s);
    s->folder = around;
}

unsigned git_leads_settings(const struct beneath_root *root, struct str git, struct str tree,
                            git_lead_fn fn, void *arg, int64_t *ret_unread)
{
    static const char *const files[] = {"config", "config.worktree"};
    struct settings s = {.root = root, .git = git, .tree = tree, .fn = fn, .arg = arg};
    char path[PATH_TEXT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (git_leads_locate(root, git, files[i], path))
            read_lead_config(&s, path);
    }
    if (ret_unread && s.unread)
        *ret_unread = s.unread;
    return s.found;
}

struct listing {
    const struct beneath_root *root;
    struct str git;
    git_lead_fn fn;
    void *arg;
};

static void tell_git_lead(const struct listing *l, struct str folder, const char *text)
{
    char path[PATH_TEXT_MAX];
    enum git_lead_from from = git_leads_locate(l->root, folder, text, path);
    if (from != GIT_LEAD_TOO_LONG)
        l->fn(l->arg, path, from);
}

static void tell_links_in(const struct listing *l, int git, const char *name)
{
    char path[PATH_TEXT_MAX];
    FD_AT_END int dir = beneath_open_at(git, name, O_RDONLY | O_DIRECTORY, 0, 0);
    if (dir < 0)
        return;
    DIR_ENTRIES_AT_END struct dir_entries in = {.dir = dir};
    for (const struct dirent64 *d; (d = dir_entries_next(&in));) {
        unsigned char type = folder_entry_type(dir, d->d_name, d->d_type);
        if ((type == DT_LNK || type == DT_UNKNOWN) &&
            snprintf(path, sizeof path, "%s/%s", name, d->d_name) < (int)sizeof path)
            tell_git_lead(l, l->git, path);
    }
}

/* Each line of a file in the git directory is a path. Returns git_leads_found. */
static unsigned tell_lines(const struct listing *l, int git, const char *name, struct str folder)
{
    FD_AT_END int fd = beneath_open_at(git, name, O_RDONLY | O_NONBLOCK, 0, 0);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    FREE_AT_END char *text = mem_zero(LINES_BYTES);
    ssize_t n = fd_read_upto(fd, text, LINES_BYTES - 1);
    if (n < 0)
        beneath_note_lack(-(int)n);
    if (n <= 0)
        return 0;
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\r\n");
        if (*next)
            *next++ = '\0';
        if (*line && strlen(line) < LINE_MAX_BYTES)
            tell_git_lead(l, folder, line);
    }
    return n == LINES_BYTES - 1 ? GIT_LEADS_CUT : 0;
}

unsigned git_leads_each(const struct beneath_root *root, struct str git, struct str tree,
                        git_lead_fn fn, void *arg)
{
    char path[PATH_TEXT_MAX];
    char objects[PATH_TEXT_MAX];
    char target[2];
    const struct listing l = {root, git, fn, arg};
    if (!git_leads_locate(root, git, ".", path) || !git_leads_locate(root, git, "objects", objects))
        return 0;
    FD_AT_END int fd = beneath_open_at(root->fd, path, O_PATH | O_DIRECTORY, 0, 0);
    if (fd < 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (readlinkat(fd, names[i], target, sizeof target) >= 0)
            tell_git_lead(&l, git, names[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        tell_links_in(&l, fd, folders[i]);
    unsigned found = tell_lines(&l, fd, "commondir", git);
    found |= tell_lines(&l, fd, "objects/info/alternates", (struct str){objects, strlen(objects)});
    return found | git_leads_settings(root, git, tree, fn, arg, NULL);
}
