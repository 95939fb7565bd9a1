#include "core/logged_marks.h"

#include "core/script_reader.h"

/* All texts in texts that are read, in bytes: so much, and so many times the whole script. */
#define TEXTS_MAX ((size_t)64 << 10)
#define TEXTS_TIMES 24

void script_mark_chars(struct script_reader *r, size_t n, enum logged_mark kind)
{
    for (; n && r->at < r->end; n--) {
        r->marks[r->at] = (unsigned char)((r->marks[r->at] & LOGGED_FLAGS) | kind);
        r->at++;
    }
}

/* A backslash and what is behind it. */
static void mark_escaped(struct script_reader *r, enum logged_mark kind)
{
    size_t at = r->at;
    script_mark_chars(r, 2, kind);
    if (r->at - at == 2 && r->p[at + 1] == '\n') {
        r->marks[at] |= LOGGED_JOINED;
        r->marks[at + 1] |= LOGGED_JOINED;
    }
}

static void push_level(struct script_reader *r, struct script_level level)
{
    if (r->n_levels == SCRIPT_LEVELS_MAX)
        return;
    r->n_backticks += level.kind == '`';
    r->levels[r->n_levels++] = level;
}

static void pop(struct script_reader *r)
{
    struct script_level *level = &r->levels[--r->n_levels];
    r->n_backticks -= level->kind == '`';
    if (!script_is_quote(level->kind)) {
        bool shell = script_is_for_shell(r);
        r->command = level->command;
        r->command.shell |= shell;
        r->command.seen = r->at;
    }
}

static void open_quote(struct script_reader *r, char kind)
{
    bool printed = script_is_printed(r);
    bool script = (script_is_for_shell(r) || (r->piped && printed)) && r->depth < SCRIPT_DEPTH_MAX;
    push_level(r, (struct script_level){
                      .kind = kind, .from = r->at + 1, .script = script, .printed = printed});
    script_mark_chars(r, 1, LOGGED_QUOTED);
}

size_t script_open_quote(const struct script_reader *r, size_t from)
{
    size_t i = 0;
    while (i < r->n_levels && !r->levels[i].script)
        i++;
    return i < from ? r->n_levels : i;
}

/* Scripts in a script are read with that: to read each of them here as well would double the time with each level. */
static void mark_quoted_script(const struct script_reader *r, size_t from)
{
    size_t i = script_open_quote(r, from);
    if (i < r->n_levels && r->levels[i].from <= r->at)
        script_read_text(r, r->levels[i].from, r->at, r->piped);
}

static void close_quote(struct script_reader *r)
{
    struct script_level quote = r->levels[r->n_levels - 1];
    mark_quoted_script(r, r->n_levels - 1);
    pop(r);
    if (quote.printed && !quote.script)
        script_add_text(r, quote.from, r->at);
    script_mark_chars(r, 1, LOGGED_QUOTED);
}

static void open_bracket(struct script_reader *r, size_t n, char kind)
{
    bool run = script_is_for_shell(r) || r->piped || r->marks[r->at] & LOGGED_RUN;
    r->marks[r->at] |= run ? LOGGED_RUN : 0;
    r->command.shell |= run;
    script_mark_chars(r, n, LOGGED_PLAIN);
    push_level(r, (struct script_level){.kind = kind, .command = r->command});
    r->command = script_command_new(r);
}

/* `$(` or a backtick, which a shell runs in double quotes, too. */
static bool open_substitution(struct script_reader *r)
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
        open_bracket(r, 1, SCRIPT_ARITHMETIC);
    return true;
}

static void step_quoted(struct script_reader *r)
{
    char c = r->p[r->at];
    char quote = script_level(r);
    enum logged_mark kind = quote == SCRIPT_HERE_TEXT ? LOGGED_DATA : LOGGED_QUOTED;
    bool runs = quote == '"' || quote == SCRIPT_HERE_TEXT;
    if (c == '\\' && runs)
        mark_escaped(r, kind);
    else if (c == '\\' && quote == SCRIPT_ESCAPED)
        script_mark_chars(r, 2, kind);
    else if (c == (quote == SCRIPT_ESCAPED ? '\'' : quote) && quote != SCRIPT_HERE_TEXT)
        close_quote(r);
    else if (!runs || !open_substitution(r))
        script_mark_chars(r, 1, kind);
}

/* `goes_on`: the line ends with a pipe. */
static void end_script_line(struct script_reader *r, bool goes_on)
{
    size_t end = r->at;
    script_mark_chars(r, 1, LOGGED_PLAIN);
    bool script = r->n_here && (goes_on || script_names_shell(r, r->here_line, end));
    for (size_t i = 0; i < r->n_here; i++) {
        r->here[i].script |= script;
        script_here_read(r, &r->here[i]);
    }
    r->n_here = 0;
    r->command = script_command_new(r);
}

static bool begins_word(const struct script_reader *r)
{
    char before = r->at ? r->p[r->at - 1] : '\n';
    return ascii_is_blank(before) || script_is_operator(before) || before == '`';
}

static void step_bracket(struct script_reader *r, char c)
{
    if (c == '(') {
        open_bracket(r, 1, script_char_at(r, r->at + 1) == '(' ? SCRIPT_ARITHMETIC : '(');
        return;
    }
    script_mark_chars(r, 1, LOGGED_PLAIN);
    if (script_level(r) == '(' || script_level(r) == SCRIPT_ARITHMETIC)
        pop(r);
}

/* To the end of the command in backticks, whatever was left open in it. */
static void close_backtick(struct script_reader *r)
{
    size_t from = r->n_levels;
    while (from && r->levels[from - 1].kind != '`')
        from--;
    mark_quoted_script(r, from);
    while (r->n_backticks)
        pop(r);
    script_mark_chars(r, 1, LOGGED_PLAIN);
    r->command.seen = r->at;
}

static void step_operator(struct script_reader *r, char c)
{
    if (c == '(' || c == ')') {
        step_bracket(r, c);
        return;
    }
    bool pipe = script_is_pipe(r, c);
    script_command_end(r);
    if (c == '\n') {
        end_script_line(r, pipe);
    } else {
        script_mark_chars(r, 1, LOGGED_PLAIN);
        r->command = script_command_new(r);
    }
    r->command.piped = pipe;
    if (!pipe)
        script_pipeline_end(r);
}

static void step_plain(struct script_reader *r)
{
    char c = r->p[r->at];
    bool here = c == '<' && script_char_at(r, r->at + 1) == '<' &&
                script_level(r) != SCRIPT_ARITHMETIC;
    if (c == '\\')
        mark_escaped(r, LOGGED_PLAIN);
    else if (c == '\'' || c == '"')
        open_quote(r, c == '\'' && r->at && r->p[r->at - 1] == '$' ? SCRIPT_ESCAPED : c);
    else if (c == '`' && r->n_backticks)
        close_backtick(r);
    else if (c == '#' && begins_word(r) && script_level(r) != SCRIPT_ARITHMETIC)
        script_mark_chars(r, script_line_end(r, r->at) - r->at, LOGGED_PLAIN);
    else if (here && script_char_at(r, r->at + 2) == '<')
        script_mark_chars(r, 3, LOGGED_PLAIN);
    else if (here && r->n_here < SCRIPT_HERE_MAX)
        script_here_take(r);
    else if (script_is_operator(c))
        step_operator(r, c);
    else if (!open_substitution(r))
        script_mark_chars(r, 1, LOGGED_PLAIN);
}

static void read_script(struct script_reader *r)
{
    while (r->at < r->end) {
        if (script_is_quote(script_level(r)))
            step_quoted(r);
        else
            step_plain(r);
    }
    mark_quoted_script(r, 0);
    if (!script_is_quote(script_level(r)))
        script_command_end(r);
    buf_done(&r->texts);
}

static struct script_reader reader_within(const struct script_reader *around, size_t from,
                                          size_t to)
{
    return (struct script_reader){.p = around->p,
                                  .marks = around->marks,
                                  .left = around->left,
                                  .at = from,
                                  .end = to,
                                  .command = {.from = from, .seen = from, .program = from},
                                  .texts = BUF_INIT((to - from + 1) * sizeof(struct script_text)),
                                  .depth = around->depth + 1};
}

/* Texts in texts are read once for each one around them, here-documents in each other twice. */
static bool take_text(const struct script_reader *around, size_t from, size_t to)
{
    size_t n = to - from + 1;
    bool enough = *around->left > n;
    *around->left -= enough ? n : *around->left;
    return enough;
}

void script_read_text(const struct script_reader *around, size_t from, size_t to, bool piped)
{
    if (!take_text(around, from, to))
        return;
    struct script_reader r = reader_within(around, from, to);
    r.piped = piped;
    read_script(&r);
}

void script_read_here_text(const struct script_reader *around, size_t from, size_t to)
{
    if (!take_text(around, from, to))
        return;
    struct script_reader r = reader_within(around, from, to);
    push_level(&r, (struct script_level){.kind = SCRIPT_HERE_TEXT, .from = from});
    read_script(&r);
}

bool logged_marks(struct str script, struct buf *ret)
{
    *ret = BUF_INIT(script.n + 1);
    if (buf_reserve(ret, script.n + 1) < 0)
        return false;
    memset(ret->data, LOGGED_PLAIN, script.n + 1);
    ret->len = script.n + 1;
    size_t left = TEXTS_MAX + TEXTS_TIMES * script.n;
    struct script_reader r = {.p = script.p,
                              .left = &left,
                              .marks = (unsigned char *)ret->data,
                              .end = script.n,
                              .texts = BUF_INIT((script.n + 1) * sizeof(struct script_text))};
    read_script(&r);
    return left > 0;
}
