/* Scripts of sed and awk that may start any program. What they start by a name that is written in them is found there. */
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "policy/program_rows.h"
#include "policy/program_starts.h"

struct code {
    struct str text;
    size_t at;
};

static char code_char(const struct code *c, size_t at)
{
    return at < c->text.n ? c->text.p[at] : '\0';
}

static void skip_code_blanks(struct code *c)
{
    while (code_char(c, c->at) && strchr(" \t", code_char(c, c->at)))
        c->at++;
}

static void skip_code_line(struct code *c)
{
    while (c->at < c->text.n && code_char(c, c->at) != '\n')
        c->at++;
}

/* --- sed: the command `e`, and the flag `e` of `s` */

/* Behind the next `end`. */
static void skip_delimited(struct code *c, char end)
{
    for (; c->at < c->text.n; c->at++) {
        char now = code_char(c, c->at);
        if (now == end) {
            c->at++;
            return;
        }
        c->at += now == '\\';
    }
}

static void skip_sed_addresses(struct code *c)
{
    for (char now; (now = code_char(c, c->at)) && strchr(" \t;\n{}!,$0123456789~+/\\IM", now);) {
        c->at++;
        if (now == '\\')
            now = code_char(c, c->at++);
        else if (now != '/')
            continue;
        skip_delimited(c, now);
    }
}

static bool substitution_executes(struct code *c)
{
    char end = code_char(c, c->at++);
    skip_delimited(c, end);
    skip_delimited(c, end);
    bool executes = false;
    for (char now; (now = code_char(c, c->at)) && strchr("gpiImMe0123456789", now); c->at++)
        executes |= now == 'e';
    return executes;
}

/* `e COMMAND` runs what is written there; `e` alone, and the flag, what is read. */
static bool sed_executes(struct str script)
{
    struct code c = {script, 0};
    while (skip_sed_addresses(&c), c.at < script.n) {
        char now = code_char(&c, c.at++);
        if (now == 's' && substitution_executes(&c))
            return true;
        if (now == 'y') {
            char end = code_char(&c, c.at++);
            skip_delimited(&c, end);
            skip_delimited(&c, end);
        }
        if (now == 'e') {
            skip_code_blanks(&c);
            if (c.at == script.n || strchr(";}\n$`*", code_char(&c, c.at)))
                return true;
        }
        if (strchr("aicrRwWe#", now))
            skip_code_line(&c);
        while (strchr(":bBtT", now) && c.at < script.n && !strchr(";\n}", code_char(&c, c.at)))
            c.at++;
    }
    return false;
}

/* --- awk: system(), pipes and getline */

/* Behind a text or a pattern; false: it has no end. */
/* False: it does not end. */
static bool skip_awk_literal(struct code *c, char end)
{
    c->at++;
    for (bool bracket = false; c->at < c->text.n; c->at++) {
        char now = code_char(c, c->at);
        if (now == end && !(bracket && end == '/'))
            break;
        bracket = end == '/' && (bracket ? now != ']' : now == '[');
        c->at += now == '\\';
    }
    if (c->at >= c->text.n) {
        c->at = c->text.n;
        return false;
    }
    c->at++;
    return true;
}

/* A text that a shell reads as what it looks like. */
static bool is_plain_awk_command(const struct code *c, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (code_char(c, i) && strchr("$`;|&<>\\(", code_char(c, i)))
            return false;
    }
    struct str text = {c->text.p + from, to - from};
    struct str first = {text.p, 0};
    while (first.n < text.n && text.p[first.n] != ' ')
        first.n++;
    return !program_starts_again(first);
}

/* One text alone, up to one of these characters. */
static bool is_one_literal(const struct code *at, const char *ends)
{
    struct code c = *at;
    skip_code_blanks(&c);
    size_t from = c.at + 1;
    if (code_char(&c, c.at) != '"' || !skip_awk_literal(&c, '"'))
        return false;
    size_t to = c.at - 1;
    skip_code_blanks(&c);
    return (c.at == c.text.n || strchr(ends, code_char(&c, c.at))) &&
           is_plain_awk_command(&c, from, to);
}

static bool is_awk_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool awk_word_is(const struct code *c, size_t from, const char *word)
{
    return str_is((struct str){c->text.p + from, c->at - from}, word);
}

/* `system(...)`; what follows the name. */
static bool system_is_open(struct code *c)
{
    skip_code_blanks(c);
    if (code_char(c, c->at) != '(')
        return true;
    c->at++;
    return !is_one_literal(c, ")");
}

static bool pipe_is_open(struct code *c, bool behind_literal)
{
    c->at++;
    if (code_char(c, c->at) == '|') {
        c->at++;
        return false;
    }
    if (code_char(c, c->at) == '&')
        return true;
    struct code next = *c;
    skip_code_blanks(&next);
    size_t from = next.at;
    while (is_awk_word_char(code_char(&next, next.at)))
        next.at++;
    if (awk_word_is(&next, from, "getline"))
        return !behind_literal;
    return !is_one_literal(c, ";}\n");
}

/* The text that a `getline` runs: alone behind the beginning of a statement. */
static bool is_literal_alone(const struct code *c, size_t from, size_t to)
{
    while (from > 0 && strchr(" \t", code_char(c, from - 1)))
        from--;
    size_t text = from;
    while (code_char(c, text) != '"')
        text++;
    return (from == 0 || strchr("{(;\n!", code_char(c, from - 1))) &&
           is_plain_awk_command(c, text + 1, to - 1);
}

/* A slash behind an operand divides; anywhere else a pattern begins. */
static bool divides(char before)
{
    return is_awk_word_char(before) || (before && strchr(")]$\"", before));
}

static bool awk_executes(struct str script)
{
    struct code c = {script, 0};
    char before = '\0';
    bool literal = false; /* the last that was read is a text, alone */
    while (c.at < script.n) {
        size_t from = c.at;
        char now = code_char(&c, c.at);
        if (strchr(" \t", now)) {
            c.at++;
            continue;
        }
        if (now == '|' && pipe_is_open(&c, literal))
            return true;
        literal = false;
        if (now == '"') {
            if (!skip_awk_literal(&c, now))
                return true;
            literal = is_literal_alone(&c, from, c.at);
        } else if (now == '/' && !divides(before)) {
            skip_awk_literal(&c, now);
        } else if (now == '#') {
            skip_code_line(&c);
        } else if (is_awk_word_char(now)) {
            while (is_awk_word_char(code_char(&c, c.at)))
                c.at++;
            if (awk_word_is(&c, from, "system") && system_is_open(&c))
                return true;
        } else if (c.at == from) {
            c.at++;
        }
        before = now;
    }
    return false;
}

/* --- their words */

static bool script_is_open(const struct shell_word *word, struct str text, bool sed)
{
    if (command_word_is_open(word))
        return true;
    return sed ? sed_executes(text) : awk_executes(text);
}

/* Where the script begins in a word of sed that is an option: behind `e`, `=`; the word's length: in the next one; SIZE_MAX:
 * there is none. */
static size_t sed_script_at(struct str word)
{
    static const char long_name[] = "--expression";
    size_t n = sizeof long_name - 1;
    if (word.p[1] == '-') {
        const char *equals = memchr(word.p, '=', word.n);
        size_t bare = equals ? (size_t)(equals - word.p) : word.n;
        if (bare < 4 || bare > n || memcmp(word.p, long_name, bare) != 0)
            return SIZE_MAX;
        return equals ? bare + 1 : word.n;
    }
    for (size_t i = 1; i < word.n; i++) {
        if (word.p[i] == 'e')
            return i + 1;
        if (strchr("fil", word.p[i]))
            break;
    }
    return SIZE_MAX;
}

static bool sed_reads_file(struct str word)
{
    return str_begins(word, STR("-f")) || str_begins(word, STR("--file"));
}

static bool sed_is_open(const struct command_view *view)
{
    bool given = false;
    for (size_t i = 1; i < view->n; i++) {
        const struct shell_word *word = &view->words[i];
        struct str text = word->text;
        if (text.n < 2 || text.p[0] != '-') {
            if (!given && script_is_open(word, text, true))
                return true;
            given = true;
            continue;
        }
        size_t at = sed_script_at(text);
        given |= at != SIZE_MAX || sed_reads_file(text);
        i += (at == text.n || command_is(text, "-f") || command_is(text, "--file")) &&
             i + 1 < view->n;
        if (at == SIZE_MAX)
            continue;
        text = at == text.n ? view->words[i].text : (struct str){text.p + at, text.n - at};
        if (script_is_open(&view->words[i], text, true))
            return true;
    }
    return !given && view->more_words;
}

static bool awk_is_open(const struct command_view *view)
{
    for (size_t i = 1; i < view->n; i++) {
        struct str text = view->words[i].text;
        if (text.n < 2 || text.p[0] != '-')
            return script_is_open(&view->words[i], text, false);
        if (command_is(text, "--"))
            return i + 1 < view->n &&
                   script_is_open(&view->words[i + 1], view->words[i + 1].text, false);
        if (text.p[1] == 'f' || command_is(text, "--file"))
            return false;
        i += text.n == 2 && strchr("Fv", text.p[1]);
    }
    return view->more_words;
}

bool program_script_open(const struct command_view *view, struct str name)
{
    return command_in_list(" sed gsed ", name) ? sed_is_open(view) : awk_is_open(view);
}
