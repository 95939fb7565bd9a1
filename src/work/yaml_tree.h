/* A YAML document as nodes that know which bytes of the source they are.
 *
 * libfyaml reads the text, as events only: it opens no file, prints nothing and expands no alias.
 * Its marks leave out quotes, `&`, `*`, block headers and the indicators `-`, `?` and `:`; the
 * tree finds these in the text, so that a caller can cut a value out and leave the rest alone. */
#ifndef SANDGATE_WORK_YAML_TREE_H
#define SANDGATE_WORK_YAML_TREE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define YAML_DEPTH_MAX 128
#define YAML_NODES_MAX 150000
#define YAML_ANCHORS_MAX 256

enum yaml_kind { YAML_SCALAR, YAML_SEQUENCE, YAML_MAPPING, YAML_ALIAS };
/* YAML_BLOCK is `|`, `>` and collections by indentation; YAML_FLOW is collections in brackets. */
enum yaml_style { YAML_PLAIN, YAML_QUOTED, YAML_BLOCK, YAML_FLOW };

struct yaml_node {
    enum yaml_kind kind;
    enum yaml_style style;
    bool explicit_key; /* `? key` */
    bool bare_pair;    /* a mapping without brackets in a flow list: `[a: b]` */
    bool keeps_lines;  /* a block scalar that ends with all its empty lines: `|+` */
    uint32_t size;     /* with everything below it: the next sibling's index is this much higher */
    uint32_t children; /* of a mapping: keys and values, alternating */
    uint32_t target;   /* of an alias: the node that it stands for */
    size_t behind;     /* behind the `-`, `?` or `:` that introduces it; 0 when there is none */
    size_t start;      /* its first byte: anchor or tag, if any */
    size_t inner;    /* without anchor and tag; a block collection: where its first entry begins */
    size_t end;      /* a block scalar's is the beginning of a line */
    struct str text; /* a scalar's value, an alias's name */
    struct str anchor; /* without `&`; p is NULL when there is none */
    struct str tag;
};

struct yaml_tree {
    struct str source;       /* borrowed: nodes point into it */
    struct yaml_node *nodes; /* in the order of the text; the first is the root */
    uint32_t count;
    uint32_t anchors[YAML_ANCHORS_MAX]; /* nodes that have one */
    unsigned anchor_count;
    struct buf store; /* of nodes */
    struct buf text;  /* of scalars */
};

/* `source` is valid UTF-8 without control characters, begins with a line `---` and ends with a line
 * break. What is wrong with it becomes ERR_INVALID_FRONTMATTER. With `dangling`, an alias without its
 * anchor is not wrong: it stands for itself. */
int yaml_tree_read(struct yaml_tree *tree, struct str source, bool dangling, struct err *err);
void yaml_tree_done(struct yaml_tree *tree);
#define YAML_TREE_AT_END CLEANUP(yaml_tree_done)

/* From `at` over blanks, line breaks and comments. */
size_t yaml_skip(struct str source, size_t at);
size_t yaml_line_start(struct str source, size_t at);
/* Where in its line the inside of a node begins. */
size_t yaml_column(struct str source, const struct yaml_node *node);
/* Behind the line break of the line in which a node ends. */
size_t yaml_line_end(struct str source, size_t end);
/* Counted from 1. */
unsigned yaml_line_number(struct str source, size_t at);

/* The same value in the same style: bytes between the parts may differ. */
bool yaml_equal(const struct yaml_tree *a, uint32_t x, const struct yaml_tree *b, uint32_t y);

#endif
