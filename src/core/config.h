/* Configuration: one table of fields (core/config_table.c), each with type, default, range, text
 * and the direction in which a workspace's own file may move it.
 *
 * Order of authority: built-in defaults, the operator's files in the order given, the environment,
 * then a workspace's `sandgate.json`, which can only tighten. */
#ifndef SANDGATE_CORE_CONFIG_H
#define SANDGATE_CORE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* What one text may have. A workspace's is read by each new cell's worker. */
#define CONFIG_BYTES_MAX (2u << 20)
#define CONFIG_WORKSPACE_BYTES_MAX (256u << 10)

struct config;

enum config_trust {
    CONFIG_OPERATOR,  /* may set everything */
    CONFIG_WORKSPACE, /* comes from whoever wrote the repository: only tightens */
};

/* Called for each value of a workspace file that would loosen and is therefore left out. */
typedef void (*config_ignored_fn)(void *arg, const char *path, const char *why);

struct config *config_new(void);
struct config *config_clone(const struct config *config);
void config_free(struct config *config);

/* Lays one JSON text over what is there. `source` names it in messages. On failure the error's
 * field is the path of the bad value and its message names what is allowed; the configuration is
 * unchanged. */
int config_apply(struct config *config, struct str json, const char *source,
                 enum config_trust trust, config_ignored_fn ignored, void *arg, struct err *err);
/* Reads the variables of the table from an environ-like list. */
int config_apply_env(struct config *config, char *const *environment, struct err *err);

/* Differs from that of every configuration with other values: what was derived from one is good as long
 * as this is the same. */
uint64_t config_edition(const struct config *config);
/* The same for a copy too: for what was derived and borrows nothing from the configuration that it was derived from. */
uint64_t config_values(const struct config *config);

/* Values by path, `tools.filesystem.maxFileSize`. Asking for a path that is not in the table, or
 * with the wrong type, is a programming error and aborts. Unset fields give their default. */
int64_t config_int(const struct config *config, const char *path);
bool config_bool(const struct config *config, const char *path);
const char *config_text(const struct config *config, const char *path); /* NULL when unset */
/* Strings of a list; *ret_items is borrowed. False when the list is unset (which may differ from
 * an empty one). */
bool config_list(const struct config *config, const char *path, const struct str **ret_items,
                 size_t *ret_count);
/* `agents.<agent>.<path>` where set for that agent or for all, else `fallback`. An agent without a name is NULL. */
int64_t config_agent_int(const struct config *config, const char *agent, const char *path,
                         int64_t fallback);
/* The same, else the field that the table names for it. */
bool config_agent_bool(const struct config *config, const char *agent, const char *path);
bool config_agent_list(const struct config *config, const char *agent, const char *path,
                       const struct str **ret_items, size_t *ret_count);
/* Calls `each` for all keys of a map that something is set for (`agents`, `policy.enabled`), until it does not return
 * 0; what it returned last. */
int config_keys(const struct config *config, const char *map,
                int (*each)(void *arg, const char *key), void *arg);
/* Whether someone set this very field, be it to its default. */
bool config_is_set(const struct config *config, const char *path);
/* Objects of an array, `approval.rules`; their fields are `approval.rules[0].action` and so on. Behind the last one
 * fields have their defaults, so that this alone tells where the end is. */
size_t config_count(const struct config *config, const char *path);
/* The same values as by the path `ARRAY[i].FIELD`, which is not made: there may be thousands. */
int64_t config_int_at(const struct config *config, const char *array, size_t i, const char *field);
/* The name of an object in messages and records: `approval.rules[3]`, or `workspace:approval.rules[0]` for a workspace's.
 * Either is counted in its own file, so that no name of the operator's changes with what a workspace adds. */
void config_name_at(const struct config *config, const char *array, size_t i, char *out, size_t size);
bool config_is_set_at(const struct config *config, const char *array, size_t i, const char *field);
bool config_bool_at(const struct config *config, const char *array, size_t i, const char *field);
const char *config_text_at(const struct config *config, const char *array, size_t i,
                           const char *field);
bool config_list_at(const struct config *config, const char *array, size_t i, const char *field,
                    const struct str **ret_items, size_t *ret_count);

/* Settings that promise what this version does not do are refused: the error's field is the first of them. */
int config_check_promises(const struct config *config, struct err *err);
/* Calls `each` for every tool that this version does not have and that something is set for, unless it is switched
 * off. */
void config_each_idle(const struct config *config, void (*each)(void *arg, const char *tool),
                      void *arg);

/* The table as Markdown, for docs/CONFIG.md. */
void config_write_markdown(struct buf *out);

/* Calls `each` for what is set to something else than its default: the path, which belongs to `pattern` (see
 * core/config_table.h), and its value as JSON; an array as a whole. */
typedef void (*config_set_fn)(void *arg, const char *pattern, const char *path, struct str json);
void config_each_set(const struct config *config, config_set_fn each, void *arg);
/* What the table says of a field, for people; nothing where there is no such field. `path` may be the beginning of several,
 * up to a dot: then of each of them. */
void config_explain(const char *path, struct buf *out);
/* The field that was meant by a path that is none; NULL: nothing is near. */
const char *config_meant(const char *path);

#endif
