#include "base/base64.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"
#include "tools/show.h"

#define EDITS_MAX 1000

struct args {
    struct str path;
    struct str path_b64;
    yyjson_val *edits;
    struct str if_match;
    bool dry_run;
};

struct edit {
    struct str old_text;
    struct str new_text;
    bool all;
};

static const struct arg edit_fields[] = {
    {.name = "old_text",
     .alias = "old_string",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED | ARG_CONTENT,
     .offset = offsetof(struct edit, old_text),
     .doc = "Exact text to replace; must occur once."},
    {.name = "new_text",
     .alias = "new_string",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED | ARG_CONTENT,
     .offset = offsetof(struct edit, new_text),
     .doc = "What takes its place."},
    {.name = "all",
     .alias = "replace_all",
     .type = ARG_BOOL,
     .offset = offsetof(struct edit, all),
     .doc = "Replace every occurrence."},
};

static const struct arg args[] = {
    {.name = "path",
     .alias = "file_path",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_READS | ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "File to change."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_READS | ARG_WRITES | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "edits",
     .type = ARG_OBJECTS,
     .flags = ARG_REQUIRED | ARG_STRICT | ARG_ONE_BESIDE,
     .offset = offsetof(struct args, edits),
     .min = 1,
     .max = EDITS_MAX,
     .items = edit_fields,
     .n_items = ARRAY_LEN(edit_fields),
     .doc = "Several of these at once, made in order."},
    {.name = "if_match_sha256",
     .type = ARG_SHA256,
     .offset = offsetof(struct args, if_match),
     .doc = "Only if this is still its SHA-256."},
    {.name = "dry_run",
     .type = ARG_BOOL,
     .use = ARG_NARROWS,
     .offset = offsetof(struct args, dry_run),
     .doc = "Only tell what would change."},
};

static int prepare_native_edit_file(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (file_prepare_change(call, OP_EDIT, a->path, a->path_b64, err) < 0)
        return -1;
    call->request.change.if_match = a->if_match;
    call->request.change.dry_run = a->dry_run;
    struct arg_table table = ARG_TABLE(edit_fields, struct edit);
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(a->edits, idx, max, item) {
        struct edit e = {{0}};
        if (arg_decode(&table, true, item, &e, err) < 0)
            return -1;
        op_edit_add(&call->packed, &(struct op_edit){e.old_text, e.new_text, e.all});
    }
    return file_take_packed(call, err);
}

static int shape_native_edit_file(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct args *a = (const void *)&call->args;
    call_write_path(call, j, "path");
    file_write_change(call, j);
    jo_kbool(j, "dry_run", a->dry_run);
    return 0;
}

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "diff", .type = ARG_STRING, .flags = ARG_REQUIRED, .doc = "Unified diff."},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED, .doc = "The diff was cut."},
    {.name = "sha256_before", .type = ARG_SHA256, .flags = ARG_REQUIRED},
    {.name = "sha256_after", .type = ARG_SHA256, .flags = ARG_REQUIRED},
    {.name = "bytes", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "Size of the file then."},
    {.name = "dry_run", .type = ARG_BOOL, .flags = ARG_REQUIRED},
};

static int show_native_edit_file(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    show_change(call, ((const struct args *)(const void *)&call->args)->dry_run, out);
    return 0;
}

const struct tool native_edit_file = {
    .dialect = DIALECT_NATIVE,
    .name = "edit_file",
    .title = "Edit a file",
    .description =
        "Replaces exact text in a file and returns the difference. Give old_string and new_string, or several in edits: all are made or none. Everything else in the file stays as it is, line ends too.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ | CAP_FS_WRITE,
    .runner = RUN_WORKER,
    .prepare = prepare_native_edit_file,
    .shape = shape_native_edit_file,
    .show = show_native_edit_file,
};
