/* Private to logged_marks.c, logged_commands.c and logged_here.c: a script as it is read from its beginning to its end. */
#ifndef SANDGATE_CORE_SCRIPT_READER_H
#define SANDGATE_CORE_SCRIPT_READER_H

#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "core/logged_marks.h"

/* Quotes and brackets in each other. What is deeper is read as what stands around it. */
#define SCRIPT_LEVELS_MAX 64
/* Scripts in scripts: each reads its part of the text once more. */
#define SCRIPT_DEPTH_MAX 8
#define SCRIPT_HERE_MAX 8

#define SCRIPT_ESCAPED 'e'    /* $'…' */
#define SCRIPT_HERE_TEXT 'h'  /* of a here-document in which a shell looks for commands */
#define SCRIPT_ARITHMETIC 'a' /* ((…)) */

struct script_here {
    size_t word; /* that ends it, with its quotes */
    size_t word_end;
    bool script;
    bool quoted;
};

/* A command as far as it was read. */
struct script_command {
    size_t from;
    size_t seen;
    size_t texts;   /* of the reader's texts, those of the commands before it */
    size_t program; /* the first word that sets no variable, as far as it was looked for */
    bool known;     /* it was found, and */
    bool sends;     /* has headers that it sends */
    bool piped;     /* it reads what the one before it prints */
    bool env;       /* one of its words is `env` */
    bool shell;     /* it, or one that it is a part of, gives text to a shell */
};

/* What a quote or a here-document holds: a shell behind a pipe may read it. */
struct script_text {
    size_t from;
    size_t to;
};

struct script_level {
    char kind;
    size_t from;
    bool script;                   /* a shell reads what is in these quotes */
    bool printed;                  /* a shell behind a pipe may */
    struct script_command command; /* around these brackets */
};

/* `for`, `{` and the like. */
struct script_opened {
    const char *closed;
    size_t texts; /* those before it */
};

struct script_reader {
    const char *p;
    unsigned char *marks;
    size_t at;
    size_t end;
    struct script_command command;
    struct script_level levels[SCRIPT_LEVELS_MAX];
    size_t n_levels;
    size_t n_backticks;
    struct script_here here[SCRIPT_HERE_MAX];
    size_t n_here;
    size_t here_line; /* behind the last of these words */
    struct buf texts; /* struct script_text */
    size_t marked;    /* the first of them that may not have been read as a script */
    size_t pipeline;  /* the first of them that is in the pipeline at hand */
    struct script_opened opened[SCRIPT_LEVELS_MAX];
    size_t n_opened;
    bool piped;   /* all that is printed goes to a shell */
    size_t *left; /* bytes of texts within texts that may still be read; 0: not all was */
    unsigned depth;
};

static inline bool script_is_operator(char c)
{
    return c == ';' || c == '&' || c == '|' || c == '\n' || c == '(' || c == ')';
}

static inline char script_char_at(const struct script_reader *r, size_t at)
{
    return at < r->end ? r->p[at] : '\0';
}

static inline char script_level(const struct script_reader *r)
{
    return r->n_levels ? r->levels[r->n_levels - 1].kind : '\0';
}

static inline bool script_is_quote(char kind)
{
    return kind == '\'' || kind == '"' || kind == SCRIPT_ESCAPED || kind == SCRIPT_HERE_TEXT;
}

static inline bool script_is_word_char(char c)
{
    return !ascii_is_blank(c) && !script_is_operator(c) && !strchr("'\"`<>{}$", c);
}

/* --- logged_marks.c */

void script_mark_chars(struct script_reader *r, size_t n, enum logged_mark kind);
/* A text in the script as a script of its own, or as what stands in a here-document. */
void script_read_text(const struct script_reader *around, size_t from, size_t to, bool piped);
void script_read_here_text(const struct script_reader *around, size_t from, size_t to);
/* The outermost open quote that a shell reads, if it is the one at `from` or one in that; n_levels: it is not. */
size_t script_open_quote(const struct script_reader *r, size_t from);

/* --- logged_commands.c */

/* Behind the word at `at`; `at`: none begins there. */
size_t script_word_end(const struct script_reader *r, size_t at, size_t to);
/* A brace is a word, too. */
struct str script_word(const struct script_reader *r, size_t at, size_t to);
/* Whether one of the words in [from, to) hands text to a shell. */
bool script_names_shell(const struct script_reader *r, size_t from, size_t to);
bool script_closes_command(struct str word);
struct script_command script_command_new(const struct script_reader *r);
/* Whether the command at hand gives what it is given to a shell. Each of its words is looked at once. */
bool script_is_for_shell(struct script_reader *r);
void script_command_end(struct script_reader *r);
/* Whether the quote here can be a part of what its command prints: it is no variable's value, and no header that is sent. */
bool script_is_printed(struct script_reader *r);
/* It may be read by a shell that is named behind it. */
void script_add_text(struct script_reader *r, size_t from, size_t to);
/* `|` and `|&`, and the end of a line behind them. */
bool script_is_pipe(const struct script_reader *r, char c);
void script_pipeline_end(struct script_reader *r);

/* --- logged_here.c */

/* The word behind `<<`. */
void script_here_take(struct script_reader *r);
size_t script_line_end(const struct script_reader *r, size_t at);
/* What stands from here on up to that word. */
void script_here_read(struct script_reader *r, const struct script_here *here);

#endif
