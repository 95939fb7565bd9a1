#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "core/config_store.h"

struct config_array *config_array_new(const char *pattern)
{
    struct config_array *array = mem_zero(sizeof *array);
    array->refs = 1;
    array->rows = config_array_rows(pattern, &array->n_rows);
    array->name = strlen(pattern);
    if (!array->rows || array->n_rows > 64)
        abort();
    return array;
}

struct config_array *config_array_ref(struct config_array *array)
{
    array->refs++;
    return array;
}

static void element_unref(struct config_element *element, size_t n_values)
{
    if (--element->refs)
        return;
    for (size_t i = 0; i < n_values; i++)
        config_value_done(&element->values[i]);
    free(element);
}

void config_array_unref(struct config_array *array)
{
    if (!array || --array->refs)
        return;
    for (size_t i = 0; i < array->count; i++)
        element_unref(array->elements[i], array->n_rows);
    free(array->elements);
    free(array);
}

static void append_element(struct config_array *array, struct config_element *element)
{
    if ((array->count & (array->count - 1)) == 0)
        array->elements = mem_grow(array->elements, array->count ? array->count * 2 : 1,
                                   sizeof(struct config_element *));
    array->elements[array->count++] = element;
}

struct config_element *config_array_extend(struct config_array *array)
{
    struct config_element *element = mem_zero(sizeof *element +
                                              array->n_rows * sizeof element->values[0]);
    element->refs = 1;
    append_element(array, element);
    return element;
}

void config_array_mark_workspace(struct config_array *array)
{
    for (size_t i = 0; i < array->count; i++)
        array->elements[i]->workspace = i + 1;
}

void config_array_share(struct config_array *array, struct config_element *element)
{
    element->refs++;
    append_element(array, element);
}

const char *config_array_field(const struct config_array *array, const struct config_row *row)
{
    return row->path + array->name + strlen("[].");
}

const struct config_row *config_array_row(const struct config_array *array, struct str field)
{
    for (size_t i = 0; i < array->n_rows; i++) {
        if (str_is(field, config_array_field(array, &array->rows[i])))
            return &array->rows[i];
    }
    return NULL;
}

static const struct config_value *value_of(const struct config_array *array,
                                           const struct config_element *element,
                                           const struct config_row *row)
{
    size_t i = (size_t)(row - array->rows);
    return element->set >> i & 1 ? &element->values[i] : NULL;
}

const struct config_value *config_element_get(const struct config_array *array,
                                              const struct config_element *element,
                                              const char *field)
{
    return value_of(array, element, config_array_row(array, (struct str){field, strlen(field)}));
}

static bool is_at(const struct config_array *array, struct str path)
{
    return array->name == path.n && memcmp(array->rows->path, path.p, path.n) == 0;
}

struct config_array *config_map_array(const struct config_map *map, const char *path)
{
    for (size_t i = 0; i < map->n_arrays; i++) {
        if (is_at(map->arrays[i], (struct str){path, strlen(path)}))
            return map->arrays[i];
    }
    return NULL;
}

void config_map_put_array(struct config_map *map, struct config_array *array)
{
    for (size_t i = 0; i < map->n_arrays; i++) {
        if (map->arrays[i]->rows == array->rows) {
            config_array_unref(map->arrays[i]);
            map->arrays[i] = array;
            return;
        }
    }
    map->arrays = mem_grow(map->arrays, map->n_arrays + 1, sizeof(struct config_array *));
    map->arrays[map->n_arrays++] = array;
}

/* `[12].action`; NULL when it is not that, else what stands behind the dot. */
static const char *read_element_index(const char *at, size_t *ret_index)
{
    if (at[0] != '[' || !isdigit((unsigned char)at[1]))
        return NULL;
    char *end;
    *ret_index = strtoul(at + 1, &end, 10);
    return end[0] == ']' && end[1] == '.' ? end + 2 : NULL;
}

bool config_map_find_field(const struct config_map *map, const char *path,
                           const struct config_row **ret_row, const struct config_value **ret_value)
{
    size_t n = strcspn(path, "[");
    for (size_t i = 0; i < map->n_arrays; i++) {
        const struct config_array *array = map->arrays[i];
        size_t index;
        const char *field = is_at(array, (struct str){path, n})
                                ? read_element_index(path + n, &index)
                                : NULL;
        if (!field)
            continue;
        *ret_row = config_array_row(array, (struct str){field, strlen(field)});
        *ret_value = *ret_row && index < array->count
                         ? value_of(array, array->elements[index], *ret_row)
                         : NULL;
        return true;
    }
    return false;
}
