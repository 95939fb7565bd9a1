#include <errno.h>
#include <string.h>

#include "store/db_parts.h"

#define LOCKED_RETRY_MS 1000

int db_refuse(struct err *err, const char *reason, const char *why)
{
    err_set(err, ERR_INTERNAL,
            "`" DB_NAME "` in the state folder %s; it holds counters and approvals, so nothing runs "
            "without it: restore it, or move it, `" DB_NAME "-wal` and `audit` away to begin anew",
            why);
    return err_reason(err, reason);
}

static int full(struct err *err)
{
    err_set(err, ERR_DISK_FULL,
            "no room for `" DB_NAME
            "`: calls are refused until there is space in the state folder again");
    return err_reason(err, "state_full");
}

/* For lack of descriptors or memory, of which there may be more later. */
static bool is_short(sqlite3 *handle)
{
    int code = sqlite3_errcode(handle);
    int error = sqlite3_system_errno(handle);
    return code == SQLITE_NOMEM || sqlite3_extended_errcode(handle) == SQLITE_IOERR_NOMEM ||
           (code == SQLITE_CANTOPEN && (error == EMFILE || error == ENFILE || error == ENOMEM));
}

int db_error(struct db *db, struct err *err)
{
    if (is_short(db->handle)) {
        err_set(err, ERR_SESSION_BUSY,
                "`" DB_NAME
                "` in the state folder: no descriptors or no memory (%s), so nothing runs; "
                "try again, or raise the limit of open files (ulimit -n)",
                sqlite3_errmsg(db->handle));
        return err_reason(err, "no_resources");
    }
    switch (sqlite3_errcode(db->handle)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        err_set(
            err, ERR_INTERNAL,
            "`" DB_NAME
            "` in the state folder is locked by another process, so nothing runs; try again, or "
            "find out who holds it with `fuser`");
        err->retry_after_ms = LOCKED_RETRY_MS;
        return err_reason(err, "state_locked");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        err_set(err, ERR_INTERNAL,
                "`" DB_NAME "` in the state folder cannot be written (%s), so nothing runs: check the "
                "permissions of the folder and its files",
                sqlite3_errmsg(db->handle));
        return err_reason(err, "state_unwritable");
    case SQLITE_FULL:
        return full(err);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return db_refuse(err, "state_damaged", "is damaged");
    case SQLITE_IOERR: /* which errno it was SQLite does not tell reliably */
        err_set(err, ERR_INTERNAL,
                "`" DB_NAME "` in the state folder cannot be read or written (%s), so nothing runs: "
                "check the disk, and the quota of who owns the file",
                sqlite3_errmsg(db->handle));
        return err_reason(err, "state_failed");
    default:
        err_set(err, ERR_INTERNAL, "`" DB_NAME "` in the state folder: %s, so nothing runs",
                sqlite3_errmsg(db->handle));
        return err_reason(err, "state_failed");
    }
}

int db_damaged(struct err *err)
{
    return db_refuse(err, "state_damaged", "is damaged");
}

int db_unusable(int code, struct err *err)
{
    if (err_is_full(code))
        return full(err);
    err_set(err, ERR_INTERNAL,
            "`" DB_NAME "` in the state folder cannot be opened (%s), so nothing runs: check the "
            "permissions of the folder and its files",
            strerror(code));
    return err_reason(err, "state_unwritable");
}
