/* The layer, of which a part is in the project now. Nobody has it mounted. What is removed of it shows what lies beneath, and
 * that is the same; in a folder that hides what lies beneath it nothing is removed, before all of the folder can go. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/git_files.h"
#include "work/layer_commit.h"

#define DEPTH_MAX 128
#define NAMES_MAX ((size_t)64 << 20)

#define TRASH "trash"

void commit_empty_trash(struct committing *c)
{
    int64_t removed = 0;
    (void)work_remove_tree_since(c->w, c->layer, TRASH, 0, &removed);
}

struct pruning {
    struct committing *c;
    const struct commit_step **taken; /* by path */
    size_t n;
    unsigned depth;
    char path[PATH_TEXT_MAX];
};

struct both {
    int upper;
    int base; /* -1: there is none */
    bool hidden;
};

static int compare_taken(const void *a, const void *b)
{
    return strcmp((*(const struct commit_step *const *)a)->path,
                  (*(const struct commit_step *const *)b)->path);
}

static int compare_with_taken(const void *path, const void *b)
{
    return strcmp(path, (*(const struct commit_step *const *)b)->path);
}

static const struct commit_step *find_taken(const struct pruning *p)
{
    const struct commit_step **found = p->n ? bsearch(p->path, p->taken, p->n, sizeof *p->taken,
                                                      compare_with_taken)
                                            : NULL;
    return found ? *found : NULL;
}

static bool is_same_as_base(struct pruning *p, const struct both *at, const char *name,
                            const struct stat *upper, const struct stat *base)
{
    char targets[2][PATH_TEXT_MAX];
    struct op_node nodes[2];
    if ((upper->st_mode & S_IFMT) != (base->st_mode & S_IFMT) || upper->st_size != base->st_size)
        return false;
    return layer_node_look(p->c->w, at->upper, name, upper, p->path, targets[0], &nodes[0]) &&
           layer_node_look(p->c->w, at->base, name, base, p->path, targets[1], &nodes[1]) &&
           layer_node_is_same(&nodes[0], &nodes[1]);
}

/* Half of a folder that hides what lies beneath would mean that the other half was deleted: it goes as a whole. */
static bool remove_whole(struct pruning *p, int dir, const char *name)
{
    if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return true;
    commit_empty_trash(p->c);
    if (renameat(dir, name, p->c->layer, TRASH) < 0 && errno == EACCES) {
        FD_AT_END int fd = beneath_open_child(dir, name);
        /* Who may not write in a folder cannot move it. */
        if (fd < 0 || fchmod(fd, 0700) < 0 || renameat(dir, name, p->c->layer, TRASH) < 0)
            return false;
    }
    commit_empty_trash(p->c);
    return fstatat(dir, name, &(struct stat){0}, AT_SYMLINK_NOFOLLOW) < 0;
}

static bool prune_folder(struct pruning *p, const struct both *at);

/* Whether nothing of the folder is needed any more. */
static bool prune_child_folder(struct pruning *p, const struct both *at, const char *name,
                               const struct stat *upper, const struct stat *base)
{
    FD_AT_END int in_upper = beneath_open_child(at->upper, name);
    FD_AT_END int in_base = base && S_ISDIR(base->st_mode) ? beneath_open_child(at->base, name)
                                                           : -1;
    if (in_upper < 0 || in_base < 0 || p->depth == DEPTH_MAX)
        return false;
    bool opaque = layer_is_opaque(in_upper);
    struct both in = {in_upper, in_base, at->hidden || opaque};
    bool taken = find_taken(p) || ((upper->st_mode ^ base->st_mode) & 07777) == 0;
    p->depth++;
    bool all = prune_folder(p, &in) && taken;
    p->depth--;
    if (!all || at->hidden)
        return all;
    return remove_whole(p, at->upper, name);
}

static bool prune_entry(struct pruning *p, const struct both *at, const char *name)
{
    struct stat upper;
    struct stat there;
    if (fstatat(at->upper, name, &upper, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT;
    const struct stat *base =
        at->base >= 0 && fstatat(at->base, name, &there, AT_SYMLINK_NOFOLLOW) == 0 ? &there : NULL;
    const struct commit_step *step = find_taken(p);
    bool dropped = step && step->of.drop;
    /* Of one that the project has as well its mode alone is given up. */
    if (S_ISDIR(upper.st_mode) && (!dropped || (base && S_ISDIR(base->st_mode))))
        return prune_child_folder(p, at, name, &upper, base);
    bool done = layer_is_whiteout(&upper) ? !base
                                          : base && is_same_as_base(p, at, name, &upper, base);
    bool may_go = at->hidden ? done || (step && !dropped) : done || step;
    if (!may_go || at->hidden)
        return may_go;
    return remove_whole(p, at->upper, name);
}

/* What the folder hides is still to be deleted in the project. */
static bool hides_more(const struct both *at)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    struct stat st;
    if (git_file_list(at->base, &names) < 0)
        return true;
    for (size_t i = 0; i < names.len; i += strlen(names.data + i) + 1) {
        if (fstatat(at->upper, names.data + i, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return true;
    }
    return false;
}

static bool prune_folder(struct pruning *p, const struct both *at)
{
    BUF_AT_END struct buf names = BUF_INIT(NAMES_MAX);
    bool all = git_file_list(at->upper, &names) == 0;
    size_t n = strlen(p->path);
    for (size_t i = 0; i < names.len; i += strlen(names.data + i) + 1) {
        const char *name = names.data + i;
        if (n + strlen(name) + 2 > sizeof p->path) {
            all = false;
            continue;
        }
        snprintf(p->path + n, sizeof p->path - n, "%s%s", n ? "/" : "", name);
        all &= prune_entry(p, at, name);
        p->path[n] = '\0';
    }
    return all && !(at->hidden && hides_more(at));
}

void commit_prune(struct committing *c)
{
    struct pruning *p = mem_zero(sizeof *p);
    p->c = c;
    p->taken = mem_zero((c->n + 1) * sizeof *p->taken);
    for (size_t i = 0; i < c->n; i++) {
        if (!c->steps[i].left)
            p->taken[p->n++] = &c->steps[i];
    }
    qsort(p->taken, p->n, sizeof *p->taken, compare_taken);
    prune_folder(p, &(struct both){c->upper, c->base, false});
    free(p->taken);
    free(p);
}
