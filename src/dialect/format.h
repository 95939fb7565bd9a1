/* Wire formats: how a call, an answer and a list of tools are written. Independent of the dialect. */
#ifndef SANDGATE_DIALECT_FORMAT_H
#define SANDGATE_DIALECT_FORMAT_H

#include "core/call.h"

enum format_id {
    FORMAT_TOOL_CALL,
    FORMAT_OPENAI,
    FORMAT_OPENAI_RESPONSES,
    FORMAT_ANTHROPIC,
    FORMAT_OLLAMA,
    FORMAT_COUNT
};

/* Of OpenAI's two kinds of call, the one it is; neither where it was not even read. */
enum request_kind { REQUEST_PLAIN, REQUEST_CHAT, REQUEST_ITEM };

/* One request as the format has it. */
struct request {
    char *id_json;   /* the caller's id as JSON text, to be given back; NULL: none */
    char *id;        /* the same as plain text */
    char *name;      /* of the tool */
    char *agent;     /* `context.agentId`; NULL: not said */
    char *session;   /* `session`; NULL: the caller's own */
    yyjson_doc *doc; /* owns `arguments`; taken over on success */
    yyjson_val *arguments;
    enum request_kind kind;
};

void request_done(struct request *request);

/* A piece of what a command prints while it runs. */
struct printed {
    enum stream stream;
    struct str bytes;
    uint64_t skipped; /* bytes of the stream that were left out before it */
};

/* By name; -1 with an error that lists them. */
int format_find(const char *name, enum format_id *ret, struct err *err);

/* An id as JSON text (free it); NULL for what cannot be one. */
char *format_id_json(yyjson_val *id);

/* Reads a call from a parsed document, which the request takes over. Where only the id could be
 * read, the request has that, so that the error can be sent to the right place. */
int format_read(enum format_id format, yyjson_doc *doc, struct request *ret, struct err *err);

/* The id alone, of a line for which there was not enough memory. */
void format_scan_id(struct str line, struct request *ret);

/* Writes the answer of a finished call. `bare`: the dialect's own answer, without an id around. */
void format_write(enum format_id format, const struct request *request, struct call *call,
                  bool bare, struct buf *out);

/* Whether the format has a place for what a command prints before the call is answered. */
bool format_has_printed(enum format_id format);
void format_write_printed(enum format_id format, const struct request *request,
                          const struct printed *printed, struct buf *out);

/* A call of a tool, to be sent to another gate that speaks the format. `arguments` is text which may
 * or may not be JSON. */
void format_write_call(enum format_id format, const char *tool, struct str arguments,
                       struct buf *out);

/* A NULL-ended list of tools as a JSON array. Where the API refuses names with dots, tools have their aliases; with
 * `dotted` their own names all the same, for servers that take them. */
void format_list(enum format_id format, const struct tool *const *tools, bool dotted,
                 struct json_out *j);

#endif
