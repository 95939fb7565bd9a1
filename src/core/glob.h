/* Glob patterns over paths. Pure: nothing is opened here.
 *
 *   *  ?      any run of characters, one character; never `/`
 *   **        as a whole component: any number of components, none included; at the end at least
 *             one, so that `a/` with it behind means all beneath a. Elsewhere, and where one of the
 *             stars stands in braces, the same as `*`
 *   [a-z] [!x] [^x]   one character of, or not of, a set; never `/`
 *   {a,b}     either; may be nested, be empty and hold `/`. The pattern means what its expansions
 *             mean, but they are never written out
 *   \x        x itself
 *
 * Components that are `.` or empty are dropped. A first `/` and `..` are refused, and so is a pattern
 * of which only some expansions end with `/`. A character is one of UTF-8, or a byte that is part of
 * none. Matching takes time in proportion to pattern times path at worst. A compiled pattern does not
 * change: threads may share it. */
#ifndef SANDGATE_CORE_GLOB_H
#define SANDGATE_CORE_GLOB_H

#include "base/err.h"

#define GLOB_TEXT_MAX 4096
#define GLOB_NESTING_MAX 16

struct glob;

/* NULL with ERR_INVALID_PATTERN and where it is wrong. With `anywhere`, a pattern that has no `/`
 * but at its end matches at any depth; `./x` keeps x where the pattern is anchored. */
struct glob *glob_compile(struct str pattern, bool anywhere, struct err *err);
/* The same without the table that makes matching fast, which is most of the work: for patterns that there may be
 * thousands of and that are mostly not matched. glob_used makes it once it has been called a few times; unlike all else
 * here it changes the glob, so that no other thread may use that. */
struct glob *glob_compile_lean(struct str pattern, struct err *err);
void glob_used(struct glob *glob);
/* The same as git and ripgrep read it in ignore files: `?` and a set stand for one byte, whatever it is a part of. */
struct glob *glob_compile_bytes(struct str pattern, struct err *err);
void glob_free(struct glob *glob);

/* The path is relative to where the pattern is anchored; the empty one matches nothing. */
bool glob_match(const struct glob *glob, struct str path);
/* Whether something beneath this folder may match ("" and "." are where the pattern is anchored).
 * Never false wrongly. */
bool glob_may_match_beneath(const struct glob *glob, struct str folder);
/* The folder that every match lies beneath, or "": a walk can begin there. */
struct str glob_fixed_prefix(const struct glob *glob);
/* The pattern ends with `/`. It matches paths as if it did not: the caller knows what a folder is. */
bool glob_folders_only(const struct glob *glob);

/* The folder where a pattern begins, its slash included: what is behind it may match many. */
struct str glob_folder(struct str pattern);
/* False when the text, taken as a pattern, means just itself. */
bool glob_is_pattern(struct str text);

static inline void glob_freep(struct glob **glob)
{
    glob_free(*glob);
}

#define GLOB_AT_END CLEANUP(glob_freep)

#endif
