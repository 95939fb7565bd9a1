#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "policy/shell_words.h"

static struct str text_str(const char *text)
{
    return (struct str){text, strlen(text)};
}

/* Words in brackets; `$`, `*` and `=` behind one that expands, is a pattern, assigns. */
static void show(const struct shell_script *script, struct buf *ret)
{
    for (size_t i = 0; i < script->n; i++) {
        const struct shell_command *command = &script->commands[i];
        buf_addf(ret, "%s%s", i ? " " : "",
                 command->join == SHELL_FIRST ? "" : shell_join_name(command->join));
        for (size_t k = 0; k < command->n; k++) {
            const struct shell_word *word = &command->words[k];
            assert_int_equal(k < command->assigns, !!(word->flags & SHELL_ASSIGNS));
            buf_addf(ret, "[%.*s]%s%s%s", (int)word->text.n, word->text.p,
                     word->flags & SHELL_EXPANDS ? "$" : "", word->flags & SHELL_PATTERN ? "*" : "",
                     word->flags & SHELL_ASSIGNS ? "=" : "");
        }
    }
}

static void read_well(const char *text, struct shell_script *ret)
{
    struct err err = {.code = ERR_COUNT};
    if (shell_read(text_str(text), ret, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(err.code, ERR_COUNT);
}

struct row {
    const char *text;
    const char *shown;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        SHELL_AT_END struct shell_script script = {0};
        BUF_AT_END struct buf shown = BUF_INIT(1 << 16);
        read_well(rows[i].text, &script);
        show(&script, &shown);
        const char *text = buf_text(&shown);
        if (strcmp(text, rows[i].shown) != 0)
            fail_msg("%s\nis  %s\nnot %s", rows[i].text, text, rows[i].shown);
    }
}

static void quoting(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", ""},
        {"  \t ", ""},
        {"\n\n", ""},
        {"ls", "[ls]"},
        {"ls -l  a\tb", "[ls][-l][a][b]"},
        {"echo 'a b' \"c d\"", "[echo][a b][c d]"},
        {"s\"ud\"o", "[sudo]"},
        {"\\sudo", "[sudo]"},
        {"s''u''d\"\"o", "[sudo]"},
        {"$'\\x73udo'", "[sudo]"},
        {"$'\\163\\u0075\\U00000064o'", "[sudo]"},
        {"$'a\\tb\\n\\'c\\\\\\z\\cA'", "[a\tb\n'c\\\\z\001]"},
        {"$'a\\0b'c", "[ac]"},
        {"$\"a b\"", "[a b]"},
        {"su\\\ndo ls", "[sudo][ls]"},
        {"\"su\\\ndo\"", "[sudo]"},
        {"echo \\\n  a", "[echo][a]"},
        {"''", "[]"},
        {"a '' b", "[a][][b]"},
        {"\"a\\b\\$c\\\"d\\\\\"", "[a\\b$c\"d\\]"},
        {"'a\\b'", "[a\\b]"},
        {"a\\", "[a\\]"},
        {"a#b #c", "[a#b]"},
        {"#x", ""},
        {"a \"#b\"", "[a][#b]"},
        {"\xc3\xa4 '\xff'", "[\xc3\xa4][\xff]"},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void expansions(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"$x", "[$x]$"},
        {"a$x-b", "[a$x-b]$"},
        {"\"$x\"/y", "[$x/y]$"},
        {"'$x'", "[$x]"},
        {"\\$x", "[$x]"},
        {"a$", "[a$]"},
        {"\"$\"", "[$]"},
        {"\"$ \"", "[$ ]"},
        {"$1 $@ $$ $?", "[$1]$[$@]$[$$]$[$?]$"},
        {"${HOME}/x", "[${HOME}/x]$"},
        {"${x:-a b}", "[${x}]$"},
        {"${x:-$(y 1)}", "[${x}]$ $( )[y][1]"},
        {"${x:-\"}\"}z", "[${x}z]$"},
        {"${x:-'}'}z", "[${x}z]$"},
        {"${#x}", "[${}]$"},
        {"a $(b c) d", "[a][$()]$[d] $( )[b][c]"},
        {"a \"$(b \"c d\")\"", "[a][$()]$ $( )[b][c d]"},
        {"a `b \\`c\\``", "[a][$()]$ backtick[b][$()]$ backtick[c]"},
        {"a \"`b \\\"c d\\\"`\"", "[a][$()]$ backtick[b][c d]"},
        {"a $((1+2))", "[a][$(())]$"},
        {"a $((1+$(b)))", "[a][$(())]$ $( )[b]"},
        {"a $((b);(c))", "[a][$()]$ $( )[b] ;[c]"},
        {"a $[1+$(b)]", "[a][$(())]$ $( )[b]"},
        {"a <(b) >(c)", "[a][<()]$[<()]$ <( )[b] <( )[c]"},
        {"a x<(b)", "[a][x<()]$ <( )[b]"},
        {"*.c", "[*.c]*"},
        {"'*.c' \\*", "[*.c][*]"},
        {"a[1] [x] [", "[a[1]]*[[x]]*[[]"},
        {"{a,b} {1..3} {} {a} '{a,b}'", "[{a,b}]*[{1..3}]*[{}][{a}][{a,b}]"},
        {"$(<file)", "[$()]$"},
        {"$()", "[$()]$"},
        {"a $(b $(c $(d)))", "[a][$()]$ $( )[b][$()]$ $( )[c][$()]$ $( )[d]"},
        {"a $(case x in x) b;; esac) c", "[a][$()]$[c] compound[b]"},
        {"a $(b # )\n)", "[a][$()]$ $( )[b]"},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void joints(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a|b", "[a] |[b]"},
        {"a |& b", "[a] |[b]"},
        {"a && b || c", "[a] &&[b] ||[c]"},
        {"a;b", "[a] ;[b]"},
        {"a & b", "[a] &[b]"},
        {"a\nb", "[a] newline[b]"},
        {"\na\n\n\nb\n", "[a] newline[b]"},
        {"a;\nb", "[a] newline[b]"},
        {"a |\n b", "[a] |[b]"},
        {"a &&\n#x\n b", "[a] &&[b]"},
        {"(a)", "[a]"},
        {"(a; b) | c", "[a] ;[b] |[c]"},
        {"a | (b && c)", "[a] |[b] &&[c]"},
        {"{ a; b; }", "[a] ;[b]"},
        {"! a", "[a]"},
        {"!a", "[!a]"},
        {"{a", "[{a]"},
        {"((x++))", "[((]"},
        {"((a); b)", "[a] ;[b]"},
        {"f() { a; }", "[a]"},
        {"f () (a)", "[a]"},
        {"function f { a; }", "[a]"},
        {"function f() { a; }", "[a]"},
        {"f() { a; }; f", "[a] ;[f]"},
        {"coproc a", "&[a]"},
        {"coproc N { a; }", "&[a]"},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void reserved_words(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"if a; then b; else c; fi", "[a] compound[b] compound[c]"},
        {"if a\nthen b\nelif c; then d\nfi", "[a] compound[b] compound[c] compound[d]"},
        {"if (a) then (b) fi", "[a] compound[b]"},
        {"while a; do b; done", "[a] compound[b]"},
        {"until a; do b; done < x", "[a] compound[b]"},
        {"for x in a b $(c); do d; done", "$( )[c] compound[d]"},
        {"for x do d; done", "compound[d]"},
        {"for ((i=0;i<$(a);i++)); do b; done", "$( )[a] compound[b]"},
        {"select x in a; do b; done", "compound[b]"},
        {"case $(a) in b|c) d;; (e) f; g;; *) esac", "$( )[a] compound[d] compound[f] ;[g]"},
        {"case a in b) c;; esac; d", "compound[c] ;[d]"},
        {"case a in b) case c in d) e;; esac;; f) g;; esac", "compound[e] compound[g]"},
        {"echo if then do", "[echo][if][then][do]"},
        {"\\if a", "[if][a]"},
        {"'while' a", "[while][a]"},
        {"X=1 if a", "[X=1]=[if][a]"},
        {"time a b", "[time][a][b]"},
        {"time -p a b", "[time][-p][a][b]"},
        {"time { a; b; }", "[a] ;[b]"},
        {"time -p (a)", "[a]"},
        {"[[ a && b || ( c < $(d) ) ]] && e", "[[[][a][b][c][$()]$[]]] $( )[d] &&[e]"},
        {"[[ $x =~ ^(a|b)$ ]]", "[[[][$x]$[=~][^][a][b][$][]]]"},
        {"[ a ] && b", "[[][a][]] &&[b]"},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void redirections(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"a > b", "[a]"},
        {"a >b c", "[a][c]"},
        {">b a c", "[a][c]"},
        {"a 2>&1 1>&2 c", "[a][c]"},
        {"a 2 >b", "[a][2]"},
        {"a x2>b", "[a][x2]"},
        {"a \\2>b", "[a][2]"},
        {"a {fd}>b {a}", "[a][{a}]"},
        {"a &>b &>>c d", "[a][d]"},
        {"a >|b <>c <&3 >&- d", "[a][d]"},
        {"a >$(b)", "[a] $( )[b]"},
        {"a <<<'b c' d", "[a][d]"},
        {"a <<E b\nc; d\nE\n", "[a][b]"},
        {"a <<E\nb\nE\nc", "[a] newline[c]"},
        {"a <<E\n$(b) `c` ${d:-$(e)} \\$(f)\nE", "[a] $( )[b] backtick[c] $( )[e]"},
        {"a <<'E'\n$(b)\nE", "[a]"},
        {"a <<\\E\n$(b)\nE", "[a]"},
        {"a <<-E\n\tb\n\tE\nc", "[a] newline[c]"},
        {"a <<E <<F; g\nE2\nE\n$(b)\nF\nc", "[a] ;[g] $( )[b] newline[c]"},
        {"a <<E\nno end", "[a]"},
        {"x $(a <<E\n)\nE\n) y", "[x][$()]$[y] $( )[a]"},
        {"a <<E\n\" ' ( \nE\nb", "[a] newline[b]"},
        {"a | b <<E | c\nE\n", "[a] |[b] |[c]"},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

static void assignments(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"X=1", "[X=1]="},
        {"X=1 Y='a b' c", "[X=1]=[Y=a b]=[c]"},
        {"X+=1 c", "[X+=1]=[c]"},
        {"X=$(a) c", "[X=$()]$=[c] $( )[a]"},
        {"c X=1", "[c][X=1]"},
        {"1X=1 c", "[1X=1][c]"},
        {"'X'=1 c", "[X=1][c]"},
        {"a=(1 $(b) 2) c", "[a=()]$=[c] $( )[b]"},
        {"a[1]=2 c", "[a[1]=2]*=[c]"},
        {"a[1 + 2]=3 c", "[a[1 + 2]=3]*=[c]"},
        {"X=1 Y=2", "[X=1]=[Y=2]="},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

struct bad {
    const char *text;
    size_t byte;
    const char *why;
};

static void says_what_is_wrong(void **state)
{
    (void)state;
    static const struct bad rows[] = {
        {"echo 'a", 6, "no `'` closes this quote"},
        {"echo \"a", 6, "no `\"` closes this quote"},
        {"echo $'a\\'", 7, "no `'` closes this quote"},
        {"echo `a", 6, "no backtick closes this one"},
        {"echo $(a", 7, "no `)` closes this"},
        {"echo \"$(a\"", 10, "no `\"` closes this quote"},
        {"echo ${a", 6, "no `}` closes this"},
        {"echo $((1", 8, "no `)` closes this"},
        {"echo $[1", 6, "nothing closes this arithmetic"},
        {"echo ${ a; }", 6, "commands in `${ }`"},
        {"(a", 1, "no `)` closes this"},
        {"a)", 2, "no `(` opens"},
        {"echo a(b)", 7, "a `(` cannot stand here"},
        {"a >", 3, "needs a word"},
        {"a > | b", 3, "needs a word"},
        {"a=(1", 3, "no `)` closes this array"},
        {"[[ a", 1, "no `]]` closes"},
        {"case a", 5, "needs `in`"},
        {"case a in b", 11, "a `)` must follow"},
        {"echo `echo 'a`", 6, "no `'` closes this quote"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct shell_script script;
        struct err err = {.code = ERR_COUNT};
        char place[32];
        snprintf(place, sizeof place, "at byte %zu,", rows[i].byte);
        if (shell_read(text_str(rows[i].text), &script, &err) == 0)
            fail_msg("%s: no error", rows[i].text);
        assert_int_equal(err.code, ERR_INVALID_ARGUMENTS);
        assert_string_equal(err.field, "command");
        if (!strstr(err.message, rows[i].why) || !strstr(err.message, place))
            fail_msg("%s: %s", rows[i].text, err.message);
    }
}

static void where_joints_are(void **state)
{
    (void)state;
    SHELL_AT_END struct shell_script script = {0};
    read_well("a && b; c `d` $(e)\nf;", &script);
    assert_int_equal(script.joined_at[SHELL_AND], 2);
    assert_int_equal(script.joined_at[SHELL_SEQUENCE], 6);
    assert_int_equal(script.joined_at[SHELL_BACKTICK], 10);
    assert_int_equal(script.joined_at[SHELL_SUBSTITUTION], 14);
    assert_int_equal(script.joined_at[SHELL_NEWLINE], 19);
    assert_true(script.joined_at[SHELL_OR] == SIZE_MAX);
    assert_int_equal(script.commands[script.n - 1].at, 19);
}

static char *repeated(const char *lead, const char *part, size_t count, const char *tail)
{
    BUF_AT_END struct buf text = BUF_INIT(1 << 20);
    buf_add_text(&text, lead);
    for (size_t i = 0; i < count; i++)
        buf_add_text(&text, part);
    buf_add_text(&text, tail);
    return mem_copy(text.data, text.len);
}

static void limits(void **state)
{
    (void)state;
    struct shell_script script = {0};
    struct err err;
    FREE_AT_END char *largest = repeated("", "a ", SHELL_TEXT_MAX / 2, "");
    FREE_AT_END char *larger = repeated("", "a ", SHELL_TEXT_MAX / 2, "a");
    read_well(largest, &script);
    assert_int_equal(script.commands[0].n, SHELL_TEXT_MAX / 2);
    shell_done(&script);
    assert_int_equal(shell_read(text_str(larger), &script, &err), -1);
    assert_non_null(strstr(err.message, "65537 bytes long, at most 65536"));
    assert_int_equal(shell_read((struct str){"a\0b", 3}, &script, &err), -1);
    assert_non_null(strstr(err.message, "NUL at byte 2"));

    read_well("$($($($($($($($($($($($($($($(a)))))))))))))))", &script);
    shell_done(&script);
    static const char *const openers[] = {"$(", "(", "${x:-", "\"$(", "`\\`", "a=(", "$[", "<("};
    for (size_t i = 0; i < ARRAY_LEN(openers); i++) {
        FREE_AT_END char *deep = repeated("", openers[i], 5000, "");
        assert_int_equal(shell_read(text_str(deep), &script, &err), -1);
    }
    FREE_AT_END char *deep = repeated("", "$(", 17, "");
    assert_int_equal(shell_read(text_str(deep), &script, &err), -1);
    assert_non_null(strstr(err.message, "nested more than 16 deep"));
    FREE_AT_END char *documents = repeated("a ", "<<E ", 17, "\n");
    assert_int_equal(shell_read(text_str(documents), &script, &err), -1);
    assert_non_null(strstr(err.message, "more than 16 here-documents"));
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Every one of these is as long as may be; none may take more than linear time. */
static void stays_linear(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "((a) ", "$((a",  "a[ ",  "a[;",    "x[1 ",   "`a` ",  "\"$x\"",    "${x}",
        "$(a)",  "case ", "a(",   "((1))",  "$((1))", "[[ ",   "<<E\n",     "E\n",
        "\\\n",  "#\n",   "{a,",  "a=(b) ", "f()",    "if ",   "for x in ", ";",
        "a<(b)", "$'\\x", "$[1]", "((",     "\\`",    "time ", "coproc ",   "'a'\"b\"",
    };
    double before = seconds();
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        FREE_AT_END char *text = repeated("", parts[i], SHELL_TEXT_MAX / strlen(parts[i]), "");
        SHELL_AT_END struct shell_script script = {0};
        struct err err;
        (void)shell_read(text_str(text), &script, &err);
    }
    /* 0.05 s are measured, with AddressSanitizer 0.3 s. */
    assert_true(seconds() - before < 5);
}

static int run_bash(const char *const *argv, struct buf *ret)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(pipes[1], 1);
        dup2(pipes[1], 2);
        close(pipes[0]);
        close(pipes[1]);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(pipes[1]);
    char bytes[4096];
    for (ssize_t n; (n = read(pipes[0], bytes, sizeof bytes)) > 0;)
        buf_add(ret, bytes, (size_t)n);
    close(pipes[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void need_bash(void)
{
    BUF_AT_END struct buf out = BUF_INIT(1 << 16);
    if (run_bash((const char *const[]){"bash", "-c", "exit 42", NULL}, &out) != 42)
        skip();
}

static bool bash_accepts(const char *text)
{
    BUF_AT_END struct buf out = BUF_INIT(1 << 16);
    return run_bash((const char *const[]){"bash", "-n", "-c", text, NULL}, &out) == 0;
}

/* Entries are lines with `%%` in between. */
static char *next_entry(char **rest)
{
    char *entry = *rest;
    if (!entry)
        return NULL;
    char *end = strstr(entry, "\n%%\n");
    *rest = end ? end + 4 : NULL;
    if (end)
        *end = '\0';
    return entry;
}

static void what_bash_accepts(void **state)
{
    (void)state;
    need_bash();
    FILE *file = fopen(SOURCE_DIR "/tests/unit/data/shell_accepted.txt", "r");
    assert_non_null(file);
    static char text[1 << 16];
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n - 1] = '\0'; /* the last line's end */
    size_t count = 0;
    for (char *rest = text, *entry; (entry = next_entry(&rest)); count++) {
        SHELL_AT_END struct shell_script script = {0};
        struct err err;
        if (!bash_accepts(entry))
            fail_msg("bash does not accept: %s", entry);
        if (shell_read(text_str(entry), &script, &err) < 0)
            fail_msg("%s\n%s", entry, err.message);
    }
    assert_true(count >= 200);
}

/* What we refuse as badly written, bash refuses too. */
static void what_bash_refuses(void **state)
{
    (void)state;
    need_bash();
    static const char *const texts[] = {
        "echo 'a",     "echo \"a",    "echo `a",      "echo $(a", "echo ${a", "echo $((1", "(a",
        "a)",          "echo a(b)",   "a >",          "a > | b",  "a=(1",     "[[ a",      "case a",
        "case a in b", "echo $'a\\'", "echo \"$(a\"", "for",      "function",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        SHELL_AT_END struct shell_script script = {0};
        struct err err;
        if (bash_accepts(texts[i]))
            fail_msg("bash accepts: %s", texts[i]);
        if (shell_read(text_str(texts[i]), &script, &err) == 0)
            fail_msg("read without an error: %s", texts[i]);
    }
}

/* Words whose value is fixed: bash prints the same ones. */
static void words_as_bash_has_them(void **state)
{
    (void)state;
    need_bash();
    static const char *const texts[] = {
        "a b c",
        "'a b'  \"c d\" e",
        "a\\ b \\a\\b \\\\ \\' \\\"",
        "\"a\\b\\\\c\\\"d\\$e\\`f\\'g\"",
        "'a\\b' 'c\"d' \"e'f\"",
        "a''b \"\"c '' \"\"",
        "s\"ud\"o \\s\\u\\d\\o s'u'd$'o'",
        "$'a\\x41\\101\\u00e9\\U0001f600\\t\\n\\\\\\'\\\"\\?z'",
        "$'\\a\\b\\e\\E\\f\\r\\v\\ca\\cZ' $'\\xg' $'\\q' $'\\8' $'\\u' $'\\xff'",
        "$'a\\0b'c $'x\\x00y'",
        "$'\\1012' $'\\x412' $'\\u00412'",
        "$\"x y\"z",
        "a\\\nb \"c\\\nd\" 'e\\\nf'",
        "'a\nb' \"c\nd\"",
        "a#b 'x'#y # z",
        "$ a$ \"$\" \"$ \" $% a$/b",
        "{} {a} { } a{b",
        "! if then [ ]",
        "a=b =c d=",
        "\\; \\& \\| \\( \\) \\< \\> \\* \\? \\~",
        "';' '&' '|' '(' \")\" \"<\" '>' '*' '~' '{a,b}'",
        "\xc3\xa4 '\xe6\x97\xa5' \"\xf0\x9f\x98\x80\"",
        "a 2> /dev/null b 1>&1 c",
        "a 2>&1 <<<x b > /dev/stdout c",
        "a <<E b\nignored $x\nE",
        "\"\\a\\!\" \\! '!'",
        "\"tab\there\" tab\\\there",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        SHELL_AT_END struct shell_script script = {0};
        BUF_AT_END struct buf ours = BUF_INIT(1 << 16);
        BUF_AT_END struct buf theirs = BUF_INIT(1 << 16);
        FREE_AT_END char *text = mem_format("printf '<%%s>' %s", texts[i]);
        read_well(text, &script);
        assert_int_equal(script.n, 1);
        for (size_t k = 2; k < script.commands[0].n; k++) {
            const struct shell_word *word = &script.commands[0].words[k];
            assert_true(shell_word_known(word));
            buf_addf(&ours, "<%.*s>", (int)word->text.n, word->text.p);
        }
        /* With this locale \u is UTF-8. */
        setenv("LC_ALL", "C.UTF-8", 1);
        assert_int_equal(run_bash((const char *const[]){"bash", "-c", text, NULL}, &theirs), 0);
        if (strcmp(buf_text(&ours), buf_text(&theirs)) != 0)
            fail_msg("%s\nours %s\nbash %s", texts[i], ours.data, theirs.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quoting),
        cmocka_unit_test(expansions),
        cmocka_unit_test(joints),
        cmocka_unit_test(reserved_words),
        cmocka_unit_test(redirections),
        cmocka_unit_test(assignments),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(where_joints_are),
        cmocka_unit_test(limits),
        cmocka_unit_test(stays_linear),
        cmocka_unit_test(what_bash_accepts),
        cmocka_unit_test(what_bash_refuses),
        cmocka_unit_test(words_as_bash_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
