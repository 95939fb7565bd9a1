#include "core/call.h"
#include "tools/all.h"
#include "tools/show.h"

struct args {
    struct str path;
    struct str path_b64;
};

static const struct arg args[] = {
    {.name = "path",
     .alias = "file_path",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "Folder to make."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_WRITES | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "created",
     .type = ARG_BOOL,
     .flags = ARG_REQUIRED,
     .doc = "False when the folder was there already."},
};

static int prepare_native_directory(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, a->path_b64, err) < 0)
        return -1;
    call->op = &op_table[OP_MKDIR];
    call->request.mkdir = (struct op_mkdir_request){(int64_t)call->path.root, call_path_text(call)};
    return 0;
}

static int shape_native_directory(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    call_write_path(call, j, "path");
    jo_kbool(j, "created", call->reply.mkdir.created);
    return 0;
}

static int show_native_directory(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    buf_add_text(out, call->reply.mkdir.created ? "created folder " : "is there already: folder ");
    show_call_path(call, out);
    return 0;
}

const struct tool native_make_directory = {
    .dialect = DIALECT_NATIVE,
    .name = "make_directory",
    .title = "Make a folder",
    .description =
        "Makes a folder and those above it that are missing. It is no error when it is there already.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_WRITE,
    .flags = TOOL_IDEMPOTENT | TOOL_ADDS_ONLY,
    .runner = RUN_WORKER,
    .prepare = prepare_native_directory,
    .shape = shape_native_directory,
    .show = show_native_directory,
};
