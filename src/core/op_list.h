/* The operations, one row each. A row that lacks a column does not compile. */
#ifndef SANDGATE_CORE_OP_LIST_H
#define SANDGATE_CORE_OP_LIST_H

/* What the body of a reply is; where there is none, none is taken. */
enum op_body {
    OP_BODY_NONE,
    OP_BODY_CONTENT,
    OP_BODY_ENTRIES,
    OP_BODY_MATCHES,
    OP_BODY_DIFF,
    OP_BODY_LIST,
};

/* What an operation writes to files: nothing; the request's body; or a file whose size the reply tells. */
enum op_written { OP_WRITES_NOTHING, OP_WRITES_CONTENT, OP_WRITES_CHANGE };

/* OP_ID; "name" in frames, and work_NAME carries it out;
 * fields: op_FIELDS_request and op_FIELDS_reply;
 * temp: may leave a temporary file behind when it is cut off;
 * waits: may wait for the lock of a folder;
 * real: the reply begins with op_real, where the paths led (core/op_preview.h);
 * body: what the reply's body is (enum op_body);
 * written: what is known of the bytes it writes to files (enum op_written);
 * preview: how it is shown before someone is asked (enum preview_of);
 * check: op_check_CHECK says whether the fields and the body of a reply fit together. */
#define OP_LIST(ROW)                                                                               \
    /*  id, name, fields, temp, waits, real, body, written, preview, check */                      \
    ROW(READ, read, read, false, false, false, CONTENT, NOTHING, READ, read)                       \
    ROW(WRITE, write, write, true, true, true, NONE, CONTENT, WRITE, any)                          \
    ROW(LIST, list, list, false, false, false, ENTRIES, NOTHING, LIST, list)                       \
    ROW(STAT, stat, stat, false, false, false, NONE, NOTHING, STAT, any)                           \
    ROW(SEARCH, search, search, false, false, false, MATCHES, NOTHING, SEARCH, search)             \
    ROW(EDIT, edit, change, true, true, true, DIFF, CHANGE, EDIT, any)                             \
    ROW(FRONTMATTER, frontmatter, change, true, true, true, DIFF, CHANGE, FRONTMATTER, any)        \
    ROW(DELETE, delete, delete, true, true, true, NONE, NOTHING, DELETE, any)                      \
    ROW(MOVE, move, move, false, true, true, NONE, NOTHING, MOVE, any)                             \
    ROW(MKDIR, mkdir, mkdir, false, false, true, NONE, NOTHING, MKDIR, any)                        \
    ROW(SWEEP, sweep, sweep, false, false, false, NONE, NOTHING, NONE, any)                        \
    ROW(RULES, rules, rules, false, false, false, NONE, NOTHING, NONE, any)                        \
    ROW(SCAN, scan, scan, false, false, false, LIST, NOTHING, NONE, scan)                          \
    ROW(LEADS, leads, leads, false, false, false, LIST, NOTHING, NONE, leads)                      \
    ROW(PREVIEW, preview, preview, false, false, true, DIFF, NOTHING, NONE, preview)               \
    ROW(QUARANTINE, quarantine, quarantine, false, false, false, LIST, NOTHING, NONE, quarantine)  \
    ROW(GIT_BEGIN, git_begin, git_begin, false, false, false, NONE, NOTHING, NONE, any)            \
    ROW(GIT_IMPORT, git_import, git_import, false, false, false, LIST, NOTHING, NONE, git_import)

#endif
