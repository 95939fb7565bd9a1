#include <inttypes.h>

#include "base/mem.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/file.h"

struct args {
    struct str path;
    struct str content;
    bool append;
};

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED,
     .use = ARG_WRITES,
     .offset = offsetof(struct args, path),
     .doc = "File to write, relative to the workspace; missing folders are made."},
    {.name = "content",
     .type = ARG_STRING,
     .flags = ARG_REQUIRED | ARG_CONTENT,
     .offset = offsetof(struct args, content),
     .doc = "What the file is to contain."},
    {.name = "append",
     .type = ARG_BOOL,
     .use = ARG_NARROWS,
     .offset = offsetof(struct args, append),
     .doc = "Add to the end instead of replacing."},
};

static const struct arg result[] = {
    {.name = "text", .type = ARG_STRING, .flags = ARG_REQUIRED},
};

static int prepare_runner_write_file(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, (struct str){0}, err) < 0)
        return -1;
    return file_prepare_write(call, a->content, a->append, err);
}

static int shape_runner_write_file(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    FREE_AT_END char *text = mem_format("Successfully wrote %zu bytes to %s", call->request_body.n,
                                        call->path.text);
    jo_text(j, text);
    return 0;
}

const struct tool runner_write_file = {
    .dialect = DIALECT_RUNNER,
    .name = "write_file",
    .title = "Write a file",
    .description = "Writes a file of the workspace, or adds to its end with append, making missing "
                   "folders. The file holds either the old or the new content, never half.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_WRITE,
    .runner = RUN_WORKER,
    .prepare = prepare_runner_write_file,
    .shape = shape_runner_write_file,
};
