/* Refs, logs, HEAD, the index and what else is no object: each is written beside its place first, then renamed to the
 * name of git's own lock for it, and when all locks are held and nothing has moved meanwhile, to its place. A worker
 * that is killed leaves each file old or new; the note in the store says which locks are ours. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "core/path.h"
#include "work/git_files.h"
#include "work/git_import.h"

#define NOTE_MAX ((size_t)64 << 20)
#define LOCK_END ".lock"

/* What follows what: refs that were packed stay known, and nothing points to what is not there yet. */
enum turn { TURN_PACKED, TURN_REMOVE, TURN_WRITE, TURN_HEAD, TURN_INDEX, TURNS };

static enum turn turn_of(const struct git_change *c)
{
    if (c->remove)
        return TURN_REMOVE;
    switch (c->kind) {
    case GIT_PACKED_REFS:
        return TURN_PACKED;
    case GIT_HEAD:
        return TURN_HEAD;
    case GIT_INDEX:
        return TURN_INDEX;
    default:
        return TURN_WRITE;
    }
}

static bool is_ours(const struct git_change *c)
{
    return c->kind >= GIT_HEAD;
}

static bool has_lock(const struct git_change *c)
{
    return c->kind == GIT_HEAD || c->kind == GIT_INDEX || c->kind == GIT_PACKED_REFS ||
           c->kind == GIT_REF;
}

/* Those that others change too. */
static bool is_compared(const struct git_change *c)
{
    return has_lock(c) || c->kind == GIT_LOG;
}

typedef int (*change_fn)(struct git_import *im, struct git_layer *layer, struct git_change *c,
                         struct err *err);

static int for_each(struct git_import *im, change_fn fn, struct err *err)
{
    for (size_t i = 0; i < im->n_layers; i++) {
        struct git_layer *layer = &im->layers[i];
        for (size_t k = 0; !layer->refused && k < layer->n; k++) {
            if (is_ours(&layer->changes[k]) && fn(im, layer, &layer->changes[k], err) < 0)
                return -1;
        }
    }
    return 0;
}

static int tell_commit_failure(struct err *err, int error, const struct git_layer *layer,
                               const struct git_change *c)
{
    FREE_AT_END char *path = mem_format("%s/%s", layer->path, c->path);
    return beneath_errno(err, -error, path);
}

static int write_temp(struct git_import *im, struct git_layer *layer, struct git_change *c,
                      struct err *err)
{
    /* What is removed needs only the lock. */
    if (c->remove && !has_lock(c))
        return 0;
    git_temp_name(im, c->temp);
    int r = git_temp_write(im, layer->git, c->temp, buf_str(&c->content),
                           c->remove ? 0600 : c->mode, &c->inode);
    c->made = r == 0;
    return r < 0 ? tell_commit_failure(err, r, layer, c) : 0;
}

/* --- the note */

struct noted {
    uint64_t inode;
    uint64_t length;
};

static void note_name(struct buf *out, const struct git_layer *layer, uint64_t inode,
                      const char *name)
{
    BUF_AT_END struct buf packed = BUF_INIT(2 * (size_t)PATH_TEXT_MAX);
    FREE_AT_END char *whole = mem_format("%s/%s", layer->path, name);
    op_layer_add(&packed, &(struct op_layer){layer->of.root, {whole, strlen(whole)}});
    struct noted noted = {inode, packed.len};
    buf_add(out, &noted, sizeof noted);
    buf_add(out, packed.data, packed.len);
}

static int write_lock_note(struct git_import *im, struct err *err)
{
    BUF_AT_END struct buf out = BUF_INIT(NOTE_MAX);
    FD_AT_END int fd = -1;
    for (size_t i = 0; i < im->n_layers; i++) {
        const struct git_layer *layer = &im->layers[i];
        for (size_t k = 0; k < layer->n; k++) {
            const struct git_change *c = &layer->changes[k];
            if (!c->made)
                continue;
            FREE_AT_END char *lock = mem_format("%s" LOCK_END, c->path);
            if (has_lock(c))
                note_name(&out, layer, c->inode, lock);
        }
    }
    int r = out.failed ? -ENOBUFS
            : beneath_create(im->folder, GIT_NOTE_FILE, &fd) < 0
                ? -errno
                : fd_write_all(fd, out.data, out.len);
    return r < 0 ? err_set(err, err_code_for_file(-r), "noting the locks of git directories: %s",
                           strerror(-r))
                 : 0;
}

static void undo_one(struct work *w, const struct op_layer *at, uint64_t inode)
{
    struct stat st;
    const char *name;
    if ((size_t)at->root >= w->n_roots)
        return;
    FREE_AT_END char *path = mem_copy(at->path.p, at->path.n);
    FD_AT_END int parent = git_file_parent(w->roots[at->root].fd, path, false, &name);
    if (parent >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode) && st.st_ino == inode)
        unlinkat(parent, name, 0);
}

void git_commit_undo(struct work *w, int folder)
{
    BUF_AT_END struct buf note = BUF_INIT(NOTE_MAX + 1);
    if (git_file_read(folder, GIT_NOTE_FILE, NOTE_MAX, &note) < 0)
        return;
    for (struct str rest = buf_str(&note); rest.n >= sizeof(struct noted);) {
        struct noted noted;
        struct op_layer at;
        memcpy(&noted, rest.p, sizeof noted);
        rest = (struct str){rest.p + sizeof noted, rest.n - sizeof noted};
        if (noted.length > rest.n)
            return;
        struct str packed = {rest.p, noted.length};
        if (op_layer_next(&packed, &at) <= 0)
            return;
        undo_one(w, &at, noted.inode);
        rest = (struct str){rest.p + noted.length, rest.n - noted.length};
    }
}

/* --- locks */

/* Where a file is in the place of a folder on the way, that file's own lock serves. */
static int lock_one(struct git_import *im, struct git_layer *layer, struct git_change *c,
                    struct err *err)
{
    const char *name;
    (void)im;
    if (!has_lock(c))
        return 0;
    FREE_AT_END char *path = mem_format("%s" LOCK_END, c->path);
    FD_AT_END int parent = git_file_parent(layer->git, path, !c->remove, &name);
    if (parent == -ENOENT)
        return 0;
    int r = parent < 0                                                           ? parent
            : renameat2(layer->git, c->temp, parent, name, RENAME_NOREPLACE) < 0 ? -errno
                                                                                 : 0;
    c->locked = r == 0;
    if (r == -EEXIST) {
        err_set(err, ERR_CONFLICT,
                "`%s/%s" LOCK_END
                "` exists: another git process works in the repository. Nothing that the command "
                "wrote to git directories was taken over; run it again",
                layer->path, c->path);
        return err_reason(err, "git_locked");
    }
    return r < 0 ? tell_commit_failure(err, r, layer, c) : 0;
}

static bool is_link_in_git(const struct git_layer *layer, const char *path)
{
    struct stat st;
    return git_file_stat(layer->git, path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Nobody changed it, and it fails each time: nothing is read or written through links in a git directory. */
static int refuse_link(const struct git_layer *layer, const char *path, struct err *err)
{
    err_set(err, ERR_PERMISSION_DENIED,
            "`%s/%s` is a link, and git directories are not written through links. Nothing that "
            "the command wrote to git directories was taken over; replace the link by the file "
            "that it leads to, or run git outside of Sandgate",
            layer->path, path);
    return err_reason(err, "git_link");
}

static int compare_with_base(struct git_import *im, struct git_layer *layer, struct git_change *c,
                             struct err *err)
{
    (void)im;
    /* A ref may have been changed where it is packed. */
    FREE_AT_END char *packed = mem_format("%.*spacked-refs", (int)c->inner, c->path);
    if (!is_compared(c) ||
        (git_base_holds(&layer->base, layer->git, c->path) &&
         (c->kind != GIT_REF || git_base_holds(&layer->base, layer->git, packed))))
        return 0;
    if (is_link_in_git(layer, c->path))
        return refuse_link(layer, c->path, err);
    if (c->kind == GIT_REF && is_link_in_git(layer, packed))
        return refuse_link(layer, packed, err);
    err_set(err, ERR_CONFLICT,
            "`%s/%s` was changed by someone else while the command ran. Nothing that the command "
            "wrote to git directories was taken over; look at the repository and run it again",
            layer->path, c->path);
    return err_reason(err, "git_changed");
}

static int clear(struct git_import *im, struct git_layer *layer, struct git_change *c,
                 struct err *err)
{
    const char *name;
    (void)im;
    (void)err;
    if (c->locked) {
        FREE_AT_END char *path = mem_format("%s" LOCK_END, c->path);
        FD_AT_END int parent = git_file_parent(layer->git, path, false, &name);
        if (parent >= 0)
            (void)unlinkat(parent, name, 0);
    } else if (c->made) {
        (void)unlinkat(layer->git, c->temp, 0);
    }
    c->locked = c->made = false;
    return 0;
}

/* --- putting in place */

/* Folders that a repository has even where they are empty. */
static bool is_kept_when_empty(struct str folder)
{
    static const char *const kept[] = {"refs",         "refs/heads", "refs/tags",
                                       "refs/remotes", "logs",       "logs/refs",
                                       "modules",      "worktrees",  "logs/refs/heads"};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        size_t n = strlen(kept[i]);
        if (folder.n >= n && memcmp(folder.p + folder.n - n, kept[i], n) == 0 &&
            (folder.n == n || folder.p[folder.n - n - 1] == '/'))
            return true;
    }
    return false;
}

/* A rebase is over when its folder is gone. */
static void remove_empty_parents(int git, const char *path)
{
    FREE_AT_END char *folder = mem_dup(path);
    for (char *slash; (slash = strrchr(folder, '/'));) {
        const char *name;
        *slash = '\0';
        if (is_kept_when_empty((struct str){folder, strlen(folder)}))
            return;
        FD_AT_END int parent = git_file_parent(git, folder, false, &name);
        if (parent < 0 || unlinkat(parent, name, AT_REMOVEDIR) < 0)
            return;
    }
}

/* Folders in which a ref was, and is no more. */
static void remove_empty_folder(int parent, const char *name)
{
    BUF_AT_END struct buf names = BUF_INIT(1u << 20);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return;
    FD_AT_END int dir = beneath_open_child(parent, name);
    if (dir < 0 || git_file_list(dir, &names) < 0)
        return;
    for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
        remove_empty_folder(dir, names.data + at);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

static int put_file(struct git_layer *layer, struct git_change *c)
{
    const char *name;
    FREE_AT_END char *lock = mem_format("%s" LOCK_END, c->path);
    const char *lock_name = path_name(lock);
    FD_AT_END int parent = git_file_parent(layer->git, c->path, true, &name);
    if (parent < 0)
        return parent;
    int from = c->locked ? parent : layer->git;
    const char *from_name = c->locked ? lock_name : c->temp;
    if (renameat(from, from_name, parent, name) < 0) {
        if (errno != EISDIR && errno != EEXIST && errno != ENOTEMPTY)
            return -errno;
        remove_empty_folder(parent, name);
        if (renameat(from, from_name, parent, name) < 0)
            return -errno;
    }
    c->locked = c->made = false;
    return 0;
}

static int remove_git_file(struct git_layer *layer, const struct git_change *c)
{
    const char *name;
    FD_AT_END int parent = git_file_parent(layer->git, c->path, false, &name);
    if (parent < 0)
        return parent == -ENOENT ? 0 : parent;
    return unlinkat(parent, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int put_change_in_place(struct git_import *im, struct git_layer *layer, struct git_change *c,
                               struct err *err)
{
    int r = c->remove ? remove_git_file(layer, c) : put_file(layer, c);
    if (r < 0)
        return tell_commit_failure(err, r, layer, c);
    if (c->remove) {
        clear(im, layer, c, err);
        remove_empty_parents(layer->git, c->path);
    }
    im->reply->taken++;
    return 0;
}

static int put_in_turn(struct git_import *im, struct git_layer *layer, struct git_change *c,
                       struct err *err)
{
    return turn_of(c) == (enum turn)im->turn ? put_change_in_place(im, layer, c, err) : 0;
}

static int check_layers(struct git_import *im, struct err *err)
{
    for (size_t i = 0; i < im->n_layers; i++) {
        if (!im->layers[i].refused && git_layer_check(im, &im->layers[i], err) < 0)
            return -1;
    }
    return 0;
}

int git_commit(struct git_import *im, struct err *err)
{
    struct err ignored;
    int r = for_each(im, write_temp, err);
    if (r == 0)
        r = write_lock_note(im, err);
    if (r == 0)
        r = for_each(im, lock_one, err);
    if (r == 0)
        r = check_layers(im, err);
    if (r == 0)
        r = for_each(im, compare_with_base, err);
    for (im->turn = 0; r == 0 && im->turn < TURNS; im->turn++)
        r = for_each(im, put_in_turn, err);
    for_each(im, clear, &ignored);
    return r;
}
