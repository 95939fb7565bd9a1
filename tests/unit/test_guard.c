#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/clock.h"
#include "core/config.h"
#include "core/guard.h"

static void guard_unrefp(struct guard **guard)
{
    guard_unref(*guard);
}

#define GUARD_AT_END CLEANUP(guard_unrefp)

static struct str text(const char *s)
{
    return (struct str){s, strlen(s)};
}

/* Lists with blanks between the patterns. */
static void pack_words(struct buf *out, enum guard_verdict kind, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        guard_pack(out, kind, (struct str){words, n});
        words += n + strspn(words + n, " ");
    }
}

static struct guard *made(const char *protected, const char *secret)
{
    BUF_AT_END struct buf packed = BUF_INIT(1 << 20);
    struct err err;
    pack_words(&packed, GUARD_PROTECTED, protected);
    pack_words(&packed, GUARD_SECRET, secret);
    struct guard *guard = guard_new(buf_str(&packed), &err);
    if (!guard)
        fail_msg("%s", err.message);
    return guard;
}

static struct guard *of_defaults(void)
{
    static const char *const paths[] = {"files.protected", "files.secret"};
    struct config *config = config_new();
    BUF_AT_END struct buf packed = BUF_INIT(1 << 20);
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const struct str *items;
        size_t count;
        assert_true(config_list(config, paths[i], &items, &count));
        assert_true(count > 10);
        for (size_t k = 0; k < count; k++)
            guard_pack(&packed, i ? GUARD_SECRET : GUARD_PROTECTED, items[k]);
    }
    config_free(config);
    struct guard *guard = guard_new(buf_str(&packed), &err);
    if (!guard)
        fail_msg("%s", err.message);
    return guard;
}

struct judged {
    const char *path; /* with a slash at its end: a folder */
    enum guard_verdict verdict;
    const char *rule;
};

static void check(const struct guard *guard, const struct judged *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *rule = "";
        struct str path = text(cases[i].path);
        bool folder = path.n && path.p[path.n - 1] == '/';
        path.n -= folder;
        enum guard_verdict verdict = guard_judge(guard, path, folder, &rule);
        if (verdict != cases[i].verdict)
            fail_msg("%s is judged %d by `%s`", cases[i].path, verdict, rule);
        if (cases[i].rule)
            assert_string_equal(rule, cases[i].rule);
    }
}

static void the_defaults_mean_what_they_say(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"src/main.c", GUARD_OPEN, ""},
        {".", GUARD_OPEN, ""},
        {"", GUARD_OPEN, ""},
        {".git/", GUARD_PROTECTED, ".git"},
        {".git", GUARD_PROTECTED, ".git"},
        {"sub/.git", GUARD_PROTECTED, ".git"},
        {".git/HEAD", GUARD_PROTECTED, ".git"},
        {".GIT/Hooks/pre-commit", GUARD_PROTECTED, ".git"},
        {"a/b/.git/config.lock", GUARD_PROTECTED, ".git"},
        {"node_modules/x/.git/config", GUARD_PROTECTED, ".git"},
        {".gitmodules", GUARD_PROTECTED, ".gitmodules"},
        {".gitignore", GUARD_OPEN, ""},
        {"git/hooks/pre-commit", GUARD_OPEN, ""},
        {"x.git/hooks/pre-commit", GUARD_OPEN, ""},
        {".vscode/settings.json", GUARD_PROTECTED, ".vscode"},
        {".vscode/extensions.json", GUARD_PROTECTED, ".vscode"},
        {"node_modules/x/.vscode/settings.json", GUARD_OPEN, ""},
        {"node_modules/x/.npmrc", GUARD_OPEN, ""},
        {"web/.npmrc", GUARD_PROTECTED, ".npmrc"},
        {".claude/agents/a.md", GUARD_PROTECTED, ".claude"},
        {".github/workflows/ci.yml", GUARD_PROTECTED, ".github/workflows"},
        {".github/FUNDING.yml", GUARD_OPEN, ""},
        {"pkg/.vscode/tasks.json", GUARD_PROTECTED, NULL},
        {".idea/workspace.xml", GUARD_PROTECTED, ".idea"},
        {"sandgate.json", GUARD_PROTECTED, "sandgate.json"},
        {".bashrc", GUARD_PROTECTED, "/.bashrc"},
        {"dotfiles/.bashrc", GUARD_OPEN, ""},
        {".ssh/authorized_keys", GUARD_PROTECTED, "/.ssh"},
        {".ssh/id_rsa", GUARD_SECRET, "id_rsa"},
        {".ssh/id_rsa.pub", GUARD_PROTECTED, NULL},
        {".config", GUARD_OPEN, ""},
        {".config/app/x", GUARD_OPEN, ""},
        {".config/fish/config.fish", GUARD_PROTECTED, NULL},
        {".env", GUARD_SECRET, ".env"},
        {"app/.ENV", GUARD_SECRET, ".env"},
        {".env.local", GUARD_SECRET, ".env.*"},
        {".env.example", GUARD_OPEN, ""},
        {"app/.env.Sample", GUARD_OPEN, ""},
        {".env.test.example", GUARD_OPEN, ""},
        {".environment", GUARD_OPEN, ""},
        {"env", GUARD_OPEN, ""},
        {"tls/server.key", GUARD_SECRET, "*.key"},
        {"tls/server.key.c", GUARD_OPEN, ""},
        {"tls/server.pem", GUARD_OPEN, ""},
        {"tls/server-key.pem", GUARD_SECRET, "*-key.pem"},
        {"monkey", GUARD_OPEN, ""},
        {".aws/credentials", GUARD_SECRET, ".aws/credentials"},
        {".aws/config", GUARD_OPEN, ""},
        {"home/.config/gcloud/access_tokens.db", GUARD_SECRET, ".config/gcloud"},
    };
    GUARD_AT_END struct guard *guard = of_defaults();
    check(guard, cases, ARRAY_LEN(cases));
}

static void patterns_of_every_form(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"one", GUARD_PROTECTED, "/one"},
        {"x/one", GUARD_OPEN, ""},
        {"one/x/y", GUARD_PROTECTED, "/one"},
        {"two/", GUARD_PROTECTED, "two/"},
        {"two", GUARD_OPEN, ""},
        {"a/two/b", GUARD_PROTECTED, "two/"},
        {"three/a", GUARD_PROTECTED, "three/**"},
        {"three/a/b", GUARD_PROTECTED, "three/**"},
        {"three/", GUARD_OPEN, ""},
        {"x/four/1/2/z", GUARD_PROTECTED, "**/four/**/z"},
        {"four/z", GUARD_PROTECTED, "**/four/**/z"},
        {"four/zz", GUARD_OPEN, ""},
        {"five/b/six", GUARD_PROTECTED, "/five/[a-c]/{six,seven}"},
        {"five/B/SEVEN/x", GUARD_PROTECTED, NULL},
        {"five/d/six", GUARD_OPEN, ""},
        {"x/five/b/six", GUARD_OPEN, ""},
        {"upper.TXT", GUARD_PROTECTED, "UPPER*.txt"},
        {"a!b", GUARD_PROTECTED, "a!b"},
        {"!c", GUARD_PROTECTED, "\\!c"},
        {"e1/e1/e1", GUARD_OPEN, ""},
    };
    GUARD_AT_END struct guard *guard = made(
        "/one two/ three/** **/four/**/z /five/[a-c]/{six,seven} UPPER*.txt a!b \\!c /e1/e2/e1",
        "");
    check(guard, cases, ARRAY_LEN(cases));
}

static void the_last_rule_decides(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"k/a", GUARD_SECRET, "k"},      {"k/open", GUARD_OPEN, ""},
        {"k/open/deep", GUARD_OPEN, ""}, {"k/open/not", GUARD_SECRET, "not"},
        {"k/open/", GUARD_OPEN, ""},     {"k/file", GUARD_OPEN, ""},
        {"p", GUARD_SECRET, "p"},        {"q", GUARD_PROTECTED, "q"},
    };
    GUARD_AT_END struct guard *guard = made(
        "p q", "!not k !k/open/** !k/open/ !k/open !k/file not p q !q");
    check(guard, cases, ARRAY_LEN(cases));
    GUARD_AT_END struct guard *none = made("", "");
    const char *rule;
    assert_int_equal(guard_judge(none, STR(".env"), false, &rule), GUARD_OPEN);
    assert_int_equal(guard_judge(NULL, STR(".env"), false, &rule), GUARD_OPEN);
    assert_int_equal(guard_holds(NULL, STR(".git"), &rule), GUARD_OPEN);
    assert_false(guard_may_name(NULL, STR(".env")));
}

static void exceptions_for_places_and_for_names(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"node_modules/x/.vscode/a", GUARD_PROTECTED, ".vscode"},
        {"node_modules/x/.cargo/config", GUARD_PROTECTED, ".cargo/config"},
        {"node_modules/x/other", GUARD_OPEN, NULL},
        {"x/.env.example", GUARD_OPEN, NULL},
        {"node_modules/.env.example", GUARD_OPEN, NULL},
        {"node_modules", GUARD_OPEN, NULL},
        {"", GUARD_OPEN, NULL},
    };
    GUARD_AT_END struct guard *guard = made(".vscode .cargo/config !node_modules/",
                                            ".env.* !.env.example");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *rule = "";
        struct str path = text(cases[i].path);
        assert_int_equal(guard_judge(guard, path, false, &rule), GUARD_OPEN);
        assert_int_equal(guard_judge_elsewhere(guard, path, false, &rule), cases[i].verdict);
        if (cases[i].rule)
            assert_string_equal(rule, cases[i].rule);
    }
}

/* A command can give a folder the name of an exception. */
static void exceptions_for_files_hold_for_no_folder(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {".env.example", GUARD_OPEN, ""},
        {"a/.ENV.Local.Example", GUARD_OPEN, ""},
        {".env.example/", GUARD_SECRET, ".env.*"},
        {".env.example/.env", GUARD_SECRET, NULL},
        {".env.example/a", GUARD_SECRET, ".env.*"},
        {".env.a.sample/x/id_rsa", GUARD_SECRET, NULL},
        {"node_modules/.envrc", GUARD_OPEN, ""},
        {"mine/.envrc", GUARD_PROTECTED, ".envrc"},
        {"mine", GUARD_OPEN, ""},
        {"all/.envrc", GUARD_OPEN, ""},
        {"all/a/.envrc", GUARD_OPEN, ""},
        {"all/.mise/", GUARD_OPEN, ""},
    };
    GUARD_AT_END struct guard *guard = made(
        ".envrc .mise !node_modules/ !mine !all/**",
        ".env .env.* !.env.example !.env.*.example !.env.*.sample id_rsa");
    check(guard, cases, ARRAY_LEN(cases));
}

static void a_link_is_a_file_and_a_folder(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {".env.example", GUARD_OPEN, NULL},  {".env.other", GUARD_SECRET, ".env.*"},
        {"vault", GUARD_SECRET, "vault/"},   {"half", GUARD_SECRET, "half"},
        {"tasks", GUARD_PROTECTED, "tasks"}, {"free/vault", GUARD_OPEN, NULL},
    };
    GUARD_AT_END struct guard *guard = made("tasks",
                                            ".env.* vault/ half !.env.example !half/ !free/");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *rule = "";
        assert_int_equal(guard_judge_link(guard, text(cases[i].path), &rule), cases[i].verdict);
        if (cases[i].rule)
            assert_string_equal(rule, cases[i].rule);
    }
    const char *rule;
    assert_int_equal(guard_judge_link(NULL, STR(".env"), &rule), GUARD_OPEN);
}

static void the_way_there_is_held(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {".github", GUARD_PROTECTED, ".github/copilot-instructions.md"},
        {"sub/.Github", GUARD_PROTECTED, NULL},
        {"node_modules/x/.github", GUARD_OPEN, NULL},
        {".git", GUARD_OPEN, NULL},
        {".git/objects", GUARD_OPEN, NULL},
        {"sub", GUARD_OPEN, NULL},
        {".cargo", GUARD_PROTECTED, ".cargo/config"},
        {".config", GUARD_PROTECTED, ".config/mise"},
        {".kube", GUARD_SECRET, ".kube/config"},
        {".aws", GUARD_SECRET, ".aws/credentials"},
        {".", GUARD_OPEN, NULL},
        {"", GUARD_OPEN, NULL},
    };
    GUARD_AT_END struct guard *guard = of_defaults();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *rule = "";
        if (guard_holds(guard, text(cases[i].path), &rule) != cases[i].verdict)
            fail_msg("%s: `%s`", cases[i].path, rule);
        if (cases[i].rule)
            assert_string_equal(rule, cases[i].rule);
    }
}

static void names_are_sorted_out_first(void **state)
{
    (void)state;
    static const char *const plain[] = {"main.c", "README.md", "src", "lib", ".gitignore", ".envx"};
    static const char *const maybe[] = {".ENV",  ".Git",         "config",
                                        "x.key", ".env.example", "node_modules"};
    static const char *const plain_ways[] = {"main.c", "src", ".git", "tasks.json", ".idea"};
    static const char *const ways[] = {".github", ".AWS", ".config"};
    GUARD_AT_END struct guard *guard = of_defaults();
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        assert_false(guard_may_name(guard, text(plain[i])));
    for (size_t i = 0; i < ARRAY_LEN(plain_ways); i++)
        assert_false(guard_may_hold(guard, text(plain_ways[i])));
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        assert_true(guard_may_hold(guard, text(ways[i])));
    for (size_t i = 0; i < ARRAY_LEN(maybe); i++)
        assert_true(guard_may_name(guard, text(maybe[i])));
}

static void bad_patterns_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",       "/",   "!",    "!/",    ".",   "./",  "..",
                                      "a/../b", "[a-", "{a,b", "{a/b}", "a\\", "a/[", "{a,{b/c}}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {0};
        if (guard_check(text(bad[i]), &err) == 0)
            fail_msg("`%s` is taken", bad[i]);
        assert_int_equal(err.code, ERR_INVALID_PATTERN);
        assert_true(strlen(err.message) > 10);
    }
    static const struct str damaged[] = {STR_INIT("P"), STR_INIT("Pa"), STR_INIT("Xa\0"),
                                         STR_INIT("Pa\0Sb"), STR_INIT("P[\0")};
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
        struct err err = {0};
        /* With the NUL that is not counted they are shorter than they look. */
        struct str packed = {damaged[i].p, damaged[i].n};
        assert_null(guard_new(packed, &err));
    }
    FREE_AT_END char *long_one = mem_zero(9000);
    memset(long_one, 'a', 5000);
    struct err err;
    assert_int_equal(guard_check(text(long_one), &err), -1);
    for (size_t i = 0; i < 200; i += 2)
        memcpy(long_one + i, "a/", 2);
    long_one[200] = '\0';
    assert_int_equal(guard_check(text(long_one), &err), -1);
    long_one[100] = '\0';
    assert_int_equal(guard_check(text(long_one), &err), 0);
}

/* What a workspace can write is at most this bad: no path takes longer than a moment. */
static void the_worst_rules_end_soon(void **state)
{
    (void)state;
    BUF_AT_END struct buf packed = BUF_INIT(4 << 20);
    FREE_AT_END char *path = mem_zero(4096);
    struct err err;
    const char *rule;
    for (int i = 0; i < 1000; i++) {
        FREE_AT_END char *pattern = mem_format("/*/**/a/**/a/**/a/**/b%d/a", i);
        guard_pack(&packed, GUARD_PROTECTED, text(pattern));
        guard_pack(&packed, GUARD_SECRET, text(pattern));
    }
    GUARD_AT_END struct guard *guard = guard_new(buf_str(&packed), &err);
    for (size_t i = 0; i < 4000; i += 2)
        memcpy(path + i, "a/", 2);
    path[3999] = '\0';
    uint64_t start = clock_mono_ns();
    assert_int_equal(guard_judge(guard, text(path), false, &rule), GUARD_OPEN);
    assert_true(clock_mono_ns() - start < 5000000000u);
}

static void ordinary_paths_cost_nothing(void **state)
{
    (void)state;
    enum { ROUNDS = 20000 };
    GUARD_AT_END struct guard *guard = of_defaults();
    const char *rule;
    uint64_t best = UINT64_MAX;
    for (int turn = 0; turn < 5; turn++) {
        uint64_t start = clock_mono_ns();
        for (int i = 0; i < ROUNDS; i++)
            assert_int_equal(
                guard_judge(guard, STR("packages/core/src/components/Button.tsx"), false, &rule),
                GUARD_OPEN);
        uint64_t took = clock_mono_ns() - start;
        best = took < best ? took : best;
    }
    print_message("# %llu ns a path\n", (unsigned long long)(best / ROUNDS));
    /* Far above what it takes, for slow machines and sanitizers. */
    assert_true(best / ROUNDS < 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_mean_what_they_say),
        cmocka_unit_test(patterns_of_every_form),
        cmocka_unit_test(the_last_rule_decides),
        cmocka_unit_test(exceptions_for_places_and_for_names),
        cmocka_unit_test(exceptions_for_files_hold_for_no_folder),
        cmocka_unit_test(a_link_is_a_file_and_a_folder),
        cmocka_unit_test(the_way_there_is_held),
        cmocka_unit_test(names_are_sorted_out_first),
        cmocka_unit_test(bad_patterns_are_refused),
        cmocka_unit_test(the_worst_rules_end_soon),
        cmocka_unit_test(ordinary_paths_cost_nothing),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
