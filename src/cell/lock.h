/* The last step before a process of the cell sees a byte of content: no capabilities, no way to gain
 * any, only the folders it was given, only the system calls it may make. There is no way back. */
#ifndef SANDGATE_CELL_LOCK_H
#define SANDGATE_CELL_LOCK_H

#include "cell/landlock.h"

/* Who is locked, a row each in lock.c: the worker, which serves the gate's calls; the same without namespaces; the one that takes
 * over what an overlay session has changed, and so makes links and extended attributes; a command's first process and all that
 * it starts, programs of hooks too; programs of their own (core/role_program.h), which lock themselves once they are loaded. */
enum role {
    ROLE_WORKER,
    ROLE_LONE_WORKER,
    ROLE_COMMITTER,
    ROLE_COMMAND,
    ROLE_PARSE,
    ROLE_NET,
    ROLE_WASM,
    ROLE_COMPILE,
};

/* No program that is started from here on has a capability. The others do this too; to have it done before they are
 * forked is quicker. */
int lock_bounds(struct err *err);
/* The same where this process may not have the right to: without it, no_new_privs alone keeps programs from gaining any. */
void lock_bounds_if_allowed(void);

/* *ret_listener (close-on-exec; see cell/violations.h) is set for a command: what the filter refuses waits for an answer
 * there. The process that answers must not make such a call itself, nor wait for one that does. */
int lock_as(enum role role, const struct landlock_rule *rules, size_t count, int *ret_listener,
            struct err *err);

#endif
