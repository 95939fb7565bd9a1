#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "policy/command_rules.h"
#include "policy/shell_words.h"

static struct str text_str(const char *text)
{
    return (struct str){text, strlen(text)};
}

struct row {
    const char *text;
    const char *rule; /* NULL: it passes */
};

static void check_row(const struct row *row, bool allow_chaining)
{
    struct command_rules rules = command_rules_sidecar;
    struct err err = {.code = ERR_COUNT};
    rules.allow_chaining = allow_chaining;
    int done = command_check(text_str(row->text), &rules, &err);
    if (!row->rule) {
        if (done != 0)
            fail_msg("%s: refused: %s", row->text, err.message);
        assert_int_equal(err.code, ERR_COUNT);
        return;
    }
    if (done == 0)
        fail_msg("%s: passes, but %s refuses it", row->text, row->rule);
    if (strcmp(err.reason, row->rule) != 0)
        fail_msg("%s: by %s (%s), not %s", row->text, err.reason, err.message, row->rule);
    assert_int_equal(err.code, ERR_COMMAND_BLOCKED);
    assert_non_null(strstr(err.message, row->rule));
    if (strncmp(row->rule, "chaining:", 9) == 0)
        assert_non_null(strstr(err.message, "make separate calls"));
}

static void check_rows(const struct row *rows, size_t count, bool allow_chaining)
{
    for (size_t i = 0; i < count; i++)
        check_row(&rows[i], allow_chaining);
}

static void harmless(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "ls",
        "ls -la | wc -l",
        "echo \"a; b\"",
        "echo 'a && b || c & d'",
        "echo a\\;b \\& \\|",
        "echo '$(sudo ls)' '`sudo ls`' \\$\\(x\\)",
        "grep 'sudo' file",
        "grep -r sudo .",
        "git commit -m \"fix && run\"",
        "git commit -m 'remove sudo; use dd'",
        "git format-patch -1",
        "git log --format=%h",
        "find . -name '*.c'",
        "find . -name '*.c' -exec grep -l main {} \\;",
        "find . -name '*.c' -exec wc -l {} +",
        "find . -name curl -print",
        "find sudo -type f",
        "python3 -c 'print(1)'",
        "python3 -c 'import os; print(os.name)'",
        "python3 -c \"\nimport os\nprint(1)\n\"",
        "echo curl",
        "echo sudo reboot",
        "cat dd.txt",
        "cat ./curl.log",
        "cat < curl > wget",
        "ls > dd 2>&1",
        "npm run format",
        "npm install curl",
        "cargo fmt",
        "clang-format -i x.c",
        "sudoku",
        "curlie x",
        "ncdu",
        "add dd",
        "mkfsx",
        "which curl",
        "type curl",
        "command -v curl",
        "command -V sudo",
        "man dd",
        "apt-cache show wget",
        "chmod 755 x",
        "chmod +x x",
        "chmod u+x,g-w x",
        "chmod 0644 777",
        "chmod a+rx x",
        "chmod +rwx x",
        "chmod u=rwx,go=rx x",
        "chmod -R go-rwx x",
        "chmod a=rwx,o-w x",
        "chmod --reference=a b",
        "rm x",
        "rm -r build",
        "rm -f /tmp/x",
        "rm -rf build",
        "rm -rf ./build node_modules/",
        "rm -rf -- -x",
        "rm -rf *.o",
        "rm -rf build/{a,b}",
        "rm -rf 'a b'",
        "rm -r /workspace/x",
        "rm -i /x",
        "find . -name x -exec rm -rf {} +",
        "find -name x -exec rm -rf {} \\;",
        "find . -name '*.o' | xargs rm -f",
        "find . -print0 | xargs -0 grep x",
        "X=sudo ls",
        "X=curl",
        "env",
        "env X=1 ls",
        "env -i PATH=/bin ls",
        "nohup ls",
        "timeout 5 ls",
        "timeout -k 1 5 ls sudo",
        "nice -n 5 make",
        "time make",
        "xargs echo sudo",
        "xargs -I curl echo curl",
        "sh script.sh",
        "sh ./sudo.sh",
        "bash -c 'ls | wc -l'",
        "bash -lc 'echo \"a; b\"'",
        "bash -c",
        "sh -e script -c 'ls'",
        "eval ls",
        "busybox ls",
        "(ls)",
        "! grep x y",
        "[[ a && b ]]",
        "[[ $x =~ ^(a|b)$ ]]",
        "cat <<EOF\nsudo; $x && ls\nEOF\n",
        "cat <<'EOF'\n$(sudo ls) `x`\nEOF",
        "cat <<EOF > out\na\nb\nEOF",
        "cat <<EOF | grep a\na & b; c\nEOF",
        "ls\n",
        "\n ls \n\n",
        "# a comment\nls",
        "ls # ; sudo x && y",
        "ls |\n wc",
        "ls \\\n -l",
        "echo 'a\nb'",
        "echo $HOME ${x:-y} $((1 + 2))",
        "echo {a,b} *.c",
        "$CC -o x x.c",
        "\"$PYTHON\" x.py",
        "awk '{ print $1; x = 2 }' f",
        "sed -e 's/a/b/;s/c/d/' f",
        "make CC=curl",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        check_row(&(struct row){texts[i], NULL}, false);
        check_row(&(struct row){texts[i], NULL}, true);
    }
}

static void chaining(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ls; pwd", "chaining:;"},
        {"ls;pwd", "chaining:;"},
        {"ls;", "chaining:;"},
        {"ls && pwd", "chaining:&&"},
        {"ls&&pwd", "chaining:&&"},
        {"ls || pwd", "chaining:||"},
        {"ls & pwd", "chaining:&"},
        {"sleep 100 &", "chaining:&"},
        {"ls\npwd", "chaining:newline"},
        {"ls # comment\npwd", "chaining:newline"},
        {"cat <<E\nx\nE\nls", "chaining:newline"},
        {"cat <<E && ls\nx\nE", "chaining:&&"},
        {"echo $(pwd)", "chaining:$()"},
        {"echo \"a $(pwd) b\"", "chaining:$()"},
        {"echo ${x:-$(pwd)}", "chaining:$()"},
        {"echo $((1 + $(pwd)))", "chaining:$()"},
        {"cat <<E\n$(pwd)\nE", "chaining:$()"},
        {"X=$(pwd)", "chaining:$()"},
        {"ls > $(pwd)", "chaining:$()"},
        {"ls $()", "chaining:$()"},
        {"echo `pwd`", "chaining:backtick"},
        {"echo \"`pwd`\"", "chaining:backtick"},
        {"diff <(ls a) b", "chaining:<()"},
        {"tee >(wc)", "chaining:<()"},
        {"(ls; pwd)", "chaining:;"},
        {"{ ls; }", "chaining:;"},
        {"ls | (a && b)", "chaining:&&"},
        {"if ls; then pwd; fi", "chaining:;"},
        {"if (ls) then (pwd) fi", "chaining:compound"},
        {"while (a) do (b) done", "chaining:compound"},
        {"for x in a b; do ls; done", "chaining:compound"},
        {"case x in x) ls;; esac", "chaining:;"},
        {"coproc ls", "chaining:&"},
        {"f() { ls; }; f", "chaining:;"},
        {"sh -c 'ls; pwd'", "chaining:;"},
        {"bash -lc \"cd x && make\"", "chaining:&&"},
        {"env X=1 bash -ec 'a\nb'", "chaining:newline"},
        {"eval 'ls; pwd'", "chaining:;"},
        {"eval ls \\; pwd", "chaining:;"},
        {"xargs sh -c 'a & b'", "chaining:&"},
        {"find . -exec sh -c 'a || b' \\;", "chaining:||"},
        /* The first one in the text is named. */
        {"a || b && c; d", "chaining:||"},
        {"a; b $(c)", "chaining:;"},
        {"a $(b; c)", "chaining:$()"},
    };
    check_rows(rows, ARRAY_LEN(rows), false);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_row(&(struct row){rows[i].text, NULL}, true);
}

static void blocked_programs(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"sudo ls", "blocked:sudo"},
        {"sudo", "blocked:sudo"},
        {"shutdown now", "blocked:shutdown"},
        {"reboot", "blocked:reboot"},
        {"format c:", "blocked:format"},
        {"mkfs /dev/sda", "blocked:mkfs"},
        {"mkfs.ext4 /dev/sda", "blocked:mkfs"},
        {"/sbin/mkfs.xfs x", "blocked:mkfs"},
        {"dd if=/dev/zero of=x", "blocked:dd"},
        {"curl http://x", "blocked:curl"},
        {"wget x", "blocked:wget"},
        {"nc -l 1", "blocked:nc"},
        {"netcat x 1", "blocked:netcat"},
        {"  sudo ls", "blocked:sudo"},
        {"\nsudo ls", "blocked:sudo"},
        {"ls | sudo tee x", "blocked:sudo"},
        {"ls |& sudo tee x", "blocked:sudo"},
        {"ls |\n sudo tee x", "blocked:sudo"},
        {"ls|sudo tee", "blocked:sudo"},
        {"(sudo ls)", "blocked:sudo"},
        {"! sudo ls", "blocked:sudo"},
        {">x sudo ls", "blocked:sudo"},
        {"2>&1 sudo ls", "blocked:sudo"},
        {"cat <<E | sudo tee x\na\nE", "blocked:sudo"},
        {"f() (sudo ls)", "blocked:sudo"},
        /* spelling */
        {"s\"ud\"o ls", "blocked:sudo"},
        {"\\sudo ls", "blocked:sudo"},
        {"s\\udo ls", "blocked:sudo"},
        {"'sudo' ls", "blocked:sudo"},
        {"\"sudo\" ls", "blocked:sudo"},
        {"su''do ls", "blocked:sudo"},
        {"su\\\ndo ls", "blocked:sudo"},
        {"$'sudo' ls", "blocked:sudo"},
        {"$'\\x73udo' ls", "blocked:sudo"},
        {"$'\\163'udo ls", "blocked:sudo"},
        {"$\"sudo\" ls", "blocked:sudo"},
        {"/usr/bin/sudo ls", "blocked:sudo"},
        {"./sudo ls", "blocked:sudo"},
        {"../../usr/bin/sudo", "blocked:sudo"},
        {"/usr/bin/'su'do", "blocked:sudo"},
        {"$HOME/bin/curl x", "blocked:curl"},
        {"su$@do ls", "blocked:sudo"},
        {"${x}cu${x}rl y", "blocked:curl"},
        {"/usr/bin/sud? ls", "blocked:sudo"},
        {"/bin/c*l x", "blocked:curl"},
        {"/bin/[c]url x", "blocked:curl"},
        {"{curl,http://x}", "blocked:curl"},
        {"{sudo,ls}", "blocked:sudo"},
        /* behind others */
        {"X=1 sudo ls", "blocked:sudo"},
        {"X=1 Y='a b' sudo ls", "blocked:sudo"},
        {"a[1 + 2]=3 sudo ls", "blocked:sudo"},
        {"env sudo ls", "blocked:sudo"},
        {"env -i sudo ls", "blocked:sudo"},
        {"env - sudo ls", "blocked:sudo"},
        {"env X=y sudo ls", "blocked:sudo"},
        {"env -i X=y Z=1 sudo ls", "blocked:sudo"},
        {"env -u HOME sudo ls", "blocked:sudo"},
        {"env -uHOME sudo ls", "blocked:sudo"},
        {"env --unset HOME sudo ls", "blocked:sudo"},
        {"env --unset=HOME sudo ls", "blocked:sudo"},
        {"env -C /tmp -- sudo ls", "blocked:sudo"},
        {"env -S 'sudo ls'", "blocked:sudo"},
        {"env -iS 'X=1 sudo ls'", "blocked:sudo"},
        {"env '-Ssudo ls'", "blocked:sudo"},
        {"env --split-string='sudo ls'", "blocked:sudo"},
        {"env --split-string 'sudo ls'", "blocked:sudo"},
        {"/usr/bin/env sudo", "blocked:sudo"},
        {"nohup sudo ls", "blocked:sudo"},
        {"nice sudo ls", "blocked:sudo"},
        {"nice -n 5 sudo ls", "blocked:sudo"},
        {"nice -n5 sudo ls", "blocked:sudo"},
        {"nice -5 sudo ls", "blocked:sudo"},
        {"nice --adjustment 5 sudo ls", "blocked:sudo"},
        {"ionice -c 3 sudo ls", "blocked:sudo"},
        {"time sudo ls", "blocked:sudo"},
        {"time -p sudo ls", "blocked:sudo"},
        {"time (sudo ls)", "blocked:sudo"},
        {"/usr/bin/time -f %e sudo ls", "blocked:sudo"},
        {"timeout 5 sudo ls", "blocked:sudo"},
        {"timeout -s KILL 5 sudo ls", "blocked:sudo"},
        {"timeout --signal=KILL -k 1 5 sudo ls", "blocked:sudo"},
        {"stdbuf -oL sudo ls", "blocked:sudo"},
        {"stdbuf -o L sudo ls", "blocked:sudo"},
        {"setsid sudo ls", "blocked:sudo"},
        {"setsid -f sudo ls", "blocked:sudo"},
        {"taskset 1 curl x", "blocked:curl"},
        {"chroot /x curl y", "blocked:curl"},
        {"strace -o f curl y", "blocked:curl"},
        {"ls | xargs sudo", "blocked:sudo"},
        {"ls | xargs -n 1 sudo rm", "blocked:sudo"},
        {"ls | xargs -n1 -I {} sudo rm {}", "blocked:sudo"},
        {"ls | xargs -0 -r -P4 curl", "blocked:curl"},
        {"ls | xargs --max-args 2 curl", "blocked:curl"},
        {"exec sudo ls", "blocked:sudo"},
        {"exec -a x sudo ls", "blocked:sudo"},
        {"command sudo ls", "blocked:sudo"},
        {"command -p sudo ls", "blocked:sudo"},
        {"builtin sudo", "blocked:sudo"},
        {"eval sudo ls", "blocked:sudo"},
        {"eval 'sudo ls'", "blocked:sudo"},
        {"eval 's\"u\"do' ls", "blocked:sudo"},
        {"eval \"X=1 sudo\" ls", "blocked:sudo"},
        {"watch -n 1 sudo ls", "blocked:sudo"},
        {"trap 'sudo ls' EXIT", "blocked:sudo"},
        {"find . -exec sudo ls {} \\;", "blocked:sudo"},
        {"find . -name x -execdir curl {} +", "blocked:curl"},
        {"find . -exec ls {} \\; -exec sudo rm {} \\;", "blocked:sudo"},
        {"find . -ok wget {} ';'", "blocked:wget"},
        {"find . -exec env X=1 sudo {} ';'", "blocked:sudo"},
        {"find . -exec sh -c 'curl $1' _ {} ';'", "blocked:curl"},
        {"busybox wget x", "blocked:wget"},
        {"busybox sh -c 'wget x'", "blocked:wget"},
        {"toybox nc x", "blocked:nc"},
        {"sh -c 'sudo ls'", "blocked:sudo"},
        {"sh -c \"sudo ls\"", "blocked:sudo"},
        {"sh -c sudo", "blocked:sudo"},
        {"sh -c 's\"ud\"o ls'", "blocked:sudo"},
        {"sh -c \"sudo $X\"", "blocked:sudo"},
        {"/bin/sh -c 'ls | sudo tee x'", "blocked:sudo"},
        {"bash -lc 'sudo ls'", "blocked:sudo"},
        {"bash -l -c 'sudo ls'", "blocked:sudo"},
        {"bash -c -e 'sudo ls'", "blocked:sudo"},
        {"bash -o pipefail -c 'sudo ls'", "blocked:sudo"},
        {"bash -eo pipefail -c 'sudo ls'", "blocked:sudo"},
        {"bash +e -c 'sudo ls'", "blocked:sudo"},
        {"bash --norc -c 'sudo ls'", "blocked:sudo"},
        {"bash --rcfile x -c 'sudo ls'", "blocked:sudo"},
        {"bash -c -- 'sudo ls'", "blocked:sudo"},
        {"zsh -c 'sudo ls'", "blocked:sudo"},
        {"sh -c 'sh -c \"sh -c \\\"sudo ls\\\"\"'", "blocked:sudo"},
        {"env X=1 nohup nice -n 5 timeout 5 xargs -n1 sh -c 'exec sudo ls'", "blocked:sudo"},
    };
    check_rows(rows, ARRAY_LEN(rows), false);
    check_rows(rows, ARRAY_LEN(rows), true);
}

static void blocked_in_a_chain(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"ls; sudo ls", "blocked:sudo"},
        {"ls && sudo ls", "blocked:sudo"},
        {"ls || sudo ls", "blocked:sudo"},
        {"ls & sudo ls", "blocked:sudo"},
        {"ls\nsudo ls", "blocked:sudo"},
        {"echo $(sudo ls)", "blocked:sudo"},
        {"echo \"$(ls \"$(sudo ls)\")\"", "blocked:sudo"},
        {"echo `sudo ls`", "blocked:sudo"},
        {"echo `echo \\`sudo ls\\``", "blocked:sudo"},
        {"cat <(sudo ls)", "blocked:sudo"},
        {"tee >(curl x)", "blocked:curl"},
        {"echo ${x:-$(sudo ls)}", "blocked:sudo"},
        {"echo $((1 + $(sudo ls)))", "blocked:sudo"},
        {"echo $((ls); (sudo ls))", "blocked:sudo"},
        {"cat <<E\n$(sudo ls)\nE", "blocked:sudo"},
        {"cat <<E\nx\nE\nsudo ls", "blocked:sudo"},
        {"if true; then sudo ls; fi", "blocked:sudo"},
        {"if sudo ls; then x; fi", "blocked:sudo"},
        {"if x; then y; else sudo ls; fi", "blocked:sudo"},
        {"while sudo ls; do x; done", "blocked:sudo"},
        {"for x in a b; do sudo ls; done", "blocked:sudo"},
        {"for x in $(sudo ls); do y; done", "blocked:sudo"},
        {"for ((;;)) { sudo ls; }", "blocked:sudo"},
        {"case x in x) sudo ls;; esac", "blocked:sudo"},
        {"case x in a) b;; (x|y) sudo ls;; esac", "blocked:sudo"},
        {"f() { sudo ls; }", "blocked:sudo"},
        {"function f { sudo ls; }", "blocked:sudo"},
        {"{ ls; sudo ls; }", "blocked:sudo"},
        {"coproc sudo ls", "blocked:sudo"},
        {"coproc N { sudo ls; }", "blocked:sudo"},
        {"[[ -n $(sudo ls) ]]", "blocked:sudo"},
        {"((x = $(sudo ls)))", "blocked:sudo"},
        {"a=(x $(sudo ls))", "blocked:sudo"},
        {"X=$(sudo ls)", "blocked:sudo"},
        {"ls > $(sudo ls)", "blocked:sudo"},
        {"sh -c 'ls; sudo ls'", "blocked:sudo"},
        {"sh -c \"echo \\$(sudo ls)\"", "blocked:sudo"},
        {"$(sudo ls)", "blocked:sudo"},
        {"ls; time { sudo ls; }", "blocked:sudo"},
        {"echo a; # b\nsudo ls", "blocked:sudo"},
    };
    check_rows(rows, ARRAY_LEN(rows), true);
}

static void blocked_forms(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"chmod 777 x", "blocked:chmod-777"},
        {"chmod 0777 x", "blocked:chmod-777"},
        {"chmod 00777 x", "blocked:chmod-777"},
        {"chmod 1777 x", "blocked:chmod-777"},
        {"chmod =777 x", "blocked:chmod-777"},
        {"chmod -R 777 x", "blocked:chmod-777"},
        {"chmod --recursive -v 777 x", "blocked:chmod-777"},
        {"chmod -- 777 x", "blocked:chmod-777"},
        {"chmod '777' x", "blocked:chmod-777"},
        {"chmod 7\"7\"7 x", "blocked:chmod-777"},
        {"chmod a+rwx x", "blocked:chmod-777"},
        {"chmod a=rwx x", "blocked:chmod-777"},
        {"chmod ugo+rwx x", "blocked:chmod-777"},
        {"chmod u+rwx,g+rwx,o+rwx x", "blocked:chmod-777"},
        {"chmod u=rwx,go=u x", "blocked:chmod-777"},
        {"chmod a+r+w+x x", "blocked:chmod-777"},
        {"chmod -R a+rwX x", "blocked:chmod-777"},
        {"/bin/chmod 777 x", "blocked:chmod-777"},
        {"find . -exec chmod 777 {} +", "blocked:chmod-777"},
        {"ls | xargs chmod 777", "blocked:chmod-777"},
        {"rm -rf /", "blocked:rm-rf"},
        {"rm -fr /", "blocked:rm-rf"},
        {"rm -r -f /", "blocked:rm-rf"},
        {"rm -f -r /x", "blocked:rm-rf"},
        {"rm -Rf /x", "blocked:rm-rf"},
        {"rm -fR /x", "blocked:rm-rf"},
        {"rm -rvf /x", "blocked:rm-rf"},
        {"rm --recursive --force /x", "blocked:rm-rf"},
        {"rm --rec --fo /x", "blocked:rm-rf"},
        {"rm -r --force /x", "blocked:rm-rf"},
        {"rm --no-preserve-root -rf /", "blocked:rm-rf"},
        {"rm /x -rf", "blocked:rm-rf"},
        {"rm -r /x -f", "blocked:rm-rf"},
        {"rm -rf -- /x", "blocked:rm-rf"},
        {"rm -rf a b /x", "blocked:rm-rf"},
        {"rm -rf ~", "blocked:rm-rf"},
        {"rm -rf ~/x", "blocked:rm-rf"},
        {"rm -rf ~user", "blocked:rm-rf"},
        {"rm -rf /*", "blocked:rm-rf"},
        {"rm -rf \"/\"", "blocked:rm-rf"},
        {"rm -rf '/'x", "blocked:rm-rf"},
        {"rm -rf \\/", "blocked:rm-rf"},
        {"rm '-rf' /", "blocked:rm-rf"},
        {"rm -\"r\"f /", "blocked:rm-rf"},
        {"rm -rf $'\\x2f'", "blocked:rm-rf"},
        {"rm -rf \"\"/", "blocked:rm-rf"},
        {"rm -rf $HOME", "blocked:rm-rf"},
        {"rm -rf \"$HOME\"/x", "blocked:rm-rf"},
        {"rm -rf ${HOME}/x", "blocked:rm-rf"},
        {"rm -rf $X/", "blocked:rm-rf"},
        {"rm -rf \"$DIR\"", "blocked:rm-rf"},
        {"rm -rf {/,x}", "blocked:rm-rf"},
        {"rm -rf {a,~}/x", "blocked:rm-rf"},
        {"/bin/rm -rf /", "blocked:rm-rf"},
        {"\\rm -rf /", "blocked:rm-rf"},
        {"env rm -rf /", "blocked:rm-rf"},
        {"sh -c 'rm -rf /'", "blocked:rm-rf"},
        {"busybox rm -rf /", "blocked:rm-rf"},
        {"find / -exec rm -rf {} +", "blocked:rm-rf"},
        {"find -L ~ . -name x -exec rm -rf {} \\;", "blocked:rm-rf"},
        {"find . -exec rm -rf /{} \\;", "blocked:rm-rf"},
        {"echo / | xargs rm -rf", "blocked:rm-rf"},
    };
    check_rows(rows, ARRAY_LEN(rows), false);
    check_rows(rows, ARRAY_LEN(rows), true);
}

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
    static const struct program_row rows[] = {
        {"/bin/ls", "/usr/bin/ls", NULL},
        {"/usr/bin/git", "/usr/bin/git", NULL},
        {"/opt/x/run", "/opt/x/run", NULL},
        {"/opt/y/run", "/opt/y/run", "allowed"},
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
                                  .n_denied = ARRAY_LEN(denied)};
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

struct pair_row {
    const char *text;
    const char *shown; /* program:subcommand, `?` where it is not exact */
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
        {"git -C dir status", "git:status?"},
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
        {"./gradlew build", "./gradlew:"},
        {"/usr/bin/git push", "/usr/bin/git:push"},
        {"ls | wc -l", "ls: wc:"},
        {"git add . && git commit && git push", "git:add git:commit git:push"},
        {"ls; ls; ls -l", "ls:"},
        {"X=1 git commit", "git:commit?"},
        {"env X=1 git commit", "git:commit?"},
        {"env X=1 sh -c 'git commit'", "git:commit?"},
        {"nohup npm run dev", "npm:run dev"},
        {"timeout 5 git fetch", "git:fetch"},
        {"xargs git add", "git:add"},
        {"xargs git", "git:?"},
        {"find . -exec git add {} \\;", "git:add"},
        {"find . -exec git {} \\;", "git:?"},
        {"find . -exec {} x \\;", ":?"},
        {"find . -name x", "find:"},
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
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        COMMAND_PAIRS_AT_END struct command_pairs found = {.n = 0};
        BUF_AT_END struct buf shown = BUF_INIT(1 << 16);
        struct err err;
        if (command_pairs_read(text_str(rows[i].text), &found, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.message);
        for (size_t k = 0; k < found.n; k++)
            buf_addf(&shown, "%s%s:%s%s", k ? " " : "", found.all[k].program,
                     found.all[k].subcommand, found.all[k].exact ? "" : "?");
        if (strcmp(buf_text(&shown), rows[i].shown) != 0)
            fail_msg("%s: %s, not %s", rows[i].text, shown.data, rows[i].shown);
    }
    BUF_AT_END struct buf many = BUF_INIT(1 << 16);
    for (int i = 0; i <= COMMAND_PAIRS_MAX; i++)
        buf_addf(&many, "a%d|", i);
    struct command_pairs found;
    struct err err;
    assert_int_equal(command_pairs_read(buf_str(&many), &found, &err), -1);
    assert_non_null(strstr(err.message, "more than 64"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmless),
        cmocka_unit_test(chaining),
        cmocka_unit_test(blocked_programs),
        cmocka_unit_test(blocked_in_a_chain),
        cmocka_unit_test(blocked_forms),
        cmocka_unit_test(cannot_be_read),
        cmocka_unit_test(nesting_ends),
        cmocka_unit_test(stays_fast),
        cmocka_unit_test(other_tables),
        cmocka_unit_test(programs_by_list),
        cmocka_unit_test(pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
