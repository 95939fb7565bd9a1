#include "base/utf8.h"
#include "core/call.h"
#include "tools/all.h"

struct args {
    struct str path;
    int64_t start_line;
    int64_t end_line;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "File to read: @project/…, @pkg/… or @state/…"},
    {.name = "startLine",
     .type = ARG_INT,
     .offset = offsetof(struct args, start_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "First line to return, counted from 1."},
    {.name = "endLine",
     .type = ARG_INT,
     .offset = offsetof(struct args, end_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "Last line to return, itself included."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "content", .type = ARG_STRING},
    {.name = "contentPreview", .type = ARG_STRING},
    {.name = "truncated", .type = ARG_BOOL},
    {.name = "hint", .type = ARG_STRING},
    {.name = "bytes", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "Size of the whole file."},
    {.name = "sha256", .type = ARG_SHA256, .flags = ARG_REQUIRED, .doc = "Of the whole file."},
    {.name = "startLine", .type = ARG_INT},
    {.name = "endLine", .type = ARG_INT},
    {.name = "totalLines", .type = ARG_INT},
};

static bool is_toolhost_window(const struct args *a)
{
    return a->start_line != ARG_ABSENT || a->end_line != ARG_ABSENT;
}

static int prepare_toolhost_read(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    const struct config *config = call->workplace->config;
    if (call_take_path(call, a->path, (struct str){0}, err) < 0)
        return -1;
    int64_t first = a->start_line == ARG_ABSENT ? 1 : a->start_line;
    if (a->end_line != ARG_ABSENT && a->end_line < first)
        return err_set(err, ERR_INTERNAL, "endLine (%lld) is before startLine (%lld)",
                       (long long)a->end_line, (long long)first);
    call->op = &op_table[OP_READ];
    call->request.read = (struct op_read_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .start_line = a->start_line,
        .end_line = a->end_line,
        .max_bytes = config_agent_int(config, call->agent, "tools.fs.maxReadBytes",
                                      config_int(config, "tools.fs.maxReadBytes")),
        .whole_max = INT64_MAX,
        .hash_max = INT64_MAX,
    };
    return 0;
}

static int shape_toolhost_read(const struct call *call, struct json_out *j, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    const struct op_read_reply *r = &call->reply.read;
    struct str content = buf_str(&call->reply_body);
    bool window = is_toolhost_window(a);
    if (r->truncated && window && r->whole == 0)
        return err_set(err, ERR_OUTPUT_LIMIT,
                       "line %lld alone is longer than the read limit of %lld bytes",
                       (long long)r->start_line, (long long)call->request.read.max_bytes);
    if (r->truncated)
        content.n = window ? (size_t)r->whole : utf8_cut(content.p, content.n);
    call_write_path(call, j, "path");
    jo_kcontent(j, r->truncated ? "contentPreview" : "content", content);
    if (r->truncated) {
        jo_kbool(j, "truncated", true);
        jo_ktext(j, "hint",
                 "the rest is left out: read on with startLine and endLine, or look for "
                 "what you need with fs.search");
    }
    jo_kint(j, "bytes", r->size);
    jo_kstr(j, "sha256", r->sha256);
    if (window) {
        /* A window cut at its last whole line ends there. */
        bool partial = r->truncated && r->whole < (int64_t)call->reply_body.len;
        jo_kint(j, "startLine", r->start_line);
        jo_kint(j, "endLine", partial ? r->end_line - 1 : r->end_line);
        jo_kint(j, "totalLines", r->total_lines);
    }
    return 0;
}

const struct tool toolhost_fs_read = {
    .dialect = DIALECT_TOOLHOST,
    .name = "fs.read",
    .alias = "fs_read",
    .title = "Read a file",
    .description =
        "Reads a text file of @project, @pkg or @state, whole or from startLine to endLine. "
        "A file over the read limit comes back as a preview with a hint. bytes and sha256 "
        "are always of the whole file.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .runner = RUN_WORKER,
    .prepare = prepare_toolhost_read,
    .shape = shape_toolhost_read,
};
