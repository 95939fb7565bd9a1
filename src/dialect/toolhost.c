#include "base/utf8.h"
#include "core/call.h"
#include "dialect/dialects.h"

#define SHOWN_MAX 512
/* Where the cell cuts a path in a message, and the longest character at that place. */
#define PATH_SHOWN 120
#define UTF8_MAX 4
#define MESSAGE_MAX 4096

static void open_toolhost_answer(const struct call *call, struct json_out *j)
{
    (void)call;
    jo_open(j, '{');
    jo_kbool(j, "ok", true);
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

/* The call's path in a message, as the caller writes it: with its mount. */
static void add_with_mount(const struct call *call, struct str path, struct buf *out)
{
    buf_add_text(out, call->workplace->roots[call->path.root].name);
    if (str_is(path, "."))
        return;
    buf_add_char(out, '/');
    buf_add(out, path.p, path.n);
}

/* What is quoted at the beginning of `text` if it is a path in the call's mount, which messages of the cell write
 * without it: the call's own, perhaps cut, or where links lead. */
static struct str quoted_path(const struct call *call, const char *message, const char *text)
{
    static const char *const before[] = {"(it is ", "is really "};
    const char *end = strchr(text + 1, '`');
    struct str quoted = {text + 1, end ? (size_t)(end - text) - 1 : 0};
    if (quoted.n == 0)
        return (struct str){0};
    size_t n = strlen(call->path.text);
    bool own = quoted.n <= n && memcmp(quoted.p, call->path.text, quoted.n) == 0 &&
               (quoted.n == n || quoted.n + UTF8_MAX > PATH_SHOWN);
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        size_t length = strlen(before[i]);
        own |= (size_t)(text - message) >= length && memcmp(text - length, before[i], length) == 0;
    }
    return own ? quoted : (struct str){0};
}

static void write_toolhost_message(const struct call *call, const struct err *err,
                                   struct json_out *j)
{
    BUF_AT_END struct buf out = BUF_INIT(MESSAGE_MAX);
    const char *at = err->message;
    while (call->has_path && *at) {
        struct str path = *at == '`' ? quoted_path(call, err->message, at) : (struct str){0};
        buf_add_char(&out, *at++);
        if (!path.p)
            continue;
        add_with_mount(call, path, &out);
        at += path.n;
    }
    buf_add_text(&out, at);
    jo_kstr(j, "message",
            out.failed ? (struct str){err->message, strlen(err->message)} : buf_str(&out));
}

/* What the rules about files refuse is the sandbox's refusal; what the file system refuses is not. */
static const char *word_of(const struct call *call, const struct err *err)
{
    if (err->code == ERR_PERMISSION_DENIED && err->reason[0])
        return err_row(ERR_POLICY_DENIED)->toolhost;
    /* A request that is too long itself is no write over the limit. */
    if (err->code == ERR_TOO_LARGE && !call->tool)
        return err_row(ERR_INVALID_ARGUMENTS)->toolhost;
    return err_row(err->code)->toolhost;
}

static void write_toolhost_failure(const struct call *call, const struct err *err,
                                   struct json_out *j)
{
    jo_open(j, '{');
    jo_kbool(j, "ok", false);
    jo_key(j, "error");
    jo_open(j, '{');
    jo_ktext(j, "code", word_of(call, err));
    write_toolhost_message(call, err, j);
    write_details(call, err, j);
    jo_close(j, '}');
    jo_close(j, '}');
}

static const struct arg added[] = {{.name = "ok", .type = ARG_BOOL, .flags = ARG_REQUIRED}};

const struct dialect dialect_toolhost = {
    .id = DIALECT_TOOLHOST,
    .name = "toolhost",
    .open = open_toolhost_answer,
    .close = dialect_close_object,
    .added = ARG_TABLE(added, char),
    .fail = write_toolhost_failure,
    .instructions =
        "Paths begin with a mount: @project, @pkg (read-only) or @state; nothing else can be reached. "
        "A result with `truncated` is not complete: its `hint` says how to get the rest.\n"
        "A failed call has `error` with `code` and `message`; the message says what to do. "
        "E_SCHEMA_VALIDATION: correct the argument that `details.field` names. ENOENT: look at what is "
        "there. E_SANDBOX_VIOLATION: not allowed here, do not try other ways to the same thing. "
        "E_PRECONDITION_FAILED: the file has changed, read it again. E_READ_LIMIT, E_WRITE_LIMIT: do it "
        "in smaller parts.",
};
