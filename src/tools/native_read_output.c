#include <inttypes.h>

#include "base/utf8.h"
#include "core/call.h"
#include "core/spill.h"
#include "tools/all.h"
#include "tools/show.h"

/* Read in the gate, between other calls: larger pages would let those wait. */
#define PAGE_MAX (1 << 20)
/* A page holds at least one character, so that the next one is further on. */
#define PAGE_MIN 4

struct args {
    struct str output_id;
    int64_t stream;
    int64_t offset;
    int64_t max_bytes;
};

static const struct arg args[] = {
    {.name = "output_id",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct args, output_id),
     .max = 64,
     .doc = "As the command's answer had it."},
    {.name = "stream",
     .type = ARG_CHOICE,
     .offset = offsetof(struct args, stream),
     .choices = stream_names,
     .def = STREAM_STDOUT,
     .doc = "Which of the two."},
    {.name = "offset",
     .type = ARG_INT,
     .offset = offsetof(struct args, offset),
     .doc = "Bytes to leave out at the beginning."},
    {.name = "max_bytes",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_bytes),
     .min = PAGE_MIN,
     .max = PAGE_MAX,
     .def = 100000,
     .doc = "Most bytes to return."},
};

static const struct arg result[] = {
    {.name = "content",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .doc = "What is not UTF-8 is replaced."},
    {.name = "offset", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "Where the content begins."},
    {.name = "next_offset",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .doc = "The offset to go on with."},
    {.name = "total_bytes",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .doc = "How much the command printed to this stream."},
    {.name = "complete",
     .type = ARG_BOOL,
     .flags = ARG_REQUIRED,
     .doc = "False when the command still runs, or printed more than is kept."},
    {.name = "truncated",
     .type = ARG_BOOL,
     .flags = ARG_REQUIRED,
     .doc = "There is more to read at next_offset."},
};

static int prepare_native_read_output(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    struct spill_page *page = &call->reply.output;
    struct buf *content = &call->reply_body;
    buf_done(content);
    size_t max = call->plain_max ? show_room(call, "max_bytes", a->max_bytes)
                                 : (size_t)a->max_bytes;
    buf_init(content, max);
    if (spill_read(call->workplace->spills, a->output_id, (enum stream)a->stream, a->offset,
                   max, content, page, err) < 0)
        return -1;
    /* A character that goes on behind the page belongs to the next one; nobody is told to read on for half a
     * character that a command has printed so far. */
    bool more = a->offset + (int64_t)content->len < page->kept;
    if (more || page->running)
        content->len = utf8_cut(buf_str(content).p, content->len);
    if (!more)
        page->kept = a->offset + (int64_t)content->len;
    return 0;
}

static int shape_native_read_output(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct args *a = (const void *)&call->args;
    const struct spill_page *page = &call->reply.output;
    int64_t next = a->offset + (int64_t)call->reply_body.len;
    jo_kcontent(j, "content", buf_str(&call->reply_body));
    jo_kint(j, "offset", a->offset);
    jo_kint(j, "next_offset", next);
    jo_kint(j, "total_bytes", page->total);
    jo_kbool(j, "complete", page->complete);
    jo_kbool(j, "truncated", next < page->kept);
    return 0;
}

static int show_native_read_output(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    const struct args *a = (const void *)&call->args;
    const struct spill_page *page = &call->reply.output;
    int64_t next = a->offset + (int64_t)call->reply_body.len;
    BUF_AT_END struct buf note = BUF_INIT(300);
    buf_addf(&note, "%s: bytes %" PRId64 " to %" PRId64 " of %" PRId64, stream_names[a->stream],
             a->offset, next, page->total);
    if (next < page->kept)
        buf_addf(&note, "; go on with offset %" PRId64, next);
    else if (!page->complete)
        buf_add_text(&note, page->running ? "; the command still runs" : "; no more is kept");
    show_between(buf_str(&note), buf_str(&call->reply_body), out);
    return 0;
}

const struct tool native_read_output = {
    .dialect = DIALECT_NATIVE,
    .name = "read_output",
    .title = "Read a command's output",
    .description =
        "Reads what a command printed when its answer showed only the beginning and the end. Only the latest long outputs are kept: for one that is gone, run the command again with its output redirected into a file.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .flags = TOOL_LONG,
    .runner = RUN_BUILTIN,
    .prepare = prepare_native_read_output,
    .shape = shape_native_read_output,
    .show = show_native_read_output,
};
