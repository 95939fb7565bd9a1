/* Finding what the rules about files name, before a command starts that asks nobody, beside it and after it. */
#ifndef SANDGATE_SESSION_SCAN_H
#define SANDGATE_SESSION_SCAN_H

#include "session/session.h"

/* Looks through the folders that commands have and tells the launcher; then the calls that wait go on. */
void scan_start(struct session *session);
/* What was found is too old for a command to start with: it waits for a scan that begins now. */
bool scan_is_old(const struct session *session, const struct call *call);
/* All roots were scanned, from that time on. */
void scan_ended(struct session *session, uint64_t began_ns);
/* A command starts with what was found last; from now on scans run beside it. */
void scan_beside(struct session *session, struct call *call);
/* The session has no cell any more: what was known went with it. */
void scan_forget(struct session *session);
void scan_free(struct session *session);

/* One scan of a root, which `done` takes with scan_take and frees. */
struct call *scan_call(struct session *session, size_t root, int64_t since,
                       void (*done)(struct call *));
/* Tells the launcher where something has changed. */
int scan_take(struct session *session, struct call *call, struct err *err);

/* Nothing moves folders while they are looked through, as far as gates know. */
bool scan_is_settled(struct session *session);

/* Programs of the user obey it, or it cannot be looked into. */
bool scan_is_protected(const struct op_guarded *entry);
/* Where a command has made it, that is told. */
bool scan_is_of_interest(const struct op_guarded *entry);

/* A step behind a command's end (command_after.h): looks for what it made. */
bool scan_after_command(struct call *call);

#endif
