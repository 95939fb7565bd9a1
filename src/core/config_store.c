#include "core/config_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void config_value_done(struct config_value *value)
{
    free(value->text);
    for (size_t i = 0; i < value->count; i++)
        free((char *)(uintptr_t)value->items[i].p);
    free(value->items);
    *value = (struct config_value){0};
}

void config_value_add_item(struct config_value *value, struct str item)
{
    if ((value->count & (value->count - 1)) == 0)
        value->items = mem_grow(value->items, value->count ? value->count * 2 : 1,
                                sizeof *value->items);
    value->items[value->count++] = (struct str){mem_copy(item.p, item.n), item.n};
}

static void entry_done(struct config_entry *entry)
{
    free(entry->path);
    config_value_done(&entry->value);
}

void config_map_done(struct config_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        entry_done(&map->entries[i]);
    free(map->entries);
    *map = (struct config_map){0};
}

/* The index of the path, or of the first entry behind it. */
static size_t place(const struct config_map *map, const char *path, bool *ret_found)
{
    size_t low = 0;
    size_t high = map->count;
    *ret_found = false;
    while (low < high && !*ret_found) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(map->entries[mid].path, path);
        *ret_found = order == 0;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return high;
}

const struct config_value *config_map_get(const struct config_map *map, const char *path)
{
    bool found;
    size_t at = place(map, path, &found);
    return found ? &map->entries[at].value : NULL;
}

static struct config_entry *open_gap(struct config_map *map, size_t at)
{
    if (map->count == map->room) {
        map->room = map->room ? map->room * 2 : 16;
        map->entries = mem_grow(map->entries, map->room, sizeof *map->entries);
    }
    struct config_entry *entry = &map->entries[at];
    memmove(entry + 1, entry, (map->count - at) * sizeof *entry);
    map->count++;
    return entry;
}

void config_map_put(struct config_map *map, const char *path, const struct config_row *row,
                    struct config_value *value)
{
    bool found;
    size_t at = place(map, path, &found);
    struct config_entry *entry;
    if (found) {
        entry = &map->entries[at];
        config_value_done(&entry->value);
    } else {
        entry = open_gap(map, at);
        entry->path = mem_dup(path);
    }
    entry->row = row;
    entry->value = *value;
    *value = (struct config_value){0};
}

void config_map_copy(struct config_map *to, const struct config_map *from)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct config_entry *entry = &from->entries[i];
        CONFIG_VALUE_AT_END struct config_value value = {
            .number = entry->value.number,
            .text = mem_dup(entry->value.text),
        };
        for (size_t j = 0; j < entry->value.count; j++)
            config_value_add_item(&value, entry->value.items[j]);
        config_map_put(to, entry->path, entry->row, &value);
    }
}

void config_map_merge(struct config_map *to, struct config_map *from)
{
    for (size_t i = 0; i < from->count; i++) {
        struct config_entry *entry = &from->entries[i];
        config_map_put(to, entry->path, entry->row, &entry->value);
    }
    config_map_done(from);
}

const struct config_value *config_effective(const struct config_map *map,
                                            const struct config_row *row, const char *path,
                                            const struct config_row **ret_row)
{
    const struct config_value *value = config_map_get(map, path);
    /* A row's own pattern is the path of the key `*`: the value for all keys not named. */
    if (!value && strchr(row->path, '*'))
        value = config_map_get(map, row->path);
    *ret_row = row;
    if (value || !row->fallback)
        return value;
    *ret_row = config_row_at(row->fallback);
    return config_map_get(map, row->fallback);
}

const struct config_value *config_rule_get(const struct config_map *map, size_t rule,
                                           const char *field)
{
    FREE_AT_END char *path = mem_format(CONFIG_RULES "[%zu].%s", rule, field);
    return config_map_get(map, path);
}

size_t config_rule_count(const struct config_map *map)
{
    size_t count = 0;
    while (config_rule_get(map, count, "action"))
        count++;
    return count;
}

void config_rules_clear(struct config_map *map)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->count; i++) {
        if (strncmp(map->entries[i].path, CONFIG_RULES "[", strlen(CONFIG_RULES "[")) == 0)
            entry_done(&map->entries[i]);
        else
            map->entries[kept++] = map->entries[i];
    }
    map->count = kept;
}

void config_rule_move(struct config_map *to, size_t to_index, struct config_map *from, size_t index)
{
    FREE_AT_END char *prefix = mem_format(CONFIG_RULES "[%zu].", index);
    size_t n = strlen(prefix);
    bool found;
    size_t at = place(from, prefix, &found);
    for (; at < from->count && strncmp(from->entries[at].path, prefix, n) == 0; at++) {
        struct config_entry *entry = &from->entries[at];
        FREE_AT_END char *path = mem_format(CONFIG_RULES "[%zu].%s", to_index, entry->path + n);
        config_map_put(to, path, entry->row, &entry->value);
    }
}
