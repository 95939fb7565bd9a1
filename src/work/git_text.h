/* What the text files of a git directory may hold. Pure: each function looks at the bytes of one file and says whether
 * they have the form that git itself writes. `hex` is the length of an object's name in the repository, 40 or 64. */
#ifndef SANDGATE_WORK_GIT_TEXT_H
#define SANDGATE_WORK_GIT_TEXT_H

#include "base/buf.h"

#define GIT_SHA1_HEX 40
#define GIT_SHA256_HEX 64

typedef bool (*git_check)(struct str text, unsigned hex);

/* A whole object name, in lower case. */
bool git_is_id(struct str text, unsigned hex);
/* A ref's full name, `refs/heads/main`, by git's own rules and some more: no part begins with a dash. */
bool git_is_ref_name(struct str name);
/* Refs that put one object in the place of another. */
bool git_replaces(struct str ref_name);

/* An object's name, or `ref: ` and the name of a ref: a loose ref, and HEAD. */
bool git_is_ref(struct str text, unsigned hex);
/* All of packed-refs. Refs that replace objects, or have odd names, are only taken where `old` has them too. */
bool git_is_packed_refs(struct str text, struct str old, unsigned hex);
bool git_is_log(struct str text, unsigned hex);
bool git_is_fetch_head(struct str text, unsigned hex);
/* One object name a line. */
bool git_is_ids(struct str text, unsigned hex);
/* One, or nothing at all. */
bool git_is_id_or_none(struct str text, unsigned hex);
/* Two a line. */
bool git_is_id_pairs(struct str text, unsigned hex);
/* The beginning of one. */
bool git_is_short_id(struct str text, unsigned hex);
/* Anything but NUL: what is only shown, or becomes a commit's message. */
bool git_is_text(struct str text, unsigned hex);
/* One line of a few letters, digits and dashes; or nothing. */
bool git_is_word(struct str text, unsigned hex);

/* The repository's own configuration says that its objects' names are SHA-256. */
bool git_config_has_sha256(struct str config);

/* For other files that check forms. The next line without its end; false at the end. What has no end is no line:
 * *ret_whole is false then. */
bool git_next_line(struct str *rest, struct str *ret, bool *ret_whole);
bool git_has_control(struct str text);

#endif
