/* Where the value behind a name or an option is, and where it ends. */
#include <strings.h>

#include "base/ascii.h"
#include "base/redact_parts.h"

/* Between a name and its value, and around them: spaces, quotes, brackets. */
#define BETWEEN_MAX 8
/* Longest index in `NAME[index]=` and longest list in `NAME=(a b c)` that is looked through. */
#define INDEX_MAX 64
#define LIST_MAX 4096
/* Longest quoted part of a word that is looked through for its end, so that unmatched quotes take no longer. */
#define QUOTED_MAX 16384

static bool is_quote_mark(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

static bool ends_word(char c)
{
    return (unsigned char)c <= ' ' || strchr(";&|)<>", c);
}

static bool is_secret_name_char(char c)
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
        if (ends_word(c))
            return at;
        if (is_quote_mark(c)) {
            struct redact_text near = *t;
            near.n = t->n - at < QUOTED_MAX ? t->n : at + QUOTED_MAX;
            while (near.n < t->n && ((unsigned char)t->p[near.n] & 0xc0) == 0x80)
                near.n++; /* not in the middle of a character */
            size_t end = quoted_end(&near, at + 1, c, false);
            /* One without its other half ends what stands around it. */
            if (end == near.n)
                return t->cut || near.n < t->n ? near.n : at;
            at = end;
        }
        at += c == '\\' && at + 1 < t->n && t->p[at + 1] != '"' ? 2 : 1;
    }
    return t->n;
}

/* `'a'rest` is one word of a shell: where it ends, or `quote`, the place of the closing quote, where nothing follows. */
static size_t tail_end(const struct redact_text *t, size_t quote, bool escaped)
{
    size_t next = quote + 1 + escaped;
    if (next >= t->n || ends_word(t->p[next]))
        return quote;
    if (escaped && !is_secret_name_char(t->p[next]))
        return quote;
    /* What closes or goes on with a list. */
    if (ascii_in(t->p[next], ",:]}") && (next + 1 == t->n || !redact_is_alnum(t->p[next + 1])))
        return quote;
    size_t end = word_end(t, next);
    return end > next ? end : quote;
}

/* Whether the quote opens a parameter's value, as in `response="x"`, perhaps with backslashes before it. */
static bool opens_parameter(const struct redact_text *t, size_t at)
{
    size_t low = at > BETWEEN_MAX ? at - BETWEEN_MAX : 0;
    while (at > low && t->p[at - 1] == '\\')
        at--;
    return at > low && t->p[at - 1] == '=';
}

/* The end of a header that stands in `outer` quotes (0: none are known): the line's end or a quote that is not part of
 * the header. A shell's word may go on behind that quote. */
static size_t header_line_end(const struct redact_text *t, size_t at, char outer)
{
    char inner = 0;
    for (size_t from = at; at < t->n && !ascii_ends_line(t->p[at]); at++) {
        char c = t->p[at];
        bool escaped = at > from && t->p[at - 1] == '\\';
        if (!is_quote_mark(c))
            continue;
        if (c == outer && !escaped)
            return tail_end(t, at, false);
        if (c == inner)
            inner = 0;
        else if (!inner && opens_parameter(t, at))
            inner = c;
        else if (!inner && !outer)
            return tail_end(t, at, false);
    }
    return at;
}

static bool is_short_count(struct str s)
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

/* Where a value begins, and as much of it as decides. */
struct value {
    size_t from;
    char quote; /* 0: it has none */
    bool escaped;
    bool apart;      /* blanks before it */
    struct str text; /* at most PEEK of it */
};

#define PEEK 64

static bool ends_peek(const struct value *v, char c)
{
    return v->quote ? c == v->quote : is_quote_mark(c) || ends_word(c);
}

/* Behind `""` that a word begins with. */
static size_t skip_empty(const struct redact_text *t, size_t at)
{
    while (t->n - at > 2 && is_quote_mark(t->p[at]) && t->p[at + 1] == t->p[at] &&
           (redact_is_alnum(t->p[at + 2]) || ascii_in(t->p[at + 2], "\"'`$\\_")))
        at += 2;
    return at;
}

/* What stands at `at`, behind blanks. False: nothing does. */
static bool find_value(const struct redact_text *t, size_t at, struct value *ret)
{
    size_t begin = at;
    at = redact_gap(t, at);
    bool apart = at > begin;
    at = at < t->n ? skip_empty(t, at) : at;
    size_t limit = at + BETWEEN_MAX;
    size_t quote = at;
    while (quote < t->n && quote < limit && t->p[quote] == '\\')
        quote++;
    *ret = (struct value){.from = at};
    if (quote < t->n && is_quote_mark(t->p[quote]))
        *ret = (struct value){.from = quote + 1, .quote = t->p[quote], .escaped = quote > at};
    ret->apart = apart;
    size_t n = 0;
    while (n < PEEK && ret->from + n < t->n && !ends_peek(ret, t->p[ret->from + n]))
        n++;
    ret->text = (struct str){t->p + ret->from, n};
    /* An unquoted word may begin with a sign that would end it. */
    return n > 0;
}

/* `(a b c)`: behind its last item, or 0. */
static size_t list_end(const struct redact_text *t, size_t from)
{
    size_t n = t->n - from < LIST_MAX ? t->n - from : LIST_MAX;
    const char *end = t->p[from] == '(' ? memchr(t->p + from, ')', n) : NULL;
    return end ? (size_t)(end - t->p) : 0;
}

/* A word that begins with a quoted part is hidden with its quotes where it goes on behind them. */
static struct redact_span quoted_span(const struct redact_text *t, const struct value *v)
{
    size_t end = quoted_end(t, v->from, v->quote, v->escaped);
    size_t tail = end < t->n ? tail_end(t, end, v->escaped) : end;
    return (struct redact_span){v->from - (tail > end && !v->escaped), tail};
}

static struct redact_span span_of(const struct redact_text *t, const struct value *v)
{
    if (v->quote)
        return quoted_span(t, v);
    size_t printed = redact_printed(t, v->from);
    size_t to = printed ? printed : word_end(t, v->from);
    return (struct redact_span){v->from, to > v->from ? to : v->from + v->text.n};
}

/* Behind the operator's other characters: `+=`, `:=`, `?=`, `||=`, and `name?: value`. */
static size_t before_operator(const struct redact_text *t, size_t at)
{
    const char *set = t->p[at] == '=' ? "+:?.|!&*/%^-" : "?!";
    size_t low = at > 2 ? at - 2 : 0;
    while (at > low && ascii_in(t->p[at - 1], set))
        at--;
    return at;
}

/* The name that ends before `at`; of one with dots the last part. */
static struct str name_before(const struct redact_text *t, size_t at)
{
    size_t low = at > BETWEEN_MAX ? at - BETWEEN_MAX : 0;
    while (at > low && (ascii_is_blank(t->p[at - 1]) || ascii_in(t->p[at - 1], "\"'\\]}")))
        at--;
    size_t from = at;
    low = at > REDACT_NAME_MAX - 1 ? at - (REDACT_NAME_MAX - 1) : 0;
    while (from > low && is_secret_name_char(t->p[from - 1]))
        from--;
    return (struct str){t->p + from, at - from};
}

/* Where the index of `NAME[index]` or `NAME{index}` begins; `at` where there is none. */
static size_t before_index(const struct redact_text *t, size_t at)
{
    size_t end = at;
    size_t low = at > INDEX_MAX ? at - INDEX_MAX : 0;
    while (end > low && ascii_is_blank(t->p[end - 1]))
        end--;
    if (end == low || !ascii_in(t->p[end - 1], "]}"))
        return at;
    char open = t->p[end - 1] == ']' ? '[' : '{';
    for (size_t i = end - 1; i > low; i--) {
        if (t->p[i - 1] == open)
            return i - 1;
    }
    return at;
}

static enum redact_name kind_of_secret_name(struct str name)
{
    return name.n < redact_name_min() ? NAME_PLAIN : redact_name_kind(name);
}

/* Of `NAME[index]` either can be the name. */
static enum redact_name kind_before(const struct redact_text *t, size_t at, struct str *ret)
{
    at = before_operator(t, at);
    *ret = name_before(t, at);
    enum redact_name kind = kind_of_secret_name(*ret);
    size_t index = kind == NAME_PLAIN ? before_index(t, at) : at;
    if (index < at) {
        *ret = name_before(t, index);
        kind = kind_of_secret_name(*ret);
    }
    /* `unexpected token: end of input`, but `X-Auth-Token: word` */
    bool joined = memchr(ret->p, '-', ret->n) || memchr(ret->p, '_', ret->n);
    return kind == NAME_WEAK && joined ? NAME_SECRET : kind;
}

/* The quote that the header of this name stands in, if it is the character before it. */
static char quote_around(const struct redact_text *t, struct str name)
{
    const char *end = name.p + name.n;
    bool closed = end < t->p + t->n && (is_quote_mark(*end) || *end == '\\');
    bool quoted = name.p > t->p && is_quote_mark(name.p[-1]);
    bool escaped = name.p - t->p > 1 && name.p[-2] == '\\';
    return quoted && !closed && !escaped ? name.p[-1] : 0;
}

/* `$NAME"rest"`: a word that goes on with a quoted part. */
static bool goes_on(const struct redact_text *t, const struct value *v)
{
    size_t end = v->from + v->text.n;
    return redact_bare(v->text).n && t->n - end > 1 && is_quote_mark(t->p[end]) &&
           !ends_word(t->p[end + 1]) && word_end(t, end) > end;
}

/* Neither a value nor a command that prints one. */
static bool is_empty_value(const struct redact_text *t, const struct value *v)
{
    return !v->quote && redact_says_nothing(v->text) && !redact_printed(t, v->from);
}

static bool is_secret_value(const struct redact_text *t, enum redact_name kind, char sign,
                            const struct value *v)
{
    if (is_empty_value(t, v) && (sign != '=' || !goes_on(t, v)))
        return false;
    if (kind == NAME_COUNTS && is_short_count(redact_bare(v->text)))
        return false;
    /* `unexpected token: end of input` */
    return kind != NAME_WEAK || sign != ':' || v->quote || has_digit(v->text);
}

/* `name: value`; without the blank it is as often a path, a line number, a ratio or part of a longer name. */
static bool is_colon_pair(const struct redact_text *t, struct str name, size_t at)
{
    char before = name.p > t->p ? name.p[-1] : 0;
    char next = t->p[at];
    size_t at_name = (size_t)(name.p - t->p);
    bool option = at_name == 1 ||
                  (at_name > 1 && (ascii_is_blank(name.p[-2]) || is_quote_mark(name.p[-2])));
    if (before == '/' && !option)
        return false;
    if (ascii_is_blank(next) || is_quote_mark(next) || next == '\\')
        return true;
    size_t n = 0;
    while (at + n < t->n && n < PEEK && !ends_word(t->p[at + n]))
        n++;
    struct str value = redact_bare((struct str){t->p + at, n});
    return before != ':' && !ascii_in(next, "/:=@$,;)]}>") && redact_option_name(name) &&
           !is_short_count(value);
}

/* A header that was hidden before, perhaps without the quote that closed it. */
static bool is_hidden_header(const struct redact_text *t, const struct redact_span *span)
{
    const size_t n = sizeof REDACTED - 1;
    if (span->to - span->from < n || memcmp(t->p + span->from, REDACTED, n) != 0)
        return false;
    size_t end = span->from + n;
    return end == t->n || is_quote_mark(t->p[end]) || ends_word(t->p[end]);
}

/* `-H "name: a` and the lines that go on with it. */
static size_t header_end(const struct redact_text *t, size_t at, struct str name)
{
    char outer = quote_around(t, name);
    size_t end = header_line_end(t, at, outer);
    for (size_t line; (line = redact_folded(t, end, name, outer)) != 0;)
        end = header_line_end(t, line, outer);
    return end;
}

/* `'NAME=a b'` is one word of a shell, unless a shell reads it as commands. An operator ends it even so: what it is for may
 * not be known, and a command behind it must not be hidden. */
static size_t around_end(const struct redact_text *t, struct str name,
                         const struct redact_span *span)
{
    char outer = quote_around(t, name);
    size_t quote = (size_t)(name.p - t->p) - 1;
    if (!outer || redact_is_script(t, quote))
        return span->to;
    struct redact_text near = *t;
    near.n = t->n - span->from < LIST_MAX ? t->n : span->from + LIST_MAX;
    size_t end = quoted_end(&near, span->from, outer, false);
    if (end == near.n || end <= span->to)
        return span->to;
    return redact_operator(t, span->to, end);
}

/* Nothing but blanks and a dash stands before it in its line. */
static bool begins_line(const struct redact_text *t, struct str name)
{
    const char *at = name.p;
    while (at > t->p && (ascii_is_blank(at[-1]) || at[-1] == '-') && name.p - at < LIST_MAX)
        at--;
    return at == t->p || ascii_ends_line(at[-1]);
}

/* `name: a b` has its value up to the end of the line, or to what a shell would end it at. */
static size_t field_end(const struct redact_text *t, size_t at)
{
    size_t end = at;
    for (; at < t->n && !ascii_ends_line(t->p[at]) &&
           (ascii_is_blank(t->p[at]) || !ends_word(t->p[at]));
         at++)
        end = ascii_is_blank(t->p[at]) ? end : at + 1;
    return end;
}

static struct redact_span assigned_span(const struct redact_text *t, enum redact_name kind,
                                        struct str name, char sign, const struct value *v)
{
    struct redact_span span = span_of(t, v);
    size_t list = sign == '=' && !v->quote && !v->apart ? list_end(t, v->from) : 0;
    if (list)
        span.to = list;
    /* Of a field's quoted value the end is known: no shell reads it. */
    if (sign == ':' && v->quote && kind != NAME_LINE)
        span = (struct redact_span){v->from, quoted_end(t, v->from, v->quote, v->escaped)};
    bool field = sign == ':' && v->apart && kind == NAME_SECRET;
    if ((sign == '=' || field) && !v->quote)
        span.to = around_end(t, name, &span);
    if (field && !v->quote && begins_line(t, name))
        span.to = field_end(t, span.to);
    if (kind == NAME_LINE && !v->quote)
        span.to = header_end(t, v->from, name);
    if (kind == NAME_LINE)
        redact_keep_scheme(t, &span);
    return span;
}

bool redact_assigned(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    char sign = t->p[at];
    struct str name;
    if (at + 1 >= t->n)
        return false;
    enum redact_name kind = kind_before(t, at, &name);
    char next = t->p[at + 1];
    if (kind != NAME_PLAIN && sign == ':' && redact_below(t, at, kind, name, ret))
        return true;
    if (kind == NAME_PLAIN || (sign == ':' && kind != NAME_LINE && !is_colon_pair(t, name, at + 1)))
        return false;
    size_t longer = sign == '=' && (next == '=' || next == '>');
    longer += longer && at + 2 < t->n && t->p[at + 2] == '=';
    struct value v;
    if (!find_value(t, at + 1 + longer, &v) || (next == '=' && !v.quote) ||
        !is_secret_value(t, kind, sign, &v))
        return false;
    *ret = assigned_span(t, kind, name, sign, &v);
    return kind != NAME_LINE || !is_hidden_header(t, ret);
}

bool redact_value(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    struct value v;
    if (!find_value(t, at, &v) || (!v.quote && v.text.p[0] == '-') ||
        (is_empty_value(t, &v) && !goes_on(t, &v)))
        return false;
    *ret = span_of(t, &v);
    return true;
}

bool redact_option(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    size_t from = at + 1 + (t->p[at + 1] == '-');
    size_t end = from;
    while (end < t->n && end - from < REDACT_NAME_MAX && is_secret_name_char(t->p[end]))
        end++;
    if (end == from || !redact_option_name((struct str){t->p + from, end - from}))
        return false;
    size_t value = redact_argument(t, end);
    return value && redact_value(t, value, ret);
}

/* Where the value of `${NAME:=value}` ends: at its bracket or at the line's end. */
static size_t default_end(const struct redact_text *t, size_t at)
{
    for (size_t depth = 1; at < t->n && !ascii_ends_line(t->p[at]); at++) {
        depth += t->p[at] == '{';
        depth -= t->p[at] == '}';
        if (depth == 0)
            return at;
    }
    return at;
}

bool redact_in_default(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    size_t sign = at - (at && t->p[at] == '=' && t->p[at - 1] == ':');
    size_t end = before_index(t, sign);
    size_t from = end;
    size_t low = end > REDACT_NAME_MAX ? end - REDACT_NAME_MAX : 0;
    while (from > low && (redact_is_alnum(t->p[from - 1]) || t->p[from - 1] == '_'))
        from--;
    if (from < 2 || t->p[from - 1] != '{' || t->p[from - 2] != '$')
        return false;
    size_t value = sign + 1 + (t->p[sign] == ':');
    bool known = t->p[sign] != ':' || (sign + 1 < t->n && ascii_in(t->p[sign + 1], "-=+"));
    *ret = (struct redact_span){value, value};
    if (!known || !redact_is_name((struct str){t->p + from, end - from}))
        return true;
    size_t to = default_end(t, value);
    if (to > value && !redact_says_nothing((struct str){t->p + value, to - value}))
        ret->to = to;
    return true;
}
