/* Any bytes to a cell. As a message to a worker (the first byte: 0, raw; 1, the head of a call; 2, head
 * and body with a line end between; 4, bytes to build a call from): the worker answers a call once, in
 * a way that the gate accepts, and never reaches what lies beside its folder. As a specification (3):
 * it is refused, or is the same again when it is written and read. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cell/launcher.h"
#include "cell/plan.h"
#include "session/flight.h"
#include "target.h"
#include "build.h"
#include "scratch.h"
#include "work/worker.h"

#define SECRET "what lies beside the folder"

static char inside[220];
static int root_fd = -1;

static void put(const char *name, const char *text)
{
    FD_AT_END int fd = openat(root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0);
}

static void set_time(const char *name, time_t seconds, long ns)
{
    struct timespec times[2] = {{seconds, ns}, {seconds, ns}};
    must(utimensat(root_fd, name, times, 0) == 0);
}

/* Marks a folder, so that a change in it shows. */
static void mark(const char *name)
{
    set_time(name, 1, 0);
}

static bool marked(const char *name)
{
    struct stat st;
    return fstatat(root_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtim.tv_sec == 1;
}

static void make_tree(void)
{
    must(mkdir(inside, 0755) == 0);
    root_fd = open(inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(root_fd >= 0 && mkdirat(root_fd, "d", 0755) == 0);
    put("a", "one\ntwo\nthree");
    put("d/b", "");
    /* In milliseconds the smallest number there is, where the file system keeps such times. */
    put("old", "");
    set_time("old", -9223372036854776, 192000000);
    put("\xff\n", "odd name");
    put("../secret", SECRET);
    must(symlinkat("d", root_fd, "l") == 0 && symlinkat("../secret", root_fd, "out") == 0);
    must(symlinkat("/workspace/d/new", root_fd, "abs") == 0);
    must(symlinkat("/etc/passwd", root_fd, "etc") == 0 && mkfifoat(root_fd, "fifo", 0600) == 0);
    mark("d");
    mark(".");
}

/* The launcher gives the worker descriptors at fixed places. What it sends for help must not reach another socket. */
static void make_help_fd(int at)
{
    FD_AT_END int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    must(fd >= 0);
    if (fd == at)
        fd = -1;
    else
        must(fcntl(at, F_GETFD) < 0 && dup3(fd, at, O_CLOEXEC) >= 0);
}

static void set_up(void)
{
    if (root_fd >= 0 && marked(".") && marked("d"))
        return;
    if (root_fd < 0) {
        make_help_fd(CELL_HELP_FD);
        make_help_fd(CELL_HELP_SEND_FD);
        scratch_make();
        snprintf(inside, sizeof inside, "%s/w", scratch);
    } else {
        close(root_fd);
        scratch_remove(inside);
    }
    make_tree();
}

static void check_secret(void)
{
    char text[64];
    FD_AT_END int fd = openat(root_fd, "../secret", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : fd_read_upto(fd, text, sizeof text);
    must(n == (ssize_t)strlen(SECRET) && memcmp(text, SECRET, (size_t)n) == 0);
}

static size_t serve(struct str message, int sockets[2])
{
    static char host[] = "/srv/work";
    static char name[] = "/workspace";
    struct cell_spec spec = {.threads = 1, .n_roots = 1, .roots = {{host, name, .writable = true}}};
    must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    if (send(sockets[0], message.p, message.n, 0) < 0)
        must(errno == EMSGSIZE);
    must(shutdown(sockets[0], SHUT_WR) == 0);
    worker_main(sockets[1], &spec, &root_fd, (struct shelf){0});
    fd_closep(&sockets[1]);
    return message.n;
}

/* The request as the gate would have sent it, or false where the gate could not have. */
static bool read_request(const struct frame *frame, struct call *call)
{
    struct err err;
    if (json_parse(frame->head.p, frame->head.n, FRAME_HEAD_MAX, JSON_INTERNAL, &call->doc, NULL) <
        0)
        return false;
    yyjson_val *head = yyjson_doc_get_root(call->doc);
    struct str name = json_str(yyjson_obj_get(head, "op"));
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (str_is(name, op_table[i].name))
            call->op = &op_table[i];
    }
    return call->op && arg_decode(&call->op->request, true, yyjson_obj_get(head, "args"),
                                  &call->request, &err) == 0;
}

/* A path that begins with a link, in a call that would follow it and was told to use only what paths name. */
static bool leads_elsewhere(const struct call *call)
{
    static const char *const links[] = {"l", "out", "abs", "etc"};
    yyjson_val *head = yyjson_doc_get_root(call->doc);
    struct str path = call->request.writing.path;
    size_t n = strcspn(path.p, "/");
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        found |= n == strlen(links[i]) && memcmp(path.p, links[i], n) == 0;
    switch (call->op - op_table) {
    case OP_STAT:
        found &= !call->request.stat.no_links;
        break;
    case OP_PREVIEW:
        found &= call->request.preview.of != PREVIEW_DELETE;
        break;
    case OP_DELETE:
    case OP_MOVE:
    case OP_SWEEP:
    case OP_RULES:
    case OP_SCAN:
    case OP_LEADS:
    case OP_GIT_BEGIN:
    case OP_GIT_IMPORT:
        found = false;
    }
    return found && yyjson_get_bool(yyjson_obj_get(head, "as_named"));
}

static bool has_secret(struct str text)
{
    return text.n && memmem(text.p, text.n, SECRET, strlen(SECRET));
}

static void check_replies(int fd, const struct frame *asked)
{
    static char buffer[FRAME_BYTES_MAX];
    struct call *call = call_new();
    buf_init(&call->reply_body, 64u << 20);
    bool possible = asked->type == FRAME_CALL && read_request(asked, call);
    bool elsewhere = possible && leads_elsewhere(call);
    if (possible && call->op == &op_table[OP_PREVIEW])
        must(marked(".") && marked("d"));
    bool said = has_secret(asked->head) || has_secret(asked->body); /* by the caller itself */
    unsigned answers = 0;
    struct frame frame;
    struct err err;
    while (frame_receive(fd, buffer, MSG_DONTWAIT, &frame, NULL) == 1) {
        must(asked->type == FRAME_CALL && frame.token == asked->token && answers == 0);
        must(said || !has_secret(frame.body));
        must((possible && !elsewhere) || frame.type == FRAME_ERROR);
        enum flight_result r = flight_take(call, &frame, &(struct shelf){0}, &err);
        must(r != FLIGHT_BROKEN);
        answers += r != FLIGHT_MORE;
    }
    must(answers == (asked->type == FRAME_CALL));
    call_free(call);
}

/* Several frames in one message: each call is answered once. */
static void count_replies(int fd, struct str message)
{
    static char buffer[FRAME_BYTES_MAX];
    unsigned calls = 0;
    unsigned answers = 0;
    struct frame frame;
    bool said = has_secret(message); /* by the caller, so that it may be told again */
    while (frame_next(&message, &frame))
        calls += frame.type == FRAME_CALL;
    for (ssize_t n; (n = message_receive(fd, buffer, MSG_DONTWAIT, NULL)) > 0;) {
        struct str rest = {buffer, (size_t)n};
        while (frame_next(&rest, &frame)) {
            must(said || !has_secret(frame.body));
            answers += frame.type != FRAME_CHUNK;
        }
    }
    must(answers == calls);
}

static struct str wrapped(const struct frame *frame, struct buf *out)
{
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    must(frame_send(pair[0], frame, -1) == 0 && buf_reserve(out, FRAME_BYTES_MAX) == 0);
    ssize_t n = recv(pair[1], out->data, FRAME_BYTES_MAX, 0);
    must(n > 0);
    out->len = (size_t)n;
    close(pair[0]);
    close(pair[1]);
    return buf_str(out);
}

static void check_message(struct str message)
{
    int sockets[2];
    struct frame frame = {.type = FRAME_TYPE_END};
    set_up();
    if (message.n == 0 || message.n > FRAME_BYTES_MAX)
        return;
    bool one = frame_parse(message.p, message.n, &frame) == 0;
    bool several = !one && frame_check(message.p, message.n) == 0;
    serve(message, sockets);
    if (!one)
        frame.type = FRAME_TYPE_END;
    if (several)
        count_replies(sockets[0], message);
    else
        check_replies(sockets[0], &frame);
    check_secret();
    close(sockets[0]);
}

static void check_call(struct str text, bool with_body)
{
    BUF_AT_END struct buf out = BUF_INIT(FRAME_BYTES_MAX);
    const char *newline = with_body ? memchr(text.p, '\n', text.n) : NULL;
    struct frame frame = {.type = FRAME_CALL, .token = 7, .head = text};
    if (newline) {
        frame.head.n = (size_t)(newline - text.p);
        frame.body = (struct str){newline + 1, text.n - frame.head.n - 1};
    }
    if (frame.head.n <= FRAME_HEAD_MAX && frame.body.n <= FRAME_BODY_MAX)
        check_message(wrapped(&frame, &out));
}

static void check_built(struct str bytes)
{
    BUF_AT_END struct buf head = BUF_INIT(FRAME_HEAD_MAX);
    BUF_AT_END struct buf out = BUF_INIT(FRAME_BYTES_MAX);
    struct source rest = {(const uint8_t *)bytes.p, bytes.n};
    struct json_out j = {.out = &head};
    unsigned pick = next_byte(&rest);
    const struct op *op = &op_table[pick % OP_COUNT];
    jo_open(&j, '{');
    jo_ktext(&j, "op", op->name);
    if (pick / OP_COUNT % 2)
        jo_kbool(&j, "as_named", true);
    jo_key(&j, "args");
    build_object(&op->request, &rest, &j);
    jo_close(&j, '}');
    struct frame frame = {FRAME_CALL, 7, buf_str(&head), next_bytes(&rest)};
    if (!head.failed)
        check_message(wrapped(&frame, &out));
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

static void check_same(const struct cell_spec *a, const struct cell_spec *b)
{
    must(a->uid == b->uid && a->gid == b->gid && a->umask == b->umask);
    must(a->threads == b->threads && a->system == b->system && a->n_roots == b->n_roots);
    for (size_t i = 0; i < a->n_roots; i++) {
        const struct cell_root *x = &a->roots[i];
        const struct cell_root *y = &b->roots[i];
        must(same_text(x->host, y->host) && same_text(x->inside, y->inside));
        must(same_text(x->protect, y->protect) && x->writable == y->writable);
        must(x->device == y->device && x->inode == y->inode && x->born_ns == y->born_ns && x->uid == y->uid &&
             x->gid == y->gid);
    }
}

static void check_plan(const struct cell_spec *spec)
{
    struct plan plan;
    plan_make(spec, NULL, 0, "/tmp", &plan);
    for (size_t i = 0; i < plan.count; i++) {
        const struct step *s = &plan.steps[i];
        must(s->kind != STEP_CLONE || s->readonly || s->device ||
             (s->root >= 0 && spec->roots[s->root].writable));
    }
    must(spec->commands || plan.steps[plan.count - 1].kind == STEP_SEAL);
    plan_done(&plan);
}

static void check_spec(struct str text)
{
    struct err err;
    CLEANUP(spec_done) struct cell_spec spec = {0};
    CLEANUP(spec_done) struct cell_spec again = {0};
    if (spec_read(text, &spec, &err) < 0)
        return;
    must(spec.uid && spec.gid && spec.threads && spec.n_roots && spec.n_roots <= ROOTS_MAX);
    BUF_AT_END struct buf out = BUF_INIT(1u << 20);
    struct json_out j = {.out = &out};
    spec_write(&spec, &j);
    must(!out.failed && spec_read(buf_str(&out), &again, &err) == 0);
    check_same(&spec, &again);
    check_plan(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct str rest = {(const char *)data + 1, size - 1};
    switch (data[0]) {
    case 0:
        check_message(rest);
        break;
    case 1:
    case 2:
        check_call(rest, data[0] == 2);
        break;
    case 3:
        check_spec(rest);
        break;
    default:
        check_built(rest);
    }
    return 0;
}
