/* Whether a repository that a command has made can be left where it is: nothing in it makes the user's git run a program
 * or read settings from elsewhere. It is known by what may be there, never by what may not. */
#ifndef SANDGATE_WORK_GIT_PLAIN_H
#define SANDGATE_WORK_GIT_PLAIN_H

#include "base/buf.h"

/* The text of a `config`. Pure. Sections and keys that git init and git clone write, and a few that are only data. */
bool git_config_is_plain(struct str text);
/* An open git directory. False, too, when something cannot be read or there is too much of it. */
bool git_directory_is_plain(int dir);

#endif
