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
    for (size_t i = 0; i < map->n_arrays; i++)
        config_array_unref(map->arrays[i]);
    free(map->arrays);
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

void config_map_append(struct config_map *map, const char *path, const struct config_row *row,
                       struct config_value *value)
{
    *open_gap(map, map->count) = (struct config_entry){mem_dup(path), row, *value};
    *value = (struct config_value){0};
}

static int compare_config_entries(const void *a, const void *b)
{
    const struct config_entry *x = a;
    const struct config_entry *y = b;
    return strcmp(x->path, y->path);
}

void config_map_sort(struct config_map *map)
{
    if (map->count)
        qsort(map->entries, map->count, sizeof *map->entries, compare_config_entries);
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
        config_map_append(to, entry->path, entry->row, &value);
    }
    for (size_t i = 0; i < from->n_arrays; i++)
        config_map_put_array(to, config_array_ref(from->arrays[i]));
}

void config_map_merge(struct config_map *to, struct config_map *from)
{
    struct config_map both = {
        .room = to->count + from->count + 1, .arrays = to->arrays, .n_arrays = to->n_arrays};
    both.entries = mem_grow(NULL, both.room, sizeof *both.entries);
    for (size_t i = 0, j = 0; i < to->count || j < from->count;) {
        int order = i == to->count     ? 1
                    : j == from->count ? -1
                                       : compare_config_entries(&to->entries[i], &from->entries[j]);
        if (order == 0)
            entry_done(&to->entries[i++]);
        both.entries[both.count++] = order < 0 ? to->entries[i++] : from->entries[j++];
    }
    for (size_t i = 0; i < from->n_arrays; i++)
        config_map_put_array(&both, from->arrays[i]);
    free(to->entries);
    free(from->entries);
    free(from->arrays);
    *to = both;
    *from = (struct config_map){0};
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
