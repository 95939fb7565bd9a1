/* The table of configuration fields, and the questions that can be asked of its paths.
 *
 * A pattern is a row's path: `*` stands for a map's key, `[]` for an array's index, at most one of
 * them in a path. A concrete path has the key or `[3]` in that place. The rows of an array stand together, and a
 * workspace may do the same to all of them. */
#ifndef SANDGATE_CORE_CONFIG_TABLE_H
#define SANDGATE_CORE_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define CONFIG_PATTERN_MAX 64

enum config_type {
    CONFIG_INT,
    CONFIG_SIZE,  /* bytes, also written "512m" */
    CONFIG_CORES, /* may have a fraction; kept in thousandths of a core */
    CONFIG_BOOL,
    CONFIG_ENUM,
    CONFIG_STRING,
    CONFIG_LIST, /* of strings */
    CONFIG_RAW,  /* an object, kept as JSON text for the module that understands it */
};

/* What a workspace's own file may do to a field. */
enum config_tighten {
    CONFIG_NEVER,
    CONFIG_LOWER,
    CONFIG_RAISE,
    CONFIG_FALSE_ONLY,
    CONFIG_TRUE_ONLY,
    CONFIG_ORDER, /* choices stand loosest first: only forward */
    CONFIG_SUBSET,
    CONFIG_SUPERSET,
    CONFIG_RULE, /* of an array: an approval rule is judged as a whole and goes before those there */
    CONFIG_ADD,  /* of an array: each object tightens and goes behind those there */
};

struct config_row {
    const char *path;
    enum config_type type;
    enum config_tighten tighten;
    bool unset_is_all; /* a list: unset leaves everything open, so any list is tighter */
    bool patterns;     /* a list: of rules about files (core/guard.h) */
    bool program;      /* a list: a program by its absolute path, then its arguments */
    bool required;     /* of an array: each object has it */
    int64_t number;    /* default; a number below `min` means that there is no limit */
    int64_t min;
    int64_t max;
    const char *text;     /* default; of a list its items, a space between them; NULL: unset */
    const char *choices;  /* `a|b|c` */
    const char *alias;    /* `word=choice`: another word for one of the choices */
    const char *fallback; /* the path whose value holds while this one is unset */
    const char *required_where; /* of an array: `field=choice`, objects with that have it */
    const char *env;
    const char *
        only; /* the one value that holds in this version, "" for an empty list or none at all; NULL: all do */
    const char *lacks; /* with `only`: why the others do not, a clause */
    const char *
        idle; /* the tool that it is about, which this version does not have: taken without effect */
    const char *doc;
};

const struct config_row *config_rows(size_t *ret_count);
/* The row a concrete path belongs to, or NULL. */
const struct config_row *config_row_find(const char *path);
/* The row with this very pattern, or NULL. */
const struct config_row *config_row_at(const char *pattern);
/* Rows lie beneath: an object belongs here; or, when `[]` follows, an array of objects. */
bool config_is_section(const char *pattern);
bool config_is_array(const char *pattern);
/* The rows of the array that stands at this pattern; NULL when there is none. */
const struct config_row *config_array_rows(const char *pattern, size_t *ret_count);

/* The fields directly below a pattern, "" being the root: the one spelled most like `name`, or
 * none; and all of them with commas between, as far as there is room. */
struct str config_nearest(const char *pattern, struct str name);
void config_list_names(const char *pattern, char *out, size_t size);

/* The place of a word among a row's choices, or -1. */
int config_choice(const struct config_row *row, struct str word);
struct str config_choice_at(const struct config_row *row, int index);
/* `a|b|c` as `a, b, c`. */
void config_choices_text(const struct config_row *row, char *out, size_t size);

#endif
