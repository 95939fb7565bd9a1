#include "core/call.h"
#include "tools/all.h"
#include "tools/show.h"
#include "tools/file.h"

struct args {
    struct str from;
    struct str from_b64;
    struct str to;
    struct str to_b64;
    bool overwrite;
};

static const struct arg args[] = {
    {.name = "from",
     .alias = "source",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_READS | ARG_WRITES,
     .offset = offsetof(struct args, from),
     .doc = "File or folder to move."},
    {.name = "from_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_READS | ARG_WRITES | ARG_BASE64,
     .offset = offsetof(struct args, from_b64),
     .doc = "Base64 of that path, in place of `from`, for names that are not UTF-8."},
    {.name = "to",
     .alias = "destination",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_WRITES,
     .offset = offsetof(struct args, to),
     .doc = "Its new path; missing folders are made."},
    {.name = "to_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_WRITES | ARG_BASE64,
     .offset = offsetof(struct args, to_b64),
     .doc = "Base64 of that path, in place of `to`."},
    {.name = "overwrite",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, overwrite),
     .doc = "Replace a file, or an empty folder by a folder, that is there."},
};

static const struct arg result[] = {
    {.name = "from", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "to", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "type", .type = ARG_CHOICE, .flags = ARG_REQUIRED, .choices = file_type_names},
    {.name = "replaced", .type = ARG_BOOL, .flags = ARG_REQUIRED},
};

static int take_target(struct call *call, struct str text, struct str b64, struct err *err)
{
    struct path to;
    if (b64.p) {
        if (call_decode_path(b64, "to_b64", &call->packed, err) < 0)
            return -1;
        text = buf_str(&call->packed);
    }
    if (call_parse_path(call, text, &to, err) < 0)
        return -1;
    if (path_is_root(&call->path) || path_is_root(&to))
        return err_field(err, path_is_root(&call->path) ? "from" : "to",
                         "the workspace itself can neither be moved nor replaced");
    buf_done(&call->packed);
    buf_init(&call->packed, PATH_TEXT_MAX);
    buf_add(&call->packed, to.text, strlen(to.text));
    call->request.move.to_root = (int64_t)to.root;
    call->request.move.to = buf_str(&call->packed);
    return 0;
}

static int prepare_native_move(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    struct str from = a->from;
    if (a->from_b64.p) {
        if (call_decode_path(a->from_b64, "from_b64", &call->decoded, err) < 0)
            return -1;
        from = buf_str(&call->decoded);
    }
    if (call_take_path(call, from, (struct str){0}, err) < 0)
        return -1;
    call->op = &op_table[OP_MOVE];
    call->request.move = (struct op_move_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .overwrite = a->overwrite,
    };
    return take_target(call, a->to, a->to_b64, err);
}

static int shape_native_move(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct op_move_reply *r = &call->reply.move;
    call_write_path(call, j, "from");
    jo_kstr(j, "to", call->request.move.to);
    jo_ktext(j, "type", file_type_names[r->type]);
    jo_kbool(j, "replaced", r->replaced);
    return 0;
}

static int show_native_move(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    const struct op_move_reply *r = &call->reply.move;
    buf_addf(out, "moved %s ", file_type_names[r->type]);
    show_call_path(call, out);
    buf_add_text(out, " to ");
    show_path(call->request.move.to, out);
    if (r->replaced)
        buf_add_text(out, ", replacing what was there");
    return 0;
}

const struct tool native_move = {
    .dialect = DIALECT_NATIVE,
    .name = "move",
    .title = "Move or rename",
    .description =
        "Moves or renames a file or folder in one step. What is at the new path is kept and the call fails, unless overwrite is true.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ | CAP_FS_WRITE,
    .flags = TOOL_TREE,
    .runner = RUN_WORKER,
    .prepare = prepare_native_move,
    .shape = shape_native_move,
    .show = show_native_move,
};
