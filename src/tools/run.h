/* What the tools that run commands share. */
#ifndef SANDGATE_TOOLS_RUN_H
#define SANDGATE_TOOLS_RUN_H

#include "core/call.h"

/* A command that has been told to end has this long. */
#define RUN_GRACE_NS 5000000000u

/* Begins call->command: its folder (absent: where relative paths begin), how much output is kept of each
 * stream, how long it may take. */
int run_prepare(struct call *call, struct str cwd, int64_t max_output, int64_t timeout_ms,
                struct err *err);
/* What is to be run, from the argument `command`. */
int run_check_text(struct str command, struct err *err);
/* Behind the arguments: whether they fit a call. */
int run_check_size(const struct call *call, struct err *err);

/* What a dialect without `signal` says: 128 and the signal's number, as shells do. */
int64_t run_exit_code(const struct call *call);
/* What is added to the output: the limit that ended the command, and its violations. */
#define RUN_ADDED_MAX (32u << 10)
/* One stream as text. Standard error ends with the limit that ended the command, and its violations. */
void run_write_stream(const struct call *call, const char *key, enum stream stream,
                      struct json_out *j);
bool run_truncated(const struct call *call);
#define RUN_WORDS_MAX 256
/* Which limit ended it, in words; false: none. */
bool run_limit_words(const struct call *call, char out[RUN_WORDS_MAX]);
/* The rule of the policy that allows it less time than it asked for; false: there is none. */
bool run_duration_rule(const struct call *call, char out[RUN_WORDS_MAX]);
enum err_code run_limit_code(const struct call *call);

bool run_has_printed(const struct call *call);
/* Both streams as one text: standard error behind a line that says so, and the violations. */
void run_add_printed(const struct call *call, struct buf *text);
/* So that what comes next begins a line. */
void run_end_line(struct buf *text);

#endif
