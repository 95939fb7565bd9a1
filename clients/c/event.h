/* Lines that answer nothing: they tell about a call while it runs. As text, no I/O. */
#ifndef SANDGATE_CLIENT_EVENT_H
#define SANDGATE_CLIENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "sandgate.h"

/* One is shorter than this: a question with 16 MiB of detail, each byte escaped as two, and some more. */
#define SANDGATE_EVENT_MAX ((size_t)40 << 20)

/* Whether a line (without its newline), or what has come of it, begins as an event does:
 * `{"id":"7","event":"...`. The id may be null or left out. */
bool sandgate_event_begins(const char *line, size_t n);
/* Behind the opening quote: puts the text of a string, and a NUL behind it, into as much room as was left in the line.
 * False: it has no end, or something in it is no character. */
bool sandgate_event_take_string(const char **p, const char *end, char *text, size_t *ret_n);
/* Reads `{"id":"7","event":"output","stream":"stdout","skipped":5,"data":"..."}`, where `skipped` may be left out
 * and more may follow. False: it is another event, to be passed over. `text` has room for n bytes: ret->text points
 * there. */
bool sandgate_event_read_output(const char *line, size_t n, char *text,
                                struct sandgate_output *ret);

#endif
