/* The commands of the audit log as one would type them. */
#ifndef SANDGATE_FRONT_AUDIT_COMMAND_H
#define SANDGATE_FRONT_AUDIT_COMMAND_H

#include "front/audit_view.h"

/* The field `command` of a call that was one for a command; NULL: it was not. */
yyjson_val *audit_command(const struct audit_item *item);
/* A string of a record, or the bytes that {"base64": …} stands for, in `room`; p is NULL for anything else. */
struct str audit_text(yyjson_val *val, struct buf *room);
/* Whether all of a text is there: it is not cut, and nothing in it was hidden. */
bool audit_text_whole(yyjson_val *text);

/* Its words, which bash reads back as they are. False: not all of them are there; what is missing is named. */
bool audit_write_argv(yyjson_val *command, struct buf *out);
/* `DIR$ COMMAND` in one line of about `max` bytes; what is left out is counted, with how to see it. False: it is not a
 * command, and nothing was written. */
bool audit_write_command(const struct audit_item *item, size_t max, struct buf *out);
/* What else there is to tell of a call, a line each. */
void audit_write_details(const struct audit_item *item, struct buf *out);

#endif
