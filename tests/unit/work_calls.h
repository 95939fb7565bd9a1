/* The worker's operations as one line each, with usual arguments. */
#ifndef SANDGATE_TESTS_WORK_CALLS_H
#define SANDGATE_TESTS_WORK_CALLS_H

#include "work_parts.h"

static inline struct str text(const char *s)
{
    return (struct str){s, strlen(s)};
}

static inline int run(enum op_id op, const union op_request *request, const char *body,
                      struct err *err)
{
    union op_reply reply = {0};
    *err = (struct err){0};
    buf_reset(&work.body, 1 << 16);
    return work_ops[op](&work, request, text(body), &reply, err);
}

static inline int do_read(const char *path, struct err *err)
{
    union op_request q = {.read = {.path = text(path),
                                   .start_line = ARG_ABSENT,
                                   .end_line = ARG_ABSENT,
                                   .max_bytes = 1 << 20,
                                   .whole_max = 1 << 20}};
    return run(OP_READ, &q, "", err);
}

static inline int do_write(const char *path, struct err *err)
{
    union op_request q = {.write = {.path = text(path), .tag = STR("t"), .max_bytes = 1 << 20}};
    return run(OP_WRITE, &q, "new", err);
}

static inline int do_delete(const char *path, struct err *err)
{
    union op_request q = {.delete = {.path = text(path), .tag = STR("t"), .recursive = true}};
    return run(OP_DELETE, &q, "", err);
}

static inline int do_move(const char *path, const char *to, struct err *err)
{
    union op_request q = {.move = {.path = text(path), .to = text(to), .overwrite = true}};
    return run(OP_MOVE, &q, "", err);
}

static inline int do_mkdir(const char *path, struct err *err)
{
    union op_request q = {.mkdir = {.path = text(path)}};
    return run(OP_MKDIR, &q, "", err);
}

static inline int do_edit(const char *path, struct err *err)
{
    BUF_AT_END struct buf edits = BUF_INIT(1 << 10);
    union op_request q = {.change = {.path = text(path), .tag = STR("t"), .max_bytes = 1 << 20}};
    union op_reply reply = {0};
    op_edit_add(&edits, &(struct op_edit){STR("x"), STR("y"), false});
    *err = (struct err){0};
    buf_reset(&work.body, 1 << 16);
    return work_ops[OP_EDIT](&work, &q, buf_str(&edits), &reply, err);
}

static inline int do_search(const char *path, struct err *err)
{
    union op_request q = {
        .search = {.path = text(path), .pattern = STR("x"), .hidden = true, .max_matches = 100}};
    return run(OP_SEARCH, &q, "", err);
}

static inline void assert_refused(int r, const struct err *err, const char *reason,
                                  const char *what)
{
    if (r == 0)
        fail_msg("%s is done", what);
    if (err->code != ERR_PERMISSION_DENIED || strcmp(err->reason, reason) != 0)
        fail_msg("%s: %s (%s)", what, err->message, err->reason);
}

static inline void assert_done(int r, const struct err *err, const char *what)
{
    if (r < 0)
        fail_msg("%s: %s", what, err->message);
}

#endif
