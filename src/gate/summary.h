/* What a person is shown of a call before saying yes, and what that yes is bound to. */
#ifndef SANDGATE_GATE_SUMMARY_H
#define SANDGATE_GATE_SUMMARY_H

#include "base/hash.h"
#include "core/call.h"

/* Of the command, or of what else stands in the line. */
#define SUMMARY_LINE_MAX 2000

/* `line` gets `run_command in sub: git push --force`, `move: a -> 'b c'`, `write_file: notes.txt (42 bytes)`. The
 * command is the exact one; words and paths are quoted as a shell does, so that each has one reading. `detail` gets
 * everything else that was asked for, a line each: `timeout_ms: 5000`, `env: PATH=/tmp/bin`, and whole what is shortened
 * in the line. Only the content of a file is not shown: see summary_content. Behind a path that leads elsewhere
 * stands where: the call has been pinned to that. It has its tool and
 * arguments that fit its table; what the tool does not look at is not shown. False: not all of it had room. */
bool summary_write(const struct call *call, struct buf *line, struct buf *detail);

/* What is written to a file: its length, its SHA-256 and all of it. For where no diff shows it. */
void summary_content(const struct call *call, struct buf *detail);
/* `detail` has no more room: a mark where it ends, and length and SHA-256 of the arguments. */
void summary_too_long(const struct call *call, struct buf *detail);

/* SHA-256 over tool, dialect, arguments (whatever the order of their keys), session, agent and folders. Every part has
 * its length before it: two calls that mean something else differ. */
void call_digest(const struct call *call, const char *session, char out[HASH_HEX + 1]);

#endif
