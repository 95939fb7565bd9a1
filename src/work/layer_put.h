/* One step of a commit, in the folder that it is in. */
#ifndef SANDGATE_WORK_LAYER_PUT_H
#define SANDGATE_WORK_LAYER_PUT_H

#include "work/layer_commit.h"

struct putting {
    struct committing *c;
    struct commit_step *step;
    int parent;
    const char *name;
    char temp[COMMIT_TEMP_MAX];
};

/* -errno: the folder is not there any more. */
int putting_open(struct committing *c, size_t i, struct putting *ret);
void putting_done(struct putting *p);

/* Each by what `step->base` says was there. */
void put_new(struct putting *p);
void put_swap(struct putting *p);
void put_fold(struct putting *p);
void put_end_fold(struct putting *p);
void put_mode(struct putting *p);
void put_deletion(struct putting *p);

void put_drop_temp(const struct putting *p);
int put_exchange(const struct putting *p);
int put_without_replacing(const struct putting *p, const char *from, const char *to);

#endif
