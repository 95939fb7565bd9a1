/* The rules of one ignore file, in the form of .gitignore and with git's meaning (gitignore(5)). Pure: the
 * text is read elsewhere.
 *
 * Where this differs from git: `?` and a set stand for one character of UTF-8, not one byte; two stars
 * behind other characters, `a**` and a slash, are one star, as the manual says, which git forgets where
 * only plain characters stand before them. */
#ifndef SANDGATE_WORK_IGNORE_H
#define SANDGATE_WORK_IGNORE_H

#include <stdbool.h>

#include "base/attr.h"

/* What lies behind is not read. */
#define IGNORE_TEXT_MAX ((size_t)1 << 20)
#define IGNORE_RULES_MAX 10000
/* Rules that need a glob: each takes 10 us to make, at worst 4 ms and 16 KiB. */
#define IGNORE_GLOBS_MAX 500

enum ignore_verdict {
    IGNORE_NONE, /* no rule matches */
    IGNORE_DROP,
    IGNORE_KEEP, /* a rule with `!` */
};

struct ignore;

/* NULL with errno 0: no rule is in the text; or ENOMEM. */
struct ignore *ignore_new(struct str text);
void ignore_free(struct ignore *ignore);

/* What the last rule says that matches. The path is relative to the file's folder. Parents are not
 * looked at: what is in a folder that is left out must not be asked for. */
enum ignore_verdict ignore_verdict(const struct ignore *ignore, struct str path, bool is_folder);

/* Bytes that it takes, at worst. */
size_t ignore_size(const struct ignore *ignore);

#endif
