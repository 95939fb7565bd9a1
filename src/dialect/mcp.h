/* The Model Context Protocol, revision 2025-11-25, as far as a server of tools goes: JSON-RPC 2.0
 * messages are read, answers written. No I/O. */
#ifndef SANDGATE_DIALECT_MCP_H
#define SANDGATE_DIALECT_MCP_H

#include "dialect/format.h"

enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_BUSY = -32000, /* may be tried again */
};

enum mcp_method {
    MCP_NOTHING, /* to be passed over: a response, or a notification without a meaning here */
    MCP_INITIALIZE,
    MCP_PING,
    MCP_TOOLS_LIST,
    MCP_TOOLS_CALL,
    MCP_CANCELLED,
    MCP_ANSWER, /* to a request of ours */
};

/* How a client can ask a person. */
enum mcp_elicits {
    MCP_ELICITS_NOT,
    MCP_ELICITS_NAMED,  /* choices are an enum with names */
    MCP_ELICITS_TITLED, /* each choice has its title */
};

enum mcp_answer_kind {
    MCP_ANSWER_FAILED, /* an error, or nothing that can be read */
    MCP_ANSWER_ACCEPTED,
    MCP_ANSWER_DECLINED,
    MCP_ANSWER_CANCELLED,
};

struct mcp_answer {
    enum mcp_answer_kind kind;
    char decision[16]; /* "": none */
};

struct mcp_message {
    enum mcp_method method;
    struct request request; /* its id; of tools/call also name and arguments */
    char *progress_json; /* tools/call: the token to tell its progress with; NULL: nobody asked */
    char *cancel_json;   /* cancelled: the id of the request it is about, as JSON text */
    const char *version; /* initialize: the revision to answer with */
    enum mcp_elicits elicits; /* initialize */
    struct mcp_answer answer;
    char *client; /* initialize: the name that the client gives itself; NULL: none */
};

struct mcp_error {
    enum mcp_code code;
    char message[512];
};

/* Reads one line. -1: `error` is to be answered to request.id_json, or to null where that is NULL. Clean
 * up in both cases. */
int mcp_read(struct str line, struct mcp_message *ret, struct mcp_error *error);
void mcp_message_done(struct mcp_message *message);
/* Fills in `error` and returns -1. */
int mcp_fail(struct mcp_error *error, enum mcp_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* All of these write one message without a line's end. `id_json` NULL: null. */
void mcp_write_error(const char *id_json, const struct mcp_error *error, struct buf *out);
/* `structured`: answers are objects, for programs; else text for a model. `more` stands behind the dialect's instructions. */
void mcp_write_initialized(const char *id_json, const char *version, const struct dialect *dialect,
                           bool structured, const char *more, struct buf *out);
void mcp_write_pong(const char *id_json, struct buf *out);
/* `tools` is NULL-ended. */
void mcp_write_tools(const char *id_json, const struct dialect *dialect,
                     const struct tool *const *tools, bool structured, struct buf *out);
/* Whether a revision has structuredContent. */
bool mcp_has_structure(const char *version);
/* Before a call is submitted: its answer is to be text for a model, sized for this client (NULL: not known). */
void mcp_want_plain(struct call *call, const char *client);
/* The answer of a finished call. Where text is wanted, one block of it, or with an image two. Else its result stands in it twice, as an object and as text; a long one only as
 * an object. `structure`: the client knows objects, else it gets the text alone. */
void mcp_write_result(const char *id_json, struct call *call, bool structure, struct buf *out);

/* A call that waits for a yes. */
struct mcp_question {
    const char *id; /* as `sandgate approve` takes it */
    const char *summary;
    const char *detail;
    const char *rule; /* that `always` writes; NULL: none can be made */
};
/* Asks the client's user. Returns whether the answers `session` and `always` were offered: only where all of the call
 * and the rule stand in the question. */
bool mcp_write_elicitation(const char *id_json, const struct mcp_question *question,
                           enum mcp_elicits elicits, struct buf *out);
/* Takes a request of ours back. */
void mcp_write_cancelled(const char *id_json, const char *why, struct buf *out);
enum mcp_elicits mcp_read_elicits(yyjson_val *params, const char *version);
void mcp_read_answer(yyjson_val *root, struct mcp_answer *ret);

/* What a command prints while it runs: how many bytes so far, and the last of them (of many, the end). */
void mcp_write_progress(const char *token_json, uint64_t bytes, struct str piece, struct buf *out);

#endif
