/* Files that do not tell their size, and files that grow: all of them is read, or the call fails. */
#include <cmocka.h>

#include "work/to_end.h"
#include "work_calls.h"

#define UNSIZED "/proc/version"

static struct str content_of(const char *path, struct buf *into)
{
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(buf_reserve(into, into->max), 0);
    ssize_t n = fd_read_upto(fd, into->data, into->max);
    assert_true(n > 0);
    into->len = (size_t)n;
    return buf_str(into);
}

static void the_hash_is_that_of_the_content(void **state)
{
    (void)state;
    BUF_AT_END struct buf content = BUF_INIT(4096);
    char expected[HASH_HEX + 1];
    char hash[HASH_HEX + 1];
    struct err err;
    struct str bytes = content_of(UNSIZED, &content);
    hash_hex(bytes.p, bytes.n, expected);
    FD_AT_END int fd = open(UNSIZED, O_RDONLY | O_CLOEXEC);
    assert_int_equal(work_hash_file(&work, fd, 0, UNSIZED, hash, &err), 0);
    assert_string_equal(hash, expected);
}

static void what_was_added_since_is_hashed_too(void **state)
{
    (void)state;
    BUF_AT_END struct buf content = BUF_INIT(3 * WORK_CHUNK + 1);
    char expected[HASH_HEX + 1];
    char hash[HASH_HEX + 1];
    struct err err;
    while (content.len < 3 * WORK_CHUNK)
        buf_add_char(&content, 'x');
    put("w/grown", buf_text(&content));
    hash_hex(content.data, content.len, expected);
    FD_AT_END int fd = open("w/grown", O_RDONLY | O_CLOEXEC);
    assert_int_equal(work_hash_file(&work, fd, 1, "grown", hash, &err), 0);
    assert_string_equal(hash, expected);
}

static void a_file_without_end_is_given_up(void **state)
{
    (void)state;
    char hash[HASH_HEX + 1];
    struct err err;
    FD_AT_END int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_int_equal(work_hash_file(&work, fd, 5, "zero", hash, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
}

/* An edit of a file of procfs, as it would be. */
static int edit_unsized(const char *old_text, int64_t max, struct err *err)
{
    BUF_AT_END struct buf edits = BUF_INIT(1 << 10);
    union op_request q = {
        .change = {.path = STR("version"), .tag = STR("t"), .max_bytes = max, .dry_run = true}};
    union op_reply reply = {0};
    close(root.fd);
    root.fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    op_edit_add(&edits, &(struct op_edit){text(old_text), STR("BSD version"), false});
    buf_reset(&work.body, 1 << 16);
    return work_ops[OP_EDIT](&work, &q, buf_str(&edits), &reply, err);
}

static void a_file_that_tells_no_size_is_edited_as_it_is(void **state)
{
    (void)state;
    struct err err = {0};
    assert_done(edit_unsized("Linux version", 1 << 20, &err), &err, "the edit");
    assert_non_null(strstr(buf_text(&work.body), "+BSD version"));
}

static void a_file_that_tells_no_size_may_be_too_large(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(edit_unsized("Linux version", 5, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(the_hash_is_that_of_the_content),
        WORK_TEST(what_was_added_since_is_hashed_too),
        WORK_TEST(a_file_without_end_is_given_up),
        WORK_TEST(a_file_that_tells_no_size_is_edited_as_it_is),
        WORK_TEST(a_file_that_tells_no_size_may_be_too_large),
    };
    return cmocka_run_group_tests_name("to_end", tests, NULL, NULL);
}
