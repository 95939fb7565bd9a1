/* One line of an ignore file, in the form of .gitignore. Pure. */
#ifndef SANDGATE_WORK_IGNORE_LINE_H
#define SANDGATE_WORK_IGNORE_LINE_H

#include "core/glob.h"

/* A longer line is as if it were not there. */
#define IGNORE_LINE_MAX 1024

/* Nearly every line is one of the first four, which need no glob. */
enum ignore_kind {
    IGNORE_NAME,   /* the name is `plain` */
    IGNORE_PATH,   /* the path is */
    IGNORE_SUFFIX, /* the name ends with it */
    IGNORE_PREFIX, /* the name begins with it */
    IGNORE_GLOB,
};

struct ignore_line {
    enum ignore_kind kind;
    bool keep;     /* began with `!` */
    bool folders;  /* ended with `/` */
    bool anchored; /* is about the path, not about its last name */
    char plain[IGNORE_LINE_MAX];
    size_t plain_n;
    char pattern[GLOB_TEXT_MAX]; /* the same for core/glob.h, whatever the kind */
    size_t pattern_n;
};

/* False for a line that says nothing, or that no path can match. */
bool ignore_line_read(struct str line, struct ignore_line *ret);

#endif
