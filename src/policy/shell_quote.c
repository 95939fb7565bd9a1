/* One word: its quotes, escapes and expansions. */
#include "policy/shell_parts.h"

#include "base/mem.h"

/* How far a subscript may reach: the look ahead must not make reading slower than linear. */
#define SUBSCRIPT_MAX 256

static int read_shell_dollar(struct shell_parser *p, bool quoted, unsigned *flags);
static int read_backtick(struct shell_parser *p, bool quoted);

static void add_shell_text(struct shell_parser *p, const char *text)
{
    buf_add_text(&p->building, text);
}

static int read_shell_single(struct shell_parser *p)
{
    size_t from = ++p->at;
    const char *end = memchr(p->text.p + from, '\'', p->text.n - from);
    if (!end)
        return shell_fail(p, from - 1, "no `'` closes this quote");
    size_t n = (size_t)(end - p->text.p) - from;
    buf_add(&p->building, p->text.p + from, n);
    p->at = from + n + 1;
    return 0;
}

/* Inside double quotes or a here-document. */
static int read_quoted_char(struct shell_parser *p, bool quotes, unsigned *flags)
{
    char c = shell_peek(p, 0);
    if (c == '$')
        return read_shell_dollar(p, true, flags);
    if (c == '`') {
        *flags |= SHELL_EXPANDS;
        return read_backtick(p, true);
    }
    char next = shell_peek(p, 1);
    if (c == '\\' && next && (strchr("$`\\\n", next) || (quotes && next == '"'))) {
        if (next != '\n')
            buf_add_char(&p->building, next);
        p->at += 2;
        return 0;
    }
    buf_add_char(&p->building, c);
    p->at++;
    return 0;
}

static int read_shell_double(struct shell_parser *p, unsigned *flags)
{
    size_t opened = p->at++;
    while (p->at < p->text.n) {
        if (shell_peek(p, 0) == '"') {
            p->at++;
            return 0;
        }
        if (read_quoted_char(p, true, flags) < 0)
            return -1;
    }
    return shell_fail(p, opened, "no `\"` closes this quote");
}

int shell_read_body(struct shell_parser *p)
{
    size_t before = p->building.len;
    unsigned flags = 0;
    while (p->at < p->text.n) {
        if (read_quoted_char(p, false, &flags) < 0)
            return -1;
    }
    p->building.len = before;
    return 0;
}

/* Something that is expanded: it is read for the commands in it, its text is not kept. */
static int read_inside(struct shell_parser *p, bool quoted)
{
    unsigned flags = 0;
    switch (shell_peek(p, 0)) {
    case '\\':
        p->at += p->at + 1 < p->text.n ? 2 : 1;
        return 0;
    case '\'':
        return read_shell_single(p);
    case '"':
        return read_shell_double(p, &flags);
    case '`':
        return read_backtick(p, quoted);
    case '$':
        return read_shell_dollar(p, quoted, &flags);
    }
    p->at++;
    return 0;
}

/* From behind the opening brackets to behind those that close them. */
static int skip_brackets(struct shell_parser *p, const char *pair, unsigned count, size_t opened)
{
    if (shell_enter(p, opened) < 0)
        return -1;
    size_t before = p->building.len;
    while (p->at < p->text.n) {
        char c = shell_peek(p, 0);
        count += c == pair[0];
        count -= c == pair[1];
        if (read_inside(p, true) < 0)
            return -1;
        p->building.len = before;
        if (count == 0) {
            p->depth--;
            return 0;
        }
    }
    return shell_fail(p, opened, "nothing closes this arithmetic");
}

int shell_skip_arithmetic(struct shell_parser *p)
{
    p->at += 2;
    return skip_brackets(p, "()", 2, p->at - 2);
}

bool shell_is_arithmetic(const struct shell_parser *p, size_t at)
{
    struct str text = p->text;
    if (at + 1 >= text.n || text.p[at] != '(' || text.p[at + 1] != '(')
        return false;
    unsigned count = 2;
    char quote = 0;
    for (size_t i = at + 2; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\\' && quote != '\'')
            i++;
        else if (quote && c == quote)
            quote = '\0';
        else if (quote)
            continue;
        else if (c == '\'' || c == '"' || c == '`')
            quote = c;
        else if (c == '(')
            count++;
        else if (c == ')' && --count == 1)
            return i + 1 < text.n && text.p[i + 1] == ')';
    }
    return false;
}

/* `${` with all that may stand in it. */
static int read_parameter(struct shell_parser *p, bool quoted)
{
    size_t opened = p->at;
    char c = shell_peek(p, 2);
    if (c && strchr(" \t\n|", c))
        return shell_fail(p, opened, "commands in `${ }` are not known here");
    if (shell_enter(p, opened) < 0)
        return -1;
    add_shell_text(p, "${");
    for (p->at += 2; shell_is_name(shell_peek(p, 0), false); p->at++)
        buf_add_char(&p->building, shell_peek(p, 0));
    size_t before = p->building.len;
    while (p->at < p->text.n) {
        if (shell_peek(p, 0) == '}') {
            buf_add_char(&p->building, '}');
            p->at++;
            p->depth--;
            return 0;
        }
        if (read_inside(p, quoted) < 0)
            return -1;
        p->building.len = before;
    }
    return shell_fail(p, opened, "no `}` closes this `${`");
}

static int read_shell_substitution(struct shell_parser *p, enum shell_join join)
{
    shell_mark(p, join, p->at);
    p->at += 2;
    return shell_read_list(p, SHELL_LIST_PAREN, join);
}

static int read_dollar_paren(struct shell_parser *p)
{
    if (shell_is_arithmetic(p, p->at + 1)) {
        p->at++;
        if (shell_skip_arithmetic(p) < 0)
            return -1;
        add_shell_text(p, "$(())");
        return 0;
    }
    if (read_shell_substitution(p, SHELL_SUBSTITUTION) < 0)
        return -1;
    add_shell_text(p, "$()");
    return 0;
}

static void read_variable(struct shell_parser *p)
{
    size_t from = p->at;
    p->at += 2;
    if (shell_is_name(p->text.p[from + 1], true)) {
        while (shell_is_name(shell_peek(p, 0), false))
            p->at++;
    }
    buf_add(&p->building, p->text.p + from, p->at - from);
}

static int read_shell_dollar(struct shell_parser *p, bool quoted, unsigned *flags)
{
    char c = shell_peek(p, 1);
    if (!quoted && (c == '\'' || c == '"')) {
        *flags |= SHELL_QUOTED;
        p->at++;
        return c == '"' ? read_shell_double(p, flags) : shell_read_ansi(p);
    }
    if (!c || !(shell_is_name(c, false) || strchr("({[@*#?-$!", c))) {
        buf_add_char(&p->building, '$');
        p->at++;
        return 0;
    }
    *flags |= SHELL_EXPANDS;
    if (c == '(')
        return read_dollar_paren(p);
    if (c == '{')
        return read_parameter(p, quoted);
    if (c == '[') {
        p->at += 2;
        if (skip_brackets(p, "[]", 1, p->at - 2) < 0)
            return -1;
        add_shell_text(p, "$(())");
        return 0;
    }
    read_variable(p);
    return 0;
}

/* Backslashes inside backticks are taken away once before the commands are read: that text is made here. */
static int unescape_backticks(struct shell_parser *p, bool quoted, struct buf *ret)
{
    size_t opened = p->at++;
    for (; p->at < p->text.n; p->at++) {
        char c = shell_peek(p, 0);
        char next = shell_peek(p, 1);
        if (c == '`') {
            p->at++;
            return 0;
        }
        if (c == '\\' && next) {
            if (!strchr("`\\$", next) && !(quoted && next == '"'))
                buf_add_char(ret, c);
            c = next;
            p->at++;
        }
        buf_add_char(ret, c);
    }
    return shell_fail(p, opened, "no backtick closes this one");
}

static int read_backtick(struct shell_parser *p, bool quoted)
{
    size_t opened = p->at;
    BUF_AT_END struct buf inside = BUF_INIT(p->text.n);
    shell_mark(p, SHELL_BACKTICK, opened);
    if (unescape_backticks(p, quoted, &inside) < 0)
        return -1;
    struct shell_parser outer = *p;
    p->text = buf_str(&inside);
    p->at = 0;
    if (p->origin == SIZE_MAX)
        p->origin = opened;
    int done = shell_read_list(p, SHELL_LIST_TEXT, SHELL_BACKTICK);
    p->text = outer.text;
    p->at = outer.at;
    p->origin = outer.origin;
    if (done == 0)
        add_shell_text(p, "$()");
    return done;
}

/* How many bytes of NAME= or NAME[subscript]+= stand here; 0 if it is no assignment. */
static size_t assignment_length(struct str text)
{
    size_t i = 0;
    while (i < text.n && shell_is_name(text.p[i], i == 0))
        i++;
    if (i && i < text.n && text.p[i] == '[') {
        size_t most = text.n < i + SUBSCRIPT_MAX ? text.n : i + SUBSCRIPT_MAX;
        while (i < most && text.p[i] != ']' && text.p[i] != '\n')
            i++;
        if (i == most || text.p[i++] != ']')
            return 0;
    }
    if (i && i + 1 < text.n && text.p[i] == '+' && text.p[i + 1] == '=')
        i++;
    return i && i < text.n && text.p[i] == '=' ? i + 1 : 0;
}

/* What makes an unquoted word a pattern: seen so far. */
struct pattern {
    bool bracket, brace, comma;
};

static bool makes_pattern(struct pattern *seen, char c, char next)
{
    seen->comma |= seen->brace && (c == ',' || (c == '.' && next == '.'));
    bool complete = c == '*' || c == '?' || (c == ']' && seen->bracket) ||
                    (c == '}' && seen->comma);
    seen->bracket |= c == '[';
    seen->brace |= c == '{';
    return complete;
}

/* One unquoted character or what begins with it. */
static int read_bare(struct shell_parser *p, struct pattern *seen, unsigned *flags)
{
    char c = shell_peek(p, 0);
    char next = shell_peek(p, 1);
    switch (c) {
    case '\'':
        *flags |= SHELL_QUOTED;
        return read_shell_single(p);
    case '"':
        *flags |= SHELL_QUOTED;
        return read_shell_double(p, flags);
    case '`':
        *flags |= SHELL_EXPANDS;
        return read_backtick(p, false);
    case '$':
        return read_shell_dollar(p, false, flags);
    case '\\':
        if (p->at + 1 == p->text.n)
            break;
        p->at += 2;
        if (next != '\n') {
            *flags |= SHELL_QUOTED;
            buf_add_char(&p->building, next);
        }
        return 0;
    }
    if (makes_pattern(seen, c, next))
        *flags |= SHELL_PATTERN;
    buf_add_char(&p->building, c);
    p->at++;
    return 0;
}

static int read_process(struct shell_parser *p, unsigned *flags)
{
    *flags |= SHELL_EXPANDS;
    if (read_shell_substitution(p, SHELL_PROCESS) < 0)
        return -1;
    add_shell_text(p, "<()");
    return 0;
}

int shell_read_array(struct shell_parser *p, size_t opened)
{
    if (shell_enter(p, opened) < 0)
        return -1;
    for (;;) {
        struct shell_word word;
        shell_skip_blanks(p, true);
        if (p->at == p->text.n)
            return shell_fail(p, opened, "no `)` closes this array");
        if (shell_peek(p, 0) == ')')
            break;
        if (shell_is_meta(shell_peek(p, 0)) && !shell_at_process(p))
            return shell_fail(p, p->at, "this cannot stand in an array; quote it");
        if (shell_read_word(p, &word) < 0)
            return -1;
    }
    p->at++;
    p->depth--;
    return 0;
}

static int read_pieces(struct shell_parser *p, unsigned *flags)
{
    struct pattern seen = {0};
    size_t assignment = assignment_length((struct str){p->text.p + p->at, p->text.n - p->at});
    size_t value = p->at + assignment; /* blanks in a subscript are part of the word */
    if (assignment)
        *flags |= SHELL_ASSIGNS;
    while (p->at < p->text.n) {
        char c = shell_peek(p, 0);
        if (c == '(' && assignment && p->at == value) {
            p->at++;
            if (shell_read_array(p, p->at - 1) < 0)
                return -1;
            *flags |= SHELL_EXPANDS;
            add_shell_text(p, "()");
        } else if (shell_at_process(p)) {
            if (read_process(p, flags) < 0)
                return -1;
        } else if (shell_is_meta(c) && p->at >= value) {
            return 0;
        } else if (read_bare(p, &seen, flags) < 0) {
            return -1;
        }
    }
    return 0;
}

int shell_read_word(struct shell_parser *p, struct shell_word *ret)
{
    size_t from = p->building.len;
    unsigned flags = 0;
    if (read_pieces(p, &flags) < 0)
        return -1;
    struct buf *text = &p->out->text_;
    size_t at = text->len;
    if (p->building.failed || buf_add(text, p->building.data + from, p->building.len - from) < 0)
        return err_set(p->err, ERR_INTERNAL, "the command's words take more room than expected");
    *ret = (struct shell_word){.text = {text->data + at, text->len - at}, .flags = flags};
    p->building.len = from;
    return 0;
}
