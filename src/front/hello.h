/* How a gate introduces itself to the owner of a session: the first line it sends,
 * {"hello":{"dialect":…,"format":…,"agent":…,"agents":…,"once":…,"marks":…,"beats":…}}. */
#ifndef SANDGATE_FRONT_HELLO_H
#define SANDGATE_FRONT_HELLO_H

#include "dialect/format.h"

struct hello {
    const struct dialect *dialect;
    enum format_id format;
    char *agent;  /* the reader's to free; NULL: none */
    char *agents; /* that lines may name; the same */
    bool once;    /* one call, and its exit status behind the answer */
    bool beats;   /* now and then, while calls are on their way, a line that says so */
    bool marks;   /* before each answer, the number of the line that it answers */
};

/* `owner` is the dialect of the gate that owns the session. */
int hello_read(struct str line, const struct dialect *owner, struct hello *ret, struct err *err);

#endif
