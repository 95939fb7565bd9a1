/* The words of a command that the gate starts: every path that one of them may name. */
#ifndef SANDGATE_GATE_REACH_WORDS_H
#define SANDGATE_GATE_REACH_WORDS_H

#include "gate/reach.h"

/* Refuses what is reached through a folder that an agent can write in. A path may stand alone, behind an option
 * (`-I/x`, `--opt=/x`), an assignment or in a list; relative ones begin at `/`, where these programs work. The text of
 * `sh -c` is read as a shell reads it. One that cannot be read is refused, and so is one that changes to a folder that is
 * known only when it runs. */
int reach_check_words(const struct reach *reach, const char *field, const struct str *words,
                      size_t count, struct err *err);
/* One of them; it is not taken for the text of a shell. */
int reach_check_word(const struct reach *reach, const char *field, const char *word,
                     struct err *err);

#endif
