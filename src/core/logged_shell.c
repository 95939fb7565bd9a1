#include "core/logged_shell.h"

#include <string.h>

#include "base/redact.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_operator(char c)
{
    return c == ';' || c == '&' || c == '|' || c == '\n';
}

static char char_at(const struct logged_shell *s, size_t at)
{
    return at < s->script.n ? s->script.p[at] : '\0';
}

/* The word behind `<<`, without its quotes. */
static void take_here_word(struct logged_shell *s, size_t at)
{
    size_t n = 0;
    at += char_at(s, at) == '-';
    while (is_blank(char_at(s, at)))
        at++;
    for (; at < s->script.n && !is_blank(s->script.p[at]) && !is_operator(s->script.p[at]); at++) {
        if (!strchr("'\"\\", s->script.p[at]) && n + 1 < sizeof s->word)
            s->word[n++] = s->script.p[at];
    }
    s->word[n] = '\0';
}

static bool ends_here(const struct logged_shell *s, size_t line)
{
    size_t n = strlen(s->word);
    while (char_at(s, line) == '\t')
        line++;
    return s->script.n - line >= n && memcmp(s->script.p + line, s->word, n) == 0 &&
           (char_at(s, line + n) == '\n' || line + n == s->script.n);
}

static void step_plain(struct logged_shell *s, char c)
{
    if (c == '\'' && s->at && s->script.p[s->at - 1] == '$')
        s->quote = LOGGED_SHELL_ESCAPED;
    else if (c == '\'' || c == '"')
        s->quote = c;
    else if (c == '<' && char_at(s, s->at + 1) == '<' && char_at(s, s->at + 2) != '<')
        take_here_word(s, s->at + 2);
    else if (c == '\n' && s->word[0])
        s->quote = LOGGED_SHELL_HERE;
}

/* One character, or two where the first is a backslash. */
static void step(struct logged_shell *s)
{
    char c = s->script.p[s->at];
    bool escapes = s->quote != '\'' && s->quote != LOGGED_SHELL_HERE;
    if (c == '\\' && escapes) {
        s->at += 2;
        return;
    }
    if (s->quote == LOGGED_SHELL_HERE) {
        bool begins = s->script.p[s->at - 1] == '\n';
        if (begins && ends_here(s, s->at)) {
            s->quote = '\0';
            s->word[0] = '\0';
        }
    } else if (s->quote == '\0') {
        step_plain(s, c);
    } else if (c == (s->quote == LOGGED_SHELL_ESCAPED ? '\'' : s->quote)) {
        s->quote = '\0';
    }
    s->at++;
}

/* `$(echo x)`: its value stands in the text, and nothing else is run. */
static bool only_prints(const struct logged_shell *s, size_t at)
{
    struct str rest = {s->script.p + at, s->script.n - at};
    bool prints = (rest.n > 7 && memcmp(rest.p, "$(echo ", 7) == 0) ||
                  (rest.n > 9 && memcmp(rest.p, "$(printf ", 9) == 0);
    for (size_t i = 2; prints && i < rest.n && rest.p[i] != ')'; i++)
        prints = !is_operator(rest.p[i]) && !strchr("`$<>", rest.p[i]);
    return prints;
}

static bool begins_command(const struct logged_shell *s, size_t at)
{
    char c = s->script.p[at];
    if (c == '`')
        return true;
    return strchr("$<>", c) && char_at(s, at + 1) == '(' && !only_prints(s, at);
}

/* `; name=value` up to the next sign or quote: one more cookie. */
static bool is_pair(const struct logged_shell *s, size_t at)
{
    bool sign = false;
    while (is_blank(char_at(s, at)))
        at++;
    for (; at < s->script.n && !strchr(";'\"\n", s->script.p[at]); at++) {
        if (is_blank(s->script.p[at]))
            return false;
        sign |= s->script.p[at] == '=';
    }
    return sign;
}

/* A line with several words: a command rather than a part of a key. */
static bool has_words(const struct logged_shell *s, size_t at)
{
    while (is_blank(char_at(s, at)))
        at++;
    while (at < s->script.n && !is_blank(s->script.p[at]) && s->script.p[at] != '\n' &&
           s->script.p[at] != s->quote)
        at++;
    while (is_blank(char_at(s, at)))
        at++;
    return at < s->script.n && !strchr("\n'\"", s->script.p[at]);
}

/* In quotes it may be text for another shell. `own`: the quotes hold nothing but the secret. */
static bool ends_quoted(const struct logged_shell *s, size_t at, bool key, bool own)
{
    char c = s->script.p[at];
    char next = char_at(s, at + 1);
    if (c == '\n')
        return !key && has_words(s, at + 1);
    bool command = is_blank(next) || next == '\n' || next == c ||
                   (!own && has_words(s, at + 1));
    return is_operator(c) && command && !is_pair(s, at + 1);
}

/* Where the shell looks for a command. */
static bool is_command_place(const struct logged_shell *s, size_t at)
{
    while (at && is_blank(s->script.p[at - 1]))
        at--;
    char before = at ? s->script.p[at - 1] : '\n';
    bool opens = before == '(' && at > 1 && strchr("$<>", s->script.p[at - 2]);
    return is_operator(before) || before == '`' || opens;
}

/* The name of a program is told, unless it looks like a secret by itself. */
static size_t program_end(const struct logged_shell *s, size_t from, size_t to)
{
    size_t end = from;
    while (end < to && !is_blank(s->script.p[end]) && !is_operator(s->script.p[end]))
        end++;
    struct str word = {s->script.p + from, end - from};
    BUF_AT_END struct buf ranges = BUF_INIT((word.n + 1) * sizeof(struct redact_range));
    return redact_find(word, &ranges) ? end : from;
}

size_t logged_shell_end(struct logged_shell *s, size_t from, size_t to)
{
    static const char begin[] = "-----BEGIN ";
    while (s->at < from)
        step(s);
    struct logged_shell here = *s;
    if (s->quote == '\0' && is_command_place(s, from))
        return program_end(s, from, to);
    bool list = char_at(s, from) == '(';
    bool own = from && strchr("'\"", s->script.p[from - 1]);
    bool key = s->script.n - from > sizeof begin &&
               memcmp(s->script.p + from, begin, sizeof begin - 1) == 0;
    while (here.at < to) {
        char c = here.script.p[here.at];
        bool plain = here.quote == '\0';
        if (c == '$' && only_prints(&here, here.at)) {
            while (here.at < to && here.script.p[here.at] != ')')
                here.at++;
            continue;
        }
        if (begins_command(&here, here.at) || (!plain && ends_quoted(&here, here.at, key, own)) ||
            (plain && (is_operator(c) || (is_blank(c) && !list))))
            return here.at;
        step(&here);
    }
    return to;
}
