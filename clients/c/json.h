/* Whether a text may stand in a request as it is. One request is one line, and a line that the gate
 * cannot read is answered without an id: what is not sure to be read must not get there. Pure. */
#ifndef SANDGATE_CLIENT_JSON_H
#define SANDGATE_CLIENT_JSON_H

#include <stdbool.h>

/* The gate reads 64 levels, and arguments stand in two objects. */
#define SANDGATE_JSON_DEPTH 62

/* True for the text of one JSON object and nothing else, by the rules of RFC 8259 and in UTF-8. Two
 * things that the gate refuses are not looked for: a key that is there twice, and a number beyond a
 * double. */
bool sandgate_json_is_object(const char *text);

/* Four hexadecimal digits; there may be fewer bytes than that before a NUL. */
bool sandgate_json_hex4(const char *p, unsigned *ret);

#endif
