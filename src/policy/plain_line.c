#include "policy/plain_line.h"

#include "base/mem.h"

struct reader {
    struct str text;
    size_t at;
    unsigned depth;    /* of ( ) and $( ) */
    unsigned in_words; /* of $( ) alone */
    struct plain_line *out;
    struct plain_fault *why;
    struct buf building; /* the texts of words that have begun, the innermost last */
    struct str
        ends;      /* the delimiter of a here-document whose text is still to come; p may be NULL */
    bool had_text; /* there was one */
};

/* A word while it is read. */
struct word {
    size_t from; /* its text in `building` */
    unsigned flags;
    bool quoted; /* inside "..." */
};

static const char no_end_of_text[] = "a here-document without its end";
static const char newline_before_text[] = "a here-document whose line goes on in the next one";

static int read_list(struct reader *r);

static int fault(struct reader *r, size_t at, const char *construct)
{
    *r->why = (struct plain_fault){at, construct};
    return -1;
}

static char peek(const struct reader *r, size_t ahead)
{
    return r->at + ahead < r->text.n ? r->text.p[r->at + ahead] : '\0';
}

static bool at_end(const struct reader *r)
{
    return r->at == r->text.n;
}

static bool is_letter(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_plain(char c)
{
    return is_letter(c) || is_digit(c) || (c && strchr("./:@%+,=^-", c));
}

/* Ends a word. */
static bool is_meta(char c)
{
    return c == '\0' || strchr(" \t\n|&;()<>", c);
}

static bool is_text(struct str text, const char *literal)
{
    return text.n == strlen(literal) && memcmp(text.p, literal, text.n) == 0;
}

static bool is_one_of(struct str text, const char *const *list)
{
    for (; *list; list++) {
        if (is_text(text, *list))
            return true;
    }
    return false;
}

/* --- words */

/* Something whose value is not known here. Unquoted it may be split into words; as a beginning it may be an option. */
static void varies(const struct reader *r, struct word *word)
{
    bool first = r->building.len == word->from || r->building.data[word->from] == '-';
    word->flags |= PLAIN_VARIES;
    if (!word->quoted || first)
        word->flags |= PLAIN_ANY;
}

static int read_substitution(struct reader *r, struct word *word)
{
    size_t from = r->at;
    if (peek(r, 2) == '(')
        return fault(r, from, "arithmetic");
    if (r->depth == PLAIN_NESTING_MAX)
        return fault(r, from, "more nesting than 8 levels");
    varies(r, word);
    r->at += 2;
    r->depth++;
    r->in_words++;
    if (read_list(r) < 0)
        return -1;
    r->depth--;
    r->in_words--;
    if (peek(r, 0) != ')')
        return fault(r, from, "a substitution without its end");
    r->at++;
    buf_add_text(&r->building, "$()");
    return 0;
}

/* At a `$`. */
static int read_dollar(struct reader *r, struct word *word)
{
    char next = peek(r, 1);
    if (next == '(')
        return read_substitution(r, word);
    if (next == '?' || is_letter(next)) {
        varies(r, word);
        size_t n = 2;
        while (next != '?' && (is_letter(peek(r, n)) || is_digit(peek(r, n))))
            n++;
        buf_add(&r->building, r->text.p + r->at, n);
        r->at += n;
        return 0;
    }
    /* By itself: the end of a pattern. */
    if (word->quoted && next && strchr("\" |)/.,:", next)) {
        buf_add_char(&r->building, '$');
        r->at++;
        return 0;
    }
    return fault(r, r->at,
                 next == '\'' || next == '"' ? "a quote that begins with `$`"
                 : next == '{'               ? "an expansion in braces"
                                             : "an expansion other than $NAME and $( )");
}

/* In "...": goes behind the closing one. */
static int read_quoted(struct reader *r, struct word *word)
{
    size_t from = r->at++;
    word->quoted = true;
    while (peek(r, 0) != '"') {
        char c = peek(r, 0);
        if (at_end(r) || c == '\0')
            return fault(r, from, "a quote without its end");
        if (c == '`')
            return fault(r, r->at, "a backtick");
        if (c == '\n' && r->ends.p)
            return fault(r, r->at, newline_before_text);
        if (c == '$') {
            if (read_dollar(r, word) < 0)
                return -1;
            continue;
        }
        if (c == '\\' && peek(r, 1) == '\n')
            return fault(r, r->at, "a continued line inside quotes");
        if (c == '\\' && peek(r, 1) && strchr("$`\"\\", peek(r, 1)))
            r->at++;
        buf_add_char(&r->building, peek(r, 0));
        r->at++;
    }
    r->at++;
    word->quoted = false;
    return 0;
}

static int read_single(struct reader *r)
{
    const char *from = r->text.p + r->at + 1;
    const char *end = memchr(from, '\'', r->text.n - r->at - 1);
    if (!end || memchr(from, '\0', (size_t)(end - from)))
        return fault(r, r->at, "a quote without its end");
    if (r->ends.p && memchr(from, '\n', (size_t)(end - from)))
        return fault(r, r->at, newline_before_text);
    buf_add(&r->building, from, (size_t)(end - from));
    r->at += (size_t)(end - from) + 2;
    return 0;
}

static int read_pattern(struct reader *r, struct word *word)
{
    bool first = r->building.len == word->from || r->building.data[word->from] == '-';
    word->flags |= PLAIN_VARIES | (first ? PLAIN_ANY : 0);
    buf_add_char(&r->building, peek(r, 0));
    r->at++;
    return 0;
}

static const char *name_of(char c)
{
    switch (c) {
    case '`':
        return "a backtick";
    case '{':
    case '}':
        return "a brace";
    case '[':
    case ']':
        return "a bracket";
    case '~':
        return "a `~` that is not the beginning of `~/`";
    case '#':
        return "a `#` within a word";
    case '!':
        return "a `!` within a word";
    default:
        return "a character that is not plain; quote it";
    }
}

/* `[`, `]`, `!` and `{}` by themselves, and `~` before a `/`: what they mean is fixed. */
static size_t lone_length(const struct reader *r, const struct word *word)
{
    char c = peek(r, 0);
    bool first = r->building.len == word->from && !(word->flags & PLAIN_QUOTED);
    if (c == '{' && peek(r, 1) == '}')
        return 2;
    if (first && (c == '[' || c == ']' || c == '!') && is_meta(peek(r, 1)))
        return 1;
    return first && c == '~' && (peek(r, 1) == '/' || is_meta(peek(r, 1))) ? 1 : 0;
}

static int read_piece(struct reader *r, struct word *word)
{
    char c = peek(r, 0);
    size_t lone = lone_length(r, word);
    if (lone) {
        word->flags |= c == '~' ? PLAIN_VARIES : 0;
        buf_add(&r->building, r->text.p + r->at, lone);
        r->at += lone;
        return 0;
    }
    if (is_plain(c)) {
        buf_add_char(&r->building, c);
        r->at++;
        return 0;
    }
    if (c == '*' || c == '?')
        return read_pattern(r, word);
    if (c == '$')
        return read_dollar(r, word);
    if (c != '\'' && c != '"' && c != '\\')
        return fault(r, r->at, name_of(c));
    word->flags |= PLAIN_QUOTED;
    if (c == '\'')
        return read_single(r);
    if (c == '"')
        return read_quoted(r, word);
    if (peek(r, 1) == '\n' || (unsigned char)peek(r, 1) < ' ')
        return fault(r, r->at, "a continued line within a word");
    buf_add_char(&r->building, peek(r, 1));
    r->at += 2;
    return 0;
}

static void keep_word(struct reader *r, const struct word *word, unsigned command)
{
    struct plain_line *out = r->out;
    size_t n = r->building.len - word->from;
    if (r->building.failed)
        return;
    if ((out->n_words_ & (out->n_words_ - 1)) == 0)
        out->words_ = mem_grow(out->words_, out->n_words_ ? 2 * out->n_words_ : 1,
                               sizeof *out->words_);
    /* The text moves as it grows: until the end only its length counts. */
    out->words_[out->n_words_++] = (struct plain_word){
        .text = {NULL, n}, .flags = word->flags, .command = command};
    buf_add(&out->text_, r->building.data + word->from, n);
    r->building.len = word->from;
}

static int read_word(struct reader *r, unsigned command)
{
    struct word word = {.from = r->building.len};
    while (!is_meta(peek(r, 0))) {
        if (read_piece(r, &word) < 0)
            return -1;
    }
    if (!at_end(r) && peek(r, 0) == '\0')
        return fault(r, r->at, "a NUL");
    keep_word(r, &word, command);
    return 0;
}

/* --- programs */

static const char *const reserved[] = {"if",     "then",     "else", "elif",   "fi",    "do",
                                       "done",   "case",     "esac", "while",  "until", "for",
                                       "select", "function", "time", "coproc", NULL};

static bool is_program(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!is_letter(text.p[i]) && !is_digit(text.p[i]) && !strchr("./+-", text.p[i]))
            return is_text(text, "[") || is_text(text, ":");
    }
    return text.n > 0;
}

static bool sets_variable(struct str text)
{
    size_t n = 0;
    while (n < text.n && (is_letter(text.p[n]) || (n && is_digit(text.p[n]))))
        n++;
    if (n && n < text.n && text.p[n] == '+')
        n++;
    return n && n < text.n && text.p[n] == '=';
}

/* The word that was read last is the first of its command. */
static int check_program(struct reader *r, size_t at)
{
    const struct plain_line *out = r->out;
    const struct plain_word *word = &out->words_[out->n_words_ - 1];
    struct str text = {out->text_.data + out->text_.len - word->text.n, word->text.n};
    if (word->flags & PLAIN_VARIES)
        return fault(r, at, "a program that is known only when it runs");
    if (!(word->flags & PLAIN_QUOTED) && is_one_of(text, reserved))
        return fault(r, at, "a reserved word");
    if (sets_variable(text))
        return fault(r, at, "a variable that is set");
    return is_program(text) ? 0 : fault(r, at, "a program with an unusual name");
}

/* --- redirections */

static bool begins_with(const struct reader *r, size_t at, const char *text)
{
    size_t n = strlen(text);
    return r->text.n - at >= n && memcmp(r->text.p + at, text, n) == 0;
}

static size_t skip_blanks_from(const struct reader *r, size_t at)
{
    while (at < r->text.n && (r->text.p[at] == ' ' || r->text.p[at] == '\t'))
        at++;
    return at;
}

/* Where it ends, or 0: it may lead somewhere else. */
static size_t null_end(const struct reader *r, size_t at)
{
    static const char null[] = "/dev/null";
    at = skip_blanks_from(r, at);
    if (!begins_with(r, at, null))
        return 0;
    at += sizeof null - 1;
    return at == r->text.n || is_meta(r->text.p[at]) ? at : 0;
}

static int read_heredoc_start(struct reader *r, size_t at)
{
    size_t from = at + 3;
    size_t end = from;
    while (end < r->text.n && is_letter(r->text.p[end]))
        end++;
    bool whole = end > from && end < r->text.n && r->text.p[end] == '\'' &&
                 (end + 1 == r->text.n || is_meta(r->text.p[end + 1]));
    if (!begins_with(r, at, "<<'") || !whole)
        return fault(r, at, "a here-document whose delimiter is not one quoted word");
    if (r->had_text || r->depth)
        return fault(r, at, "a here-document that is not the last of the line");
    r->had_text = true;
    r->ends = (struct str){r->text.p + from, end - from};
    r->at = end + 1;
    return 0;
}

/* `< FILE`. It is no word of the command, and what it leads to is known. */
static int read_input(struct reader *r, size_t at)
{
    struct word word = {.from = r->building.len};
    r->at = skip_blanks_from(r, at + 1);
    if (is_meta(peek(r, 0)))
        return fault(r, at, "a redirection that is not read");
    while (!is_meta(peek(r, 0))) {
        if (read_piece(r, &word) < 0)
            return -1;
    }
    r->building.len = r->building.failed ? r->building.len : word.from;
    return word.flags & PLAIN_VARIES
               ? fault(r, at, "a redirection from a file that is known only when it runs")
               : 0;
}

/* At `<`, `>` or `&>`, behind the number of a descriptor if there is one. */
static int read_redirection(struct reader *r, struct plain_command *command)
{
    size_t at = r->at;
    bool both = begins_with(r, at, "&>");
    if (begins_with(r, at, "<<")) {
        command->reads_text = true;
        return read_heredoc_start(r, at);
    }
    if (peek(r, 0) == '<')
        return read_input(r, at);
    size_t behind = at + (both ? 2 : 1);
    if (!both && begins_with(r, at, ">>"))
        behind = at + 2;
    size_t end = null_end(r, behind);
    if (!end && !both && (begins_with(r, at, ">&1") || begins_with(r, at, ">&2")) &&
        (at + 3 == r->text.n || is_meta(r->text.p[at + 3])))
        end = at + 3;
    if (!end)
        return fault(r, at, "a redirection to something else than /dev/null");
    r->at = end;
    return 0;
}

static bool at_redirection(const struct reader *r)
{
    char c = peek(r, 0);
    return c == '<' || c == '>' || (c == '&' && peek(r, 1) == '>');
}

/* `2` right before a `>` is a descriptor. */
static bool at_descriptor(const struct reader *r)
{
    return peek(r, 0) >= '0' && peek(r, 0) <= '2' && (peek(r, 1) == '>' || peek(r, 1) == '<');
}

/* --- commands */

/* Blanks, and lines that are continued between words. */
static void skip_blanks(struct reader *r)
{
    for (;;) {
        if (peek(r, 0) == ' ' || peek(r, 0) == '\t')
            r->at++;
        else if (peek(r, 0) == '\\' && peek(r, 1) == '\n' && r->at &&
                 strchr(" \t\n", r->text.p[r->at - 1]))
            r->at += 2;
        else
            return;
    }
}

static int skip_comment(struct reader *r)
{
    if (peek(r, 0) != '#')
        return 0;
    if (r->in_words)
        return fault(r, r->at, "a comment inside a substitution");
    while (!at_end(r) && peek(r, 0) != '\n')
        r->at++;
    return 0;
}

static bool number_before_redirection(const struct reader *r)
{
    size_t n = 0;
    while (is_digit(peek(r, n)))
        n++;
    return n && (peek(r, n) == '<' || peek(r, n) == '>');
}

/* Words and redirections up to an operator. */
static int read_words(struct reader *r, struct plain_command *command, unsigned number)
{
    for (bool any = false;; skip_blanks(r)) {
        size_t at = r->at;
        if (at_descriptor(r))
            r->at++;
        else if (number_before_redirection(r))
            return fault(r, at, "a redirection of another descriptor than 0, 1 and 2");
        if (at_redirection(r)) {
            if (read_redirection(r, command) < 0)
                return -1;
            continue;
        }
        if (peek(r, 0) == '#')
            return skip_comment(r);
        if (is_meta(peek(r, 0)))
            return peek(r, 0) == '(' ? fault(r, at, "a `(` behind a word")
                   : any             ? 0
                                     : fault(r, at, "a command without a program");
        if (read_word(r, number) < 0 || (!any && check_program(r, at) < 0))
            return -1;
        any = true;
    }
}

static int read_subshell(struct reader *r)
{
    size_t from = r->at;
    if (peek(r, 1) == '(')
        return fault(r, from, "arithmetic");
    if (r->depth == PLAIN_NESTING_MAX)
        return fault(r, from, "more nesting than 8 levels");
    r->at++;
    r->depth++;
    if (read_list(r) < 0)
        return -1;
    r->depth--;
    if (peek(r, 0) != ')')
        return fault(r, from, "a subshell without its end");
    r->at++;
    skip_blanks(r);
    while (at_redirection(r) || at_descriptor(r)) {
        struct plain_command none = {0};
        r->at += at_descriptor(r);
        if (begins_with(r, r->at, "<<"))
            return fault(r, r->at, "a here-document for a subshell");
        if (read_redirection(r, &none) < 0)
            return -1;
        skip_blanks(r);
    }
    return is_meta(peek(r, 0)) && peek(r, 0) != '(' ? 0
                                                    : fault(r, r->at, "a word behind a subshell");
}

static int read_command(struct reader *r)
{
    if (peek(r, 0) == '!' && (peek(r, 1) == ' ' || peek(r, 1) == '\t')) {
        r->at++;
        skip_blanks(r);
    }
    if (peek(r, 0) == '(')
        return read_subshell(r);
    if (r->out->n == PLAIN_COMMANDS_MAX)
        return fault(r, r->at, "more than 64 commands");
    unsigned number = (unsigned)r->out->n++;
    r->out->commands[number].at = r->at;
    return read_words(r, &r->out->commands[number], number);
}

/* Between commands: newlines, blanks and comments. */
static int skip_lines(struct reader *r)
{
    for (;;) {
        skip_blanks(r);
        if (skip_comment(r) < 0)
            return -1;
        if (peek(r, 0) != '\n')
            return 0;
        if (r->ends.p)
            return fault(r, r->at, newline_before_text);
        r->at++;
    }
}

/* Behind a newline: the text of the here-document, which has to be the end of it all. */
static int read_heredoc(struct reader *r)
{
    size_t from = r->at;
    while (!at_end(r)) {
        const char *line = r->text.p + r->at;
        const char *end = memchr(line, '\n', r->text.n - r->at);
        size_t n = end ? (size_t)(end - line) : r->text.n - r->at;
        r->at += n + (end != NULL);
        if (memchr(line, '\0', n))
            return fault(r, from, "a NUL");
        if (n == r->ends.n && memcmp(line, r->ends.p, n) == 0) {
            r->ends = (struct str){0};
            break;
        }
    }
    if (r->ends.p)
        return fault(r, from, no_end_of_text);
    if (skip_lines(r) < 0)
        return -1;
    return at_end(r) ? 0 : fault(r, r->at, "a command behind a here-document");
}

/* Goes behind an operator. 1: a command follows; 0: the list may end here; -1. */
static int read_operator(struct reader *r)
{
    char c = peek(r, 0);
    char next = peek(r, 1);
    size_t at = r->at;
    bool joins = (c == '&' && next == '&') || (c == '|' && next == '|') ||
                 (c == '|' && next != '&');
    if (joins) {
        r->at += c == next ? 2 : 1;
        return skip_lines(r) < 0 ? -1 : 1;
    }
    if (c == '&' || c == '|')
        return fault(r, at, c == '&' ? "a background job" : "`|&`");
    if (c == ';' && next == ';')
        return fault(r, at, "`;;`");
    if (c == ';')
        r->at++;
    skip_blanks(r);
    if (skip_comment(r) < 0)
        return -1;
    if (peek(r, 0) == '\n' && r->ends.p) {
        r->at++;
        return read_heredoc(r);
    }
    return skip_lines(r);
}

/* Commands up to the end of the text or a `)`. */
static int read_list(struct reader *r)
{
    if (skip_lines(r) < 0)
        return -1;
    for (;;) {
        if (read_command(r) < 0)
            return -1;
        skip_blanks(r);
        if (skip_comment(r) < 0)
            return -1;
        int more = at_end(r) || peek(r, 0) == ')' ? 0 : read_operator(r);
        if (more < 0)
            return -1;
        if (!more && (at_end(r) || peek(r, 0) == ')'))
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

static int read_all(struct reader *r)
{
    if (r->text.n > PLAIN_TEXT_MAX)
        return fault(r, 0, "a text of more than 64 KiB");
    if (read_list(r) < 0)
        return -1;
    if (!at_end(r))
        return fault(r, r->at, "a `)` too many");
    if (r->ends.p)
        return fault(r, r->at, no_end_of_text);
    return r->building.failed || r->out->text_.failed ? fault(r, 0, "too long a text") : 0;
}

int plain_read(struct str text, struct plain_line *ret, struct plain_fault *why)
{
    *ret = (struct plain_line){.text_ = BUF_INIT(PLAIN_TEXT_MAX * 2)};
    struct reader reader = {
        .text = text, .out = ret, .why = why, .building = BUF_INIT(PLAIN_TEXT_MAX * 2)};
    int r = read_all(&reader);
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
