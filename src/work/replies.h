/* What a worker's threads say to the gate. Small replies wait for others as long as there are more calls at hand. */
#ifndef SANDGATE_WORK_REPLIES_H
#define SANDGATE_WORK_REPLIES_H

#include <pthread.h>

#include "work/work.h"

struct replies {
    int fd;
    pthread_mutex_t lock;
    struct buf out; /* for the next message */
    struct shelf shelf;
    bool shelf_is_out; /* a call has it, or the gate */
};

void replies_init(struct replies *r, int fd, struct shelf shelf);
void replies_done(struct replies *r);

/* All of these: 0 or -errno. */
int replies_flush(struct replies *r);
int replies_error(struct replies *r, uint64_t token, const struct err *err);
/* The last, with what is in w->body. */
int replies_result(struct work *w, const struct op *op, const union op_reply *fields);

/* The call is done: what lies on the shelf is the gate's, until that gives it back. */
void replies_leave_shelf(struct work *w);
void replies_take_shelf_back(struct replies *r);

#endif
