#include <inttypes.h>

#include "base/utf8.h"
#include "core/call.h"
#include "tools/all.h"

#define TEXT_MAX (100 << 10)

struct args {
    struct str path;
    int64_t start_line;
    int64_t end_line;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct args, path),
     .doc = "File to read, relative to the workspace."},
    {.name = "start_line",
     .type = ARG_INT,
     .offset = offsetof(struct args, start_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "First line to return, counted from 1."},
    {.name = "end_line",
     .type = ARG_INT,
     .offset = offsetof(struct args, end_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "Last line to return, itself included."},
};

static const struct arg result[] = {
    {.name = "text", .type = ARG_STRING, .flags = ARG_REQUIRED},
};

static int prepare(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, (struct str){0}, err) < 0)
        return -1;
    if (a->start_line != ARG_ABSENT && a->end_line != ARG_ABSENT && a->end_line < a->start_line)
        return err_field(err, "end_line",
                         "end_line (%" PRId64 ") is before start_line (%" PRId64 ")", a->end_line,
                         a->start_line);
    call->op = &op_table[OP_READ];
    call->request.read = (struct op_read_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .start_line = a->start_line,
        .end_line = a->end_line,
        .max_bytes = TEXT_MAX,
    };
    return 0;
}

static int shape(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_read_reply *r = &call->reply.read;
    struct str content = buf_str(&call->reply_body);
    if (!r->truncated) {
        jo_content(j, content);
        return 0;
    }
    BUF_AT_END struct buf text = BUF_INIT((size_t)TEXT_MAX + 300);
    content.n = utf8_cut(content.p, content.n);
    buf_add(&text, content.p, content.n);
    buf_addf(&text,
             "%s[truncated: %zu of %" PRId64
             " bytes are shown; use start_line and end_line, the file has "
             "%" PRId64 " lines]",
             content.n && content.p[content.n - 1] == '\n' ? "" : "\n", content.n, r->size,
             r->total_lines);
    jo_content(j, buf_str(&text));
    return 0;
}

const struct tool runner_read_file = {
    .dialect = DIALECT_RUNNER,
    .name = "read_file",
    .title = "Read a file",
    .description =
        "Reads a text file of the workspace, whole or from start_line to end_line. Over 100 "
        "KB it is cut, and a last line says so. Bytes that are not UTF-8 are replaced.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .runner = RUN_WORKER,
    .prepare = prepare,
    .shape = shape,
};
