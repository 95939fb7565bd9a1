#include "base/utf8.h"
#include "core/call.h"
#include "core/path.h"
#include "tools/all.h"
#include "tools/file.h"

struct args {
    struct str path;
    struct str path_b64;
    bool recursive;
    struct str glob;
    struct str exclude;
    bool hidden;
    bool ignore;
    bool names_only;
    int64_t max_results;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "Folder to list, relative to the workspace; the workspace itself when left out."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .use = ARG_READS | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "recursive",
     .type = ARG_BOOL,
     .use = ARG_DEEP,
     .offset = offsetof(struct args, recursive),
     .doc = "Also list what is inside the folders."},
    {.name = "glob",
     .type = ARG_STRING,
     .offset = offsetof(struct args, glob),
     .max = 1024,
     .doc = "Only paths that match, seen from the folder: *.c, src/**/*.{ts,tsx}. With `**` or a "
            "slash give recursive too."},
    {.name = "exclude",
     .type = ARG_STRING,
     .offset = offsetof(struct args, exclude),
     .max = 1024,
     .doc = "Leave out what matches this glob and all that is in it; without a slash it means "
            "names at any depth: {node_modules,*.o}."},
    {.name = "hidden",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, hidden),
     .doc = "Also list names that begin with a dot."},
    {.name = "ignore",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, ignore),
     .doc = "Leave out what .gitignore and .ignore files name."},
    {.name = "names_only",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, names_only),
     .doc = "Leave out sizes and times: a shorter answer, and a faster one."},
    {.name = "max_results",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_results),
     .min = 1,
     .max = 100000,
     .def = 1000,
     .doc = "Most entries to return."},
};

static const struct arg entry_fields[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "name_b64", .type = ARG_STRING, .doc = "Base64 of the name, where it is not UTF-8."},
    {.name = "path_b64", .type = ARG_STRING, .doc = "Base64 of the path, where it is not UTF-8."},
    {.name = "type", .type = ARG_CHOICE, .flags = ARG_REQUIRED, .choices = file_type_names},
    {.name = "size", .type = ARG_INT, .doc = "Not with names_only."},
    {.name = "mtime", .type = ARG_STRING, .doc = "Not with names_only."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "entries",
     .type = ARG_OBJECTS,
     .flags = ARG_REQUIRED,
     .items = entry_fields,
     .n_items = ARRAY_LEN(entry_fields)},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED},
    {.name = "hint", .type = ARG_STRING},
};

static int prepare_native_list_files(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    struct str path = a->path.p ? a->path : STR(".");
    if (call_take_path(call, path, a->path_b64, err) < 0 ||
        file_check_glob(a->glob, "glob", err) < 0 ||
        file_check_glob(a->exclude, "exclude", err) < 0)
        return -1;
    call->op = &op_table[OP_LIST];
    call->request.list = (struct op_list_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .glob = a->glob,
        .exclude = a->exclude,
        .recursive = a->recursive,
        .hidden = a->hidden,
        .ignore = a->ignore,
        .names_only = a->names_only,
        .max_entries = a->max_results,
    };
    if (a->ignore)
        call->request_body = call->workplace->excludes;
    return 0;
}

static void write_entry(const struct call *call, const struct op_entry *entry, struct json_out *j)
{
    char path[2 * PATH_TEXT_MAX];
    size_t n = path_is_root(&call->path) ? 0 : strlen(call->path.text);
    memcpy(path, call->path.text, n);
    if (n)
        path[n++] = '/';
    memcpy(path + n, entry->name.p, entry->name.n);
    n += entry->name.n;
    jo_open(j, '{');
    jo_kstr(j, "path", (struct str){path, n});
    struct str last = path_name_of((struct str){path, n});
    if (!utf8_valid(last.p, last.n)) {
        jo_key(j, "name_b64");
        jo_base64(j, last);
    }
    if (!utf8_valid(path, n)) {
        jo_key(j, "path_b64");
        jo_base64(j, (struct str){path, n});
    }
    jo_ktext(j, "type", file_type_names[entry->type]);
    if (!call->request.list.names_only) {
        char mtime[CLOCK_TEXT_MAX];
        clock_format_utc(entry->mtime_ms, mtime);
        jo_kint(j, "size", entry->size);
        jo_ktext(j, "mtime", mtime);
    }
    jo_close(j, '}');
}

static int shape_native_list_files(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_list_reply *r = &call->reply.list;
    call_write_path(call, j, "path");
    if (jo_karray(j, "entries", (size_t)r->count)) {
        struct str rest = buf_str(&call->reply_body);
        for (struct op_entry entry; op_entry_next(&rest, &entry) > 0;)
            write_entry(call, &entry, j);
        jo_close(j, ']');
    }
    jo_kbool(j, "truncated", r->truncated);
    if (r->truncated)
        jo_ktext(j, "hint",
                 r->count < call->request.list.max_entries
                     ? "some folders lie too deep or hold too much to be listed from here: list a "
                       "folder inside"
                     : "there are more entries: raise max_results or list a folder inside");
    return 0;
}

const struct tool native_list_files = {
    .dialect = DIALECT_NATIVE,
    .name = "list_files",
    .title = "List a folder",
    .description =
        "Lists the files and folders of a folder of the workspace, sorted by name, each with its "
        "type, size and time of change (names_only: its type alone); with recursive also what is "
        "inside the folders. A glob keeps only what matches.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_TREE | TOOL_LISTS,
    .runner = RUN_WORKER,
    .prepare = prepare_native_list_files,
    .shape = shape_native_list_files,
};
