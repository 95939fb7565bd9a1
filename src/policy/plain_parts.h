/* Shared by the parts of the reader: plain_word.c knows one word, plain_line.c lists of commands. Each needs the other, since a
 * word may hold a list; every such step counts against PLAIN_NESTING_MAX. */
#ifndef SANDGATE_POLICY_PLAIN_PARTS_H
#define SANDGATE_POLICY_PLAIN_PARTS_H

#include "policy/plain_line.h"

struct plain_reader {
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
    bool piped;    /* there was a pipe */
};

int plain_fault_at(struct plain_reader *r, size_t at, const char *construct);
/* A newline where the text of a here-document would begin. */
int plain_newline_before_text(struct plain_reader *r);

/* Commands up to the end of the text or a `)`. */
int plain_read_list(struct plain_reader *r);
/* One word of this command, from where it begins. */
int plain_read_word(struct plain_reader *r, unsigned command);
/* One that is no part of a command and has to be known. */
int plain_pass_word(struct plain_reader *r, const char *otherwise);

static inline char plain_peek(const struct plain_reader *r, size_t ahead)
{
    return r->at + ahead < r->text.n ? r->text.p[r->at + ahead] : '\0';
}

static inline bool plain_at_end(const struct plain_reader *r)
{
    return r->at == r->text.n;
}

static inline bool plain_is_letter(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool plain_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Ends a word. */
static inline bool plain_is_meta(char c)
{
    return c == '\0' || strchr(" \t\n|&;()<>", c);
}

#endif
