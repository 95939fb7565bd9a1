/* Refs that name other refs. Git gives up on one that leads on for too long, or back to itself: the user could not read
 * the branch any more. */
#include <string.h>

#include "base/mem.h"
#include "work/git_files.h"
#include "work/git_import.h"

/* What git reads on the way to an object, HEAD included. */
#define READS_MAX 5
#define REF_BYTES_MAX 4096u
#define WORKTREES "worktrees/"

static const char link_start[] = "ref: ";

static bool is_symref_text(struct str text)
{
    return text.n >= sizeof link_start - 1 &&
           memcmp(text.p, link_start, sizeof link_start - 1) == 0;
}

/* By path, for bsearch. */
static int compare_change_paths(const void *a, const void *b)
{
    return strcmp((*(struct git_change *const *)a)->path, (*(struct git_change *const *)b)->path);
}

struct refs {
    struct git_layer *layer;
    struct git_change **changes; /* of refs and HEAD */
    size_t n;
};

static const struct git_change *find_changed_ref(const struct refs *refs, char *path)
{
    struct git_change key = {.path = path};
    const struct git_change *at = &key;
    struct git_change **found = refs->n ? bsearch(&at, refs->changes, refs->n,
                                                  sizeof(struct git_change *), compare_change_paths)
                                        : NULL;
    return found ? *found : NULL;
}

/* As it will be. False: there is none. */
static bool read_ref(const struct refs *refs, char *path, struct buf *out)
{
    const struct git_change *c = find_changed_ref(refs, path);
    buf_reset(out, REF_BYTES_MAX);
    if (c && c->remove)
        return false;
    if (c)
        return buf_add(out, c->content.data, c->content.len) == 0;
    return git_file_read(refs->layer->git, path, REF_BYTES_MAX - 1, out) == 0;
}

/* Worktrees share all refs but these. */
static bool is_own_ref(struct str name)
{
    static const char *const starts[] = {"refs/bisect/", "refs/worktree/", "refs/rewritten/"};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        size_t n = strlen(starts[i]);
        if (name.n >= n && memcmp(name.p, starts[i], n) == 0)
            return true;
    }
    return false;
}

/* How much of the path of a ref in one repository is that of the repository which has the ref `name`. */
static size_t prefix_of(const char *path, size_t inner, struct str name)
{
    size_t n = inner;
    if (n == 0 || is_own_ref(name))
        return n;
    for (n--; n > 0 && path[n - 1] != '/';)
        n--;
    size_t length = strlen(WORKTREES);
    bool worktree = n >= length && memcmp(path + n - length, WORKTREES, length) == 0;
    return worktree ? n - length : inner;
}

static bool ends(const struct refs *refs, const struct git_change *c)
{
    BUF_AT_END struct buf text = BUF_INIT(REF_BYTES_MAX);
    FREE_AT_END char *path = mem_dup(c->path);
    /* A branch is read one later than HEAD, which leads to it. */
    for (int reads = c->kind == GIT_HEAD ? 0 : 1; reads < READS_MAX; reads++) {
        if (!read_ref(refs, path, &text) || !is_symref_text(buf_str(&text)))
            return true;
        struct str name = {text.data + sizeof link_start - 1, text.len - (sizeof link_start - 1)};
        while (name.n && (name.p[name.n - 1] == '\n' || name.p[name.n - 1] == ' '))
            name.n--;
        char *next = mem_format("%.*s%.*s", (int)prefix_of(c->path, c->inner, name), c->path,
                                (int)name.n, name.p);
        free(path);
        path = next;
    }
    return false;
}

static bool is_ref(const struct git_change *c)
{
    return c->kind == GIT_REF || c->kind == GIT_HEAD;
}

/* All are looked at before one is dropped: whatever leads through one that does not end does not end either. */
void git_drop_loops(struct git_import *im, struct git_layer *layer)
{
    struct refs refs = {.layer = layer};
    FREE_AT_END struct git_change **changes = mem_grow(NULL, layer->n + 1, sizeof *changes);
    FREE_AT_END bool *endless = mem_zero((layer->n + 1) * sizeof *endless);
    refs.changes = changes;
    for (size_t i = 0; i < layer->n; i++) {
        if (is_ref(&layer->changes[i]))
            changes[refs.n++] = &layer->changes[i];
    }
    if (refs.n)
        qsort(changes, refs.n, sizeof *changes, compare_change_paths);
    for (size_t i = 0; i < refs.n; i++)
        endless[i] = !changes[i]->remove && is_symref_text(buf_str(&changes[i]->content)) &&
                     !ends(&refs, changes[i]);
    for (size_t i = 0; i < refs.n; i++) {
        if (!endless[i])
            continue;
        git_drop(im, layer, changes[i]->path, changes[i]->kind == GIT_HEAD);
        changes[i]->kind = GIT_UNKNOWN;
    }
}
