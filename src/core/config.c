#include "core/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/config_store.h"

#define NUMBERS (1u << CONFIG_INT | 1u << CONFIG_SIZE | 1u << CONFIG_CORES)
#define TEXTS (1u << CONFIG_ENUM | 1u << CONFIG_STRING | 1u << CONFIG_RAW)

static uint64_t editions;

static struct config *empty_config(void)
{
    struct config *config = mem_zero(sizeof *config);
    config->memo = mem_zero(CONFIG_MEMO * sizeof *config->memo);
    config->edition = config->values = ++editions;
    return config;
}

static void forget_memo(struct config *config)
{
    memset(config->memo, 0, CONFIG_MEMO * sizeof *config->memo);
    config->edition = config->values = ++editions;
}

struct config *config_new(void)
{
    struct config *config = empty_config();
    size_t count;
    const struct config_row *rows = config_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].type != CONFIG_LIST || !rows[i].text)
            continue;
        /* Lists are lent out as arrays, so a default list needs to lie somewhere. */
        CONFIG_VALUE_AT_END struct config_value value = {0};
        for (const char *at = rows[i].text; *at; at += strspn(at, " ")) {
            size_t n = strcspn(at, " ");
            config_value_add_item(&value, (struct str){at, n});
            at += n;
        }
        config_map_put(&config->map, rows[i].path, &rows[i], &value);
    }
    return config;
}

struct config *config_clone(const struct config *config)
{
    struct config *copy = empty_config();
    config_map_copy(&copy->map, &config->map);
    copy->values = config->values;
    return copy;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    config_map_done(&config->map);
    free(config->memo);
    free(config);
}

uint64_t config_edition(const struct config *config)
{
    return config->edition;
}

uint64_t config_values(const struct config *config)
{
    return config->values;
}

static bool has_only_exceptions(const struct config_value *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].p[0] != '!')
            return false;
    }
    return list->count > 0;
}

/* A list of patterns that are all exceptions would be one that covers nothing: it is meant to stand behind the one that
 * holds. */
static void add_exceptions(struct config_map *changes, const struct config_map *now)
{
    for (size_t i = 0; i < changes->count; i++) {
        struct config_entry *entry = &changes->entries[i];
        const struct config_value *holds = config_map_get(now, entry->path);
        if (!entry->row->patterns || !holds || !has_only_exceptions(&entry->value))
            continue;
        struct config_value both = {0};
        for (size_t k = 0; k < holds->count; k++)
            config_value_add_item(&both, holds->items[k]);
        for (size_t k = 0; k < entry->value.count; k++)
            config_value_add_item(&both, entry->value.items[k]);
        config_value_done(&entry->value);
        entry->value = both;
    }
}

int config_apply(struct config *config, struct str json, const char *source,
                 enum config_trust trust, config_ignored_fn ignored, void *arg, struct err *err)
{
    CONFIG_MAP_AT_END struct config_map changes = {0};
    bool workspace = trust == CONFIG_WORKSPACE;
    size_t max_bytes = workspace ? CONFIG_WORKSPACE_BYTES_MAX : CONFIG_BYTES_MAX;
    if (config_changes_load(&changes, json, max_bytes, source, err) < 0)
        return -1;
    if (workspace) {
        config_changes_tighten(&changes, &config->map, ignored, arg);
        config_tighten_own(&config->map, &changes);
    } else {
        add_exceptions(&changes, &config->map);
    }
    config_map_merge(&config->map, &changes);
    forget_memo(config);
    return 0;
}

static const char *value_of_variable(char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
            return *environment + n + 1;
    }
    return NULL;
}

int config_apply_env(struct config *config, char *const *environment, struct err *err)
{
    CONFIG_MAP_AT_END struct config_map changes = {0};
    size_t count;
    const struct config_row *rows = config_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const char *text = rows[i].env ? value_of_variable(environment, rows[i].env) : NULL;
        if (!text)
            continue;
        CONFIG_VALUE_AT_END struct config_value value = {0};
        if (!config_value_from_text(&rows[i], (struct str){text, strlen(text)}, &value)) {
            char expected[256];
            char got[CONFIG_SHOW_MAX];
            config_expected(&rows[i], expected, sizeof expected);
            config_show(got, (struct str){text, strlen(text)});
            return err_field(err, rows[i].path, "environment: %s must be %s%s, not \"%s\"",
                             rows[i].env, expected,
                             rows[i].type == CONFIG_BOOL ? " (or 1 or 0)" : "", got);
        }
        config_map_put(&changes, rows[i].path, &rows[i], &value);
    }
    config_map_merge(&config->map, &changes);
    forget_memo(config);
    return 0;
}

/* A wrong path is a mistake in this program: stopping beats a limit that is quietly not there. */
static void abort_unless(const struct config_row *row, unsigned types)
{
    if (!row || !(types & (1u << row->type)))
        abort();
}

/* NULL: the default of *ret_row holds. */
static const struct config_value *value_at(const struct config *config, const char *path,
                                           unsigned types, const struct config_row **ret_row)
{
    const struct config_value *value;
    if (config_map_find_field(&config->map, path, ret_row, &value)) {
        abort_unless(*ret_row, types);
        return value;
    }
    *ret_row = config_row_find(path);
    abort_unless(*ret_row, types);
    return config_effective(&config->map, *ret_row, path, ret_row);
}

static struct config_memo *memo_of(const struct config *config, const char *path)
{
    uint32_t hash = 2166136261u;
    for (const char *at = path; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    return &config->memo[(hash ^ hash >> 16) % CONFIG_MEMO];
}

static int64_t number_at_path(const struct config *config, const char *path, unsigned types)
{
    struct config_memo *memo = memo_of(config, path);
    if (strcmp(memo->path, path) == 0)
        return memo->number;
    const struct config_row *row;
    const struct config_value *value = value_at(config, path, types, &row);
    int64_t number = value ? value->number : row->number;
    if (strlen(path) < sizeof memo->path) {
        memcpy(memo->path, path, strlen(path) + 1);
        memo->number = number;
    }
    return number;
}

int64_t config_int(const struct config *config, const char *path)
{
    return number_at_path(config, path, NUMBERS);
}

bool config_bool(const struct config *config, const char *path)
{
    return number_at_path(config, path, 1u << CONFIG_BOOL) != 0;
}

const char *config_text(const struct config *config, const char *path)
{
    const struct config_row *row;
    const struct config_value *value = value_at(config, path, TEXTS, &row);
    return value ? value->text : row->text;
}

bool config_list(const struct config *config, const char *path, const struct str **ret_items,
                 size_t *ret_count)
{
    const struct config_row *row;
    const struct config_value *value = value_at(config, path, 1u << CONFIG_LIST, &row);
    *ret_items = value ? value->items : NULL;
    *ret_count = value ? value->count : 0;
    return value != NULL;
}

static char *agent_path(const char *agent, const char *path)
{
    return mem_format("agents.%s.%s", agent ? agent : "", path);
}

int64_t config_agent_int(const struct config *config, const char *agent, const char *path,
                         int64_t fallback)
{
    FREE_AT_END char *own = agent_path(agent, path);
    const struct config_row *row = config_row_find(own);
    abort_unless(row, NUMBERS);
    const struct config_value *value = config_map_get(&config->map, own);
    if (!value)
        value = config_map_get(&config->map, row->path);
    return value ? value->number : fallback;
}

bool config_agent_bool(const struct config *config, const char *agent, const char *path)
{
    FREE_AT_END char *own = agent_path(agent, path);
    return config_bool(config, own);
}

bool config_agent_list(const struct config *config, const char *agent, const char *path,
                       const struct str **ret_items, size_t *ret_count)
{
    FREE_AT_END char *own = agent_path(agent, path);
    return config_list(config, own, ret_items, ret_count);
}

static bool is_row_of(const struct config_row *row, const char *map, size_t n)
{
    return row && strncmp(row->path, map, n) == 0 && row->path[n] == '.' && row->path[n + 1] == '*';
}

int config_keys(const struct config *config, const char *map,
                int (*each)(void *arg, const char *key), void *arg)
{
    const size_t n_map = strlen(map);
    int r = 0;
    FREE_AT_END char *last = NULL;
    for (size_t i = 0; r == 0 && i < config->map.count; i++) {
        const struct config_entry *entry = &config->map.entries[i];
        if (!is_row_of(entry->row, map, n_map))
            continue;
        /* The name may have dots of its own; what stands behind it is the row's. */
        size_t before = n_map + 1;
        size_t behind = strlen(entry->row->path) - before - 1;
        size_t n = strlen(entry->path) - before - behind;
        if (last && strlen(last) == n && memcmp(last, entry->path + before, n) == 0)
            continue;
        free(last);
        last = mem_copy(entry->path + before, n);
        r = each(arg, last);
    }
    return r;
}

bool config_is_set(const struct config *config, const char *path)
{
    return config_map_get(&config->map, path) != NULL;
}

size_t config_count(const struct config *config, const char *path)
{
    const struct config_array *array = config_map_array(&config->map, path);
    if (!array && !config_is_array(path))
        abort();
    return array ? array->count : 0;
}

void config_name_at(const struct config *config, const char *array, size_t i, char *out,
                    size_t size)
{
    const struct config_array *found = config_map_array(&config->map, array);
    size_t others = 0;
    if (!found || i >= found->count)
        abort();
    size_t own = found->elements[i]->workspace;
    for (size_t k = 0; k < i && !own; k++)
        others += found->elements[k]->workspace != 0;
    snprintf(out, size, "%s%s[%zu]", own ? "workspace:" : "", array, own ? own - 1 : i - others);
}

/* NULL: the default of *ret_row holds. */
static const struct config_value *field_at(const struct config *config, const char *array, size_t i,
                                           const char *field, unsigned types,
                                           const struct config_row **ret_row)
{
    const struct config_array *found = config_map_array(&config->map, array);
    if (!found)
        abort();
    *ret_row = config_array_row(found, (struct str){field, strlen(field)});
    abort_unless(*ret_row, types);
    size_t at = (size_t)(*ret_row - found->rows);
    bool set = i < found->count && found->elements[i]->set >> at & 1;
    return set ? &found->elements[i]->values[at] : NULL;
}

bool config_is_set_at(const struct config *config, const char *array, size_t i, const char *field)
{
    const struct config_row *row;
    return field_at(config, array, i, field, ~0u, &row) != NULL;
}

int64_t config_int_at(const struct config *config, const char *array, size_t i, const char *field)
{
    const struct config_row *row;
    const struct config_value *value = field_at(config, array, i, field, NUMBERS, &row);
    return value ? value->number : row->number;
}

bool config_bool_at(const struct config *config, const char *array, size_t i, const char *field)
{
    const struct config_row *row;
    const struct config_value *value = field_at(config, array, i, field, 1u << CONFIG_BOOL, &row);
    return (value ? value->number : row->number) != 0;
}

const char *config_text_at(const struct config *config, const char *array, size_t i,
                           const char *field)
{
    const struct config_row *row;
    const struct config_value *value = field_at(config, array, i, field, TEXTS, &row);
    return value ? value->text : row->text;
}

bool config_list_at(const struct config *config, const char *array, size_t i, const char *field,
                    const struct str **ret_items, size_t *ret_count)
{
    const struct config_row *row;
    const struct config_value *value = field_at(config, array, i, field, 1u << CONFIG_LIST, &row);
    *ret_items = value ? value->items : NULL;
    *ret_count = value ? value->count : 0;
    return value != NULL;
}
