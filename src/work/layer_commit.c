/* Which steps a commit has, whether all of them can be made, and their order. */
#include "work/layer_commit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/beneath_walk.h"
#include "work/dir_entries.h"
#include "work/layer_marks.h"

#define FILE_ROOM 4096
/* More files than that are quicker waited for all together, with what others have written meanwhile. */
#define SYNCED_EACH 32

int commit_parent(int root, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    FREE_AT_END char *parent = slash ? mem_copy(path, (size_t)(slash - path)) : mem_dup(".");
    *ret_name = slash ? slash + 1 : path;
    int fd = beneath_open_at(root, parent, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0,
                             RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    return fd < 0 ? -errno : fd;
}

void commit_temp_name(const struct committing *c, size_t step, char out[COMMIT_TEMP_MAX])
{
    snprintf(out, COMMIT_TEMP_MAX, OP_TEMP_PREFIX "%s-c%zx", c->tag, step);
}

int commit_failed(struct err *err, int error, const struct commit_step *step)
{
    return beneath_errno(err, -error, step->path);
}

static int changed_meanwhile(struct err *err, const struct commit_step *step, const char *side)
{
    err_set(err, ERR_CONFLICT,
            "`%.200s` was changed in the %s since it was looked at; nothing was taken over, look "
            "again",
            step->path, side);
    return err_reason(err, "changed_meanwhile");
}

/* --- the steps */

static enum step_kind kind_of_step(const struct op_changed *of)
{
    bool was_folder = of->before.type == NODE_FOLDER;
    if (of->drop)
        return STEP_DROP;
    if (of->after.type == NODE_NONE)
        return STEP_DELETE;
    if (of->before.type == NODE_NONE)
        return STEP_NEW;
    if (of->after.type == NODE_FOLDER)
        return was_folder ? STEP_MODE : STEP_UNFOLD;
    if (was_folder)
        return STEP_FOLD;
    return of->before.type == NODE_FILE && layer_node_holds_same(&of->before, &of->after)
               ? STEP_MODE
               : STEP_SWAP;
}

/* So that all that lies in a folder stands behind it. */
static int compare_steps(const void *a, const void *b)
{
    const unsigned char *x = (const void *)((const struct commit_step *)a)->path;
    const unsigned char *y = (const void *)((const struct commit_step *)b)->path;
    while (*x && *x == *y) {
        x++;
        y++;
    }
    int left = *x == '/' ? 1 : *x ? *x + 1 : 0;
    int right = *y == '/' ? 1 : *y ? *y + 1 : 0;
    return left - right;
}

static bool lies_in_step(const struct commit_step *step, const struct commit_step *around)
{
    size_t n = strlen(around->path);
    return strncmp(step->path, around->path, n) == 0 && step->path[n] == '/';
}

/* What lies in a folder that is made comes with it. */
static int join_steps(struct committing *c, struct err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        struct commit_step *step = &c->steps[i];
        size_t end = i + 1;
        while (end < c->n && lies_in_step(&c->steps[end], step))
            end++;
        step->end = end;
        bool makes = (step->kind == STEP_NEW || step->kind == STEP_UNFOLD) &&
                     step->of.after.type == NODE_FOLDER;
        for (size_t k = i + 1; makes && k < end; k++)
            c->steps[k].within = true;
        if (i && strcmp(step->path, c->steps[i - 1].path) == 0)
            return err_set(err, ERR_INTERNAL, "a commit names `%.200s` twice", step->path);
        if (step->within && step->kind != STEP_NEW)
            return err_set(err, ERR_INTERNAL, "a commit changes `%.200s`, which is not there",
                           step->path);
    }
    return 0;
}

static bool may_be_taken(const struct op_changed *of)
{
    return !of->secret && !of->unread && !of->special && of->before.type != NODE_OTHER &&
           of->after.type != NODE_OTHER;
}

int commit_take_steps(struct committing *c, struct str body, struct err *err)
{
    c->body = BUF_INIT(OP_BODY_MAX);
    if (buf_add(&c->body, body.p, body.n) < 0)
        return err_no_memory(err);
    struct str rest = buf_str(&c->body);
    struct op_changed of;
    int r;
    for (; (r = op_changed_next(&rest, &of)) > 0; c->n++) {
        if ((c->n & (c->n - 1)) == 0)
            c->steps = mem_grow(c->steps, c->n ? 2 * c->n : 1, sizeof *c->steps);
        if (!of.drop && !may_be_taken(&of))
            return err_set(err, ERR_INTERNAL, "a commit has what is never taken over");
        c->steps[c->n] = (struct commit_step){
            .of = of, .path = mem_copy(of.path.p, of.path.n), .kind = kind_of_step(&of)};
    }
    if (r < 0)
        return err_set(err, ERR_INTERNAL, "the list of a commit is not well formed");
    if (c->n)
        qsort(c->steps, c->n, sizeof *c->steps, compare_steps);
    c->many = c->n > SYNCED_EACH;
    return join_steps(c, err);
}

void commit_steps_done(struct committing *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->steps[i].path);
    free(c->steps);
    c->steps = NULL;
    c->n = 0;
    buf_done(&c->body);
}

/* --- whether they can be made */

static int check_upper(struct committing *c, const struct commit_step *step, struct err *err)
{
    const char *name;
    struct stat st;
    FD_AT_END int parent = commit_parent(c->upper, step->path, &name);
    bool there = parent >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    static const mode_t types[NODE_TYPES] = {
        [NODE_FILE] = S_IFREG, [NODE_FOLDER] = S_IFDIR, [NODE_LINK] = S_IFLNK};
    /* What is deleted is a mark, or hidden by the folder around it. What a file holds is compared when it is copied. */
    if (step->of.after.type == NODE_NONE)
        return !there || layer_is_whiteout(&st) ? 0 : changed_meanwhile(err, step, "session");
    return there && (st.st_mode & S_IFMT) == types[step->of.after.type]
               ? 0
               : changed_meanwhile(err, step, "session");
}

static int check_base(struct committing *c, struct commit_step *step, struct err *err)
{
    const char *name;
    char target[PATH_TEXT_MAX];
    struct op_node now;
    FD_AT_END int parent = commit_parent(c->base, step->path, &name);
    if (parent < 0 && (parent == -ENOENT || parent == -ENOTDIR || parent == -ELOOP))
        return changed_meanwhile(err, step, "project");
    if (parent < 0)
        return commit_failed(err, parent, step);
    bool there = fstatat(parent, name, &step->base, AT_SYMLINK_NOFOLLOW) == 0;
    if (!layer_node_look(c->w, parent, name, there ? &step->base : NULL, step->path, target, &now))
        return commit_failed(err, -EACCES, step);
    if (!layer_node_is_same(&now, &step->of.before))
        return changed_meanwhile(err, step, "project");
    return beneath_may_fill(parent) < 0 ? commit_failed(err, -errno, step) : 0;
}

static int check_commit_room(const struct committing *c, struct err *err)
{
    struct statfs fs;
    uint64_t needed = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct commit_step *step = &c->steps[i];
        bool made = step->kind <= STEP_FOLD;
        needed += made ? (uint64_t)step->of.after.size + FILE_ROOM : 0;
    }
    if (fstatfs(c->base, &fs) < 0 || (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= needed)
        return 0;
    err_set(err, ERR_DISK_FULL,
            "the changes need %llu bytes, which the project's file system has not; nothing was "
            "taken over",
            (unsigned long long)needed);
    return err_reason(err, "no_room");
}

static int check_steps(struct committing *c, struct err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        struct commit_step *step = &c->steps[i];
        if (work_check_cancel(c->w, err) < 0 || check_upper(c, step, err) < 0)
            return -1;
        if (!step->within && step->kind != STEP_DROP && check_base(c, step, err) < 0)
            return -1;
    }
    return check_commit_room(c, err);
}

/* --- all together */

/* What was put in place is not a change any more, and not one of somebody else. */
static void note_taken(struct committing *c)
{
    BUF_AT_END struct buf out = BUF_INIT(OP_BODY_MAX);
    FD_AT_END int fd = beneath_open_at(c->layer, LAYER_RECORD,
                                       O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600,
                                       RESOLVE_NO_SYMLINKS);
    for (size_t i = 0; i < c->n; i++) {
        const struct commit_step *step = &c->steps[i];
        struct op_changed record = {.path = step->of.path,
                                    .before = step->of.drop ? step->of.before : step->of.after,
                                    .after = {.type = NODE_FOLDER}};
        record.before.mode &= 01777u;
        if (!step->left)
            op_changed_add(&out, &record);
    }
    if (fd >= 0 && !out.failed)
        (void)fd_write_all(fd, out.data, out.len);
}

static bool is_empty_upper(const struct committing *c)
{
    FD_AT_END int dir = beneath_open_child(c->layer, LAYER_UPPER);
    DIR_ENTRIES_AT_END struct dir_entries entries = {.dir = dir};
    return dir >= 0 && !dir_entries_next(&entries) && !entries.error;
}

static void tell_commit(struct committing *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct commit_step *step = &c->steps[i];
        c->reply->left += step->left;
        c->reply->taken += !step->left;
        if (step->left)
            op_layer_add(&c->w->body, &(struct op_layer){0, step->of.path});
    }
}

/* What was put in place is on the disk. */
static int end_commit(struct committing *c, struct err *err)
{
    if (commit_journal_stage(c, COMMIT_PUT, err) < 0)
        return -1;
    commit_empty_trash(c);
    commit_prune(c);
    c->reply->empty = is_empty_upper(c);
    if (c->reply->empty)
        (void)unlinkat(c->layer, LAYER_RECORD, 0);
    else
        note_taken(c);
    commit_journal_end(c);
    tell_commit(c);
    return 0;
}

static int put_and_end(struct committing *c, put_fn put, struct err *err)
{
    commit_put_all(c, put);
    int r = commit_sync(c);
    if (r < 0)
        return err_set(err, err_code_for_file(-r), "writing folders of the project to disk: %s",
                       strerror(-r));
    return end_commit(c, err);
}

static int make_commit(struct committing *c, struct err *err)
{
    if (check_steps(c, err) < 0 || commit_journal_begin(c, err) < 0)
        return -1;
    int r = commit_build(c, err);
    if (r == 0)
        r = commit_journal_stage(c, COMMIT_PUTTING, err);
    if (r < 0) {
        commit_unbuild(c);
        commit_journal_end(c);
        return -1;
    }
    return put_and_end(c, commit_put, err);
}

static int end_cut_off(struct committing *c, struct err *err)
{
    enum commit_stage stage = COMMIT_MAKING;
    int r = commit_journal_read(c, &stage, err);
    if (r <= 0)
        return r;
    if (stage == COMMIT_MAKING) {
        commit_unbuild(c);
        commit_journal_end(c);
        return 0;
    }
    if (stage == COMMIT_PUTTING)
        return put_and_end(c, commit_put_again, err);
    commit_put_all(c, commit_look_again);
    return end_commit(c, err);
}

static void committing_done(struct committing *c)
{
    commit_steps_done(c);
    fd_closep(&c->base);
    fd_closep(&c->layer);
    fd_closep(&c->upper);
    fd_closep(&c->journal);
}

static int open_sides(struct committing *c, const struct op_layer_commit_request *q,
                      struct err *err)
{
    const struct beneath_root *layer = work_writable_root(c->w, q->layer, true, LAYER_UPPER, err);
    if (!layer)
        return -1;
    c->layer = beneath_open_child(layer->fd, ".");
    c->upper = beneath_open_child(layer->fd, LAYER_UPPER);
    const struct beneath_root *root = work_writable_root(c->w, q->root, true, ".", err);
    if (!root)
        return -1;
    c->base = beneath_open_child(root->fd, ".");
    return c->layer < 0 || c->upper < 0 || c->base < 0 ? beneath_errno(err, errno, ".") : 0;
}

int work_layer_commit(struct work *w, const union op_request *request, struct str body,
                      union op_reply *reply, struct err *err)
{
    const struct op_layer_commit_request *q = &request->layer_commit;
    CLEANUP(committing_done)
    struct committing c = {
        .w = w, .base = -1, .layer = -1, .upper = -1, .journal = -1, .reply = &reply->layer_commit};
    reply->layer_commit = (struct op_layer_commit_reply){0};
    if (!op_is_layer_tag(q->tag))
        return err_set(err, ERR_INTERNAL, "a commit without a name for its files");
    snprintf(c.tag, sizeof c.tag, "%.*s", (int)q->tag.n, q->tag.p);
    if (open_sides(&c, q, err) < 0)
        return -1;
    work_slow(w);
    /* What was cut off comes first, whoever asks. */
    int r = end_cut_off(&c, err);
    if (r < 0 || q->recover)
        return r;
    commit_steps_done(&c);
    buf_reset(&w->body, 0);
    reply->layer_commit = (struct op_layer_commit_reply){0};
    snprintf(c.tag, sizeof c.tag, "%.*s", (int)q->tag.n, q->tag.p);
    return commit_take_steps(&c, body, err) < 0 ? -1 : make_commit(&c, err);
}
