#include "work/guard_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "core/guard_pattern.h"
#include "work/guard_known.h"
#include "work/guard_parts.h"
#include "work/guard_refs.h"
#include "work/work.h"

#define CIFS_MAGIC 0xff534d42u
#define SMB2_MAGIC 0xfe534d42u
#define CEPH_MAGIC 0x00c36400u
#define FUSE_MAGIC 0x65735546u
#define GFS2_MAGIC 0x01161970u
#define OCFS2_MAGIC 0x7461636fu

int folder_stat(int dir, const char *name, struct statx *ret)
{
    const unsigned mask = STATX_TYPE | STATX_MODE | STATX_INO | STATX_CTIME | STATX_BTIME;
    int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | (*name ? 0 : AT_EMPTY_PATH);
    return statx(dir, name, flags, mask, ret) < 0 ? -errno : 0;
}

unsigned char folder_entry_type(int dir, const char *name, unsigned char listed)
{
    struct statx st;
    if (listed != DT_UNKNOWN)
        return listed;
    return folder_stat(dir, name, &st) < 0 ? DT_UNKNOWN : IFTODT(st.stx_mode);
}

struct tree_id folder_id(const struct statx *st)
{
    struct tree_id id = {.inode = st->stx_ino};
    if (st->stx_mask & STATX_BTIME)
        id.born = (struct tree_time){st->stx_btime.tv_sec, st->stx_btime.tv_nsec};
    return id;
}

static bool has_file_system_of(int fd, const uint32_t *types, size_t n)
{
    struct statfs fs;
    if (fstatfs(fd, &fs) < 0)
        return true;
    for (size_t i = 0; i < n; i++) {
        if ((uint32_t)fs.f_type == types[i])
            return true;
    }
    return false;
}

/* Another machine, or a program, decides what its times are. */
static bool is_foreign_mount(int fd)
{
    static const uint32_t types[] = {NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC, CIFS_MAGIC, SMB2_MAGIC,
                                     CODA_SUPER_MAGIC, AFS_SUPER_MAGIC, V9FS_MAGIC, CEPH_MAGIC,
                                     FUSE_MAGIC,       GFS2_MAGIC,      OCFS2_MAGIC};
    return has_file_system_of(fd, types, ARRAY_LEN(types));
}

/* The kernel's own view of processes and devices, mounted in the workspace: it changes while it is read, so that no scan of
 * it is ever complete, and it shows what is outside of the cell. */
static bool is_of_kernel(int fd)
{
    static const uint32_t types[] = {PROC_SUPER_MAGIC,   SYSFS_MAGIC,      DEBUGFS_MAGIC,
                                     TRACEFS_MAGIC,      SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC,
                                     CGROUP2_SUPER_MAGIC};
    return has_file_system_of(fd, types, ARRAY_LEN(types));
}

static void set_flag(struct reading *r, uint32_t folder, unsigned flag, bool on)
{
    const unsigned closed = TREE_CLOSED | TREE_TOO_LONG;
    struct tree_folder *f = &r->tree->folders[folder];
    unsigned now = on ? f->flags | flag : f->flags & ~flag;
    if ((f->flags & closed) != (now & closed)) {
        r->tree->closed -= (f->flags & closed) != 0;
        r->tree->closed += (now & closed) != 0;
        r->changed = true;
    }
    f->flags = (uint16_t)now;
}

/* True: what is known of it was another folder's. */
static bool take_stat(struct reading *r, uint32_t folder, const struct statx *st,
                      const struct timespec *before)
{
    struct tree_folder *f = &r->tree->folders[folder];
    struct tree_id id = folder_id(st);
    bool other = !tree_same_id(&id, &f->id);
    struct tree_time changed = {st->stx_ctime.tv_sec, st->stx_ctime.tv_nsec};
    if (other)
        f->watch = -1;
    f->id = id;
    f->changed = tree_time_is_new(&changed, before) ? (struct tree_time){0} : changed;
    return other;
}

/* The folders that were in it, found by their names. */
static void table_old(struct reading *r, uint32_t first)
{
    struct tree *t = r->tree;
    uint32_t count = 0;
    for (uint32_t at = first; at != TREE_NONE; at = t->folders[at].next)
        count++;
    uint32_t room = 16;
    while (room < 2 * count)
        room *= 2;
    if (room > r->old_room || room < r->old_room / 64) {
        r->old = mem_grow(r->old, room, sizeof *r->old);
        r->old_room = room;
    }
    memset(r->old, 0xff, r->old_room * sizeof *r->old);
    for (uint32_t at = first; at != TREE_NONE; at = t->folders[at].next) {
        struct str name = tree_name(t, t->folders[at].name, t->folders[at].name_n);
        uint32_t slot = (uint32_t)(tree_hash(t, name) >> 32) & (r->old_room - 1);
        while (r->old[slot] != TREE_NONE)
            slot = (slot + 1) & (r->old_room - 1);
        r->old[slot] = at;
    }
}

/* Those that were found again are flagged. */
static uint32_t find_old(struct reading *r, struct str name)
{
    struct tree *t = r->tree;
    for (uint32_t slot = (uint32_t)(tree_hash(t, name) >> 32) & (r->old_room - 1);
         r->old[slot] != TREE_NONE; slot = (slot + 1) & (r->old_room - 1)) {
        struct tree_folder *f = &t->folders[r->old[slot]];
        if (f->name_n == name.n && memcmp(t->names.data + f->name, name.p, name.n) == 0)
            return r->old[slot];
    }
    return TREE_NONE;
}

static bool is_git_entry_name(struct str name)
{
    return name.n == 4 && name.p[0] == '.' && ascii_lower(name.p[1]) == 'g' &&
           ascii_lower(name.p[2]) == 'i' && ascii_lower(name.p[3]) == 't';
}

static uint8_t judge_read_entry(const struct reading *r, struct str path, struct str name,
                                unsigned char type)
{
    const char *rule;
    enum guard_verdict verdict = GUARD_OPEN;
    bool is_folder = type == DT_DIR;
    if (guard_may_name(r->guard, name))
        verdict = type == DT_LNK ? guard_judge_link(r->guard, path, &rule)
                                 : guard_judge(r->guard, path, is_folder, &rule);
    if (verdict == GUARD_SECRET)
        return GUARDED_SECRET;
    if (verdict == GUARD_PROTECTED)
        return is_folder && is_git_entry_name(name) ? GUARDED_GIT : GUARDED_PROTECTED;
    /* A link may stand for a folder on the way to what a rule names. */
    if ((is_folder || type == DT_LNK) && guard_may_hold(r->guard, name) &&
        guard_holds(r->guard, path, &rule) != GUARD_OPEN)
        return GUARDED_WAY;
    return TREE_PLAIN;
}

/* The kind of one that was guarded where it was before. */
static uint8_t remembered(const struct reading *r, uint32_t folder, int fd, const char *name,
                          struct tree_id *ret_id)
{
    struct statx st;
    struct str path = {r->path, strlen(r->path)};
    uint64_t hash = tree_hash(r->tree, (struct str){name, strlen(name)});
    if (!tree_knows_name(r->tree, hash) || folder_stat(fd, name, &st) < 0)
        return TREE_PLAIN;
    *ret_id = folder_id(&st);
    return guard_known_kind(r->tree, r->guard,
                            &(struct guard_known){.path = path,
                                                  .name = hash,
                                                  .id = *ret_id,
                                                  .around = r->tree->folders[folder].id.inode,
                                                  .is_folder = S_ISDIR(st.stx_mode)});
}

uint8_t guard_stronger(uint8_t a, uint8_t b)
{
    static const uint8_t ranks[] = {
        [GUARDED_SECRET] = 6, [GUARDED_GIT] = 5, [GUARDED_PART] = 4,  [GUARDED_PROTECTED] = 3,
        [GUARDED_SOCKET] = 2, [GUARDED_WAY] = 1, [GUARDED_OPENED] = 0};
    unsigned rank_a = a == TREE_PLAIN ? 0 : ranks[a];
    unsigned rank_b = b == TREE_PLAIN ? 0 : ranks[b];
    return rank_b > rank_a ? b : a;
}

/* Whether another folder has taken the name of one that is known. Its own watch may tell nothing: that one can live on,
 * held open by somebody. */
static bool is_other_folder(const struct reading *r, uint32_t known, int fd, const char *name)
{
    struct statx st;
    if (folder_stat(fd, name, &st) < 0)
        return true;
    struct tree_id id = folder_id(&st);
    return !tree_same_id(&id, &r->tree->folders[known].id);
}

/* Of a folder that is not read itself. */
static void note_identity(struct tree *t, uint32_t folder, int fd, const char *name)
{
    struct statx st;
    if (folder_stat(fd, name, &st) == 0)
        t->folders[folder].id = folder_id(&st);
}

static void take_read_folder(struct reading *r, uint32_t folder, int fd, const char *text)
{
    struct tree *t = r->tree;
    struct str name = {text, strlen(text)};
    size_t n = strlen(r->path);
    uint32_t at = find_old(r, name);
    if (at == TREE_NONE) {
        at = tree_add_folder(t, folder, name);
    } else {
        t->folders[at].next = t->folders[folder].first;
        t->folders[folder].first = at;
        if (is_other_folder(r, at, fd, text))
            set_flag(r, at, TREE_READ, true);
    }
    struct tree_id id = t->folders[at].id;
    uint8_t kind = judge_read_entry(r, (struct str){r->path, n}, name, DT_DIR);
    if (kind == GUARDED_SECRET && guard_is_ref(r, folder, fd, text, true))
        kind = TREE_PLAIN;
    bool open_git = r->git && kind != GUARDED_GIT && is_git_entry_name(name);
    uint8_t by_rule = kind;
    kind = guard_stronger(kind, remembered(r, folder, fd, text, &id));
    struct tree_folder *f = &t->folders[at];
    f->apart = kind != by_rule;
    bool was_secret = f->kind == GUARDED_SECRET;
    r->changed |= kind != TREE_PLAIN || f->kind != TREE_PLAIN;
    f->kind = kind;
    f->flags |= TREE_LISTED;
    set_flag(r, at, TREE_GIT_NAME, open_git);
    if (kind == GUARDED_SECRET) {
        /* It is covered whatever is in it. */
        tree_empty_folder(t, at);
        set_flag(r, at, TREE_READ | TREE_CLOSED | TREE_GIT, false);
        note_identity(t, at, fd, text);
    } else if (t->folders[at].path_n > TREE_PATH_MAX) {
        set_flag(r, at, TREE_READ, false);
        set_flag(r, at, TREE_TOO_LONG, true);
        note_identity(t, at, fd, text);
    } else if (was_secret || t->folders[at].flags & TREE_CLOSED) {
        set_flag(r, at, TREE_READ, true);
    }
}

static void take_read_file(struct reading *r, uint32_t folder, int fd, const char *text,
                           unsigned char type)
{
    struct str name = {text, strlen(text)};
    struct statx st;
    struct tree_id id = {0};
    struct str path = {r->path, strlen(r->path)};
    uint8_t kind = judge_read_entry(r, path, name, type);
    if (kind == GUARDED_SECRET && type == DT_REG && guard_is_ref(r, folder, fd, text, false))
        kind = TREE_PLAIN;
    if (type == DT_SOCK)
        kind = guard_stronger(kind, GUARDED_SOCKET);
    uint8_t by_rule = kind;
    kind = guard_stronger(kind, remembered(r, folder, fd, text, &id));
    /* Should the root look like a bare repository, its parts count. */
    if (kind == TREE_PLAIN && !(folder == 0 && r->git && tree_is_part_of_git(name)) &&
        !(r->git && guard_is_lead(r->tree, folder, name, type)))
        return;
    if (id.inode == 0 && folder_stat(fd, text, &st) == 0)
        id = folder_id(&st);
    struct tree_mark *mark = tree_add_mark(r->tree, folder, name);
    mark->kind = kind;
    mark->apart = kind != by_rule;
    mark->type = (uint8_t)work_file_type(DTTOIF(type));
    mark->id = id;
    r->changed = true;
}

static unsigned git_flag(const char *name)
{
    /* Git asks only whether objects and refs can be searched, and that holds for a file that can be run. With a
     * commondir they lie elsewhere. */
    return strcmp(name, "HEAD") == 0        ? TREE_HEAD
           : strcmp(name, "objects") == 0   ? TREE_OBJECTS
           : strcmp(name, "refs") == 0      ? TREE_REFS
           : strcmp(name, "commondir") == 0 ? TREE_OBJECTS | TREE_REFS
                                            : 0;
}

static int take_read_entry(struct reading *r, uint32_t folder, int fd, const struct dirent64 *d)
{
    struct tree *t = r->tree;
    unsigned char type = d->d_type;
    struct statx st;
    if (type == DT_UNKNOWN) {
        int error = folder_stat(fd, d->d_name, &st);
        if (error < 0)
            return error == -ENOENT ? 0 : error;
        type = IFTODT(st.stx_mode);
    }
    if (t->entries >= r->max_entries)
        return -E2BIG;
    if (!tree_make_room(t))
        return -ENOMEM;
    t->entries++;
    t->folders[folder].entries++;
    if (r->git)
        t->folders[folder].flags |= (uint16_t)git_flag(d->d_name);
    size_t n = t->folders[folder].path_n;
    size_t length = strlen(d->d_name);
    if (length > PATH_NAME_MAX)
        return -ENAMETOOLONG;
    size_t slash = n > 0;
    r->path[n] = '/';
    memcpy(r->path + n + slash, d->d_name, length + 1);
    if (type == DT_DIR)
        take_read_folder(r, folder, fd, d->d_name);
    else
        take_read_file(r, folder, fd, d->d_name, type);
    r->path[n] = '\0';
    return 0;
}

static int take_entries(struct reading *r, uint32_t folder, int fd)
{
    ssize_t got;
    while ((got = getdents64(fd, r->chunk, WORK_CHUNK)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *d = (const void *)(r->chunk + at);
            at += d->d_reclen;
            if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                continue;
            int error = take_read_entry(r, folder, fd, d);
            if (error < 0)
                return error;
        }
    }
    /* ENOENT: it was removed meanwhile, and is empty. */
    return got < 0 && errno != ENOENT ? -errno : 0;
}

/* The folders of the list that were not found again. */
static void drop_gone(struct reading *r, uint32_t *list, uint32_t count)
{
    struct tree *t = r->tree;
    for (uint32_t i = 0; i < count; i++) {
        struct tree_folder *f = &t->folders[list[i]];
        if (f->flags & TREE_LISTED)
            continue;
        f->next = TREE_NONE;
        tree_drop_folder(t, list[i]);
        r->changed = r->lost = true;
    }
}

static uint32_t *list_children(const struct tree *t, uint32_t folder, uint32_t *ret_count)
{
    uint32_t count = 0;
    for (uint32_t at = t->folders[folder].first; at != TREE_NONE; at = t->folders[at].next)
        count++;
    uint32_t *list = mem_grow(NULL, (size_t)count + 1, sizeof *list);
    *ret_count = 0;
    for (uint32_t at = t->folders[folder].first; at != TREE_NONE; at = t->folders[at].next)
        list[(*ret_count)++] = at;
    return list;
}

bool folder_can_reach(int fd, const struct statx *st)
{
    return (st->stx_mode & 0555) == 0555 ||
           syscall(SYS_faccessat2, fd, "", R_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

int folder_close(struct reading *r, uint32_t folder)
{
    tree_empty_folder(r->tree, folder);
    r->tree->entries -= r->tree->folders[folder].entries;
    r->tree->folders[folder].entries = 0;
    set_flag(r, folder, TREE_READ | TREE_GIT, false);
    set_flag(r, folder, TREE_CLOSED, true);
    r->changed = true;
    return 0;
}

int folder_read(struct reading *r, uint32_t folder, int fd)
{
    struct tree *t = r->tree;
    struct statx st;
    struct timespec before;
    clock_gettime(CLOCK_REALTIME_COARSE, &before);
    int error = folder_stat(fd, "", &st);
    if (error < 0)
        return error;
    if (take_stat(r, folder, &st, &before)) {
        tree_empty_folder(t, folder);
        r->changed = true;
    }
    uint32_t parent = t->folders[folder].parent;
    bool is_mount = parent == TREE_NONE || (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
    if (!(r->reopened || folder_can_reach(fd, &st)) || (is_mount && is_of_kernel(fd)))
        return folder == 0 ? -EACCES : folder_close(r, folder);
    bool foreign = is_mount ? (folder == 0 && r->foreign) || is_foreign_mount(fd)
                            : t->folders[parent].flags & TREE_FOREIGN;
    /* A link may lead through it, or by a name in it that means nothing where it is. */
    r->changed |= t->folders[folder].marks != TREE_NONE || t->links;
    unsigned git = t->folders[folder].flags & TREE_GIT;
    uint32_t n_old;
    FREE_AT_END uint32_t *old = list_children(t, folder, &n_old);
    table_old(r, t->folders[folder].first);
    for (uint32_t i = 0; i < n_old; i++)
        t->folders[old[i]].flags &= (uint16_t)~TREE_LISTED;
    t->folders[folder].first = TREE_NONE;
    tree_drop_marks(t, folder);
    t->entries -= t->folders[folder].entries;
    t->folders[folder].entries = 0;
    set_flag(r, folder, TREE_READ | TREE_CLOSED | TREE_GIT | TREE_FOREIGN, false);
    set_flag(r, folder, TREE_FOREIGN, foreign);
    error = take_entries(r, folder, fd);
    drop_gone(r, old, n_old);
    if (git != (t->folders[folder].flags & TREE_GIT)) {
        r->changed = true;
        guard_refs_reread(r, folder);
    }
    r->folders++;
    if (error < 0)
        set_flag(r, folder, TREE_READ, true);
    return error;
}

void reading_done(struct reading *r)
{
    free(r->old);
}
