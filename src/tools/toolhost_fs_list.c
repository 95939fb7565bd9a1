#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"
#include "tools/file.h"

struct args {
    struct str path;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "Folder to list: @project, @pkg or @state, with a path behind it."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "entries",
     .type = ARG_OBJECTS,
     .items = file_entry_fields,
     .n_items = FILE_ENTRY_FIELDS},
    {.name = "entriesPreview",
     .type = ARG_OBJECTS,
     .items = file_entry_fields,
     .n_items = FILE_ENTRY_FIELDS},
    {.name = "truncated", .type = ARG_BOOL},
    {.name = "hint", .type = ARG_STRING},
};

static int prepare_toolhost_list(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, (struct str){0}, err) < 0)
        return -1;
    call->op = &op_table[OP_LIST];
    call->request.list = (struct op_list_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .skip_symlinks = true,
        .max_entries = config_int(call->workplace->config, "tools.fs.maxEntries"),
    };
    return 0;
}

static int shape_toolhost_list(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_list_reply *r = &call->reply.list;
    call_write_path(call, j, "path");
    file_write_entries(call, r->truncated ? "entriesPreview" : "entries", j);
    if (r->truncated) {
        jo_kbool(j, "truncated", true);
        jo_ktext(j, "hint",
                 "only the first entries are shown: list a folder inside, or use fs.search");
    }
    return 0;
}

const struct tool toolhost_fs_list = {
    .dialect = DIALECT_TOOLHOST,
    .name = "fs.list",
    .alias = "fs_list",
    .title = "List a folder",
    .description = "Lists what is directly inside a folder of @project, @pkg or @state. Names that "
                   "begin with a dot and symbolic links are left out.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_LISTS,
    .runner = RUN_WORKER,
    .prepare = prepare_toolhost_list,
    .shape = shape_toolhost_list,
};
