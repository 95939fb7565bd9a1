#include "core/logged_scripts.h"

#include <string.h>

#include "base/str.h"
#include "core/path.h"
#include "core/shells.h"

bool logged_reads_script(struct str name)
{
    static const char *const others[] = {"ssh",    "parallel", "watch", "eval",    "trap",
                                         "su",     "at",       "batch", "crontab", "script",
                                         "source", "stdin",    "xargs", "busybox", NULL};
    return shells_have(name) || str_in(path_name_of(name), others);
}

bool logged_is_env(struct str word)
{
    static const char *const names[] = {"env", NULL};
    return str_in(path_name_of(word), names);
}

bool logged_is_split(struct str word)
{
    static const struct str name = STR_INIT("--s");
    if (word.n < 2 || word.p[0] != '-')
        return false;
    if (word.p[1] == '-')
        return word.n >= name.n && memcmp(word.p, name.p, name.n) == 0;
    return memchr(word.p, 'S', word.n);
}

/* Looks for the script of the shell at `shell`: the first word that is no option, if there is a `-c`. What stands among the
 * options is no other shell. */
static void find_script(struct logged_scripts *s, size_t shell)
{
    static const char *const with_file[] = {"--rcfile", "--init-file", NULL};
    static const char *const end[] = {"--", NULL};
    bool script = false;
    size_t i = shell + 1;
    for (; i < s->n && s->words[i].n > 1 && strchr("-+", s->words[i].p[0]); i++) {
        struct str word = s->words[i];
        if (str_in(word, end)) {
            i++;
            break;
        }
        i += str_in(word, with_file);
        for (size_t k = 1; word.p[1] != '-' && k < word.n; k++) {
            script |= word.p[k] == 'c';
            i += word.p[k] == 'o' || word.p[k] == 'O';
        }
    }
    s->script = script && i < s->n ? i : 0;
    s->behind = i;
}

/* `-c`, `-lc`: of whichever program, a script comes next, in which blanks end a value. */
static bool is_before_script(struct str word)
{
    return word.n > 1 && word.p[0] == '-' && word.p[1] != '-' && word.p[word.n - 1] == 'c';
}

/* node, perl, ruby, php and their like. */
static bool is_before_code(struct str word)
{
    static const char *const options[] = {
        "-e", "-E", "-r", "-pe", "-ne", "--eval", "--print", "--exec", "--execute", "--code", NULL};
    return str_in(word, options);
}

/* They hand all their words to a shell. */
static bool joins_words(struct str program)
{
    static const char *const programs[] = {"ssh", "parallel", "watch", NULL};
    return str_in(path_name_of(program), programs);
}

/* `env -S '…'`, `env -S…`: it makes words of it, of which one is a program. */
static bool is_split_by_env(struct logged_scripts *s, size_t word)
{
    struct str text = s->words[word];
    bool env = s->env;
    s->env = s->env || logged_is_env(text);
    return env && (logged_is_split(text) || logged_is_split(s->words[word - 1]));
}

enum logged_reader logged_reader(struct logged_scripts *s, size_t word)
{
    struct str text = s->words[word];
    if (word >= s->behind && shells_have(text))
        find_script(s, word);
    s->sets = s->sets && text.n && text.p[0] != '-' && memchr(text.p, '=', text.n);
    if (s->sets)
        return LOGGED_VALUE;
    s->sets = word == 0 && logged_is_env(text);
    if (is_split_by_env(s, word))
        return LOGGED_SHELL;
    if (word == 0)
        return LOGGED_NOBODY;
    if (word == s->script || is_before_script(s->words[word - 1]) || joins_words(s->words[0]))
        return LOGGED_SHELL;
    return is_before_code(s->words[word - 1]) ? LOGGED_CODE : LOGGED_NOBODY;
}

size_t logged_code_end(struct str code, size_t from, size_t to)
{
    static const char ends[] = ";&|\n,()[]{}`";
    for (size_t i = from; i < to; i++) {
        if (code.p[i] && strchr(ends, code.p[i]))
            return i;
    }
    return to;
}

/* python3.11, too. */
static bool is_interpreter(struct str word)
{
    static const char *const names[] = {"python", "node",  "perl", "ruby",   "php",  "lua",
                                        "tclsh",  "gdb",   "ed",   "sqlite", "psql", "mysql",
                                        "make",   "julia", "bc",   "deno",   "bun",  NULL};
    word = path_name_of(word);
    while (word.n &&
           (word.p[word.n - 1] == '.' || (word.p[word.n - 1] >= '0' && word.p[word.n - 1] <= '9')))
        word.n--;
    return str_in(word, names);
}

static bool ends_name(char c)
{
    return c == '\0' || strchr(" \t\n;&|()<>'\"`{}$", c) != NULL;
}

/* The most that any program reads that is named in the text. */
static enum logged_reader reader_named(struct str text)
{
    enum logged_reader found = LOGGED_NOBODY;
    for (size_t i = 0; i < text.n;) {
        size_t word = i;
        while (i < text.n && !ends_name(text.p[i]))
            i++;
        struct str name = {text.p + word, i - word};
        if (logged_reads_script(name))
            return LOGGED_SHELL;
        if (is_interpreter(name))
            found = LOGGED_CODE;
        i += i == word;
    }
    return found;
}

enum logged_reader logged_input_reader(const struct str *words, size_t n)
{
    enum logged_reader found = LOGGED_NOBODY;
    struct logged_scripts s = {.words = words, .n = n};
    for (size_t i = 0; i < n; i++) {
        bool shell = i >= s.behind && shells_have(words[i]);
        if (shell)
            find_script(&s, i);
        /* A shell that has a script is no reader, but what the script starts can be one. */
        enum logged_reader reader = shell && s.script ? LOGGED_NOBODY : reader_named(words[i]);
        if (reader == LOGGED_SHELL)
            return reader;
        found = reader == LOGGED_CODE ? reader : found;
    }
    return found;
}
