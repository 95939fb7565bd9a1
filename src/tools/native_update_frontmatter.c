#include "base/mem.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/show.h"
#include "tools/file.h"

struct args {
    struct str path;
    struct str path_b64;
    yyjson_val *update;
    struct str if_match;
};

static const struct arg args[] = {
    {.name = "path",
     .alias = "file_path",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_READS | ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "File with YAML front matter."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_READS | ARG_WRITES | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "update",
     .type = ARG_OBJECT,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct args, update),
     .doc = "For each key one of {\"set\": value}, {\"append\": [values], \"unique\": true}, "
            "{\"merge\": {key: value}} or {\"remove\": true}."},
    {.name = "if_match_sha256",
     .type = ARG_SHA256,
     .flags = ARG_UNLISTED,
     .offset = offsetof(struct args, if_match),
     .doc = "Only if this is still its SHA-256."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "diff", .type = ARG_STRING, .flags = ARG_REQUIRED, .doc = "Unified diff."},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED, .doc = "The diff was cut."},
    {.name = "sha256_before", .type = ARG_SHA256, .flags = ARG_REQUIRED},
    {.name = "sha256_after", .type = ARG_SHA256, .flags = ARG_REQUIRED},
    {.name = "bytes", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "Size of the file then."},
};

static int prepare_native_frontmatter(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (file_prepare_change(call, OP_FRONTMATTER, a->path, a->path_b64, err) < 0)
        return -1;
    call->request.change.if_match = a->if_match;
    size_t n = 0;
    FREE_AT_END char *text = yyjson_val_write(a->update, 0, &n);
    if (text)
        buf_add(&call->packed, text, n);
    return file_take_packed(call, err);
}

static int shape_native_frontmatter(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    call_write_path(call, j, "path");
    file_write_change(call, j);
    return 0;
}

static int show_native_frontmatter(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    show_change(call, false, out);
    return 0;
}

const struct tool native_update_frontmatter = {
    .dialect = DIALECT_NATIVE,
    .name = "update_frontmatter",
    .title = "Update front matter",
    .description =
        "Changes keys of a file's YAML front matter; every other byte stays as it is, comments and order included.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ | CAP_FS_WRITE,
    .runner = RUN_WORKER,
    .prepare = prepare_native_frontmatter,
    .shape = shape_native_frontmatter,
    .show = show_native_frontmatter,
};
