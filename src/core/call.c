#include "core/call.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/mem.h"

/* A long diff; longer ones are cut. */
#define DIFF_EXPECTED ((size_t)256 << 10)
/* Hardly any search finds as much as it may. */
#define SEARCH_EXPECTED ((size_t)2 << 20)
/* Escaping makes at most so many bytes of one. */
#define ESCAPED_MAX ((size_t)6)

struct call *call_new(void)
{
    struct call *call = mem_grow(NULL, 1, sizeof *call);
    memset(call, 0, offsetof(struct call, path.text) + 1);
    call->input_fd = -1;
    call->request_fd = -1;
    buf_init(&call->decoded, 0);
    buf_init(&call->packed, 0);
    buf_init(&call->sent, 0);
    buf_init(&call->reply_body, 0);
    return call;
}

void call_pin_done(struct call_pin *pin)
{
    free(pin->real);
    free(pin->real_to);
    free(pin->folder);
}

void call_free(struct call *call)
{
    if (!call)
        return;
    yyjson_doc_free(call->doc);
    yyjson_doc_free(call->reply_doc);
    fd_closep(&call->request_fd);
    buf_done(&call->decoded);
    buf_done(&call->packed);
    buf_done(&call->sent);
    buf_done(&call->reply_body);
    buf_done(&call->text.out);
    if (call->look)
        buf_done(&call->look->changes);
    free(call->look);
    command_free(call->command);
    verdict_done(&call->verdict);
    call_pin_done(&call->pin);
    free(call->approved_by);
    free(call->note);
    free(call->id);
    free(call->name);
    free(call);
}

struct call_look *call_look(struct call *call)
{
    if (!call->look)
        call->look = mem_zero(sizeof *call->look);
    buf_done(&call->look->changes);
    *call->look = (struct call_look){.changes = BUF_INIT(OP_BODY_MAX)};
    return call->look;
}

static size_t search_expected(const struct op_search_request *request)
{
    const size_t line = 200;
    size_t lines = (size_t)request->max_matches * (size_t)(1 + request->before + request->after);
    return lines < SEARCH_EXPECTED / line ? lines * line : SEARCH_EXPECTED;
}

size_t call_expected_bytes(const struct call *call)
{
    const size_t small = 4096;
    const size_t entry = 300;
    if (call->command)
        return small + 2 * call->command->max_output; /* few print what has to be escaped */
    if (call->look)
        return small + ESCAPED_MAX * call->look->max_bytes;
    if (!call->op)
        return small + ESCAPED_MAX * call->reply_body.len; /* there already: of no operation */
    switch (call->op->body) {
    case OP_BODY_NONE:
        break;
    case OP_BODY_PAGE:
        return small + ESCAPED_MAX * call->reply_max;
    case OP_BODY_CONTENT:
        return small + ESCAPED_MAX * (size_t)call->request.read.max_bytes;
    case OP_BODY_ENTRIES:
        return small + entry * (size_t)call->request.list.max_entries;
    case OP_BODY_MATCHES:
        return small + search_expected(&call->request.search);
    case OP_BODY_DIFF:
    case OP_BODY_LIST:
        return small + DIFF_EXPECTED;
    }
    return small;
}

size_t call_body_bytes(const struct call *call)
{
    return call->as_text ? call->text.bytes : call->reply_body.len;
}

size_t call_plain_room(const struct call *call, const char *argument, int64_t asked)
{
    yyjson_val *given = yyjson_obj_get(call->arguments, argument);
    if (!given || yyjson_is_null(given))
        return call->plain_max;
    return (uint64_t)asked < call->plain_most ? (size_t)asked : call->plain_most;
}

void call_use_arguments(struct call *call, yyjson_doc *doc)
{
    yyjson_doc_free(call->doc);
    call->doc = doc;
    call->arguments = yyjson_doc_get_root(doc);
}

int call_adapt_arguments(struct call *call, struct err *err)
{
    if (!call->dialect->adapts)
        return 0;
    return arg_adapt(&call->tool->args, &call->doc, &call->arguments, err);
}

bool call_may_write_git(const struct call *call)
{
    const struct verdict *v = &call->verdict;
    return v->git || (v->wants_git && call->approved);
}

const char *call_tier(const struct call *call)
{
    bool none = call->failed && call->err.code == ERR_SANDBOX_UNAVAILABLE;
    return tier_name(none ? TIER_NONE : call->workplace->tier.id);
}

int64_t call_duration_ms(const struct call *call)
{
    return (int64_t)((call->end_ns - call->start_ns) / 1000000u);
}

void call_fail_answer(struct call *call, bool no_memory, size_t max)
{
    bool changes = call->tool && (call->tool->capabilities & ~(unsigned)CAP_FS_READ);
    if (no_memory && changes)
        err_set(&call->err, ERR_INTERNAL,
                "the call was done, but there is not enough memory for its answer; check what it "
                "did before repeating it");
    else if (no_memory)
        err_no_memory(&call->err);
    else
        err_set(&call->err, ERR_OUTPUT_LIMIT,
                "the answer is larger than %zu bytes; ask for less at once", max);
    call->failed = true;
}

void call_forget_body(struct call *call)
{
    buf_done(&call->reply_body);
    buf_done(&call->text.out);
    for (size_t i = 0; call->command && i < STREAMS; i++)
        output_done(&call->command->streams[i]);
}

static int write_success(struct call *call, struct json_out *j, bool alone)
{
    const struct dialect *dialect = call->dialect;
    struct buf *out = j->out;
    size_t mark = out->len;
    bool comma = j->comma;
    if (alone && dialect->open_alone)
        dialect->open_alone(call, j);
    else
        dialect->open(call, j);
    int r = call->tool->shape(call, j, &call->err);
    if (r == 0 && alone && dialect->close_alone)
        dialect->close_alone(call, j);
    else if (r == 0)
        dialect->close(call, j);
    if (r == 0 && !out->failed)
        return 0;
    if (r == 0)
        call_fail_answer(call, out->no_memory, out->max - mark);
    call->failed = true;
    buf_cut(out, mark);
    j->comma = comma;
    return -1;
}

void call_write_answer(struct call *call, struct json_out *j)
{
    if (call->failed || write_success(call, j, false) < 0)
        call->dialect->fail(call, &call->err, j);
}

int call_write_result(struct call *call, struct json_out *j)
{
    return call->failed ? -1 : write_success(call, j, true);
}

int call_parse_path(const struct call *call, struct str text, struct path *ret, struct err *err)
{
    const struct workplace *at = call->workplace;
    if (call->dialect->id == DIALECT_TOOLHOST)
        return path_in_mounts(text, at->roots, at->n_roots, ret, err);
    if (at->base)
        return path_in_folders(text, at->base, at->roots, at->n_roots, ret, err);
    return path_in_workspace(text, &at->roots[0], ret, err);
}

int call_decode_path(struct str b64, const char *field, struct buf *out, struct err *err)
{
    buf_done(out);
    buf_init(out, PATH_TEXT_MAX);
    if (base64_decode(out, b64) < 0)
        return err_field(err, field, "argument `%s` is not the base64 of a path", field);
    return 0;
}

int call_take_path(struct call *call, struct str text, struct str b64, struct err *err)
{
    if (b64.p) {
        if (call_decode_path(b64, "path_b64", &call->decoded, err) < 0)
            return -1;
        text = buf_str(&call->decoded);
    }
    int r = call_parse_path(call, text, &call->path, err);
    call->has_path = r == 0;
    return r;
}

void call_write_path(const struct call *call, struct json_out *j, const char *key)
{
    struct str text = call_path_text(call);
    if (call->dialect->id != DIALECT_TOOLHOST) {
        jo_kstr(j, key, text);
        return;
    }
    FREE_AT_END char *alias =
        path_is_root(&call->path)
            ? mem_dup(call->workplace->roots[call->path.root].name)
            : mem_format("%s/%s", call->workplace->roots[call->path.root].name, text.p);
    jo_ktext(j, key, alias);
}

static const struct root *root_of_call(const struct call *call, size_t root)
{
    const struct workplace *at = call->workplace;
    return call->command ? &at->command_roots[root] : &at->roots[root];
}

char *call_real_path(const struct call *call, size_t root, struct str named, struct str real)
{
    BUF_AT_END struct buf path = BUF_INIT(2 * PATH_TEXT_MAX);
    if (!real.p || base64_decode(&path, real) < 0)
        return NULL;
    const char *text = buf_text(&path);
    if (!text || (path.len == named.n && memcmp(text, named.p, named.n) == 0))
        return NULL;
    if (call->dialect->id == DIALECT_TOOLHOST)
        return mem_format("%s/%s", root_of_call(call, root)->name, text);
    const struct workplace *at = call->workplace;
    bool absolute = call->command ? at->command_base : at->base;
    return absolute ? mem_format("%s/%s", root_of_call(call, root)->inside, text) : mem_dup(text);
}

yyjson_val *call_given(const struct call *call, const struct arg *arg)
{
    yyjson_val *value = arg ? yyjson_obj_get(call->arguments, arg->name) : NULL;
    return yyjson_is_null(value) ? NULL : value;
}

struct str call_path_text(const struct call *call)
{
    return (struct str){call->path.text, strlen(call->path.text)};
}
