/* Errors that callers see: a closed list of codes and one table of what each is called.
 *
 * Functions above base/ take `struct err *err` last, leave it untouched on success and return -1
 * on failure. */
#ifndef SANDGATE_BASE_ERR_H
#define SANDGATE_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

/* Three kinds that never mix: the model can fix it, the policy refused it, it is our fault. */
enum err_kind { KIND_MODEL, KIND_POLICY, KIND_OURS };

/* X(code, kind, sidecar's word, toolhost's word, HTTP status, JSON-RPC code, retryable) */
#define ERR_CODES(X)                                                                               \
    X(INVALID_ARGUMENTS, MODEL, "INVALID_ARGUMENTS", "E_SCHEMA_VALIDATION", 400, -32602, 0)        \
    X(UNKNOWN_TOOL, MODEL, "UNKNOWN_TOOL", "E_SCHEMA_VALIDATION", 404, -32602, 0)                  \
    X(NOT_FOUND, MODEL, "NOT_FOUND", "ENOENT", 404, -32002, 0)                                     \
    X(ALREADY_EXISTS, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 409, -32000, 0)                      \
    X(NOT_A_FILE, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 422, -32000, 0)                          \
    X(NOT_A_DIRECTORY, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 422, -32000, 0)                     \
    X(PATH_OUTSIDE_WORKSPACE, POLICY, "PATH_OUTSIDE_WORKSPACE", "E_SANDBOX_VIOLATION", 403,        \
      -32000, 0)                                                                                   \
    X(SYMLINK_OUTSIDE_WORKSPACE, POLICY, "SYMLINK_OUTSIDE_WORKSPACE", "E_SANDBOX_VIOLATION", 403,  \
      -32000, 0)                                                                                   \
    X(PERMISSION_DENIED, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 403, -32000, 0)                   \
    X(READ_ONLY, POLICY, "EXECUTION_ERROR", "E_SANDBOX_VIOLATION", 403, -32000, 0)                 \
    X(TOO_LARGE, MODEL, "FILE_TOO_LARGE", "E_WRITE_LIMIT", 413, -32000, 0)                         \
    X(PRECONDITION_FAILED, MODEL, "EXECUTION_ERROR", "E_PRECONDITION_FAILED", 412, -32000, 0)      \
    X(NO_MATCH, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 422, -32000, 0)                            \
    X(INVALID_PATTERN, MODEL, "INVALID_ARGUMENTS", "E_SCHEMA_VALIDATION", 400, -32602, 0)          \
    X(INVALID_FRONTMATTER, MODEL, "EXECUTION_ERROR", "E_INVALID_FRONTMATTER", 422, -32000, 0)      \
    X(COMMAND_BLOCKED, POLICY, "COMMAND_BLOCKED", "E_SANDBOX_VIOLATION", 403, -32000, 0)           \
    X(TIMEOUT, MODEL, "TIMEOUT", "E_INTERNAL", 504, -32000, 1)                                     \
    X(CANCELLED, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 499, -32000, 0)                           \
    X(MEMORY_LIMIT, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 422, -32000, 0)                        \
    X(PROCESS_LIMIT, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 422, -32000, 0)                       \
    X(DISK_LIMIT, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 422, -32000, 0)                          \
    X(DISK_FULL, OURS, "EXECUTION_ERROR", "E_INTERNAL", 507, -32000, 1)                            \
    X(OUTPUT_LIMIT, MODEL, "EXECUTION_ERROR", "E_READ_LIMIT", 413, -32000, 0)                      \
    X(FUEL_LIMIT, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 422, -32000, 0)                          \
    X(TRAP, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 422, -32000, 0)                                \
    X(BAD_OUTPUT, OURS, "EXECUTION_ERROR", "E_INTERNAL", 502, -32000, 0)                           \
    X(NETWORK_DENIED, POLICY, "POLICY_DENIED", "E_SANDBOX_VIOLATION", 403, -32000, 0)              \
    X(NETWORK_ERROR, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 502, -32000, 1)                       \
    X(PROVIDER_ERROR, OURS, "EXECUTION_ERROR", "E_INTERNAL", 502, -32000, 1)                       \
    X(CAPABILITY_DENIED, POLICY, "POLICY_DENIED", "E_SANDBOX_VIOLATION", 403, -32000, 0)           \
    X(POLICY_DENIED, POLICY, "POLICY_DENIED", "E_SANDBOX_VIOLATION", 403, -32000, 0)               \
    X(APPROVAL_DENIED, POLICY, "POLICY_DENIED", "E_SANDBOX_VIOLATION", 403, -32000, 0)             \
    X(APPROVAL_TIMEOUT, POLICY, "POLICY_DENIED", "E_SANDBOX_VIOLATION", 403, -32000, 1)            \
    X(RATE_LIMITED, POLICY, "POLICY_DENIED", "E_SANDBOX_VIOLATION", 429, -32000, 1)                \
    X(BUDGET_EXCEEDED, POLICY, "POLICY_DENIED", "E_SANDBOX_VIOLATION", 429, -32000, 1)             \
    X(SESSION_BUSY, OURS, "EXECUTION_ERROR", "E_INTERNAL", 409, -32000, 1)                         \
    X(SESSION_NOT_FOUND, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 404, -32000, 0)                   \
    X(CONFLICT, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 409, -32000, 0)                            \
    X(SANDBOX_UNAVAILABLE, OURS, "EXECUTION_ERROR", "E_INTERNAL", 503, -32000, 0)                  \
    X(NOT_SUPPORTED, MODEL, "EXECUTION_ERROR", "E_INTERNAL", 501, -32601, 0)                       \
    X(INTERRUPTED, OURS, "EXECUTION_ERROR", "E_INTERNAL", 503, -32000, 1)                          \
    X(INTERNAL, OURS, "EXECUTION_ERROR", "E_INTERNAL", 500, -32603, 0)

enum err_code {
#define ERR_ENUM(code, kind, sidecar, toolhost, http, rpc, retry) ERR_##code,
    ERR_CODES(ERR_ENUM)
#undef ERR_ENUM
        ERR_COUNT
};

struct err_row {
    const char *name; /* native's word, and the system dialect's */
    enum err_kind kind;
    const char *sidecar;
    const char *toolhost;
    int http;
    int rpc;
    bool retryable;
};

struct err {
    enum err_code code;
    char message[512];
    char field[64];  /* the argument it is about, if one */
    char reason[40]; /* a short word for programs: `parent_traversal`, `read_only_mount` */
    int64_t retry_after_ms;
};

const struct err_row *err_row(enum err_code code);
/* The code with this native word, or -1. */
int err_code_from_name(struct str name);

/* Both fill in `err` and return -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
int err_field(struct err *err, const char *field, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Whether the machine lacks something that comes back when others are done with it: descriptors, memory, processes,
 * threads. */
bool err_is_shortage(int error);
/* SESSION_BUSY, which may be tried again, for such an errno; `other` for any other. */
enum err_code err_code_for(int error, enum err_code other);
/* For an error of a file of Sandgate's own: that, or DISK_FULL where it cannot grow, or INTERNAL. */
enum err_code err_code_for_file(int error);
/* "what: errno", for a file of Sandgate's own. Returns -1. */
int err_file_failed(struct err *err, const char *what);
/* What can be done about such an error, to end a message with; NULL: nothing that holds for every file. */
const char *err_advice_for_file(int error);
/* SESSION_BUSY: there is not enough memory at the moment. Returns -1. */
int err_no_memory(struct err *err);
/* Whether a file cannot grow: the disk, a quota or the limit of a file's size (RLIMIT_FSIZE) is reached. */
bool err_is_full(int error);
/* Sets the reason word of an error that was just set; returns -1. */
int err_reason(struct err *err, const char *reason);
/* Whether the same call may succeed later by itself: by its code, by its reason, or because it says when. */
bool err_may_work_later(const struct err *err);

#endif
