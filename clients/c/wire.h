/* The lines between a client and its gate, as text: no I/O. */
#ifndef SANDGATE_CLIENT_WIRE_H
#define SANDGATE_CLIENT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that grows. Begins as zeros, ends with sandgate_text_done(). */
struct sandgate_text {
    char *data;
    size_t n;
    size_t room;
};

/* Room for `more` bytes behind the text, or -ENOMEM. */
int sandgate_text_reserve(struct sandgate_text *text, size_t more);
/* Drops the first n bytes, and the memory when it is empty and large. */
void sandgate_text_drop(struct sandgate_text *text, size_t n);
void sandgate_text_done(struct sandgate_text *text);

/* Adds the line of a call. Arguments that are not an object are sent as a string, which the gate
 * refuses in its dialect's words, with the call's id. -ENOMEM leaves the text as it was. */
int sandgate_wire_add_call(struct sandgate_text *out, uint64_t id, const char *tool,
                           const char *arguments);
int sandgate_wire_add_cancel(struct sandgate_text *out, uint64_t id);

/* Moves on behind `expected` if it stands there. */
bool sandgate_wire_take(const char **p, const char *end, const char *expected);
/* A number as we write ids: no sign, no zero in front, never 0. */
bool sandgate_wire_take_id(const char **p, const char *end, uint64_t *ret);
/* Takes a line (without its newline) apart: `{"id":"7","result":{...}}`. An id of 0 stands for null.
 * -EPROTO when it is anything else. The result is where it stands in the line. */
int sandgate_wire_read_answer(const char *line, size_t n, uint64_t *ret_id, const char **ret_result,
                              size_t *ret_n);

#endif
