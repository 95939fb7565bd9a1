/* One wire format as a row of functions, and what the formats share. Only format*.c needs this. */
#ifndef SANDGATE_DIALECT_FORMAT_ROW_H
#define SANDGATE_DIALECT_FORMAT_ROW_H

#include "dialect/format.h"

struct format {
    const char *name;
    bool no_dots; /* the API refuses names with a dot: tools are listed by their aliases */
    /* A call's parts from the request's object. */
    int (*read)(yyjson_val *root, struct request *ret, struct err *err);
    void (*write)(const struct request *request, struct call *call, bool bare, struct json_out *j);
    /* What a command prints meanwhile; NULL: the API has no place for it. */
    void (*write_printed)(const struct request *request, const struct printed *printed,
                          struct json_out *j);
    void (*list)(const struct tool *tool, const char *name, struct json_out *j);
    /* A call as a client would send it. `arguments` is any text, refused later if it is no JSON. */
    void (*write_call)(const char *tool, struct str arguments, struct json_out *j);
};

extern const struct format format_tool_call;
extern const struct format format_openai;
extern const struct format format_openai_responses;
extern const struct format format_anthropic;
extern const struct format format_ollama;

/* Reading. `key` is what the format calls the id; `shape` is a whole call, shown when the name is
 * missing. */
int format_take_id(yyjson_val *root, const char *key, struct request *ret, struct err *err);
int format_take_name(yyjson_val *call, const char *shape, struct request *ret, struct err *err);
/* Arguments as an object or as JSON text inside a string: clients of every API send both. */
int format_take_arguments(yyjson_val *call, const char *key, struct request *ret, struct err *err);

/* Writing. The id is null where the request had none. */
void format_put_id(const struct request *request, const char *key, struct json_out *j);
/* The dialect's answer as one string: an answer that is a string is that string, any other is its
 * JSON text. `call->failed` is settled only after this. */
void format_put_answer(struct call *call, const char *key, struct json_out *j);
/* name, description and the arguments' schema under `key`. */
void format_put_tool(const struct tool *tool, const char *name, const char *key,
                     struct json_out *j);
/* A row's `list`: the tool alone with `input_schema`, or what is called a function, with `parameters`. */
void format_list_tool(const struct tool *tool, const char *name, struct json_out *j);
void format_list_function(const struct tool *tool, const char *name, struct json_out *j);

#endif
