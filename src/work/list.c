#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "work/walk.h"
#include "work/work.h"

#define SECONDS_MAX 9000000000000000

enum file_type work_file_type(mode_t mode)
{
    if (S_ISREG(mode))
        return TYPE_FILE;
    if (S_ISDIR(mode))
        return TYPE_DIRECTORY;
    return S_ISLNK(mode) ? TYPE_SYMLINK : TYPE_OTHER;
}

/* Some file systems keep any number of seconds, more than fit as milliseconds. */
static int64_t mtime_ms(const struct stat *st)
{
    int64_t seconds = st->st_mtim.tv_sec;
    if (seconds > SECONDS_MAX || seconds < -SECONDS_MAX)
        return seconds < 0 ? -SECONDS_MAX * 1000 : SECONDS_MAX * 1000;
    return seconds * 1000 + st->st_mtim.tv_nsec / 1000000;
}

static int compile_list_glob(struct str pattern, bool anywhere, struct glob **ret, struct err *err)
{
    *ret = pattern.p ? glob_compile(pattern, anywhere, err) : NULL;
    return pattern.p && !*ret ? -1 : 0;
}

static bool add_listed_name(struct work *w, const struct walk_entry *found)
{
    struct op_entry entry = {.type = work_file_type(DTTOIF(found->type)), .name = found->path};
    op_entry_add(&w->body, &entry);
    return true;
}

/* False when it is gone since it was found, or cannot be looked at: *ret_cut. */
static bool add_listed_entry(struct work *w, const struct walk_entry *found, bool *ret_cut)
{
    struct stat st;
    if (fstatat(found->folder->fd, found->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        *ret_cut |= !beneath_is_gone(errno);
        return false;
    }
    struct op_entry entry = {
        .type = work_file_type(st.st_mode),
        .size = st.st_size,
        .mtime_ms = mtime_ms(&st),
        .name = found->path,
    };
    op_entry_add(&w->body, &entry);
    return true;
}

static int add_entries(struct work *w, struct walk *walk, const struct op_list_request *q,
                       struct op_list_reply *reply, struct err *err)
{
    struct walk_entry entry;
    int r = 0;
    bool cut = false;
    while (!reply->truncated && (r = walk_next(walk, &entry, err)) > 0) {
        if (reply->count == q->max_entries)
            reply->truncated = true;
        else
            reply->count += q->names_only ? add_listed_name(w, &entry)
                                          : add_listed_entry(w, &entry, &cut);
    }
    reply->truncated |= cut || walk_stats(walk)->cut;
    if (r >= 0 && w->body.no_memory)
        return err_no_memory(err);
    if (r >= 0 && w->body.failed)
        return err_set(err, ERR_OUTPUT_LIMIT, "the folder has too many entries for one answer");
    return r < 0 ? -1 : 0;
}

int work_list(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    const struct op_list_request *q = &request->list;
    const struct beneath_root *root = work_root(w, q->root, q->no_links, err);
    GLOB_AT_END struct glob *glob = NULL;
    GLOB_AT_END struct glob *exclude = NULL;
    if (!root || compile_list_glob(q->glob, false, &glob, err) < 0 ||
        compile_list_glob(q->exclude, true, &exclude, err) < 0)
        return -1;
    if (q->recursive)
        work_slow(w);
    const struct walk_rules rules = {
        .recursive = q->recursive,
        .hidden = q->hidden,
        .ignore = q->ignore,
        .skip_links = q->skip_symlinks,
        .glob = glob,
        .exclude = exclude,
        .excludes = body,
    };
    struct walk *walk = walk_new(root, q->path.p, &rules, w->cancelled, err);
    if (!walk)
        return -1;
    reply->list = (struct op_list_reply){0};
    int r = add_entries(w, walk, q, &reply->list, err);
    walk_free(walk);
    return r;
}

int work_stat(struct work *w, const union op_request *request, struct str body,
              union op_reply *reply, struct err *err)
{
    (void)body;
    const struct op_stat_request *q = &request->stat;
    const struct beneath_root *root = work_root(w, q->root, q->no_links, err);
    bool link;
    FD_AT_END int fd = -1;
    CLEANUP(fd_closep) int dir = -1;
    struct beneath_place place = {.dir = -1};
    struct beneath_real real;
    struct stat st;
    if (!root || beneath_is_link(root, q->path.p, &link, err) < 0)
        return -1;
    if (link && q->no_links) {
        if (beneath_entry(root, q->path.p, &place, &real, err) < 0)
            return -1;
        dir = place.dir;
        if (fstatat(dir, place.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return beneath_errno(err, errno, q->path.p);
    } else if (beneath_open(root, q->path.p, O_PATH, &fd, err) < 0) {
        return -1;
    } else if (fstat(fd, &st) < 0) {
        return beneath_errno(err, errno, q->path.p);
    }
    reply->stat = (struct op_stat_reply){
        .type = work_file_type(st.st_mode),
        .size = st.st_size,
        .mode = st.st_mode & 07777,
        .mtime_ms = mtime_ms(&st),
        .symlink = link,
    };
    return 0;
}
