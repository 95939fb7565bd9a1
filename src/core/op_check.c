#include "core/op_check.h"

#include <string.h>

#include "base/base64.h"
#include "core/call.h"
#include "core/found.h"
#include "core/op_change.h"

bool op_check_any(const struct call *call)
{
    (void)call;
    return true;
}

bool op_check_read(const struct call *call)
{
    const struct op_read_request *q = &call->request.read;
    const struct op_read_reply *r = &call->reply.read;
    int64_t n = (int64_t)call_body_bytes(call);
    bool whole = r->size <= q->whole_max && !(q->text_only && r->binary);
    bool counted = r->total_lines != ARG_ABSENT;
    bool hashed = whole && q->hash_max > 0 && r->size <= q->hash_max;
    bool hash_fits = r->sha256.p ? hashed : !hashed || r->shrank;
    return r->whole <= n && n <= q->max_bytes && hash_fits && (counted || !whole) &&
           (!counted || r->end_line - 1 <= r->total_lines);
}

bool op_check_list(const struct call *call)
{
    struct str rest = buf_str(&call->reply_body);
    struct op_entry entry;
    int64_t count = 0;
    int r;
    while ((r = op_entry_next(&rest, &entry)) > 0) {
        if (!call->request.list.recursive && memchr(entry.name.p, '/', entry.name.n))
            return false;
        count++;
    }
    return r == 0 && count <= call->reply.list.count &&
           call->reply.list.count <= call->request.list.max_entries;
}

/* Inside the line, one behind the other. */
static bool spans_make_sense(const struct found *found)
{
    uint64_t length = (uint64_t)found->cut_before + found->text.n;
    uint32_t from = 0;
    for (size_t i = 0; i < found->n_spans; i++) {
        struct found_span span = found_span(found, i);
        if (span.start < from || span.end < span.start ||
            (span.end > length && span.end - length > (uint64_t)found->cut_after))
            return false;
        from = span.end;
    }
    return found->n_spans == 0 || found->kind == FOUND_MATCH;
}

/* `line` is that of the record before it in the same file, or -1 where there is no file yet. */
static bool found_makes_sense(const struct op_search_request *request, const struct found *found,
                              int64_t line)
{
    if (!spans_make_sense(found))
        return false;
    if (found->kind == FOUND_FILE)
        return found->cut_before == 0 && found->cut_after == 0;
    if (found->kind == FOUND_CONTEXT && request->before == 0 && request->after == 0)
        return false;
    return request->mode == SEARCH_LINES && line >= 0 && found->number > line;
}

bool op_check_search(const struct call *call)
{
    const struct op_search_request *request = &call->request.search;
    enum found_kind counted = request->mode == SEARCH_LINES ? FOUND_MATCH : FOUND_FILE;
    struct str rest = buf_str(&call->reply_body);
    struct found found;
    int64_t count = 0;
    int64_t line = -1;
    int r;
    while ((r = found_next(&rest, &found)) > 0) {
        if (!found_makes_sense(request, &found, line))
            return false;
        line = found.kind == FOUND_FILE ? 0 : found.number;
        count += found.kind == counted;
    }
    return r == 0 && count == call->reply.search.matches && count <= request->max_matches;
}

bool op_check_scan(const struct call *call)
{
    struct str rest = buf_str(&call->reply_body);
    struct op_guarded found;
    int64_t count = 0;
    int r;
    while ((r = op_guarded_next(&rest, &found)) > 0)
        count++;
    return r == 0 && count == call->reply.scan.count && count <= call->request.scan.max_guarded &&
           (count == 0 || !call->reply.scan.same);
}

bool op_check_leads(const struct call *call)
{
    struct str rest = buf_str(&call->reply_body);
    struct op_lead lead;
    int64_t count = 0;
    int r;
    while ((r = op_lead_next(&rest, &lead)) > 0)
        count++;
    return r == 0 && count == call->reply.leads.count && (count == 0 || call->request.leads.take);
}

/* Base64 of a path. */
static bool is_real_path(struct str real)
{
    BUF_AT_END struct buf path = BUF_INIT(2 * PATH_TEXT_MAX);
    return real.n && base64_decode(&path, real) == 0 && path.len &&
           !memchr(path.data, '\0', path.len);
}

bool op_check_preview(const struct call *call)
{
    const struct op_preview_reply *r = &call->reply.preview;
    int64_t of = call->request.preview.of;
    size_t n = call_body_bytes(call);
    if (of >= PREVIEW_READ)
        return !r->sha256_before.p && n == 0;
    if (!is_real_path(r->real.path) || (of == PREVIEW_MOVE && !is_real_path(r->real.to)))
        return false;
    if (of == PREVIEW_DELETE)
        return r->exists && !r->sha256_before.p && r->entries > 0 && n == 0;
    if (of == PREVIEW_MOVE)
        return r->sha256_before.p && r->entries == 0 && n == 0;
    if (of == PREVIEW_MKDIR || of == PREVIEW_FOLDER)
        return !r->sha256_before.p && r->entries == 0 && n == 0;
    return r->exists == (r->sha256_before.p != NULL) && r->type == TYPE_FILE && r->entries == 0 &&
           n <= OP_PREVIEW_DIFF_MAX;
}

bool op_check_quarantine(const struct call *call)
{
    struct str rest = buf_str(&call->reply_body);
    struct op_guarded found;
    int r;
    while ((r = op_guarded_next(&rest, &found)) > 0) {
        if (found.kind == GUARDED_SOCKET || found.kind == GUARDED_WAY ||
            found.kind == GUARDED_OPENED)
            return false;
    }
    return r == 0;
}

bool op_check_git_import(const struct call *call)
{
    struct str rest = buf_str(&call->reply_body);
    struct op_layer name;
    int64_t count = 0;
    int r;
    while ((r = op_layer_next(&rest, &name)) > 0)
        count++;
    return r == 0 && count <= OP_DROPPED_MAX && count <= call->reply.git_import.dropped;
}

bool op_check_layer_list(const struct call *call)
{
    struct str rest = buf_str(&call->reply_body);
    struct op_changed changed;
    int64_t count = 0;
    int r;
    while ((r = op_changed_next(&rest, &changed)) > 0)
        count++;
    return r == 0 && count == call->reply.layer_list.count && count <= call->request.layer_list.max;
}

bool op_check_layer_commit(const struct call *call)
{
    struct str rest = buf_str(&call->reply_body);
    struct op_layer name;
    int64_t count = 0;
    int r;
    while ((r = op_layer_next(&rest, &name)) > 0)
        count++;
    return r == 0 && count == call->reply.layer_commit.left;
}

bool op_check_run_tool(const struct call *call)
{
    const struct op_run_tool_request *q = &call->request.run_tool;
    const struct op_run_tool_reply *r = &call->reply.run_tool;
    int64_t n = (int64_t)call_body_bytes(call);
    return r->output <= n && r->output <= q->output && n - r->output <= (int64_t)OP_TOOL_LOG_MAX;
}

bool op_check_compile(const struct call *call)
{
    return call->reply.compile.bytes == (int64_t)call_body_bytes(call);
}

bool op_check_page(const struct call *call)
{
    const struct op_page_request *q = &call->request.page;
    const struct op_page_reply *r = &call->reply.page;
    int64_t n = (int64_t)call_body_bytes(call);
    return n <= q->max_bytes && (r->next == 0 || (r->next == q->offset + n && r->next < r->total));
}

bool op_check_http(const struct call *call)
{
    const struct op_http_reply *r = &call->reply.http;
    int64_t n = (int64_t)call_body_bytes(call);
    int64_t most = call->request.http.max_bytes;
    return n <= most && (!r->truncated || n == most);
}

bool op_check_reply(const struct call *call)
{
    bool fits = call->op->body != OP_BODY_NONE || call_body_bytes(call) == 0;
    return fits && call->op->check(call);
}
