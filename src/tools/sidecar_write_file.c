#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"

struct args {
    struct str path;
    struct str content;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "File to write, relative to the workspace; missing folders are made."},
    {.name = "content",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED | ARG_CONTENT,
     .offset = offsetof(struct args, content),
     .doc = "What the file is to contain."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "bytes", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "created", .type = ARG_BOOL, .flags = ARG_REQUIRED},
};

static int prepare_sidecar_write_file(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, (struct str){0}, err) < 0)
        return -1;
    return file_prepare_write(call, a->content, false, err);
}

static int shape_sidecar_write_file(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    call_write_path(call, j, "path");
    jo_kint(j, "bytes", call->reply.write.bytes);
    jo_kbool(j, "created", call->reply.write.created);
    return 0;
}

const struct tool sidecar_write_file = {
    .dialect = DIALECT_SIDECAR,
    .name = "write_file",
    .title = "Write a file",
    .description =
        "Writes a file of the workspace as a whole, making missing folders. The file holds "
        "either the old or the new content, never half.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_WRITE,
    .flags = TOOL_IDEMPOTENT,
    .runner = RUN_WORKER,
    .prepare = prepare_sidecar_write_file,
    .shape = shape_sidecar_write_file,
};
