/* What hooks.c, which keeps order among those to be asked, and hook_run.c, which runs one, share. */
#ifndef SANDGATE_GATE_HOOKS_PARTS_H
#define SANDGATE_GATE_HOOKS_PARTS_H

#include "core/pipeline.h"
#include "gate/hook_list.h"
#include "gate/hooks.h"
#include "session/session.h"

/* One run of a program. */
struct hook_run {
    struct buf printed;
    struct buf complained;
};

/* A call that hooks are asked about or told of. */
struct job {
    struct job *next;
    struct hooks *owner;
    struct pipeline *pipeline; /* of that call, and of those that run programs about it */
    void (*done)(void *arg, const struct hook_answer *answer);
    void *arg;
    char uid[CALL_UID_MAX]; /* its */
    bool after;
    bool forgotten; /* `done` is not called, or not any more */
    bool over;      /* nobody else is asked */
    uint32_t left;  /* the hooks to be asked, a bit for each; the lowest is at hand */
    struct buf input;
    struct call *call; /* of the program that runs */
    struct hook_run run;
    struct hook_answer answer;
};

struct hooks {
    uv_loop_t *loop;     /* NULL: not begun, or closed */
    struct audit *audit; /* NULL: there is none yet */
    struct hook_list list;
    struct config *config; /* of their cell */
    struct session *session;
    uv_timer_t timer;
    struct job *first;
    struct job **last;
    size_t count;
    size_t running;
    size_t held_bytes;
    bool closing;
};

/* Their cell. */
int hook_session_new(struct hooks *h, uv_loop_t *loop, const struct config *config, int state_fd,
                     const struct workplace *hidden, struct err *err);

/* The call that runs the program, for pipeline_run_direct; `input` is copied. */
struct call *hook_run_begin(struct hook_run *run, const struct hook *hook, struct str input);
/* What the program said, by what it printed and how it ended; anything but an answer denies. */
void hook_run_end(struct hook_run *run, const struct call *call, size_t number,
                  const struct hook *hook, struct hook_answer *ret);
/* Records that the program ran, how it ended and what was taken for its answer. */
void hook_record(const struct job *job, const struct call *call, const struct hook_answer *answer);

#endif
