/* The ignore files that count in a folder: its own and those of the folders around it, as far as the root.
 * `.ignore` stands over `.gitignore`, that over `.git/info/exclude`, that over rules given as text; of one
 * kind the deepest file that has a rule for a path decides. */
#ifndef SANDGATE_WORK_IGNORE_FILES_H
#define SANDGATE_WORK_IGNORE_FILES_H

#include "work/ignore.h"

enum ignore_file {
    IGNORE_FILE_OWN, /* .ignore */
    IGNORE_FILE_GIT, /* .gitignore */
    IGNORE_FILE_EXCLUDE,
    IGNORE_FILE_GIVEN,
    IGNORE_FILES,
};

/* Which of a folder's own there are, as bits. */
#define IGNORE_FOUND_OWN (1u << IGNORE_FILE_OWN)
#define IGNORE_FOUND_GIT (1u << IGNORE_FILE_GIT)
#define IGNORE_FOUND_EXCLUDE (1u << IGNORE_FILE_EXCLUDE) /* a folder .git is there */
#define IGNORE_FOUND_ANY (IGNORE_FOUND_OWN | IGNORE_FOUND_GIT | IGNORE_FOUND_EXCLUDE)

struct ignore_scope;

/* A folder begins with a copy of what counts around it. */
struct ignore_files {
    struct ignore_scope *last[IGNORE_FILES];
};

/* What reading them needs, one for all. */
struct ignore_reader {
    char *text;
    size_t room; /* in it */
    size_t held; /* bytes of the rules at hand; too many, and no further files are read */
};

void ignore_reader_done(struct ignore_reader *reader);

/* Adds those of an open folder. Paths that they are about begin `from` bytes into a path seen from the
 * root. What cannot be read is not there. */
/* 0, or -errno where one is there and could not be read. */
int ignore_files_read(struct ignore_files *files, struct ignore_reader *reader, int folder,
                      unsigned found, size_t from);
/* 0 or -ENOMEM. */
int ignore_files_give(struct ignore_files *files, struct ignore_reader *reader, struct str text);
/* Takes away what came in after `around` was copied. */
void ignore_files_drop(struct ignore_files *files, struct ignore_reader *reader,
                       const struct ignore_files *around);

/* The path is seen from the root. */
enum ignore_verdict ignore_files_verdict(const struct ignore_files *files, struct str path,
                                         bool is_folder);

#endif
