/* Goes through a folder and what is in it, by descriptors, in a fixed order: the names of each folder sorted
 * by their bytes, a folder before what is in it. No link is followed. One thread at a time uses a walk. */
#ifndef SANDGATE_WORK_WALK_H
#define SANDGATE_WORK_WALK_H

#include <stdatomic.h>

#include "core/glob.h"
#include "work/beneath.h"

struct walk_rules {
    bool recursive;
    bool hidden;          /* also names that begin with a dot; never `.git` when `ignore` is set */
    bool hidden_files;    /* of those only files, no folders */
    bool ignore;          /* leave out what .gitignore, .ignore, .git/info/exclude name */
    bool modules;         /* also go into folders named node_modules and .git */
    bool skip_links;      /* symbolic links are not handed out */
    bool files_only;      /* only regular files are handed out */
    bool readable;        /* nothing that is secret is handed out or gone into */
    struct glob *glob;    /* hands out only what matches; NULL: everything. Borrowed */
    struct glob *exclude; /* neither this nor what is in it; NULL: nothing. Borrowed */
    /* Text in the form of a .gitignore in the root that stands below all such files. It counts without
     * `ignore` too. */
    struct str excludes;
};

/* An open folder, kept while entries of it are in use. */
struct walk_folder {
    int fd;
    bool
        reads_whole; /* its file system gives all that is asked for: a read that gives less is at the end */
    atomic_uint refs;
};

struct walk_entry {
    struct walk_folder *folder; /* ref'd only by walk_folder_ref */
    const char *name;
    struct str path;    /* seen from the folder where the walk began; valid until the next entry */
    unsigned char type; /* DT_REG, DT_DIR, ... as d_type, never DT_UNKNOWN */
};

struct walk_stats {
    int64_t ignored;    /* entries that an ignore file named */
    int64_t unreadable; /* folders that could not be opened or read, and what is secret */
    bool
        cut; /* too deep, too many names in one folder, an error of the disk: not everything was seen */
};

struct walk;

/* `path` is a folder beneath the root. Root and rules are borrowed. NULL with an error. */
struct walk *walk_new(const struct beneath_root *root, const char *path,
                      const struct walk_rules *rules, const atomic_bool *cancelled,
                      struct err *err);
void walk_free(struct walk *walk);

/* 1 with an entry, 0 at the end, -1 with an error (CANCELLED among them). A folder below that cannot be
 * read is counted and passed by, but not for lack of descriptors or memory: that is SESSION_BUSY. */
int walk_next(struct walk *walk, struct walk_entry *ret, struct err *err);
const struct walk_stats *walk_stats(const struct walk *walk);

/* From any thread. */
struct walk_folder *walk_folder_ref(struct walk_folder *folder);
void walk_folder_unref(struct walk_folder *folder);

#endif
