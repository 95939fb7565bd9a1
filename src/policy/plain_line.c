/* Lists of commands. */
#include "base/mem.h"
#include "base/str.h"
#include "policy/plain_parts.h"

static const char too_long[] = "too long a text";
static const char no_end_of_text[] = "a here-document without its end";

/* --- programs */

static const char *const reserved[] = {"if",     "then",     "else", "elif",   "fi",    "do",
                                       "done",   "case",     "esac", "while",  "until", "for",
                                       "select", "function", "time", "coproc", NULL};

static bool is_plain_program(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!plain_is_letter(text.p[i]) && !plain_is_digit(text.p[i]) && !strchr("./+-", text.p[i]))
            return str_is(text, "[") || str_is(text, ":");
    }
    return text.n > 0;
}

static bool sets_variable(struct str text)
{
    size_t n = 0;
    while (n < text.n && (plain_is_letter(text.p[n]) || (n && plain_is_digit(text.p[n]))))
        n++;
    if (n && n < text.n && text.p[n] == '+')
        n++;
    return n && n < text.n && text.p[n] == '=';
}

/* Variables that change how a program talks, not what it runs. Their values hold no paths. */
static const char *const harmless[] = {"CI",
                                       "NODE_ENV",
                                       "NO_COLOR",
                                       "FORCE_COLOR",
                                       "CLICOLOR",
                                       "RUST_BACKTRACE",
                                       "RUST_LOG",
                                       "TERM",
                                       "COLUMNS",
                                       "DEBIAN_FRONTEND",
                                       "PYTHONUNBUFFERED",
                                       "TZ",
                                       "LANG",
                                       "LC_ALL",
                                       "VERBOSE",
                                       "CARGO_TERM_COLOR",
                                       "PYTHONDONTWRITEBYTECODE",
                                       "PYTHONUTF8",
                                       NULL};

static bool sets_harmless(struct str text)
{
    const char *equals = memchr(text.p, '=', text.n);
    struct str name = {text.p, equals ? (size_t)(equals - text.p) : 0};
    if (!str_in(name, harmless))
        return false;
    for (size_t i = name.n + 1; i < text.n; i++) {
        char c = text.p[i];
        if (!plain_is_letter(c) && !plain_is_digit(c) && !strchr(".,=-", c))
            return false;
    }
    return true;
}

/* The word that was read last stands where its command's program is looked for. 1: it is; 0: it only sets a variable, and
 * is gone. */
static int check_first(struct plain_reader *r, size_t at)
{
    struct plain_line *out = r->out;
    const struct plain_word *word = &out->words_[out->n_words_ - 1];
    struct str text = STR("");
    if (word->text.n)
        text = (struct str){out->text_.data + out->text_.len - word->text.n, word->text.n};
    if (word->flags & PLAIN_VARIES)
        return plain_fault_at(r, at, "a program that is known only when it runs");
    if (!(word->flags & PLAIN_QUOTED) && str_in(text, reserved))
        return plain_fault_at(r, at, "a reserved word");
    if (!(word->flags & PLAIN_QUOTED) && sets_harmless(text)) {
        out->text_.len -= text.n;
        out->n_words_--;
        return 0;
    }
    if (sets_variable(text))
        return plain_fault_at(r, at, "a variable that is set");
    return is_plain_program(text) ? 1 : plain_fault_at(r, at, "a program with an unusual name");
}

/* --- redirections */

static bool line_begins_with(const struct plain_reader *r, size_t at, const char *text)
{
    size_t n = strlen(text);
    return r->text.n - at >= n && memcmp(r->text.p + at, text, n) == 0;
}

static size_t skip_blanks_from(const struct plain_reader *r, size_t at)
{
    while (at < r->text.n && (r->text.p[at] == ' ' || r->text.p[at] == '\t'))
        at++;
    return at;
}

/* Where it ends, or 0: it may lead somewhere else. */
static size_t null_end(const struct plain_reader *r, size_t at)
{
    static const char null[] = "/dev/null";
    at = skip_blanks_from(r, at);
    if (!line_begins_with(r, at, null))
        return 0;
    at += sizeof null - 1;
    return at == r->text.n || plain_is_meta(r->text.p[at]) ? at : 0;
}

static int read_heredoc_start(struct plain_reader *r, size_t at)
{
    size_t from = at + 3;
    size_t end = from;
    while (end < r->text.n && plain_is_letter(r->text.p[end]))
        end++;
    bool whole = end > from && end < r->text.n && r->text.p[end] == '\'' &&
                 (end + 1 == r->text.n || plain_is_meta(r->text.p[end + 1]));
    if (!line_begins_with(r, at, "<<'") || !whole)
        return plain_fault_at(r, at, "a here-document whose delimiter is not one quoted word");
    if (r->had_text || r->depth)
        return plain_fault_at(r, at, "a here-document that is not the last of the line");
    r->had_text = true;
    r->ends = (struct str){r->text.p + from, end - from};
    r->at = end + 1;
    return 0;
}

/* `< FILE`. It is no word of the command, and what it leads to is known. */
static int read_input(struct plain_reader *r, size_t at)
{
    r->at = skip_blanks_from(r, at + 1);
    if (plain_is_meta(plain_peek(r, 0)))
        return plain_fault_at(r, at, "a redirection that is not read");
    return plain_pass_word(r, "a redirection from a file that is known only when it runs");
}

/* At `<`, `>` or `&>`, behind the number of a descriptor if there is one. */
static int read_redirection(struct plain_reader *r, struct plain_command *command)
{
    size_t at = r->at;
    bool both = line_begins_with(r, at, "&>");
    command->input |= plain_peek(r, 0) == '<';
    if (line_begins_with(r, at, "<<"))
        return read_heredoc_start(r, at);
    if (plain_peek(r, 0) == '<')
        return read_input(r, at);
    size_t behind = at + (both ? 2 : 1);
    if (!both && line_begins_with(r, at, ">>"))
        behind = at + 2;
    size_t end = null_end(r, behind);
    if (!end && !both && (line_begins_with(r, at, ">&1") || line_begins_with(r, at, ">&2")) &&
        (at + 3 == r->text.n || plain_is_meta(r->text.p[at + 3])))
        end = at + 3;
    if (!end)
        return plain_fault_at(r, at, "a redirection to something else than /dev/null");
    r->at = end;
    return 0;
}

static bool at_redirection(const struct plain_reader *r)
{
    char c = plain_peek(r, 0);
    return c == '<' || c == '>' || (c == '&' && plain_peek(r, 1) == '>');
}

/* `2` right before a `>` is a descriptor. */
static bool at_descriptor(const struct plain_reader *r)
{
    return plain_peek(r, 0) >= '0' && plain_peek(r, 0) <= '2' &&
           (plain_peek(r, 1) == '>' || plain_peek(r, 1) == '<');
}

/* --- commands */

/* Blanks, and lines that are continued between words. */
static void skip_blanks(struct plain_reader *r)
{
    for (;;) {
        if (plain_peek(r, 0) == ' ' || plain_peek(r, 0) == '\t')
            r->at++;
        else if (plain_peek(r, 0) == '\\' && plain_peek(r, 1) == '\n' && r->at &&
                 strchr(" \t\n", r->text.p[r->at - 1]))
            r->at += 2;
        else
            return;
    }
}

static int skip_comment(struct plain_reader *r)
{
    if (plain_peek(r, 0) != '#')
        return 0;
    if (r->in_words)
        return plain_fault_at(r, r->at, "a comment inside a substitution");
    while (!plain_at_end(r) && plain_peek(r, 0) != '\n')
        r->at++;
    return 0;
}

static bool number_before_redirection(const struct plain_reader *r)
{
    size_t n = 0;
    while (plain_is_digit(plain_peek(r, n)))
        n++;
    return n && (plain_peek(r, n) == '<' || plain_peek(r, n) == '>');
}

/* Words and redirections up to an operator. */
static int read_words(struct plain_reader *r, struct plain_command *command, unsigned number)
{
    for (bool any = false;; skip_blanks(r)) {
        size_t at = r->at;
        if (at_descriptor(r))
            r->at++;
        else if (number_before_redirection(r))
            return plain_fault_at(r, at, "a redirection of another descriptor than 0, 1 and 2");
        if (at_redirection(r)) {
            if (read_redirection(r, command) < 0)
                return -1;
            continue;
        }
        if (plain_peek(r, 0) == '#')
            return skip_comment(r);
        if (plain_is_meta(plain_peek(r, 0)))
            return plain_peek(r, 0) == '(' ? plain_fault_at(r, at, "a `(` behind a word")
                   : any                   ? 0
                                           : plain_fault_at(r, at, "a command without a program");
        if (plain_read_word(r, number) < 0)
            return -1;
        if (r->building.failed || r->out->text_.failed)
            return plain_fault_at(r, at, too_long);
        int first = any ? 1 : check_first(r, at);
        if (first < 0)
            return -1;
        any = first;
    }
}

static int read_subshell(struct plain_reader *r)
{
    size_t from = r->at;
    size_t first = r->out->n;
    if (plain_peek(r, 1) == '(')
        return plain_fault_at(r, from, "arithmetic");
    if (r->depth == PLAIN_NESTING_MAX)
        return plain_fault_at(r, from, "more nesting than 8 levels");
    r->at++;
    r->depth++;
    if (plain_read_list(r) < 0)
        return -1;
    r->depth--;
    if (plain_peek(r, 0) != ')')
        return plain_fault_at(r, from, "a subshell without its end");
    r->at++;
    skip_blanks(r);
    while (at_redirection(r) || at_descriptor(r)) {
        struct plain_command none = {0};
        r->at += at_descriptor(r);
        if (line_begins_with(r, r->at, "<<"))
            return plain_fault_at(r, r->at, "a here-document for a subshell");
        if (read_redirection(r, &none) < 0)
            return -1;
        for (size_t i = first; none.input && i < r->out->n; i++)
            r->out->commands[i].input = true;
        skip_blanks(r);
    }
    return plain_is_meta(plain_peek(r, 0)) && plain_peek(r, 0) != '('
               ? 0
               : plain_fault_at(r, r->at, "a word behind a subshell");
}

static int read_plain_command(struct plain_reader *r)
{
    if (plain_peek(r, 0) == '!' && (plain_peek(r, 1) == ' ' || plain_peek(r, 1) == '\t')) {
        r->at++;
        skip_blanks(r);
    }
    if (plain_peek(r, 0) == '(')
        return read_subshell(r);
    if (r->out->n == PLAIN_COMMANDS_MAX)
        return plain_fault_at(r, r->at, "more than 64 commands");
    unsigned number = (unsigned)r->out->n++;
    r->out->commands[number].at = r->at;
    r->out->commands[number].input = r->piped;
    return read_words(r, &r->out->commands[number], number);
}

/* Between commands: newlines, blanks and comments. */
static int skip_lines(struct plain_reader *r)
{
    for (;;) {
        skip_blanks(r);
        if (skip_comment(r) < 0)
            return -1;
        if (plain_peek(r, 0) != '\n')
            return 0;
        if (r->ends.p)
            return plain_newline_before_text(r);
        r->at++;
    }
}

/* Behind a newline: the text of the here-document, which has to be the end of it all. */
static int read_plain_heredoc(struct plain_reader *r)
{
    size_t from = r->at;
    while (!plain_at_end(r)) {
        const char *line = r->text.p + r->at;
        const char *end = memchr(line, '\n', r->text.n - r->at);
        size_t n = end ? (size_t)(end - line) : r->text.n - r->at;
        r->at += n + (end != NULL);
        if (memchr(line, '\0', n))
            return plain_fault_at(r, from, "a NUL");
        if (n == r->ends.n && memcmp(line, r->ends.p, n) == 0) {
            r->ends = (struct str){0};
            break;
        }
    }
    if (r->ends.p)
        return plain_fault_at(r, from, no_end_of_text);
    if (skip_lines(r) < 0)
        return -1;
    return plain_at_end(r) ? 0 : plain_fault_at(r, r->at, "a command behind a here-document");
}

/* Goes behind an operator. 1: a command follows; 0: the list may end here; -1. */
static int read_operator(struct plain_reader *r)
{
    char c = plain_peek(r, 0);
    char next = plain_peek(r, 1);
    size_t at = r->at;
    bool joins = (c == '&' && next == '&') || (c == '|' && next == '|') ||
                 (c == '|' && next != '&');
    if (joins) {
        /* What follows a pipe may be a subshell, and where that ends is not kept. */
        r->piped |= c == '|' && next != '|';
        r->at += c == next ? 2 : 1;
        return skip_lines(r) < 0 ? -1 : 1;
    }
    if (c == '&' || c == '|')
        return plain_fault_at(r, at, c == '&' ? "a background job" : "`|&`");
    if (c == ';' && next == ';')
        return plain_fault_at(r, at, "`;;`");
    if (c == ';')
        r->at++;
    skip_blanks(r);
    if (skip_comment(r) < 0)
        return -1;
    if (plain_peek(r, 0) == '\n' && r->ends.p) {
        r->at++;
        return read_plain_heredoc(r);
    }
    return skip_lines(r);
}

/* Commands up to the end of the text or a `)`. */
int plain_read_list(struct plain_reader *r)
{
    if (skip_lines(r) < 0)
        return -1;
    for (;;) {
        if (read_plain_command(r) < 0)
            return -1;
        skip_blanks(r);
        if (skip_comment(r) < 0)
            return -1;
        int more = plain_at_end(r) || plain_peek(r, 0) == ')' ? 0 : read_operator(r);
        if (more < 0)
            return -1;
        if (!more && (plain_at_end(r) || plain_peek(r, 0) == ')'))
            return 0;
    }
}

/* --- all of it */

/* Words were kept as they ended, those of a substitution before the one that it is part of. */
static void order_words(struct plain_line *line)
{
    struct plain_word *sorted = mem_grow(NULL, line->n_words_ ? line->n_words_ : 1, sizeof *sorted);
    size_t starts[PLAIN_COMMANDS_MAX];
    size_t total = 0;
    size_t at = 0;
    for (size_t i = 0; i < line->n_words_; i++) {
        struct plain_word *word = &line->words_[i];
        word->text.p = line->text_.data ? line->text_.data + at : "";
        at += word->text.n;
        line->commands[word->command].n++;
    }
    for (size_t i = 0; i < line->n; i++) {
        starts[i] = total;
        line->commands[i].words = sorted + total;
        total += line->commands[i].n;
    }
    for (size_t i = 0; i < line->n_words_; i++)
        sorted[starts[line->words_[i].command]++] = line->words_[i];
    free(line->words_);
    line->words_ = sorted;
}

static int read_plain_line(struct plain_reader *r)
{
    if (r->text.n > PLAIN_TEXT_MAX)
        return plain_fault_at(r, 0, "a text of more than 64 KiB");
    if (plain_read_list(r) < 0)
        return -1;
    if (!plain_at_end(r))
        return plain_fault_at(r, r->at, "a `)` too many");
    if (r->ends.p)
        return plain_fault_at(r, r->at, no_end_of_text);
    return r->building.failed || r->out->text_.failed ? plain_fault_at(r, 0, too_long) : 0;
}

int plain_read(struct str text, struct plain_line *ret, struct plain_fault *why)
{
    *ret = (struct plain_line){.text_ = BUF_INIT(PLAIN_TEXT_MAX * 2)};
    struct plain_reader reader = {
        .text = text, .out = ret, .why = why, .building = BUF_INIT(PLAIN_TEXT_MAX * 2)};
    const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
    int r = nul ? -1 : read_plain_line(&reader);
    if (nul)
        *why = (struct plain_fault){(size_t)(nul - text.p), "a NUL byte"};
    buf_done(&reader.building);
    if (r < 0)
        plain_done(ret);
    else
        order_words(ret);
    return r;
}

void plain_done(struct plain_line *line)
{
    free(line->words_);
    buf_done(&line->text_);
    *line = (struct plain_line){0};
}
