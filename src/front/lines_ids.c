#include "front/lines_ids.h"

#include <string.h>

static size_t id_slot(const char *id_json)
{
    uint32_t hash = 0;
    for (; *id_json; id_json++)
        hash = hash * 31 + (unsigned char)*id_json;
    return hash % ARRAY_LEN(((struct lines_ids *)NULL)->slots);
}

struct lines_call *lines_ids_find(const struct lines_ids *ids, const char *id_json)
{
    struct lines_call *c = ids->slots[id_slot(id_json)];
    while (c && strcmp(c->id_json, id_json) != 0)
        c = c->next_by_id;
    return c;
}

void lines_ids_keep(struct lines_ids *ids, struct lines_call *c)
{
    struct lines_call **at = &ids->slots[id_slot(c->id_json)];
    c->next_by_id = *at;
    *at = c;
}

void lines_ids_forget(struct lines_ids *ids, struct lines_call *c)
{
    struct lines_call **at = &ids->slots[id_slot(c->id_json)];
    while (*at != c)
        at = &(*at)->next_by_id;
    *at = c->next_by_id;
}
