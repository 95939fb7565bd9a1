/* Secrets in a script for a shell: a record hides no command with them. */
#ifndef SANDGATE_CORE_LOGGED_SHELL_H
#define SANDGATE_CORE_LOGGED_SHELL_H

#include <stdbool.h>

#include "base/attr.h"

#define LOGGED_SHELL_WORD_MAX 64

/* How far a script was read. */
struct logged_shell {
    struct str script;
    size_t at;
    char quote;                       /* 0, ' " or one of the two below */
    char word[LOGGED_SHELL_WORD_MAX]; /* that ends the here-document; "": there is none */
};
#define LOGGED_SHELL_ESCAPED 'e' /* $'...' */
#define LOGGED_SHELL_HERE 'h'    /* in a here-document */

/* Where a secret at [from, to) ends as the shell reads it: before what it would run. Never before an earlier call's
 * `from`. */
size_t logged_shell_end(struct logged_shell *shell, size_t from, size_t to);

#endif
