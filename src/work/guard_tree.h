/* What a scan for guarded files knows of a root: its folders, with when each last changed, and the names in them that
 * count. A later scan reads only folders that have changed. It is kept in a file between gates (guard_index.h).
 *
 * Folders and marks stand in arrays and name each other by index. A folder's path never changes: one that is moved is
 * found under its new name and read anew. */
#ifndef SANDGATE_WORK_GUARD_TREE_H
#define SANDGATE_WORK_GUARD_TREE_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "core/op.h"
#include "core/path.h"

#define TREE_NONE UINT32_MAX
/* Not guarded itself. */
#define TREE_PLAIN 0xffu
/* Another gate has found it; here it appears when a scan finds it. */
#define TREE_UNSEEN UINT64_MAX
/* The longest path of a folder that is looked into: any name in it still makes a path. */
#define TREE_PATH_MAX (PATH_TEXT_MAX - PATH_NAME_MAX - 2)

struct tree_time {
    int64_t sec;
    int64_t nsec;
};
struct tree_time tree_now(void);
/* The clock of a file system is coarse: what changed so shortly before it was looked at may have changed again since,
 * and its time tells nothing. */
bool tree_time_is_new(const struct tree_time *changed, const struct timespec *looked);
/* The last moment, in nanoseconds, that this time of a file may stand for. */
int64_t tree_time_latest(int64_t sec, uint32_t nsec);

/* Which file it is, whatever its name. File systems without a time of birth have zeros there. */
struct tree_id {
    uint64_t inode;
    struct tree_time born;
};

enum tree_flag {
    TREE_CLOSED = 1,   /* it cannot be listed, or what is in it cannot be reached */
    TREE_TOO_LONG = 2, /* paths in it would be */
    TREE_HEAD = 4,     /* it has the entries of a git directory */
    TREE_OBJECTS = 8,
    TREE_REFS = 16,
    TREE_GIT_NAME = 32, /* it is called .git, and the rules leave it open */
    TREE_FOREIGN = 64,  /* times of its file system mean nothing to us */
    TREE_KEPT = 127,    /* those that are kept in a file */
    TREE_READ = 128,    /* to be read in any case */
    TREE_COVERED = 256, /* lies in something that is covered as a whole */
    TREE_FREE = 512,    /* stands for nothing */
    TREE_LISTED = 1024, /* read in this pass */
};
#define TREE_GIT (TREE_HEAD | TREE_OBJECTS | TREE_REFS)

struct tree_folder {
    struct tree_id id;
    struct tree_time changed; /* sec 0: not known well enough */
    uint32_t parent;
    uint32_t first; /* folder in it */
    uint32_t next;  /* in the same folder */
    uint32_t marks;
    uint32_t name; /* in `names` */
    uint32_t entries;
    int32_t watch; /* inotify's; -1: none */
    uint16_t flags;
    uint16_t path_n;
    uint8_t name_n;
    uint8_t kind;  /* enum guarded_kind, or TREE_PLAIN */
    uint8_t apart; /* see tree_known */
    uint8_t unused[5];
};

/* A name in a folder that is not a folder. */
struct tree_mark {
    struct tree_id id;
    uint32_t next;
    uint32_t name;
    uint8_t name_n;
    uint8_t kind;
    uint8_t type;  /* enum file_type */
    uint8_t apart; /* see tree_known */
    uint8_t unused[4];
};

/* A guarded file or folder that was there at the last scan. By its identity and its own name it is found again where
 * a folder around it was moved, and the rules no longer name it. */
struct tree_known {
    uint64_t path; /* 0: it was not found */
    uint64_t name;
    struct tree_id id;
    uint64_t seen;     /* the generation it appeared in, or TREE_UNSEEN */
    uint64_t replaced; /* the generation in which this one took the place of another */
    uint64_t around;   /* the inode of its folder */
    uint8_t kind;
    uint8_t type;  /* enum file_type */
    uint8_t made;  /* it appeared while a command ran */
    uint8_t led;   /* guarded only while something that was made so leads to it */
    uint8_t apart; /* no rule names it where it is: it is guarded because it was before */
    uint8_t
        carried; /* from an index for other rules: those that hold now decide whether it stays guarded */
    uint8_t sought; /* unseen, and all folders were read for it */
    uint8_t unused;
};

struct tree_table {
    uint32_t *slots;
    uint32_t mask;
};

struct tree {
    struct tree_folder *folders; /* the first is the root */
    uint32_t n_folders;
    uint32_t free_folder;
    struct tree_mark *marks;
    uint32_t n_marks;
    uint32_t free_mark;
    struct buf names;
    size_t unused_names; /* bytes */
    struct tree_known *known;
    uint32_t n_known;
    struct tree_table by_name; /* of the known: one for each name */
    struct tree_table by_id;
    struct tree_table by_path;
    uint64_t seed; /* of its hashes: nobody outside can make two paths look alike */
    uint64_t entries;
    uint32_t closed;   /* folders that cannot be looked into */
    bool links;        /* some of what is guarded leads elsewhere, through any folder */
    uint32_t vanished; /* known ones that the last scan did not find, nor the folder around them */
};

/* `tree` is all zeros, or was given to tree_done. */
void tree_init(struct tree *tree, uint64_t seed);
void tree_done(struct tree *tree);

/* For one folder and one mark more, so that adding these cannot fail. False: there is no memory. */
bool tree_make_room(struct tree *tree);
uint32_t tree_add_folder(struct tree *tree, uint32_t parent, struct str name);
/* With all that is in it; the caller has taken it out of its parent's list. */
void tree_drop_folder(struct tree *tree, uint32_t folder);
/* What is in it: folders and marks. */
void tree_empty_folder(struct tree *tree, uint32_t folder);
void tree_drop_marks(struct tree *tree, uint32_t folder);
struct tree_mark *tree_add_mark(struct tree *tree, uint32_t folder, struct str name);
/* Gives back the room of names that nothing uses, where that is worth while. */
void tree_tidy(struct tree *tree);

struct str tree_name(const struct tree *tree, uint32_t at, uint8_t n);
/* `path` has PATH_TEXT_MAX bytes; its length. */
size_t tree_path(const struct tree *tree, uint32_t folder, char *path);

/* The folder with this path, or TREE_NONE. */
uint32_t tree_find(const struct tree *tree, struct str path);

/* Names in a git directory that decide what git does. A root that looks like a bare repository cannot be covered as a
 * whole: these are. */
bool tree_is_part_of_git(struct str name);

uint64_t tree_hash(const struct tree *tree, struct str text);
/* Takes over the list. */
void tree_set_known(struct tree *tree, struct tree_known *known, uint32_t count);
/* Whether a known one has this name, by its hash. */
bool tree_knows_name(const struct tree *tree, uint64_t name);
/* Indices of known ones, or TREE_NONE. The first also wants a link to be in the same folder as before: nothing can be
 * mounted on a link, so a command can move it. */
uint32_t tree_find_known(const struct tree *tree, const struct tree_known *known);
/* Whether any folder or name that counts is this one, also where it is covered with a folder around it. A command cannot
 * give another name to what was covered. */
bool tree_holds(const struct tree *tree, uint64_t name, const struct tree_id *id);
uint32_t tree_find_id(const struct tree *tree, uint64_t name, const struct tree_id *id);
uint32_t tree_find_path(const struct tree *tree, uint64_t path);

static inline bool tree_same_id(const struct tree_id *a, const struct tree_id *b)
{
    return a->inode == b->inode && a->born.sec == b->born.sec && a->born.nsec == b->born.nsec;
}

static inline struct op_identity tree_identity(const struct tree_id *id)
{
    uint64_t born = (uint64_t)id->born.sec * 1000000000u + (uint64_t)id->born.nsec;
    return (struct op_identity){id->inode, (int64_t)born};
}

#endif
