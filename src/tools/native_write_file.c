#include "base/base64.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/show.h"

enum { UTF8, BASE64 };
static const char *const encodings[] = {"utf8", "base64", NULL};

struct args {
    struct str path;
    struct str path_b64;
    struct str content;
    int64_t encoding;
    struct str if_match;
    bool append;
    bool create_only;
};

static const struct arg args[] = {
    {.name = "path",
     .alias = "file_path",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "File to write; missing folders are made."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_WRITES | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "content",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED | ARG_CONTENT,
     .offset = offsetof(struct args, content),
     .doc = "The whole new content."},
    {.name = "encoding",
     .type = ARG_CHOICE,
     .flags = ARG_UNLISTED,
     .use = ARG_NARROWS,
     .offset = offsetof(struct args, encoding),
     .choices = encodings,
     .def = UTF8,
     .doc = "How `content` is written."},
    {.name = "if_match_sha256",
     .type = ARG_SHA256,
     .offset = offsetof(struct args, if_match),
     .doc = "Only if this is still its SHA-256."},
    {.name = "append",
     .type = ARG_BOOL,
     .use = ARG_NARROWS,
     .offset = offsetof(struct args, append),
     .doc = "Add to the end instead."},
    {.name = "create_only",
     .type = ARG_BOOL,
     .flags = ARG_UNLISTED,
     .use = ARG_NARROWS,
     .offset = offsetof(struct args, create_only),
     .doc = "Fail if the file exists."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "bytes_written", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "sha256", .type = ARG_SHA256, .flags = ARG_REQUIRED, .doc = "Of the whole file now."},
    {.name = "created", .type = ARG_BOOL, .flags = ARG_REQUIRED},
};

static int take_content(struct call *call, const struct args *a, struct err *err)
{
    int64_t limit = config_int(call->workplace->config, "files.maxWriteBytes");
    call->request_body = a->content;
    if (a->encoding == BASE64) {
        buf_done(&call->decoded);
        buf_init(&call->decoded, a->content.n);
        if (base64_decode(&call->decoded, a->content) < 0)
            return err_field(err, "content", "argument `content` is not valid base64");
        call->request_body = buf_str(&call->decoded);
    }
    if ((int64_t)call->request_body.n > limit)
        return err_set(err, ERR_TOO_LARGE,
                       "the content is %zu bytes, at most %lld can be written at once",
                       call->request_body.n, (long long)limit);
    return 0;
}

static int prepare_native_write_file(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, a->path_b64, err) < 0)
        return -1;
    if (path_is_root(&call->path))
        return err_set(err, ERR_NOT_A_FILE, "the path is the workspace itself, not a file");
    if (take_content(call, a, err) < 0)
        return -1;
    call->op = &op_table[OP_WRITE];
    call->request.write = (struct op_write_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .if_match = a->if_match,
        .create_only = a->create_only,
        .append = a->append,
        .max_bytes = config_int(call->workplace->config, "files.maxWriteBytes"),
        .fsync = config_bool(call->workplace->config, "files.fsync"),
    };
    return 0;
}

static int shape_native_write_file(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_write_reply *r = &call->reply.write;
    call_write_path(call, j, "path");
    jo_kint(j, "bytes_written", (int64_t)call->request_body.n);
    jo_kstr(j, "sha256", r->sha256);
    jo_kbool(j, "created", r->created);
    return 0;
}

static int show_native_write_file(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    const struct args *a = (const void *)&call->args;
    buf_add_text(out, call->reply.write.created ? "created "
                      : a->append               ? "added to "
                                                : "replaced ");
    show_call_path(call, out);
    buf_addf(out, ", %zu bytes", call->request_body.n);
    return 0;
}

const struct tool native_write_file = {
    .dialect = DIALECT_NATIVE,
    .name = "write_file",
    .title = "Write a file",
    .description =
        "Writes a file as a whole: it holds either the old or the new content, never half.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_WRITE,
    .runner = RUN_WORKER,
    .prepare = prepare_native_write_file,
    .shape = shape_native_write_file,
    .show = show_native_write_file,
};
