/* A call that waits, as people and programs read it. What comes from the call stands behind a bar, each line of it:
 * nothing in it can look like words of ours. */
#ifndef SANDGATE_FRONT_APPROVAL_TEXT_H
#define SANDGATE_FRONT_APPROVAL_TEXT_H

#include "base/json_out.h"
#include "store/approvals.h"

/* `sandgate approvals`: one line. `all`: with what became of it. */
void approval_text_line(const struct approval *a, bool all, int64_t now_ms, struct buf *out);
/* What, why, for whom, where, and the detail: `max_lines` of it (0: all). Lines are broken to fit `width`. */
void approval_text_block(const struct approval *a, size_t width, size_t max_lines, struct buf *out);
/* A rule in JSON, on several lines. */
void approval_text_rule(struct str rule, size_t width, struct buf *out);
/* The same as lines that can be printed as they are. */
void approval_text_proposal(struct str rule, struct buf *out);
/* `waiting`, `approved by alice on /dev/pts/3`, `nobody answered in time`. */
void approval_text_state(const struct approval *a, struct buf *out);
/* `42 s`, `4 min 10 s`, `3 h 5 min`. */
void approval_text_time(int64_t ms, struct buf *out);

/* `full`: the detail and the proposal too. */
void approval_text_json(const struct approval *a, bool full, struct json_out *j);

/* An id, alone or as `/approve ID` (`verb` is "/approve"), into `id`. False: it is none. */
bool approval_text_id(struct str text, const char *verb, char id[APPROVAL_ID_MAX]);

#endif
