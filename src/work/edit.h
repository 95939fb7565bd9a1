/* Replacing exact text in a file, on its bytes: what is outside the replaced text stays as it is,
 * whatever its encoding and line ends. No file is touched here. */
#ifndef SANDGATE_WORK_EDIT_H
#define SANDGATE_WORK_EDIT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/op.h"

#define EDIT_COUNT_MAX 1000

struct work;

/* Applies the edits one after the other and adds the outcome to `out`, all of it or nothing.
 *
 * Texts are UTF-8 with `\n`. They are looked for as they are; then with each `\n` standing for `\r\n`
 * as well; then, in a file that is not UTF-8, as Latin-1. A file that begins with the byte order mark
 * of UTF-16 is searched in that encoding. What is inserted takes the encoding and the line ends of
 * what it replaces.
 *
 * NO_MATCH has the reason `not_found` or `ambiguous`, and err->field names the edit: `edits[2]`. CANCELLED once the call that `w` works
 * at is to stop; NULL: nothing stops it. */
int edit_apply(const struct work *w, struct str file, const struct op_edit *edits, size_t n,
               struct buf *out, struct err *err);

#endif
