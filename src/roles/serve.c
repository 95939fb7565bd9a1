#include "roles/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "base/sanitized.h"
#include "cell/launcher.h"
#include "cell/report.h"

#define ROLE_RESERVE ((size_t)8 << 20)

void role_call_free(struct role_call *call)
{
    if (!call)
        return;
    yyjson_doc_free(call->doc);
    large_body_done(&call->large);
    buf_done(&call->reply_body);
    free(call->message);
    free(call);
}

int role_error(int fd, uint64_t token, const struct err *err)
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
    struct frame frame = {.type = FRAME_ERROR, .token = token, .head = buf_str(&head)};
    return frame_send(fd, &frame, -1);
}

int role_reply(int fd, struct role_call *call, const union op_reply *reply)
{
    struct err err;
    struct str body = buf_str(&call->reply_body);
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    struct json_out j = {.out = &head};
    arg_encode(&call->op->reply, reply, &j);
    if (head.failed || call->reply_body.failed) {
        err_set(&err, ERR_SESSION_BUSY, "the answer does not fit into memory; try again");
        return role_error(fd, call->token, &err);
    }
    int r = 0;
    for (; r >= 0 && body.n > FRAME_BODY_MAX; body.p += FRAME_BODY_MAX, body.n -= FRAME_BODY_MAX) {
        struct frame piece = {
            .type = FRAME_CHUNK, .token = call->token, .body = {body.p, FRAME_BODY_MAX}};
        r = frame_send(fd, &piece, -1);
    }
    struct frame last = {
        .type = FRAME_RESULT, .token = call->token, .head = buf_str(&head), .body = body};
    return r < 0 ? r : frame_send(fd, &last, -1);
}

/* The frame's strings point into call->message. */
static int read_role_call(struct role_call *call, const struct frame *frame, int body_fd,
                          enum op_role role, struct err *err)
{
    struct json_error why;
    if (json_parse(frame->head.p, frame->head.n, FRAME_HEAD_MAX, JSON_INTERNAL, &call->doc, &why) <
        0)
        return err_set(err, ERR_INTERNAL, "reading a frame: %s", why.what);
    yyjson_val *root = yyjson_doc_get_root(call->doc);
    call->op = op_find_in(role, json_str(yyjson_obj_get(root, "op")));
    if (!call->op)
        return err_set(err, ERR_INTERNAL, "an operation that this role does not know");
    call->limit = yyjson_get_uint(yyjson_obj_get(root, "limit"));
    buf_init(&call->reply_body, call->limit);
    if (arg_decode(&call->op->request, true, yyjson_obj_get(root, "args"), &call->request, err) < 0)
        return -1;
    call->body = frame->body;
    if (body_fd == -1)
        return 0;
    if (large_body_map(body_fd, &call->large, err) < 0)
        return -1;
    call->body = (struct str){call->large.at, call->large.n};
    return 0;
}

static struct role_call *role_call_new(const struct frame *frame)
{
    struct role_call *call = mem_zero(sizeof *call);
    call->token = frame->token;
    buf_init(&call->reply_body, 0);
    return call;
}

/* Frames of a message that was received and not taken yet. */
static struct {
    struct str rest;
    int fd;
} inbox = {.fd = -1};

static ssize_t receive_message(int fd, bool wait)
{
    static char buffer[FRAME_BYTES_MAX];
    ssize_t n = message_receive(fd, buffer, wait ? 0 : MSG_DONTWAIT, &inbox.fd);
    inbox.rest = (struct str){buffer, n > 0 ? (size_t)n : 0};
    return n;
}

static int take_role_frame(int fd, enum op_role role, const struct frame *frame,
                           struct role_call **ret)
{
    struct err err;
    FD_AT_END int body_fd = inbox.fd;
    inbox.fd = -1;
    struct role_call *call = role_call_new(frame);
    struct frame own = *frame;
    /* The buffer is used again before the call is over. */
    call->message = mem_grow(NULL, frame->head.n + frame->body.n + 1, 1);
    memcpy(call->message, frame->head.p, frame->head.n);
    memcpy(call->message + frame->head.n, frame->body.p, frame->body.n);
    own.head.p = call->message;
    own.body.p = call->message + frame->head.n;
    if (read_role_call(call, &own, body_fd, role, &err) == 0) {
        *ret = call;
        return 1;
    }
    int r = role_error(fd, frame->token, &err);
    role_call_free(call);
    return r < 0 ? r : -EINTR;
}

int role_receive(int fd, bool wait, enum op_role role, struct role_call **ret, uint64_t *ret_token)
{
    struct frame frame;
    for (;;) {
        int r = -EINTR;
        if (!frame_next(&inbox.rest, &frame)) {
            fd_closep(&inbox.fd);
            ssize_t n = receive_message(fd, wait);
            if (n <= 0)
                return (int)n;
            continue;
        }
        *ret_token = frame.token;
        if (frame.type == FRAME_CANCEL)
            return 2;
        if (frame.type == FRAME_CALL)
            r = take_role_frame(fd, role, &frame, ret);
        if (r != -EINTR)
            return r;
    }
}

static int serve_in_turn(const struct served *role)
{
    struct role_call *call;
    uint64_t token;
    int r;
    while ((r = role_receive(CELL_WORK_FD, true, role->of, &call, &token)) > 0) {
        struct err err;
        union op_reply reply = {0};
        if (r == 2) /* of a call that was answered */
            continue;
        if (role->serve(call, &reply, &err) == 0)
            r = role_reply(CELL_WORK_FD, call, &reply);
        else
            r = role_error(CELL_WORK_FD, call->token, &err);
        role_call_free(call);
        if (r < 0)
            break;
    }
    return r < 0;
}

static bool is_started_by_gate(int argc)
{
    struct stat st;
    return argc == 1 && fstat(CELL_CONTROL_FD, &st) == 0 && S_ISSOCK(st.st_mode) &&
           fstat(CELL_WORK_FD, &st) == 0 && S_ISSOCK(st.st_mode);
}

int role_lock(const struct served *role, struct err *err)
{
    FD_AT_END int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct landlock_rule all = {.folder = root};
    if (root < 0)
        return err_set(err, ERR_SANDBOX_UNAVAILABLE, "opening its root: %s", strerror(errno));
    return lock_as(role->lock, &all, role->files, NULL, err);
}

int role_main(int argc, char **argv, const struct served *role)
{
    struct err err;
    char name[32];
    if (!is_started_by_gate(argc)) {
        fprintf(stderr, "%s is a part of sandgate, which starts it by itself\n",
                argc > 0 ? argv[0] : "this program");
        return 2;
    }
    snprintf(name, sizeof name, "sandgate-%s", argv[0]);
    prctl(PR_SET_NAME, name);
    sanitized_enter_cell();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
    reserve_make(ROLE_RESERVE);
    if ((role->prepare && role->prepare(&err) < 0) || (!role->late && role_lock(role, &err) < 0))
        return report_failure(&err);
    if (report_send(FRAME_READY, 0, NULL, false) < 0)
        return 1;
    close(CELL_CONTROL_FD);
    return role->loop ? role->loop(CELL_WORK_FD) : serve_in_turn(role);
}
