#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "session/changes.h"

static struct op_node file(char content, int64_t size, uint32_t mode)
{
    struct op_node node = {.type = NODE_FILE, .mode = mode, .size = size};
    memset(node.sha256, content, sizeof node.sha256);
    return node;
}

static struct op_node link_to(const char *target)
{
    return (struct op_node){.type = NODE_LINK, .target = str_of(target)};
}

static const struct op_node none = {.type = NODE_NONE};

static void add(struct buf *body, const char *path, struct op_node before, struct op_node after)
{
    op_changed_add(body, &(struct op_changed){str_of(path), before, after, false, false});
}

static void assert_patch(struct op_node before, struct op_node after, const char *path,
                         const char *diff, const char *expected)
{
    BUF_AT_END struct buf body = BUF_INIT(1u << 16);
    BUF_AT_END struct buf patch = BUF_INIT(1u << 16);
    CLEANUP(change_list_done) struct change_list list;
    add(&body, path, before, after);
    assert_true(change_list_take(buf_str(&body), &list));
    assert_int_equal(list.n, 1);
    change_write_patch(&list.all[0], false, str_of(diff), &patch);
    assert_string_equal(buf_text(&patch), expected);
}

static void kinds_and_renames(void **state)
{
    (void)state;
    BUF_AT_END struct buf body = BUF_INIT(1u << 16);
    CLEANUP(change_list_done) struct change_list list;
    add(&body, "z", file('a', 3, 0644), none);
    add(&body, "y", none, file('a', 3, 0755));
    add(&body, "x", none, file('a', 3, 0644));
    add(&body, "empty", none, file('e', 0, 0644));
    add(&body, "gone", file('e', 0, 0644), none);
    add(&body, "m", file('b', 3, 0644), file('b', 3, 0600));
    add(&body, "t", file('b', 3, 0644), link_to("m"));
    add(&body, "c", file('b', 3, 0644), file('c', 3, 0644));
    assert_true(change_list_take(buf_str(&body), &list));
    static const struct {
        const char *path;
        enum change_kind kind;
        bool gone;
    } expected[] = {{"c", CHANGE_MODIFIED, false},   {"empty", CHANGE_ADDED, false},
                    {"gone", CHANGE_DELETED, false}, {"m", CHANGE_MODE, false},
                    {"t", CHANGE_TYPE, false},       {"x", CHANGE_RENAMED, false},
                    {"y", CHANGE_ADDED, false},      {"z", CHANGE_DELETED, true}};
    assert_int_equal(list.n, ARRAY_LEN(expected));
    for (size_t i = 0; i < list.n; i++) {
        assert_true(str_is(list.all[i].of.path, expected[i].path));
        assert_int_equal(list.all[i].kind, expected[i].kind);
        assert_int_equal(list.all[i].gone, expected[i].gone);
    }
    assert_true(str_is(list.all[5].from, "z"));
}

static void as_git_writes_them(void **state)
{
    (void)state;
    assert_patch(none, file('a', 2, 0755), "n", "--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+a\n",
                 "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n"
                 "@@ -0,0 +1 @@\n+a\n");
    assert_patch(file('a', 2, 0644), none, "a b", "--- a/n\n+++ b/n\n@@ -1 +0,0 @@\n-a\n",
                 "diff --git a/a b b/a b\ndeleted file mode 100644\n--- a/a b\t\n+++ /dev/null\n"
                 "@@ -1 +0,0 @@\n-a\n");
    assert_patch(
        file('a', 2, 0644), file('a', 2, 0755), "q\"\n", "",
        "diff --git \"a/q\\042\\012\" \"b/q\\042\\012\"\nold mode 100644\nnew mode 100755\n");
    assert_patch(none, link_to("x\ny"), "l", "",
                 "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n"
                 "@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n");
    assert_patch(none, (struct op_node){.type = NODE_FOLDER, .mode = 0755}, "d", "", "");
}

/* Content that is not known is not taken for the same. */
static void secrets_are_modified(void **state)
{
    (void)state;
    BUF_AT_END struct buf body = BUF_INIT(1u << 16);
    BUF_AT_END struct buf text = BUF_INIT(1u << 16);
    CLEANUP(change_list_done) struct change_list list;
    op_changed_add(
        &body, &(struct op_changed){STR(".env"), file(0, 3, 0644), file(0, 3, 0644), true, false});
    assert_true(change_list_take(buf_str(&body), &list));
    assert_int_equal(list.all[0].kind, CHANGE_MODIFIED);
    change_write_json(&list.all[0], &(struct json_out){.out = &text});
    assert_null(strstr(buf_text(&text), "sha256"));
    assert_non_null(strstr(buf_text(&text), "\"secret\":true"));
}

static void broken_lists_are_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"", "/a", "a/", "../a", "a//b", "."};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        BUF_AT_END struct buf body = BUF_INIT(1u << 16);
        struct change_list list;
        add(&body, paths[i], none, file('a', 1, 0644));
        assert_false(change_list_take(buf_str(&body), &list));
        change_list_done(&list);
    }
    BUF_AT_END struct buf body = BUF_INIT(1u << 16);
    struct op_changed changed;
    add(&body, "a", none, link_to("t"));
    for (size_t n = 1; n < body.len; n++) {
        struct str cut = {body.data, n};
        assert_int_equal(op_changed_next(&cut, &changed), -1);
    }
    struct str whole = buf_str(&body);
    assert_int_equal(op_changed_next(&whole, &changed), 1);
    assert_int_equal(op_changed_next(&whole, &changed), 0);
    BUF_AT_END struct buf nothing = BUF_INIT(1u << 16);
    add(&nothing, "a", none, none);
    struct str bad = buf_str(&nothing);
    assert_int_equal(op_changed_next(&bad, &changed), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_and_renames),
        cmocka_unit_test(as_git_writes_them),
        cmocka_unit_test(secrets_are_modified),
        cmocka_unit_test(broken_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
