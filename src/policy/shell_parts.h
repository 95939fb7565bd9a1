/* Shared by the parts of the reader: shell_words.c, shell_compound.c and shell_redirect.c know lists of commands,
 * shell_quote.c and shell_ansi.c one word. Each needs the other, since a word may hold a list; every such step
 * counts against SHELL_NESTING_MAX. */
#ifndef SANDGATE_POLICY_SHELL_PARTS_H
#define SANDGATE_POLICY_SHELL_PARTS_H

#include <string.h>

#include "policy/shell_words.h"

#define SHELL_HEREDOCS_MAX 16 /* bash's own */

struct shell_heredoc {
    struct str delimiter;
    bool strip_tabs;
    bool literal; /* the delimiter was quoted: nothing in the body is expanded */
};

struct shell_parser {
    struct str text;
    size_t at;
    size_t
        origin; /* SIZE_MAX, or where in the whole text the backticks began whose inside this is */
    unsigned depth;
    struct shell_script *out;
    struct err *err;
    /* Two stacks, because a word may hold commands with words: a word's text, a command's words. */
    struct buf building;
    struct shell_word *open;
    size_t n_open;
    struct shell_heredoc heredocs[SHELL_HEREDOCS_MAX];
    size_t n_heredocs;
};

enum shell_list_end { SHELL_LIST_TEXT, SHELL_LIST_PAREN };

/* A list while it is read. */
struct shell_list {
    struct shell_parser *p;
    enum shell_list_end end;
    enum shell_join join; /* of the command that comes next */
    size_t command;       /* the one whose words come now, or SIZE_MAX */
    size_t words_from;    /* where its words begin among p->open */
    size_t heredocs_from;
    unsigned cases;  /* `case`s that wait for their `esac` */
    bool pattern;    /* a pattern or `esac` comes next */
    bool any;        /* there was a command in this list */
    bool any_before; /* the same, without the one whose words come now */
    bool timed;      /* so far the command is only `time`: what follows may be a reserved word */
    bool coproc;
};

/* A reserved word; `read` goes on behind it. */
struct shell_reserved {
    const char *word;
    int (*read)(struct shell_list *l);
};

const struct shell_reserved *shell_find_reserved(const struct shell_word *word);
/* `a | b)`, with or without a `(` before it, or `esac`. */
int shell_read_pattern(struct shell_list *l);
/* `<` and `>` with all that may be attached to them, and `&>`. */
int shell_read_redirection(struct shell_list *l);
/* At the beginning of a line: the bodies of those whose redirections came before it. */
int shell_read_heredocs(struct shell_list *l);

/* Puts the word behind the command's others, or begins a command with it. */
void shell_add_word(struct shell_list *l, struct shell_word word, size_t at);
void shell_end_command(struct shell_list *l);
/* It was the name of a function, or `time` before a compound command. */
void shell_drop_command(struct shell_list *l);

bool shell_word_is(const struct shell_word *word, const char *text);
/* Goes to the next word of this line; if there is none, fails at `at`. */
int shell_need_word(struct shell_parser *p, size_t at, const char *what);
/* Reads a word that is no part of a command. */
int shell_pass_word(struct shell_parser *p);

/* Commands until the end of the text or the `)`, which is consumed. The first has this join. */
int shell_read_list(struct shell_parser *p, enum shell_list_end end, enum shell_join join);

/* One word from where a word begins; at least one byte is consumed. */
int shell_read_word(struct shell_parser *p, struct shell_word *ret);
/* At the quote of $'..'; goes behind the one that closes it. */
int shell_read_ansi(struct shell_parser *p);
/* Here-document text up to the end of p->text: only what is expanded counts. */
int shell_read_body(struct shell_parser *p);
/* At `((`: whether it is arithmetic, not a subshell in a subshell. */
bool shell_is_arithmetic(const struct shell_parser *p, size_t at);
/* At `((`; goes behind the `))`. */
int shell_skip_arithmetic(struct shell_parser *p);
/* The words of an array, behind its `(`; goes behind the `)`. */
int shell_read_array(struct shell_parser *p, size_t opened);
/* Blanks, continued lines and a comment; newlines too if asked. */
void shell_skip_blanks(struct shell_parser *p, bool newlines);

int shell_fail(struct shell_parser *p, size_t at, const char *what);
int shell_enter(struct shell_parser *p, size_t at);
void shell_mark(struct shell_parser *p, enum shell_join join, size_t at);

static inline char shell_peek(const struct shell_parser *p, size_t ahead)
{
    if (p->at + ahead >= p->text.n)
        return '\0';
    return p->text.p[p->at + ahead];
}

/* Ends a word when it stands unquoted. */
static inline bool shell_is_meta(char c)
{
    return c && strchr(" \t\n|&;()<>", c);
}

static inline bool shell_is_name(char c, bool first)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (!first && c >= '0' && c <= '9');
}

/* `<(` or `>(` */
static inline bool shell_at_process(const struct shell_parser *p)
{
    char c = shell_peek(p, 0);
    return (c == '<' || c == '>') && shell_peek(p, 1) == '(';
}

#endif
