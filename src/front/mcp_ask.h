/* Calls that wait for a yes, as an MCP client hears of them: a dialog where it has one (elicitation), else progress
 * with the command to type. `sandgate approve` holds beside a dialog; the first answer counts and the other is
 * withdrawn. Where the client would give up before an answer comes, the call ends before that, and nothing runs. */
#ifndef SANDGATE_FRONT_MCP_ASK_H
#define SANDGATE_FRONT_MCP_ASK_H

#include "dialect/mcp.h"
#include "front/lines.h"

struct mcp_ask;

struct mcp_ask_user {
    /* The client's own call of this name; NULL: it is another's. */
    struct call *(*find)(void *arg, const char *uid);
    /* Tells progress with a text. False: the client did not ask for any. */
    bool (*tell)(void *arg, const char *uid, struct str text);
    void *arg;
};

struct mcp_ask *mcp_ask_start(struct gate *gate, struct lines *lines,
                              const struct mcp_ask_user *user);
/* The client has dialogs of this kind from now on. */
void mcp_ask_elicit(struct mcp_ask *ask, enum mcp_elicits elicits);
/* The client's answer to a request of ours. What is none is passed over. */
void mcp_ask_answered(struct mcp_ask *ask, const char *id_json, const struct mcp_answer *answer);
/* Accepts NULL. Run the loop once more before the memory goes. */
void mcp_ask_free(struct mcp_ask *ask);

#endif
