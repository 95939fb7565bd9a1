/* Which files a git configuration makes git read or run. Pure: text in, paths out. */
#ifndef SANDGATE_CORE_GIT_SETTINGS_H
#define SANDGATE_CORE_GIT_SETTINGS_H

#include <stdint.h>

#include "base/buf.h"

enum git_setting {
    GIT_SETTING_INCLUDE, /* another configuration; relative to the one that names it */
    GIT_SETTING_PATH,    /* a file or a folder, relative to the work tree */
    GIT_SETTING_HOOKS,   /* the same: a folder, in which git runs what git_hook_names says */
    GIT_SETTING_TEMPLATE, /* the same, of which git_template_names are copied into new repositories */
    GIT_SETTING_WORD,   /* a word of a command line that runs in the work tree; it may be no path */
    GIT_SETTING_FILE,   /* the same; it counts only where there is such a file */
    GIT_SETTING_GLOB,   /* a program by a pattern: all files that it matches (core/glob.h) */
    GIT_SETTING_UNREAD, /* the name of a setting: its program cannot be told from its text */
    /* Not told by themselves: addresses, of which `ext::PROGRAM ARGUMENTS` names a program; the second is the name of a
     * subsection. */
    GIT_SETTING_ADDRESS,
    GIT_SETTING_BASE,
};

typedef void (*git_setting_fn)(void *arg, enum git_setting use, const char *path);

/* All of them, also those of a text that git would refuse. */
void git_settings_each(struct str text, git_setting_fn fn, void *arg);

/* What git looks for in a folder of hooks, and in a template; NULL at the end. */
extern const char *const git_hook_names[];
extern const char *const git_template_names[];

/* Settings by numbers from 1 on, to tell of one. 0, NULL: there is none. */
int64_t git_setting_number(const char *name);
char *git_setting_name(int64_t number);

/* Whether a word is written like the path of a file. Any other word is one too where there is such a file: `sh name`. */
bool git_setting_is_path(const char *word);

#endif
