#include <cmocka.h>

#include "core/registry.h"
#include "json_text.h"
#include "tools/all.h"

static const struct tool one = {.dialect = DIALECT_NATIVE, .name = "fs.one", .alias = "fs_one"};
static const struct tool two = {.dialect = DIALECT_TOOLHOST, .name = "two"};
static const struct tool three = {.dialect = DIALECT_NATIVE, .name = "three"};
static const struct tool other_one = {.dialect = DIALECT_TOOLHOST, .name = "fs.one"};
static const struct tool *const few[] = {&one, &two, &three, &other_one, NULL};

static const struct tool *find(enum dialect_id dialect, const char *name)
{
    struct err err = {.code = ERR_COUNT};
    const struct tool *tool = registry_find(dialect, text_str(name), &err);
    assert_int_equal(err.code, tool ? ERR_COUNT : ERR_UNKNOWN_TOOL);
    return tool;
}

static void tools_are_found_by_name_and_alias(void **state)
{
    (void)state;
    registry_use(few);
    assert_ptr_equal(find(DIALECT_NATIVE, "fs.one"), &one);
    assert_ptr_equal(find(DIALECT_NATIVE, "fs_one"), &one);
    assert_ptr_equal(find(DIALECT_NATIVE, "three"), &three);
    assert_ptr_equal(find(DIALECT_TOOLHOST, "two"), &two);
}

static void each_dialect_has_tools_of_its_own(void **state)
{
    (void)state;
    registry_use(few);
    assert_ptr_equal(find(DIALECT_TOOLHOST, "fs.one"), &other_one);
    assert_null(find(DIALECT_TOOLHOST, "fs_one"));
    assert_null(find(DIALECT_TOOLHOST, "three"));
    assert_null(find(DIALECT_NATIVE, "two"));
    assert_null(find(DIALECT_RUNNER, "two"));
}

static void only_the_whole_name_counts(void **state)
{
    (void)state;
    static const char *const others[] = {"",       "thre", "threee", "Three",
                                         "three ", "fs",   "fs-one", "*"};
    struct err err;
    registry_use(few);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_null(find(DIALECT_NATIVE, others[i]));
    assert_null(registry_find(DIALECT_NATIVE, (struct str){"three\0x", 7}, &err));
    assert_null(registry_find(DIALECT_NATIVE, (struct str){NULL, 0}, &err));
}

static void a_wrong_name_is_told_the_right_ones(void **state)
{
    (void)state;
    struct err err;
    registry_use(few);
    assert_null(registry_find(DIALECT_NATIVE, STR("thre"), &err));
    assert_non_null(strstr(err.message, "`thre`"));
    assert_non_null(strstr(err.message, "fs.one"));
    assert_non_null(strstr(err.message, "three"));
    assert_null(strstr(err.message, "two"));
    assert_null(registry_find(DIALECT_RUNNER, STR("x"), &err));
    assert_non_null(strstr(err.message, "none"));
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    char name[5000];
    struct err err;
    memset(name, 'x', sizeof name);
    registry_use(few);
    assert_null(registry_find(DIALECT_NATIVE, (struct str){name, sizeof name}, &err));
    assert_non_null(strstr(err.message, "three"));
}

static void all_are_listed_in_order(void **state)
{
    (void)state;
    registry_use(few);
    assert_ptr_equal(registry_next(DIALECT_NATIVE, NULL), &one);
    assert_ptr_equal(registry_next(DIALECT_NATIVE, &one), &three);
    assert_null(registry_next(DIALECT_NATIVE, &three));
    assert_null(registry_next(DIALECT_SIDECAR, NULL));
}

/* Providers take only these characters in a name. */
static bool fits_everywhere(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    return n > 0 && n <= 64 && name[n] == '\0';
}

static void the_programs_own_tools_are_complete(void **state)
{
    (void)state;
    registry_use(tools_all);
    for (size_t i = 0; tools_all[i]; i++) {
        const struct tool *t = tools_all[i];
        assert_ptr_equal(find(t->dialect, t->name), t);
        assert_true(fits_everywhere(t->alias ? t->alias : t->name));
        assert_ptr_equal(find(t->dialect, t->alias ? t->alias : t->name), t);
        assert_true(t->title && strlen(t->description) > 20);
        assert_true(t->prepare && t->shape && t->result.count > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_are_found_by_name_and_alias),
        cmocka_unit_test(each_dialect_has_tools_of_its_own),
        cmocka_unit_test(only_the_whole_name_counts),
        cmocka_unit_test(a_wrong_name_is_told_the_right_ones),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(all_are_listed_in_order),
        cmocka_unit_test(the_programs_own_tools_are_complete),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
