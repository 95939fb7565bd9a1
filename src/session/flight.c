#include "session/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "core/op_check.h"

void flight_init(struct flight *f)
{
    *f = (struct flight){0};
}

void flight_done(struct flight *f)
{
    free(f->slots);
    free(f->generations);
    free(f->free);
    flight_init(f);
}

static void grow(struct flight *f)
{
    size_t n = f->n_slots ? 2 * f->n_slots : 64;
    f->slots = mem_grow(f->slots, n, sizeof(struct call *));
    f->generations = mem_grow(f->generations, n, sizeof *f->generations);
    f->free = mem_grow(f->free, n, sizeof *f->free);
    for (size_t i = n; i-- > f->n_slots;) {
        f->slots[i] = NULL;
        f->generations[i] = 0;
        f->free[f->n_free++] = (uint32_t)i;
    }
    f->n_slots = n;
}

uint64_t flight_add(struct flight *f, struct call *call)
{
    if (f->n_free == 0)
        grow(f);
    uint32_t slot = f->free[--f->n_free];
    f->slots[slot] = call;
    f->n_locking += call->op->waits;
    if (++f->generations[slot] == 0)
        f->generations[slot] = 1; /* it has gone around; a token is never 0 */
    return (uint64_t)f->generations[slot] << 32 | slot;
}

struct call *flight_find(const struct flight *f, uint64_t token)
{
    uint32_t slot = (uint32_t)token;
    if (slot >= f->n_slots || !f->slots[slot] || f->generations[slot] != token >> 32)
        return NULL;
    return f->slots[slot];
}

void flight_remove(struct flight *f, struct call *call)
{
    uint32_t slot = (uint32_t)call->token;
    f->slots[slot] = NULL;
    f->n_locking -= call->op->waits;
    f->free[f->n_free++] = slot;
    call->token = 0;
}

struct call *flight_first(const struct flight *f)
{
    for (size_t i = 0; i < f->n_slots; i++) {
        if (f->slots[i])
            return f->slots[i];
    }
    return NULL;
}

/* Bodies too large for a frame go as a sealed memory file. */
static int make_body_file(struct str body, int *ret_fd, struct err *err)
{
    FD_AT_END int fd = memfd_create("body", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r = fd < 0 ? -errno : fd_write_all(fd, body.p, body.n);
    if (r == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        r = -errno;
    if (r == -EFBIG)
        return err_set(err, ERR_TOO_LARGE,
                       "content of %zu bytes is over the limit of a file's size that the gate was "
                       "started with (RLIMIT_FSIZE, `ulimit -f`)",
                       body.n);
    if (r < 0)
        return err_set(err, err_code_for(-r, ERR_INTERNAL), "handing over the content: %s%s",
                       strerror(-r), err_is_shortage(-r) ? "; try again" : "");
    *ret_fd = TAKE_FD(fd);
    return 0;
}

int flight_frame(const struct call *call, uint32_t processor, struct buf *head, struct frame *ret,
                 int *ret_body_fd, struct err *err)
{
    struct json_out j = {.out = head};
    jo_open(&j, '{');
    jo_ktext(&j, "op", call->op->name);
    if (processor)
        jo_kint(&j, "processor", processor);
    if (call->sent_from)
        jo_kint(&j, "gate", call->sent_from);
    jo_kint(&j, "limit", (int64_t)call->reply_body.max);
    if (call->quick)
        jo_kbool(&j, "quick", true);
    if (call->verdict.as_named)
        jo_kbool(&j, "as_named", true);
    if (call->pin.real)
        jo_ktext(&j, "pinned", call->pin.real);
    if (call->pin.real_to)
        jo_ktext(&j, "pinned_to", call->pin.real_to);
    jo_key(&j, "args");
    arg_encode(&call->op->request, &call->request, &j);
    jo_close(&j, '}');
    *ret = (struct frame){.type = FRAME_CALL, .head = buf_str(head), .body = call->request_body};
    if (head->failed)
        return err_set(err, ERR_INVALID_ARGUMENTS, "the arguments are too long for one call");
    if (call->request_body.n <= FRAME_BODY_MAX)
        return 0;
    ret->body = (struct str){NULL, 0};
    return make_body_file(call->request_body, ret_body_fd, err);
}

/* Heads are small, and without one it is not known what became of the call. */
static int parse_head(const struct frame *frame, yyjson_doc **ret_doc)
{
    RESERVE_OPEN_HERE;
    return json_parse(frame->head.p, frame->head.n, FRAME_HEAD_MAX, JSON_STRICT, ret_doc, NULL);
}

/* The worker did its part, and keeps to the rules: only this call is lost. */
static enum flight_result flight_no_memory(const struct call *call, struct err *err)
{
    if (call->op->writes)
        err_set(err, ERR_INTERRUPTED,
                "not enough memory for the answer; the change was made or not, look before "
                "repeating it");
    else
        err_no_memory(err);
    return FLIGHT_FAILED;
}

static enum flight_result take_reply(struct call *call, const struct frame *frame, struct err *err)
{
    struct err wrong;
    yyjson_doc_free(TAKE_PTR(call->reply_doc));
    int r = call->reply_lost ? -ENOMEM : parse_head(frame, &call->reply_doc);
    if (r < 0)
        return r == -ENOMEM ? flight_no_memory(call, err) : FLIGHT_BROKEN;
    yyjson_val *root = yyjson_doc_get_root(call->reply_doc);
    call->reply = (union op_reply){0};
    if (!root || arg_decode(&call->op->reply, true, root, &call->reply, &wrong) < 0)
        return FLIGHT_BROKEN;
    return op_check_reply(call) ? FLIGHT_DONE : FLIGHT_BROKEN;
}

/* A tool ends in ways that a file operation does not. */
static bool tool_may_say(const struct call *call, enum err_code code)
{
    static const enum err_code codes[] = {ERR_TIMEOUT, ERR_MEMORY_LIMIT,      ERR_FUEL_LIMIT,
                                          ERR_TRAP,    ERR_CAPABILITY_DENIED, ERR_NOT_SUPPORTED};
    if (!call->op || !role_programs[call->op->role].runs_tools)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (code == codes[i])
            return true;
    }
    return false;
}

/* What can be wrong with a file. A worker has no say in policy, and a cell that is gone is noticed. */
static bool worker_may_say(const struct call *call, enum err_code code)
{
    if (tool_may_say(call, code))
        return true;
    if (call->op && call->op->role == OP_IN_NET &&
        (code == ERR_NETWORK_DENIED || code == ERR_NETWORK_ERROR || code == ERR_TIMEOUT))
        return true;
    switch ((int)code) {
    case ERR_INVALID_ARGUMENTS:
    case ERR_NOT_FOUND:
    case ERR_ALREADY_EXISTS:
    case ERR_NOT_A_FILE:
    case ERR_NOT_A_DIRECTORY:
    case ERR_PATH_OUTSIDE_WORKSPACE:
    case ERR_SYMLINK_OUTSIDE_WORKSPACE:
    case ERR_PERMISSION_DENIED:
    case ERR_READ_ONLY:
    case ERR_TOO_LARGE:
    case ERR_PRECONDITION_FAILED:
    case ERR_NO_MATCH:
    case ERR_CONFLICT:
    case ERR_INVALID_PATTERN:
    case ERR_INVALID_FRONTMATTER:
    case ERR_CANCELLED:
    case ERR_DISK_FULL:
    case ERR_SESSION_BUSY:
    case ERR_OUTPUT_LIMIT:
    case ERR_INTERNAL:
        return true;
    default:
        return false;
    }
}

static enum flight_result take_error(const struct call *call, const struct frame *frame,
                                     struct err *err)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    int r = parse_head(frame, &doc);
    if (r < 0)
        return r == -ENOMEM ? flight_no_memory(call, err) : FLIGHT_BROKEN;
    yyjson_val *root = yyjson_doc_get_root(doc);
    int code = err_code_from_name(json_str(yyjson_obj_get(root, "code")));
    const char *message = yyjson_get_str(yyjson_obj_get(root, "message"));
    const char *reason = yyjson_get_str(yyjson_obj_get(root, "reason"));
    const char *field = yyjson_get_str(yyjson_obj_get(root, "field"));
    if (code < 0 || !message || !worker_may_say(call, (enum err_code)code))
        return FLIGHT_BROKEN;
    err_set(err, (enum err_code)code, "%s", message);
    snprintf(err->reason, sizeof err->reason, "%s", reason ? reason : "");
    snprintf(err->field, sizeof err->field, "%s", field ? field : "");
    return FLIGHT_FAILED;
}

static int add_to_body(struct call *call, struct str body)
{
    if (!call->as_text)
        return buf_add(&call->reply_body, body.p, body.n);
    if (call->text.bytes + body.n > call->reply_body.max)
        return -ENOBUFS;
    json_text_add(&call->text, body);
    if (!call->text.out.failed)
        return 0;
    return call->text.out.no_memory ? -ENOMEM : -ENOBUFS;
}

/* -1: it is more than the worker may send. Where there is no memory the rest is passed over. */
static int take_body(struct call *call, struct str body)
{
    if (call->reply_lost)
        return 0;
    int r = add_to_body(call, body);
    if (r != -ENOMEM)
        return r < 0 ? -1 : 0;
    call->reply_lost = true;
    buf_done(&call->reply_body);
    buf_done(&call->text.out);
    return 0;
}

static int take_shelved(struct call *call, struct str body, const struct shelf *shelf)
{
    /* Small enough to be still near when it is looked at. */
    static char piece[8 << 10];
    struct shelved rest;
    /* One behind the other: a reply has the shelf once, however many frames say where it lies. */
    if (!shelf->at || shelved_read(body, &rest) < 0 || rest.at < call->shelved)
        return -1;
    call->shelved = rest.at + rest.n;
    int r = 0;
    while (r == 0 && rest.n > 0)
        r = take_body(call, shelved_next(shelf, &rest, piece, sizeof piece));
    return r;
}

enum flight_result flight_take(struct call *call, const struct frame *frame,
                               const struct shelf *shelf, struct err *err)
{
    if (frame->type == FRAME_SHELVED)
        return take_shelved(call, frame->body, shelf) < 0 ? FLIGHT_BROKEN : FLIGHT_MORE;
    if (frame->type == FRAME_ERROR && frame->body.n == 0)
        return take_error(call, frame, err);
    if (frame->type != FRAME_RESULT && frame->type != FRAME_CHUNK)
        return FLIGHT_BROKEN;
    if (take_body(call, frame->body) < 0)
        return FLIGHT_BROKEN;
    return frame->type == FRAME_CHUNK ? FLIGHT_MORE : take_reply(call, frame, err);
}
