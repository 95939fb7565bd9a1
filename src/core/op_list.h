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
    OP_BODY_PAGE, /* as many bytes as the call's reply_max */
};

/* What an operation writes to files: nothing; the request's body; or a file whose size the reply tells. */
enum op_written { OP_WRITES_NOTHING, OP_WRITES_CONTENT, OP_WRITES_CHANGE };

/* Whether the reply begins with op_real, where the paths led (core/op_preview.h), and when that is told. */
enum op_real_told { OP_REAL_NOT, OP_REAL_ELSEWHERE, OP_REAL_ALWAYS };

/* How many paths the request begins with: those of op_two_paths, or the first of them. */
enum op_paths { OP_PATHS_ONE = 1, OP_PATHS_TWO };

/* OP_ID; "name" in frames, and work_NAME carries it out;
 * fields: op_FIELDS_request and op_FIELDS_reply;
 * temp: may leave a temporary file behind when it is cut off;
 * waits: may wait for the lock of a folder;
 * paths: how many it has (enum op_paths);
 * real: when the reply says where these led (enum op_real_told);
 * body: what the reply's body is (enum op_body);
 * written: what is known of the bytes it writes to files (enum op_written);
 * preview: how it is shown before someone is asked (enum preview_of);
 * check: op_check_CHECK says whether the fields and the body of a reply fit together. */
#define OP_LIST(ROW)                                                                               \
    /*  id, name, fields, temp, waits, paths, real, body, written, preview, check */               \
    ROW(READ, read, read, false, false, ONE, NOT, CONTENT, NOTHING, READ, read)                    \
    ROW(WRITE, write, write, true, true, ONE, ELSEWHERE, NONE, CONTENT, WRITE, any)                \
    ROW(LIST, list, list, false, false, ONE, NOT, ENTRIES, NOTHING, LIST, list)                    \
    ROW(STAT, stat, stat, false, false, ONE, NOT, NONE, NOTHING, STAT, any)                        \
    ROW(SEARCH, search, search, false, false, ONE, NOT, MATCHES, NOTHING, SEARCH, search)          \
    ROW(EDIT, edit, change, true, true, ONE, ELSEWHERE, DIFF, CHANGE, EDIT, any)                   \
    ROW(FRONTMATTER, frontmatter, change, true, true, ONE, ELSEWHERE, DIFF, CHANGE, FRONTMATTER,   \
        any)                                                                                       \
    ROW(DELETE, delete, delete, true, true, ONE, ELSEWHERE, NONE, NOTHING, DELETE, any)            \
    ROW(MOVE, move, move, false, true, TWO, ELSEWHERE, NONE, NOTHING, MOVE, any)                   \
    ROW(MKDIR, mkdir, mkdir, false, false, ONE, ELSEWHERE, NONE, NOTHING, MKDIR, any)              \
    ROW(SWEEP, sweep, sweep, false, false, ONE, NOT, NONE, NOTHING, NONE, any)                     \
    ROW(RULES, rules, rules, false, false, ONE, NOT, NONE, NOTHING, NONE, any)                     \
    ROW(SCAN, scan, scan, false, false, ONE, NOT, LIST, NOTHING, NONE, scan)                       \
    ROW(LEADS, leads, leads, false, false, ONE, NOT, LIST, NOTHING, NONE, leads)                   \
    ROW(PREVIEW, preview, preview, false, false, ONE, ALWAYS, DIFF, NOTHING, NONE, preview)        \
    ROW(QUARANTINE, quarantine, quarantine, false, false, ONE, NOT, LIST, NOTHING, NONE,           \
        quarantine)                                                                                \
    ROW(GIT_BEGIN, git_begin, git_begin, false, false, ONE, NOT, NONE, NOTHING, NONE, any)         \
    ROW(GIT_IMPORT, git_import, git_import, false, false, ONE, NOT, LIST, NOTHING, NONE,           \
        git_import)                                                                                \
    ROW(LAYER_LIST, layer_list, layer_list, false, false, ONE, NOT, LIST, NOTHING, NONE,           \
        layer_list)                                                                                \
    ROW(LAYER_COMMIT, layer_commit, layer_commit, false, false, ONE, NOT, LIST, NOTHING, NONE,     \
        layer_commit)                                                                              \
    ROW(LAYER_DIFF, layer_diff, layer_diff, false, false, ONE, NOT, DIFF, NOTHING, NONE, any)

/* Operations of roles that are programs of their own (core/role_program.h). They have no paths and write no files.
 *
 * OP_ID; "name" in frames; fields: op_NAME_request and op_NAME_reply;
 * role: which carries it out (enum op_role); body and check: as above. */
#define OP_ROLE_LIST(ROW)                                                                          \
    /*  id, name, role, body, check */                                                             \
    ROW(PAGE, page, PARSE, PAGE, page)                                                             \
    ROW(HTTP, http, NET, PAGE, http)                                                               \
    ROW(RUN_TOOL, run_tool, WASM, PAGE, run_tool)                                                  \
    ROW(COMPILE, compile, COMPILE, PAGE, compile)
#endif
