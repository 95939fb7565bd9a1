/* Writing JSON straight into a buf. Strings may hold any bytes: they come out escaped, and what is
 * not UTF-8 comes out as U+FFFD, so the text is always valid JSON.
 *
 * In `redact` mode contents are replaced by their sizes: the same shaping code then writes what
 * may stand in a log. */
#ifndef SANDGATE_BASE_JSON_OUT_H
#define SANDGATE_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct json_out {
    struct buf *out;
    bool comma; /* something stands before the next item */
    bool redact;
    bool hide;     /* secrets in strings, as base/redact.h finds them; `redact` hides them too */
    bool replaced; /* a string was not UTF-8 throughout */
};

void jo_open(struct json_out *j, char bracket);  /* '{' or '[' */
void jo_close(struct json_out *j, char bracket); /* '}' or ']' */
/* Plain ASCII, no quote or backslash. */
void jo_key_n(struct json_out *j, const char *key, size_t n);
/* Here, so that the length of a word that stands in the source is known when it is compiled. */
static inline void jo_key(struct json_out *j, const char *key)
{
    jo_key_n(j, key, strlen(key));
}
void jo_str(struct json_out *j, struct str s);
/* The first `max` bytes of a string at most, without secrets. */
void jo_logged(struct json_out *j, struct str s, size_t max);
void jo_text(struct json_out *j, const char *text); /* NULL writes null */
void jo_int(struct json_out *j, int64_t value);
void jo_bool(struct json_out *j, bool value);
void jo_null(struct json_out *j);
/* A word of this program: plain ASCII with nothing to escape and nothing to hide. */
void jo_own(struct json_out *j, const char *text);
/* Text that is JSON already. */
void jo_raw(struct json_out *j, struct str json);
/* As jo_str, but bytes that are not UTF-8 stay as they are: for our own frames. */
void jo_bytes(struct json_out *j, struct str s);
void jo_base64(struct json_out *j, struct str bytes);
/* A string that holds n bytes of JSON which this writer wrote at `from` in the same buffer. */
void jo_written(struct json_out *j, size_t from, size_t n);

/* key and value at once */
static inline void jo_kstr(struct json_out *j, const char *key, struct str s)
{
    jo_key(j, key);
    jo_str(j, s);
}
static inline void jo_ktext(struct json_out *j, const char *key, const char *text)
{
    jo_key(j, key);
    jo_text(j, text);
}
static inline void jo_kown(struct json_out *j, const char *key, const char *text)
{
    jo_key(j, key);
    jo_own(j, text);
}
static inline void jo_kint(struct json_out *j, const char *key, int64_t value)
{
    jo_key(j, key);
    jo_int(j, value);
}
static inline void jo_kbool(struct json_out *j, const char *key, bool value)
{
    jo_key(j, key);
    jo_bool(j, value);
}
/* Contents of a file or a page: left out in redact mode. */
void jo_kcontent(struct json_out *j, const char *key, struct str s);
/* The same as the whole answer: its size in redact mode. */
void jo_content(struct json_out *j, struct str s);
/* Opens `"key":[`; in redact mode writes the count instead and returns false. */
bool jo_karray(struct json_out *j, const char *key, size_t count);

/* The escaped form of s without quotes. */
void json_escape(struct buf *out, struct str s);

/* Text that comes in pieces, escaped as they come. */
struct json_text {
    struct buf out;
    size_t bytes;   /* that came in */
    char carry[4];  /* the beginning of a character at the end of the last piece */
    size_t carried; /* of it */
    bool replaced;  /* something was not UTF-8 */
};
void json_text_add(struct json_text *text, struct str piece);
/* Writes it as a string. A character that never became whole is left out or, as what is not UTF-8,
 * replaced. Left out altogether in redact mode. */
void jo_ktext_escaped(struct json_out *j, const char *key, const struct json_text *text,
                      bool leave_out);

#endif
