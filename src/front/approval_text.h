/* A call that waits, as people and programs read it. */
#ifndef SANDGATE_FRONT_APPROVAL_TEXT_H
#define SANDGATE_FRONT_APPROVAL_TEXT_H

#include "base/json_out.h"
#include "front/approval_rows.h"
#include "store/approvals.h"

/* `sandgate approvals`: one line. `all`: with what became of it. */
void approval_text_line(const struct approval *a, bool all, int64_t now_ms, struct buf *out);
/* Which rows of a call someone has seen: those at the beginning and those at the end. */
struct approval_seen {
    size_t total;
    size_t head;
    size_t tail;
};
/* All rows of it, or of more than `max` those at the beginning and at the end. */
void approval_text_excerpt(const struct approval *a, const struct approval_style *style, size_t max,
                           struct approval_seen *ret, struct buf *out);
/* A rule in JSON, on several lines. */
void approval_text_rule(struct str rule, const struct approval_style *style, struct buf *out);
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
