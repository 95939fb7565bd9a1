/* Which files a command line in a git configuration may run, as far as its text tells. Pure. */
#ifndef SANDGATE_CORE_GIT_WORDS_H
#define SANDGATE_CORE_GIT_WORDS_H

#include "core/git_settings.h"

/* Tells words as GIT_SETTING_WORD, _FILE and _GLOB. False: a program is not named by the text itself (`$x`, `cd "$y"`). */
bool git_words_each(const char *line, git_setting_fn fn, void *arg);

#endif
