#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"

#define ENTRIES_MAX 1000

struct args {
    struct str path;
    struct str pattern;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "Folder to list, relative to the workspace; the workspace itself when left out."},
    {.name = "pattern",
     .type = ARG_STRING,
     .offset = offsetof(struct args, pattern),
     .max = 1024,
     .doc = "Only names that match this glob, such as *.js or {a,b}*."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "entries",
     .type = ARG_OBJECTS,
     .flags = ARG_REQUIRED,
     .items = file_entry_fields,
     .n_items = FILE_ENTRY_FIELDS},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED},
};

static int prepare_sidecar_list(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path.p ? a->path : STR("."), (struct str){0}, err) < 0 ||
        file_check_glob(a->pattern, "pattern", err) < 0)
        return -1;
    call->op = &op_table[OP_LIST];
    call->request.list = (struct op_list_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .glob = a->pattern,
        .hidden = true,
        .max_entries = ENTRIES_MAX,
    };
    return 0;
}

static int shape_sidecar_list(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    call_write_path(call, j, "path");
    file_write_entries(call, "entries", j);
    jo_kbool(j, "truncated", call->reply.list.truncated);
    return 0;
}

const struct tool sidecar_list_directory = {
    .dialect = DIALECT_SIDECAR,
    .name = "list_directory",
    .title = "List a folder",
    .description =
        "Lists the files and folders directly inside a folder of the workspace, each with its "
        "type and size. A pattern keeps only the names that match it.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_LISTS,
    .runner = RUN_WORKER,
    .prepare = prepare_sidecar_list,
    .shape = shape_sidecar_list,
};
