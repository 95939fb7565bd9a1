/* Inside of the configuration, shared by its own files only: a map from concrete path to value. */
#ifndef SANDGATE_CORE_CONFIG_STORE_H
#define SANDGATE_CORE_CONFIG_STORE_H

#include "core/config.h"
#include "core/config_table.h"

/* The table's one array of objects; `action` is required in each, so it tells where the end is. */
#define CONFIG_RULES "approval.rules"
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

/* Sorted by path. */
struct config_map {
    struct config_entry *entries;
    size_t count;
    size_t room;
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
void config_map_copy(struct config_map *to, const struct config_map *from);
/* Moves all entries of `from` over those of `to`. */
void config_map_merge(struct config_map *to, struct config_map *from);

/* A value that is set for this path, or for all keys of its map, or for its fallback; else NULL
 * and the default holds, which is *ret_row's: the fallback's where there is one. */
const struct config_value *config_effective(const struct config_map *map,
                                            const struct config_row *row, const char *path,
                                            const struct config_row **ret_row);

/* Approval rules. */
size_t config_rule_count(const struct config_map *map);
const struct config_value *config_rule_get(const struct config_map *map, size_t rule,
                                           const char *field);
void config_rules_clear(struct config_map *map);
/* Moves rule `index` of `from` to the place `to_index` of `to`. */
void config_rule_move(struct config_map *to, size_t to_index, struct config_map *from,
                      size_t index);

/* What the JSON text or the environment sets, checked against the table. */
struct config_changes {
    struct config_map map;
    bool has_rules; /* an empty array of rules also replaces */
};
int config_changes_load(struct config_changes *changes, struct str json, const char *source,
                        struct err *err);

/* Takes out of `changes` what would loosen, and reports it. */
void config_changes_tighten(struct config_changes *changes, const struct config_map *now,
                            config_ignored_fn ignored, void *arg);

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
