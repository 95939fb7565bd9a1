/* Work that waits for the disk or for other programs, done by threads beside the loop.
 *
 * Not libuv's pool: that ends the program where a thread cannot be started. Here a job for which there is no thread is
 * done on the loop itself: later than others, but done. */
#ifndef SANDGATE_BASE_BACKGROUND_H
#define SANDGATE_BASE_BACKGROUND_H

#include <stdbool.h>
#include <uv.h>

struct background;

struct background_job {
    struct background_job *next;
    struct background *owner; /* NULL: not under way */
    void (*run)(void *arg);   /* in a thread */
    void (*done)(void *arg);  /* on the loop, later, also where it was cancelled */
    void *arg;
    bool queued; /* no thread has it yet */
};

/* One for a loop. 0 or a negative error of libuv. */
int background_new(struct background **ret, uv_loop_t *loop);
/* What is under way is still done; then, in a turn of the loop, the memory is given back. Accepts NULL. */
void background_free(struct background *background);

/* `job` is borrowed until `done` was called; until then it must not be added again. The loop runs on meanwhile. */
void background_add(struct background *background, struct background_job *job);
/* `run` is not called any more, unless it already is. */
void background_cancel(struct background_job *job);

#endif
