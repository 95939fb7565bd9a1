/* Reading JSON from outside: yyjson, with limits on size, depth and memory, and duplicate keys
 * refused. Values are read with yyjson's own accessors. */
#ifndef SANDGATE_BASE_JSON_H
#define SANDGATE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/str.h"

#define JSON_DEPTH_MAX 64

struct json_error {
    size_t at;      /* byte offset, or 0 where there is none */
    char what[160]; /* for people: "unexpected character", "duplicate key \"a\"" */
};

enum json_mode {
    JSON_STRICT,   /* what outsiders send: valid UTF-8 only */
    JSON_INTERNAL, /* our own frames: strings may carry any bytes, file names do */
};

/* -E2BIG over max_bytes, -ENOMEM out of memory, -EINVAL otherwise; `error` may be NULL. On success *ret_doc is the
 * caller's. */
int json_parse(const char *text, size_t n, size_t max_bytes, enum json_mode mode,
               yyjson_doc **ret_doc, struct json_error *error);

/* Finds a member of the outermost object and returns the text of its value, a string or a number. Needs no memory, for
 * documents that could not be read for want of it; what else is in the text is not checked. */
bool json_scan_member(struct str text, const char *key, struct str *ret);

void json_doc_freep(yyjson_doc **doc);
#define JSON_AT_END CLEANUP(json_doc_freep)

static inline struct str json_str(yyjson_val *val)
{
    /* Arrays and objects have a length too. */
    return (struct str){yyjson_get_str(val), yyjson_is_str(val) ? yyjson_get_len(val) : 0};
}

#endif
