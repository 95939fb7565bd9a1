#include <inttypes.h>

#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"

#define WHOLE_MAX (1 << 20)
/* Of a larger file the lines are not counted: that would take seconds, whatever is asked for. */
#define COUNTED_MAX (1 << 30)
/* The longest number, its tab and a newline: as much as a line of one byte can become. */
#define NUMBERED_MAX 22

static const struct arg result[] = {
    {.name = "content",
     .type = ARG_STRING,
     .doc = "Each line with its number and a tab before it."},
    {.name = "lines", .type = ARG_INT, .doc = "How many lines were returned."},
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "start_line", .type = ARG_INT},
    {.name = "end_line", .type = ARG_INT},
    {.name = "total_lines", .type = ARG_INT, .doc = "Of a file of at most 1 GiB."},
    {.name = "binary", .type = ARG_BOOL},
    {.name = "size", .type = ARG_INT},
    {.name = "type", .type = ARG_STRING, .doc = "Of a binary file, as a media type."},
};

static bool is_sidecar_window(const struct file_lines *a)
{
    return a->start_line != ARG_ABSENT || a->end_line != ARG_ABSENT;
}

static int prepare_sidecar_read_file(struct call *call, struct err *err)
{
    bool window = is_sidecar_window((const void *)&call->args);
    if (file_prepare_lines(call, WHOLE_MAX, window ? COUNTED_MAX : WHOLE_MAX, err) < 0)
        return -1;
    call->request.read.text_only = true;
    return 0;
}

static void write_numbered(const struct op_read_reply *r, struct str rest, struct json_out *j)
{
    BUF_AT_END struct buf text = BUF_INIT(NUMBERED_MAX * (size_t)WHOLE_MAX);
    for (int64_t line = r->start_line; rest.n > 0; line++) {
        const char *newline = memchr(rest.p, '\n', rest.n);
        size_t n = newline ? (size_t)(newline - rest.p) : rest.n;
        buf_addf(&text, "%s%" PRId64 "\t", line > r->start_line ? "\n" : "", line);
        buf_add(&text, rest.p, n);
        n += newline != NULL;
        rest = (struct str){rest.p + n, rest.n - n};
    }
    jo_kcontent(j, "content", buf_str(&text));
    buf_fail_as(j->out, &text);
}

static int shape_sidecar_read_file(const struct call *call, struct json_out *j, struct err *err)
{
    const struct file_lines *a = (const void *)&call->args;
    const struct op_read_reply *r = &call->reply.read;
    if (r->binary) {
        jo_kbool(j, "binary", true);
        jo_kint(j, "size", r->size);
        jo_ktext(j, "type", file_kind_names[r->kind]);
        call_write_path(call, j, "path");
        return 0;
    }
    if (r->truncated)
        return err_set(err, ERR_TOO_LARGE,
                       "`%s` has %" PRId64 " bytes, more than the %d that are returned at once: "
                       "give %s",
                       call->path.text, r->size, WHOLE_MAX,
                       is_sidecar_window(a) ? "a smaller range" : "start_line and end_line");
    int64_t lines = r->end_line >= r->start_line ? r->end_line - r->start_line + 1 : 0;
    write_numbered(r, buf_str(&call->reply_body), j);
    jo_kint(j, "lines", lines);
    call_write_path(call, j, "path");
    jo_kint(j, "start_line", r->start_line);
    jo_kint(j, "end_line", r->end_line);
    if (r->total_lines != ARG_ABSENT)
        jo_kint(j, "total_lines", r->total_lines);
    return 0;
}

const struct tool sidecar_read_file = {
    .dialect = DIALECT_SIDECAR,
    .name = "read_file",
    .title = "Read a file",
    .description =
        "Reads a text file of the workspace; each line comes with its number and a tab before "
        "it. For a file over 1 MB give start_line and end_line. Of a binary file only size and "
        "type are told.",
    .args = ARG_TABLE(file_lines_args, struct file_lines),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .runner = RUN_WORKER,
    .prepare = prepare_sidecar_read_file,
    .shape = shape_sidecar_read_file,
};
