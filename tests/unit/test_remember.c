/* Rules approved for always: what is written is read again, what is damaged counts for nothing. */
#include <cmocka.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/attr.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "folder.h"
#include "gate/remember.h"

#define NAME "sandgate/approved.json"
#define GIT "{\"toolName\":\"run_command\",\"condition\":{\"command\":\"git push\"}}"
#define LS "{\"toolName\":\"run_command\",\"condition\":{\"command\":\"ls\"}}"

static int begin(void **state)
{
    return folder_set_up(state) < 0 || setenv("XDG_CONFIG_HOME", folder, 1) < 0 ? -1 : 0;
}

struct seen {
    size_t n;
    char text[65536];
};

static void see(void *arg, struct str rule, const char *name)
{
    struct seen *seen = arg;
    size_t at = strlen(seen->text);
    snprintf(seen->text + at, sizeof seen->text - at, "%s %.*s\n", name, (int)rule.n, rule.p);
    seen->n++;
}

static struct seen seen;

static const char *loaded(void)
{
    struct err err;
    seen = (struct seen){0};
    if (remember_load(see, &seen, &err) < 0)
        fail_msg("%s", err.message);
    return seen.text;
}

static void add(const char *rule)
{
    struct err err;
    if (remember_add((struct str){rule, strlen(rule)}, "alice on /dev/pts/3", REMEMBER_WAIT, &err) <
        0)
        fail_msg("%s", err.message);
}

static void put(const char *text, mode_t mode)
{
    mkdir("sandgate", 0700);
    unlink(NAME);
    int fd = open(NAME, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    fchmod(fd, mode);
    close(fd);
}

static void test_nothing_yet(void **state)
{
    (void)state;
    assert_string_equal(loaded(), "");
    assert_int_equal(remember_mark(), 0);
    assert_int_equal(access("sandgate", F_OK), -1);
}

static void test_added_is_loaded(void **state)
{
    (void)state;
    struct stat st;
    add(GIT);
    int64_t mark = remember_mark();
    assert_int_not_equal(mark, 0);
    add(LS);
    assert_int_not_equal(remember_mark(), mark);
    assert_string_equal(loaded(), "approved.json[0] " GIT "\napproved.json[1] " LS "\n");
    assert_int_equal(stat(NAME, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(access("sandgate/.approved.json.new", F_OK), -1);
}

static void see_who(void *arg, const struct remembered *rule)
{
    (void)arg;
    assert_string_equal(rule->by, "alice on /dev/pts/3");
    assert_int_equal(strlen(rule->at), 24);
    assert_int_equal(rule->number, seen.n++);
}

static void test_who_and_when(void **state)
{
    (void)state;
    struct err err;
    add(GIT);
    seen.n = 0;
    assert_int_equal(remember_each(see_who, NULL, &err), 0);
    assert_int_equal(seen.n, 1);
}

static void test_no_rule_twice(void **state)
{
    (void)state;
    add(GIT);
    add(GIT);
    add("{\"condition\":{\"command\":\"git push\"},  \"toolName\":\"run_command\"}");
    assert_string_equal(loaded(), "approved.json[0] " GIT "\n");
}

static void test_forget(void **state)
{
    (void)state;
    struct err err;
    struct str none = {NULL, 0};
    add(GIT);
    add(LS);
    assert_int_equal(remember_forget(2, none, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(remember_forget(0, STR(LS), &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(remember_forget(0, STR(GIT), &err), 0);
    assert_string_equal(loaded(), "approved.json[0] " LS "\n");
    assert_int_equal(remember_forget(0, none, &err), 0);
    assert_string_equal(loaded(), "");
}

static void refused(const char *text, mode_t mode)
{
    struct err err = {0};
    put(text, mode);
    seen = (struct seen){0};
    if (remember_load(see, &seen, &err) == 0)
        fail_msg("loaded: %s", text);
    assert_non_null(strstr(err.message, "approved.json"));
    assert_string_equal(seen.text, "");
    /* Nor is it overwritten by what comes next. */
    assert_int_equal(remember_add(STR(LS), "alice", REMEMBER_WAIT, &err), -1);
    struct stat st;
    assert_int_equal(stat(NAME, &st), 0);
    assert_int_equal(st.st_size, strlen(text));
}

#define ENTRY "{\"toolName\":\"x\",\"approved_by\":\"a\",\"approved_at\":\"b\"}"

static void test_damaged_files(void **state)
{
    (void)state;
    put("{\"rules\":[" ENTRY "]}", 0600);
    assert_string_equal(loaded(), "approved.json[0] {\"toolName\":\"x\"}\n");
    refused("", 0600);
    refused("{\"rules\":[" ENTRY, 0600);
    refused("[]", 0600);
    refused("{}", 0600);
    refused("{\"rules\":{}}", 0600);
    refused("{\"rules\":[],\"more\":1}", 0600);
    refused("{\"rules\":[],\"rules\":[]}", 0600);
    refused("{\"rules\":[" ENTRY ",{\"toolName\":\"y\"}]}", 0600);
    refused("{\"rules\":[" ENTRY ",1]}", 0600);
    refused("{\"rules\":[{\"toolName\":1,\"approved_by\":\"a\",\"approved_at\":\"b\"}]}", 0600);
}

static void test_files_of_others(void **state)
{
    (void)state;
    struct err err;
    refused("{\"rules\":[" ENTRY "]}", 0620);
    refused("{\"rules\":[" ENTRY "]}", 0602);
    put("{\"rules\":[" ENTRY "]}", 0600);
    assert_int_equal(rename(NAME, "elsewhere"), 0);
    assert_int_equal(symlink("../elsewhere", NAME), 0);
    assert_int_equal(remember_load(see, &seen, &err), -1);
    unlink(NAME);
    assert_int_equal(mkfifo(NAME, 0600), 0);
    assert_int_equal(remember_load(see, &seen, &err), -1);
    unlink(NAME);
    assert_int_equal(rename("elsewhere", NAME), 0);
    assert_int_equal(chmod("sandgate", 0770), 0);
    assert_int_equal(remember_load(see, &seen, &err), -1);
    assert_int_equal(chmod("sandgate", 0700), 0);
    assert_string_equal(loaded(), "approved.json[0] {\"toolName\":\"x\"}\n");
}

static void test_no_rules_at_all(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(remember_add(STR("[]"), "a", REMEMBER_WAIT, &err), -1);
    assert_int_equal(remember_add(STR("{\"toolName\":1}"), "a", REMEMBER_WAIT, &err), -1);
    assert_int_equal(remember_add(STR("{"), "a", REMEMBER_WAIT, &err), -1);
    assert_string_equal(loaded(), "");
}

/* Several at once lose nothing. */
static void test_many_writers(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        if (fork() != 0)
            continue;
        for (int k = 0; k < 5; k++) {
            FREE_AT_END char *rule = mem_format("{\"toolName\":\"t%d-%d\"}", i, k);
            add(rule);
        }
        _exit(0);
    }
    int status;
    for (int i = 0; i < 8; i++)
        assert_true(wait(&status) > 0 && status == 0);
    loaded();
    assert_int_equal(seen.n, 40);
}

/* A gate does not wait for whoever has the file: the approver is told to say it again. */
static void test_file_in_use(void **state)
{
    (void)state;
    struct err err = {0};
    add(GIT);
    FD_AT_END int other = open("sandgate/.approved.lock", O_RDWR | O_CLOEXEC);
    assert_true(other >= 0);
    assert_int_equal(flock(other, LOCK_EX), 0);
    assert_int_equal(remember_add(STR(LS), "alice", REMEMBER_AT_ONCE, &err), -1);
    assert_int_equal(err.code, ERR_SESSION_BUSY);
    assert_string_equal(err.reason, "approved_locked");
    assert_string_equal(loaded(), "approved.json[0] " GIT "\n");
    fd_closep(&other);
    assert_int_equal(remember_add(STR(LS), "alice", REMEMBER_AT_ONCE, &err), 0);
    assert_string_equal(loaded(), "approved.json[0] " GIT "\napproved.json[1] " LS "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_yet, begin, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_added_is_loaded, begin, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_who_and_when, begin, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_no_rule_twice, begin, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_forget, begin, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_files, begin, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_files_of_others, begin, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_no_rules_at_all, begin, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_many_writers, begin, folder_tear_down),
        cmocka_unit_test_setup_teardown(test_file_in_use, begin, folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
