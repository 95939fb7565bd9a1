/* What a session has changed, in a few lines for a person who decides what becomes of it. */
#ifndef SANDGATE_FRONT_REVIEW_SUMMARY_H
#define SANDGATE_FRONT_REVIEW_SUMMARY_H

#include "front/session_changes.h"

/* Of more than `rows` changes the first are listed. */
int review_summary(struct session_changes *c, const struct named *named, size_t rows,
                   struct buf *out, struct err *err);
/* All of them, a line each. */
void review_list_all(const struct session_changes *c, struct buf *out);

#endif
