#include <inttypes.h>

#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"
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
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "File or folder."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_READS | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "type", .type = ARG_CHOICE, .flags = ARG_REQUIRED, .choices = file_type_names},
    {.name = "size", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "mode", .type = ARG_STRING, .flags = ARG_REQUIRED, .doc = "Permissions, in octal."},
    {.name = "mtime", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "is_symlink", .type = ARG_BOOL, .flags = ARG_REQUIRED},
};

static int prepare_native_stat(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, a->path_b64, err) < 0)
        return -1;
    call->op = &op_table[OP_STAT];
    call->request.stat = (struct op_stat_request){.root = (int64_t)call->path.root,
                                                  .path = call_path_text(call)};
    return 0;
}

static int shape_native_stat(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    call_write_path(call, j, "path");
    file_write_stat(call, "is_symlink", j);
    return 0;
}

static int show_native_stat(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    const struct op_stat_reply *r = &call->reply.stat;
    char mtime[CLOCK_TEXT_MAX];
    clock_format_utc(r->mtime_ms, mtime);
    show_call_path(call, out);
    buf_addf(out, ": %s%s, %" PRId64 " bytes, mode %04o, changed %s", r->symlink ? "link to " : "",
             file_type_names[r->type], r->size, (unsigned)r->mode & 07777u, mtime);
    return 0;
}

const struct tool native_stat = {
    .dialect = DIALECT_NATIVE,
    .name = "stat",
    .title = "Look at a file",
    .description =
        "Tells whether a path is a file or a folder, its size, permissions and time of change, without reading it.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .runner = RUN_WORKER,
    .prepare = prepare_native_stat,
    .shape = shape_native_stat,
    .show = show_native_stat,
};
