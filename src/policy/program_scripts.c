/* Scripts of sed and awk that only edit text and print it. What is not read here counts as more than that. */
#include <string.h>

#include "policy/program_rows.h"

static const char other_option[] = "has an option that runs or writes more, or is not known";
static const char other_script[] = "has a script that may run a program or write a file";
static const char no_script[] = "has a script that is known only when it runs";

/* --- sed */

struct text {
    const char *p;
    const char *end;
};

static char peek_script_char(const struct text *t)
{
    return t->p < t->end ? *t->p : '\0';
}

static void skip_script_chars(struct text *t, const char *set)
{
    while (t->p < t->end && strchr(set, *t->p))
        t->p++;
}

static bool skip_number(struct text *t)
{
    const char *from = t->p;
    skip_script_chars(t, "0123456789");
    return t->p > from;
}

/* A bracket expression. Not every version ends a pattern at a delimiter in one: then it is not read. */
static bool skip_bracket(struct text *t, char c)
{
    char class = '\0';
    t->p++;
    t->p += peek_script_char(t) == '^';
    for (bool first = true; t->p < t->end && *t->p != '\n'; first = false, t->p++) {
        if (*t->p == c)
            return false;
        if (class && *t->p == ']' && t->p[-1] == class)
            class = '\0';
        else if (!class && *t->p == '[' && t->p + 1 < t->end && strchr(":.=", t->p[1]))
            class = *++t->p;
        else if (!class && !first && *t->p == ']')
            return true;
    }
    return false;
}

/* Goes behind the next `c`. */
static bool skip_behind_char(struct text *t, char c, bool pattern)
{
    for (; t->p < t->end && *t->p != '\n'; t->p++) {
        if (*t->p == c) {
            t->p++;
            return true;
        }
        bool escaped = *t->p == '\\';
        t->p += escaped;
        if (t->p == t->end || (pattern && !escaped && *t->p == '[' && !skip_bracket(t, c)))
            return false;
    }
    return false;
}

/* Text between two of any character. */
static bool skip_pattern(struct text *t)
{
    char c = peek_script_char(t);
    if (!c || strchr("\\\n []", c))
        return false;
    t->p++;
    return skip_behind_char(t, c, true);
}

/* 1: an address; 0: none; -1. */
static int skip_address(struct text *t)
{
    char c = peek_script_char(t);
    if (c == '$') {
        t->p++;
        return 1;
    }
    if (c == '/' || c == '\\') {
        t->p += c == '\\';
        if (!skip_pattern(t))
            return -1;
        skip_script_chars(t, "IM");
        return 1;
    }
    if (!skip_number(t))
        return 0;
    if (peek_script_char(t) == '~') {
        t->p++;
        return skip_number(t) ? 1 : -1;
    }
    return 1;
}

static bool skip_addresses(struct text *t)
{
    int first = skip_address(t);
    if (first < 0)
        return false;
    skip_script_chars(t, " \t");
    if (first && peek_script_char(t) == ',') {
        t->p++;
        skip_script_chars(t, " \t+~");
        if (skip_address(t) <= 0)
            return false;
    }
    skip_script_chars(t, " \t!");
    return true;
}

/* `s/a/b/gp`, without the flags e and w. */
static bool skip_substitution(struct text *t)
{
    char c = peek_script_char(t);
    if (!skip_pattern(t) || !skip_behind_char(t, c, false))
        return false;
    skip_script_chars(t, "gpiImM0123456789");
    return true;
}

static bool skip_function(struct text *t)
{
    char c = peek_script_char(t);
    t->p += t->p < t->end;
    if (c == 's')
        return skip_substitution(t);
    if (c == 'y') {
        c = peek_script_char(t);
        return skip_pattern(t) && skip_behind_char(t, c, false);
    }
    if (c == 'q' || c == 'Q' || c == 'l') {
        skip_script_chars(t, " \t");
        skip_number(t);
        return true;
    }
    /* Labels are not read: some versions go on with a command behind one. */
    return c && strchr("pdPDnNhHgGxzFbtT={}", c);
}

static bool sed_is_harmless(struct str script)
{
    struct text t = {script.p, script.p + script.n};
    for (;;) {
        skip_script_chars(&t, " \t;\n");
        if (t.p == t.end)
            return true;
        bool opens = false;
        if (!skip_addresses(&t))
            return false;
        opens = peek_script_char(&t) == '{' || peek_script_char(&t) == '}';
        if (!skip_function(&t))
            return false;
        skip_script_chars(&t, " \t");
        if (t.p < t.end && !opens && !strchr(";\n}", *t.p))
            return false;
    }
}

static const char *sed_script_fault(const struct shell_word *word, struct str text)
{
    if (!shell_word_known(word))
        return no_script;
    return sed_is_harmless(text) ? NULL : other_script;
}

/* The letters of one word. `*ret_next`: the next word is a script; `*ret_given`: there is one. */
static const char *sed_letters(const struct shell_word *word, bool *ret_next, bool *ret_given)
{
    struct str text = word->text;
    for (size_t i = 1; i < text.n; i++) {
        *ret_given |= text.p[i] == 'e';
        if (text.p[i] == 'e' && i + 1 < text.n)
            return sed_script_fault(word, (struct str){text.p + i + 1, text.n - i - 1});
        if (text.p[i] == 'e')
            *ret_next = true;
        else if (!strchr("nErsuz", text.p[i]))
            return other_option;
    }
    return NULL;
}

static const char *sed_option(const struct shell_word *word, bool *ret_next, bool *ret_given)
{
    static const char flags[] =
        " --quiet --silent --regexp-extended --separate --unbuffered --null-data --posix "
        "--sandbox --help --version ";
    static const char given[] = "--expression=";
    struct str text = word->text;
    if (text.p[1] != '-')
        return sed_letters(word, ret_next, ret_given);
    if (text.n >= sizeof given - 1 && memcmp(text.p, given, sizeof given - 1) == 0) {
        size_t n = sizeof given - 1;
        *ret_given = true;
        return sed_script_fault(word, (struct str){text.p + n, text.n - n});
    }
    *ret_next = command_is(text, "--expression");
    *ret_given |= *ret_next;
    return *ret_next || command_in_list(flags, text) ? NULL : other_option;
}

/* Without `-e` the first operand is the script. Where options may not follow operands it is so too if `-e` comes later. */
static const char *sed_fault(const struct command_view *view)
{
    bool given = false;
    bool closed = false;
    bool next = false;
    const char *fault = NULL;
    for (size_t i = 1; i < view->n && !fault; i++) {
        const struct shell_word *word = &view->words[i];
        bool option = !closed && word->text.n > 1 && word->text.p[0] == '-';
        if (word->flags & SHELL_PATTERN && !closed)
            return other_option;
        if (next) {
            next = false;
            fault = sed_script_fault(word, word->text);
        } else if (option && command_is(word->text, "--")) {
            closed = true;
        } else if (option) {
            fault = sed_option(word, &next, &given);
        } else if (!given) {
            given = true;
            fault = sed_script_fault(word, word->text);
        }
    }
    return !fault && view->more_words && (!given || !closed) ? no_script : fault;
}

/* --- awk */

/* A program is started by `system`, a pipe or `getline`; a file is written by `>` behind a `print`; `@` loads and calls by
 * name. Strings and patterns are not told from the rest: to take one for code only asks in vain. */
static bool awk_is_harmless(struct str script)
{
    static const char *const words[] = {"system", "getline", "@", "\\\n"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (script.n && memmem(script.p, script.n, words[i], strlen(words[i])))
            return false;
    }
    const char *print = script.n ? memmem(script.p, script.n, "print", 5) : NULL;
    for (size_t i = 0; i < script.n; i++) {
        char next = i + 1 < script.n ? script.p[i + 1] : '\0';
        if (script.p[i] == '|' && next != '|')
            return false;
        i += script.p[i] == '|';
        if (script.p[i] == '>' && next != '=' && print && script.p + i > print)
            return false;
    }
    return true;
}

static const char *awk_fault(const struct command_view *view)
{
    size_t i = 1;
    while (i < view->n) {
        const struct shell_word *word = &view->words[i];
        if (word->flags & SHELL_PATTERN)
            return no_script;
        if (word->text.n < 2 || word->text.p[0] != '-')
            break;
        i++;
        if (command_is(word->text, "--"))
            break;
        if (word->text.p[1] != 'F' && word->text.p[1] != 'v')
            return other_option;
        if (word->text.n == 2 && i < view->n && view->words[i].flags & SHELL_SPLITS)
            return no_script;
        i += word->text.n == 2;
    }
    if (i >= view->n)
        return view->more_words ? no_script : NULL;
    if (!shell_word_known(&view->words[i]))
        return no_script;
    return awk_is_harmless(view->words[i].text) ? NULL : other_script;
}

bool program_is_script(struct str name)
{
    return command_in_list(" sed gsed awk gawk mawk nawk ", name);
}

const char *program_script_fault(const struct command_view *view, struct str name)
{
    return command_in_list(" sed gsed ", name) ? sed_fault(view) : awk_fault(view);
}
