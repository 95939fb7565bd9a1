/* The files of denied programs, in the view that commands have (or on the machine, to tell a person). */
#ifndef SANDGATE_CELL_DENIED_FILES_H
#define SANDGATE_CELL_DENIED_FILES_H

#include "cell/spec.h"
#include "core/denials.h"

/* Where programs are looked for. */
struct denied_view {
    const char *path;         /* the commands' PATH */
    const char *const *shown; /* folders of commands.show */
    size_t n_shown;
    const struct cell_root *roots; /* what is in one of them on the machine has another path here */
    size_t n_roots;
    int proc;   /* as for mountinfo_read */
    bool shell; /* commands are lines for /bin/bash, which is needed then */
};

struct denied_file {
    char *path; /* no link on the way */
    size_t denial;
    bool gone; /* removed on the host when it was to be covered */
};

struct denied_files {
    struct denied_file *all;
    size_t n;
};

/* A file that a denial is not kept for, because that would deny other programs as well. */
typedef void (*denied_skip_fn)(void *arg, const struct denial *denial, const char *path,
                               const char *why);

/* Adds the files of all denials of a packed list that are not in `files` yet. A file is found by its name in a folder
 * of programs, through links, under its other names where it has several, and at every path that mounts give it. It is left out (`skip` may be NULL)
 * where these are names of other programs. -errno: some may be missing. */
int denied_find(struct str packed, const struct denied_view *view, struct denied_files *files,
                denied_skip_fn skip, void *arg);
void denied_files_done(struct denied_files *files);

#endif
