#include "work/replies.h"

#include <errno.h>
#include <time.h>

/* Replies are put together up to this; a larger one goes by itself. */
#define MESSAGE_BYTES (16u << 10)
#define NAP_NS 1000000
#define NO_MEMORY "the cell is out of memory; try again"
#define OUT_OF_MEMORY "{\"code\":\"SESSION_BUSY\",\"message\":\"" NO_MEMORY "\"}"
#define MESSAGE_KEEP (256u << 10)

void replies_init(struct replies *r, int fd, struct shelf shelf)
{
    *r = (struct replies){.fd = fd, .shelf = shelf};
    pthread_mutex_init(&r->lock, NULL);
    buf_init(&r->out, FRAME_BYTES_MAX);
}

void replies_done(struct replies *r)
{
    pthread_mutex_lock(&r->lock);
    buf_done(&r->out);
    pthread_mutex_unlock(&r->lock);
}

/* An answer is not given up because the kernel has no memory for it at the moment. */
static bool waited_for_memory(int r)
{
    if (r != -ENOBUFS && r != -ENOMEM)
        return false;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = NAP_NS}, NULL);
    return true;
}

static int send_alone(struct replies *r, const struct frame *frame)
{
    int sent;
    do
        sent = frame_send(r->fd, frame, -1);
    while (waited_for_memory(sent));
    return sent;
}

/* The sending itself is not under the lock: others go on meanwhile. */
int replies_flush(struct replies *r)
{
    pthread_mutex_lock(&r->lock);
    struct buf message = r->out;
    buf_init(&r->out, FRAME_BYTES_MAX);
    pthread_mutex_unlock(&r->lock);
    int sent = 0;
    do
        sent = message.len ? message_send(r->fd, buf_str(&message), -1) : 0;
    while (waited_for_memory(sent));
    pthread_mutex_lock(&r->lock);
    if (r->out.cap == 0 && message.cap <= MESSAGE_KEEP) {
        buf_reset(&message, MESSAGE_KEEP);
        r->out = message;
    } else {
        buf_done(&message);
    }
    pthread_mutex_unlock(&r->lock);
    return sent;
}

static int add_reply_frame(struct replies *r, const struct frame *frame)
{
    if (frame_bytes(frame) > MESSAGE_BYTES)
        return send_alone(r, frame);
    pthread_mutex_lock(&r->lock);
    bool full = r->out.len + frame_bytes(frame) > MESSAGE_BYTES;
    pthread_mutex_unlock(&r->lock);
    int sent = full ? replies_flush(r) : 0;
    pthread_mutex_lock(&r->lock);
    bool room = buf_reserve(&r->out, frame_bytes(frame)) == 0;
    if (room)
        frame_add(&r->out, frame);
    r->out.failed = false;
    pthread_mutex_unlock(&r->lock);
    return room ? sent : send_alone(r, frame);
}

int replies_error(struct replies *r, uint64_t token, const struct err *err)
{
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    struct json_out j = {.out = &head};
    jo_open(&j, '{');
    jo_ktext(&j, "code", err_row(err->code)->name);
    jo_ktext(&j, "message", err->message);
    if (err->reason[0])
        jo_ktext(&j, "reason", err->reason);
    if (err->field[0])
        jo_ktext(&j, "field", err->field);
    jo_close(&j, '}');
    struct frame frame = {.type = FRAME_ERROR,
                          .token = token,
                          .head = head.failed ? STR(OUT_OF_MEMORY) : buf_str(&head)};
    return add_reply_frame(r, &frame);
}

int work_send_piece(struct work *w, struct str bytes)
{
    struct frame piece = {.type = FRAME_CHUNK, .token = w->token, .body = bytes};
    return send_alone(w->replies, &piece);
}

int replies_result(struct work *w, const struct op *op, const union op_reply *fields)
{
    struct str body = buf_str(&w->body);
    while (body.n > FRAME_BODY_MAX) {
        int r = work_send_piece(w, (struct str){body.p, FRAME_BODY_MAX});
        if (r < 0)
            return r;
        body.p += FRAME_BODY_MAX;
        body.n -= FRAME_BODY_MAX;
    }
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    struct json_out j = {.out = &head};
    arg_encode(&op->reply, fields, &j);
    if (head.failed || w->body.failed)
        return replies_error(w->replies, w->token, &(struct err){ERR_SESSION_BUSY, NO_MEMORY});
    struct frame frame = {
        .type = FRAME_RESULT, .token = w->token, .head = buf_str(&head), .body = body};
    return add_reply_frame(w->replies, &frame);
}

void work_take_shelf(struct work *w)
{
    struct replies *r = w->replies;
    pthread_mutex_lock(&r->lock);
    if (r->shelf.at && !r->shelf_is_out) {
        r->shelf_is_out = true;
        w->shelf = r->shelf.at;
    }
    pthread_mutex_unlock(&r->lock);
}

int work_send_shelved(struct work *w, struct str bytes)
{
    struct shelved shelved = {(uint32_t)(bytes.p - w->shelf), (uint32_t)bytes.n};
    struct frame piece = {
        .type = FRAME_SHELVED, .token = w->token, .body = {(const char *)&shelved, sizeof shelved}};
    w->shelved = true;
    return send_alone(w->replies, &piece);
}

void replies_take_shelf_back(struct replies *r)
{
    pthread_mutex_lock(&r->lock);
    r->shelf_is_out = false;
    pthread_mutex_unlock(&r->lock);
}

void replies_leave_shelf(struct work *w)
{
    if (w->shelf && !w->shelved)
        replies_take_shelf_back(w->replies);
    w->shelf = NULL;
    w->shelved = false;
}
