/* Which paths a git configuration names. */
#include <cmocka.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "core/git_settings.h"

/* Once each. */
static void add_line(struct buf *out, const char *line)
{
    if (!out->len || !strstr(buf_text(out), line))
        buf_add_text(out, line);
}

static void take(void *arg, enum git_setting use, const char *path)
{
    static const char *const uses[] = {"include", "path",     "hooks",
                                       "template", "word",     "file",
                                       "glob",    "unread"};
    FREE_AT_END char *line = mem_format("%s %s\n", uses[use], path);
    if (use != GIT_SETTING_WORD || git_setting_is_path(path))
        add_line(arg, line);
}

static void assert_paths(const char *config, const char *expected)
{
    BUF_AT_END struct buf found = BUF_INIT(1 << 16);
    git_settings_each((struct str){config, strlen(config)}, take, &found);
    assert_string_equal(found.len ? buf_text(&found) : "", expected);
}

static void paths_are_found(void **state)
{
    (void)state;
    assert_paths("[core]\n\thooksPath = .githooks\n", "hooks .githooks\n");
    assert_paths("[CORE]\n\tHOOKSPATH=.githooks", "hooks .githooks\n");
    assert_paths("[core] hooksPath = a\n", "hooks a\n");
    assert_paths("[include]\npath = ../x\n[includeIf \"gitdir:/a]b\\\"c\"]\n path = y ; no\n",
                 "include ../x\ninclude y\n");
    assert_paths("\xef\xbb\xbf[core]\nattributesFile = a b # c\n", "path a b\n");
    assert_paths("[user]\nname = ./a\n[remote \"o\"]\nurl = ./b\n", "");
}

static void values_are_read_as_git_reads_them(void **state)
{
    (void)state;
    assert_paths("[core]\nhooksPath = \" a;b\" # c\n", "hooks  a;b\n");
    assert_paths("[core]\nhooksPath = a\\\nb\n", "hooks ab\n");
    assert_paths("[core]\nhooksPath = a\\\r\nb\r\n", "hooks ab\n");
    assert_paths("[core]\nhooksPath = \"a\\\"b\\\\c\"\n", "hooks a\"b\\c\n");
    assert_paths("[core]\nhooksPath\nhooksPath =\nhooksPath = x", "hooks x\n");
    assert_paths("# [core]\n;[core]\nhooksPath = x\n", "");
}

static void programs_are_taken_apart(void **state)
{
    (void)state;
    assert_paths("[core]\nfsmonitor = ./w -x\npager = less -R\n", "word ./w\n");
    assert_paths("[lfs \"customtransfer.a\"]\npath = ./w\n", "word ./w\n");
    assert_paths("[lfs \"extension.a\"]\nclean = ./w -x\nsmudge = ./v\n", "word ./w\nword ./v\n");
    assert_paths("[filter \"x\"]\nclean = python3 conv.py --in=%f\n", "word conv.py\nfile %f\n");
    assert_paths("[alias]\nst = status a/b\nup = \"!cd x; './b/c' | d.sh\"\n",
                 "word ./b/c\nword d.sh\nword x/./b/c\n");
    assert_paths("[diff \"x\"]\ntextconv = \"\\\"./p/q\\\" -a\"\n", "word ./p/q\n");
    assert_paths("[pager]\nlog = ./a/b\n", "word ./a/b\n");
}

static void take_word(void *arg, enum git_setting use, const char *path)
{
    FREE_AT_END char *word = mem_format("%s ", path);
    if (use == GIT_SETTING_WORD)
        add_line(arg, word);
}

/* A program is searched for in PATH; any other word may be a file. */
static void bare_words_are_told_behind_a_program(void **state)
{
    (void)state;
    static const char config[] =
        "[core]\npager = less -R\neditor = vi\nfsmonitor = \"sh evil; cat x | tr y\"\n"
        "[alias]\na = !sh b\n[gpg]\nprogram = \"'./p' q\"\n";
    BUF_AT_END struct buf found = BUF_INIT(1 << 16);
    git_settings_each((struct str){config, strlen(config)}, take_word, &found);
    assert_string_equal(buf_text(&found), "-R evil x y b ./p q ");
}

static void any_of(void *arg, enum git_setting use, const char *text)
{
    static const char *const uses[] = {"include", "path",     "hooks",
                                       "template", "word",     "file",
                                       "glob",    "unread"};
    FREE_AT_END char *line = mem_format("%s %s\n", uses[use], text);
    add_line(arg, line);
}

struct told {
    const char *value;
    const char *line; /* among what is told */
};

/* As a shell reads it. */
static void programs_are_found_in_every_form(void **state)
{
    (void)state;
    static const struct told cases[] = {
        {"tools/w", "word tools/w"},
        {"\"tools/\"w", "word tools/w"},
        {"too'ls/w'", "word tools/w"},
        {"tools\\/w", "word tools/w"},
        {"'my tools'/w", "word my tools/w"},
        {"$PWD/tools/w", "word ./tools/w"},
        {"${PWD}/w", "word ./w"},
        {"${PWD:-x}/w", "word ./w"},
        {"\"$(git rev-parse --show-toplevel)\"/tools/w", "word ./tools/w"},
        {"\"$( git rev-parse --show-toplevel )/tools/w\" -x", "word ./tools/w"},
        {"`pwd`/tools/w", "word ./tools/w"},
        {"$X/tools/w", "word ./tools/w"},
        {"$X/tools/w", "unread core.fsmonitor"},
        {"cd tools && ./w", "word tools/./w"},
        {"cd tools; cd deep; ./w", "word tools/deep/./w"},
        {"cd -P -- tools && sh w", "file tools/w"},
        {"(cd 'tools'; exec ./w)", "word tools/./w"},
        {"cd \"$PWD/tools\" && ./w", "word tools/./w"},
        {"cd /abs/tools && ./w", "word /abs/tools/./w"},
        {"env -C tools ./w", "word tools/./w"},
        {"cd \"$X\" && ./w", "unread core.fsmonitor"},
        {"tools/?", "glob tools/?"},
        {"tools/[vw]*", "glob tools/[vw]*"},
        {"tools/{v,w}", "glob tools/{v,w}"},
        {"sh tools/*.sh", "glob tools/*.sh"},
        {"\"$PWD\"/to*/w", "glob ./to*/w"},
        {"tools/$NAME", "glob tools/*"},
        {"'a*'/w?", "glob a\\*/w?"},
        {"python3 -m tools.w", "word ./tools/w.py"},
        {"python3 -m tools.w", "word ./tools/w/__main__.py"},
        {"/usr/bin/python3.11 -mtools.w", "word ./tools/__init__.py"},
        {"cd src && python3 -m tools.w", "word src/./tools/w.py"},
        {"ruby -r./w x", "word ./w"},
        {"sh -c 'cd tools && ./w'", "word tools/./w"},
        {"sh -c \"sh -c 'cd tools; ./w'\"", "word tools/./w"},
        {"x $(cd tools; ./w)", "word tools/./w"},
        {"A=b \"tools/\"w", "word tools/w"},
        {"exec \"tools/\"w", "word tools/w"},
        {"true && \"tools/\"w", "word tools/w"},
        {"make -Csub -fx.mk", "word sub/x.mk"},
        {"make -fx.mk -Csub", "word sub/x.mk"},
        {"make -f x.mk -C sub", "word sub/x.mk"},
        {"make -C sub -f x.mk", "word sub/x.mk"},
        {"make -kfx.mk", "file x.mk"},
        {"make --file=x.mk --directory=sub", "word sub/x.mk"},
        {"make --directory sub --file='x y'", "file sub/x y"},
        {"make -Ca -Cb -fx.mk", "word a/b/x.mk"},
        {"env --chdir=sub ./w", "word sub/./w"},
        {"diff -C3 'x y'/z", "word x y/z"},
        {"make -Csub; 'x y'/z", "word x y/z"},
        {"cd a; make -Csub; 'x y'/z", "word a/x y/z"},
        {"$PROGRAM", "unread core.fsmonitor"},
        {"eval \"$x\"", "unread core.fsmonitor"},
        {"sh \"$x\"/w", "unread core.fsmonitor"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        BUF_AT_END struct buf config = BUF_INIT(1 << 16);
        BUF_AT_END struct buf found = BUF_INIT(1 << 16);
        buf_add_text(&config, "[core]\nfsmonitor = \"");
        for (const char *at = cases[i].value; *at; at++) {
            if (*at == '"' || *at == '\\')
                buf_add_char(&config, '\\');
            buf_add_char(&config, *at);
        }
        buf_add_text(&config, "\"\n");
        git_settings_each(buf_str(&config), any_of, &found);
        FREE_AT_END char *line = mem_format("%s\n", cases[i].line);
        if (!found.len || !strstr(buf_text(&found), line))
            fail_msg("%s: %s", cases[i].value, found.len ? buf_text(&found) : "nothing");
    }
}

/* Wherever an address may stand. */
static void programs_in_addresses_are_found(void **state)
{
    (void)state;
    static const struct told cases[] = {
        {"[remote \"o\"]\nurl = ext::tools/w %S /r", "word tools/w"},
        {"[remote \"o\"]\nurl = ext::sh w x%Sy", "word w"},
        {"[remote \"o\"]\nurl = \"ext::./my% tools/w %S\"", "word ./my tools/w"},
        {"[remote \"o\"]\nurl = \"ext::./a\\\"b/w %S\"", "word ./a\"b/w"},
        {"[remote \"o\"]\nurl = ext::tools/git-%s", "glob tools/git-*"},
        {"[remote \"o\"]\nvcs = ext\nurl = tools/w %S", "word tools/w"},
        {"[remote \"o\"]\npushurl = ext::tools/w", "word tools/w"},
        {"[remote]\npushDefault = ext::tools/w", "word tools/w"},
        {"[branch \"b\"]\nremote = ext::tools/w", "word tools/w"},
        {"[branch \"b\"]\npushRemote = ext::tools/w", "word tools/w"},
        {"[submodule \"s\"]\nurl = ext::tools/w", "word tools/w"},
        {"[url \"ext::tools/w \"]\ninsteadOf = x:", "word tools/w"},
        {"[url \"ext::tools/w \"]\npushInsteadOf = x:", "word tools/w"},
        {"[url \"ext::./a]b/w\"]\npushInsteadOf = x:", "word ./a]b/w"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        BUF_AT_END struct buf found = BUF_INIT(1 << 16);
        git_settings_each((struct str){cases[i].value, strlen(cases[i].value)}, any_of, &found);
        FREE_AT_END char *line = mem_format("%s\n", cases[i].line);
        if (!found.len || !strstr(buf_text(&found), line))
            fail_msg("%s: %s", cases[i].value, found.len ? buf_text(&found) : "nothing");
    }
    assert_paths("[remote \"o\"]\nurl = https://a/b c\n[url \"https://x/\"]\ninsteadOf = ext::./w\n",
                 "");
}

/* What programs are given is not run, and what is in the user's home is not looked at. */
static void ordinary_lines_are_read(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "meld \\\"$LOCAL\\\" \\\"$BASE\\\" \\\"$REMOTE\\\" --output \\\"$MERGED\\\"",
        "!f() { git log \\\"$@\\\" && git diff $1..$2; }; f",
        "!cd \\\"${GIT_PREFIX:-.}\\\" && git ls-files",
        "$HOME/bin/x --all *",
        "grep -r x *.c",
        "ssh -i ~/.ssh/id -o Control=$USER",
        "less -FRX",
        "git fetch && git branch -d $(git branch --merged)",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        BUF_AT_END struct buf config = BUF_INIT(1 << 16);
        BUF_AT_END struct buf found = BUF_INIT(1 << 16);
        buf_addf(&config, "[core]\npager = \"%s\"\n", lines[i]);
        git_settings_each(buf_str(&config), any_of, &found);
        if (found.len && (strstr(buf_text(&found), "unread ") || strstr(buf_text(&found), "glob ")))
            fail_msg("%s: %s", lines[i], buf_text(&found));
    }
}

/* Cut off anywhere, and with values that have no end. */
static void any_text_is_read_to_its_end(void **state)
{
    (void)state;
    static const char text[] =
        "[core \"a\\\"b\"]\nhooksPath = \"x\\\n y\" ; z\n[alias]\nq = \"!./a";
    for (size_t n = 0; n < sizeof text; n++) {
        BUF_AT_END struct buf found = BUF_INIT(1 << 16);
        git_settings_each((struct str){text, n}, take, &found);
        assert_true(found.len <= n + 32);
    }
    BUF_AT_END struct buf found = BUF_INIT(1 << 20);
    BUF_AT_END struct buf deep = BUF_INIT(1 << 20);
    buf_add(&deep, "[core]\nhooksPath = ", 19);
    for (int i = 0; i < 100000; i++)
        buf_add_char(&deep, 'a');
    git_settings_each(buf_str(&deep), take, &found);
    assert_int_equal(found.len, strlen("hooks \n") + 100000);
    /* A program may be named behind any number of words. */
    buf_reset(&found, 0);
    buf_add(&deep, "\nfsmonitor = ", 13);
    for (int i = 0; i < 10000; i++)
        buf_add(&deep, "x ", 2);
    buf_add(&deep, "./last", 6);
    git_settings_each(buf_str(&deep), take, &found);
    assert_non_null(strstr(buf_text(&found), "\nword ./last\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_found),
        cmocka_unit_test(values_are_read_as_git_reads_them),
        cmocka_unit_test(programs_are_taken_apart),
        cmocka_unit_test(programs_are_found_in_every_form),
        cmocka_unit_test(programs_in_addresses_are_found),
        cmocka_unit_test(ordinary_lines_are_read),
        cmocka_unit_test(bare_words_are_told_behind_a_program),
        cmocka_unit_test(any_text_is_read_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
