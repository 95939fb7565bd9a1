#include "session/preview.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/mem.h"
#include "session/session_parts.h"

/* How many cells may die under it. */
#define DEATHS_MAX 2

/* One that is asked for. */
struct preview_ask {
    struct preview_ask *next;
    const struct call *call;
    struct call *own; /* on its way; NULL: it waits for a cell */
    preview_fn done;
    void *arg;
    unsigned deaths;
};

/* The worker's root that is the one of a command; n_roots: it has none. */
static size_t worker_root(const struct call *call)
{
    const struct workplace *at = call->workplace;
    const char *host = at->command_roots[call->path.root].host;
    size_t i = 0;
    while (i < at->n_roots && strcmp(at->roots[i].host, host) != 0)
        i++;
    return i;
}

static bool is_command_in_folder(const struct call *call)
{
    return tool_runs_programs(call->tool) && call->command && !path_is_root(&call->path);
}

bool preview_is_possible(const struct call *call)
{
    if (is_command_in_folder(call))
        return worker_root(call) < call->workplace->n_roots;
    return call->op && call->op->preview != PREVIEW_NONE;
}

static struct op_preview_request request_of(const struct call *call, size_t root, struct str path)
{
    struct op_preview_request q = {.root = (int64_t)root,
                                   .path = path,
                                   .of = is_command_in_folder(call) ? PREVIEW_FOLDER
                                                                    : call->op->preview};
    const struct op_write_request *write = &call->request.write;
    const struct op_change_request *change = &call->request.change;
    const struct op_delete_request *delete = &call->request.delete;
    const struct op_move_request *move = &call->request.move;
    switch (q.of) {
    case PREVIEW_WRITE:
        q.if_match = write->if_match;
        q.max_bytes = write->max_bytes;
        q.no_links = write->no_links;
        q.create_only = write->create_only;
        q.append = write->append;
        break;
    case PREVIEW_DELETE:
        q.no_links = delete->no_links;
        q.recursive = delete->recursive;
        break;
    case PREVIEW_MOVE:
        q.to_root = move->to_root;
        q.to = move->to;
        q.create_only = !move->overwrite;
        break;
    case PREVIEW_MKDIR:
    case PREVIEW_FOLDER:
        break;
    case PREVIEW_READ:
        q.no_links = call->request.read.no_links;
        break;
    case PREVIEW_LIST:
        q.no_links = call->request.list.no_links;
        break;
    case PREVIEW_STAT:
        q.no_links = call->request.stat.no_links;
        break;
    case PREVIEW_SEARCH:
        q.no_links = call->request.search.no_links;
        break;
    default:
        q.if_match = change->if_match;
        q.max_bytes = change->max_bytes;
        q.dry_run = change->dry_run;
    }
    return q;
}

static void unlink_ask(struct session *s, const struct preview_ask *ask)
{
    struct preview_ask **at = &s->previews;
    while (*at != ask)
        at = &(*at)->next;
    *at = ask->next;
}

/* The ask is gone before anyone is told. */
static void answer_preview(struct session *s, struct preview_ask *ask,
                           const struct preview *preview, const struct err *err)
{
    struct preview_ask told = *ask;
    unlink_ask(s, ask);
    free(ask);
    told.done(told.arg, preview, err);
}

static void on_preview_reply(struct call *own)
{
    struct session *s = (struct session *)own->workplace;
    struct preview_ask *ask = own->front;
    const struct op_preview_reply *r = &own->reply.preview;
    if (!ask) {
        /* Nobody waits for it any more. */
    } else if (own->failed && own->err.code == ERR_INTERRUPTED) {
        /* It changes nothing, so the next cell can try. */
        ask->own = NULL;
    } else if (own->failed) {
        answer_preview(s, ask, NULL, &own->err);
    } else {
        const struct preview preview = {.exists = r->exists,
                                        .type = (enum file_type)r->type,
                                        .moved = (enum file_type)r->moved,
                                        .sha256 = r->sha256_before.p ? r->sha256_before.p : "",
                                        .real = r->real,
                                        .bytes_before = r->bytes_before,
                                        .bytes_after = r->bytes_after,
                                        .entries = r->entries,
                                        .decoded = r->decoded,
                                        .cut = r->cut,
                                        .diff = buf_str(&own->reply_body)};
        answer_preview(s, ask, &preview, NULL);
    }
    call_free(own);
}

static void send_ask(struct session *s, struct preview_ask *ask)
{
    const struct call *call = ask->call;
    size_t root = is_command_in_folder(call) ? worker_root(call) : call->path.root;
    struct call *own = session_own_call(s, OP_PREVIEW, root, call->path.text, on_preview_reply);
    own->awaited = true;
    own->request.preview = request_of(call, root, call_path_text(own));
    own->request_body = call->request_body;
    own->verdict.as_named = call->verdict.as_named;
    own->front = ask;
    ask->own = own;
    session_send(s, own);
}

static struct preview_ask *first_waiting(const struct session *s)
{
    struct preview_ask *ask = s->previews;
    while (ask && ask->own)
        ask = ask->next;
    return ask;
}

bool preview_waits(const struct session *s)
{
    return first_waiting(s) != NULL;
}

void preview_send_waiting(struct session *s)
{
    /* From the start each time: whoever is called back may ask for others or forget them. */
    for (struct preview_ask *ask; s->host.state == HOST_OPEN && (ask = first_waiting(s));) {
        send_ask(s, ask);
        /* The cell is ending: the next one gets all of them. */
        if (first_waiting(s) == ask)
            return;
    }
}

void preview_fail_waiting(struct session *s, const struct err *err)
{
    for (struct preview_ask *ask; (ask = first_waiting(s));)
        answer_preview(s, ask, NULL, err);
}

void preview_cell_died(struct session *s, const struct err *err)
{
    for (struct preview_ask *ask = s->previews; ask; ask = ask->next)
        ask->deaths += !ask->own;
    for (struct preview_ask *ask = s->previews; ask;) {
        bool enough = !ask->own && ask->deaths > DEATHS_MAX;
        if (enough)
            answer_preview(s, ask, NULL, err);
        ask = enough ? s->previews : ask->next;
    }
}

void session_preview(struct session *s, const struct call *call, preview_fn done, void *arg)
{
    struct err err;
    if (!preview_is_possible(call)) {
        err_set(&err, ERR_INTERNAL, "what this call would do cannot be told before");
        done(arg, NULL, &err);
        return;
    }
    struct preview_ask *ask = mem_zero(sizeof *ask);
    *ask = (struct preview_ask){.next = s->previews, .call = call, .done = done, .arg = arg};
    s->previews = ask;
    if (host_begin(&s->host, &err) < 0)
        answer_preview(s, ask, NULL, &err);
    else if (s->host.state == HOST_OPEN)
        send_ask(s, ask);
}

void session_preview_cancel(struct session *s, const void *arg)
{
    struct preview_ask *ask = s->previews;
    while (ask && ask->arg != arg)
        ask = ask->next;
    if (!ask)
        return;
    unlink_ask(s, ask);
    if (ask->own) {
        ask->own->front = NULL;
        host_cancel(&s->host, ask->own);
    }
    free(ask);
}

void preview_forget_all(struct session *s)
{
    while (s->previews)
        session_preview_cancel(s, s->previews->arg);
}

static void pin_folder(struct call *call, struct str real)
{
    BUF_AT_END struct buf path = BUF_INIT(3 * (size_t)PATH_TEXT_MAX);
    const char *inside = call->workplace->command_roots[call->path.root].inside;
    base64_decode(&path, real);
    const char *text = buf_text(&path);
    call->pin.folder = strcmp(text, ".") == 0 ? mem_dup(inside) : mem_format("%s/%s", inside, text);
}

void preview_pin(struct call *call, const struct preview *preview)
{
    struct call_pin *pin = &call->pin;
    call_pin_done(pin);
    *pin = (struct call_pin){.set = true, .existed = preview->exists};
    snprintf(pin->sha256, sizeof pin->sha256, "%s", preview->sha256);
    pin->real = mem_copy_str(preview->real.path);
    pin->real_to = mem_copy_str(preview->real.to);
    if (is_command_in_folder(call))
        pin_folder(call, preview->real.path);
    else
        preview_apply_pin(call);
}

void preview_apply_pin(struct call *call)
{
    struct str hash = {call->pin.sha256, strlen(call->pin.sha256)};
    enum preview_of kind = call->pin.set && call->op ? call->op->preview : PREVIEW_NONE;
    struct str *expected = NULL;
    if (kind == PREVIEW_EDIT || kind == PREVIEW_FRONTMATTER)
        expected = &call->request.change.if_match;
    else if (kind == PREVIEW_MOVE)
        expected = &call->request.move.expected;
    else if (kind == PREVIEW_WRITE && call->pin.existed)
        expected = &call->request.write.if_match;
    else if (kind == PREVIEW_WRITE)
        call->request.write.create_only = true;
    if (expected && !expected->p)
        *expected = hash;
}
