/* What the tools' answers as text for models share (struct tool, show). */
#ifndef SANDGATE_TOOLS_SHOW_H
#define SANDGATE_TOOLS_SHOW_H

#include "core/call.h"

/* Of a plain answer, kept for what stands around the content. */
#define SHOW_AROUND 500

/* A path on a line: as it is, or quoted and with its `path_b64` where it could not be given back or would break the line. */
void show_path(struct str path, struct buf *out);
/* The call's own; `.` for the workspace. */
void show_call_path(const struct call *call, struct buf *out);
/* So much content may stand in the answer. */
size_t show_room(const struct call *call, const char *argument, int64_t asked);

/* `note` in a line of its own before and behind the content: what was cut, and how to go on. */
void show_between(struct str note, struct str content, struct buf *out);
/* The same; where there was no memory for the text, the answer fails. */
void show_text_between(struct str note, const struct buf *text, struct buf *out);
/* The diff of an OP_EDIT or OP_FRONTMATTER, whole lines of it. */
void show_change(const struct call *call, bool dry_run, struct buf *out);

#endif
