/* Reading files: windows of lines against a plain reading of the whole text, and how far is read. */
#include <cmocka.h>

#include "base/mem.h"
#include "random.h"
#include "work_calls.h"

#define BYTES_MAX 700000

static char content[BYTES_MAX + 1];
static size_t length;

static void make_content(void)
{
    static const size_t longest[] = {3, 80, 5000, 300000};
    size_t lines = longest[random_below(4)];
    length = random_below(4) ? random_below(BYTES_MAX) : random_below(300);
    for (size_t at = 0; at < length;) {
        size_t n = random_below((unsigned)lines) + 1;
        for (size_t i = 0; i < n && at < length; i++, at++)
            content[at] = (char)('a' + at % 26);
        if (at < length && random_below(20))
            content[at++] = '\n';
    }
    content[length] = '\0';
}

/* What the answer has to be. */
struct expected {
    size_t from;
    size_t bytes;
    int64_t end_line;
    int64_t total;
    bool truncated;
};

static struct expected plain(const struct op_read_request *q)
{
    int64_t first = q->start_line == ARG_ABSENT ? 1 : q->start_line;
    int64_t last = q->end_line == ARG_ABSENT ? INT64_MAX : q->end_line;
    struct expected e = {0};
    int64_t line = 1;
    for (size_t at = 0; at < length; line++) {
        const char *newline = memchr(content + at, '\n', length - at);
        size_t n = newline ? (size_t)(newline - (content + at)) + 1 : length - at;
        if (line == first)
            e.from = at;
        if (line >= first && line <= last && !e.truncated) {
            size_t room = (size_t)q->max_bytes - e.bytes;
            e.truncated = n > room;
            size_t kept = n > room ? room : n;
            e.bytes += kept;
            if (kept)
                e.end_line = line;
        }
        at += n;
    }
    e.total = line - 1;
    return e;
}

static void read_and_compare(const struct op_read_request *q)
{
    union op_request request = {.read = *q};
    union op_reply reply = {0};
    struct err err;
    buf_reset(&work.body, SIZE_MAX);
    if (work_read(&work, &request, STR(""), &reply, &err) < 0)
        fail_msg("%s", err.message);
    const struct op_read_reply *r = &reply.read;
    struct expected e = plain(q);
    bool whole = (int64_t)length <= q->whole_max;
    assert_int_equal(r->size, length);
    assert_int_equal(work.body.len, e.bytes);
    assert_true(e.bytes == 0 || memcmp(work.body.data, content + e.from, e.bytes) == 0);
    assert_int_equal(r->end_line, e.end_line);
    assert_int_equal(r->truncated, e.truncated);
    assert_true(r->total_lines == e.total || (!whole && r->total_lines == ARG_ABSENT));
    assert_int_equal(r->sha256.p != NULL,
                     whole && q->hash_max > 0 && (int64_t)length <= q->hash_max);
    char sha256[HASH_HEX + 1];
    hash_hex(content, length, sha256);
    assert_true(!r->sha256.p || memcmp(sha256, r->sha256.p, HASH_HEX) == 0);
}

static void windows(void **state)
{
    (void)state;
    random_begin();
    for (unsigned i = 0; i < random_rounds(400); i++) {
        if (i % 8 == 0) {
            make_content();
            put("w/a", content);
        }
        static const unsigned lines[] = {5, 1000, 300000};
        unsigned most = lines[random_below(3)];
        struct op_read_request q = {
            .path = STR("a"),
            .start_line = random_below(3) ? random_below(most) + 1 : ARG_ABSENT,
            .end_line = ARG_ABSENT,
            .max_bytes = random_below(2) ? random_below(100000) + 1 : random_below(20) + 1,
            .whole_max = random_below(2) ? BYTES_MAX : 0,
            .hash_max = random_below(2) * (random_below(2) ? BYTES_MAX : BYTES_MAX / 2),
        };
        if (random_below(3))
            q.end_line = (q.start_line == ARG_ABSENT ? 1 : q.start_line) + random_below(most);
        read_and_compare(&q);
    }
}

/* Behind the hole is what would be an error to reach: far more than a test has time for. */
static void no_more_than_is_asked_for(void **state)
{
    (void)state;
    put("w/a", "one\ntwo\n");
    assert_int_equal(truncate("w/a", (off_t)1 << 42), 0);
    union op_request request = {.read = {.path = STR("a"),
                                         .start_line = 2,
                                         .end_line = 2,
                                         .max_bytes = 100,
                                         .whole_max = 1 << 20,
                                         .hash_max = INT64_MAX}};
    union op_reply reply = {0};
    struct err err;
    assert_int_equal(work_read(&work, &request, STR(""), &reply, &err), 0);
    assert_int_equal(reply.read.total_lines, ARG_ABSENT);
    assert_null(reply.read.sha256.p);
    assert_true(reply.read.binary && work.body.len == 4);
    request.read.start_line = request.read.end_line = ARG_ABSENT;
    buf_reset(&work.body, SIZE_MAX);
    assert_int_equal(work_read(&work, &request, STR(""), &reply, &err), 0);
    assert_true(reply.read.truncated && work.body.len == 100);
    /* Line 3 has no end: the answer is full before. */
    request.read.start_line = 3;
    buf_reset(&work.body, SIZE_MAX);
    assert_int_equal(work_read(&work, &request, STR(""), &reply, &err), 0);
    assert_true(reply.read.truncated && work.body.len == 100);
    request.read.text_only = true;
    request.read.start_line = 4;
    buf_reset(&work.body, SIZE_MAX);
    assert_int_equal(work_read(&work, &request, STR(""), &reply, &err), 0);
    assert_true(reply.read.binary && work.body.len == 0);
}

/* A whole file of the system, whose size is not what fstat says, against reading it to its end. */
static void compare_odd_size(const char *folder_path, const char *name, int64_t max_bytes)
{
    static char expected[1 << 16];
    char path[200];
    char sha256[HASH_HEX + 1];
    snprintf(path, sizeof path, "%s/%s", folder_path, name);
    FD_AT_END int file = open(path, O_RDONLY | O_CLOEXEC);
    FD_AT_END int dir = open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    assert_true(file >= 0 && dir >= 0 && fstat(file, &st) == 0);
    ssize_t n = fd_read_upto(file, expected, sizeof expected);
    assert_true(n > 0 && n < (ssize_t)sizeof expected && n != st.st_size);
    size_t kept = n < max_bytes ? (size_t)n : (size_t)max_bytes;
    const struct beneath_root system = {dir, "/workspace", folder_path, false};
    work.roots = &system;
    union op_request request = {.read = {.path = text(name),
                                         .start_line = ARG_ABSENT,
                                         .end_line = ARG_ABSENT,
                                         .max_bytes = max_bytes,
                                         .whole_max = 1 << 20,
                                         .hash_max = 1 << 20}};
    union op_reply reply = {0};
    struct err err;
    buf_reset(&work.body, SIZE_MAX);
    if (work_read(&work, &request, STR(""), &reply, &err) < 0)
        fail_msg("%s: %s", path, err.message);
    hash_hex(expected, (size_t)n, sha256);
    assert_int_equal(reply.read.size, n);
    assert_int_equal(work.body.len, kept);
    assert_memory_equal(work.body.data, expected, kept);
    assert_int_equal(reply.read.truncated, kept < (size_t)n);
    assert_int_equal(reply.read.shrank, n < st.st_size);
    assert_true(reply.read.total_lines > 0);
    assert_true(reply.read.sha256.p && memcmp(reply.read.sha256.p, sha256, HASH_HEX) == 0);
}

static void files_that_tell_a_wrong_size(void **state)
{
    (void)state;
    compare_odd_size("/proc", "filesystems", 1 << 16);
    compare_odd_size("/proc", "filesystems", 10);
    compare_odd_size("/sys/devices/system/cpu", "online", 1 << 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(windows),
        WORK_TEST(no_more_than_is_asked_for),
        WORK_TEST(files_that_tell_a_wrong_size),
    };
    return cmocka_run_group_tests_name("read", tests, NULL, NULL);
}
