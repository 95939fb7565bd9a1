/* What a call would do to a file, made by the worker before someone is asked about it; and the call's promise to do
 * just that. */
#ifndef SANDGATE_SESSION_PREVIEW_H
#define SANDGATE_SESSION_PREVIEW_H

#include "session/session.h"

struct preview {
    bool exists;
    enum file_type type;  /* of what is there */
    enum file_type moved; /* by a move: what */
    const char *
        sha256; /* of a file that is there, before the call; "" where none is, and for a deletion; of a move, of both ends */
    int64_t bytes_before; /* of a file */
    int64_t bytes_after;
    struct op_real real; /* where its paths lead, as long as the callback lasts */
    int64_t entries;     /* to be deleted, with all that is inside; 0: it is no deletion */
    bool decoded;        /* the diff is of UTF-16, which it shows as text */
    bool cut;        /* the diff is longer, or the file too large for one; there are more entries */
    struct str diff; /* unified; any bytes, not only UTF-8 */
};

/* One of the two is NULL; what they point to lives only during the call. */
typedef void (*preview_fn)(void *arg, const struct preview *preview, const struct err *err);

/* Whether the worker can say what this prepared call would do: one for files, or a command in a folder that may be a
 * link. */
bool preview_is_possible(const struct call *call);
/* Calls back once, at once where there can be no cell. `call` is prepared and not started, and stays as it is until
 * then. The error is the one that the call itself would end with, or says that the cell died too often. */
void session_preview(struct session *session, const struct call *call, preview_fn done, void *arg);
/* The one with this `arg` does not call back any more. */
void session_preview_cancel(struct session *session, const void *arg);

/* From now on the call fails where its file is not the one of the preview any more: with PRECONDITION_FAILED, or with
 * ALREADY_EXISTS where nothing was there; with CONFLICT where its paths lead elsewhere, or what is at one
 * end of a move is another thing. Holds when it is prepared again,
 * too. What is in a folder that is deleted or moved is not held to it. */
void preview_pin(struct call *call, const struct preview *preview);

/* --- for session.c */

/* The call's request gets what preview_pin said. */
void preview_apply_pin(struct call *call);
/* Those that wait for a cell: whether there are any; the cell is open; it died; there will be none. */
bool preview_waits(const struct session *session);
void preview_send_waiting(struct session *session);
void preview_cell_died(struct session *session, const struct err *err);
void preview_fail_waiting(struct session *session, const struct err *err);
/* None of them calls back any more. */
void preview_forget_all(struct session *session);

#endif
