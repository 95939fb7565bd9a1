/* What a person is shown of a call before saying yes, and what that yes is bound to. */
#ifndef SANDGATE_GATE_SUMMARY_H
#define SANDGATE_GATE_SUMMARY_H

#include "base/hash.h"
#include "core/call.h"

/* The longest line, and how many are shown of a text with several (standard input, a body). */
#define SUMMARY_LINE_MAX 2000
#define SUMMARY_DETAIL_LINES 40

/* `line` gets `run_command in sub: git push --force`, `move: a -> 'b c'`, `write_file: notes.txt (42 bytes)`. The
 * command is the exact one; words and paths are quoted as a shell does, so that each has one reading. `detail` gets
 * everything else that was asked for, a line each: `timeout_ms: 5000`, `env: PATH=/tmp/bin`. The call has its tool and
 * arguments that fit its table; what the tool does not look at is not shown. */
void summary_write(const struct call *call, struct buf *line, struct buf *detail);

/* SHA-256 over tool, dialect, arguments (whatever the order of their keys), session, agent and folders. Every part has
 * its length before it: two calls that mean something else differ. */
void call_digest(const struct call *call, const char *session, char out[HASH_HEX + 1]);

#endif
