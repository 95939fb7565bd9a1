/* Lists of commands: operators, reserved words, redirections. */
#include "policy/shell_parts.h"

#include "base/mem.h"
#include "base/utf8.h"

/* As much of the text as a message shows. */
#define SHOWN 24

int shell_fail(struct shell_parser *p, size_t at, const char *what)
{
    size_t place = p->origin == SIZE_MAX ? at : p->origin;
    struct str rest = {p->text.p + at, p->text.n - at};
    size_t n = rest.n > SHOWN ? utf8_cut(rest.p, SHOWN) : rest.n;
    if (!utf8_valid(rest.p, n))
        n = 0;
    return err_field(p->err, "command", "the command is wrong at byte %zu, `%.*s`: %s", place + 1,
                     (int)n, rest.p, what);
}

int shell_enter(struct shell_parser *p, size_t at)
{
    if (p->depth == SHELL_NESTING_MAX)
        return shell_fail(p, at, "this is nested more than 16 deep");
    p->depth++;
    return 0;
}

void shell_mark(struct shell_parser *p, enum shell_join join, size_t at)
{
    size_t place = p->origin == SIZE_MAX ? at : p->origin;
    if (place < p->out->joined_at[join])
        p->out->joined_at[join] = place;
}

void shell_skip_blanks(struct shell_parser *p, bool newlines)
{
    while (p->at < p->text.n) {
        char c = shell_peek(p, 0);
        if (c == '\\' && shell_peek(p, 1) == '\n') {
            p->at += 2;
        } else if (c == ' ' || c == '\t' || (c == '\n' && newlines)) {
            p->at++;
        } else if (c == '#') {
            const char *end = memchr(p->text.p + p->at, '\n', p->text.n - p->at);
            p->at = end ? (size_t)(end - p->text.p) : p->text.n;
        } else {
            return;
        }
    }
}

bool shell_word_is(const struct shell_word *word, const char *text)
{
    return word->text.n == strlen(text) && memcmp(word->text.p, text, word->text.n) == 0;
}

static void begin_command(struct shell_list *l, size_t at)
{
    struct shell_parser *p = l->p;
    struct shell_script *out = p->out;
    l->command = out->n++;
    out->commands_[l->command] = (struct shell_command){
        .join = l->join,
        .at = p->origin == SIZE_MAX ? at : p->origin,
    };
    l->words_from = p->n_open;
    l->join = SHELL_SEQUENCE;
    l->any_before = l->any;
    l->any = true;
    l->timed = false;
}

void shell_end_command(struct shell_list *l)
{
    struct shell_parser *p = l->p;
    struct shell_script *out = p->out;
    if (l->command == SIZE_MAX)
        return;
    struct shell_command *command = &out->commands_[l->command];
    if (command->join == SHELL_NEWLINE && p->n_open > l->words_from)
        shell_mark(p, SHELL_NEWLINE, command->at);
    command->words = out->words_ + out->n_words_;
    for (size_t i = l->words_from; i < p->n_open; i++) {
        struct shell_word *word = &out->words_[out->n_words_++];
        *word = p->open[i];
        if (word->flags & SHELL_ASSIGNS && command->assigns == command->n)
            command->assigns++;
        else
            word->flags &= ~(unsigned)SHELL_ASSIGNS;
        command->n++;
    }
    p->n_open = l->words_from;
    l->command = SIZE_MAX;
    l->timed = false;
}

/* It was the name of a function, or `time` before a compound command. */
void shell_drop_command(struct shell_list *l)
{
    if (l->command == SIZE_MAX)
        return;
    l->p->n_open = l->words_from;
    l->join = l->p->out->commands_[l->command].join;
    l->any = l->any_before;
    if (l->command + 1 == l->p->out->n)
        l->p->out->n--;
    else
        shell_end_command(l);
    l->command = SIZE_MAX;
    l->timed = false;
}

void shell_add_word(struct shell_list *l, struct shell_word word, size_t at)
{
    if (l->command == SIZE_MAX)
        begin_command(l, at);
    l->p->open[l->p->n_open++] = word;
}

int shell_need_word(struct shell_parser *p, size_t at, const char *what)
{
    shell_skip_blanks(p, false);
    if (p->at == p->text.n || (shell_is_meta(shell_peek(p, 0)) && !shell_at_process(p)))
        return shell_fail(p, at, what);
    return 0;
}

/* Reads a word that is no part of a command. */
int shell_pass_word(struct shell_parser *p)
{
    struct shell_word word;
    return shell_read_word(p, &word);
}

static int read_newline(struct shell_list *l)
{
    l->p->at++;
    shell_end_command(l);
    if (l->any && (l->join == SHELL_SEQUENCE || l->join == SHELL_BACKGROUND))
        l->join = SHELL_NEWLINE;
    return shell_read_heredocs(l);
}

static int read_join(struct shell_list *l, enum shell_join join, size_t n)
{
    shell_end_command(l);
    shell_mark(l->p, join, l->p->at);
    l->p->at += n;
    l->join = join;
    return 0;
}

static int read_semicolon(struct shell_list *l)
{
    char next = shell_peek(l->p, 1);
    if (next != ';' && next != '&')
        return read_join(l, SHELL_SEQUENCE, 1);
    l->pattern = l->cases > 0;
    return read_join(l, SHELL_SEQUENCE, next == ';' && shell_peek(l->p, 2) == '&' ? 3 : 2);
}

static int read_and(struct shell_list *l)
{
    char next = shell_peek(l->p, 1);
    if (next == '>')
        return shell_read_redirection(l);
    return next == '&' ? read_join(l, SHELL_AND, 2) : read_join(l, SHELL_BACKGROUND, 1);
}

static int read_pipe(struct shell_list *l)
{
    char next = shell_peek(l->p, 1);
    return next == '|' ? read_join(l, SHELL_OR, 2) : read_join(l, SHELL_PIPE, next == '&' ? 2 : 1);
}

/* `f ()`: what follows is the function's body. */
static int read_function_parens(struct shell_list *l, size_t at)
{
    struct shell_parser *p = l->p;
    p->at++;
    shell_skip_blanks(p, false);
    if (p->n_open - l->words_from != 1 || shell_peek(p, 0) != ')')
        return shell_fail(p, at, "a `(` cannot stand here; quote it if it is part of a word");
    p->at++;
    shell_drop_command(l);
    return 0;
}

static int read_paren(struct shell_list *l)
{
    struct shell_parser *p = l->p;
    size_t at = p->at;
    if (l->command != SIZE_MAX && !l->timed)
        return read_function_parens(l, at);
    shell_drop_command(l);
    if (shell_is_arithmetic(p, at)) {
        shell_add_word(l, (struct shell_word){.text = STR("((")}, at);
        int done = shell_skip_arithmetic(p);
        shell_end_command(l);
        return done;
    }
    enum shell_join join = l->join;
    p->at++;
    l->any = true;
    l->join = SHELL_SEQUENCE;
    return shell_read_list(p, SHELL_LIST_PAREN, join);
}

/* `2>` and `{fd}>`: not a word but a part of the redirection. */
static bool is_descriptor(const struct shell_parser *p, const struct shell_word *word)
{
    char c = shell_peek(p, 0);
    if ((c != '<' && c != '>') || word->flags || word->text.n == 0)
        return false;
    struct str text = word->text;
    bool named = text.n > 2 && text.p[0] == '{' && text.p[text.n - 1] == '}';
    for (size_t i = named; i < text.n - named; i++) {
        if (named ? !shell_is_name(text.p[i], i == 1) : text.p[i] < '0' || text.p[i] > '9')
            return false;
    }
    return true;
}

static bool is_coproc_name(struct shell_list *l)
{
    bool maybe = l->coproc;
    l->coproc = false;
    if (!maybe)
        return false;
    shell_skip_blanks(l->p, false);
    char c = shell_peek(l->p, 0);
    return c == '(' || c == '{';
}

static int read_command_word(struct shell_list *l)
{
    struct shell_parser *p = l->p;
    struct shell_word word;
    size_t at = p->at;
    bool first = l->command == SIZE_MAX || l->timed;
    /* Begun before it is known whether it is one, so that it stands before those inside its first word. */
    if (l->command == SIZE_MAX)
        begin_command(l, at);
    if (shell_read_word(p, &word) < 0)
        return -1;
    bool empty = p->n_open == l->words_from;
    if (is_descriptor(p, &word)) {
        if (empty)
            shell_drop_command(l);
        return 0;
    }
    const struct shell_reserved *known = first ? shell_find_reserved(&word) : NULL;
    if (known || (empty && is_coproc_name(l))) {
        shell_drop_command(l);
        return known ? known->read(l) : 0;
    }
    bool timed = l->timed
                     ? word.flags == 0 && (shell_word_is(&word, "-p") || shell_word_is(&word, "--"))
                     : first && word.flags == 0 && shell_word_is(&word, "time");
    shell_add_word(l, word, at);
    l->timed = timed;
    return 0;
}

static int read_shell_token(struct shell_list *l)
{
    if (l->pattern)
        return shell_read_pattern(l);
    if (shell_at_process(l->p))
        return read_command_word(l);
    switch (shell_peek(l->p, 0)) {
    case '\n':
        return read_newline(l);
    case ';':
        return read_semicolon(l);
    case '&':
        return read_and(l);
    case '|':
        return read_pipe(l);
    case '<':
    case '>':
        return shell_read_redirection(l);
    case '(':
        return read_paren(l);
    case ')':
        return shell_fail(l->p, l->p->at, "no `(` opens what this closes; quote it");
    }
    return read_command_word(l);
}

int shell_read_list(struct shell_parser *p, enum shell_list_end end, enum shell_join join)
{
    size_t opened = p->at ? p->at - 1 : 0;
    struct shell_list l = {
        .p = p, .end = end, .join = join, .command = SIZE_MAX, .heredocs_from = p->n_heredocs};
    if (shell_enter(p, opened) < 0)
        return -1;
    for (;;) {
        shell_skip_blanks(p, false);
        if (p->at == p->text.n) {
            if (end == SHELL_LIST_PAREN)
                return shell_fail(p, opened, "no `)` closes this");
            break;
        }
        if (end == SHELL_LIST_PAREN && !l.pattern && shell_peek(p, 0) == ')') {
            p->at++;
            break;
        }
        if (read_shell_token(&l) < 0)
            return -1;
    }
    shell_end_command(&l);
    p->n_heredocs = l.heredocs_from;
    p->depth--;
    return 0;
}

static int check_shell_text(struct str text, struct err *err)
{
    if (text.n > SHELL_TEXT_MAX)
        return err_field(err, "command", "the command is %zu bytes long, at most %d", text.n,
                         SHELL_TEXT_MAX);
    const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
    return nul ? err_field(err, "command", "the command has a NUL at byte %zu",
                           (size_t)(nul - text.p) + 1)
               : 0;
}

int shell_read(struct str text, struct shell_script *ret, struct err *err)
{
    if (check_shell_text(text, err) < 0)
        return -1;
    /* A word and a command take at least one byte each, and no two bytes become more than four. */
    struct shell_script script = {.text_ = BUF_INIT(2 * text.n + 16)};
    struct shell_parser p = {.text = text.n ? text : STR(""),
                             .origin = SIZE_MAX,
                             .out = &script,
                             .err = err,
                             .building = BUF_INIT(2 * text.n + 16)};
    for (size_t i = 0; i < SHELL_JOIN_COUNT; i++)
        script.joined_at[i] = SIZE_MAX;
    script.commands_ = mem_grow(NULL, text.n + 1, sizeof *script.commands_);
    script.words_ = mem_grow(NULL, text.n + 1, sizeof *script.words_);
    p.open = mem_grow(NULL, text.n + 1, sizeof *p.open);
    int done = 0;
    if (buf_reserve(&script.text_, script.text_.max) < 0 ||
        buf_reserve(&p.building, p.building.max) < 0)
        done = err_set(err, ERR_INTERNAL, "there is no room to read the command");
    if (done == 0)
        done = shell_read_list(&p, SHELL_LIST_TEXT, SHELL_FIRST);
    buf_done(&p.building);
    free(p.open);
    if (done < 0) {
        shell_done(&script);
        return -1;
    }
    script.commands = script.commands_;
    *ret = script;
    return 0;
}

void shell_done(struct shell_script *script)
{
    free(script->commands_);
    free(script->words_);
    buf_done(&script->text_);
    *script = (struct shell_script){0};
}

const char *shell_join_name(enum shell_join join)
{
    static const char *const names[] = {"first",   "|",        "&&",   "||",       ";",   "&",
                                        "newline", "compound", "$( )", "backtick", "<( )"};
    return names[join];
}
