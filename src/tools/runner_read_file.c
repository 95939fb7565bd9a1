#include <inttypes.h>

#include "base/utf8.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"

#define TEXT_MAX (100 << 10)
/* Of a larger file the lines are not counted. */
#define COUNTED_MAX (16 << 20)

static const struct arg result[] = {
    {.name = "text", .type = ARG_STRING, .flags = ARG_REQUIRED},
};

static int prepare_runner_read_file(struct call *call, struct err *err)
{
    return file_prepare_lines(call, TEXT_MAX, COUNTED_MAX, err);
}

static int shape_runner_read_file(const struct call *call, struct json_out *j, struct err *err)
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
    buf_addf(&text, "%s[truncated: %zu of %" PRId64 " bytes are shown; use start_line and end_line",
             content.n && content.p[content.n - 1] == '\n' ? "" : "\n", content.n, r->size);
    if (r->total_lines != ARG_ABSENT)
        buf_addf(&text, ", the file has %" PRId64 " lines", r->total_lines);
    buf_add_char(&text, ']');
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
    .args = ARG_TABLE(file_lines_args, struct file_lines),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .runner = RUN_WORKER,
    .prepare = prepare_runner_read_file,
    .shape = shape_runner_read_file,
};
