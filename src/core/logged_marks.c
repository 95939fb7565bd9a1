#include "core/logged_marks.h"

#include <string.h>

#include "base/ascii.h"
#include "core/logged_scripts.h"

/* Quotes and brackets in each other. What is deeper is read as what stands around it. */
#define LEVELS_MAX 64
/* Scripts in scripts: each reads its part of the text once more. */
#define SCRIPTS_MAX 8
#define HERE_MAX 8
/* What stands behind a longer one is read as commands. */
#define HERE_WORD_MAX 1024

#define ESCAPED 'e'    /* $'…' */
#define ARITHMETIC 'a' /* ((…)) */

struct here {
    size_t word; /* that ends it, with its quotes */
    size_t word_end;
    bool script;
};

/* A command as far as it was read. */
struct command {
    size_t seen;
    bool shell; /* one of its words reads text as a script */
};

struct level {
    char kind;
    size_t from;
    bool script;            /* a shell reads what is in these quotes */
    struct command command; /* around these brackets */
};

struct reader {
    const char *p;
    unsigned char *marks;
    size_t at;
    size_t end;
    size_t line;
    struct command command;
    struct level levels[LEVELS_MAX];
    size_t n_levels;
    size_t n_backticks;
    struct here here[HERE_MAX];
    size_t n_here;
    size_t here_line; /* behind the last of these words */
    unsigned depth;
};

static void mark_script(const char *p, size_t from, size_t to, unsigned char *marks,
                        unsigned depth);

static bool is_script_operator(char c)
{
    return c == ';' || c == '&' || c == '|' || c == '\n' || c == '(' || c == ')';
}

static char script_char_at(const struct reader *r, size_t at)
{
    return at < r->end ? r->p[at] : '\0';
}

static char level(const struct reader *r)
{
    return r->n_levels ? r->levels[r->n_levels - 1].kind : '\0';
}

static bool is_quote_level(char kind)
{
    return kind == '\'' || kind == '"' || kind == ESCAPED;
}

static bool is_script_word_char(char c)
{
    return !ascii_is_blank(c) && !is_script_operator(c) && !strchr("'\"`<>{}$", c);
}

/* Whether one of the words in [from, to) hands text to a shell. */
static bool names_shell(const struct reader *r, size_t from, size_t to)
{
    while (from < to) {
        size_t word = from;
        while (from < to && r->p[from] && is_script_word_char(r->p[from]))
            from++;
        if (logged_reads_script((struct str){r->p + word, from - word}))
            return true;
        from += from == word;
    }
    return false;
}

/* Each word of a command is looked at once, however many quotes are in it. */
static bool is_for_shell(struct reader *r)
{
    struct command *c = &r->command;
    c->shell = c->shell || names_shell(r, c->seen, r->at);
    c->seen = r->at;
    return c->shell;
}

static void mark_chars(struct reader *r, size_t n, enum logged_mark kind)
{
    for (; n && r->at < r->end; n--)
        r->marks[r->at++] = (unsigned char)kind;
}

static struct command new_command(const struct reader *r)
{
    return (struct command){.seen = r->at};
}

static void push_level(struct reader *r, struct level level)
{
    if (r->n_levels == LEVELS_MAX)
        return;
    r->n_backticks += level.kind == '`';
    r->levels[r->n_levels++] = level;
}

static void pop(struct reader *r)
{
    struct level *level = &r->levels[--r->n_levels];
    r->n_backticks -= level->kind == '`';
    if (!is_quote_level(level->kind)) {
        r->command = level->command;
        r->command.seen = r->at;
    }
}

static void open_quote(struct reader *r, char kind)
{
    bool script = r->depth < SCRIPTS_MAX && is_for_shell(r);
    push_level(r, (struct level){.kind = kind, .from = r->at + 1, .script = script});
    mark_chars(r, 1, LOGGED_QUOTED);
}

/* The outermost open quote that a shell reads, if it is the one at `from` or one in that; n_levels: it is not. */
static size_t open_script(const struct reader *r, size_t from)
{
    size_t i = 0;
    while (i < r->n_levels && !r->levels[i].script)
        i++;
    return i < from ? r->n_levels : i;
}

/* Scripts in a script are read with that: to read each of them here as well would double the time with each level. */
static void mark_quoted_script(const struct reader *r, size_t from)
{
    size_t i = open_script(r, from);
    if (i < r->n_levels && r->levels[i].from <= r->at)
        mark_script(r->p, r->levels[i].from, r->at, r->marks, r->depth + 1);
}

static void close_quote(struct reader *r)
{
    mark_quoted_script(r, r->n_levels - 1);
    pop(r);
    mark_chars(r, 1, LOGGED_QUOTED);
}

static void open_bracket(struct reader *r, size_t n, char kind)
{
    mark_chars(r, n, LOGGED_PLAIN);
    push_level(r, (struct level){.kind = kind, .command = r->command});
    r->command = new_command(r);
}

/* `$(` or a backtick, which a shell runs in double quotes, too. */
static bool open_substitution(struct reader *r)
{
    char c = r->p[r->at];
    if (c == '`' && r->n_backticks == 0) {
        open_bracket(r, 1, '`');
        return true;
    }
    if (c != '$' || script_char_at(r, r->at + 1) != '(')
        return false;
    open_bracket(r, 2, '(');
    if (script_char_at(r, r->at) == '(')
        open_bracket(r, 1, ARITHMETIC);
    return true;
}

static void step_quoted(struct reader *r)
{
    char c = r->p[r->at];
    char quote = level(r);
    if (c == '\\' && quote != '\'')
        mark_chars(r, 2, LOGGED_QUOTED);
    else if (c == (quote == ESCAPED ? '\'' : quote))
        close_quote(r);
    else if (quote != '"' || !open_substitution(r))
        mark_chars(r, 1, LOGGED_QUOTED);
}

/* Behind the word at `at`; blanks in quotes belong to it. */
static size_t here_word_end(const struct reader *r, size_t at)
{
    char quote = '\0';
    for (; at < r->end && r->p[at] != '\n'; at++) {
        char c = r->p[at];
        if (c == '\\' && quote != '\'' && script_char_at(r, at + 1) != '\n')
            at++;
        else if (quote && c == quote)
            quote = '\0';
        else if (!quote && (c == '\'' || c == '"'))
            quote = c;
        else if (!quote && (ascii_is_blank(c) || is_script_operator(c)))
            break;
    }
    return at < r->end ? at : r->end;
}

static size_t behind_quotes(const struct reader *r, size_t at, size_t end)
{
    while (at < end && r->p[at] && strchr("'\"\\$", r->p[at]))
        at++;
    return at;
}

/* The word behind `<<`. */
static void take_here(struct reader *r)
{
    size_t at = r->at + 2;
    at += script_char_at(r, at) == '-';
    while (ascii_is_blank(script_char_at(r, at)))
        at++;
    size_t end = here_word_end(r, at);
    bool empty = behind_quotes(r, at, end) == end;
    r->here[r->n_here] = (struct here){at, end, is_for_shell(r)};
    r->n_here += !empty && end - at <= HERE_WORD_MAX;
    r->here_line = end;
    mark_chars(r, end - r->at, LOGGED_PLAIN);
}

static size_t script_line_end(const struct reader *r, size_t at)
{
    const char *end = at < r->end ? memchr(r->p + at, '\n', r->end - at) : NULL;
    return end ? (size_t)(end - r->p) : r->end;
}

/* Quotes of either are passed over: a line that is taken for the end too early hides nothing. */
static bool ends_here(const struct reader *r, size_t line, size_t end, const struct here *here)
{
    while (line < end && r->p[line] == '\t')
        line++;
    size_t at = behind_quotes(r, here->word, here->word_end);
    line = behind_quotes(r, line, end);
    while (at < here->word_end && line < end && r->p[at] == r->p[line]) {
        at = behind_quotes(r, at + 1, here->word_end);
        line = behind_quotes(r, line + 1, end);
    }
    return at == here->word_end && line == end;
}

/* The command that it is for began before this line, or goes on behind it. */
static bool is_part_of_command(const struct reader *r, size_t from, size_t to)
{
    static const char *const words[] = {"done", "}", ")", "fi", "esac"};
    while (from < to && ascii_is_blank(r->p[from]))
        from++;
    while (to > from && ascii_is_blank(r->p[to - 1]))
        to--;
    bool part = to > from && r->p[to - 1] == '|';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        part |= to - from >= n && memcmp(r->p + from, words[i], n) == 0 &&
                !is_script_word_char(script_char_at(r, from + n));
    }
    return part;
}

static void read_here(struct reader *r, const struct here *here)
{
    size_t from = r->at;
    size_t line = from;
    size_t end = script_line_end(r, line);
    while (end < r->end && !ends_here(r, line, end, here)) {
        line = end + 1;
        end = script_line_end(r, line);
    }
    if (!ends_here(r, line, end, here))
        line = end;
    mark_chars(r, line - from, LOGGED_DATA);
    if (here->script && r->depth < SCRIPTS_MAX && open_script(r, 0) == r->n_levels)
        mark_script(r->p, from, line, r->marks, r->depth + 1);
    mark_chars(r, end - line + 1, LOGGED_PLAIN);
}

static void end_script_line(struct reader *r)
{
    size_t line = r->line;
    size_t end = r->at;
    mark_chars(r, 1, LOGGED_PLAIN);
    bool script = r->n_here &&
                  (is_part_of_command(r, line, end) || names_shell(r, r->here_line, end));
    for (size_t i = 0; i < r->n_here; i++) {
        r->here[i].script |= script;
        read_here(r, &r->here[i]);
    }
    r->n_here = 0;
    r->command = new_command(r);
    r->line = r->at;
}

static bool begins_word(const struct reader *r)
{
    char before = r->at ? r->p[r->at - 1] : '\n';
    return ascii_is_blank(before) || is_script_operator(before) || before == '`';
}

static void step_bracket(struct reader *r, char c)
{
    if (c == '(') {
        open_bracket(r, 1, script_char_at(r, r->at + 1) == '(' ? ARITHMETIC : '(');
        return;
    }
    mark_chars(r, 1, LOGGED_PLAIN);
    if (level(r) == '(' || level(r) == ARITHMETIC)
        pop(r);
}

/* To the end of the command in backticks, whatever was left open in it. */
static void close_backtick(struct reader *r)
{
    size_t from = r->n_levels;
    while (from && r->levels[from - 1].kind != '`')
        from--;
    mark_quoted_script(r, from);
    while (r->n_backticks)
        pop(r);
    mark_chars(r, 1, LOGGED_PLAIN);
    r->command.seen = r->at;
}

static void step_operator(struct reader *r, char c)
{
    if (c == '(' || c == ')') {
        step_bracket(r, c);
    } else if (c == '\n') {
        end_script_line(r);
    } else {
        mark_chars(r, 1, LOGGED_PLAIN);
        r->command = new_command(r);
    }
}

static void step_plain(struct reader *r)
{
    char c = r->p[r->at];
    bool here = c == '<' && script_char_at(r, r->at + 1) == '<' && level(r) != ARITHMETIC;
    if (c == '\\')
        mark_chars(r, 2, LOGGED_PLAIN);
    else if (c == '\'' || c == '"')
        open_quote(r, c == '\'' && r->at && r->p[r->at - 1] == '$' ? ESCAPED : c);
    else if (c == '`' && r->n_backticks)
        close_backtick(r);
    else if (c == '#' && begins_word(r) && level(r) != ARITHMETIC)
        mark_chars(r, script_line_end(r, r->at) - r->at, LOGGED_PLAIN);
    else if (here && script_char_at(r, r->at + 2) == '<')
        mark_chars(r, 3, LOGGED_PLAIN);
    else if (here && r->n_here < HERE_MAX)
        take_here(r);
    else if (is_script_operator(c))
        step_operator(r, c);
    else if (!open_substitution(r))
        mark_chars(r, 1, LOGGED_PLAIN);
}

static void mark_script(const char *p, size_t from, size_t to, unsigned char *marks, unsigned depth)
{
    struct reader r = {.p = p,
                       .marks = marks,
                       .at = from,
                       .end = to,
                       .line = from,
                       .command = {.seen = from},
                       .depth = depth};
    while (r.at < r.end) {
        if (is_quote_level(level(&r)))
            step_quoted(&r);
        else
            step_plain(&r);
    }
    mark_quoted_script(&r, 0);
}

bool logged_marks(struct str script, struct buf *ret)
{
    *ret = BUF_INIT(script.n + 1);
    if (buf_reserve(ret, script.n + 1) < 0)
        return false;
    memset(ret->data, LOGGED_PLAIN, script.n + 1);
    ret->len = script.n + 1;
    mark_script(script.p, 0, script.n, (unsigned char *)ret->data, 0);
    return true;
}
