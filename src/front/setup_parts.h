/* Other programs' configuration files, and what `sandgate setup` adds to them.
 *
 * Merging is text in, text out: what was there stays, or nothing is written. */
#ifndef SANDGATE_FRONT_SETUP_PARTS_H
#define SANDGATE_FRONT_SETUP_PARTS_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"

#define SETUP_BYTES_MAX ((size_t)4 << 20)
#define SETUP_FILES 3

enum setup_kind {
    SETUP_JSON,
    SETUP_TOML,
};

/* `$COMMAND` stands for the program and `$ARGS` for its arguments, as strings with commas between them.
 *
 * In JSON, objects are merged and other values set. A key that ends with `+` is a list that gets what it lacks; one that
 * ends with `>` goes behind all others, for programs in which the last that fits decides. One that ends with `=` is an
 * object that has nothing else: a repository could bring a server of our name with an address or an environment. In TOML, `head` has keys that
 * belong to no table. */
struct setup_file {
    const char *place; /* as in front/doctor_agents.h */
    enum setup_kind kind;
    const char *head;
    const char *wanted;
};

struct setup_client {
    const char *name; /* that of its row in front/doctor_agents.h */
    const char *title;
    struct setup_file files[SETUP_FILES]; /* the last ones may be empty */
    const char *then; /* what is left to do, and what it still can do by itself */
};

extern const struct setup_client setup_clients[];
extern const size_t setup_client_count;

/* `wanted` merged into `old`, which may be empty. `replaced` gets a line for each value that was another one. *ret_same:
 * all of it was there. */
int setup_merge_json(struct str old, struct str wanted, struct buf *ret, struct buf *replaced,
                     bool *ret_same, struct err *err);
/* The same with blocks between marks, the first before all else and the second behind it. Refuses a text that has keys or
 * tables of the same name elsewhere. */
int setup_merge_toml(struct str old, struct str head, struct str tables, struct buf *ret,
                     bool *ret_same, struct err *err);

/* A file beneath a folder that the user named, reached through no link. */
struct setup_target {
    char *path; /* for people */
    char *name; /* beneath `base` */
    int base;   /* the folder */
    bool at_home;
    bool exists;
    struct stat st;
    struct buf old;
};

#define SETUP_TARGET_INIT ((struct setup_target){.base = -1, .old = BUF_INIT(SETUP_BYTES_MAX)})

int setup_open(struct setup_target *target, const char *place, const char *project,
               struct err *err);
/* Puts `text` in its place, whole or not at all. What was there is kept beside it; *ret_backup, to be freed, is its path,
 * or NULL. A file that changed since it was opened is an error. */
int setup_store(const struct setup_target *target, struct str text, char **ret_backup,
                struct err *err);
void setup_target_done(struct setup_target *target);

#endif
