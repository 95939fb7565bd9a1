/* Here-documents in a script. */
#include "core/script_reader.h"

/* What stands behind a longer one is read as commands. */
#define HERE_WORD_MAX 1024

/* Behind the word at `at`; blanks in quotes belong to it. */
static size_t here_word_end(const struct script_reader *r, size_t at)
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
        else if (!quote && (ascii_is_blank(c) || script_is_operator(c)))
            break;
    }
    return at < r->end ? at : r->end;
}

static size_t behind_quotes(const struct script_reader *r, size_t at, size_t end)
{
    while (at < end && r->p[at] && strchr("'\"\\$", r->p[at]))
        at++;
    return at;
}

static bool has_quotes(const struct script_reader *r, size_t at, size_t end)
{
    while (at < end && (r->p[at] == '\0' || !strchr("'\"\\", r->p[at])))
        at++;
    return at < end;
}

/* `done`, `}`, `( … )`: what it is for is one of the commands before it. */
static bool ends_compound(const struct script_reader *r)
{
    size_t at = r->command.from;
    while (at < r->at && ascii_is_blank(r->p[at]))
        at++;
    return r->p[at] == '(' || script_closes_command(script_word(r, at, r->at));
}

void script_here_take(struct script_reader *r)
{
    size_t at = r->at + 2;
    at += script_char_at(r, at) == '-';
    while (ascii_is_blank(script_char_at(r, at)))
        at++;
    size_t end = here_word_end(r, at);
    bool empty = behind_quotes(r, at, end) == end;
    bool script = script_is_for_shell(r) || ends_compound(r);
    bool quoted = has_quotes(r, at, end);
    r->here[r->n_here] = (struct script_here){at, end, script, quoted};
    r->n_here += !empty && end - at <= HERE_WORD_MAX;
    r->here_line = end;
    script_mark_chars(r, end - r->at, LOGGED_PLAIN);
}

size_t script_line_end(const struct script_reader *r, size_t at)
{
    const char *end = at < r->end ? memchr(r->p + at, '\n', r->end - at) : NULL;
    return end ? (size_t)(end - r->p) : r->end;
}

/* Quotes of either are passed over: a line that is taken for the end too early hides nothing. */
static bool ends_here(const struct script_reader *r, size_t line, size_t end,
                      const struct script_here *here)
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

void script_here_read(struct script_reader *r, const struct script_here *here)
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
    script_mark_chars(r, line - from, LOGGED_DATA);
    bool look = r->depth < SCRIPT_DEPTH_MAX && script_open_quote(r, 0) == r->n_levels;
    if (look && !here->quoted)
        script_read_here_text(r, from, line);
    if (look && (here->script || r->piped))
        script_read_text(r, from, line, r->piped);
    else
        script_add_text(r, from, line);
    script_mark_chars(r, end - line + 1, LOGGED_PLAIN);
}
