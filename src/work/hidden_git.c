#include "work/hidden_git.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "work/dir_entries.h"
#include "work/guard_read.h"

#define ENTRIES_MAX 200000
#define DEPTH_MAX 64

struct look {
    struct work *w;
    struct op_quarantine_reply *ret;
    char path[PATH_TEXT_MAX];
    size_t entries;
    int depth;
};

/* Names in one folder that together make it a git directory. */
struct layout {
    bool head;
    bool objects;
    bool refs;
};

static void tell_hidden_git(struct look *look, int dir, const char *name, enum guarded_kind kind)
{
    struct statx st;
    if (folder_stat(dir, name, &st) < 0)
        return;
    struct tree_id id = folder_id(&st);
    struct op_guarded entry = {.kind = kind,
                               .type = work_file_type(st.stx_mode),
                               .path = {look->path, strlen(look->path)},
                               .id = tree_identity(&id)};
    op_guarded_add(&look->w->body, &entry);
}

static void note_layout_part(struct layout *layout, const char *name)
{
    layout->head |= strcmp(name, "HEAD") == 0;
    layout->objects |= strcmp(name, "objects") == 0 || strcmp(name, "commondir") == 0;
    layout->refs |= strcmp(name, "refs") == 0 || strcmp(name, "commondir") == 0;
}

static void look_into_hidden(struct look *look, int parent, const char *name);

static void look_at_hidden(struct look *look, int dir, const char *name)
{
    struct statx st;
    bool git = strcasecmp(name, ".git") == 0;
    size_t n = strlen(look->path);
    if (folder_stat(dir, name, &st) < 0)
        return;
    bool folder = S_ISDIR(st.stx_mode);
    if (!git && !folder)
        return;
    if (n + 1 + strlen(name) >= sizeof look->path) {
        look->ret->repository |= git;
        look->ret->unchecked |= !git;
        return;
    }
    snprintf(look->path + n, sizeof look->path - n, "/%s", name);
    if (git)
        tell_hidden_git(look, dir, name, folder ? GUARDED_GIT : GUARDED_PROTECTED);
    else
        look_into_hidden(look, dir, name);
    look->path[n] = '\0';
}

static void look_into_hidden(struct look *look, int parent, const char *name)
{
    FD_AT_END int dir = look->depth < DEPTH_MAX ? beneath_open_child(parent, name) : -1;
    struct layout layout = {0};
    if (dir < 0) {
        /* The one that was asked about is open, or cannot be opened by anybody here. */
        if (errno == EACCES && look->depth > 0 && look->depth < DEPTH_MAX)
            tell_hidden_git(look, parent, name, GUARDED_SECRET);
        else
            look->ret->unchecked = true;
        return;
    }
    DIR_ENTRIES_AT_END struct dir_entries in = {.dir = dir};
    const struct dirent64 *d;
    struct err err;
    look->depth++;
    while ((d = dir_entries_next(&in)) && ++look->entries <= ENTRIES_MAX &&
           work_check_cancel(look->w, &err) == 0) {
        note_layout_part(&layout, d->d_name);
        look_at_hidden(look, dir, d->d_name);
    }
    look->depth--;
    look->ret->unchecked |= d || in.error;
    if (layout.head && layout.objects && layout.refs)
        tell_hidden_git(look, parent, name, GUARDED_GIT);
}

void hidden_git_find(struct work *w, int dir, const char *name, struct str path,
                     struct op_quarantine_reply *ret)
{
    struct look *look = mem_zero(sizeof *look);
    look->w = w;
    look->ret = ret;
    snprintf(look->path, sizeof look->path, "%.*s", (int)path.n, path.p);
    look_into_hidden(look, dir, name);
    /* What does not fit the reply is not named there. */
    ret->unchecked |= w->body.failed;
    free(look);
}
