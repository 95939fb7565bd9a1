/* Tables of named, typed fields. One table gives a tool's JSON Schema, validation, typed decoding,
 * command-line help and log form; the same tables describe what crosses between gate and cell. */
#ifndef SANDGATE_CORE_ARG_H
#define SANDGATE_CORE_ARG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/json_out.h"

enum arg_type {
    ARG_STRING,  /* struct str; min/max bound its length in bytes */
    ARG_INT,     /* int64_t; min/max bound its value */
    ARG_BOOL,    /* bool */
    ARG_CHOICE,  /* int64_t: index into choices */
    ARG_SHA256,  /* struct str: 64 hexadecimal digits */
    ARG_OBJECT,  /* yyjson_val *: an object described by items, or any where there are none */
    ARG_OBJECTS, /* yyjson_val *: array of objects described by items; min/max bound their number */
    ARG_LIST, /* yyjson_val *: array of values that are each what the one item says, the same way */
};

enum arg_flag {
    ARG_REQUIRED = 1,
    ARG_CONTENT = 2,   /* never logged: only its size and hash */
    ARG_OR_NEXT = 4,   /* required, unless the argument behind it in the table is given */
    ARG_STRICT = 8,    /* objects inside: refuses fields that are not in their table */
    ARG_ANY_CASE = 16, /* choices: capital letters count as small ones */
};

/* Largest struct that the table of an inner object may decode into. */
#define ARG_ITEM_MAX 128

/* An optional integer that was not given and has no default. */
#define ARG_ABSENT INT64_MIN

struct arg {
    const char *name;
    enum arg_type type;
    unsigned flags;
    size_t offset;
    int64_t min;
    int64_t max; /* 0: no bound */
    int64_t def;
    const char *const *choices; /* NULL-ended */
    const struct arg *items;    /* ARG_OBJECT, ARG_OBJECTS, ARG_LIST */
    size_t n_items;
    const char *doc;
};

struct arg_table {
    const struct arg *args;
    size_t count;
    size_t size; /* of the struct that is decoded into */
};

#define ARG_TABLE(array, type)                                                                     \
    {                                                                                              \
        (array), ARRAY_LEN(array), sizeof(type)                                                    \
    }

/* Fills the zeroed struct `out` from a JSON object (NULL: no arguments). Strings are borrowed from
 * the document. `strict` refuses fields that are not in the table. The error's reason is one of
 * `missing`, `type`, `range`, `unknown`. */
int arg_decode(const struct arg_table *table, bool strict, yyjson_val *object, void *out,
               struct err *err);
/* Writes the fields of `in` that are set, strings byte for byte. */
void arg_encode(const struct arg_table *table, const void *in, struct json_out *j);

/* What may be logged of an object meant for this table. */
void arg_redact(const struct arg_table *table, yyjson_val *object, struct json_out *j);

/* The same for an object that is meant for no table, one of a tool that does not exist. What a name stands for is looked
 * up with `find` (NULL: nobody knows it), so that contents stay out of logs. */
typedef const struct arg *(*arg_find_fn)(void *self, struct str name);
void arg_redact_unknown(yyjson_val *object, arg_find_fn find, void *self, struct json_out *j);

void arg_schema(const struct arg_table *table, struct json_out *j);
/* One line an argument, for `--help`. */
void arg_help(const struct arg_table *table, struct buf *out);

#endif
