#include <inttypes.h>

#include "core/call.h"
#include "tools/all.h"
#include "tools/show.h"
#include "tools/file.h"

struct args {
    struct str path;
    struct str path_b64;
    bool recursive;
};

static const struct arg args[] = {
    {.name = "path",
     .alias = "file_path",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "File or folder to delete."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_WRITES | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "recursive",
     .type = ARG_BOOL,
     .use = ARG_DEEP,
     .offset = offsetof(struct args, recursive),
     .doc = "Also delete a folder that is not empty, with all that is in it."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "type",
     .type = ARG_CHOICE,
     .flags = ARG_REQUIRED,
     .choices = file_type_names,
     .doc = "What was there."},
    {.name = "deleted",
     .type = ARG_INT,
     .flags = ARG_REQUIRED,
     .doc = "How many files and folders were deleted."},
};

static int prepare_native_delete(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, a->path_b64, err) < 0)
        return -1;
    if (path_is_root(&call->path))
        return err_field(err, "path", "the workspace itself cannot be deleted");
    call->op = &op_table[OP_DELETE];
    call->request.delete = (struct op_delete_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .recursive = a->recursive,
    };
    return 0;
}

static int shape_native_delete(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_delete_reply *r = &call->reply.delete;
    call_write_path(call, j, "path");
    jo_ktext(j, "type", file_type_names[r->type]);
    jo_kint(j, "deleted", r->count);
    return 0;
}

static int show_native_delete(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    const struct op_delete_reply *r = &call->reply.delete;
    buf_addf(out, "deleted %s ", file_type_names[r->type]);
    show_call_path(call, out);
    if (r->count > 1)
        buf_addf(out, " and all in it, %" PRId64 " in all", r->count);
    return 0;
}

const struct tool native_delete = {
    .dialect = DIALECT_NATIVE,
    .name = "delete",
    .title = "Delete",
    .description =
        "Deletes a file, a link (never what it points to) or an empty folder; with recursive a folder and all in it.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_WRITE,
    .flags = TOOL_TREE,
    .runner = RUN_WORKER,
    .prepare = prepare_native_delete,
    .shape = shape_native_delete,
    .show = show_native_delete,
};
