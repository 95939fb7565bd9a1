/* Texts of callers in records: without their secrets, up to a limit, and with a mark where that is not all.
 *
 * A text is a string, as logged_exact has it, or, where it is too long, {"cut": its beginning, "bytes": its length, "sha256": …}. Sizes are of the
 * text as it was given. Hashes are of the text without the secrets in its first MiB: with that of the whole text, whoever
 * can read the log could try short secrets until the hash fits. What is behind that MiB has to be known for a guess. */
#ifndef SANDGATE_CORE_LOGGED_H
#define SANDGATE_CORE_LOGGED_H

#include "base/json_out.h"
#include "core/logged_scripts.h"

/* Of one text, and of all that share a limit together. In JSON a byte takes six at most. */
#define LOGGED_MAX ((size_t)64 << 10)

/* Where texts go, and how many bytes of them are still written. */
struct logged {
    struct json_out *j;
    size_t left;
};

void logged_text(struct logged *l, struct str text);
/* A list of words that are one command, or paths, or hosts: what a word is can depend on the one before it
 * (`--password`, `x`). Each is a text of its own. Words for which nothing is left are counted by an object at the
 * end: {"words": how many, "bytes": …, "sha256": …}, of them with a NUL behind each. */
void logged_words(struct logged *l, const struct str *words, size_t n);
/* A text that someone reads as commands: none of them is hidden with a secret. */
void logged_script(struct logged *l, struct str text, enum logged_reader reader);
/* What a command reads: an object with "bytes", "sha256" and "text" or, where that is too long, "cut". */
void logged_input(struct logged *l, struct str text, enum logged_reader reader);

/* A string or, where that is no UTF-8, {"base64": all its bytes}: two texts are never written the same. */
void logged_exact(struct json_out *j, struct str text);

/* A name as one string: of a long one the beginning, how many bytes it has and its SHA-256. */
void logged_name(struct json_out *j, struct str name, size_t max);

#endif
