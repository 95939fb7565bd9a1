/* Which lines of a text went and which came, in bounded time and memory. */
#ifndef SANDGATE_WORK_DIFF_SCRIPT_H
#define SANDGATE_WORK_DIFF_SCRIPT_H

#include "base/buf.h"

/* `same` lines are in both texts; behind them `gone` lines of the first stand where `come` lines of
 * the second do. A line ends behind its `\n`, or with the text. */
struct diff_run {
    size_t same;
    size_t gone;
    size_t come;
};

/* Adds runs to `out` in their order, the last one with what is the same at the end and no change;
 * none at all when the texts are the same. The script is the shortest unless the texts differ so much
 * that finding it would take long. 0, or -errno. */
int diff_script(struct str before, struct str after, struct buf *out);

/* Length of the line at `at`, with its newline. */
size_t diff_line(struct str text, size_t at);
size_t diff_count_lines(struct str text);

#endif
