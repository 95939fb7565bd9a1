#include "base/utf8.h"
#include "core/call.h"
#include "dialect/dialects.h"

#define SHOWN_MAX 512

static void open_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_open(j, '{');
    jo_kbool(j, "ok", true);
}

static void close_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_close(j, '}');
}

/* The path as it was asked for, written the one way this dialect writes paths. */
static void write_refused_path(const struct call *call, struct json_out *j)
{
    yyjson_val *val = yyjson_is_obj(call->arguments) ? yyjson_obj_get(call->arguments, "path")
                                                     : NULL;
    if (!yyjson_is_str(val))
        return;
    char text[SHOWN_MAX];
    size_t n = yyjson_get_len(val) < sizeof text ? yyjson_get_len(val) : sizeof text;
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(yyjson_get_str(val)[i] == '\\' ? '/' : yyjson_get_str(val)[i]);
    struct str said = path_without_lead((struct str){text, utf8_cut(text, n)});
    for (size_t i = 0; i < call->workplace->n_roots; i++) {
        if (path_beneath(said, call->workplace->roots[i].name))
            jo_ktext(j, "mount", call->workplace->roots[i].name);
    }
    jo_kstr(j, "path", said);
}

static void write_details(const struct call *call, const struct err *err, struct json_out *j)
{
    jo_key(j, "details");
    jo_open(j, '{');
    if (call->has_path) {
        jo_ktext(j, "mount", call->workplace->roots[call->path.root].name);
        call_write_path(call, j, "path");
    } else if (err_row(err->code)->kind == KIND_POLICY) {
        /* It was refused before its path was looked at. */
        write_refused_path(call, j);
    }
    if (err->field[0])
        jo_ktext(j, "field", err->field);
    if (err->reason[0])
        jo_ktext(j, "reason", err->reason);
    jo_close(j, '}');
}

static void write_failure(const struct call *call, const struct err *err, struct json_out *j)
{
    jo_open(j, '{');
    jo_kbool(j, "ok", false);
    jo_key(j, "error");
    jo_open(j, '{');
    /* A request that is too long itself is no write over the limit. */
    enum err_code code = err->code == ERR_TOO_LARGE && !call->tool ? ERR_INVALID_ARGUMENTS
                                                                   : err->code;
    jo_ktext(j, "code", err_row(code)->toolhost);
    jo_ktext(j, "message", err->message);
    write_details(call, err, j);
    jo_close(j, '}');
    jo_close(j, '}');
}

static const struct arg added[] = {{.name = "ok", .type = ARG_BOOL, .flags = ARG_REQUIRED}};

const struct dialect dialect_toolhost = {
    .id = DIALECT_TOOLHOST,
    .name = "toolhost",
    .open = open_answer,
    .close = close_answer,
    .added = ARG_TABLE(added, char),
    .fail = write_failure,
    .instructions =
        "Paths begin with a mount: @project, @pkg (read-only) or @state; nothing else can be reached. "
        "A result with `truncated` is not complete: its `hint` says how to get the rest.\n"
        "A failed call has `error` with `code` and `message`; the message says what to do. "
        "E_SCHEMA_VALIDATION: correct the argument that `details.field` names. ENOENT: look at what is "
        "there. E_SANDBOX_VIOLATION: not allowed here, do not try other ways to the same thing. "
        "E_PRECONDITION_FAILED: the file has changed, read it again. E_READ_LIMIT, E_WRITE_LIMIT: do it "
        "in smaller parts.",
};
