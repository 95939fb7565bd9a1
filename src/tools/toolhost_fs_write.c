#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"

struct args {
    struct str path;
    struct str content;
    struct str if_match;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "File to write: @project/… or @state/…; missing folders are made."},
    {.name = "content",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED | ARG_CONTENT,
     .offset = offsetof(struct args, content),
     .doc = "What the file is to contain."},
    {.name = "ifMatchSha256",
     .type = ARG_STRING,
     .offset = offsetof(struct args, if_match),
     .doc = "Write only if the file's SHA-256 still is this one."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "bytesWritten", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "sha256After", .type = ARG_SHA256, .flags = ARG_REQUIRED},
};

static int check_write_place(const struct call *call, struct err *err)
{
    const struct root *root = &call->workplace->roots[call->path.root];
    if (!root->writable) {
        err_set(err, ERR_READ_ONLY, "%s is read-only; write to @project or @state", root->name);
        return err_reason(err, "read_only_mount");
    }
    if (toolhost_is_log(call)) {
        err_set(err, ERR_READ_ONLY, "@state/logs is kept by the gate and cannot be written");
        return err_reason(err, "protected_logs");
    }
    if (path_is_root(&call->path))
        return err_set(err, ERR_NOT_A_FILE, "%s is a folder, not a file", root->name);
    return 0;
}

static int prepare_toolhost_write(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    const struct config *config = call->workplace->config;
    if (call_take_path(call, a->path, (struct str){0}, err) < 0 ||
        check_write_place(call, err) < 0 || toolhost_check_match(a->if_match, err) < 0)
        return -1;
    int64_t limit = toolhost_write_limit(call);
    if ((int64_t)a->content.n > limit)
        return err_set(err, ERR_TOO_LARGE, "the content is %zu bytes, at most %lld can be written",
                       a->content.n, (long long)limit);
    call->request_body = a->content;
    call->op = &op_table[OP_WRITE];
    call->request.write = (struct op_write_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .if_match = a->if_match,
        .max_bytes = limit,
        .fsync = config_bool(config, "files.fsync"),
    };
    return 0;
}

static int shape_toolhost_write(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    call_write_path(call, j, "path");
    jo_kint(j, "bytesWritten", (int64_t)call->request_body.n);
    jo_kstr(j, "sha256After", call->reply.write.sha256);
    return 0;
}

const struct tool toolhost_fs_write = {
    .dialect = DIALECT_TOOLHOST,
    .name = "fs.write",
    .alias = "fs_write",
    .title = "Write a file",
    .description =
        "Writes a file of @project or @state as a whole, making missing folders; it holds "
        "either the old or the new content, never half. Give ifMatchSha256 from an earlier "
        "read to be refused when the file has changed since.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_WRITE,
    .flags = TOOL_IDEMPOTENT,
    .runner = RUN_WORKER,
    .prepare = prepare_toolhost_write,
    .shape = shape_toolhost_write,
};
