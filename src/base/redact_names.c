/* Secrets that are known by the name before them. */
#include <strings.h>

#include "base/redact_parts.h"

/* Between a name and its value, and around them: spaces, quotes, brackets. */
#define BETWEEN_MAX 8

static char own_names[REDACT_NAMES_MAX][REDACT_NAME_MAX];
static size_t n_own_names;

#define TOO_LONG REDACT_NAME_MAX

/* Without case and without what joins words. Returns the length, or TOO_LONG. */
static size_t squeeze(struct str name, char out[REDACT_NAME_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c == '_' || c == '-' || c == '.')
            continue;
        if (n + 1 == REDACT_NAME_MAX)
            return TOO_LONG;
        out[n++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    out[n] = '\0';
    return n;
}

bool redact_use_names(const struct str *names, size_t n)
{
    if (n > REDACT_NAMES_MAX)
        return false;
    n_own_names = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = squeeze(names[i], own_names[i]);
        if (length == 0 || length == TOO_LONG)
            return false;
        n_own_names++;
    }
    return true;
}

static bool is_own_name(const char *name)
{
    for (size_t i = 0; i < n_own_names; i++) {
        if (strcmp(name, own_names[i]) == 0)
            return true;
    }
    return false;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

static bool ends_with_any(const char *text, size_t n, const char *const *ends)
{
    for (size_t i = 0; ends[i]; i++) {
        if (ends_with(text, n, ends[i]))
            return true;
    }
    return false;
}

/* Says where something is, not what. */
static bool is_place(const char *name, size_t n)
{
    static const char *const ends[] = {"file", "path", "dir", "stdin", NULL};
    return ends_with_any(name, n, ends);
}

static enum redact_name kind_of_token(const char *behind)
{
    if (strncmp(behind, "iz", 2) == 0)
        return NAME_PLAIN; /* tokenizer */
    return *behind && !(*behind >= '0' && *behind <= '9') ? NAME_COUNTS : NAME_WEAK;
}

/* What a word at one place of a name makes of it. */
static enum redact_name kind_of_word(const char *at)
{
    static const char *const words[] = {"password",  "passwd",     "passphrase", "apikey",
                                        "accesskey", "privatekey", "credential", "secret"};
    if (!strchr("pacst", *at))
        return NAME_PLAIN;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (*at == words[i][0] && strncmp(at, words[i], strlen(words[i])) == 0)
            return strncmp(at, "secretar", 8) == 0 ? NAME_PLAIN : NAME_SECRET;
    }
    if (strcmp(at, "authorization") == 0 || strcmp(at, "cookie") == 0)
        return NAME_LINE;
    return strncmp(at, "token", 5) == 0 ? kind_of_token(at + 5) : NAME_PLAIN;
}

static enum redact_name kind_of_squeezed(const char *name, size_t n)
{
    enum redact_name kind = NAME_PLAIN;
    for (size_t i = 0; i + 5 <= n; i++) {
        enum redact_name here = kind_of_word(name + i);
        kind = here > kind ? here : kind;
    }
    if (is_own_name(name))
        return NAME_SECRET;
    return kind == NAME_PLAIN || is_place(name, n) ? NAME_PLAIN : kind;
}

enum redact_name redact_name_kind(struct str name)
{
    char squeezed[REDACT_NAME_MAX];
    /* A word of its own: not in `bypass`. */
    if (name.n >= 4 && strncasecmp(name.p + name.n - 4, "pass", 4) == 0 &&
        (name.n == 4 || strchr("_-", name.p[name.n - 5])))
        return NAME_SECRET;
    size_t n = squeeze(name, squeezed);
    /* What is too long to be looked up is no name that anyone reads. */
    return n == TOO_LONG ? NAME_SECRET : kind_of_squeezed(squeezed, n);
}

bool redact_is_name(struct str name)
{
    enum redact_name kind = redact_name_kind(name);
    return kind != NAME_PLAIN && kind != NAME_COUNTS;
}

bool redact_option_name(struct str name)
{
    static const char *const ends[] = {"password", "passwd", "passphrase", "token",
                                       "secret",   "apikey", NULL};
    char squeezed[REDACT_NAME_MAX];
    /* By their last letters most are told apart. */
    if (n_own_names == 0 && (name.n < 5 || !strchr("denty", name.p[name.n - 1] | 0x20)))
        return false;
    size_t n = squeeze(name, squeezed);
    return n && n != TOO_LONG && (is_own_name(squeezed) || ends_with_any(squeezed, n, ends));
}

/* --- values */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

static bool is_name_char(char c)
{
    return redact_is_alnum(c) || c == '_' || c == '-';
}

/* Behind the closing quote's text: `escaped` where the quotes have a backslash before them. */
static size_t quoted_end(const struct redact_text *t, size_t at, char quote, bool escaped)
{
    for (; at < t->n; at++) {
        if (t->p[at] == quote)
            return at;
        if (t->p[at] != '\\')
            continue;
        if (escaped && at + 1 < t->n && t->p[at + 1] == quote)
            return at;
        at += !escaped;
    }
    return t->n;
}

/* A word of a shell, with whatever parts of it are quoted. */
static size_t word_end(const struct redact_text *t, size_t at)
{
    while (at < t->n) {
        char c = t->p[at];
        if ((unsigned char)c <= ' ' || strchr(";&|)<>", c))
            return at;
        if (is_quote(c)) {
            size_t end = quoted_end(t, at + 1, c, false);
            /* One without its other half ends what stands around it. */
            if (end == t->n)
                return t->cut ? t->n : at;
            at = end;
        }
        at += c == '\\' && at + 1 < t->n && t->p[at + 1] != '"' ? 2 : 1;
    }
    return t->n;
}

static size_t line_end(const struct redact_text *t, size_t at)
{
    while (at < t->n && t->p[at] != '\n' && t->p[at] != '\r' && !is_quote(t->p[at]))
        at++;
    return at;
}

static bool is_number(struct str s)
{
    if (s.n > 8)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != ',')
            return false;
    }
    return true;
}

static bool has_digit(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] >= '0' && s.p[i] <= '9')
            return true;
    }
    return false;
}

/* `$NAME`, `${NAME}`, `$(command)`: what the shell will put there is not in the text. */
static bool is_reference(struct str s)
{
    if (s.n < 3 || s.p[0] != '$')
        return false;
    if (s.p[1] == '(')
        return true;
    bool braces = s.p[1] == '{' && s.p[s.n - 1] == '}';
    for (size_t i = 1 + braces; i < s.n - braces; i++) {
        if (!(s.p[i] >= 'A' && s.p[i] <= 'Z') && s.p[i] != '_')
            return false;
    }
    return true;
}

/* Without what closes the list or object that it stands in. */
static struct str bare(struct str s)
{
    while (s.n && strchr(",;)]}", s.p[s.n - 1]))
        s.n--;
    return s;
}

static bool says_nothing(struct str text)
{
    static const char *const words[] = {"null",      "none", "true",   "false", "nil",
                                        "undefined", "str",  "string", "bytes", "redacted"};
    struct str s = bare(text);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0)
            return true;
    }
    return s.n == 0 || (s.n + 1 == sizeof REDACTED - 1 && memcmp(s.p, REDACTED, s.n) == 0) ||
           is_reference(text);
}

/* Where a value begins, and as much of it as decides. */
struct value {
    size_t from;
    char quote; /* 0: it has none */
    bool escaped;
    struct str text; /* at most PEEK of it */
};

#define PEEK 64

static bool ends_peek(const struct value *v, char c)
{
    return v->quote ? c == v->quote : (unsigned char)c <= ' ' || is_quote(c) || strchr(";&|)<>", c);
}

/* What stands at `at`, behind blanks. False: nothing does. */
static bool find_value(const struct redact_text *t, size_t at, struct value *ret)
{
    size_t limit = at + BETWEEN_MAX;
    while (at < t->n && at < limit && is_blank(t->p[at]))
        at++;
    size_t quote = at;
    while (quote < t->n && quote < limit && t->p[quote] == '\\')
        quote++;
    *ret = (struct value){.from = at};
    if (quote < t->n && is_quote(t->p[quote]))
        *ret = (struct value){.from = quote + 1, .quote = t->p[quote], .escaped = quote > at};
    size_t n = 0;
    while (n < PEEK && ret->from + n < t->n && !ends_peek(ret, t->p[ret->from + n]))
        n++;
    ret->text = (struct str){t->p + ret->from, n};
    /* An unquoted word may begin with a sign that would end it. */
    return n > 0;
}

static struct redact_span span_of(const struct redact_text *t, const struct value *v, bool line)
{
    size_t to = v->quote ? quoted_end(t, v->from, v->quote, v->escaped)
                : line   ? line_end(t, v->from)
                         : word_end(t, v->from);
    return (struct redact_span){v->from, to > v->from ? to : v->from + v->text.n};
}

/* The name that ends before `at`; of one with dots the last part. */
static struct str name_before(const struct redact_text *t, size_t at)
{
    size_t low = at > BETWEEN_MAX ? at - BETWEEN_MAX : 0;
    while (at > low && (is_blank(t->p[at - 1]) || strchr("\"'\\]", t->p[at - 1])))
        at--;
    size_t from = at;
    low = at > REDACT_NAME_MAX - 1 ? at - (REDACT_NAME_MAX - 1) : 0;
    while (from > low && is_name_char(t->p[from - 1]))
        from--;
    return (struct str){t->p + from, at - from};
}

/* The word before a header's secret tells how it is made: it may stay. */
static void keep_scheme(const struct redact_text *t, struct redact_span *span)
{
    size_t i = span->from;
    while (i < span->to && i - span->from < 12 && redact_is_alnum(t->p[i]))
        i++;
    if (i > span->from && i + 1 < span->to && t->p[i] == ' ')
        span->from = i + 1;
}

static bool is_secret(enum redact_name kind, char sign, const struct value *v)
{
    if (!v->quote && says_nothing(v->text))
        return false;
    if (kind == NAME_COUNTS && is_number(bare(v->text)))
        return false;
    /* `unexpected token: end of input` */
    return kind != NAME_WEAK || sign != ':' || v->quote || has_digit(v->text);
}

/* `name: value`; without the blank it is as often a path, a line number or a ratio. */
static bool is_pair(const struct redact_text *t, struct str name, char next)
{
    bool in_path = name.p > t->p && name.p[-1] == '/';
    return !in_path && (is_blank(next) || is_quote(next) || next == '\\');
}

bool redact_assigned(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    char sign = t->p[at];
    struct str name = name_before(t, at);
    if (at + 1 >= t->n || (name.n < 4 && n_own_names == 0))
        return false;
    enum redact_name kind = redact_name_kind(name);
    char next = t->p[at + 1];
    if (kind == NAME_PLAIN || (sign == ':' && kind != NAME_LINE && !is_pair(t, name, next)))
        return false;
    bool longer = sign == '=' && (next == '=' || next == '>');
    struct value v;
    if (!find_value(t, at + 1 + longer, &v) || (next == '=' && !v.quote) ||
        !is_secret(kind, sign, &v))
        return false;
    *ret = span_of(t, &v, kind == NAME_LINE);
    if (kind == NAME_LINE)
        keep_scheme(t, ret);
    return true;
}

bool redact_option(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    size_t from = at + 2;
    size_t end = from;
    while (end < t->n && end - from < REDACT_NAME_MAX && is_name_char(t->p[end]))
        end++;
    if (end == from || !redact_option_name((struct str){t->p + from, end - from}))
        return false;
    /* As words of a shell, or as items of a list. */
    size_t i = end;
    while (i < t->n && i - end < 2 && (t->p[i] == '\\' || is_quote(t->p[i])))
        i++;
    size_t behind = i;
    while (i < t->n && i - behind < BETWEEN_MAX &&
           (is_blank(t->p[i]) || t->p[i] == ',' || t->p[i] == '\n'))
        i++;
    struct value v;
    if (i == behind || !find_value(t, i, &v) ||
        (!v.quote && (v.text.p[0] == '-' || says_nothing(v.text))))
        return false;
    *ret = span_of(t, &v, false);
    return true;
}
