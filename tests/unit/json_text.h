/* JSON in tests: texts have ' for ", which C would need escaped. */
#ifndef SANDGATE_TESTS_JSON_TEXT_H
#define SANDGATE_TESTS_JSON_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

static inline struct str text_str(const char *text)
{
    return (struct str){text, strlen(text)};
}

static inline char *quoted(const char *text)
{
    char *copy = mem_dup(text);
    for (char *at = copy; (at = strchr(at, '\''));)
        *at = '"';
    return copy;
}

static inline yyjson_doc *parsed_bytes(struct str json, enum json_mode mode)
{
    yyjson_doc *doc = NULL;
    struct json_error error;
    if (json_parse(json.p, json.n, json.n, mode, &doc, &error) < 0)
        fail_msg("%s in: %.*s", error.what, (int)json.n, json.p);
    return doc;
}

static inline yyjson_doc *parsed(const char *text)
{
    FREE_AT_END char *json = quoted(text);
    return parsed_bytes(text_str(json), JSON_STRICT);
}

#endif
