#include "work/walk.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "core/op.h"
#include "work/ignore_files.h"
#include "work/temps.h"

/* Names held at once, with what is kept of each; beyond it the walk says that it is cut. */
#define NAMES_MAX ((size_t)64 << 20)
/* Folders in one another that are gone into: each costs a descriptor. */
#define DEPTH_MAX 200
#define ENTRIES_BYTES ((size_t)32 << 10)

/* What is sorted: nearly always the first bytes of two names differ already. */
struct item {
    uint64_t head;
    uint32_t at; /* of the name in walk.names, with a NUL behind it */
    uint16_t length;
    unsigned char type;
};

/* A folder that is being gone through. The names of all such folders lie in one heap, those of the
 * innermost last. */
struct level {
    struct walk_folder *folder;
    size_t prefix; /* length of the way to it in walk.path */
    size_t names;  /* where its names begin in walk.names */
    size_t first;  /* its items in walk.items */
    size_t next;
    size_t end;
    struct ignore_files ignores;
};

struct walk {
    const struct walk_rules *rules;
    const struct beneath_root *root; /* its rules hold; NULL: what is secret is shown too */
    const atomic_bool *cancelled;
    struct walk_stats stats;
    struct level *levels;
    int depth;
    struct buf names;
    struct buf items;
    char *entries; /* ENTRIES_BYTES, as the kernel fills them in */
    struct ignore_reader reader;
    struct ignore_files ignores; /* of the folders around the one where the walk begins */
    bool may_ignore;             /* rules may be there, now or in a folder below */
    bool into;                   /* the folder whose path stands in `path` is next */
    size_t begin;                /* of what the caller sees in `path` */
    size_t length;
    char path[2 * PATH_TEXT_MAX]; /* of the entry at hand, seen from the root */
    struct beneath_real real;     /* where the walk began */
};

struct walk_folder *walk_folder_ref(struct walk_folder *folder)
{
    atomic_fetch_add_explicit(&folder->refs, 1, memory_order_relaxed);
    return folder;
}

void walk_folder_unref(struct walk_folder *folder)
{
    if (atomic_fetch_sub_explicit(&folder->refs, 1, memory_order_acq_rel) != 1)
        return;
    close(folder->fd);
    free(folder);
}

const struct walk_stats *walk_stats(const struct walk *walk)
{
    return &walk->stats;
}

static int check_go_on(const struct walk *w, struct err *err)
{
    if (atomic_load_explicit(w->cancelled, memory_order_relaxed))
        return err_set(err, ERR_CANCELLED, "the call was cancelled");
    /* Many small things become much, and others need the rest. */
    return reserve_is_whole() ? 0 : err_no_memory(err);
}

/* What cannot be looked at is passed over, and that is told. Where the machine lacks something the walk ends: what it
 * left out would depend on what else is running. */
static int pass_over_unreadable(struct walk *w, int error, struct err *err)
{
    if (error == 0 || beneath_is_gone(error))
        return 0;
    if (err_is_shortage(error)) {
        w->path[w->length] = '\0'; /* the rest of a longer one may stand there */
        return beneath_errno(err, error, w->path);
    }
    w->stats.unreadable++;
    w->stats.cut |= error != EACCES && error != EPERM;
    return 0;
}

static unsigned char type_of(struct walk *w, int dir, const struct dirent64 *d)
{
    struct stat st;
    if (d->d_type != DT_UNKNOWN)
        return d->d_type;
    if (fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return IFTODT(st.st_mode);
    w->stats.cut |= !beneath_is_gone(errno);
    return DT_UNKNOWN;
}

/* Folders of what others made. A search is not for them; a list shows what there is. */
static bool is_foreign_folder(const struct walk_rules *rules, const char *name)
{
    bool git = strcmp(name, ".git") == 0;
    if (git && rules->ignore)
        return true;
    return rules->files_only && !rules->modules && (git || strcmp(name, "node_modules") == 0);
}

/* One that a call of this worker has, or had when the folder was read. */
static bool is_temporary(int dir, const char *name)
{
    struct stat st;
    return temp_is_in_use(dir, name) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0;
}

static bool is_hidden_entry(const struct walk_rules *rules, const char *name, bool folder)
{
    return name[0] == '.' && !rules->hidden && (folder || !rules->hidden_files);
}

static bool wanted(const struct walk *w, int dir, const char *name, unsigned char type)
{
    const struct walk_rules *rules = w->rules;
    if (name[0] == '.') {
        if (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'))
            return false;
        /* With ignore files it can still be one that a rule keeps. */
        if (is_hidden_entry(rules, name, type == DT_DIR) && !w->may_ignore)
            return false;
        if (strncmp(name, OP_TEMP_PREFIX, strlen(OP_TEMP_PREFIX)) == 0 && is_temporary(dir, name))
            return false;
    }
    switch (type) {
    case DT_REG:
        return true;
    case DT_DIR:
        return (rules->recursive || !rules->files_only) && !is_foreign_folder(rules, name);
    case DT_LNK:
        return !rules->skip_links && !rules->files_only;
    case DT_UNKNOWN:
        return false;
    default:
        return !rules->files_only;
    }
}

/* Which ignore file the name is, so that none is looked for where there is none. */
static unsigned noticed(const char *name, unsigned char type)
{
    if (name[0] != '.')
        return 0;
    if (type == DT_REG && strcmp(name, ".gitignore") == 0)
        return IGNORE_FOUND_GIT;
    if (type == DT_REG && strcmp(name, ".ignore") == 0)
        return IGNORE_FOUND_OWN;
    return type == DT_DIR && strcmp(name, ".git") == 0 ? IGNORE_FOUND_EXCLUDE : 0;
}

static void add_walk_name(struct walk *w, const char *name, unsigned char type)
{
    size_t length = strlen(name);
    char head[8] = {0};
    if (w->names.len + w->items.len + length + 1 + sizeof(struct item) > NAMES_MAX) {
        w->stats.cut = true;
        return;
    }
    memcpy(head, name, length < sizeof head ? length : sizeof head);
    struct item item = {.at = (uint32_t)w->names.len, .length = (uint16_t)length, .type = type};
    memcpy(&item.head, head, sizeof head);
    item.head = be64toh(item.head);
    buf_add(&w->names, name, length + 1);
    buf_add(&w->items, &item, sizeof item);
}

static int compare_walk_items(const void *a, const void *b, void *names)
{
    const struct item *x = a;
    const struct item *y = b;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    return strcmp((const char *)names + x->at, (const char *)names + y->at);
}

static struct item *items_of(const struct walk *w)
{
    return (struct item *)(void *)w->items.data;
}

/* Names that were read before an error count; *ret_error is then its errno. */
static int read_names(struct walk *w, const struct level *level, unsigned *found, int *ret_error,
                      struct err *err)
{
    int fd = level->folder->fd;
    for (;;) {
        if (check_go_on(w, err) < 0)
            return -1;
        ssize_t got = getdents64(fd, w->entries, ENTRIES_BYTES);
        if (got <= 0) {
            *ret_error = got < 0 ? errno : 0;
            return 0;
        }
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *d = (const void *)(w->entries + at);
            at += d->d_reclen;
            unsigned char type = type_of(w, fd, d);
            *found |= noticed(d->d_name, type);
            if (wanted(w, fd, d->d_name, type))
                add_walk_name(w, d->d_name, type);
        }
    }
}

static void leave_walk_folder(struct walk *w)
{
    struct level *level = &w->levels[--w->depth];
    ignore_files_drop(&level->ignores, &w->reader,
                      w->depth ? &w->levels[w->depth - 1].ignores : &w->ignores);
    w->names.len = level->names;
    w->items.len = level->first * sizeof(struct item);
    walk_folder_unref(level->folder);
}

/* Of others some do not: FUSE may be told to pass on what the program behind it gives. */
static bool reads_whole(int fd)
{
    struct statfs st;
    if (fstatfs(fd, &st) < 0)
        return false;
    switch ((unsigned long)st.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
        return true;
    default:
        return false;
    }
}

static int enter_walk_folder(struct walk *w, int fd, int *ret_error, struct err *err)
{
    struct level *level = &w->levels[w->depth];
    size_t first = w->items.len / sizeof(struct item);
    unsigned found = 0;
    struct walk_folder *folder = mem_zero(sizeof *folder);
    folder->fd = fd;
    folder->reads_whole = w->rules->files_only && reads_whole(fd);
    atomic_init(&folder->refs, 1);
    *level = (struct level){
        .folder = folder,
        .prefix = w->length,
        .names = w->names.len,
        .first = first,
        .next = first,
        .ignores = w->depth ? w->levels[w->depth - 1].ignores : w->ignores,
    };
    w->depth++;
    int r = read_names(w, level, &found, ret_error, err);
    level->end = w->items.len / sizeof(struct item);
    if (level->end > first)
        qsort_r(items_of(w) + first, level->end - first, sizeof(struct item), compare_walk_items,
                w->names.data);
    int ignores = 0;
    if (r == 0 && w->rules->ignore && found)
        ignores = ignore_files_read(&level->ignores, &w->reader, fd, found, level->prefix);
    if (r == 0 && pass_over_unreadable(w, -ignores, err) < 0)
        return -1;
    if (w->names.no_memory || w->items.no_memory)
        return err_no_memory(err);
    if (w->names.failed || w->items.failed)
        return err_set(err, ERR_OUTPUT_LIMIT, "the folders have too many entries for one answer");
    return r;
}

static int go_into(struct walk *w, struct err *err)
{
    int error = 0;
    w->into = false;
    if (w->depth == DEPTH_MAX || w->length - w->begin + PATH_NAME_MAX + 2 > PATH_TEXT_MAX) {
        w->stats.cut = true;
        return 0;
    }
    const struct level *level = &w->levels[w->depth - 1];
    int fd = beneath_open_child(level->folder->fd, w->path + level->prefix);
    if (fd < 0)
        return pass_over_unreadable(w, errno, err);
    w->path[w->length++] = '/';
    if (enter_walk_folder(w, fd, &error, err) < 0)
        return -1;
    return pass_over_unreadable(w, error, err);
}

static bool glob_matches_entry(const struct glob *glob, struct str path, bool folder)
{
    return (folder || !glob_folders_only(glob)) && glob_match(glob, path);
}

static bool is_ignored(struct walk *w, const struct level *level, bool folder)
{
    bool hidden = is_hidden_entry(w->rules, w->path + level->prefix, folder);
    struct str path = {w->path, w->length};
    switch (w->may_ignore ? ignore_files_verdict(&level->ignores, path, folder) : IGNORE_NONE) {
    case IGNORE_DROP:
        w->stats.ignored += !hidden;
        return true;
    case IGNORE_KEEP:
        return false;
    default:
        return hidden;
    }
}

/* Judged by where it really is: links may have led to where the walk began. */
static bool is_secret_entry(struct walk *w, const struct level *level, bool folder)
{
    char text[BENEATH_REAL_MAX + PATH_TEXT_MAX];
    const char *rule;
    struct str name = {w->path + level->prefix, w->length - level->prefix};
    if (!guard_may_name(w->root->guard, name))
        return false;
    bool at_root = strcmp(w->real.text, ".") == 0;
    int n = snprintf(text, sizeof text, "%s%s%s", at_root ? "" : w->real.text, at_root ? "" : "/",
                     w->path + w->begin);
    struct str path = {text, (size_t)n};
    return beneath_verdict(w->root, path, level->folder->fd, folder, &rule) == GUARD_SECRET;
}

/* True with an entry; w->into says whether its folder comes next, even where it is no entry. */
static bool visit_walk_item(struct walk *w, const struct level *level, const struct item *item,
                            struct walk_entry *ret)
{
    const struct walk_rules *rules = w->rules;
    bool folder = item->type == DT_DIR;
    memcpy(w->path + level->prefix, w->names.data + item->at, (size_t)item->length + 1);
    w->length = level->prefix + item->length;
    struct str path = {w->path + w->begin, w->length - w->begin};
    bool listed = (!folder || !rules->files_only) &&
                  (!rules->glob || glob_matches_entry(rules->glob, path, folder));
    bool into = folder && rules->recursive &&
                (!rules->glob || glob_may_match_beneath(rules->glob, path));
    if (!listed && !into)
        return false;
    if ((rules->exclude && glob_matches_entry(rules->exclude, path, folder)) ||
        is_ignored(w, level, folder))
        return false;
    if (w->root && is_secret_entry(w, level, folder)) {
        w->stats.unreadable++;
        return false;
    }
    w->into = into;
    *ret = (struct walk_entry){level->folder, w->path + level->prefix, path, item->type};
    return listed;
}

int walk_next(struct walk *w, struct walk_entry *ret, struct err *err)
{
    for (;;) {
        if (check_go_on(w, err) < 0 || (w->into && go_into(w, err) < 0))
            return -1;
        if (w->depth == 0)
            return 0;
        struct level *level = &w->levels[w->depth - 1];
        if (level->next == level->end)
            leave_walk_folder(w);
        else if (visit_walk_item(w, level, &items_of(w)[level->next++], ret))
            return 1;
    }
}

/* The way to the first folder as its components; `..` is taken as text. */
static void set_begin(struct walk *w, const char *path)
{
    size_t n = 0;
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            while (n && w->path[--n] != '/')
                ;
        } else if (length && !(length == 1 && at[0] == '.')) {
            if (n)
                w->path[n++] = '/';
            memcpy(w->path + n, at, length);
            n += length;
        }
        at += length + (at[length] == '/');
    }
    if (n)
        w->path[n++] = '/';
    w->begin = n;
    w->length = n;
}

static int read_parents(struct walk *w, const struct beneath_root *root, struct err *err)
{
    int r = 0;
    if (w->begin)
        r = ignore_files_read(&w->ignores, &w->reader, root->fd, IGNORE_FOUND_ANY, 0);
    for (size_t i = 0; r == 0 && i + 1 < w->begin; i++) {
        FD_AT_END int fd = -1;
        if (w->path[i] != '/')
            continue;
        w->path[i] = '\0';
        int opened = beneath_open(root, w->path, O_PATH | O_DIRECTORY, &fd, err);
        w->path[i] = '/';
        if (opened < 0 && err->code == ERR_SESSION_BUSY)
            return -1;
        if (opened == 0)
            r = ignore_files_read(&w->ignores, &w->reader, fd, IGNORE_FOUND_ANY, i + 1);
    }
    return pass_over_unreadable(w, -r, err);
}

static int begin_walk(struct walk *w, const struct beneath_root *root, const char *path,
                      struct err *err)
{
    FD_AT_END int fd = -1;
    int error = 0;
    if (beneath_open_real(root, path, O_RDONLY | O_DIRECTORY, &fd, &w->real, err) < 0)
        return -1;
    if (w->root && beneath_judge(root, path, &w->real, BENEATH_FOLDER | BENEATH_ONLY_READ, err) < 0)
        return -1;
    set_begin(w, path);
    if (w->rules->ignore && read_parents(w, root, err) < 0)
        return -1;
    if (enter_walk_folder(w, TAKE_FD(fd), &error, err) < 0)
        return -1;
    return error ? beneath_errno(err, error, path) : 0;
}

struct walk *walk_new(const struct beneath_root *root, const char *path,
                      const struct walk_rules *rules, const atomic_bool *cancelled, struct err *err)
{
    struct walk *w = mem_zero(sizeof *w);
    w->rules = rules;
    w->root = rules->readable && root->guard ? root : NULL;
    w->cancelled = cancelled;
    w->names = BUF_INIT(NAMES_MAX);
    w->items = BUF_INIT(NAMES_MAX);
    w->levels = reallocarray(NULL, rules->recursive ? DEPTH_MAX : 1, sizeof *w->levels);
    w->entries = malloc(ENTRIES_BYTES);
    if (!w->levels || !w->entries) {
        err_no_memory(err);
        walk_free(w);
        return NULL;
    }
    int given = rules->excludes.n ? ignore_files_give(&w->ignores, &w->reader, rules->excludes) : 0;
    w->may_ignore = rules->ignore || w->ignores.last[IGNORE_FILE_GIVEN];
    if ((given < 0 && err_no_memory(err) < 0) || begin_walk(w, root, path, err) < 0) {
        walk_free(w);
        return NULL;
    }
    return w;
}

void walk_free(struct walk *w)
{
    static const struct ignore_files none;
    if (!w)
        return;
    while (w->depth > 0)
        leave_walk_folder(w);
    ignore_files_drop(&w->ignores, &w->reader, &none);
    ignore_reader_done(&w->reader);
    buf_done(&w->names);
    buf_done(&w->items);
    free(w->levels);
    free(w->entries);
    free(w);
}
