#include <stdio.h>

#include "base/utf8.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/node_encoding.h"
#include "tools/file.h"

#define ENTRIES_MAX 10000
/* Of a path in a message. */
#define PATH_SHOWN 120
/* Bytes that one byte becomes at most, as text or out of it. */
#define GROWTH_MAX 2

enum { READ, WRITE, LIST, STAT, DELETE };
static const char *const operations[] = {"read", "write", "list", "stat", "delete", NULL};

struct args {
    int64_t operation;
    struct str path;
    struct str content;
    int64_t encoding;
};

static const struct arg args[] = {
    {.name = "operation",
     .type = ARG_CHOICE,
     .flags = ARG_REQUIRED,
     .offset = offsetof(struct args, operation),
     .choices = operations,
     .doc = "What to do."},
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_READS | ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "File or folder: relative to the workspace, or absolute in an allowed folder."},
    {.name = "content",
     .type = ARG_STRING,
     .flags = ARG_CONTENT,
     .offset = offsetof(struct args, content),
     .doc = "For write: what the file is to contain."},
    {.name = "encoding",
     .type = ARG_CHOICE,
     .flags = ARG_ANY_CASE,
     .use = ARG_NARROWS,
     .offset = offsetof(struct args, encoding),
     .choices = node_encoding_choices,
     .doc = "How the file's bytes are written as `content`."},
};

static const struct arg result[] = {
    {.name = "content", .type = ARG_STRING},
    {.name = "encoding", .type = ARG_CHOICE, .choices = node_encoding_names},
    {.name = "bytesWritten", .type = ARG_INT},
    {.name = "entries",
     .type = ARG_OBJECTS,
     .items = file_entry_fields,
     .n_items = FILE_ENTRY_FIELDS},
    {.name = "truncated", .type = ARG_BOOL},
    {.name = "type", .type = ARG_CHOICE, .choices = file_type_names},
    {.name = "size", .type = ARG_INT},
    {.name = "mode", .type = ARG_STRING, .doc = "Permissions, in octal."},
    {.name = "mtime", .type = ARG_STRING},
    {.name = "isSymlink", .type = ARG_BOOL},
};

/* A workspace's own settings may have taken folders away since the cell was planned. Where only a part
 * of a root is left, a link could lead to the rest of it: none is followed then. */
static int check_allowed(const struct call *call, bool *no_links, struct err *err)
{
    const struct str *allowed;
    size_t count;
    if (!call->workplace->base ||
        !config_list(call->workplace->config, "tools.filesystem.allowedDirectories", &allowed,
                     &count))
        return 0;
    const struct root *root = &call->workplace->roots[call->path.root];
    BUF_AT_END struct buf full = BUF_INIT(3 * (size_t)PATH_TEXT_MAX);
    buf_addf(&full, "%s/%s", root->inside, path_is_root(&call->path) ? "" : call->path.text);
    bool found = false;
    bool whole = false;
    for (size_t i = 0; i < count; i++) {
        found |= path_beneath(buf_str(&full), allowed[i].p);
        whole |= path_beneath((struct str){root->inside, strlen(root->inside)}, allowed[i].p);
    }
    *no_links |= !whole;
    if (found)
        return 0;
    err_set(err, ERR_PATH_OUTSIDE_WORKSPACE,
            "`%.200s` is in no existing folder of tools.filesystem.allowedDirectories",
            call->path.text);
    return err_reason(err, "not_allowed");
}

/* `base` is set where a list of folders takes the workspace's place. */
static int take_path(struct call *call, struct str path, struct err *err)
{
    if (call_take_path(call, path, (struct str){0}, err) == 0)
        return 0;
    if (err->code == ERR_PATH_OUTSIDE_WORKSPACE && call->workplace->base)
        snprintf(err->message, sizeof err->message,
                 "path `%.*s` is in no existing folder of tools.filesystem.allowedDirectories",
                 (int)utf8_cut(path.p, path.n < PATH_SHOWN ? path.n : PATH_SHOWN), path.p);
    return -1;
}

static int check_filesystem_writable(const struct call *call, struct err *err)
{
    if (config_bool(call->workplace->config, "tools.filesystem.readOnly")) {
        err_set(err, ERR_READ_ONLY, "write and delete are refused by tools.filesystem.readOnly");
        return err_reason(err, "read_only");
    }
    if (path_is_root(&call->path))
        return err_set(err, ERR_NOT_A_FILE, "the path is an allowed folder itself");
    return 0;
}

static int prepare_write(struct call *call, const struct args *a, int64_t max, bool no_links,
                         struct err *err)
{
    if (!a->content.p) {
        err_field(err, "content", "to write, `content` (string) is needed");
        return err_reason(err, "missing");
    }
    call->request_body = a->content;
    enum node_encoding encoding = node_encoding_of(a->encoding);
    if (encoding != NODE_UTF8) {
        buf_done(&call->decoded);
        buf_init(&call->decoded, GROWTH_MAX * a->content.n);
        if (node_encoding_read(encoding, a->content, &call->decoded, err) < 0)
            return -1;
        call->request_body = buf_str(&call->decoded);
    }
    if ((int64_t)call->request_body.n > max)
        return err_set(err, ERR_TOO_LARGE,
                       "the content is %zu bytes, tools.filesystem.maxFileSize allows %lld",
                       call->request_body.n, (long long)max);
    call->op = &op_table[OP_WRITE];
    call->request.write = (struct op_write_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .max_bytes = max,
        .fsync = config_bool(call->workplace->config, "files.fsync"),
        .no_links = no_links,
    };
    return 0;
}

static int prepare_system_filesystem(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    const struct config *config = call->workplace->config;
    int64_t max = config_int(config, "tools.filesystem.maxFileSize");
    bool no_links = !config_bool(config, "tools.filesystem.followSymlinks");
    if (!config_bool(config, "tools.filesystem.enabled")) {
        err_set(err, ERR_POLICY_DENIED,
                "the tool `filesystem` is switched off by tools.filesystem.enabled");
        return err_reason(err, "tool_disabled");
    }
    if (take_path(call, a->path, err) < 0 || check_allowed(call, &no_links, err) < 0)
        return -1;
    int64_t root = (int64_t)call->path.root;
    struct str path = call_path_text(call);
    switch (a->operation) {
    case READ:
        call->op = &op_table[OP_READ];
        call->request.read = (struct op_read_request){.root = root,
                                                      .path = path,
                                                      .start_line = ARG_ABSENT,
                                                      .end_line = ARG_ABSENT,
                                                      .max_bytes = max,
                                                      .no_links = no_links};
        return 0;
    case LIST:
        call->op = &op_table[OP_LIST];
        call->request.list = (struct op_list_request){.root = root,
                                                      .path = path,
                                                      .hidden = true,
                                                      .no_links = no_links,
                                                      .max_entries = ENTRIES_MAX};
        return 0;
    case STAT:
        call->op = &op_table[OP_STAT];
        call->request.stat = (struct op_stat_request){root, path, no_links};
        return 0;
    case DELETE:
        if (check_filesystem_writable(call, err) < 0)
            return -1;
        call->op = &op_table[OP_DELETE];
        call->request.delete = (struct op_delete_request){
            .root = root, .path = path, .no_links = no_links};
        return 0;
    default:
        return check_filesystem_writable(call, err) < 0
                   ? -1
                   : prepare_write(call, a, max, no_links, err);
    }
}

static void write_encoded_content(const struct call *call, enum node_encoding encoding,
                                  struct json_out *j)
{
    struct str bytes = buf_str(&call->reply_body);
    if (encoding == NODE_UTF8 || j->redact) {
        jo_kcontent(j, "content", bytes);
        return;
    }
    BUF_AT_END struct buf text = BUF_INIT(GROWTH_MAX * bytes.n + 4);
    node_encoding_write(encoding, bytes, &text);
    jo_kstr(j, "content", buf_str(&text));
    buf_fail_as(j->out, &text);
}

static int shape_read(const struct call *call, const struct args *a, struct json_out *j,
                      struct err *err)
{
    const struct op_read_reply *r = &call->reply.read;
    if (r->truncated)
        return err_set(
            err, ERR_TOO_LARGE, "`%s` has %lld bytes, tools.filesystem.maxFileSize allows %lld",
            call->path.text, (long long)r->size, (long long)call->request.read.max_bytes);
    enum node_encoding encoding = node_encoding_of(a->encoding);
    write_encoded_content(call, encoding, j);
    jo_ktext(j, "encoding", node_encoding_names[encoding]);
    jo_kint(j, "size", r->size);
    return 0;
}

static int shape_system_filesystem(const struct call *call, struct json_out *j, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    switch (a->operation) {
    case READ:
        return shape_read(call, a, j, err);
    case WRITE:
        jo_kint(j, "bytesWritten", (int64_t)call->request_body.n);
        return 0;
    case LIST:
        file_write_entries(call, "entries", j);
        if (call->reply.list.truncated)
            jo_kbool(j, "truncated", true);
        return 0;
    case STAT:
        file_write_stat(call, "isSymlink", j);
        return 0;
    default:
        return 0;
    }
}

static unsigned needs(yyjson_val *arguments, unsigned *flags)
{
    struct str operation = json_str(yyjson_obj_get(arguments, "operation"));
    if (str_is(operation, operations[LIST]))
        *flags |= TOOL_LISTS;
    if (str_is(operation, operations[READ]) || str_is(operation, operations[LIST]) ||
        str_is(operation, operations[STAT]))
        return CAP_FS_READ;
    if (str_is(operation, operations[WRITE]) || str_is(operation, operations[DELETE]))
        return CAP_FS_WRITE;
    return CAP_FS_READ | CAP_FS_WRITE;
}

const struct tool system_filesystem = {
    .dialect = DIALECT_SYSTEM,
    .name = "filesystem",
    .title = "Files",
    .description =
        "Reads, writes, lists, looks at and deletes files of the workspace or of the folders "
        "the operator allowed. delete takes a file or an empty folder.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ | CAP_FS_WRITE,
    .needs = needs,
    .runner = RUN_WORKER,
    .prepare = prepare_system_filesystem,
    .shape = shape_system_filesystem,
};
