/* Every operation with every number of descriptors left: it does what it does with enough of them, or fails with
 * SESSION_BUSY. Nothing in between: no answer that leaves something out, no other error, nothing half done. */
#include <cmocka.h>
#include <errno.h>
#include <sys/resource.h>

#include "work/guard_trees.h"
#include "work_calls.h"

static struct guard_trees trees;

/* More than any of these needs. */
#define LEFT_MAX 60
/* So often it has to be done before more descriptors are taken to change nothing. */
#define DONE 3
#define DEEP "d/d/d/d/d/d/d/d/d/d"

static void make_tree(void)
{
    assert_int_equal(system("rm -rf w/* w/.g* w/.i* && mkdir -p w/a/b w/c/.git/info w/empty"), 0);
    put("w/a/b/x.txt", "one x\ntwo\n");
    put("w/a/y", "x\n");
    put("w/a/.gitignore", "ignored\n");
    put("w/a/b/.ignore", "other\n");
    put("w/a/ignored", "x\n");
    put("w/a/b/other", "x\n");
    put("w/c/.git/info/exclude", "left\n");
    put("w/c/left", "x\n");
    put("w/c/.env", "x\n");
    put("w/front", "---\ntitle: x\n---\nx\n");
    put_deep("w/a/b", 12);
    put("w/a/b/" DEEP "/z", "x\n");
    put_link("w/link", "a/b");
    put_link("w/a/deep", "b/" DEEP);
}

/* As many as there are, and `left` more. */
static void allow(int left)
{
    struct rlimit files;
    FD_AT_END int lowest = left < 0 ? -1 : open("/", O_PATH | O_CLOEXEC);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = left < 0 ? files.rlim_max : (rlim_t)(lowest + left);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

struct reader {
    const char *name;
    enum op_id op;
    union op_request request;
    const char *body;
};

/* The reply as text, its body behind it. */
static int ask(const struct reader *reader, struct buf *out, struct err *err)
{
    union op_reply reply = {0};
    struct json_out j = {.out = out};
    buf_reset(out, 1 << 20);
    buf_reset(&work.body, 1 << 20);
    /* Each scan is a first one. */
    guard_trees_init(&trees, -1);
    work.trees = &trees;
    int r = work_ops[reader->op](&work, &reader->request, text(reader->body), &reply, err);
    guard_trees_done(&trees);
    if (r < 0)
        return r;
    arg_encode(&op_table[reader->op].reply, &reply, &j);
    buf_add(out, work.body.data, work.body.len);
    return 0;
}

static void check_reader(const struct reader *reader)
{
    BUF_AT_END struct buf whole = BUF_INIT(1 << 20);
    BUF_AT_END struct buf got = BUF_INIT(1 << 20);
    struct err err;
    int failed = 0;
    allow(-1);
    assert_done(ask(reader, &whole, &err), &err, reader->name);
    for (int left = 0, done = 0; done < DONE && left < LEFT_MAX; left++) {
        allow(left);
        int r = ask(reader, &got, &err);
        allow(-1);
        if (r < 0 && err.code != ERR_SESSION_BUSY)
            fail_msg("%s with %d left: %s", reader->name, left, err.message);
        if (r == 0 && (got.len != whole.len || memcmp(got.data, whole.data, got.len) != 0))
            fail_msg("%s with %d left: another answer", reader->name, left);
        failed += r < 0;
        done += r == 0;
    }
    if (failed == 0 || failed == LEFT_MAX)
        fail_msg("%s failed %d times", reader->name, failed);
}

static void reading(void **state)
{
    (void)state;
#define PATH(text) .path = STR(text)
    const struct reader readers[] = {
        {"read",
         OP_READ,
         {.read = {PATH("a/b/x.txt"), .start_line = ARG_ABSENT, .end_line = ARG_ABSENT,
                   .max_bytes = 100}},
         ""},
        {"read by a link",
         OP_READ,
         {.read = {PATH("link/x.txt"), .start_line = ARG_ABSENT, .end_line = ARG_ABSENT,
                   .max_bytes = 100}},
         ""},
        {"read by two links",
         OP_READ,
         {.read = {PATH("a/deep/z"), .start_line = ARG_ABSENT, .end_line = ARG_ABSENT,
                   .max_bytes = 100}},
         ""},
        {"stat", OP_STAT, {.stat = {PATH("a/b/x.txt")}}, ""},
        {"stat a link", OP_STAT, {.stat = {PATH("link")}}, ""},
        {"list", OP_LIST, {.list = {PATH("a"), .hidden = true, .max_entries = 1000}}, ""},
        {"list all",
         OP_LIST,
         {.list = {PATH("."), .recursive = true, .hidden = true, .max_entries = 1000}},
         ""},
        {"list what is not ignored",
         OP_LIST,
         {.list = {PATH("."), .recursive = true, .ignore = true, .max_entries = 1000}},
         ""},
        {"list inside",
         OP_LIST,
         {.list = {PATH("a/b"), .recursive = true, .ignore = true, .max_entries = 1000}},
         ""},
        {"search",
         OP_SEARCH,
         {.search = {PATH("."), .pattern = STR("x"), .hidden = true, .max_matches = 100,
                     .threads = 1}},
         ""},
        {"search what is not ignored",
         OP_SEARCH,
         {.search = {PATH("."), .pattern = STR("x"), .ignore = true, .max_matches = 100,
                     .threads = 1}},
         ""},
        {"search inside",
         OP_SEARCH,
         {.search = {PATH("c"), .pattern = STR("x"), .ignore = true, .max_matches = 100,
                     .threads = 1}},
         ""},
        {"scan", OP_SCAN, {.scan = {PATH("."), .max_entries = 1000, .max_guarded = 100}}, ""},
        {"preview of a write",
         OP_PREVIEW,
         {.preview = {PATH("a/b/x.txt"), .of = PREVIEW_WRITE, .max_bytes = 100}},
         "new"},
        {"preview of a new file",
         OP_PREVIEW,
         {.preview = {PATH("a/n/n/n"), .of = PREVIEW_WRITE, .max_bytes = 100}},
         "new"},
        {"preview of a delete",
         OP_PREVIEW,
         {.preview = {PATH("a"), .of = PREVIEW_DELETE, .recursive = true}},
         ""},
    };
    make_tree();
    for (size_t i = 0; i < ARRAY_LEN(readers); i++)
        check_reader(&readers[i]);
}

struct changer {
    const char *name;
    int (*run)(struct err *err);
    const char *there; /* afterwards, and not before */
    const char *gone;
};

static int write_old(struct err *err)
{
    return do_write("a/y", err);
}
static int write_new(struct err *err)
{
    return do_write("a/n/n/n/n/n/new", err);
}
static int write_linked(struct err *err)
{
    return do_write("a/deep/n/n/new", err);
}
static int edit(struct err *err)
{
    return do_edit("a/y", err);
}
static int move(struct err *err)
{
    return do_move("a/y", "c/n/n/moved", err);
}
static int make(struct err *err)
{
    return do_mkdir("link/n/n/n", err);
}
static int remove_all(struct err *err)
{
    return do_delete("a", err);
}

static void check_changer(const struct changer *c)
{
    int failed = 0;
    for (int left = 0, done = 0; done < DONE && left < LEFT_MAX; left++) {
        struct err err;
        make_tree();
        allow(left);
        int r = c->run(&err);
        allow(-1);
        if (r < 0 && err.code != ERR_SESSION_BUSY)
            fail_msg("%s with %d left: %s", c->name, left, err.message);
        if (c->there && is_there(c->there) != (r == 0))
            fail_msg("%s with %d left: %d, and %s", c->name, left, r, c->there);
        if (r == 0 && c->gone && is_there(c->gone))
            fail_msg("%s with %d left is not done", c->name, left);
        assert_int_equal(system("test -z \"$(find w -name '.sgt-*')\""), 0);
        failed += r < 0;
        done += r == 0;
    }
    if (failed == 0 || failed == LEFT_MAX)
        fail_msg("%s failed %d times", c->name, failed);
}

static void changing(void **state)
{
    (void)state;
    static const struct changer changers[] = {
        {"write", write_old, NULL, NULL},
        {"write in new folders", write_new, "w/a/n/n/n/n/n/new", NULL},
        {"write behind a link", write_linked, "w/a/b/" DEEP "/n/n/new", NULL},
        {"edit", edit, NULL, NULL},
        {"move", move, "w/c/n/n/moved", "w/a/y"},
        {"mkdir", make, "w/a/b/n/n/n", NULL},
        {"delete", remove_all, NULL, "w/a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(changers); i++)
        check_changer(&changers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORK_TEST(reading),
        WORK_TEST(changing),
    };
    return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
