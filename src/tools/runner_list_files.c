#include <inttypes.h>

#include "core/call.h"
#include "core/glob.h"
#include "tools/all.h"
#include "tools/file.h"

struct args {
    struct str path;
    bool recursive;
    bool include_hidden;
    int64_t max_results;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .use = ARG_READS | ARG_GLOB,
     .offset = offsetof(struct args, path),
     .doc = "Folder to list, relative to the workspace, or a glob such as src/**/*.ts; the "
            "workspace itself when left out."},
    {.name = "recursive",
     .type = ARG_BOOL,
     .use = ARG_DEEP,
     .offset = offsetof(struct args, recursive),
     .doc = "Also list what is inside the folders."},
    {.name = "include_hidden",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, include_hidden),
     .doc = "Also list names that begin with a dot."},
    {.name = "max_results",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_results),
     .min = 1,
     .max = 100000,
     .def = 200,
     .doc = "Most paths to return."},
};

static const struct arg result[] = {
    {.name = "text", .type = ARG_STRING, .flags = ARG_REQUIRED},
};

static int prepare_runner_list_files(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    struct str path = a->path.n ? a->path : STR(".");
    struct str glob = {NULL, 0};
    if (glob_is_pattern(path)) {
        struct str folder = glob_folder(path);
        glob = (struct str){path.p + folder.n, path.n - folder.n};
        path = folder.n ? folder : STR(".");
        if (file_check_glob(glob, "path", err) < 0)
            return -1;
    }
    if (call_take_path(call, path, (struct str){0}, err) < 0)
        return -1;
    call->op = &op_table[OP_LIST];
    call->request.list = (struct op_list_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .glob = glob,
        .recursive = a->recursive || (glob.p && memchr(glob.p, '/', glob.n)),
        .hidden = a->include_hidden,
        .names_only = true,
        .max_entries = a->max_results,
    };
    /* `*.py` with recursive means names at any depth. */
    if (glob.p && a->recursive && !memchr(glob.p, '/', glob.n)) {
        buf_done(&call->decoded);
        buf_init(&call->decoded, (size_t)2 * GLOB_TEXT_MAX);
        buf_add_text(&call->decoded, "**/");
        buf_add(&call->decoded, glob.p, glob.n);
        call->request.list.glob = buf_str(&call->decoded);
    }
    return 0;
}

static int shape_runner_list_files(const struct call *call, struct json_out *j, struct err *err)
{
    const struct op_list_reply *r = &call->reply.list;
    BUF_AT_END struct buf text = BUF_INIT(j->out->max);
    struct str rest = buf_str(&call->reply_body);
    for (struct op_entry entry; op_entry_next(&rest, &entry) > 0;) {
        if (text.len)
            buf_add_char(&text, '\n');
        if (!path_is_root(&call->path))
            buf_addf(&text, "%s/", call->path.text);
        buf_add(&text, entry.name.p, entry.name.n);
        if (entry.type == TYPE_DIRECTORY)
            buf_add_char(&text, '/');
    }
    if (r->count == 0)
        buf_add_text(&text, "No files found");
    if (r->truncated && r->count < call->request.list.max_entries)
        buf_add_text(&text, "\n[truncated: some folders lie too deep or hold too much to be listed "
                            "from here; list a folder inside]");
    else if (r->truncated)
        buf_addf(&text, "\n[truncated: only the first %" PRId64 " are shown; raise max_results]",
                 r->count);
    if (text.failed)
        return err_set(err, ERR_OUTPUT_LIMIT, "the list is too long; lower max_results");
    jo_content(j, buf_str(&text));
    return 0;
}

const struct tool runner_list_files = {
    .dialect = DIALECT_RUNNER,
    .name = "list_files",
    .title = "List files",
    .description =
        "Lists files and folders of the workspace, one path a line, folders with a slash at "
        "the end. path may be a glob; recursive goes into folders.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_TREE | TOOL_LISTS,
    .runner = RUN_WORKER,
    .prepare = prepare_runner_list_files,
    .shape = shape_runner_list_files,
};
