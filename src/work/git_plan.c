#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/git_files.h"
#include "work/git_has.h"
#include "work/git_import.h"
#include "work/git_index.h"

#define ENTRIES_MAX 1000000
#define DEPTH_MAX 64
#define NAMES_MAX ((size_t)64 << 20)
#define INDEX_MAX ((size_t)128 << 20)
#define TEXT_MAX ((size_t)64 << 20)
/* Of all that is kept in memory until it is put in place. */
#define KEPT_MAX ((size_t)256 << 20)

struct walk {
    struct git_import *im;
    struct git_layer *layer;
    struct err *err;
    char path[PATH_TEXT_MAX];
    int depth;
};

/* With a cause for all the rest of its layer. */
static bool is_told(const struct git_import *im, bool cause)
{
    return im->reply->dropped < OP_DROPPED_TOLD ||
           (cause && im->reply->refused < OP_DROPPED_MAX - OP_DROPPED_TOLD);
}

void git_drop(struct git_import *im, struct git_layer *layer, const char *path, bool cause)
{
    bool first = cause && !layer->refused;
    bool told = is_told(im, first);
    im->reply->dropped++;
    im->reply->refused += first;
    layer->refused |= cause;
    if (!told)
        return;
    FREE_AT_END char *whole = mem_format("%s/%s", layer->path, path);
    struct op_layer name = {layer->of.root, {whole, strlen(whole)}};
    if (op_is_relative_path(name.path))
        op_layer_add(&im->w->body, &name);
}

static bool is_repository_path(void *arg, struct str path)
{
    const struct git_layer *layer = arg;
    struct stat st;
    FREE_AT_END char *head = mem_format("%.*s/HEAD", (int)path.n, path.p);
    return git_file_stat(layer->git, head, &st) == 0 && S_ISREG(st.st_mode);
}

static struct git_name name_of_git_path(const struct walk *w, const char *path)
{
    return git_name_of((struct str){path, strlen(path)}, w->layer->hex, is_repository_path,
                       w->layer);
}

static bool has_left_group(const struct git_layer *layer, const char *path, size_t group)
{
    for (size_t i = 0; group && i < layer->n_left; i++) {
        if (strncmp(layer->left[i], path, group) == 0 && layer->left[i][group] == '\0')
            return true;
    }
    return false;
}

static void drop_change(struct walk *w, struct git_change *c)
{
    if (c->kind != GIT_UNKNOWN)
        git_drop(w->im, w->layer, c->path, false);
    c->kind = GIT_UNKNOWN;
}

/* A folder of which all or nothing is taken over loses what was found of it, and gets nothing more. */
static void leave_group(struct walk *w, const char *path, size_t group)
{
    struct git_layer *layer = w->layer;
    if (has_left_group(layer, path, group))
        return;
    for (size_t i = 0; i < layer->n; i++) {
        struct git_change *c = &layer->changes[i];
        if (c->group == group && strncmp(c->path, path, group) == 0)
            drop_change(w, c);
    }
    layer->left = mem_grow(layer->left, layer->n_left + 1, sizeof *layer->left);
    layer->left[layer->n_left++] = mem_copy(path, group);
}

static bool is_shallow(const struct git_name *name)
{
    return str_is(name->inner, "shallow");
}

static struct git_change *add_planned_change(struct walk *w, const char *path,
                                             const struct git_name *name)
{
    struct git_layer *layer = w->layer;
    if ((layer->n & (layer->n - 1)) == 0)
        layer->changes = mem_grow(layer->changes, layer->n ? 2 * layer->n : 1,
                                  sizeof *layer->changes);
    struct git_change *c = &layer->changes[layer->n++];
    *c = (struct git_change){.path = mem_dup(path), .kind = name->kind, .group = name->group};
    c->inner = (size_t)(name->inner.p - path);
    c->shallow = is_shallow(name);
    if (has_left_group(layer, path, name->group))
        drop_change(w, c);
    return c;
}

/* What cannot be taken over. Without HEAD, the index, packed-refs and where history ends the rest would not fit together. */
static void refuse_git_entry(struct walk *w, const char *path, const struct git_name *name)
{
    git_drop(w->im, w->layer, path,
             name->kind == GIT_HEAD || name->kind == GIT_INDEX || name->kind == GIT_PACKED_REFS ||
                 is_shallow(name));
    if (name->group && !git_is_lock(name->inner))
        leave_group(w, path, name->group);
}

static int count_planned_entry(struct walk *w, int64_t bytes)
{
    struct git_import *im = w->im;
    im->bytes += bytes;
    if (++im->entries > ENTRIES_MAX || im->bytes > im->q->max_bytes || im->kept > KEPT_MAX)
        return err_set(w->err, ERR_TOO_LARGE,
                       "the command wrote more to git directories than can be taken over; nothing "
                       "of it was");
    return work_check_cancel(im->w, w->err);
}

/* --- removals */

/* What may not be written in a folder of its own (a rebase) can be removed with it. */
static void add_removal(struct walk *w, const char *path, struct git_name *name)
{
    if (name->kind == GIT_UNKNOWN)
        name->kind = GIT_STATE;
    add_planned_change(w, path, name)->remove = true;
}

static void plan_file_removal(struct walk *w, const char *path, const struct stat *st)
{
    struct git_name name = name_of_git_path(w, path);
    /* Something of the user's may refer to it. A collection removes thousands: they are counted. */
    if (name.kind == GIT_OBJECT || name.kind == GIT_PACK)
        w->im->reply->kept++;
    else if (S_ISREG(st->st_mode) && git_may_remove(&name))
        add_removal(w, path, &name);
    else
        refuse_git_entry(w, path, &name);
}

/* Git itself removes folders of refs and objects, and makes them again. */
static void tell_folder(struct walk *w)
{
    struct git_name name = name_of_git_path(w, w->path);
    if (!git_is_among_refs(name.inner) && !git_is_among_objects(name.inner))
        git_drop(w->im, w->layer, w->path, false);
}

/* The file, or all files in the folder, that is there; w->path holds its name and stays as it is. */
static int remove_real(struct walk *w, size_t n)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    struct stat st;
    int r = git_file_stat(w->layer->git, w->path, &st);
    if (r < 0) {
        if (r != -ENOENT)
            git_drop(w->im, w->layer, w->path, false);
        return 0;
    }
    if (count_planned_entry(w, 0) < 0)
        return -1;
    if (!S_ISDIR(st.st_mode)) {
        plan_file_removal(w, w->path, &st);
        return 0;
    }
    FD_AT_END int dir = beneath_open_child(w->layer->git, w->path);
    if (dir < 0 || git_file_list(dir, &names) < 0 || w->depth >= DEPTH_MAX)
        return err_set(w->err, ERR_TOO_LARGE, "`%s/%s` cannot be looked through", w->layer->path,
                       w->path);
    if (names.len == 0)
        tell_folder(w);
    w->depth++;
    for (size_t at = 0; r == 0 && at < names.len; at += strlen(names.data + at) + 1) {
        size_t length = strlen(names.data + at);
        if (n + length + 2 > sizeof w->path) {
            git_drop(w->im, w->layer, w->path, false);
            continue;
        }
        snprintf(w->path + n, sizeof w->path - n, "/%s", names.data + at);
        r = remove_real(w, n + 1 + length);
        w->path[n] = '\0';
    }
    w->depth--;
    return r;
}

/* --- files */

static bool is_as_there(const struct walk *w, struct str content)
{
    BUF_AT_END struct buf there = BUF_INIT(content.n + 1);
    return git_file_read(w->layer->git, w->path, content.n, &there) == 0 &&
           there.len == content.n && memcmp(buf_str(&there).p, content.p, content.n) == 0;
}

static const char *take_index(const struct walk *w, struct str content, struct buf *out,
                              bool *ret_same)
{
    BUF_AT_END struct buf old = BUF_INIT(INDEX_MAX + 1);
    buf_init(out, INDEX_MAX);
    if (git_file_read(w->layer->git, w->path, INDEX_MAX, &old) < 0)
        old.len = 0;
    *ret_same = git_index_is_same(content, buf_str(&old), w->layer->hex);
    return *ret_same ? NULL : git_index_take(content, buf_str(&old), w->layer->hex, out);
}

static bool is_packed_refs(const struct walk *w, struct str content)
{
    BUF_AT_END struct buf old = BUF_INIT(TEXT_MAX + 1);
    if (git_file_read(w->layer->git, w->path, TEXT_MAX, &old) < 0)
        old.len = 0;
    return git_is_packed_refs(content, buf_str(&old), w->layer->hex);
}

/* Of a log that grew only what is new is looked at. */
static bool is_log_content(const struct walk *w, struct str content)
{
    BUF_AT_END struct buf old = BUF_INIT(TEXT_MAX + 1);
    if (git_file_read(w->layer->git, w->path, TEXT_MAX, &old) < 0)
        old.len = 0;
    bool grew = old.len > 0 && old.len <= content.n && memcmp(old.data, content.p, old.len) == 0 &&
                old.data[old.len - 1] == '\n';
    size_t n = grew ? old.len : 0;
    return git_is_log((struct str){content.p + n, content.n - n}, w->layer->hex);
}

/* Where history ends: at commits that are there, or that the command has brought. */
static bool is_known_end(const struct walk *w, struct str content)
{
    struct str line;
    bool whole;
    while (git_next_line(&content, &line, &whole)) {
        /* Each is looked for in all packs. */
        if (!whole || work_check_cancel(w->im->w, w->err) < 0 ||
            (!git_has_object(w->layer->git, line) && !git_has_object(w->layer->upper, line)))
            return false;
    }
    return true;
}

static bool has_form_of_kind(const struct walk *w, const struct git_name *name, struct str content)
{
    if (name->kind == GIT_PACKED_REFS)
        return is_packed_refs(w, content);
    if (name->kind == GIT_LOG)
        return is_log_content(w, content);
    return name->check(content, w->layer->hex) && (!is_shallow(name) || is_known_end(w, content));
}

/* Content that may be taken over, into *ret. 1: it is the same as before; -1: it may not. */
static int judge_git_content(const struct walk *w, const struct git_name *name, struct buf *content,
                             struct buf *ret)
{
    struct str bytes = buf_str(content);
    bool same = is_as_there(w, bytes);
    if (same || name->kind == GIT_UNKNOWN)
        return same ? 1 : -1;
    if (name->kind == GIT_INDEX) {
        if (take_index(w, bytes, ret, &same))
            return -1;
        return same;
    }
    if (!has_form_of_kind(w, name, bytes))
        return -1;
    *ret = *content;
    *content = BUF_INIT(0);
    return 0;
}

static int replace_folder(struct walk *w, size_t n)
{
    struct stat st;
    bool folder = git_file_stat(w->layer->git, w->path, &st) == 0 && S_ISDIR(st.st_mode);
    return folder ? remove_real(w, n) : 0;
}

/* What there is stays. Git sets the time of an object that it would write again, which copies the file to the layer. */
static int keep_object(struct walk *w, const struct git_name *name)
{
    int r = git_files_compare(w->im->w, w->layer->git, w->layer->upper, w->path);
    if (r == -ECANCELED)
        return work_check_cancel(w->im->w, w->err);
    if (r != 0)
        refuse_git_entry(w, w->path, name);
    return 0;
}

static int take_object(struct walk *w, const struct git_name *name, const struct stat *st)
{
    struct stat there;
    int r = git_file_stat(w->layer->git, w->path, &there);
    if (r == 0 && S_ISREG(there.st_mode))
        return keep_object(w, name);
    if (r != -ENOENT)
        refuse_git_entry(w, w->path, name);
    else
        add_planned_change(w, w->path, name)->mode = st->st_mode & 0444;
    return 0;
}

/* Hooks and settings: whether they can be run or read is not the command's to say. */
static bool has_other_mode(const struct stat *st, const struct stat *there)
{
    return ((st->st_mode ^ there->st_mode) & 07777) != 0;
}

static int take_layer_file(struct walk *w, size_t n, const struct stat *st)
{
    struct git_name name = name_of_git_path(w, w->path);
    struct stat there;
    if (count_planned_entry(w, st->st_size) < 0)
        return -1;
    if (name.kind == GIT_OBJECT || name.kind == GIT_PACK)
        return take_object(w, &name, st);
    BUF_AT_END struct buf content = BUF_INIT(INDEX_MAX + 1);
    struct buf taken = BUF_INIT(0);
    size_t max = name.kind == GIT_INDEX ? INDEX_MAX : TEXT_MAX;
    int r = git_file_read(w->layer->upper, w->path, max, &content) < 0
                ? -1
                : judge_git_content(w, &name, &content, &taken);
    bool is_there = git_file_stat(w->layer->git, w->path, &there) == 0;
    if (r == 0 && is_there && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        r = -1;
    if (r == 1 && name.kind == GIT_UNKNOWN && is_there && has_other_mode(st, &there))
        r = -1;
    if (r == 0 && replace_folder(w, n) < 0) {
        buf_done(&taken);
        return -1;
    }
    if (r != 0) {
        buf_done(&taken);
        if (r < 0)
            refuse_git_entry(w, w->path, &name);
        return 0;
    }
    struct git_change *c = add_planned_change(w, w->path, &name);
    c->content = taken;
    w->im->kept += taken.len;
    c->mode = (is_there && S_ISREG(there.st_mode) ? there.st_mode : st->st_mode) & 0666;
    return 0;
}

/* --- the walk */

static bool is_opaque(int dir)
{
    char value[4];
    return fgetxattr(dir, "user.overlay.opaque", value, sizeof value) == 1 && value[0] == 'y';
}

/* Of a folder that was made anew nothing shows through that was there before. */
static int remove_hidden(struct walk *w, int upper, size_t n)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    struct stat st;
    int r = 0;
    FD_AT_END int dir = n ? beneath_open_child(w->layer->git, w->path) : -1;
    if (dir < 0 || git_file_list(dir, &names) < 0)
        return 0;
    for (size_t at = 0; r == 0 && at < names.len; at += strlen(names.data + at) + 1) {
        const char *name = names.data + at;
        size_t length = strlen(name);
        if (fstatat(upper, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        if (n + length + 2 > sizeof w->path) {
            git_drop(w->im, w->layer, w->path, false);
            continue;
        }
        snprintf(w->path + n, sizeof w->path - n, "/%s", name);
        r = remove_real(w, n + 1 + length);
        w->path[n] = '\0';
    }
    return r;
}

static bool is_empty_git_folder(int dir)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    return git_file_list(dir, &names) == 0 && names.len == 0;
}

/* Of what is in a folder each name is told. What it says by being there, or by its mode, is not taken over either. Empty
 * folders between refs say nothing, and git leaves some behind. */
static bool is_lost_git_folder(const struct walk *w, int dir, const struct stat *st,
                               const struct git_name *name)
{
    struct stat there;
    int r = git_file_stat(w->layer->git, w->path, &there);
    if (r < 0)
        return !git_is_among_refs(name->inner) && is_empty_git_folder(dir);
    return S_ISDIR(there.st_mode) && has_other_mode(st, &there);
}

static int look_into_layer(struct walk *w, int upper, size_t n);

static int look_at_folder(struct walk *w, int parent, const char *entry, size_t n,
                          const struct stat *st)
{
    struct stat there;
    struct git_name name = name_of_git_path(w, w->path);
    FD_AT_END int dir = w->depth < DEPTH_MAX ? beneath_open_child(parent, entry) : -1;
    if (count_planned_entry(w, 0) < 0)
        return -1;
    if (dir < 0) {
        refuse_git_entry(w, w->path, &name);
        return 0;
    }
    if (is_lost_git_folder(w, dir, st, &name))
        git_drop(w->im, w->layer, w->path, false);
    /* A folder in the place of a file. */
    if (git_file_stat(w->layer->git, w->path, &there) == 0 && !S_ISDIR(there.st_mode))
        plan_file_removal(w, w->path, &there);
    else if (is_opaque(dir) && remove_hidden(w, dir, n) < 0)
        return -1;
    return look_into_layer(w, dir, n);
}

static int look_at_layer_entry(struct walk *w, int dir, const char *entry, size_t n)
{
    struct stat st;
    if (fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        git_drop(w->im, w->layer, w->path, false);
        return 0;
    }
    if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0))
        return remove_real(w, n);
    if (S_ISDIR(st.st_mode))
        return look_at_folder(w, dir, entry, n, &st);
    if (S_ISREG(st.st_mode))
        return take_layer_file(w, n, &st);
    struct git_name name = name_of_git_path(w, w->path);
    refuse_git_entry(w, w->path, &name);
    return count_planned_entry(w, 0);
}

static int look_into_layer(struct walk *w, int upper, size_t n)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    int r = git_file_list(upper, &names);
    if (r < 0)
        return err_set(w->err, ERR_INTERNAL, "reading what was written to `%s/%s`: %s",
                       w->layer->path, w->path, strerror(-r));
    w->depth++;
    for (size_t at = 0; r == 0 && at < names.len; at += strlen(names.data + at) + 1) {
        const char *name = names.data + at;
        size_t length = strlen(name);
        size_t slash = n > 0;
        if (n + slash + length + 1 > sizeof w->path) {
            git_drop(w->im, w->layer, w->path, false);
            continue;
        }
        snprintf(w->path + n, sizeof w->path - n, "%s%s", slash ? "/" : "", name);
        r = look_at_layer_entry(w, upper, name, n + slash + length);
        w->path[n] = '\0';
    }
    w->depth--;
    return r;
}

int git_plan(struct git_import *im, struct git_layer *layer, struct err *err)
{
    struct walk *w = mem_zero(sizeof *w);
    w->im = im;
    w->layer = layer;
    w->err = err;
    int r = look_into_layer(w, layer->upper, 0);
    if (r == 0)
        git_drop_loops(im, layer);
    free(w);
    return r;
}
