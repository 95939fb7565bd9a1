#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "session/commit_plan.h"

static const struct op_node none = {.type = NODE_NONE};
static const struct op_node folder = {.type = NODE_FOLDER, .mode = 0755};

static struct op_node file(char content, uint32_t mode)
{
    struct op_node node = {.type = NODE_FILE, .mode = mode, .size = 3};
    memset(node.sha256, content, sizeof node.sha256);
    return node;
}

struct made {
    struct buf body;
    struct change_list list;
    struct commit_plan plan;
};

static struct made made;

static int begin(void **state)
{
    (void)state;
    made = (struct made){.body = BUF_INIT(1u << 16)};
    return 0;
}

static int end(void **state)
{
    (void)state;
    commit_plan_done(&made.plan);
    change_list_done(&made.list);
    buf_done(&made.body);
    return 0;
}

static void add(const char *path, struct op_node before, struct op_node after)
{
    op_changed_add(&made.body,
                   &(struct op_changed){.path = str_of(path), .before = before, .after = after});
}

static void make_plan(const struct commit_choice *choice)
{
    struct err err;
    assert_true(change_list_take(buf_str(&made.body), &made.list));
    assert_int_equal(commit_plan_make(&made.list, choice, &made.plan, &err), 0);
}

static const struct commit_item *item(const char *path)
{
    for (size_t i = 0; i < made.plan.n; i++) {
        if (str_is(made.plan.items[i].change->of.path, path))
            return &made.plan.items[i];
    }
    fail_msg("%s is no change", path);
    return NULL;
}

/* All that is packed for the worker, in its order, with a blank behind each; what is given up has a dash before it. */
static void assert_packed(const char *expected)
{
    BUF_AT_END struct buf out = BUF_INIT(1u << 16);
    struct str rest = buf_str(&made.plan.body);
    struct op_changed one;
    while (op_changed_next(&rest, &one) > 0)
        buf_addf(&out, "%s%.*s ", one.drop ? "-" : "", (int)one.path.n, one.path.p);
    assert_string_equal(buf_text(&out), expected);
}

static void each_bar(void **state)
{
    (void)state;
    static const struct op_changed marked[] = {
        {.path = STR("conflict"), .conflict = true}, {.path = STR("git"), .git = true},
        {.path = STR("guarded"), .guarded = true},   {.path = STR("secret"), .secret = true},
        {.path = STR("special"), .special = true},   {.path = STR("unread"), .unread = true}};
    for (size_t i = 0; i < ARRAY_LEN(marked); i++) {
        struct op_changed one = marked[i];
        one.after = file((char)i, 0644);
        op_changed_add(&made.body, &one);
    }
    add("plain", none, file('p', 0644));
    make_plan(&(struct commit_choice){.code = CODE_REFUSE});
    assert_packed("plain ");
    assert_int_equal(item("conflict")->bar, COMMIT_CONFLICT);
    assert_int_equal(item("git")->bar, COMMIT_GIT);
    assert_int_equal(item("guarded")->bar, COMMIT_CODE);
    assert_int_equal(item("secret")->bar, COMMIT_SECRET);
    assert_int_equal(item("special")->bar, COMMIT_SPECIAL);
    assert_int_equal(item("unread")->bar, COMMIT_SPECIAL);
    assert_int_equal(made.plan.conflicts, 1);
    assert_int_equal(made.plan.code, 1);
    assert_int_equal(made.plan.left, 4);
}

static void what_may_not_go_silently(void **state)
{
    (void)state;
    struct err err;
    add("conflict", file('a', 0644), file('b', 0644));
    make_plan(&(struct commit_choice){.code = CODE_REFUSE});
    assert_int_equal(commit_plan_check(&made.plan, &err), 0);
    end(state);
    begin(state);
    op_changed_add(&made.body, &(struct op_changed){.path = STR("conflict"),
                                                    .before = file('a', 0644),
                                                    .after = file('b', 0644),
                                                    .conflict = true});
    make_plan(&(struct commit_choice){.code = CODE_TAKE});
    assert_int_equal(commit_plan_check(&made.plan, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    end(state);
    begin(state);
    add("tool", none, file('a', 0755));
    make_plan(&(struct commit_choice){.code = CODE_REFUSE});
    assert_int_equal(commit_plan_check(&made.plan, &err), -1);
    assert_string_equal(err.reason, "runs_code");
}

/* Whoever takes the session's version has said nothing about what it runs. */
static void decided(void **state)
{
    (void)state;
    static const struct str ours[] = {STR("m*")};
    static const struct str theirs[] = {STR("y")};
    static const char *const names[] = {"m", "mx", "y"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        op_changed_add(&made.body, &(struct op_changed){.path = str_of(names[i]),
                                                        .before = file('a', 0644),
                                                        .after = file('b', i == 1 ? 0755 : 0644),
                                                        .conflict = true});
    make_plan(&(struct commit_choice){
        .ours = ours, .n_ours = 1, .theirs = theirs, .n_theirs = 1, .code = CODE_REFUSE});
    assert_packed("m -y ");
    assert_int_equal(item("mx")->bar, COMMIT_CODE);
    assert_int_equal(made.plan.conflicts, 0);
    assert_int_equal(made.plan.dropped, 1);
}

static void executables(void **state)
{
    (void)state;
    add("bin", none, file('a', 0755));
    add("build/made", none, file('b', 0755));
    add("chmod", file('c', 0644), file('c', 0755));
    add("edited", file('d', 0755), file('e', 0755));
    add("src/build", none, file('f', 0755));
    make_plan(&(struct commit_choice){.code = CODE_LEAVE});
    assert_packed("build/made edited ");
}

/* A folder comes with what is named in it, and does not go while something in it stays. */
static void together(void **state)
{
    (void)state;
    static const struct str paths[] = {STR("n/m/x"), STR("gone"), STR("./turned/")};
    add("n", none, folder);
    add("n/m", none, folder);
    add("n/m/x", none, file('x', 0644));
    add("n/other", none, file('o', 0644));
    add("gone", folder, none);
    op_changed_add(&made.body, &(struct op_changed){.path = STR("gone/.env"),
                                                    .before = {.type = NODE_FILE, .mode = 0600},
                                                    .secret = true});
    add("gone/x", file('g', 0644), none);
    add("turned", folder, file('t', 0644));
    add("turned/in", file('i', 0644), none);
    make_plan(&(struct commit_choice){.paths = paths, .n_paths = ARRAY_LEN(paths)});
    assert_packed("gone/x n n/m n/m/x turned turned/in ");
    assert_false(item("gone")->taken);
    assert_false(item("n/other")->chosen);
}

static void both_ends(void **state)
{
    (void)state;
    static const struct str paths[] = {STR("b")};
    static const struct str wrong[] = {STR("nothing")};
    struct err err;
    add("a", file('a', 0644), none);
    add("b", none, file('a', 0644));
    make_plan(&(struct commit_choice){.paths = paths, .n_paths = 1});
    assert_packed("a b ");
    commit_plan_done(&made.plan);
    assert_int_equal(commit_plan_make(&made.list,
                                      &(struct commit_choice){.paths = wrong, .n_paths = 1},
                                      &made.plan, &err),
                     -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* It would be nowhere in the project. */
static void half_of_a_rename(void **state)
{
    (void)state;
    static const struct str from[] = {STR("a")};
    static const struct str theirs[] = {STR("x/b")};
    add("a", file('a', 0644), none);
    add("x", none, folder);
    op_changed_add(&made.body, &(struct op_changed){
                                   .path = STR("x/b"), .after = file('a', 0644), .guarded = true});
    make_plan(&(struct commit_choice){.code = CODE_LEAVE});
    assert_packed("x ");
    commit_plan_done(&made.plan);
    struct err err;
    struct commit_choice choice = {.paths = from, .n_paths = 1, .code = CODE_TAKE};
    assert_int_equal(commit_plan_make(&made.list, &choice, &made.plan, &err), 0);
    assert_packed("a x x/b ");
    end(state);
    begin(state);
    add("a", file('a', 0644), none);
    op_changed_add(&made.body, &(struct op_changed){.path = STR("x/b"),
                                                    .before = {.type = NODE_NONE},
                                                    .after = file('a', 0644),
                                                    .conflict = true});
    make_plan(&(struct commit_choice){.theirs = theirs, .n_theirs = 1});
    assert_packed("-x/b ");
}

/* What is given up of a folder that only the session has is gone. */
static void given_up_folder(void **state)
{
    (void)state;
    static const struct str theirs[] = {STR("d")};
    static const struct str part[] = {STR("d/x")};
    struct err err;
    op_changed_add(&made.body,
                   &(struct op_changed){.path = STR("d"), .after = folder, .conflict = true});
    add("d-", none, file('m', 0644));
    add("d/tool", none, file('t', 0755));
    add("d/x", none, file('x', 0644));
    struct commit_choice choice = {
        .paths = part, .n_paths = 1, .theirs = theirs, .n_theirs = 1, .code = CODE_REFUSE};
    make_plan(&choice);
    assert_packed("");
    assert_int_equal(commit_plan_check(&made.plan, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    commit_plan_done(&made.plan);
    choice.n_paths = 0;
    assert_int_equal(commit_plan_make(&made.list, &choice, &made.plan, &err), 0);
    assert_packed("-d d- -d/tool -d/x ");
    assert_int_equal(made.plan.dropped, 3);
    assert_int_equal(commit_plan_check(&made.plan, &err), 0);
}

#define PLAN_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAN_TEST(each_bar),         PLAN_TEST(what_may_not_go_silently),
        PLAN_TEST(decided),          PLAN_TEST(executables),
        PLAN_TEST(together),         PLAN_TEST(both_ends),
        PLAN_TEST(half_of_a_rename), PLAN_TEST(given_up_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
