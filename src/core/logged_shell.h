/* Secrets in a script for a shell or an interpreter: a record hides no command with them. */
#ifndef SANDGATE_CORE_LOGGED_SHELL_H
#define SANDGATE_CORE_LOGGED_SHELL_H

#include "base/buf.h"
#include "base/redact.h"

/* Adds a struct redact_range for each secret, in their order. So much of its beginning as `begun` is one by what stands before
 * it. The script becomes as much of it as was looked through. False: there is no memory for it. */
bool logged_shell_find(struct str *script, bool code, size_t begun, struct buf *ranges);

#endif
