/* Calls from the moment they are sent until their answers are taken, in lists. */
#ifndef SANDGATE_CLIENT_PENDING_H
#define SANDGATE_CLIENT_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sandgate_pending {
    struct sandgate_pending *next;
    uint64_t id;
    char *json; /* the answer; NULL until it came */
    size_t n;
    bool forgotten; /* nobody waits for it any more */
};

struct sandgate_list {
    struct sandgate_pending *first;
    struct sandgate_pending *last;
};

/* A new one at the end; NULL without memory. */
struct sandgate_pending *sandgate_list_new(struct sandgate_list *list, uint64_t id);
void sandgate_list_add(struct sandgate_list *list, struct sandgate_pending *p);
void sandgate_list_remove(struct sandgate_list *list, struct sandgate_pending *p);
/* A gate works on a few hundred calls at a time, the oldest ones: what is looked for is near the front. */
struct sandgate_pending *sandgate_list_find(const struct sandgate_list *list, uint64_t id);
/* The one at this place, from 0; NULL behind the end. */
struct sandgate_pending *sandgate_list_at(const struct sandgate_list *list, size_t place);
/* How many there are up to an id; the list must be in the order of ids. */
size_t sandgate_list_count(const struct sandgate_list *list, uint64_t last_id);
void sandgate_list_done(struct sandgate_list *list);
void sandgate_pending_free(struct sandgate_pending *p);

#endif
