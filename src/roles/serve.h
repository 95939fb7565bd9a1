/* The main function of a role that is a program of its own (core/role_program.h): it is started in a cell of its own, which
 * shows it nothing but what it is loaded from, locks itself, and then does what the gate asks for. */
#ifndef SANDGATE_ROLES_SERVE_H
#define SANDGATE_ROLES_SERVE_H

#include "base/buf.h"
#include "cell/lock.h"
#include "core/op.h"
#include "work/large_body.h"

/* What the gate asks for. Its strings live as long as it. */
struct role_call {
    uint64_t token;
    const struct op *op;
    union op_request request;
    struct str body;
    size_t limit;          /* bytes that the answer's body may have */
    struct buf reply_body; /* with that ceiling */
    /* Who holds the above. */
    char *message;
    yyjson_doc *doc;
    struct large_body large;
};

struct served {
    enum role lock;
    enum op_role of;
    bool late;  /* locks itself (role_lock) with its first call, which brings what it has to load */
    bool files; /* reads the files of its row also when it is locked */
    /* While it is not locked: loads what is loaded late. NULL: nothing. */
    int (*prepare)(struct err *err);
    /* Answers one call after the other: 0 with the fields in *reply, or -1. */
    int (*serve)(struct role_call *call, union op_reply *reply, struct err *err);
    /* In place of `serve`, for a role with several calls at once: returns when the gate has closed the socket. */
    int (*loop)(int fd);
};

/* The result is the exit status of the process. */
int role_main(int argc, char **argv, const struct served *role);

/* For one that is `late`: there is no way back. */
int role_lock(const struct served *role, struct err *err);

/* For `loop`. What came next: 1 with a call (to be freed), 2: the call of *ret_token is to be cancelled, 0: the gate is gone.
 * -EAGAIN where `wait` is false and nothing has come; another -errno. Calls of another role are answered here. */
int role_receive(int fd, bool wait, enum op_role role, struct role_call **ret, uint64_t *ret_token);
/* Each answers the call, which is then over: 0 or -errno. */
int role_reply(int fd, struct role_call *call, const union op_reply *reply);
int role_error(int fd, uint64_t token, const struct err *err);
void role_call_free(struct role_call *call);

#endif
