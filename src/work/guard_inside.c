/* Where links in folders that are guarded as a whole lead, and what comes back into a root from outside. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "work/beneath_walk.h"
#include "work/dir_entries.h"
#include "work/guard_follow.h"
#include "work/guard_parts.h"
#include "work/guard_read.h"

/* With more than that no command starts. */
#define INSIDE_MAX 400000u

static void look_into_guarded(struct following *f, const char *path, uint8_t kind);

static void take_guarded_entry(struct following *f, int dir, const char *folder,
                               const struct dirent64 *d, uint8_t kind)
{
    char path[PATH_TEXT_MAX];
    if (++f->inside > INSIDE_MAX)
        f->error = -E2BIG;
    int n = snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
    /* Nothing leads to a path that long. */
    if (n >= (int)sizeof path)
        return;
    unsigned char type = folder_entry_type(dir, d->d_name, d->d_type);
    if (type == DT_LNK || type == DT_UNKNOWN)
        follow_link(f, (struct str){path, (size_t)n}, kind);
    if (type == DT_DIR || type == DT_UNKNOWN)
        look_into_guarded(f, path, kind);
}

/* What cannot be read here is covered with the folder, and commands cannot read it either. */
static void look_into_guarded(struct following *f, const char *path, uint8_t kind)
{
    FD_AT_END int dir = beneath_open_at(f->root.fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0,
                                        0);
    if (dir < 0)
        return;
    if (f->depth == FOLLOW_DEPTH_MAX) {
        f->error = -ELOOP;
        return;
    }
    DIR_ENTRIES_AT_END struct dir_entries in = {.dir = dir};
    f->depth++;
    for (const struct dirent64 *d; f->error == 0 && (d = dir_entries_next(&in));)
        take_guarded_entry(f, dir, path, d, kind);
    f->depth--;
}

void follow_inside(struct following *f, struct str folder, uint8_t kind)
{
    char path[PATH_TEXT_MAX];
    memcpy(path, folder.p, folder.n);
    path[folder.n] = '\0';
    look_into_guarded(f, path, kind);
}

void follow_back(struct following *f)
{
    struct op_lead lead;
    char path[PATH_TEXT_MAX];
    for (struct str rest = buf_str(&f->outward->back.packed); op_lead_next(&rest, &lead) > 0;) {
        memcpy(path, lead.text.p, lead.text.n);
        path[lead.text.n] = '\0';
        if (lead.kind == GUARDED_GIT)
            follow_git_directory(f, STR(""), path, true);
        else if (lead.kind == GUARDED_PART)
            follow_part(f, STR(""), path);
        else
            follow_link(f, lead.text, (uint8_t)lead.kind);
    }
}
