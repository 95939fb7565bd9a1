#include "store/db_steps.h"

#include "base/attr.h"

const char *const db_steps[] = {
    /* Calls let through, for limits over a sliding window: `n` counts up. From `until_ms` on none of them matters. */
    "CREATE TABLE rate_key (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, n INTEGER NOT NULL,"
    " until_ms INTEGER NOT NULL) STRICT;"
    "CREATE TABLE rate_call (key INTEGER NOT NULL, n INTEGER NOT NULL, at_ms INTEGER NOT NULL,"
    " PRIMARY KEY (key, n)) STRICT, WITHOUT ROWID;"
    /* What was spent in the period that began at `since_ms`. */
    "CREATE TABLE budget (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, since_ms INTEGER NOT NULL,"
    " until_ms INTEGER NOT NULL, spent INTEGER NOT NULL) STRICT;"
    /* The latest time that was counted with. */
    "CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), seen_ms INTEGER NOT NULL) STRICT;"
    "INSERT INTO clock VALUES (1, 0);"
    /* Calls that wait, or waited, for a yes. What can be long comes last. */
    "CREATE TABLE approval (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL,"
    " asked_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, scope TEXT, decided_ms INTEGER,"
    " decided_by TEXT, gate TEXT NOT NULL, owner TEXT NOT NULL, call TEXT NOT NULL, caller_id TEXT,"
    " tool TEXT NOT NULL, dialect TEXT NOT NULL, agent TEXT, session TEXT, workspace TEXT,"
    " digest TEXT NOT NULL, rule TEXT NOT NULL, proposal TEXT, summary TEXT NOT NULL,"
    " detail TEXT NOT NULL) STRICT;"
    "CREATE INDEX approval_waiting ON approval (seq) WHERE state = 'waiting';"
    "CREATE INDEX approval_over ON approval (decided_ms) WHERE state <> 'waiting';"
    /* What was allowed for the rest of a session. */
    "CREATE TABLE allowance (id INTEGER PRIMARY KEY, session TEXT NOT NULL, agent TEXT, dialect TEXT NOT"
    " NULL, rule TEXT NOT NULL, made_ms INTEGER NOT NULL, made_by TEXT NOT NULL) STRICT;"
    "CREATE INDEX allowance_session ON allowance (session);"
    /* How far each gate's chain of audit records has come. */
    "CREATE TABLE audit_head (gate TEXT PRIMARY KEY, slot TEXT NOT NULL, first_hash TEXT NOT NULL,"
    " seq INTEGER NOT NULL, hash TEXT NOT NULL, stopped INTEGER NOT NULL, at_ms INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    /* Files of the log that were removed because there were too many. */
    "CREATE TABLE audit_removed (file TEXT PRIMARY KEY, last_hash TEXT NOT NULL, at_ms INTEGER NOT NULL)"
    " STRICT, WITHOUT ROWID;"
    /* Sums over all calls that ended. */
    "CREATE TABLE stat (name TEXT NOT NULL, labels TEXT NOT NULL, value INTEGER NOT NULL,"
    " PRIMARY KEY (name, labels)) STRICT, WITHOUT ROWID;",
};

const size_t db_steps_count = ARRAY_LEN(db_steps);
