/* Lines in and out of a pair of descriptors: reading with a limit, holding back while much is under way,
 * a bounded output, an end. What a line means is its user's: `stdio` (talk.h) and `mcp`. I/O only. */
#ifndef SANDGATE_FRONT_LINES_H
#define SANDGATE_FRONT_LINES_H

#include "gate/gate.h"

struct lines;

/* What stands in an empty line. One of any length is no line: whoever passes lines on counts them alike. */
static inline bool lines_is_blank(struct str text)
{
    while (text.n && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\r'))
        text.n--;
    return text.n == 0;
}

/* What is done with lines. */
struct lines_user {
    /* A line without its end, never empty; borrowed. */
    void (*take)(void *self, struct str line);
    /* In place of a line over limits.maxRequestBytes, which is skipped. */
    void (*too_long)(void *self, size_t max);
    /* There is no memory for a line of which this is the beginning. */
    void (*no_room)(void *self, struct str begin);
    /* Before a turn's answers go out: what was held back may be written now. NULL: nothing is. */
    void (*before_send)(void *self);
    /* lines_stop is called: the last that can be written before what it brings. NULL: nothing is. */
    void (*stopped)(void *self);
    /* Says that the gate is there. False: nobody has introduced themselves yet. NULL: nothing is said. */
    bool (*beat)(void *self);
    /* When lines_free is called, while the gate is still there. NULL: nothing to do. */
    void (*leave)(void *self);
    void (*free)(void *self);
    /* How many times a tool's result stands in an answer. */
    unsigned copies;
};

/* A call of these lines on its way; stands first in what the user keeps for it. */
struct lines_call {
    struct lines_call *next;
    struct lines_call *prev;
    struct lines *lines;
    struct call *call;
    const char *id_json;           /* the caller's name for it; borrowed; NULL: it has none */
    struct lines_call *next_by_id; /* among those with names of the same kind */
};

/* Begins to read. `ended` is called once, when the input is at its end (or the other side is gone) and
 * every call is answered. The descriptors and `self` belong to the lines from now on. */
struct lines *lines_start(struct gate *gate, const struct lines_user *user, void *self, int in_fd,
                          int out_fd, void (*ended)(void *arg), void *arg);
/* Stops reading and cancels what runs; `ended` follows. */
void lines_stop(struct lines *lines, const char *why);
/* What is still unsent after a stop is dropped: its reader does not read. */
void lines_give_up(struct lines *lines);
/* As the user's function; lines_flush sends it. */
bool lines_beat(struct lines *lines);
/* After `ended`: the errno that reading or writing failed with; 0 when the other side merely ended or left. */
int lines_error(const struct lines *lines, const char **ret_what);
/* After `ended`; run the loop once more before the memory goes. */
void lines_free(struct lines *lines);
/* Sends what was answered; a pipeline's `settled` hook leads here. */
void lines_flush(struct lines *lines);
/* The other side is a guest of the session. To be called before the loop runs. */
void lines_are_a_guests(struct lines *lines);
/* Now and then, for guests: gives one up whose answers take the room of others and are not read. */
void lines_check_reader(struct lines *lines);

/* For users. Submits c->call, whose `answer` and `front` are set, and c->id_json. */
void lines_submit(struct lines *lines, struct lines_call *c);
/* The call is answered: it no longer counts. The user frees both. */
void lines_drop(struct lines_call *c);
/* Whether lines wait that were not taken yet, or none are read. */
bool lines_hold_back(const struct lines *lines);
/* The calls on their way, newest first. */
struct lines_call *lines_calls(const struct lines *lines);
/* The one on its way that the caller gave this name, or NULL. */
struct lines_call *lines_find(struct lines *lines, const char *id_json);
/* Where to write an answer; NULL when nobody reads answers any more. Only until lines_end_answer, which
 * puts the line's end behind it. */
struct buf *lines_begin_answer(struct lines *lines);
void lines_end_answer(struct lines *lines);
/* Whether to write what may be left out: false while its reader is far behind. */
bool lines_has_room(const struct lines *lines);

#endif
