#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/frame.h"
#include "json_text.h"
#include "random.h"

#define HEADER 24

static int gate = -1;
static int cell = -1;
static char buffer[FRAME_BYTES_MAX];

static int connect_pair(void **state)
{
    (void)state;
    int pair[2];
    int room = 4 << 20;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    gate = pair[0];
    cell = pair[1];
    return 0;
}

static int close_pair(void **state)
{
    (void)state;
    fd_closep(&gate);
    fd_closep(&cell);
    return 0;
}

static void assert_same(const struct frame *a, const struct frame *b)
{
    assert_int_equal(a->type, b->type);
    assert_true(a->token == b->token);
    assert_int_equal(a->head.n, b->head.n);
    assert_int_equal(a->body.n, b->body.n);
    if (a->head.n)
        assert_memory_equal(a->head.p, b->head.p, a->head.n);
    if (a->body.n)
        assert_memory_equal(a->body.p, b->body.p, a->body.n);
}

static size_t interesting_size(size_t max)
{
    const size_t sizes[] = {0, 1, 100, 4071, 4072, 4073, 4096, max - 1, max, random_below(max)};
    return sizes[random_below(ARRAY_LEN(sizes))];
}

static void frames_arrive_as_they_were_sent(void **state)
{
    (void)state;
    static char head[FRAME_HEAD_MAX];
    static char body[FRAME_BODY_MAX];
    random_bytes(head, sizeof head);
    random_bytes(body, sizeof body);
    for (unsigned i = 0; i < random_rounds(500); i++) {
        struct frame sent = {
            .type = (enum frame_type)(FRAME_CALL + random_below(FRAME_TYPE_END - FRAME_CALL)),
            .token = random_next(),
            .head = {head, interesting_size(sizeof head)},
            .body = {body, interesting_size(sizeof body)},
        };
        struct frame got;
        int fd = 99;
        assert_int_equal(frame_send(gate, &sent, -1), 0);
        if (i & 1)
            assert_int_equal(frame_poll(cell, buffer, &got), 1);
        else
            assert_int_equal(frame_receive(cell, buffer, 0, &got, &fd), 1);
        assert_same(&sent, &got);
        assert_int_equal(fd, i & 1 ? 99 : -1);
    }
}

static void parts_may_be_missing(void **state)
{
    (void)state;
    struct frame sent = {.type = FRAME_CANCEL, .token = 7};
    struct frame got;
    assert_int_equal(frame_send(gate, &sent, -1), 0);
    assert_int_equal(frame_receive(cell, buffer, 0, &got, NULL), 1);
    assert_same(&sent, &got);
    sent.body = STR("only a body");
    assert_int_equal(frame_send(gate, &sent, -1), 0);
    assert_int_equal(frame_receive(cell, buffer, 0, &got, NULL), 1);
    assert_same(&sent, &got);
}

static void what_is_too_large_is_not_sent(void **state)
{
    (void)state;
    struct frame frame = {.type = FRAME_CALL, .head = {buffer, FRAME_HEAD_MAX + 1}};
    assert_int_equal(frame_send(gate, &frame, -1), -EMSGSIZE);
    frame = (struct frame){.type = FRAME_CALL, .body = {buffer, FRAME_BODY_MAX + 1}};
    assert_int_equal(frame_send(gate, &frame, -1), -EMSGSIZE);
    assert_int_equal(frame_poll(cell, buffer, &frame), -EAGAIN);
}

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static int memory_file(const char *text)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
    return fd;
}

static void a_descriptor_goes_along(void **state)
{
    (void)state;
    int before = open_descriptors();
    FD_AT_END int file = memory_file("content");
    struct frame sent = {.type = FRAME_CALL, .token = 1, .head = STR("{}")};
    struct frame got;
    FD_AT_END int passed = -1;
    char text[16];
    assert_int_equal(frame_send(gate, &sent, file), 0);
    assert_int_equal(frame_receive(cell, buffer, 0, &got, &passed), 1);
    assert_same(&sent, &got);
    assert_true(passed >= 0 && passed != file);
    assert_int_equal(pread(passed, text, sizeof text, 0), 7);
    assert_memory_equal(text, "content", 7);
    assert_true(fcntl(passed, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(open_descriptors(), before + 2);
}

static void a_descriptor_nobody_wants_is_closed(void **state)
{
    (void)state;
    FD_AT_END int file = memory_file("content");
    int before = open_descriptors();
    struct frame sent = {.type = FRAME_CALL, .token = 1, .head = STR("{}")};
    struct frame got;
    assert_int_equal(frame_send(gate, &sent, file), 0);
    assert_int_equal(frame_receive(cell, buffer, 0, &got, NULL), 1);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(frame_send(gate, &sent, file), 0);
    assert_int_equal(frame_poll(cell, buffer, &got), 1);
    assert_same(&sent, &got);
    assert_int_equal(open_descriptors(), before);
}

/* A message made by hand, with descriptors. */
static void send_bytes(const void *bytes, size_t n, const int *fds, size_t n_fds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = {0};
    char copy[FRAME_BYTES_MAX + 64];
    memcpy(copy, bytes, n);
    struct iovec part = {copy, n};
    struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
    if (n_fds) {
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
    }
    assert_int_equal(sendmsg(gate, &msg, 0), n);
}

/* The bytes of a frame as they are on the socket. */
static size_t bytes_of(const struct frame *frame, char *out)
{
    assert_int_equal(frame_send(gate, frame, -1), 0);
    ssize_t n = recv(cell, out, FRAME_BYTES_MAX, 0);
    assert_true(n >= HEADER);
    return (size_t)n;
}

static const struct frame sample = {.type = FRAME_RESULT,
                                    .token = 0x0102030405060708,
                                    .head = {"{\"a\":1}", 7},
                                    .body = {"content", 7}};

static void more_descriptors_than_one_leave_nothing_behind(void **state)
{
    (void)state;
    char bytes[FRAME_BYTES_MAX];
    size_t n = bytes_of(&sample, bytes);
    int fds[16];
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = memory_file("x");
    int before = open_descriptors();
    for (size_t count = 2; count <= ARRAY_LEN(fds); count++) {
        struct frame got;
        int passed = -1;
        send_bytes(bytes, n, fds, count);
        int r = frame_receive(cell, buffer, 0, &got, &passed);
        assert_true(r == 1 || r == -EPROTO);
        assert_int_equal(passed >= 0, r == 1);
        fd_closep(&passed);
        assert_int_equal(open_descriptors(), before);
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
}

/* The frame arrives, and says that its descriptor did not: that is no breach. */
static void a_descriptor_without_room_is_told(void **state)
{
    (void)state;
    FD_AT_END int file = memory_file("x");
    struct rlimit before;
    struct frame got;
    struct frame_fds fds;
    int passed = -1;
    assert_int_equal(frame_send(gate, &sample, file), 0);
    assert_int_equal(frame_send(gate, &sample, file), 0);
    FD_AT_END int lowest = open("/", O_PATH | O_CLOEXEC);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {(rlim_t)lowest, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int one = frame_receive(cell, buffer, 0, &got, &passed);
    int several = frame_receive_fds(cell, buffer, &got, &fds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(one, 1);
    assert_int_equal(passed, FRAME_FD_LOST);
    assert_int_equal(several, 1);
    assert_true(fds.lost && fds.n == 0);
    assert_same(&sample, &got);
}

static void a_bad_frame_leaves_no_descriptor(void **state)
{
    (void)state;
    FD_AT_END int file = memory_file("x");
    int before = open_descriptors();
    struct frame got;
    int passed = 55;
    send_bytes("nothing of a frame", 18, &file, 1);
    assert_int_equal(frame_receive(cell, buffer, 0, &got, &passed), -EPROTO);
    assert_int_equal(passed, 55);
    assert_int_equal(open_descriptors(), before);
}

static void several_frames_in_one_message(void **state)
{
    (void)state;
    random_begin();
    for (unsigned round = 0; round < random_rounds(300); round++) {
        BUF_AT_END struct buf message = BUF_INIT(FRAME_BYTES_MAX);
        char bodies[20][300];
        struct frame sent[20];
        size_t count = 1 + random_below(20);
        for (size_t i = 0; i < count; i++) {
            size_t n = random_below(sizeof bodies[i]);
            memset(bodies[i], (int)('a' + i), sizeof bodies[i]);
            sent[i] = (struct frame){
                FRAME_CALL, random_below(1000), {"{\"x\":1}", 7}, {bodies[i], n}};
            frame_add(&message, &sent[i]);
        }
        assert_int_equal(message_send(gate, buf_str(&message), -1), 0);
        ssize_t n = round % 2 ? message_poll(cell, buffer) : message_receive(cell, buffer, 0, NULL);
        assert_int_equal(n, message.len);
        struct str rest = {buffer, (size_t)n};
        struct frame got;
        for (size_t i = 0; i < count; i++) {
            assert_true(frame_next(&rest, &got));
            assert_int_equal(got.token, sent[i].token);
            assert_int_equal(got.body.n, sent[i].body.n);
            assert_memory_equal(got.body.p, sent[i].body.p, got.body.n);
        }
        assert_false(frame_next(&rest, &got));
        /* Cut or lengthened anywhere, nothing of it is taken, unless it is cut between two frames. */
        size_t cut = 1 + random_below(message.len - 1);
        size_t ends = 0;
        for (size_t i = 0; i < count && ends < cut; i++)
            ends += frame_bytes(&sent[i]);
        assert_int_equal(frame_check(message.data, cut), ends == cut ? 0 : -EPROTO);
        buf_add(&message, "S", 1);
        assert_int_equal(frame_check(message.data, message.len), -EPROTO);
    }
    assert_int_equal(frame_check("", 0), -EPROTO);
}

/* The kernel reports ECONNRESET first when a peer ends that has not read everything. */
static void what_a_peer_sent_before_it_ended_is_received(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    char bytes[FRAME_BYTES_MAX];
    size_t n = bytes_of(&sample, bytes);
    assert_int_equal(send(pair[0], bytes, n, 0), (ssize_t)n);
    assert_int_equal(send(pair[1], bytes, n, 0), (ssize_t)n);
    close(pair[1]);
    assert_int_equal(message_poll(pair[0], buffer), (ssize_t)n);
    assert_int_equal(message_poll(pair[0], buffer), 0);
    close(pair[0]);
}

static void a_frame_of_another_length_is_refused(void **state)
{
    (void)state;
    char bytes[FRAME_BYTES_MAX];
    size_t n = bytes_of(&sample, bytes);
    struct frame got;
    assert_int_equal(frame_parse(bytes, n, &got), 0);
    assert_same(&sample, &got);
    for (size_t cut = 0; cut < n; cut++)
        assert_int_equal(frame_parse(bytes, cut, &got), -EPROTO);
    for (size_t more = n + 1; more < n + 50; more++)
        assert_int_equal(frame_parse(bytes, more, &got), -EPROTO);
}

/* Lengths and kind are what they were, or the frame is refused: no change of one byte makes another
 * frame of the same bytes, but for the token and a kind that exists. */
static void a_spoiled_header_is_refused(void **state)
{
    (void)state;
    char bytes[FRAME_BYTES_MAX];
    size_t n = bytes_of(&sample, bytes);
    for (size_t at = 0; at < HEADER; at++) {
        for (unsigned flip = 1; flip < 256; flip++) {
            struct frame got;
            bytes[at] = (char)(bytes[at] ^ flip);
            int r = frame_parse(bytes, n, &got);
            bytes[at] = (char)(bytes[at] ^ flip);
            if (r == -EPROTO)
                continue;
            assert_int_equal(r, 0);
            assert_in_range(got.type, FRAME_CALL, FRAME_TYPE_END - 1);
            assert_true((got.type != sample.type) != (got.token != sample.token));
            assert_int_equal(got.head.n, sample.head.n);
            assert_int_equal(got.body.n, sample.body.n);
        }
    }
}

static void random_bytes_are_no_frame(void **state)
{
    (void)state;
    char bytes[FRAME_BYTES_MAX];
    size_t n = bytes_of(&sample, bytes);
    for (unsigned i = 0; i < random_rounds(200000); i++) {
        char spoiled[64];
        struct frame got;
        memcpy(spoiled, bytes, n);
        for (size_t k = 1 + random_below(6); k > 0; k--)
            spoiled[random_below(HEADER)] = (char)random_next();
        size_t length = random_below(n + 1);
        if (frame_parse(spoiled, length, &got) < 0)
            continue;
        assert_ptr_equal(got.head.p, spoiled + HEADER);
        assert_ptr_equal(got.body.p, got.head.p + got.head.n);
        assert_ptr_equal(got.body.p + got.body.n, spoiled + length);
    }
}

static void lengths_that_wrap_are_refused(void **state)
{
    (void)state;
    static const uint32_t lengths[][2] = {
        {UINT32_MAX, 15},     {15, UINT32_MAX},        {UINT32_MAX - 6, 20},
        {1u << 31, 1u << 31}, {FRAME_HEAD_MAX + 1, 0},
    };
    char bytes[FRAME_BYTES_MAX];
    size_t n = bytes_of(&sample, bytes);
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct frame got;
        memcpy(bytes + 16, lengths[i], 8);
        assert_int_equal(frame_parse(bytes, n, &got), -EPROTO);
    }
}

/* Cut at the end it would be a frame. */
static void a_message_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    static char bytes[FRAME_BYTES_MAX + 1];
    static char content[FRAME_BODY_MAX];
    struct frame largest = {FRAME_RESULT, 1, {content, FRAME_HEAD_MAX}, {content, FRAME_BODY_MAX}};
    struct frame got;
    assert_int_equal(bytes_of(&largest, bytes), FRAME_BYTES_MAX);
    for (int poll = 0; poll < 2; poll++) {
        assert_int_equal(send(gate, bytes, sizeof bytes, 0), sizeof bytes);
        assert_int_equal(poll ? frame_poll(cell, buffer, &got)
                              : frame_receive(cell, buffer, 0, &got, NULL),
                         -EPROTO);
    }
}

static void the_end_is_noticed(void **state)
{
    (void)state;
    struct frame got;
    assert_int_equal(frame_poll(cell, buffer, &got), -EAGAIN);
    assert_int_equal(frame_receive(cell, buffer, MSG_DONTWAIT, &got, NULL), -EAGAIN);
    fd_closep(&gate);
    assert_int_equal(frame_receive(cell, buffer, 0, &got, NULL), 0);
    assert_int_equal(frame_poll(cell, buffer, &got), 0);
    assert_int_equal(frame_send(cell, &sample, -1), -EPIPE);
}

/* A cell may send nothing, which reads like the end of the stream. */
static void an_empty_message_is_not_the_end(void **state)
{
    (void)state;
    struct frame got;
    assert_int_equal(send(gate, "", 0, 0), 0);
    assert_int_equal(frame_poll(cell, buffer, &got), -EPROTO);
    assert_int_equal(frame_send(gate, &sample, -1), 0);
    assert_int_equal(frame_poll(cell, buffer, &got), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, connect_pair, close_pair)

int main(void)
{
    random_begin();
    const struct CMUnitTest tests[] = {
        TEST(frames_arrive_as_they_were_sent),
        TEST(parts_may_be_missing),
        TEST(what_is_too_large_is_not_sent),
        TEST(a_descriptor_goes_along),
        TEST(a_descriptor_nobody_wants_is_closed),
        TEST(more_descriptors_than_one_leave_nothing_behind),
        TEST(a_bad_frame_leaves_no_descriptor),
        TEST(a_descriptor_without_room_is_told),
        TEST(several_frames_in_one_message),
        TEST(what_a_peer_sent_before_it_ended_is_received),
        TEST(a_frame_of_another_length_is_refused),
        TEST(a_spoiled_header_is_refused),
        TEST(random_bytes_are_no_frame),
        TEST(lengths_that_wrap_are_refused),
        TEST(a_message_that_does_not_fit_is_refused),
        TEST(the_end_is_noticed),
        TEST(an_empty_message_is_not_the_end),
    };
    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
