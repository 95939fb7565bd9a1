#include "front/guest_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "front/forward_path.h"
#include "front/front.h"
#include "front/lines.h"

/* As long as a request can be configured to be; of a longer line nobody can tell whose it is. */
#define LINE_MAX_BYTES ((size_t)256 << 20)
#define LINE_KEPT (64u << 10)

struct guest_call {
    struct guest_call *next;
    uint64_t number;
    uint64_t end; /* of its line, in all bytes */
    bool silent;  /* a cancel: it has no answer */
    struct request request;
};

void guest_calls_init(struct guest_calls *c, enum format_id format, const struct dialect *dialect)
{
    *c = (struct guest_calls){.format = format, .dialect = dialect};
    c->line = BUF_INIT(LINE_MAX_BYTES);
    c->end = &c->first;
}

static void call_done(struct guest_call *call)
{
    request_done(&call->request);
    free(call);
}

void guest_calls_done(struct guest_calls *c)
{
    for (struct guest_call *call; (call = c->first);) {
        c->first = call->next;
        call_done(call);
    }
    c->end = &c->first;
    buf_done(&c->line);
}

/* Only the id is needed, and the form of the answer. */
static void read_guest_request(struct guest_calls *c, struct str line, struct guest_call *call)
{
    struct err ignored;
    yyjson_doc *doc = NULL;
    int r = json_parse(line.p, line.n, line.n, JSON_STRICT, &doc, NULL);
    if (r == -ENOMEM)
        format_scan_id(line, &call->request);
    if (r < 0)
        return;
    yyjson_val *root = yyjson_doc_get_root(doc);
    call->silent = yyjson_is_obj(root) && yyjson_obj_get(root, "cancel") &&
                   !yyjson_obj_get(root, "tool_call") && !yyjson_obj_get(root, "function");
    format_read(c->format, doc, &call->request, &ignored);
    yyjson_doc_free(TAKE_PTR(call->request.doc));
    call->request.arguments = NULL;
}

/* Lines are counted as the owner counts them: what is blank is none. */
static void end_guest_line(struct guest_calls *c)
{
    struct str line = buf_str(&c->line);
    while (line.n && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
        line.n--;
    if (line.n || c->cut) {
        struct guest_call *call = mem_zero(sizeof *call);
        call->number = ++c->taken;
        call->end = c->bytes;
        if (!c->cut)
            read_guest_request(c, line, call);
        *c->end = call;
        c->end = &call->next;
    }
    c->cut = false;
    c->line.failed = false;
    buf_reset(&c->line, LINE_KEPT);
}

void guest_calls_take(struct guest_calls *c, struct str bytes)
{
    while (bytes.n) {
        const char *newline = memchr(bytes.p, '\n', bytes.n);
        size_t n = newline ? (size_t)(newline - bytes.p) : bytes.n;
        bool blank = c->line.len == 0 && lines_is_blank((struct str){bytes.p, n});
        if (!c->cut && !blank && buf_add(&c->line, bytes.p, n) < 0) {
            c->cut = true;
            c->line.len = 0;
        }
        n += newline != NULL;
        c->bytes += n;
        bytes = (struct str){bytes.p + n, bytes.n - n};
        if (newline)
            end_guest_line(c);
    }
}

void guest_calls_take_end(struct guest_calls *c)
{
    end_guest_line(c);
}

bool guest_calls_in_line(const struct guest_calls *c)
{
    return c->line.len || c->cut;
}

uint64_t guest_calls_reached(const struct guest_calls *c, uint64_t sent)
{
    for (const struct guest_call *call = c->first; call; call = call->next) {
        if (call->end > sent)
            return call->number - 1;
    }
    return c->taken;
}

void guest_calls_answered(struct guest_calls *c, uint64_t number)
{
    for (struct guest_call **at = &c->first; *at; at = &(*at)->next) {
        struct guest_call *call = *at;
        if (call->number != number)
            continue;
        *at = call->next;
        if (!*at)
            c->end = at;
        call_done(call);
        return;
    }
}

static const char *why(bool reached, bool hangs)
{
    if (hangs)
        return reached
                   ? FORWARD_HANGS
                   : "the session's owner does not answer any more; this call did not reach it: "
                     "nothing was done";
    return reached ? "the session's owner ended before it answered; what was asked may be done, "
                     "look before repeating it"
                   : "the session's owner ended before this call reached it: nothing was done";
}

static void answer_guest_call(const struct guest_calls *c, const struct guest_call *call,
                              const struct err *err, struct buf *out)
{
    struct call *failed = front_failed_call(c->dialect, call->request.name, err);
    format_write(c->format, &call->request, failed, false, out);
    buf_add_char(out, '\n');
    call_free(failed);
}

/* The first of those that are left, with an answer unless it is to have none. */
static size_t drop_first(struct guest_calls *c, const struct err *err, struct buf *out)
{
    struct guest_call *call = c->first;
    bool answered = !call->silent;
    if (answered)
        answer_guest_call(c, call, err, out);
    c->first = call->next;
    if (!c->first)
        c->end = &c->first;
    call_done(call);
    return answered;
}

size_t guest_calls_interrupt(struct guest_calls *c, uint64_t sent, bool hangs, struct buf *out)
{
    size_t count = 0;
    while (c->first) {
        struct err err;
        err_set(&err, ERR_INTERRUPTED, "%s", why(c->first->end <= sent, hangs));
        count += drop_first(c, &err, out);
    }
    return count;
}

size_t guest_calls_refuse(struct guest_calls *c, const struct err *err, struct buf *out)
{
    size_t count = 0;
    while (c->first)
        count += drop_first(c, err, out);
    return count;
}
