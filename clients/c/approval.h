/* Calls that wait for this program's yes: what the gate tells about them, and the answers. No I/O. */
#ifndef SANDGATE_CLIENT_APPROVAL_H
#define SANDGATE_CLIENT_APPROVAL_H

#include <stdbool.h>
#include <stddef.h>

#include "wire.h"
#include "sandgate.h"

/* A gate lets no more calls than this wait at a time (`approval.maxWaiting`). */
#define SANDGATE_APPROVALS_MAX 4096
#define SANDGATE_REQUEST_ID_MAX 16

struct sandgate_approvals {
    sandgate_approval_callback *on_approval; /* NULL: nothing of this is used */
    sandgate_approval_over_callback *on_over;
    sandgate_approval_refused_callback *on_refused;
    void *arg;
    char (*open)[SANDGATE_REQUEST_ID_MAX]; /* ids of questions that are not over */
    size_t n_open;
    size_t room;
};

/* What an event can say, each where it stands in the decoded text; NULL: it does not. */
struct sandgate_approval_event {
    const char *kind;
    const char *request_id;
    const char *tool;
    const char *rule;
    const char *summary;
    const char *detail;
    const char *expires_at;
    const char *proposal;
    const char *state;
    const char *by;
    const char *message;
    uint64_t id; /* 0: null, left out, or no id of ours */
};

/* Reads a line that begins as an event does. False: it is no object, or one of the fields above is there twice or is
 * not text (or null). Other fields are passed over, but not those that hold lists or objects. `text` has room for n
 * bytes. */
bool sandgate_approval_read(const char *line, size_t n, char *text,
                            struct sandgate_approval_event *ret);

/* Takes an event and tells the one whom it concerns. One that cannot be understood whole is passed over: then nobody
 * is asked, and nothing is approved. `text` as above. -ENOMEM. */
int sandgate_approvals_take(struct sandgate_approvals *approvals, const char *line, size_t n,
                            char *text);

/* Instead of a scope. */
#define SANDGATE_APPROVALS_DENY 0
/* Adds the line of an answer. -ENOENT: no such question is open. -EINVAL: no such scope. -ENOMEM. */
int sandgate_approvals_answer(const struct sandgate_approvals *approvals, struct sandgate_text *out,
                              const char *request_id, int scope);
void sandgate_approvals_done(struct sandgate_approvals *approvals);

#endif
