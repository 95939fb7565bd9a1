/* What several file tools share. */
#ifndef SANDGATE_TOOLS_FILE_H
#define SANDGATE_TOOLS_FILE_H

#include "core/call.h"

/* name, type, size: an entry as most dialects show it. */
#define FILE_ENTRY_FIELDS 3
extern const struct arg file_entry_fields[FILE_ENTRY_FIELDS];
void file_write_entries(const struct call *call, const char *key, struct json_out *j);

/* path, start_line, end_line: the arguments of tools that read a file by its lines, and the operation they
 * ask for. The lines of a file of at most `counted_max` bytes are counted. */
struct file_lines {
    struct str path;
    int64_t start_line;
    int64_t end_line;
};
#define FILE_LINES_ARGS 3
extern const struct arg file_lines_args[FILE_LINES_ARGS];
int file_prepare_lines(struct call *call, int64_t max_bytes, int64_t counted_max, struct err *err);

/* A pattern that cannot be used is refused before anything runs; a NULL one is none. */
int file_check_glob(struct str pattern, const char *field, struct err *err);

/* The whole content, or more at the end; call->path is known. */
int file_prepare_write(struct call *call, struct str content, bool append, struct err *err);

/* Takes the path and begins an OP_EDIT or OP_FRONTMATTER; what is to change then goes into
 * call->packed, and file_take_packed makes it the request's body. */
int file_prepare_change(struct call *call, enum op_id op, struct str path, struct str path_b64,
                        struct err *err);
int file_take_packed(struct call *call, struct err *err);
/* diff, truncated, both hashes and the size. */
void file_write_change(const struct call *call, struct json_out *j);

/* type, size, mode, mtime and whether it is a link. */
void file_write_stat(const struct call *call, const char *link_key, struct json_out *j);

/* toolhost: a text that is no SHA-256 is that of no file. NULL: none is asked for. */
int toolhost_check_match(struct str sha256, struct err *err);
/* toolhost: is call->path in @state/logs, and how much may be written. */
bool toolhost_is_log(const struct call *call);
int64_t toolhost_write_limit(const struct call *call);

#endif
