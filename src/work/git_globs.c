#include "work/git_globs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "core/glob.h"
#include "work/dir_entries.h"
#include "work/guard_read.h"

struct matching {
    const struct beneath_root *root;
    const struct glob *glob;
    enum git_lead_from from;
    git_lead_fn fn;
    void *arg;
    size_t entries;
    int depth;
    bool cut;
};

static void match_in(struct matching *m, const char *folder);

static void match_entry(struct matching *m, int dir, const char *folder, const struct dirent64 *d)
{
    char path[PATH_TEXT_MAX];
    if (++m->entries > GIT_GLOB_ENTRIES_MAX ||
        snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", d->d_name) >=
            (int)sizeof path) {
        m->cut = true;
        return;
    }
    struct str text = {path, strlen(path)};
    unsigned char type = folder_entry_type(dir, d->d_name, d->d_type);
    if (type != DT_DIR && glob_match(m->glob, text))
        m->fn(m->arg, path, m->from);
    /* A link may lead to a folder. */
    if (type != DT_REG && glob_may_match_beneath(m->glob, text))
        match_in(m, path);
}

static void match_in(struct matching *m, const char *folder)
{
    struct beneath_root plain = *m->root;
    FD_AT_END int dir = -1;
    struct err err;
    plain.guard = NULL;
    plain.trees = NULL;
    plain.no_links = plain.as_named = false;
    if (beneath_open(&plain, *folder ? folder : ".", O_RDONLY | O_DIRECTORY, &dir, &err) < 0)
        return;
    if (m->depth == GIT_GLOB_DEPTH_MAX) {
        m->cut = true;
        return;
    }
    m->depth++;
    DIR_ENTRIES_AT_END struct dir_entries in = {.dir = dir};
    for (const struct dirent64 *d; !m->cut && (d = dir_entries_next(&in));)
        match_entry(m, dir, folder, d);
    m->depth--;
}

bool git_glob_each(const struct beneath_root *root, const char *pattern, enum git_lead_from from,
                   git_lead_fn fn, void *arg)
{
    struct err err;
    GLOB_AT_END struct glob *glob = glob_compile((struct str){pattern, strlen(pattern)}, false,
                                                 &err);
    struct matching m = {.root = root, .glob = glob, .from = from, .fn = fn, .arg = arg};
    if (!glob)
        return false;
    match_in(&m, "");
    return !m.cut;
}
