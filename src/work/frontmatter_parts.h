/* What the parts of frontmatter.h share. */
#ifndef SANDGATE_WORK_FRONTMATTER_PARTS_H
#define SANDGATE_WORK_FRONTMATTER_PARTS_H

#include "work/yaml_value.h"

enum change_action { CHANGE_SET, CHANGE_APPEND, CHANGE_MERGE, CHANGE_REMOVE };

struct change {
    struct str key;
    enum change_action action;
    yyjson_val *value;
    bool unique;
};

struct changes {
    struct change *items; /* in the order of the update */
    size_t count;
};

/* frontmatter_update.c */
int changes_read(struct changes *changes, yyjson_val *update, struct err *err);
void changes_done(struct changes *changes);

/* A top level that can take keys: a mapping, or nothing at all. */
bool is_open_root(const struct yaml_node *root);

/* The keys of a mapping, sorted; keys that are no scalars are left out. */
struct entry {
    struct str key;
    uint32_t key_node;
    uint32_t value_node;
};
struct entries {
    struct entry *items;
    size_t count;
};
/* Fails when a key is there twice. */
int entries_read(struct entries *entries, const struct yaml_tree *tree, uint32_t mapping,
                 struct err *err);
void entries_done(struct entries *entries);
const struct entry *entries_find(const struct entries *entries, struct str key);

/* A value to be written: a scalar, or the members of a list or mapping. */
struct member {
    yyjson_val *key; /* NULL in a list */
    yyjson_val *value;
};
struct content {
    enum yaml_kind kind;
    yyjson_val *scalar;
    struct member *members;
    size_t count;
};
/* What is to be written for a key that has no value yet. */
void content_of_change(struct content *content, const struct change *change);
/* The members that an `append` adds to the list that the node is. */
void content_to_append(struct content *content, const struct change *change,
                       const struct yaml_tree *tree, uint32_t list);
void content_of_value(struct content *content, yyjson_val *value);
void content_done(struct content *content);
#define CONTENT_AT_END CLEANUP(content_done)

/* frontmatter_splice.c: one text with parts of it replaced. */
struct splice {
    size_t at;
    size_t until;
    size_t order;
    size_t text; /* where it begins in `texts`; it ends where the next one made begins */
    size_t text_end;
};
struct splices {
    struct splice *items;
    size_t count;
    size_t room;
    struct buf texts;
};
void splices_init(struct splices *splices, size_t max);
void splices_done(struct splices *splices);
/* What is then written to the buf, up to the next call, replaces the bytes from at to until. */
struct buf *splices_add(struct splices *splices, size_t at, size_t until);
/* Removals may overlap, others must not. */
/* Lets them fail as `texts` did, whose content would have been added. */
void splices_fail(struct splices *splices, const struct buf *texts);
int splices_apply(struct splices *splices, struct str source, struct buf *out, struct err *err);

/* frontmatter_edit.c: the splices that make a change. */
struct edit {
    const struct yaml_tree *tree;
    struct entries root;
    const char *line_end;
    struct splices splices;
};
void edit_remove_keys(struct edit *edit, const struct changes *changes);
/* Changes of keys that are there. */
int edit_change(struct edit *edit, const struct change *change, struct err *err);
void edit_add_keys(struct edit *edit, const struct changes *changes);

/* frontmatter_flow.c: adds texts, a NUL behind each, to a list or mapping in brackets. */
void edit_add_in_brackets(struct edit *edit, uint32_t index, struct str texts);

/* frontmatter_check.c */
/* Refuses when an alias that stays would lose the value that it stands for. */
int changes_keep_anchors(const struct changes *changes, const struct yaml_tree *tree,
                         const struct entries *root, struct err *err);
/* Whether `now` is `before` with the changes made and nothing else. */
bool changes_were_made(const struct changes *changes, const struct yaml_tree *before,
                       const struct yaml_tree *now);

/* A key or another name in a message: its beginning. */
int str_shown(struct str text);

#endif
