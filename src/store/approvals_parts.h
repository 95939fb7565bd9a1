/* The table of approvals from the inside: approvals.c asks and decides, approvals_list.c goes through all of them. */
#ifndef SANDGATE_STORE_APPROVALS_PARTS_H
#define SANDGATE_STORE_APPROVALS_PARTS_H

#include "store/approvals.h"

/* At most so many rows are put right or removed in one transaction. */
#define ROWS_MAX 64
#define APPROVAL_COLUMNS_BUT_DETAIL                                                                 \
    "id, state, scope, asked_ms, expires_ms, decided_ms, decided_by, gate, call, caller_id, tool, " \
    "dialect, agent, session, workspace, digest, rule, proposal, summary, "
/* The detail can be long: only who shows it reads it. */
#define APPROVAL_COLUMNS APPROVAL_COLUMNS_BUT_DETAIL "detail"
#define APPROVAL_COLUMNS_LIGHT APPROVAL_COLUMNS_BUT_DETAIL "''"

/* Takes the write lock. */
int approvals_begin(struct db *db, struct err *err);
/* Commits when all went well so far (r >= 0), and returns r. */
int approvals_finish(struct db *db, int r, struct err *err);
/* A row of APPROVAL_COLUMNS or APPROVAL_COLUMNS_LIGHT. 1; 0: there is none; -1. */
int approvals_read_row(struct db *db, sqlite3_stmt *s, struct approval *ret, struct err *err);
/* Within a transaction: one that waits does so no more. How many there were. */
int approvals_set_state(struct db *db, const char *id, enum approval_state state, const char *scope,
                        const char *by, struct err *err);
/* Marks those whose gate is dead or whose time is over: the oldest few, or all. */
int approvals_put_right(struct db *db, bool all, struct err *err);

#endif
