/* A link that stands for a folder on the way to what the rules name: `.cargo` as a link to `p`, where a rule names
 * `.cargo/config.toml`. What `p/config.toml` is called says nothing; its path through the link does. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "work/dir_entries.h"
#include "work/guard_follow.h"
#include "work/guard_read.h"
#include "work/work.h"

/* Folders and links in one another: no rule spells out that many. */
#define DEPTH_MAX 8
/* Of one link. A folder with more is covered as a whole. */
#define ENTRIES_MAX 50000u

struct way {
    struct following *f;
    unsigned entries;
    int depth;
};

/* Both of the entry at hand: where it is, and where the rules see it. */
struct names {
    char real[PATH_TEXT_MAX];
    char named[PATH_TEXT_MAX];
};

static void walk_folder(struct way *w, const char *real, const char *named, int fd);

static void walk_link(struct way *w, const char *named, const char *real)
{
    char plain[PATH_TEXT_MAX];
    size_t n;
    struct statx st;
    FD_AT_END int fd = follow_open(w->f, real, plain, &n, &st);
    if (fd < 0 || !S_ISDIR(st.stx_mode))
        return;
    FD_AT_END int folder = beneath_reopen_dir(fd);
    /* The folder itself is not kept in its place: what takes its place is found by the next scan, and is new. What cannot be
     * listed is covered as a whole by the scan itself. */
    if (folder >= 0)
        walk_folder(w, plain, named, folder);
    if (w->entries > ENTRIES_MAX && n > 0)
        follow_add(w->f, (struct str){plain, n}, GUARDED_PROTECTED, &st);
}

static void take_guarded(struct way *w, const struct names *at, uint8_t kind,
                         const struct statx *st)
{
    struct str real = {at->real, strlen(at->real)};
    /* As for a link with a secret name: what a command made hides nothing. */
    if (kind == GUARDED_SECRET && w->f->made)
        return;
    follow_add(w->f, real, kind, st);
    if (S_ISLNK(st->stx_mode))
        follow_link(w->f, real, kind);
}

static void take_way_entry(struct way *w, int dir, const char *name, const struct names *at)
{
    struct statx st;
    const char *rule;
    struct str named = {at->named, strlen(at->named)};
    if (folder_stat(dir, name, &st) < 0)
        return;
    bool link = S_ISLNK(st.stx_mode);
    enum guard_verdict verdict = link
                                     ? guard_judge_link(w->f->guard, named, &rule)
                                     : guard_judge(w->f->guard, named, S_ISDIR(st.stx_mode), &rule);
    if (verdict != GUARD_OPEN) {
        take_guarded(w, at, verdict == GUARD_SECRET ? GUARDED_SECRET : GUARDED_PROTECTED, &st);
        return;
    }
    if (!(link || S_ISDIR(st.stx_mode)) || w->depth == DEPTH_MAX ||
        guard_holds(w->f->guard, named, &rule) == GUARD_OPEN)
        return;
    w->depth++;
    walk_link(w, at->named, at->real);
    w->depth--;
}

static bool join_way_path(char out[PATH_TEXT_MAX], const char *folder, const char *name)
{
    return snprintf(out, PATH_TEXT_MAX, "%s%s%s", folder, *folder ? "/" : "", name) < PATH_TEXT_MAX;
}

static void walk_folder(struct way *w, const char *real, const char *named, int fd)
{
    DIR_ENTRIES_AT_END struct dir_entries in = {.dir = fd};
    struct names at;
    for (const struct dirent64 *d; (d = dir_entries_next(&in));) {
        if (w->entries++ > ENTRIES_MAX)
            return;
        struct str name = {d->d_name, strlen(d->d_name)};
        if ((guard_may_name(w->f->guard, name) || guard_may_hold(w->f->guard, name)) &&
            join_way_path(at.real, real, d->d_name) && join_way_path(at.named, named, d->d_name))
            take_way_entry(w, fd, d->d_name, &at);
    }
}

void follow_way(struct following *f, struct str link)
{
    char path[PATH_TEXT_MAX];
    struct way w = {.f = f};
    memcpy(path, link.p, link.n);
    path[link.n] = '\0';
    walk_link(&w, path, path);
}
