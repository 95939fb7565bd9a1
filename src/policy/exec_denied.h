/* Programs that are denied wholly: however they are started, they do not run (core/denials.h). These are
 *
 *   - those that a rule with the action `deny` names without a subcommand, in a condition about nothing but programs, if
 *     no earlier rule may let a call through that runs them;
 *   - `tools.bash.deniedCommands`, for the tool `bash`;
 *   - the sidecar's own list, where it is about all uses of a program. */
#ifndef SANDGATE_POLICY_EXEC_DENIED_H
#define SANDGATE_POLICY_EXEC_DENIED_H

#include "core/denials.h"
#include "core/tool.h"

struct policy;

/* Every program that a denial names, in the order of the rules; `why_not`: it is denied by the text of a command
 * alone, and why; NULL: wholly. */
typedef void (*exec_denied_fn)(void *arg, const struct denial *denial, const char *why_not);
void exec_denied_each(const struct policy *policy, const struct tool *tool, exec_denied_fn each,
                      void *arg);

/* Those that are denied wholly, each once; NULL: there are none, or *ret_many: too many for a list. */
struct denials *exec_denied(const struct policy *policy, const struct tool *tool, bool *ret_many);

#endif
