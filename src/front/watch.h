/* Calls that wait in any gate of the user, asked about on this terminal. */
#ifndef SANDGATE_FRONT_WATCH_H
#define SANDGATE_FRONT_WATCH_H

#include "store/approvals.h"

/* Whether a person is there: input and output are a terminal's. */
bool watch_is_possible(void);
/* Asks about each call as it comes, until the input ends or a signal comes. -1 with err. */
int watch_all(struct db *db, struct err *err);
/* Whether a call is too long to be seen without paging through it. */
bool watch_is_long(const struct approval *approval);
/* Asks about this one. 0: a yes was given here; 1: it was not. */
int watch_one(struct db *db, const char *id, struct err *err);

#endif
