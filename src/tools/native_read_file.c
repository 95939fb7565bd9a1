#include "base/utf8.h"
#include "core/call.h"
#include "tools/all.h"

enum { UTF8, BASE64, AUTO };
static const char *const encodings[] = {"utf8", "base64", "auto", NULL};

struct args {
    struct str path;
    struct str path_b64;
    int64_t start_line;
    int64_t end_line;
    int64_t max_bytes;
    int64_t encoding;
    bool hash;
};

/* As much as max_bytes can ask for. */
#define WHOLE_MAX (16 << 20)
/* Hashing takes about as long as all else that is done with a file. */
#define HASH_MAX (512 << 10)

static const struct arg args[] = {
    {.name = "path",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "File to read, relative to the workspace."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .use = ARG_READS | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "start_line",
     .type = ARG_INT,
     .offset = offsetof(struct args, start_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "First line to return, counted from 1."},
    {.name = "end_line",
     .type = ARG_INT,
     .offset = offsetof(struct args, end_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "Last line to return, itself included."},
    {.name = "max_bytes",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_bytes),
     .min = 1,
     .max = 16 << 20,
     .def = 100000,
     .doc = "Most bytes of content to return."},
    {.name = "encoding",
     .type = ARG_CHOICE,
     .offset = offsetof(struct args, encoding),
     .choices = encodings,
     .def = UTF8,
     .doc = "How the content is written: utf8 replaces what is not UTF-8, base64 keeps every byte, "
            "auto is base64 only where utf8 would lose something."},
    {.name = "hash",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, hash),
     .doc =
         "Give sha256 for a file over 512 KiB too, and total_lines for one over 16 MiB: all of it is "
         "read for them."},
};

static const struct arg result[] = {
    {.name = "path", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "content", .type = ARG_STRING, .flags = ARG_REQUIRED},
    {.name = "encoding", .type = ARG_CHOICE, .flags = ARG_REQUIRED, .choices = encodings},
    {.name = "bytes", .type = ARG_INT, .flags = ARG_REQUIRED, .doc = "Size of the whole file."},
    {.name = "sha256",
     .type = ARG_SHA256,
     .doc = "Of the whole file. Over 512 KiB only where hash is true."},
    {.name = "start_line", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "end_line", .type = ARG_INT, .flags = ARG_REQUIRED},
    {.name = "total_lines",
     .type = ARG_INT,
     .doc = "Over 16 MiB only where hash is true or the end was read."},
    {.name = "truncated", .type = ARG_BOOL, .flags = ARG_REQUIRED},
    {.name = "hint", .type = ARG_STRING, .doc = "What to do to see the rest."},
};

static int prepare_native_read_file(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, a->path_b64, err) < 0)
        return -1;
    if (a->start_line != ARG_ABSENT && a->end_line != ARG_ABSENT && a->end_line < a->start_line)
        return err_field(err, "end_line", "end_line (%lld) is before start_line (%lld)",
                         (long long)a->end_line, (long long)a->start_line);
    call->op = &op_table[OP_READ];
    call->as_text = a->encoding == UTF8;
    call->request.read = (struct op_read_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .start_line = a->start_line,
        .end_line = a->end_line,
        .max_bytes = a->max_bytes,
        .whole_max = a->hash ? INT64_MAX : WHOLE_MAX,
        .hash_max = a->hash ? INT64_MAX : HASH_MAX,
    };
    return 0;
}

static void write_read_hint(const struct op_read_reply *r, bool lossy, size_t kept,
                            struct json_out *j)
{
    BUF_AT_END struct buf hint = BUF_INIT(400);
    bool mid_line = r->whole < (int64_t)kept;
    bool counted = r->total_lines != ARG_ABSENT;
    char size[80];
    if (counted)
        snprintf(size, sizeof size, "the file has %lld bytes in %lld lines", (long long)r->size,
                 (long long)r->total_lines);
    else
        snprintf(size, sizeof size, "the file has %lld bytes", (long long)r->size);
    if (r->truncated && r->whole == 0)
        buf_addf(&hint,
                 "cut inside line %lld, which alone is longer than max_bytes: raise max_bytes to "
                 "see it whole; %s",
                 (long long)r->start_line, size);
    else if (r->truncated)
        buf_addf(&hint, "cut; %s: read on with start_line %lld", size,
                 (long long)(mid_line ? r->end_line : r->end_line + 1));
    else if (counted && r->start_line > r->total_lines && r->total_lines > 0)
        buf_addf(&hint, "the file ends at line %lld", (long long)r->total_lines);
    else if (lossy)
        buf_addf(&hint, "some bytes are not UTF-8 and were replaced; encoding base64 keeps them");
    if (!r->sha256.p)
        buf_addf(&hint, "%ssha256%s only with hash true: the file is large", hint.len ? "; " : "",
                 counted ? "" : " and total_lines");
    if (hint.len)
        jo_kstr(j, "hint", buf_str(&hint));
}

/* Returns whether something was lost. */
static bool write_read_content(const struct call *call, const struct args *a, struct json_out *j)
{
    const struct op_read_reply *r = &call->reply.read;
    struct str body = buf_str(&call->reply_body);
    struct str content = body;
    if (r->truncated)
        content.n = utf8_cut(content.p, content.n);
    j->replaced = false;
    if (call->as_text) {
        jo_ktext_escaped(j, "content", &call->text, r->truncated);
    } else if (a->encoding == BASE64 || r->binary || !utf8_valid(content.p, content.n)) {
        if (!j->redact) {
            jo_key(j, "content");
            jo_base64(j, body);
        }
        jo_ktext(j, "encoding", encodings[BASE64]);
        return false;
    } else {
        jo_kcontent(j, "content", content);
    }
    jo_ktext(j, "encoding", encodings[UTF8]);
    return j->replaced;
}

static int shape_native_read_file(const struct call *call, struct json_out *j, struct err *err)
{
    (void)err;
    const struct args *a = (const void *)&call->args;
    const struct op_read_reply *r = &call->reply.read;
    call_write_path(call, j, "path");
    bool lossy = write_read_content(call, a, j);
    jo_kint(j, "bytes", r->size);
    if (r->sha256.p)
        jo_kstr(j, "sha256", r->sha256);
    jo_kint(j, "start_line", r->start_line);
    jo_kint(j, "end_line", r->end_line);
    if (r->total_lines != ARG_ABSENT)
        jo_kint(j, "total_lines", r->total_lines);
    jo_kbool(j, "truncated", r->truncated);
    write_read_hint(r, lossy, call_body_bytes(call), j);
    return 0;
}

const struct tool native_read_file = {
    .dialect = DIALECT_NATIVE,
    .name = "read_file",
    .title = "Read a file",
    .description =
        "Reads a text file of the workspace and returns its content with the file's size, SHA-256 "
        "and number of lines. For a large file give start_line and end_line. The SHA-256 of a file over "
        "512 KiB and the number of lines over 16 MiB are only given with hash: true. The sha256 can be given to "
        "write_file as if_match_sha256 so that nobody else's change is overwritten.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .runner = RUN_WORKER,
    .prepare = prepare_native_read_file,
    .shape = shape_native_read_file,
};
