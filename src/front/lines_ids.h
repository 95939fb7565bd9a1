/* Calls on their way, by the names that their callers gave them. */
#ifndef SANDGATE_FRONT_LINES_IDS_H
#define SANDGATE_FRONT_LINES_IDS_H

#include "front/lines.h"

struct lines_ids {
    struct lines_call *slots[256];
};

/* All take calls that have an id_json. */
struct lines_call *lines_ids_find(const struct lines_ids *ids, const char *id_json);
void lines_ids_keep(struct lines_ids *ids, struct lines_call *c);
void lines_ids_forget(struct lines_ids *ids, struct lines_call *c);

#endif
