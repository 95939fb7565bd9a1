/* What cannot be read, what goes too deep, tables and lists of one's own, and the pairs for approvals. */
#include <time.h>

#include "command_row.h"
#include "policy/shell_words.h"

static const struct command_around around = {.root = "/workspace"};

static void cannot_be_read(void **state)
{
    (void)state;
    static const char *const texts[] = {"echo 'a", "sh -c 'echo \"a'", "eval 'a ('", "ls $(",
                                        "(ls"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err;
        assert_int_equal(command_check(text_str(texts[i]), &command_rules_sidecar, &err), -1);
        assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
        assert_string_equal(err.field, "command");
    }
}

static char *repeated(const char *part, size_t count, const char *tail)
{
    BUF_AT_END struct buf text = BUF_INIT(1 << 20);
    for (size_t i = 0; i < count; i++)
        buf_add_text(&text, part);
    buf_add_text(&text, tail);
    return mem_copy(text.data, text.len);
}

static void nesting_ends(void **state)
{
    (void)state;
    FREE_AT_END char *evals = repeated("eval ", 17, "ls");
    FREE_AT_END char *finds = repeated("find -exec ", 17, "ls");
    FREE_AT_END char *fine = repeated("eval ", 16, "ls");
    FREE_AT_END char *envs = repeated("env ", 1000, "sudo");
    check_row(&(struct row){evals, "nesting"}, false);
    check_row(&(struct row){finds, "nesting"}, false);
    check_row(&(struct row){fine, NULL}, false);
    check_row(&(struct row){envs, "blocked:sudo"}, false);
}

static void stays_fast(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "env ",
        "eval ",
        "find -exec ",
        "find -exec a \\; ",
        "a?;",
        "{a,b};",
        "rm -rf a;",
        "xargs ",
        "sh -c 'a';",
        "chmod a+r;",
        "$(sh -c \"",
        "sh -c \"$(a)\";",
        "\\/bin/s*d*o* ; ",
        "a|",
        "find -exec ls + ",
    };
    struct timespec from;
    struct timespec to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct command_rules rules = command_rules_sidecar;
        rules.allow_chaining = true;
        FREE_AT_END char *text = repeated(parts[i], SHELL_TEXT_MAX / strlen(parts[i]), "");
        struct err err;
        (void)command_check(text_str(text), &rules, &err);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    assert_true(to.tv_sec - from.tv_sec < 5);
}

/* A table of one's own: rows without advice, wrappers that are blocked themselves. */
static void other_tables(void **state)
{
    (void)state;
    static const struct command_block blocks[] = {{"blocked:env", "env", COMMAND_ANY, NULL},
                                                  {"no-git", "git*", COMMAND_ANY, NULL}};
    struct command_rules rules = {.blocks = blocks, .n_blocks = ARRAY_LEN(blocks)};
    struct err err;
    assert_int_equal(command_check(STR("sudo ls"), &rules, &err), 0);
    assert_int_equal(command_check(STR("sudo -u x gitk"), &rules, &err), -1);
    assert_string_equal(err.reason, "no-git");
    assert_int_equal(command_check(STR("nohup env ls"), &rules, &err), -1);
    assert_string_equal(err.reason, "blocked:env");
}

struct program_row {
    const char *found;
    const char *resolved;
    const char *rule;
};

static void programs_by_list(void **state)
{
    (void)state;
    static const struct str allowed[] = {STR_INIT("ls"), STR_INIT("git"), STR_INIT("/opt/x/run"),
                                         STR_INIT("rm")};
    static const struct str denied[] = {STR_INIT("rm"), STR_INIT("/usr/bin/secret"), STR_INIT("")};
    /* What the names above lead to. */
    static const struct str files[] = {STR_INIT("/usr/bin/ls"), STR_INIT("/usr/bin/git-2"),
                                       STR_INIT("/opt/x/run"), STR_INIT("/usr/bin/rm")};
    static const struct program_row rows[] = {
        {"/bin/ls", "/usr/bin/ls", NULL},
        {"/usr/bin/git", "/usr/bin/git-2", NULL},
        {"/usr/bin/git-2", "/usr/bin/git-2", "allowed"},
        {"/opt/x/run", "/opt/x/run", NULL},
        {"/opt/y/run", "/opt/y/run", "allowed"},
        {"./ls", "/home/a/ls", "allowed"},
        {"sub/ls", "/home/a/sub/ls", "allowed"},
        {"/usr/bin/gitk", "/usr/bin/gitk", "allowed"},
        {"/usr/bin/cat", "/usr/bin/cat", "allowed"},
        {"/bin/rm", "/usr/bin/rm", "denied:rm"},
        {"/home/a/ls", "/usr/bin/rm", "denied:rm"},
        {"/home/a/rm", "/usr/bin/ls", "denied:rm"},
        {"/home/a/ls", "/usr/bin/bash", "allowed"},
        {"ls", "/usr/bin/secret", "denied:/usr/bin/secret"},
        {"ls; rm -rf /", "ls; rm -rf /", "allowed"},
        {"", "", "allowed"},
    };
    struct command_lists lists = {.allowed = allowed,
                                  .n_allowed = ARRAY_LEN(allowed),
                                  .denied = denied,
                                  .n_denied = ARRAY_LEN(denied),
                                  .files = files,
                                  .n_files = ARRAY_LEN(files)};
    for (int all = 0; all < 2; all++) {
        lists.allow_all = all;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            struct err err = {.code = ERR_COUNT};
            const char *rule = rows[i].rule;
            if (all && rule && strcmp(rule, "allowed") == 0)
                rule = NULL;
            int done = command_check_program(text_str(rows[i].found), text_str(rows[i].resolved),
                                             &lists, &err);
            assert_int_equal(done, rule ? -1 : 0);
            assert_int_equal(err.code, rule ? ERR_COMMAND_BLOCKED : ERR_COUNT);
            if (rule)
                assert_string_equal(err.reason, rule);
        }
    }
    struct err err;
    assert_int_equal(command_check_program(STR("/bin/ls"), STR("/bin/ls"),
                                           &(struct command_lists){.allow_all = false}, &err),
                     -1);
}

/* What can be told before any file is looked at. */
static void programs_by_name(void **state)
{
    (void)state;
    static const struct str allowed[] = {STR_INIT("ls"), STR_INIT("/opt/x/run")};
    static const struct str denied[] = {STR_INIT("rm")};
    static const struct program_row rows[] = {
        {"ls", NULL, NULL},       {"./ls", NULL, NULL},
        {"run", NULL, NULL},      {"/bin/rm", NULL, "denied:rm"},
        {"id", NULL, "allowed"},  {"LS", NULL, "allowed"},
        {"ls/", NULL, "allowed"}, {"", NULL, "allowed"},
    };
    const struct command_lists lists = {.allowed = allowed,
                                        .n_allowed = ARRAY_LEN(allowed),
                                        .denied = denied,
                                        .n_denied = ARRAY_LEN(denied)};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {.code = ERR_COUNT};
        assert_int_equal(command_check_name(text_str(rows[i].found), &lists, &err),
                         rows[i].rule ? -1 : 0);
        if (rows[i].rule)
            assert_string_equal(err.reason, rows[i].rule);
    }
}

struct pair_row {
    const char *text;
    const char
        *shown; /* program:subcommand, `?` where neither is exact, `~` where only the program is */
};

static void pairs(void **state)
{
    (void)state;
    static const struct pair_row rows[] = {
        {"", ""},
        {"ls -la", "ls:"},
        {"git commit -m 'x y'", "git:commit"},
        {"git", "git:"},
        {"git --no-pager log -5", "git:log"},
        {"git -C . status", "git:status"},
        {"git -C dir status", "git:status?"},
        {"git -C ../dir status", "git:status?"},
        {"git -C ../dir commit", "git:commit?"},
        {"git -C dir commit", "git:commit?"},
        {"git -C /workspace/ commit", "git:commit"},
        {"git -c core.pager=x log", "git:log?"},
        {"git --git-dir=x log", "git:log?"},
        {"git stash pop", "git:stash pop"},
        {"git $X", "git:?"},
        {"npm run test", "npm:run test"},
        {"npm run test -- --grep x", "npm:run test"},
        {"npm install", "npm:install"},
        {"npm run", "npm:run"},
        {"docker compose up -d", "docker:compose up"},
        {"gh pr list", "gh:pr list"},
        {"cargo test --all", "cargo:test"},
        {"./gradlew build", "./gradlew:build"},
        {"/usr/bin/git push", "/usr/bin/git:push"},
        {"ls | wc -l", "ls: wc:"},
        {"git add . && git commit && git push", "git:add git:commit git:push"},
        {"ls; ls; ls -l", "ls:"},
        {"X=1 git commit", "git:commit?"},
        {"env X=1 git commit", "git:commit?"},
        {"env X=1 sh -c 'git commit'", "git:commit?"},
        {"nohup npm run dev", "npm:run dev"},
        {"timeout 5 git fetch", "git:fetch"},
        {"xargs git add", "git:add?"},
        {"xargs git", "git:?"},
        {"find . -exec git add {} \\;", "find: git:add"},
        {"find . -exec git {} \\;", "find: git:?"},
        {"find . -exec {} x \\;", "find:? :?"},
        {"find . -name x", "find:"},
        {"find d -exec ls {} + -delete", "find:? ls:"},
        {"sh -c 'git commit; ls'", "git:commit ls:"},
        {"sh -c \"$X\"", ":?"},
        {"sh x.sh", "sh:"},
        {"$CC x.c", ":?"},
        {"g*t commit", ":?"},
        {"'git' \"commit\"", "git:commit"},
        {"echo $(git log)", "echo: git:log"},
        {"command -v git", "command:"},
        {"make", "make:"},
        {"make -j4 test", "make:test"},
        {"X=1", ""},
        /* Read once more after it was expanded: a file's name may hold a command. */
        {"eval touch *", "touch:?"},
        {"eval touch ~", "touch:?"},
        {"eval touch $0", "touch:?"},
        {"eval touch a", "touch:?"},
        {"eval 'touch *'", "touch:?"},
        {"sh -c \"touch $x\"", "touch:?"},
        {"sh -c 'touch $x'", "touch:"},
        {"env -S 'touch $X'", "touch:?"},
        /* What comes in at run time takes the place of the program, or stands before it. */
        {"xargs -I ls sh -c ls", ":?"},
        {"xargs -I{} ls {}", "ls:"},
        {"xargs -n 1 -0 ls", "ls:"},
        {"xargs --null ls", "ls:"},
        {"xargs --arg-fil ls touch a", "ls:?"},
        {"xargs find . -exec", "find:? :?"},
        {"xargs find . -exec ls", "find:? ls:?"},
        {"xargs find .", "find:?"},
        {"find . \"$(echo -exec)\" touch a \\;", "find:? echo:"},
        {"find . -exec ls $x \\;", "find:? ls:"},
        {"find . -name '*.c' -exec ls {} +", "find: ls:"},
        {"nice -n $(echo 5 touch a) ls", "ls:? echo:?"},
        {"timeout $(echo 5 touch a) ls", "ls:? echo:?"},
        {"timeout -k 1 --foreground 5 ls", "ls:"},
        {"exec -a $(echo b touch a) ls", "ls:? echo:?"},
        {"command time --outp ls touch a", "ls:?"},
        /* Programs of one's own by such a name. */
        {"./timeout 5 ls", "ls:?"},
        {"\"$(echo ./)timeout\" 5 ls", "ls:? echo:?"},
        {"./sh -c ls", "ls:?"},
        /* Not every shell reads what bash does, or only its text. */
        {"sh -c \"echo \\$'\\\\'; touch a #'\"", ":? echo:?"},
        {"sh -c '((ls))'", ":? ((:?"},
        {"zsh -c '{ ls } always { touch a }'", ":? ls:?"},
        {"bash -c 'echo a &> /dev/null'", "echo:"},
        {"bash --rcfile a -i -c ls", "ls:?"},
        {"bash -lc ls", "ls:?"},
        {"bash -euxo pipefail -c ls", "ls:"},
        {"bash -c $x", ":?"},
        /* Names of variables in which commands may stand. */
        {"printf -v 'a[$(touch a)]' x", "printf:?"},
        {"printf $x a", "printf:?"},
        {"printf '%s' $x", "printf:"},
        {"test -v 'a[$(touch a)]'", "test:?"},
        {"[ $_ 'a[$(touch a)]' ]", "[:?"},
        {"[ -f a ]", "[:"},
        {"[[ 'a[$(touch a)]' -eq 0 ]]", "[[:?"},
        {"read 'a[$(touch a)]'", "read:?"},
        {"export PATH=.; ls", "export:? ls:?"},
        /* The word behind an option may be its value. */
        {"npm --tag test publish", "npm:test?"},
        {"git --attr-source status push", "git:push~"},
        {"git --unheard-of status push", "git:status?"},
        {"git --version", "git:"},
        {"git push origin main", "git:push"},
        {"git push --rece='touch a' .", "git:push?"},
        {"git push --e='touch a' .", "git:push?"},
        {"git fetch $x", "git:fetch?"},
        {"git log --outp=x", "git:log?"},
        {"git log '-- output '", "git:log"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        COMMAND_PAIRS_AT_END struct command_pairs found = {.n = 0};
        BUF_AT_END struct buf shown = BUF_INIT(1 << 16);
        struct err err;
        if (command_pairs_read(text_str(rows[i].text), &around, &found, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.message);
        for (size_t k = 0; k < found.n; k++)
            buf_addf(&shown, "%s%s:%s%s", k ? " " : "", found.all[k].program,
                     found.all[k].subcommand,
                     found.all[k].exact_subcommand ? ""
                     : found.all[k].exact          ? "~"
                                                   : "?");
        if (strcmp(buf_text(&shown), rows[i].shown) != 0)
            fail_msg("%s: %s, not %s", rows[i].text, shown.data, rows[i].shown);
    }
    BUF_AT_END struct buf many = BUF_INIT(1 << 16);
    for (int i = 0; i <= COMMAND_PAIRS_MAX; i++)
        buf_addf(&many, "a%d|", i);
    struct command_pairs found;
    struct err err;
    assert_int_equal(command_pairs_read(buf_str(&many), &around, &found, &err), -1);
    assert_non_null(strstr(err.message, "more than 64"));
}

/* What people and agents type: at least seven of eight are understood, and of the others it is said why not. */
static void ordinary_lines(void **state)
{
    (void)state;
    char line[1024];
    size_t all = 0;
    size_t understood = 0;
    FILE *f = fopen(SOURCE_DIR "/tests/unit/data/ordinary_lines.txt", "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        COMMAND_PAIRS_AT_END struct command_pairs found = {.n = 0};
        struct err err;
        line[strcspn(line, "\n")] = '\0';
        if (command_pairs_read(text_str(line), &around, &found, &err) < 0)
            fail_msg("%s: %s", line, err.message);
        all++;
        understood += found.understood;
        assert_true(found.understood || strstr(found.why, ": "));
    }
    fclose(f);
    if (all < 200 || understood * 8 < all * 7)
        fail_msg("%zu of %zu lines are understood", understood, all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cannot_be_read),
        cmocka_unit_test(nesting_ends),
        cmocka_unit_test(stays_fast),
        cmocka_unit_test(other_tables),
        cmocka_unit_test(programs_by_list),
        cmocka_unit_test(programs_by_name),
        cmocka_unit_test(pairs),
        cmocka_unit_test(ordinary_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
