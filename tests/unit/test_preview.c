/* Previews of writes, edits, front matter and deletions: what they show, and that they fail as the thing itself. */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>

#include "work_calls.h"

#define HASH_OF_HELLO                                                                              \
    "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" /* hello\n */

#define HASH_OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static struct op_preview_request request(enum preview_of of, const char *path)
{
    return (struct op_preview_request){
        .path = text(path), .of = of, .max_bytes = 64 << 20, .recursive = true};
}

static int look(const struct op_preview_request *q, struct str body, struct op_preview_reply *ret,
                struct err *err)
{
    union op_request any = {.preview = *q};
    union op_reply reply = {0};
    *err = (struct err){0};
    buf_reset(&work.body, 0);
    int r = work_ops[OP_PREVIEW](&work, &any, body, &reply, err);
    *ret = reply.preview;
    return r;
}

static struct op_preview_reply must_look(const struct op_preview_request *q, struct str body)
{
    struct op_preview_reply reply;
    struct err err;
    if (look(q, body, &reply, &err) < 0)
        fail_msg("%s: %s", q->path.p, err.message);
    return reply;
}

static void put_bytes(const char *path, struct str bytes)
{
    FD_AT_END int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, bytes.p, bytes.n), 0);
}

static void assert_diff(const char *diff)
{
    struct str got = buf_str(&work.body);
    if (got.n != strlen(diff) || memcmp(got.p, diff, got.n) != 0)
        fail_msg("the diff is\n%.*s", (int)got.n, got.p);
}

static void a_new_file(void **state)
{
    (void)state;
    struct op_preview_request q = request(PREVIEW_WRITE, "a/b/new");
    struct op_preview_reply r = must_look(&q, STR("one\ntwo"));
    assert_false(r.exists || r.decoded || r.cut);
    assert_null(r.sha256_before.p);
    assert_int_equal(r.bytes_before, 0);
    assert_int_equal(r.bytes_after, 7);
    assert_diff("--- a/a/b/new\n+++ b/a/b/new\n@@ -0,0 +1,2 @@\n+one\n+two\n"
                "\\ No newline at end of file\n");
    /* Not even the folders. */
    assert_false(is_there("w/a"));
    q.append = true;
    r = must_look(&q, STR(""));
    assert_false(r.exists || r.decoded || r.cut);
    assert_diff("");
    q = request(PREVIEW_WRITE, "new");
    q.create_only = true;
    r = must_look(&q, STR("x\n"));
    assert_false(r.exists);
    assert_diff("--- a/new\n+++ b/new\n@@ -0,0 +1 @@\n+x\n");
    assert_false(is_there("w/new"));
}

static void a_file_that_is_there(void **state)
{
    (void)state;
    put("w/f", "hello\n");
    struct op_preview_request q = request(PREVIEW_WRITE, "f");
    struct op_preview_reply r = must_look(&q, STR("bye\n"));
    assert_true(r.exists);
    assert_memory_equal(r.sha256_before.p, HASH_OF_HELLO, HASH_HEX);
    assert_int_equal(r.bytes_before, 6);
    assert_int_equal(r.bytes_after, 4);
    assert_diff("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-hello\n+bye\n");
    r = must_look(&q, STR("hello\n"));
    assert_false(r.decoded || r.cut);
    assert_diff("");
    r = must_look(&q, STR(""));
    assert_int_equal(r.bytes_after, 0);
    assert_diff("--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-hello\n");
    q.append = true;
    r = must_look(&q, STR("more\n"));
    assert_int_equal(r.bytes_after, 11);
    assert_memory_equal(r.sha256_before.p, HASH_OF_HELLO, HASH_HEX);
    assert_diff("--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n hello\n+more\n");
    q.if_match = STR(HASH_OF_HELLO);
    must_look(&q, STR("more\n"));
    /* Through a link it is the file that the link leads to. */
    put_link("w/l", "f");
    q = request(PREVIEW_WRITE, "l");
    r = must_look(&q, STR("bye\n"));
    assert_memory_equal(r.sha256_before.p, HASH_OF_HELLO, HASH_HEX);
    char now[64];
    struct err err;
    assert_int_equal(read_through("f", now, &err), 0);
    assert_string_equal(now, "hello\n");
}

static void an_empty_file(void **state)
{
    (void)state;
    put("w/f", "");
    struct op_preview_request q = request(PREVIEW_WRITE, "f");
    struct op_preview_reply r = must_look(&q, STR("x\n"));
    assert_true(r.exists && r.sha256_before.n == HASH_HEX);
    assert_diff("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+x\n");
}

#define HEAD "--- a/f\n+++ b/f\n"

static void bytes_and_encodings(void **state)
{
    (void)state;
    const struct {
        struct str before;
        struct str after;
        bool decoded;
        struct str diff;
    } cases[] = {
        {STR("a\0b\n"), STR("a\n"), false, STR(HEAD "@@ -1 +1 @@\n-a\0b\n+a\n")},
        {STR("a\n"), STR("a\0b\n"), false, STR(HEAD "@@ -1 +1 @@\n-a\n+a\0b\n")},
        {STR(""), STR("#!/bin/sh\nid\n\0"), false,
         STR(HEAD "@@ -0,0 +1,3 @@\n+#!/bin/sh\n+id\n+\0\n\\ No newline at end of file\n")},
        {STR("caf\xe9\n"), STR("caf\xe8\n"), false, STR(HEAD "@@ -1 +1 @@\n-caf\xe9\n+caf\xe8\n")},
        {STR("\xff\xfe"
             "a\0\n\0"),
         STR("\xff\xfe"
             "b\0\n\0"),
         true,
         STR(HEAD "@@ -1 +1 @@\n-\xef\xbb\xbf"
                  "a\n+\xef\xbb\xbf"
                  "b\n")},
        {STR("\xfe\xff\0a\0\n"), STR("\xfe\xff\0a\0\n\0b"), true,
         STR(HEAD "@@ -1 +1,2 @@\n \xef\xbb\xbf"
                  "a\n+b\n\\ No newline at end of file\n")},
        {STR(""),
         STR("\xff\xfe"
             "\nid\n\0\0"),
         true,
         STR(HEAD
             "@@ -0,0 +1 @@\n+\xef\xbb\xbf\xe6\xa4\x8a\xe0\xa9\xa4\0\n\\ No newline at end of file\n")},
        /* What a diff of the text would not show is one of bytes. */
        {STR("\xff\xfe"
             "a\0\n"),
         STR("\xff\xfe"
             "a\0\nx\n"),
         false,
         STR(HEAD "@@ -1 +1,2 @@\n \xff\xfe"
                  "a\0\n+x\n")},
        {STR("\xff\xfe"
             "\n\n"),
         STR("\xef\xbb\xbf"
             "\n"),
         false, STR(HEAD "@@ -1,2 +1 @@\n-\xff\xfe\n-\n+\xef\xbb\xbf\n")},
        {STR("\xff\xfe"
             "\n\n"),
         STR("\xfe\xff\n\n"), false, STR(HEAD "@@ -1,2 +1,2 @@\n-\xff\xfe\n+\xfe\xff\n \n")},
        {STR("\xff\xfe\0\0"),
         STR("\xff\xfe"
             "a\0"),
         true,
         STR(HEAD "@@ -1 +1 @@\n-\xef\xbb\xbf\0\n\\ No newline at end of file\n+\xef\xbb\xbf"
                  "a\n\\ No newline at end of file\n")},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put_bytes("w/f", cases[i].before);
        struct op_preview_request q = request(PREVIEW_WRITE, "f");
        struct op_preview_reply r = must_look(&q, cases[i].after);
        if (r.decoded != cases[i].decoded)
            fail_msg("case %zu", i);
        assert_int_equal(r.bytes_after, cases[i].after.n);
        assert_int_equal(work.body.len, cases[i].diff.n);
        assert_memory_equal(work.body.data, cases[i].diff.p, cases[i].diff.n);
    }
}

static void add_lines(struct buf *out, int n)
{
    for (int i = 0; i < n; i++)
        buf_addf(out, "line %d of a file that is not short\n", i);
}

/* A file of ten thousand lines is no exception. */
static void a_long_diff_is_whole(void **state)
{
    (void)state;
    BUF_AT_END struct buf after = BUF_INIT(1 << 20);
    put("w/f", "hello\n");
    add_lines(&after, 20000);
    struct op_preview_request q = request(PREVIEW_WRITE, "f");
    struct op_preview_reply r = must_look(&q, buf_str(&after));
    assert_true(!r.cut);
    assert_true(work.body.len > after.len + 20000);
    assert_non_null(memmem(work.body.data, work.body.len, "+line 19999 of", 14));
}

static void a_very_long_diff_is_cut(void **state)
{
    (void)state;
    BUF_AT_END struct buf after = BUF_INIT(32 << 20);
    put("w/f", "hello\n");
    add_lines(&after, 250000);
    struct op_preview_request q = request(PREVIEW_WRITE, "f");
    struct op_preview_reply r = must_look(&q, buf_str(&after));
    assert_true(r.cut);
    assert_true(work.body.len > OP_PREVIEW_DIFF_MAX - 200 && work.body.len <= OP_PREVIEW_DIFF_MAX);
    assert_int_equal(r.bytes_after, after.len);
    assert_non_null(memmem(work.body.data, work.body.len, "the diff is longer", 18));
}

static void a_very_large_file(void **state)
{
    (void)state;
    put("w/f", "");
    assert_int_equal(truncate("w/f", 33 << 20), 0);
    struct op_preview_request q = request(PREVIEW_WRITE, "f");
    struct op_preview_reply r = must_look(&q, STR("x"));
    assert_true(r.exists && r.cut);
    assert_int_equal(r.bytes_before, 33 << 20);
    assert_int_equal(r.bytes_after, 1);
    /* Of 33 MiB of zeros. */
    char hash[HASH_HEX + 1];
    FREE_AT_END char *zeros = mem_zero(33 << 20);
    hash_hex(zeros, 33 << 20, hash);
    assert_memory_equal(r.sha256_before.p, hash, HASH_HEX);
    q.append = true;
    r = must_look(&q, STR("x"));
    assert_true(r.cut);
    assert_int_equal(r.bytes_after, (33 << 20) + 1);
    assert_diff("");
    struct err err;
    q.max_bytes = 33 << 20;
    assert_int_equal(look(&q, STR("x"), &r, &err), -1);
    assert_int_equal(err.code, ERR_TOO_LARGE);
}

static struct str one_edit(struct buf *body, const char *old, const char *new)
{
    op_edit_add(body, &(struct op_edit){text(old), text(new), false});
    return buf_str(body);
}

static void edits_and_front_matter(void **state)
{
    (void)state;
    BUF_AT_END struct buf edits = BUF_INIT(1000);
    put("w/f", "hello\n");
    struct op_preview_request q = request(PREVIEW_EDIT, "f");
    struct op_preview_reply r = must_look(&q, one_edit(&edits, "ell", "ipp"));
    assert_true(r.exists);
    assert_memory_equal(r.sha256_before.p, HASH_OF_HELLO, HASH_HEX);
    assert_int_equal(r.bytes_before, 6);
    assert_int_equal(r.bytes_after, 6);
    assert_diff("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-hello\n+hippo\n");
    put("w/f", "---\nk: 1\n---\ntext\n");
    q = request(PREVIEW_FRONTMATTER, "f");
    r = must_look(&q, STR("{\"k\":{\"set\":2}}"));
    assert_diff("--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n ---\n-k: 1\n+k: 2\n ---\n text\n");
    /* An edit of UTF-16 shows text. */
    put_bytes("w/f", STR("\xff\xfe"
                         "a\0"));
    buf_reset(&edits, 0);
    q = request(PREVIEW_EDIT, "f");
    r = must_look(&q, one_edit(&edits, "a", "b"));
    assert_true(r.decoded);
    assert_non_null(memmem(work.body.data, work.body.len,
                           "+\xef\xbb\xbf"
                           "b",
                           5));
}

static void deletions(void **state)
{
    (void)state;
    struct err err;
    struct op_preview_reply r;
    assert_int_equal(mkdir("w/d", 0755) | mkdir("w/d/.git", 0755) | mkdir("w/d/e", 0755), 0);
    assert_int_equal(mkdir("w/empty", 0755) | mkfifo("w/p", 0600), 0);
    put("w/f", "hello\n");
    put("w/d/.git/x", "");
    put("w/d/e/.hidden", "");
    put_link("w/d/l", "../../out");
    struct op_preview_request q = request(PREVIEW_DELETE, "f");
    r = must_look(&q, STR(""));
    assert_true(r.exists && r.type == TYPE_FILE && r.bytes_before == 6 && r.entries == 1);
    assert_null(r.sha256_before.p);
    q.path = STR("d");
    r = must_look(&q, STR(""));
    assert_true(r.type == TYPE_DIRECTORY && r.entries == 6 && !r.cut);
    q.path = STR("d/l");
    r = must_look(&q, STR(""));
    assert_true(r.type == TYPE_SYMLINK && r.entries == 1);
    q.path = STR("p");
    r = must_look(&q, STR(""));
    assert_true(r.type == TYPE_OTHER && r.entries == 1);
    q.recursive = false;
    q.path = STR("empty");
    r = must_look(&q, STR(""));
    assert_true(r.type == TYPE_DIRECTORY && r.entries == 1);
    q.path = STR("d");
    assert_int_equal(look(&q, STR(""), &r, &err), -1);
    assert_string_equal(err.reason, "not_empty");
    assert_true(is_there("w/f") && is_there("w/d/.git/x") && is_there("w/empty"));
}

static void very_many_entries(void **state)
{
    (void)state;
    assert_int_equal(mkdir("w/d", 0755), 0);
    for (int i = 0; i < OP_PREVIEW_ENTRIES_MAX; i++) {
        FREE_AT_END char *path = mem_format("w/d/%d", i);
        assert_int_equal(mknod(path, S_IFREG | 0644, 0), 0);
    }
    struct op_preview_request q = request(PREVIEW_DELETE, "d");
    struct op_preview_reply r = must_look(&q, STR(""));
    assert_true(r.entries == OP_PREVIEW_ENTRIES_MAX && r.cut);
    assert_int_equal(unlink("w/d/7"), 0);
    r = must_look(&q, STR(""));
    assert_true(r.entries == OP_PREVIEW_ENTRIES_MAX && !r.cut);
}

/* The preview and then the thing itself; whether it was done. */
static bool both(const char *what, const struct op_preview_request *q, struct str body)
{
    static const enum op_id ops[] = {OP_WRITE, OP_EDIT, OP_FRONTMATTER, OP_DELETE};
    union op_request real = {0};
    struct op_preview_reply preview;
    union op_reply reply = {0};
    struct err expected;
    struct err err = {0};
    if (q->of == PREVIEW_WRITE)
        real.write = (struct op_write_request){.path = q->path,
                                               .tag = STR("t"),
                                               .if_match = q->if_match,
                                               .max_bytes = q->max_bytes,
                                               .no_links = q->no_links,
                                               .create_only = q->create_only,
                                               .append = q->append};
    else if (q->of == PREVIEW_DELETE)
        real.delete = (struct op_delete_request){
            .path = q->path, .tag = STR("t"), .recursive = q->recursive, .no_links = q->no_links};
    else
        real.change = (struct op_change_request){.path = q->path,
                                                 .tag = STR("t"),
                                                 .if_match = q->if_match,
                                                 .max_bytes = q->max_bytes,
                                                 .dry_run = q->dry_run};
    int told = look(q, body, &preview, &expected);
    assert_true(told == 0 || work.body.len == 0);
    buf_reset(&work.body, 0);
    int r = work_ops[ops[q->of]](&work, &real, body, &reply, &err);
    if (told != r || expected.code != err.code || strcmp(expected.reason, err.reason) != 0 ||
        strcmp(expected.message, err.message) != 0)
        fail_msg("%s: told %s, was %s", what, told < 0 ? expected.message : "done",
                 r < 0 ? err.message : "done");
    return r == 0;
}

static void make_obstacles(void)
{
    assert_int_equal(mkdir("w/d", 0755) | mkdir("w/locked", 0755) | mkfifo("w/p", 0600), 0);
    put("w/f", "hello\n");
    put("w/d/f", "hello\n");
    put("w/readonly", "hello\n");
    put("w/locked/f", "hello\n");
    put("w/.env", "hello\n");
    put("w/.rc", "hello\n");
    put_link("w/l", "f");
    put_link("w/to_env", ".env");
    put_link("w/to_d", "d");
    put_link("w/out", "../out/secret");
    put_link("w/self", "self");
    put_link("w/nowhere", "no/new");
    assert_int_equal(chmod("w/readonly", 0444) | chmod("w/locked", 0555), 0);
}

static const char *const obstacles[] = {
    "f",       "d",     "p",   "readonly", "locked/f", "locked/new", "locked/a/b", ".env",
    ".rc",     ".rc/x", "l",   "to_env",   "to_d/f",   "to_d/new",   "out",        "self",
    "nowhere", ".",     "f/x", "d/../f",   "no/.env",  "no/.env/x",  "no/new",     "to_d/.env",
};

static void use_rules(void)
{
    BUF_AT_END struct buf packed = BUF_INIT(1000);
    struct err err;
    guard_pack(&packed, GUARD_SECRET, STR(".env"));
    guard_pack(&packed, GUARD_PROTECTED, STR(".rc"));
    work.guard = guard_new(buf_str(&packed), &err);
    assert_non_null(work.guard);
}

/* Ways to use one. */
static const struct way {
    enum preview_of of;
    const char *if_match;
    int64_t max_bytes;
    bool create_only, append, no_links, dry_run, recursive;
} ways[] = {
    {PREVIEW_WRITE},
    {PREVIEW_WRITE, .create_only = true},
    {PREVIEW_WRITE, .append = true},
    {PREVIEW_WRITE, .no_links = true},
    {PREVIEW_WRITE, .if_match = HASH_OF_HELLO},
    {PREVIEW_WRITE, .if_match = HASH_OF_NOTHING, .append = true},
    {PREVIEW_WRITE, .max_bytes = 8, .append = true},
    {PREVIEW_WRITE, .max_bytes = 2},
    {PREVIEW_EDIT},
    {PREVIEW_EDIT, .if_match = HASH_OF_HELLO},
    {PREVIEW_EDIT, .if_match = HASH_OF_NOTHING},
    {PREVIEW_EDIT, .max_bytes = 2},
    {PREVIEW_EDIT, .dry_run = true},
    {PREVIEW_FRONTMATTER},
    {PREVIEW_DELETE},
    {PREVIEW_DELETE, .recursive = true},
    {PREVIEW_DELETE, .no_links = true},
};

/* Whether it was done, and the folder is not what it was. */
static bool try_obstacle(const char *path, const struct way *way, bool as_named)
{
    BUF_AT_END struct buf edits = BUF_INIT(1000);
    FREE_AT_END char *what = mem_format("%s %s, way %td%s", preview_of_names[way->of], path,
                                        way - ways, as_named ? ", as named" : "");
    struct op_preview_request q = {
        .path = text(path),
        .of = way->of,
        .max_bytes = way->max_bytes ? way->max_bytes : 1000,
        .create_only = way->create_only,
        .append = way->append,
        .no_links = way->no_links,
        .dry_run = way->dry_run,
        .recursive = way->recursive,
    };
    if (way->if_match)
        q.if_match = text(way->if_match);
    struct str body = q.of == PREVIEW_EDIT          ? one_edit(&edits, "ell", "ipp")
                      : q.of == PREVIEW_FRONTMATTER ? STR("{\"k\":{\"set\":2}}")
                                                    : STR("new");
    work.as_named = as_named;
    return both(what, &q, body);
}

static void set_up_obstacles(void **state)
{
    assert_int_equal(work_set_up(state), 0);
    make_obstacles();
    use_rules();
}

static void tear_down_obstacles(void **state)
{
    guard_unref(TAKE_PTR(work.guard));
    assert_int_equal(chmod("w/locked", 0755), 0);
    assert_int_equal(work_tear_down(state), 0);
}

static void it_fails_as_the_thing_itself(void **state)
{
    size_t done = 0;
    set_up_obstacles(state);
    for (size_t i = 0; i < ARRAY_LEN(obstacles) * ARRAY_LEN(ways) * 2; i++) {
        const struct way *way = &ways[i / 2 % ARRAY_LEN(ways)];
        if (!try_obstacle(obstacles[i / 2 / ARRAY_LEN(ways)], way, i & 1))
            continue;
        done++;
        tear_down_obstacles(state);
        set_up_obstacles(state);
    }
    tear_down_obstacles(state);
    /* Some of each, or nothing was tested. */
    assert_true(done > 20 && done < 300);
}

static void a_folder_that_is_read_only(void **state)
{
    (void)state;
    struct op_preview_reply r;
    struct err err;
    put("w/f", "hello\n");
    root.writable = false;
    for (int of = PREVIEW_WRITE; of <= PREVIEW_DELETE; of++) {
        struct op_preview_request q = request((enum preview_of)of, "f");
        assert_int_equal(look(&q, STR(""), &r, &err), -1);
        assert_string_equal(err.reason, "read_only_mount");
        both("read-only", &q, STR(""));
    }
}

static void it_can_be_cancelled(void **state)
{
    (void)state;
    struct op_preview_reply r;
    struct err err;
    put("w/f", "hello\n");
    assert_int_equal(mkdir("w/d", 0755), 0);
    put("w/d/f", "");
    atomic_store(&cancelled, true);
    struct op_preview_request q = request(PREVIEW_WRITE, "f");
    assert_int_equal(look(&q, STR("x"), &r, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    q = request(PREVIEW_DELETE, "d");
    assert_int_equal(look(&q, STR(""), &r, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(a_new_file),
        WORK_TEST(a_file_that_is_there),
        WORK_TEST(an_empty_file),
        WORK_TEST(bytes_and_encodings),
        WORK_TEST(a_long_diff_is_whole),
        WORK_TEST(a_very_long_diff_is_cut),
        WORK_TEST(a_very_large_file),
        WORK_TEST(edits_and_front_matter),
        WORK_TEST(deletions),
        WORK_TEST(very_many_entries),
        cmocka_unit_test(it_fails_as_the_thing_itself),
        WORK_TEST(a_folder_that_is_read_only),
        WORK_TEST(it_can_be_cancelled),
    };
    return cmocka_run_group_tests_name("preview", tests, NULL, NULL);
}
