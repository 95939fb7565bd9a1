/* Private to redact*.c: one text that is being looked through, and what looks at one place of it. */
#ifndef SANDGATE_BASE_REDACT_PARTS_H
#define SANDGATE_BASE_REDACT_PARTS_H

#include "base/redact.h"

struct redact_text {
    const char *p;
    size_t n;
    bool cut; /* the text goes on behind n */
    bool aws; /* there is a key id of AWS: its secret may stand next to it */
};

struct redact_span {
    size_t from;
    size_t to;
};

enum redact_name {
    NAME_PLAIN,
    NAME_WEAK,   /* `token` is a word of many texts */
    NAME_COUNTS, /* `max_tokens`: not when its value is a number */
    NAME_SECRET,
    NAME_LINE, /* a header: all of the line is its value */
};

static inline bool redact_is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

enum redact_name redact_name_kind(struct str name);
/* A shorter name is plain. */
size_t redact_name_min(void);
/* Whether an option of this name has a secret behind it. */
bool redact_option_name(struct str name);

/* Each says whether there is a secret at this place. A shape is found by a character in it and may begin before. */
bool redact_shape(const struct redact_text *t, size_t at, struct redact_span *ret);
bool redact_aws_secret(const struct redact_text *t, size_t at, struct redact_span *ret);
bool redact_private_key(const struct redact_text *t, size_t at, struct redact_span *ret);
/* At the colon of `scheme://`. */
bool redact_userinfo(const struct redact_text *t, size_t at, struct redact_span *ret);
/* At `=` or `:`. */
bool redact_assigned(const struct redact_text *t, size_t at, struct redact_span *ret);
/* At `--name`, or at the dash of `-name`. */
bool redact_option(const struct redact_text *t, size_t at, struct redact_span *ret);
/* At a dash: an option that has a secret behind it because of the command, as `curl -u user:x`. */
bool redact_command_option(const struct redact_text *t, size_t at, struct redact_span *ret);
/* At the blank or bracket behind `setenv`, `set` and the like, of `setenv NAME x`. */
bool redact_setter(const struct redact_text *t, size_t at, struct redact_span *ret);
/* At the blank behind a word of a command that has a secret next: `vault login x`. */
bool redact_behind_word(const struct redact_text *t, size_t at, struct redact_span *ret);
/* At the sign of `${NAME:=x}`. True where it is one, with an empty span where there is nothing to hide. */
bool redact_in_default(const struct redact_text *t, size_t at, struct redact_span *ret);

/* The word at `at` or behind blanks, with its quoted parts. False: there is none, it says nothing, or it is an
 * option. */
bool redact_value(const struct redact_text *t, size_t at, struct redact_span *ret);
/* Without what closes the list or object that it stands in. */
struct str redact_bare(struct str text);
/* `null`, `$NAME` and the like. */
bool redact_says_nothing(struct str text);
/* Behind blanks and continued lines. */
size_t redact_gap(const struct redact_text *t, size_t at);
/* At a colon with nothing but a sign of YAML behind it: the value on the lines below. */
bool redact_below(const struct redact_text *t, size_t colon, enum redact_name kind, struct str name,
                  struct redact_span *ret);
/* Where the line begins with which a header goes on whose line ends at `end`; 0: it does not. */
size_t redact_folded(const struct redact_text *t, size_t end, struct str name, bool quoted);
/* Where `$(echo x)` ends, whose value stands in the text; 0: it is something else. */
size_t redact_printed(const struct redact_text *t, size_t from);
/* Takes the word that tells how a header's secret is made (`Bearer`) from its beginning. */
void redact_keep_scheme(const struct redact_text *t, struct redact_span *span);
/* Whether the text in the quotes at `quote` is read by a shell as commands: `-c '`, `eval '`. */
bool redact_is_script(const struct redact_text *t, size_t quote);
/* The first of `;`, `&`, `|` and a newline in [from, to), or `to`. */
size_t redact_operator(const struct redact_text *t, size_t from, size_t to);
/* Where the next word of a shell or the next item of a list begins; 0: not behind this one. */
size_t redact_argument(const struct redact_text *t, size_t end);

#endif
