#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "work/folder_lock.h"
#include "work/guard_trees.h"
#include "work/subtree.h"
#include "work/temps.h"
#include "work/work.h"

/* Folders in one another that can be removed, as many as a path can name: each costs a descriptor. */
#define DEPTH_MAX 254
#define LISTING_BYTES (32u << 10)
#define TEMP_TRIES 16
#define SHOWN 120

/* Folders on the way down; the last is being emptied. */
struct descent {
    struct {
        int fd;
        char name[PATH_NAME_MAX + 1];
    } folders[DEPTH_MAX];
    int depth;
    char *listing;
    struct subtree *rules; /* NULL: nothing is kept */
    int64_t since_ns;      /* nor anything that is older; 0: of any age */
};

static void descent_done(struct descent *d)
{
    while (d->depth > 0)
        close(d->folders[--d->depth].fd);
    free(d->listing);
}

bool work_is_older(const struct statx *st, int64_t since_ns)
{
    return !(st->stx_mask & STATX_BTIME) || st->stx_btime.tv_sec == 0 ||
           st->stx_btime.tv_sec * 1000000000 + st->stx_btime.tv_nsec < since_ns;
}

static bool is_too_old(const struct descent *d, int at, const char *name)
{
    struct statx st;
    return d->since_ns &&
           (statx(at, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_BTIME, &st) < 0 ||
            work_is_older(&st, d->since_ns));
}

static int enter_removed_folder(struct descent *d, int parent, const char *name)
{
    if (d->depth == DEPTH_MAX)
        return -E2BIG;
    int fd = beneath_open_child_here(parent, name);
    if (fd < 0)
        return -errno;
    d->folders[d->depth].fd = fd;
    snprintf(d->folders[d->depth++].name, PATH_NAME_MAX + 1, "%s", name);
    if (is_too_old(d, fd, ""))
        return -ESTALE;
    /* A command may have made it read-only. */
    if (!d->rules)
        (void)!fchmod(fd, 0700);
    return d->rules && subtree_keeps_git(d->rules, fd) ? -EBUSY : 0;
}

/* A command may have moved something in since the folder was looked through. The name that is judged is the name that
 * is removed. */
static bool is_kept_by_rules(struct descent *d, int dir, const char *name, bool is_folder)
{
    bool same;
    return d->rules && subtree_keeps(d->rules, dir, name, is_folder, &same);
}

static int enter_removed_entry(struct descent *d, int parent, const char *name)
{
    if (is_kept_by_rules(d, parent, name, true))
        return -EBUSY;
    if (d->rules)
        subtree_enter(d->rules, name);
    return enter_removed_folder(d, parent, name);
}

/* Removes what can be removed of the deepest folder. 1: went into one inside it, 0: it is empty. */
static int empty_folder(struct work *w, struct descent *d, int64_t *count)
{
    int fd = d->folders[d->depth - 1].fd;
    struct err err;
    for (;;) {
        if (work_check_cancel(w, &err) < 0)
            return -ECANCELED;
        /* From the start each time: what was removed is gone from it. */
        if (lseek(fd, 0, SEEK_SET) < 0)
            return -errno;
        ssize_t got = getdents64(fd, d->listing, LISTING_BYTES);
        if (got < 0)
            return -errno;
        int64_t before = *count;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(d->listing + at);
            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            bool folder = entry->d_type == DT_DIR;
            if (!folder && is_kept_by_rules(d, fd, entry->d_name, false))
                return -EBUSY;
            if (!folder && is_too_old(d, fd, entry->d_name))
                return -ESTALE;
            if (!folder && (unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT)) {
                ++*count;
                continue;
            }
            if (!folder && errno != EISDIR)
                return -errno;
            int r = enter_removed_entry(d, fd, entry->d_name);
            return r < 0 ? r : 1;
        }
        if (*count == before)
            return 0;
    }
}

static int remove_tree(struct work *w, int dir, const char *name, struct subtree *rules,
                       int64_t since_ns, int64_t *count)
{
    if (unlinkat(dir, name, 0) == 0) {
        ++*count;
        return 0;
    }
    if (errno != EISDIR)
        return -errno;
    CLEANUP(descent_done)
    struct descent d = {.listing = mem_zero(LISTING_BYTES), .rules = rules, .since_ns = since_ns};
    int r = enter_removed_folder(&d, dir, name);
    while (r >= 0 && d.depth > 0) {
        r = empty_folder(w, &d, count);
        if (r != 0)
            continue;
        d.depth--;
        close(d.folders[d.depth].fd);
        if (rules && d.depth > 0)
            subtree_leave(rules);
        int parent = d.depth > 0 ? d.folders[d.depth - 1].fd : dir;
        if (unlinkat(parent, d.folders[d.depth].name, AT_REMOVEDIR) < 0)
            r = -errno;
        else
            ++*count;
    }
    return r < 0 ? r : 0;
}

int work_remove_tree(struct work *w, int dir, const char *name, struct subtree *rules,
                     int64_t *count)
{
    return remove_tree(w, dir, name, rules, 0, count);
}

int work_remove_tree_since(struct work *w, int dir, const char *name, int64_t since_ns,
                           int64_t *count)
{
    return remove_tree(w, dir, name, NULL, since_ns, count);
}

/* It was judged before this call waited for its folder. */
static int check_still(struct work *w, const struct op_delete_request *q,
                       const struct beneath_place *place, const char *real, mode_t mode,
                       struct err *err)
{
    int r = beneath_still(&w->at, q->path.p, real, place->dir, beneath_kind(mode), err);
    if (r > 0)
        return work_replaced_folder(err, q->path.p);
    return r;
}

/* What a folder is called that cannot have its own name back. No sweep takes it for a left-over. */
struct left {
    char name[PATH_NAME_MAX + 1]; /* "": it is gone, or has its name */
};

/* Under its own name again, or, where something else has that by now, under a new one that says where it is from. */
static void give_name_back(const struct beneath_place *place, const char *temp, struct left *left)
{
    left->name[0] = '\0';
    int r = renameat2(place->dir, temp, place->dir, place->name, RENAME_NOREPLACE);
    for (int i = 0; r < 0 && errno == EEXIST && i < TEMP_TRIES; i++) {
        uint32_t number = (uint32_t)i;
        (void)!getrandom(&number, sizeof number, GRND_NONBLOCK);
        snprintf(left->name, sizeof left->name, "%.*s.left-%08x",
                 (int)utf8_cut(place->name, strnlen(place->name, SHOWN)), place->name, number);
        r = renameat2(place->dir, temp, place->dir, left->name, RENAME_NOREPLACE);
    }
    if (r < 0)
        snprintf(left->name, sizeof left->name, "%s", errno == ENOENT ? "" : temp);
}

static bool is_same_entry(int dir, const char *name, const struct stat *st)
{
    struct stat now;
    return fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == st->st_dev &&
           now.st_ino == st->st_ino;
}

static int not_the_same(const struct op_delete_request *q, const struct left *left, struct err *err)
{
    err_set(err, ERR_CONFLICT, "%s%s%s`%s` has just been replaced: try again",
            left->name[0] ? "what was there for a moment is left beside it as `" : "", left->name,
            left->name[0] ? "`: " : "", q->path.p);
    return err_reason(err, "replaced");
}

/* 1: a folder of the project lies beneath an overlay and cannot be renamed there.
 *
 * A rename goes by the name, under which another folder may be by now: that is seen afterwards, and put back. */
static int rename_away(struct work *w, const struct op_delete_request *q,
                       const struct beneath_place *place, const char *real, const struct stat *st,
                       struct temp *temp, struct err *err)
{
    FOLDER_LOCK_AT_END struct folder_lock lock = FOLDER_LOCK_NONE;
    CLEANUP(guard_trees_release) struct guard_trees *still = NULL;
    if (folder_lock_take(w, place->dir, q->path.p, &lock, err) < 0 ||
        guard_trees_hold(w, &still, err) < 0 ||
        check_still(w, q, place, real, st->st_mode, err) < 0)
        return -1;
    struct left left = {""};
    if (!is_same_entry(place->dir, place->name, st))
        return not_the_same(q, &left, err);
    for (unsigned i = 0; i < TEMP_TRIES; i++) {
        temp_begin(temp, place->dir, q->tag, TEMP_FOLDER, i);
        int r = renameat2(place->dir, place->name, place->dir, temp->name, RENAME_NOREPLACE);
        int error = errno;
        if (r == 0 && is_same_entry(place->dir, temp->name, st))
            return 0;
        if (r == 0)
            give_name_back(place, temp->name, &left);
        temp_end(temp);
        if (r == 0)
            return not_the_same(q, &left, err);
        if (error == EXDEV && w->at.layered)
            return 1;
        if (error != EEXIST)
            return beneath_errno(err, error, q->path.p);
    }
    return beneath_errno(err, EEXIST, q->path.p);
}

/* Without the lock too: a cancelled call does not get it, and under its own name the folder is not lost. */
static void put_removed_back(struct work *w, const struct beneath_place *place, const char *temp,
                             struct left *left)
{
    FOLDER_LOCK_AT_END struct folder_lock lock = FOLDER_LOCK_NONE;
    struct err ignored;
    CLEANUP(guard_trees_release) struct guard_trees *still = NULL;
    (void)folder_lock_take(w, place->dir, temp, &lock, &ignored);
    (void)guard_trees_hold(w, &still, &ignored);
    give_name_back(place, temp, left);
}

static int cannot_remove(const struct op_delete_request *q, int error, struct err *err)
{
    if (error == ECANCELED)
        return err_set(err, ERR_CANCELLED, "cancelled");
    if (error == EXDEV)
        return err_set(err, ERR_READ_ONLY, "`%.120s` holds a mount point", q->path.p);
    return beneath_errno(err, error, q->path.p);
}

/* Out of the way in one step under a name that the next sweep knows, and only then emptied: whatever
 * happens, nobody meets half a folder under its own name. What cannot be removed is put back. Where it cannot be renamed
 * it is emptied as it is. */
static int remove_folder(struct work *w, const struct op_delete_request *q,
                         const struct beneath_place *place, const char *real, const struct stat *st,
                         int64_t *count, struct err *err)
{
    struct temp temp;
    struct left left = {""};
    const struct tree_op op = {.root = &w->at, .path = q->path.p, .real = real};
    work_slow(w);
    if (work_check_tree(w, place, &op, err) < 0)
        return -1;
    int kept = rename_away(w, q, place, real, st, &temp, err);
    if (kept < 0)
        return -1;
    if (kept && !is_same_entry(place->dir, place->name, st))
        return not_the_same(q, &left, err);
    CLEANUP(subtree_done) struct subtree rules;
    subtree_init(&rules, &w->at, real, NULL);
    int r = work_remove_tree(w, place->dir, kept ? place->name : temp.name, &rules, count);
    if (r < 0 && !kept)
        put_removed_back(w, place, temp.name, &left);
    if (!kept)
        temp_end(&temp);
    if (r == 0)
        return 0;
    struct err why = {0};
    if (rules.verdict != GUARD_OPEN)
        subtree_refuse(&rules, q->path.p, &why);
    else
        cannot_remove(q, -r, &why);
    err_set(err, why.code, "%.300s; %lld entries of it had been removed%s%s", why.message,
            (long long)*count, left.name[0] ? ", and the rest is left as " : "", left.name);
    return err_reason(err, why.reason);
}

int work_entry_to_delete(struct work *w, const struct op_delete_request *q,
                         struct beneath_place *place, struct beneath_real *ret_real,
                         struct stat *ret_stat, struct err *err)
{
    const struct beneath_root *root = work_writable_root(w, q->root, q->no_links, q->path.p, err);
    if (!root || beneath_entry(root, q->path.p, place, ret_real, err) < 0)
        return -1;
    FD_AT_END int dir = TAKE_FD(place->dir);
    if (fstatat(dir, place->name, ret_stat, AT_SYMLINK_NOFOLLOW) < 0)
        return beneath_errno(err, errno, q->path.p);
    if (beneath_judge(root, q->path.p, ret_real, beneath_kind(ret_stat->st_mode), err) < 0 ||
        work_note_real(w, WORK_PATH, q->path.p, ret_real->text, err) < 0)
        return -1;
    place->dir = TAKE_FD(dir);
    return 0;
}

/* Not while another call has read the file in order to replace it: that would bring it back. */
static int remove_one(struct work *w, const struct op_delete_request *q,
                      const struct beneath_place *place, const char *real, const struct stat *st,
                      struct err *err)
{
    FOLDER_LOCK_AT_END struct folder_lock lock = FOLDER_LOCK_NONE;
    CLEANUP(guard_trees_release) struct guard_trees *held = NULL;
    if (folder_lock_take(w, place->dir, q->path.p, &lock, err) < 0 ||
        beneath_hold(w, &w->at, real, &held, err) < 0 ||
        check_still(w, q, place, real, st->st_mode, err) < 0)
        return -1;
    if (unlinkat(place->dir, place->name, S_ISDIR(st->st_mode) ? AT_REMOVEDIR : 0) < 0)
        return beneath_errno(err, errno, q->path.p);
    return 0;
}

int work_delete(struct work *w, const union op_request *request, struct str body,
                union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_delete_request *q = &request->delete;
    BENEATH_PLACE_AT_END struct beneath_place place = {.dir = -1};
    struct beneath_real real;
    struct stat st;
    if (work_entry_to_delete(w, q, &place, &real, &st, err) < 0)
        return -1;
    int64_t count = 0;
    if (!S_ISDIR(st.st_mode) || !q->recursive) {
        if (remove_one(w, q, &place, real.text, &st, err) < 0)
            return -1;
        count = 1;
    } else if (remove_folder(w, q, &place, real.text, &st, &count, err) < 0) {
        return -1;
    }
    reply->delete = (struct op_delete_reply){.type = work_file_type(st.st_mode), .count = count};
    return 0;
}
