/* Which text in a script a shell reads: the commands it is given to, and those behind a pipe. */
#include "base/str.h"
#include "core/logged_scripts.h"
#include "core/script_reader.h"

size_t script_word_end(const struct script_reader *r, size_t at, size_t to)
{
    while (at < to && r->p[at] && script_is_word_char(r->p[at]))
        at++;
    return at;
}

struct str script_word(const struct script_reader *r, size_t at, size_t to)
{
    size_t end = script_word_end(r, at, to);
    end += end == at && end < to && r->p[at] && strchr("{}", r->p[at]);
    return (struct str){r->p + at, end - at};
}

bool script_names_shell(const struct script_reader *r, size_t from, size_t to)
{
    while (from < to) {
        size_t word = from;
        from = script_word_end(r, from, to);
        if (logged_reads_script((struct str){r->p + word, from - word}))
            return true;
        from += from == word;
    }
    return false;
}

/* Whether `env -S` is among them. */
static bool names_split(const struct script_reader *r, struct script_command *c, size_t to)
{
    bool split = false;
    for (size_t from = c->seen; from < to;) {
        size_t word = from;
        from = script_word_end(r, from, to);
        struct str text = {r->p + word, from - word};
        c->env = c->env || logged_is_env(text);
        split |= c->env && logged_is_split(text);
        from += from == word;
    }
    return split;
}

/* `done` closes what `for` opened, and so on; NULL: it is no such word. */
static const char *closed_by(struct str word)
{
    static const char *const pairs[][2] = {{"for", "done"},    {"while", "done"}, {"until", "done"},
                                           {"select", "done"}, {"if", "fi"},      {"case", "esac"},
                                           {"{", "}"}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        if (str_is(word, pairs[i][0]))
            return pairs[i][1];
    }
    return NULL;
}

bool script_closes_command(struct str word)
{
    static const char *const words[] = {"done", "}", "fi", "esac", NULL};
    return str_in(word, words);
}

static void open_command(struct script_reader *r, const char *closed)
{
    if (r->n_opened < SCRIPT_LEVELS_MAX)
        r->opened[r->n_opened++] = (struct script_opened){closed, r->command.texts};
    else
        r->piped = true;
}

/* All of it is a part of the pipeline that goes on behind it. In a `case` a pattern can look like one of these words. */
static void close_command(struct script_reader *r, struct str word)
{
    r->pipeline = 0;
    while (r->n_opened) {
        const struct script_opened *opened = &r->opened[--r->n_opened];
        if (!str_is(word, opened->closed))
            continue;
        r->pipeline = opened->texts;
        break;
    }
}

/* The words with which commands of several begin and end stand before the first command in them and behind the last. */
static void take_command_words(struct script_reader *r)
{
    static const char *const others[] = {"do", "then", "else", "elif", "!", "time", NULL};
    for (size_t at = r->command.from;;) {
        while (at < r->at && ascii_is_blank(r->p[at]))
            at++;
        struct str word = script_word(r, at, r->at);
        const char *closed = closed_by(word);
        if (closed)
            open_command(r, closed);
        else if (script_closes_command(word))
            close_command(r, word);
        else if (!str_in(word, others))
            return;
        at += word.n;
    }
}

/* Of the command around the bracket that is open. */
static bool is_around_shell(const struct script_reader *r)
{
    size_t i = r->n_levels;
    while (i && script_is_quote(r->levels[i - 1].kind))
        i--;
    return i && r->levels[i - 1].command.shell;
}

struct script_command script_command_new(const struct script_reader *r)
{
    return (struct script_command){.from = r->at,
                                   .seen = r->at,
                                   .program = r->at,
                                   .texts = r->texts.len / sizeof(struct script_text),
                                   .shell = is_around_shell(r)};
}

/* What the commands before this one printed is a script. */
static void mark_piped_texts(struct script_reader *r)
{
    struct script_text text;
    const size_t end = r->command.texts;
    size_t i = r->pipeline > r->marked ? r->pipeline : r->marked;
    if (r->depth == SCRIPT_DEPTH_MAX)
        return;
    if (i == r->marked && end > i)
        r->marked = end;
    for (; i < end; i++) {
        memcpy(&text, r->texts.data + i * sizeof text, sizeof text);
        if (text.to > text.from)
            script_read_text(r, text.from, text.to, true);
        memset(r->texts.data + i * sizeof text, 0, sizeof text);
    }
}

bool script_is_for_shell(struct script_reader *r)
{
    struct script_command *c = &r->command;
    bool found = !c->shell && (script_names_shell(r, c->seen, r->at) || names_split(r, c, r->at));
    c->shell = c->shell || found;
    c->seen = r->at;
    if (found)
        mark_piped_texts(r);
    return c->shell;
}

/* `'sh'`, `s\h`, `$SHELL`: whatever program it is. */
static bool is_unknown_program(const struct script_reader *r)
{
    size_t at = r->command.from;
    while (at < r->at && ascii_is_blank(r->p[at]))
        at++;
    at = script_word_end(r, at, r->at);
    return at < r->at && r->p[at] && strchr("'\"\\$`", r->p[at]);
}

void script_command_end(struct script_reader *r)
{
    take_command_words(r);
    if (!script_is_for_shell(r) && r->command.texts > r->pipeline && is_unknown_program(r))
        mark_piped_texts(r);
}

/* `NAME=` */
static bool is_variable_word(const struct script_reader *r, size_t at, size_t end)
{
    return end > at && memchr(r->p + at, '=', end - at) && !strchr("-=", r->p[at]);
}

/* `run_command: `, which the line of a question begins with. */
static bool is_tool_name(const struct script_reader *r, size_t at)
{
    size_t end = script_word_end(r, at, r->at);
    return at == 0 && r->depth == 0 && end && end < r->at && r->p[end - 1] == ':';
}

static bool is_sender(struct str program)
{
    static const char *const names[] = {"curl", "wget", "http", "https", "xh", NULL};
    return str_in(program, names);
}

static bool begins_quote_at(const struct script_reader *r, size_t at)
{
    return at == r->at || (at + 1 == r->at && r->p[at] == '$');
}

bool script_is_printed(struct script_reader *r)
{
    struct script_command *c = &r->command;
    while (!c->known) {
        while (c->program < r->at && ascii_is_blank(r->p[c->program]))
            c->program++;
        size_t end = script_word_end(r, c->program, r->at);
        bool passed = is_variable_word(r, c->program, end) || is_tool_name(r, c->program);
        if (begins_quote_at(r, end))
            return !passed;
        c->known = !passed;
        c->sends = is_sender((struct str){r->p + c->program, end - c->program});
        c->program = end;
    }
    return !c->sends;
}

/* It may be read by a shell that is named behind it. What stands in other quotes is read with these. */
void script_add_text(struct script_reader *r, size_t from, size_t to)
{
    for (size_t i = 0; i < r->n_levels; i++) {
        if (script_is_quote(r->levels[i].kind))
            return;
    }
    if (!r->piped)
        buf_add(&r->texts, &(struct script_text){from, to}, sizeof(struct script_text));
    /* What cannot be kept would not be found. */
    r->piped |= r->texts.failed;
}

/* Nothing but blanks and a comment. */
static bool is_empty_command(const struct script_reader *r)
{
    size_t at = r->command.from;
    while (at < r->at && ascii_is_blank(r->p[at]))
        at++;
    return at == r->at || r->p[at] == '#';
}

bool script_is_pipe(const struct script_reader *r, char c)
{
    char before = r->at ? r->p[r->at - 1] : '\0';
    if (c == '|')
        return before != '|' && script_char_at(r, r->at + 1) != '|';
    return r->command.piped && (c == '&' ? before == '|' : c == '\n' && is_empty_command(r));
}

/* What stands before it is not printed by what follows, unless a command of several is still open. */
void script_pipeline_end(struct script_reader *r)
{
    if (r->n_levels)
        return;
    r->pipeline = r->texts.len / sizeof(struct script_text);
}
