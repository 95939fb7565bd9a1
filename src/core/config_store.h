/* Inside of the configuration, shared by its own files only: a map from concrete path to value, and arrays of
 * objects. */
#ifndef SANDGATE_CORE_CONFIG_STORE_H
#define SANDGATE_CORE_CONFIG_STORE_H

#include "core/config.h"
#include "core/config_table.h"

#define CONFIG_SHOW_MAX 128
#define CONFIG_ITEMS_MAX 1024

struct config_value {
    int64_t number; /* int, size, cores, bool */
    char *text;     /* enum, string, raw */
    struct str *items;
    size_t count;
};

struct config_entry {
    char *path;
    const struct config_row *row;
    struct config_value value;
};

/* One object of an array: a value for each of the array's rows. */
struct config_element {
    size_t refs;
    uint64_t set; /* a bit for each row; the values of the others are empty */
    size_t workspace; /* its place in the workspace's own array, from 1 on; 0: it is the operator's */
    struct config_value values[];
};

/* Once it is in a configuration it does not change any more: the copies of a configuration share it, since there may
 * be thousands of rules and each cell gets a copy. */
struct config_array {
    size_t refs;
    const struct config_row *rows;
    size_t n_rows;
    size_t name; /* how much of rows->path is the array's own: `approval.rules` */
    struct config_element **elements;
    size_t count;
};

/* The entries sorted by path, those of arrays not among them. */
struct config_map {
    struct config_entry *entries;
    size_t count;
    size_t room;
    struct config_array **arrays; /* those that are set */
    size_t n_arrays;
};

/* Numbers that were asked for: each call asks for the same few, and finding a path's row in the table
 * takes a microsecond. */
#define CONFIG_MEMO 64
struct config_memo {
    char path[88]; /* "": empty */
    int64_t number;
};

struct config {
    struct config_map map;
    struct config_memo *memo; /* CONFIG_MEMO of them */
    uint64_t edition;
    uint64_t values; /* a copy has those of what it was copied from, until it changes */
};

void config_value_done(struct config_value *value);
void config_value_add_item(struct config_value *value, struct str item);
#define CONFIG_VALUE_AT_END CLEANUP(config_value_done)

void config_map_done(struct config_map *map);
#define CONFIG_MAP_AT_END CLEANUP(config_map_done)
const struct config_value *config_map_get(const struct config_map *map, const char *path);
/* Takes over the contents of *value. */
void config_map_put(struct config_map *map, const char *path, const struct config_row *row,
                    struct config_value *value);
/* The same without looking where: config_map_sort has to come before anything is looked up. No path twice. */
void config_map_append(struct config_map *map, const char *path, const struct config_row *row,
                       struct config_value *value);
void config_map_sort(struct config_map *map);
void config_map_copy(struct config_map *to, const struct config_map *from);
/* Moves all entries and arrays of `from` over those of `to`. */
void config_map_merge(struct config_map *to, struct config_map *from);

/* A value that is set for this path, or for all keys of its map, or for its fallback; else NULL
 * and the default holds, which is *ret_row's: the fallback's where there is one. */
const struct config_value *config_effective(const struct config_map *map,
                                            const struct config_row *row, const char *path,
                                            const struct config_row **ret_row);

/* An empty array for the rows at this pattern, which must be an array's. */
struct config_array *config_array_new(const char *pattern);
struct config_array *config_array_ref(struct config_array *array);
void config_array_unref(struct config_array *array);
/* A new object with nothing set, at the end of an array that is still being made. */
struct config_element *config_array_extend(struct config_array *array);
/* Notes that its objects are a workspace's. */
void config_array_mark_workspace(struct config_array *array);
/* Puts an object of another array of the same rows at the end; both have it then. */
void config_array_share(struct config_array *array, struct config_element *element);
/* A row by the name of its field; NULL when there is none. */
const struct config_row *config_array_row(const struct config_array *array, struct str field);
const char *config_array_field(const struct config_array *array, const struct config_row *row);
/* What an object has for a field; NULL when it is not set. */
const struct config_value *config_element_get(const struct config_array *array,
                                              const struct config_element *element,
                                              const char *field);

/* NULL when it is not set. */
struct config_array *config_map_array(const struct config_map *map, const char *path);
/* Takes the reference; in the place of an array with the same rows. */
void config_map_put_array(struct config_map *map, struct config_array *array);
/* Whether `path` is that of a field in an array that is set; then its row and its value, which is NULL where the field
 * is not set or the array ends before. */
bool config_map_find_field(const struct config_map *map, const char *path,
                           const struct config_row **ret_row,
                           const struct config_value **ret_value);

/* What a JSON text sets, checked against the table. */
int config_changes_load(struct config_map *changes, struct str json, size_t max_bytes,
                        const char *source, struct err *err);

/* Takes out of a workspace's `changes` what would loosen, and reports it. Arrays are then whole: with the objects that
 * were there. */
void config_changes_tighten(struct config_map *changes, const struct config_map *now,
                            config_ignored_fn ignored, void *arg);
/* What a workspace tightens for all also holds for those who have a value of their own. */
void config_tighten_own(struct config_map *map, const struct config_map *changes);

/* Both are false when the row does not allow it. Text is a variable's or a JSON string's. */
bool config_value_set_number(const struct config_row *row, int64_t number,
                             struct config_value *ret_value);
bool config_value_from_text(const struct config_row *row, struct str text,
                            struct config_value *ret_value);
/* The row of a list's items taken one by one. */
struct config_row config_item_row(const struct config_row *list);
/* "a whole number from 1 to 32". */
void config_expected(const struct config_row *row, char *out, size_t size);
/* What an outsider wrote, fit for a message: printable ASCII, not too long. */
void config_show(char out[CONFIG_SHOW_MAX], struct str text);

#endif
