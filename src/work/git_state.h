/* What git keeps of a rebase, a cherry-pick, a merge or a bisection under way. Some of these files name programs, or
 * options that lead to one: only forms that cannot are taken. Pure, as git_text.h. */
#ifndef SANDGATE_WORK_GIT_STATE_H
#define SANDGATE_WORK_GIT_STATE_H

#include "work/git_text.h"

/* Lines that `git rebase --continue` goes through. `exec` runs a program. */
bool git_is_todo(struct str text, unsigned hex);
/* The same of a cherry-pick or revert of several commits. */
bool git_is_pick_todo(struct str text, unsigned hex);
/* GIT_AUTHOR_NAME='…' and its like. */
bool git_is_author_script(struct str text, unsigned hex);
/* The name of one of git's own merge strategies: any other is a program `git-merge-NAME`. */
bool git_is_strategy(struct str text, unsigned hex);
/* The options of a sequence, in the form of a configuration file. */
bool git_is_sequence_options(struct str text, unsigned hex);
/* Quoted words of letters, digits and what stands in paths. */
bool git_is_quoted_words(struct str text, unsigned hex);
/* `-S` and a key's name. */
bool git_is_sign_option(struct str text, unsigned hex);
/* A branch's full name, or that there is none. */
bool git_is_head_name(struct str text, unsigned hex);
/* A branch's short name, or an object's. */
bool git_is_branch(struct str text, unsigned hex);
/* Full names of refs and of objects, one a line. */
bool git_is_refs_or_ids(struct str text, unsigned hex);
/* Two words, one a line. */
bool git_is_terms(struct str text, unsigned hex);
/* Nothing but blanks. */
bool git_is_blank(struct str text, unsigned hex);

#endif
