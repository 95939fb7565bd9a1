/* Names in the workspace that lead out of it and back, for the scan (OP_LEADS). */
#ifndef SANDGATE_SESSION_LEADS_H
#define SANDGATE_SESSION_LEADS_H

struct session;

/* A scan has found leads that only the gate can follow. Follows those of all roots with commands, and has the folders
 * scanned again. */
void leads_follow(struct session *s);

#endif
