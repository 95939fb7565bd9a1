/* What is guarded in a tree (guard_tree.h), as a list of paths for the launcher. */
#ifndef SANDGATE_WORK_GUARDED_H
#define SANDGATE_WORK_GUARDED_H

#include "work/beneath.h"
#include "work/guard_tree.h"

struct guarded_item {
    uint32_t path; /* in `paths` */
    uint16_t n;
    uint8_t kind;  /* enum guarded_kind */
    uint8_t type;  /* enum file_type */
    bool known;    /* to be known again where it is moved */
    bool followed; /* a link or a .git file leads there */
    bool dated;    /* not known again, but whether it is new is told by the last list */
    bool made;     /* it appeared while a command ran */
    bool led;      /* followed, and what leads there was made so */
    bool apart;    /* see tree_known */
    uint64_t seen;
    uint64_t replaced; /* see tree_known */
    uint64_t around;
    struct tree_id id;
};

/* Sorted by path, so that a folder stands before what is in it. */
struct guarded_list {
    struct guarded_item *items;
    uint32_t count;
    bool leads;     /* something in a git directory leads elsewhere */
    int64_t unread; /* a setting of one whose program cannot be told; 0: none */
    struct buf paths;
};

void guarded_init(struct guarded_list *list);
void guarded_done(struct guarded_list *list);

/* 0 or -E2BIG when there are more than `max`. `git`: the rules protect git directories. */
int guarded_collect(struct tree *tree, bool git, uint32_t max, struct guarded_list *ret);
/* Notes which ones commands can have made that began at `ran_ns` (clock_file_ns; 0: none ran): those that are not known
 * and have changed since then. Neither the time of birth nor that of change can be set; a rename moves the latter. */
void guarded_mark_made(const struct tree *tree, int root, int64_t ran_ns,
                       struct guarded_list *list);
struct follow_limits {
    bool git; /* the rules protect git directories */
    uint32_t max;
    int64_t ran_ns;               /* as for guarded_mark_made */
    struct guarded_list *missing; /* gets what git directories lead to and is not there */
    struct guard_outward *outward;
};
/* Adds where links with guarded names lead, where `.git` files point, and what git directories lead to
 * (guard_parts.h). The list is sorted again. A link with a secret
 * name that a command made is not followed: what it leads to could be read before, or is the command's own, so hiding it
 * would keep nothing secret, and a command could hide a git directory or the sources from all later ones. -E2BIG: more
 * than `max`; -EMLINK: too many lead out of the root. */
int guarded_follow(const struct beneath_root *root, const struct tree *tree,
                   const struct follow_limits *limits, struct guarded_list *list);
/* Whether something else is at the path of what was followed. A scan follows after it has read the folders, and notes in
 * them what it found: where these are exchanged in between and back again, none has changed at the next one. */
bool guarded_is_stale(const struct guarded_list *list, int root);
/* Notes in the tree what was followed: it stays guarded when the link that led there is gone, since a command can remove
 * a link. What a command made leads only as long as it is there. */
void guarded_keep_followed(struct tree *tree, const struct guarded_list *list);
/* Compares it with what the tree knows. New ones get `generation`, and the tree knows them from then on. False: they
 * are the same files as before.
 *
 * A command of another gate can move a folder from where a scan has not looked yet to where it has, so that the scan does not
 * find it. Unless `settled`, a known file that is gone together with its folder therefore keeps its path, and the tree
 * counts it (`vanished`): what a command cannot do is take a covered file out of its folder. */
bool guarded_remember(struct tree *tree, struct guarded_list *list, uint64_t generation,
                      bool settled);

struct str guarded_path(const struct guarded_list *list, const struct guarded_item *item);
/* The item with just this path, or NULL. */
struct guarded_item *guarded_find(const struct guarded_list *list, struct str path);
void guarded_add(struct guarded_list *list, const struct guarded_item *item, struct str path);
/* The same into a list that is sorted. */
void guarded_insert(struct guarded_list *list, const struct guarded_item *item, struct str path);
void guarded_sort(struct guarded_list *list);

#endif
