/* Secrets in a script for a shell or an interpreter: a record hides no command with them. */
#ifndef SANDGATE_CORE_LOGGED_SHELL_H
#define SANDGATE_CORE_LOGGED_SHELL_H

#include "base/buf.h"
#include "base/redact.h"

/* Bytes that were looked through for what ends them. */
struct logged_run {
    size_t from;
    size_t end;
    size_t found; /* of a pair: behind the last `=` in them, or 0; of a word: behind the blanks that follow */
};

struct logged_shell {
    struct str script;
    struct buf marks; /* enum logged_mark of each byte */
    bool code;        /* it is for an interpreter instead */
    /* Of a row of operators each asks for what ends the word behind it. */
    struct logged_run pair;
    struct logged_run word;
};

/* False: there is no memory for it. The script is borrowed. */
bool logged_shell_init(struct logged_shell *shell, struct str script, bool code);
void logged_shell_done(struct logged_shell *shell);

/* As redact_ends has it: where what is run begins. */
size_t logged_shell_end(void *shell, size_t from, size_t to);

#endif
