#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "core/call.h"
#include "tools/all.h"
#include "tools/show.h"

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
    bool line_numbers;
};

/* As much as max_bytes can ask for. */
#define WHOLE_MAX (16 << 20)
/* Hashing takes about as long as all else that is done with a file. */
#define HASH_MAX (512 << 10)
/* Shown as an image: in base64 this is what the APIs of models take. */
#define IMAGE_MAX (3 << 20)

static const struct arg args[] = {
    {.name = "path",
     .alias = "file_path",
     .type = ARG_STRING,
     .flags = ARG_OR_NEXT,
     .use = ARG_READS,
     .offset = offsetof(struct args, path),
     .doc = "File to read."},
    {.name = "path_b64",
     .type = ARG_STRING,
     .flags = ARG_UNLISTED,
     .use = ARG_READS | ARG_BASE64,
     .offset = offsetof(struct args, path_b64),
     .doc = "Base64 of the path, in place of `path`, for names that are not UTF-8."},
    {.name = "start_line",
     .type = ARG_INT,
     .offset = offsetof(struct args, start_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "First line, from 1."},
    {.name = "end_line",
     .type = ARG_INT,
     .offset = offsetof(struct args, end_line),
     .min = 1,
     .def = ARG_ABSENT,
     .doc = "Last line, included."},
    {.name = "max_bytes",
     .type = ARG_INT,
     .offset = offsetof(struct args, max_bytes),
     .min = 1,
     .max = 16 << 20,
     .def = 100000,
     .doc = "Most bytes of content."},
    {.name = "encoding",
     .type = ARG_CHOICE,
     .flags = ARG_UNLISTED,
     .offset = offsetof(struct args, encoding),
     .choices = encodings,
     .def = UTF8,
     .doc =
         "utf8 replaces what is not UTF-8, base64 keeps every byte, auto is base64 only where utf8 would lose something."},
    {.name = "hash",
     .type = ARG_BOOL,
     .flags = ARG_UNLISTED,
     .offset = offsetof(struct args, hash),
     .doc =
         "Give sha256 for a file over 512 KiB too, and total_lines for one over 16 MiB. In plain text: give sha256."},
    {.name = "line_numbers",
     .type = ARG_BOOL,
     .offset = offsetof(struct args, line_numbers),
     .def = true,
     .doc = "In plain text: each line behind its number and a tab; false: the exact text."},
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

/* By its name: what it is says its content. */
static bool is_image_name(const struct call *call)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".gif", ".webp"};
    size_t n = strlen(call->path.text);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t end = strlen(ends[i]);
        if (n > end && strcasecmp(call->path.text + n - end, ends[i]) == 0)
            return true;
    }
    return false;
}

/* How much of the file an answer as text can need. */
static int64_t plain_bytes(const struct call *call, const struct args *a)
{
    int64_t room = (int64_t)show_room(call, "max_bytes", a->max_bytes);
    if (a->encoding != BASE64 && is_image_name(call))
        return IMAGE_MAX;
    return room;
}

static int prepare_native_read_file(struct call *call, struct err *err)
{
    const struct args *a = (const void *)&call->args;
    if (call_take_path(call, a->path, a->path_b64, err) < 0)
        return -1;
    if (a->start_line != ARG_ABSENT && a->end_line != ARG_ABSENT && a->end_line < a->start_line)
        return err_field(err, "end_line", "end_line (%lld) is before start_line (%lld)",
                         (long long)a->end_line, (long long)a->start_line);
    call->op = &op_table[OP_READ];
    call->as_text = a->encoding == UTF8 && !call->plain_max;
    call->request.read = (struct op_read_request){
        .root = (int64_t)call->path.root,
        .path = call_path_text(call),
        .start_line = a->start_line,
        .end_line = a->end_line,
        .max_bytes = call->plain_max ? plain_bytes(call, a) : a->max_bytes,
        .whole_max = a->hash ? INT64_MAX : WHOLE_MAX,
        .hash_max = a->hash           ? INT64_MAX
                    : call->plain_max ? 0
                                      : HASH_MAX,
        .text_only = call->plain_max && a->encoding == UTF8 && !a->hash && !is_image_name(call),
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

/* --- as text */

static const char *image_of_file(const struct call *call)
{
    const struct args *a = (const void *)&call->args;
    const struct op_read_reply *r = &call->reply.read;
    bool image = r->binary && r->kind >= FILE_PNG && r->kind <= FILE_WEBP;
    bool whole = !r->truncated && (int64_t)call->reply_body.len == r->size;
    return image && whole && a->encoding != BASE64 ? file_kind_names[r->kind] : NULL;
}

/* The lines that there is room for. */
struct some_lines {
    struct str text;
    int64_t next; /* the line to go on with; 0: nothing was cut */
    bool inside;  /* of one line, and not all of it */
};

static int number_width(int64_t n)
{
    return snprintf(NULL, 0, "%" PRId64, n) + 1;
}

static struct some_lines fit_lines(const struct call *call, bool numbers, size_t room)
{
    const struct op_read_reply *r = &call->reply.read;
    struct str body = buf_str(&call->reply_body);
    size_t whole = r->truncated ? (size_t)r->whole : body.n;
    size_t at = 0;
    size_t used = 0;
    int64_t line = r->start_line;
    int64_t most = call->plain_lines ? call->plain_lines : INT64_MAX;
    while (at < whole && line - r->start_line < most) {
        const char *end = memchr(body.p + at, '\n', whole - at);
        size_t n = end ? (size_t)(end + 1 - body.p) - at : whole - at;
        used += n + (numbers ? (size_t)number_width(line) : 0);
        if (used > room)
            break;
        at += n;
        line++;
    }
    if (at == body.n && !r->truncated)
        return (struct some_lines){.text = body};
    if (at)
        return (struct some_lines){.text = {body.p, at}, .next = line};
    size_t n = body.n < room ? body.n : room;
    return (struct some_lines){.text = {body.p, utf8_cut(body.p, n)}, .next = line, .inside = true};
}

static void show_lines_of_file(const struct some_lines *lines, int64_t number, struct buf *out)
{
    struct str rest = lines->text;
    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t n = end ? (size_t)(end + 1 - rest.p) : rest.n;
        buf_addf(out, "%" PRId64 "\t", number++);
        buf_add(out, rest.p, n);
        rest = (struct str){rest.p + n, rest.n - n};
    }
}

/* What the file is, up to where the part that is shown is named. */
static void show_size(const struct op_read_reply *r, struct buf *out)
{
    buf_add_text(out, ": ");
    if (r->total_lines != ARG_ABSENT && !r->binary)
        buf_addf(out, "%" PRId64 " lines, ", r->total_lines);
    buf_addf(out, "%" PRId64 " bytes", r->size);
    if (r->sha256.p)
        buf_addf(out, ", sha256 %.*s", (int)r->sha256.n, r->sha256.p);
}

/* `more`: a larger max_bytes would be taken. */
static void show_part(const struct op_read_reply *r, const struct some_lines *lines, bool more,
                      struct buf *out)
{
    int64_t last = lines->next ? lines->next - 1 : r->end_line;
    bool all = r->start_line == 1 && !lines->next && last == r->total_lines;
    if (lines->inside && more)
        buf_addf(out, "; cut inside line %" PRId64 ": max_bytes gives more of it", lines->next);
    else if (lines->inside)
        buf_addf(out,
                 "; cut inside line %" PRId64 ", which is longer than an answer can be: a command "
                 "(`cut -c`) shows the rest, start_line %" PRId64 " what follows",
                 lines->next, lines->next + 1);
    else if (lines->text.n == 0 && r->size)
        buf_addf(out, "; line %" PRId64 " is behind the end", r->start_line);
    else if (!all && r->size)
        buf_addf(out, "; lines %" PRId64 "-%" PRId64, r->start_line, last);
    if (lines->next && !lines->inside)
        buf_addf(out, "; cut, go on with start_line %" PRId64, lines->next);
}

static void show_base64(const struct call *call, size_t room, struct buf *out)
{
    struct str body = buf_str(&call->reply_body);
    bool cut = call->reply.read.truncated || body.n > room / 4 * 3;
    body.n = cut && body.n > room / 4 * 3 ? room / 4 * 3 : body.n;
    buf_addf(out, "; base64 of %s%zu bytes\n", cut ? "the first " : "", body.n);
    base64_encode(out, body.p, body.n);
}

static void show_text_of_file(const struct call *call, size_t room, struct buf *out)
{
    const struct args *a = (const void *)&call->args;
    const struct op_read_reply *r = &call->reply.read;
    struct some_lines lines = fit_lines(call, a->line_numbers, room);
    bool more = call_plain_room(call, "max_bytes", a->max_bytes) < call->plain_most;
    show_part(r, &lines, more, out);
    if (!utf8_valid(lines.text.p, lines.text.n))
        buf_add_text(out, "; what is not UTF-8 is replaced, encoding base64 keeps it");
    buf_add_char(out, '\n');
    if (a->line_numbers)
        show_lines_of_file(&lines, r->start_line, out);
    else
        buf_add(out, lines.text.p, lines.text.n);
    if (!lines.next)
        return;
    if (out->len && out->data[out->len - 1] != '\n')
        buf_add_char(out, '\n');
    buf_addf(out,
             lines.inside ? "[cut inside line %" PRId64 "]"
                          : "[cut: go on with start_line %" PRId64 "]",
             lines.next);
}

static int show_native_read_file(const struct call *call, struct buf *out, struct err *err)
{
    (void)err;
    const struct args *a = (const void *)&call->args;
    const struct op_read_reply *r = &call->reply.read;
    size_t room = show_room(call, "max_bytes", a->max_bytes);
    bool auto_base64 = a->encoding == AUTO &&
                       (r->binary || !utf8_valid(call->reply_body.data, call->reply_body.len));
    show_call_path(call, out);
    show_size(r, out);
    if (a->encoding == BASE64 || auto_base64)
        show_base64(call, room, out);
    else if (r->binary)
        buf_addf(out, "; %s%s", file_kind_names[r->kind],
                 image_of_file(call) ? "" : ", not shown: encoding base64 gives its bytes");
    else
        show_text_of_file(call, room, out);
    return 0;
}

const struct tool native_read_file = {
    .dialect = DIALECT_NATIVE,
    .name = "read_file",
    .title = "Read a file",
    .description =
        "Reads a text file, or shows an image. Read a large file in parts with start_line and end_line. The sha256, asked for with hash, can be given to write_file and edit_file as if_match_sha256, so that nobody else's change is overwritten.",
    .args = ARG_TABLE(args, struct args),
    .result = ARG_TABLE(result, char),
    .capabilities = CAP_FS_READ,
    .flags = TOOL_LONG,
    .runner = RUN_WORKER,
    .prepare = prepare_native_read_file,
    .shape = shape_native_read_file,
    .show = show_native_read_file,
    .image = image_of_file,
};
