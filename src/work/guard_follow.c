/* Names that stand for something elsewhere: links with guarded names, and `.git` files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "core/path.h"
#include "work/beneath_walk.h"
#include "work/git_leads.h"
#include "work/guard_follow.h"
#include "work/guard_parts.h"
#include "work/guard_read.h"
#include "work/work.h"

/* With more than that no command starts. */
#define FOLLOWED_MAX 20000u
#define MISSING_MAX 4096u
#define GIT_FILE_PREFIX "gitdir: "

/* Without `.` and `..`, which are taken as text: there is no link in it. False: it leads out. */
static bool make_plain_path(const char *path, char plain[PATH_TEXT_MAX], size_t *ret_n)
{
    size_t n = 0;
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            if (n == 0)
                return false;
            while (n && plain[--n] != '/')
                continue;
        } else if (length && !(length == 1 && at[0] == '.')) {
            if (n + length + 2 > PATH_TEXT_MAX)
                return false;
            if (n)
                plain[n++] = '/';
            memcpy(plain + n, at, length);
            n += length;
        }
        at += length + (at[length] == '/');
    }
    plain[n] = '\0';
    *ret_n = n;
    return true;
}

/* A folder around it is covered in a way that is enough. */
static bool is_covered_around(const struct following *f, struct str path, uint8_t kind)
{
    for (size_t n = path.n; n > 0; n--) {
        if (n < path.n && path.p[n] != '/')
            continue;
        const struct guarded_item *around = guarded_find(f->list, (struct str){path.p, n});
        if (around && (around->kind == GUARDED_SECRET ||
                       (kind != GUARDED_SECRET &&
                        (around->kind == GUARDED_GIT || around->kind == GUARDED_PART ||
                         (around->kind == GUARDED_PROTECTED && kind != GUARDED_PART)))))
            return true;
    }
    return false;
}

/* Several links may lead to one entry: the strongest kind counts, and it is kept if one of them would keep it. */
static void merge_guarded_item(struct guarded_item *there, const struct guarded_item *item)
{
    bool led = item->led && (there->led || !there->followed);
    there->kind = guard_stronger(there->kind, item->kind);
    there->known |= item->known;
    there->followed |= item->followed;
    there->led = led;
    there->id = item->id;
}

void follow_add(struct following *f, struct str path, uint8_t kind, const struct statx *st)
{
    struct guarded_item *there = guarded_find(f->list, path);
    struct guarded_item item = {.kind = kind,
                                .type = (uint8_t)work_file_type(st->stx_mode),
                                .known = true,
                                .followed = true,
                                .made = f->made,
                                .led = f->made,
                                .id = folder_id(st)};
    if (is_covered_around(f, path, kind))
        return;
    /* A link does not make less of what it leads to: a socket stays hidden. Nor does it hide a git directory, in which no
     * user keeps a secret under another name: it is read-only as it is, and commands need it. */
    if (there && (guard_stronger(there->kind, kind) != kind || there->kind == GUARDED_GIT))
        return;
    if (!there)
        there = guarded_find(&f->more, path);
    if (there)
        merge_guarded_item(there, &item);
    else
        guarded_insert(&f->more, &item, path);
}

int follow_open(struct following *f, const char *path, char plain[PATH_TEXT_MAX], size_t *ret_n,
                struct statx *ret_st)
{
    struct err err;
    int fd = -1;
    if (path[0] == '/' || beneath_open_real(&f->root, path, O_PATH, &fd, &f->real, &err) < 0)
        return -1;
    if (folder_stat(fd, "", ret_st) == 0 && make_plain_path(f->real.text, plain, ret_n))
        return fd;
    close(fd);
    return -1;
}

static bool ends_in_git_name(struct str path)
{
    static const char name[] = ".git";
    const size_t n = sizeof name - 1;
    return path.n >= n && strncasecmp(path.p + path.n - n, name, n) == 0 &&
           (path.n == n || path.p[path.n - n - 1] == '/');
}

static void note_missing(struct following *f, const char *path)
{
    struct guarded_item item = {.kind = GUARDED_PART, .type = TYPE_OTHER};
    struct str target = {path, strlen(path)};
    if (str_is(target, ".") || guarded_find(f->missing, target))
        return;
    if (f->missing->count >= MISSING_MAX)
        f->error = -E2BIG;
    else
        guarded_insert(f->missing, &item, target);
}

/* What a command made leads nowhere that a user meant. */
void follow_missing(struct following *f, const char *path, uint8_t kind)
{
    char where[PATH_TEXT_MAX];
    bool git = kind == GUARDED_PART || kind == GUARDED_GIT;
    if (!git_leads_where(&f->root, path, where)) {
        if (!f->made && outward_note(f->outward, (enum guarded_kind)kind, path) && path[0] != '/')
            follow_way_out(f, path, kind);
        return;
    }
    if (git)
        note_missing(f, where);
}

void follow_links_on_way(struct following *f, const char *path)
{
    BUF_AT_END struct buf links = BUF_INIT(GIT_LEAD_LINKS_MAX);
    char where[PATH_TEXT_MAX];
    size_t at = 0;
    if (f->made)
        return;
    git_leads_way(&f->root, path, where, &links);
    for (const char *link; (link = git_leads_next_link(&links, &at));)
        note_missing(f, link);
    if (links.failed)
        f->error = -E2BIG;
}

void follow_link(struct following *f, struct str link, uint8_t kind)
{
    char path[PATH_TEXT_MAX];
    char plain[PATH_TEXT_MAX];
    size_t n;
    struct statx st;
    memcpy(path, link.p, link.n);
    path[link.n] = '\0';
    FD_AT_END int fd = follow_open(f, path, plain, &n, &st);
    /* A folder that a link called .git leads to need not be a git directory yet. */
    if (fd < 0 || ends_in_git_name(link))
        follow_missing(f, path, ends_in_git_name(link) ? GUARDED_GIT : kind);
    struct str target = {plain, n};
    /* A folder around the link is more than anybody meant. */
    if (fd < 0 || n == 0 || S_ISLNK(st.stx_mode) || path_lies_in(link, target))
        return;
    bool is_new = !is_covered_around(f, target, kind) && !guarded_find(f->list, target) &&
                  !guarded_find(&f->more, target);
    follow_add(f, target, kind, &st);
    if (is_new && S_ISDIR(st.stx_mode) && (kind == GUARDED_SECRET || kind == GUARDED_PROTECTED))
        follow_inside(f, target, kind);
}

bool follow_read_line(int dir, const char *name, char text[PATH_TEXT_MAX])
{
    FD_AT_END int fd = beneath_open_child_file(dir, name);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, PATH_TEXT_MAX - 1);
    if (fd >= 0 && n < 0)
        beneath_note_lack(-(int)n);
    if (n <= 0)
        return false;
    text[n] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    return text[0] != '\0';
}

bool follow_locate(const struct following *f, struct str folder, const char *text,
                   char path[PATH_TEXT_MAX])
{
    return git_leads_locate(&f->root, folder, text, path);
}

void follow_git_directory(struct following *f, struct str folder, const char *text, bool common)
{
    char path[PATH_TEXT_MAX];
    char plain[PATH_TEXT_MAX];
    char line[PATH_TEXT_MAX];
    size_t n;
    struct statx st;
    if (!follow_locate(f, folder, text, path))
        return;
    follow_links_on_way(f, path);
    FD_AT_END int fd = follow_open(f, path, plain, &n, &st);
    if (fd < 0)
        follow_missing(f, path, GUARDED_GIT);
    if (fd < 0 || n == 0 || !S_ISDIR(st.stx_mode))
        return;
    struct str target = {plain, n};
    if (!path_lies_in(folder, target) && !(folder.n == target.n && memcmp(folder.p, plain, n) == 0))
        follow_add(f, target, GUARDED_GIT, &st);
    if (common && follow_read_line(fd, "commondir", line))
        follow_git_directory(f, target, line, false);
    /* A common directory needs no HEAD, so it may be no git directory by what is in it. */
    if (!common)
        follow_parts(f, target, false);
}

/* What the configuration of the git directory that a `.git` file names, and of its common directory, leads to in the
 * folder of that file. */
static void follow_settings_of(struct following *f, struct str around, const char *text)
{
    char git[PATH_TEXT_MAX];
    char line[PATH_TEXT_MAX];
    if (!follow_locate(f, around, text, git))
        return;
    follow_settings(f, (struct str){git, strlen(git)}, around);
    FD_AT_END int fd = beneath_open_at(f->root.fd, git, O_PATH | O_DIRECTORY, 0, 0);
    if (fd < 0 || !follow_read_line(fd, "commondir", line))
        return;
    char common[PATH_TEXT_MAX];
    if (follow_locate(f, (struct str){git, strlen(git)}, line, common))
        follow_settings(f, (struct str){common, strlen(common)}, around);
}

/* Its settings name things from the folder of the link on, not from where the link leads. */
static void follow_git_link(struct following *f, struct str path)
{
    struct str name = path_name_of(path);
    char own[8] = {0};
    struct str around = {path.p, path.n > name.n ? path.n - name.n - 1 : 0};
    memcpy(own, name.p, name.n);
    follow_settings_of(f, around, own);
}

static void follow_git_file(struct following *f, struct str path)
{
    char folder[PATH_TEXT_MAX];
    char line[PATH_TEXT_MAX];
    const size_t name = strlen(".git");
    struct str around = {path.p, path.n > name ? path.n - name - 1 : 0};
    memcpy(folder, around.p, around.n);
    folder[around.n] = '\0';
    FD_AT_END int fd = beneath_open_at(f->root.fd, around.n ? folder : ".", O_PATH | O_DIRECTORY, 0,
                                       0);
    char own[8] = {0};
    memcpy(own, path.p + path.n - name, name);
    if (fd < 0 || !follow_read_line(fd, own, line) ||
        strncmp(line, GIT_FILE_PREFIX, strlen(GIT_FILE_PREFIX)) != 0)
        return;
    const char *text = line + strlen(GIT_FILE_PREFIX);
    text += strspn(text, " ");
    follow_git_directory(f, around, text, true);
    follow_settings_of(f, around, text);
}

static bool is_git_file(const struct guarded_item *item, struct str path)
{
    return item->kind == GUARDED_PROTECTED && item->type == TYPE_FILE && ends_in_git_name(path);
}

static void keep_folder(struct tree *t, uint32_t folder, uint8_t kind)
{
    t->folders[folder].kind = kind;
    if (kind != GUARDED_SECRET)
        return;
    tree_empty_folder(t, folder);
    t->folders[folder].flags &= (uint16_t)~TREE_READ;
}

static void keep_file(struct tree *t, uint32_t folder, struct str name,
                      const struct guarded_item *item)
{
    struct tree_mark *mark = NULL;
    for (uint32_t at = t->folders[folder].marks; at != TREE_NONE; at = t->marks[at].next) {
        struct str other = tree_name(t, t->marks[at].name, t->marks[at].name_n);
        if (other.n == name.n && memcmp(other.p, name.p, name.n) == 0)
            mark = &t->marks[at];
    }
    if (!mark)
        mark = tree_add_mark(t, folder, name);
    mark->kind = item->kind;
    mark->type = item->type;
    mark->id = item->id;
}

void guarded_keep_followed(struct tree *t, const struct guarded_list *list)
{
    t->links = list->leads;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct guarded_item *item = &list->items[i];
        struct str path = guarded_path(list, item);
        const char *slash = memrchr(path.p, '/', path.n);
        struct str folder = {path.p, slash ? (size_t)(slash - path.p) : 0};
        struct str name = {path.p + folder.n + (slash != NULL),
                           path.n - folder.n - (slash != NULL)};
        t->links |= item->type == TYPE_SYMLINK || is_git_file(item, path);
        if (!item->followed || item->led)
            continue;
        uint32_t at = tree_find(t, item->type == TYPE_DIRECTORY ? path : folder);
        if (at != TREE_NONE && item->type == TYPE_DIRECTORY)
            keep_folder(t, at, item->kind);
        else if (at != TREE_NONE)
            keep_file(t, at, name, item);
    }
}

static void follow_guarded_item(struct following *f, bool git, const struct guarded_item *item)
{
    struct str path = guarded_path(f->list, item);
    bool link = item->type == TYPE_SYMLINK;
    f->made = item->made;
    if (link && git && !item->made && ends_in_git_name(path))
        follow_git_link(f, path);
    if (link && item->kind == GUARDED_WAY)
        follow_way(f, path);
    else if (link &&
             (item->kind == GUARDED_PROTECTED || (item->kind == GUARDED_SECRET && !item->made)))
        follow_link(f, path, item->kind);
    else if (git && is_git_file(item, path))
        follow_git_file(f, path);
    else if (git && item->kind == GUARDED_GIT && item->type == TYPE_DIRECTORY && !item->made)
        follow_parts(f, path, true);
    else if (item->type == TYPE_DIRECTORY && !item->made &&
             (item->kind == GUARDED_PROTECTED || item->kind == GUARDED_SECRET))
        follow_inside(f, path, item->kind);
}

int guarded_follow(const struct beneath_root *root, const struct tree *tree,
                   const struct follow_limits *limits, struct guarded_list *list)
{
    static _Thread_local struct following f;
    f.root = *root;
    f.root.guard = NULL;
    f.root.trees = NULL;
    f.guard = root->guard;
    f.root.no_links = f.root.as_named = false;
    f.list = list;
    f.tree = tree;
    f.ran_ns = limits->ran_ns;
    f.missing = limits->missing;
    guarded_init(&f.more);
    f.outward = limits->outward;
    outward_begin(f.outward, limits->ran_ns == 0);
    f.inside = 0;
    f.depth = f.error = 0;
    beneath_take_lack();
    for (uint32_t i = 0; i < list->count && f.more.count <= FOLLOWED_MAX; i++)
        follow_guarded_item(&f, limits->git, &list->items[i]);
    f.made = false;
    follow_back(&f);
    /* The root is not covered as a whole, and no entry of the list. */
    if (limits->git && (tree->folders[0].flags & TREE_GIT) == TREE_GIT)
        follow_parts(&f, STR(""), true);
    for (uint32_t i = 0; i < f.more.count; i++)
        guarded_add(list, &f.more.items[i], guarded_path(&f.more, &f.more.items[i]));
    guarded_done(&f.more);
    guarded_sort(list);
    int error = outward_end(f.outward);
    int lack = beneath_take_lack();
    if (list->count > limits->max || list->paths.failed)
        return -E2BIG;
    return error < 0 ? error : f.error < 0 ? f.error : -lack;
}
