/* What a configuration holds, as JSON that could be a configuration file. */
#include <string.h>

#include "base/json_out.h"
#include "core/config_store.h"

static void write_value(const struct config_row *row, const struct config_value *value,
                        struct json_out *j)
{
    switch (row->type) {
    case CONFIG_INT:
    case CONFIG_SIZE:
        jo_int(j, value->number);
        break;
    case CONFIG_CORES: {
        BUF_AT_END struct buf text = BUF_INIT(64);
        buf_addf(&text, "%g", (double)value->number / 1000);
        jo_raw(j, buf_str(&text));
        break;
    }
    case CONFIG_BOOL:
        jo_bool(j, value->number);
        break;
    case CONFIG_ENUM:
    case CONFIG_STRING:
        jo_text(j, value->text);
        break;
    case CONFIG_LIST:
        jo_open(j, '[');
        for (size_t i = 0; i < value->count; i++)
            jo_str(j, value->items[i]);
        jo_close(j, ']');
        break;
    case CONFIG_RAW:
        jo_raw(j, (struct str){value->text, strlen(value->text)});
        break;
    }
}

static void write_element(const struct config_array *array, const struct config_element *element,
                          struct json_out *j)
{
    jo_open(j, '{');
    for (size_t i = 0; i < array->n_rows; i++) {
        if (!(element->set & (uint64_t)1 << i))
            continue;
        jo_key(j, config_array_field(array, &array->rows[i]));
        write_value(&array->rows[i], &element->values[i], j);
    }
    jo_close(j, '}');
}

/* A list that has a default is there from the beginning. */
static bool is_usual_list(const struct config_value *a, const struct config_value *b)
{
    bool same = a && b && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->items[i].n == b->items[i].n &&
               memcmp(a->items[i].p, b->items[i].p, a->items[i].n) == 0;
    return same;
}

static void tell_entry(const struct config_entry *entry, config_set_fn each, void *arg)
{
    BUF_AT_END struct buf text = BUF_INIT(2 * CONFIG_BYTES_MAX);
    struct json_out j = {.out = &text};
    write_value(entry->row, &entry->value, &j);
    each(arg, entry->row->path, entry->path, buf_str(&text));
}

static void tell_array(const struct config_array *array, config_set_fn each, void *arg)
{
    BUF_AT_END struct buf text = BUF_INIT(2 * CONFIG_BYTES_MAX);
    BUF_AT_END struct buf name = BUF_INIT(CONFIG_PATTERN_MAX);
    struct json_out j = {.out = &text};
    jo_open(&j, '[');
    for (size_t i = 0; i < array->count; i++)
        write_element(array, array->elements[i], &j);
    jo_close(&j, ']');
    buf_add(&name, array->rows->path, array->name);
    each(arg, buf_text(&name), buf_text(&name), buf_str(&text));
}

void config_each_set(const struct config *config, config_set_fn each, void *arg)
{
    struct config *unset = config_new();
    for (size_t i = 0; i < config->map.count; i++) {
        const struct config_entry *entry = &config->map.entries[i];
        if (!is_usual_list(config_map_get(&unset->map, entry->path), &entry->value))
            tell_entry(entry, each, arg);
    }
    for (size_t i = 0; i < config->map.n_arrays; i++)
        tell_array(config->map.arrays[i], each, arg);
    config_free(unset);
}
