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
    ARG_ONE_BESIDE =
        32, /* an ARG_OBJECTS: the fields of its one item may stand beside it, in its place */
    ARG_UNLISTED = 64, /* is left out of a list of tools that has to be short */
};

/* What an argument's value is to the outside. Policy, questions, proposed rules and the log go by this and never by the
 * argument's name. Of a list it may stand with the list or with its item. */
enum arg_use {
    ARG_PLAIN = 0,
    ARG_READS = 1,     /* a path: what is there is read, listed or looked at */
    ARG_WRITES = 2,    /* a path: what is there is made, changed or removed */
    ARG_FOLDER = 4,    /* a path: the folder that a command works in */
    ARG_BASE64 = 8,    /* a path in base64, in place of the argument before it in the table */
    ARG_GLOB = 16,     /* a path that may be a glob; the folder where it begins is worked on */
    ARG_DEEP = 32,     /* a boolean: whether all that lies beneath the paths is meant */
    ARG_URL = 64,      /* an address */
    ARG_DOMAIN = 128,  /* the name of a host, or a list of them */
    ARG_SHELL = 256,   /* a command as text for a shell */
    ARG_PROGRAM = 512, /* a program that is started without a shell */
    ARG_WORDS = 1024,  /* the list of arguments of an ARG_PROGRAM */
    ARG_ARGV = 2048,   /* the list of a program and its arguments, without a shell */
    ARG_ENV = 4096,    /* an object: variables of the command */
    ARG_GIT = 8192,    /* a boolean: whether the command may write to git directories */
    ARG_NARROWS =
        16384, /* a boolean or a choice: other values than the default never do more than that */
    ARG_INPUT = 32768, /* what a command reads from its standard input */
};
#define ARG_ANY_PATH (ARG_READS | ARG_WRITES | ARG_FOLDER)
#define ARG_ANY_COMMAND (ARG_SHELL | ARG_PROGRAM | ARG_WORDS | ARG_ARGV)

/* Largest struct that the table of an inner object may decode into. */
#define ARG_ITEM_MAX 128

/* An optional integer that was not given and has no default. */
#define ARG_ABSENT INT64_MIN

struct arg {
    const char *name;
    const char *alias; /* another name that callers give it, see arg_adapt; NULL: none */
    enum arg_type type;
    unsigned flags;
    unsigned use; /* enum arg_use */
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
/* Brings arguments as models write them into the form of the table, before anything looks at them: other names
 * (`file_path`), an array or object as the text of one, the fields of a single item without the list around it; an
 * empty text in base64 is none. Where nothing has to be changed *doc stays, else it is a new one. Two names of one
 * argument with different values are an error. */
int arg_adapt(const struct arg_table *table, yyjson_doc **doc, yyjson_val **object,
              struct err *err);
/* Writes the fields of `in` that are set, strings byte for byte. */
void arg_encode(const struct arg_table *table, const void *in, struct json_out *j);

/* What may be logged of an object meant for this table; arguments of the uses `without` are left out. */
void arg_redact(const struct arg_table *table, yyjson_val *object, unsigned without,
                struct json_out *j);

/* The same for an object that is meant for no table, one of a tool that does not exist. What a name stands for is looked
 * up with `find` (NULL: nobody knows it), so that contents stay out of logs. */
typedef const struct arg *(*arg_find_fn)(void *self, struct str name);
void arg_redact_unknown(yyjson_val *object, arg_find_fn find, void *self, struct json_out *j);

/* Its use, or that of its items. */
unsigned arg_use(const struct arg *arg);
/* The next argument of these uses behind `after` (NULL: from the first on), one in base64 never; NULL at the end. */
const struct arg *arg_next(const struct arg_table *table, unsigned uses, const struct arg *after);
/* What stands for it in base64, or NULL. */
const struct arg *arg_in_base64(const struct arg_table *table, const struct arg *arg);

/* As JSON Schema calls it. */
const char *arg_type_name(const struct arg *arg);
void arg_schema(const struct arg_table *table, struct json_out *j);
/* The same in fewer words, for lists that a model reads with each of its turns. */
void arg_schema_short(const struct arg_table *table, struct json_out *j);
/* One line an argument, for `--help`. */
void arg_help(const struct arg_table *table, struct buf *out);

#endif
