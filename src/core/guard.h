/* The rules about protected and secret files of a root (configuration `files.protected`, `files.secret`; what a
 * pattern means: core/guard_pattern.h). Pure: paths are text here, relative to the root, without `.`, `..` and
 * links; work/beneath.c finds out what they really are.
 *
 * Of the rules in a list that cover a path the last one decides. */
#ifndef SANDGATE_CORE_GUARD_H
#define SANDGATE_CORE_GUARD_H

#include "base/buf.h"
#include "base/err.h"

enum guard_verdict {
    GUARD_OPEN,
    GUARD_PROTECTED, /* not to be changed: it could run code on the host */
    GUARD_SECRET,    /* nor to be read; it counts before the other */
};

struct guard;

/* Rules as they travel to a worker, one behind the other. */
void guard_pack(struct buf *out, enum guard_verdict kind, struct str pattern);
/* NULL with an error when something is wrong with them. */
struct guard *guard_new(struct str packed, struct err *err);
size_t guard_count(const struct guard *guard);
/* Both accept NULL, where everything is open. Not for several threads at a time. */
struct guard *guard_ref(struct guard *guard);
void guard_unref(struct guard *guard);

/* Whether text can be a rule. */
int guard_check(struct str pattern, struct err *err);

/* Whether git directories are protected: the rules protect `.git` as a whole. */
bool guard_protects_git(const struct guard *guard);

/* Whether a rule covers the path or a folder that it lies in; *ret_rule is the pattern. A NULL guard is open.
 * From any thread. */
enum guard_verdict guard_judge(const struct guard *guard, struct str path, bool is_folder,
                               const char **ret_rule);
/* The same of a link, which may lead to a file or to a folder. */
enum guard_verdict guard_judge_link(const struct guard *guard, struct str path,
                                    const char **ret_rule);
/* What it would say of an open path elsewhere: without the exceptions for folders that the path lies in. An exception for
 * its own name holds anywhere. */
enum guard_verdict guard_judge_elsewhere(const struct guard *guard, struct str path, bool is_folder,
                                         const char **ret_rule);
/* Whether the way to what a rule names leads through this folder: moved away, it would take such files
 * along under another name, and moved here, others would become them. */
enum guard_verdict guard_holds(const struct guard *guard, struct str path, const char **ret_rule);
/* False when no rule's last component matches the name: then what holds for the folder it is in holds for
 * it. Faster than the others. */
bool guard_may_name(const struct guard *guard, struct str name);
/* False when guard_holds says no for every path that ends with this name. Faster than that. */
bool guard_may_hold(const struct guard *guard, struct str name);
/* A hash of the rules, in hexadecimal digits. "" for a NULL guard. */
const char *guard_id(const struct guard *guard);

#endif
