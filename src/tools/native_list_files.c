#include <inttypes.h>

#include "base/utf8.h"
#include "core/call.h"
#include "core/path.h"
#include "tools/all.h"
#include "tools/file.h"
#include "tools/show.h"

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
     .alias = "file_path",
     .type = ARG_STRING,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "Folder to list; default: the workspace."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_READS | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "recursive",
     .type = ARG_BOOL,
     .use = ARG_DEEP,
     .offset = offsetof(struct args, recursive),
     .doc = "Also what is inside the folders."},
    {.name = "glob",
     .type = ARG_STRING,
     .offset = offsetof(struct args, glob),
     .max = 1024,
     .doc =
         "Only paths that match, seen from the folder: *.c, src/**/*.{ts,tsx}. With `**` or a slash give recursive too."},
    {.name = "exclude",
     .type = ARG_STRING,
     .offset = offsetof(struct args, exclude),
     .max = 1024,
     .doc =
         "Leave out what matches, and all in it; without a slash at any depth: {node_modules,*.o}."},
    {.name = "hidden",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, hidden),
     .doc = "Also names that begin with a dot."},
    {.name = "ignore",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, ignore),
     .doc = "Leave out what .gitignore and .ignore files name."},
    {.name = "names_only",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, names_only),
     .doc = "Without sizes and times; plain text has them only with false."},
    {.name = "max_results",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_results),
     .min = 1,
     .max = 100000,
     .def = 1000,
     .doc = "Most entries."},
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

static bool wants_names_only(const struct call *call, const struct args *a)
{
    yyjson_val *given = yyjson_obj_get(call->arguments, "names_only");
    return a->names_only || (call->plain_max && !yyjson_is_bool(given));
}

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
        .names_only = wants_names_only(call, a),
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

/* --- as text */

/* Lines of a tree beneath the folder that is listed, or with a glob, which leaves folders out, of whole paths. */
struct list_text {
    const struct call *call;
    struct buf *out;
    bool tree;
    struct str above; /* the entry before, as it was named */
};

/* Whether the folder that holds this entry is above it in the tree. */
static bool is_folder_above(struct str above, struct str folder)
{
    if (folder.n == 0)
        return true;
    return above.n >= folder.n && memcmp(above.p, folder.p, folder.n) == 0 &&
           (above.n == folder.n || above.p[folder.n] == '/');
}

static void show_whole_name(const struct list_text *t, struct str name)
{
    BUF_AT_END struct buf path = BUF_INIT(2 * PATH_TEXT_MAX);
    if (!path_is_root(&t->call->path))
        buf_addf(&path, "%s/", t->call->path.text);
    buf_add(&path, name.p, name.n);
    show_path(buf_str(&path), t->out);
}

static void show_entry(struct list_text *t, const struct op_entry *entry)
{
    static const char *const marks[] = {
        [TYPE_FILE] = "", [TYPE_DIRECTORY] = "/", [TYPE_SYMLINK] = "@", [TYPE_OTHER] = "|"};
    struct str last = path_name_of(entry->name);
    struct str folder = {entry->name.p, entry->name.n - last.n - (last.n < entry->name.n)};
    bool inside = !path_is_root(&t->call->path);
    if (t->tree && is_folder_above(t->above, folder) && utf8_valid(last.p, last.n)) {
        for (size_t i = 0; i < entry->name.n; i++)
            if (entry->name.p[i] == '/')
                buf_add_char(t->out, ' ');
        if (inside)
            buf_add_char(t->out, ' ');
        show_path(last, t->out);
    } else {
        show_whole_name(t, entry->name);
    }
    buf_add_text(t->out, marks[entry->type]);
    if (!t->call->request.list.names_only) {
        char mtime[CLOCK_TEXT_MAX];
        clock_format_utc(entry->mtime_ms, mtime);
        if (entry->type == TYPE_FILE)
            buf_addf(t->out, "  %" PRId64, entry->size);
        buf_addf(t->out, "  %s", mtime);
    }
    buf_add_char(t->out, '\n');
    t->above = entry->name;
}

/* As many lines as there is room for; returns how many. */
static int64_t show_entries(const struct call *call, size_t room, struct buf *out)
{
    const struct args *a = (const void *)&call->args;
    struct list_text t = {.call = call, .out = out, .tree = !a->glob.p};
    struct str rest = buf_str(&call->reply_body);
    int64_t shown = 0;
    if (t.tree && !path_is_root(&call->path)) {
        show_call_path(call, out);
        buf_add_text(out, "/\n");
    }
    for (struct op_entry entry; op_entry_next(&rest, &entry) > 0; shown++) {
        size_t mark = out->len;
        show_entry(&t, &entry);
        if (out->len > room && shown) {
            buf_cut(out, mark);
            break;
        }
    }
    return shown;
}

static int show_native_list_files(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    const struct args *a = (const void *)&call->args;
    const struct op_list_reply *r = &call->reply.list;
    /* An entry has about 25 bytes. */
    size_t room = show_room(call, "max_results", 25 * a->max_results);
    BUF_AT_END struct buf text = BUF_INIT(out->max);
    BUF_AT_END struct buf note = BUF_INIT(300);
    int64_t shown = show_entries(call, room, &text);
    if (shown < r->count || (r->truncated && r->count >= a->max_results))
        buf_addf(&note,
                 "cut: the first %" PRId64 " of %s%" PRId64
                 " entries; list a folder inside, give glob or exclude, or raise max_results",
                 shown, r->truncated ? "more than " : "", r->count);
    else if (r->truncated)
        buf_add_text(&note, "cut: some folders lie too deep or hold too much to be listed from "
                            "here; list a folder inside");
    if (r->count == 0)
        buf_add_text(&text, a->glob.p ? "nothing matches" : "no entries");
    show_text_between(buf_str(&note), &text, out);
    return 0;
}

const struct tool native_list_files = {
    .dialect = DIALECT_NATIVE,
    .name = "list_files",
    .title = "List a folder",
    .description =
        "Lists a folder, sorted by name: files and folders with type, size and time, or in plain text a tree; with a glob only the paths that match.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_TREE | TOOL_LISTS | TOOL_LONG,
    .runner = RUN_WORKER,
    .prepare = prepare_native_list_files,
    .shape = shape_native_list_files,
    .show = show_native_list_files,
};
