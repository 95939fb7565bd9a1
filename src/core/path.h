/* The text of paths, before anything is opened. Pure: no file is looked at here; where a path
 * really leads is decided in the cell on descriptors (work/beneath.h). */
#ifndef SANDGATE_CORE_PATH_H
#define SANDGATE_CORE_PATH_H

#include "base/err.h"

#define PATH_TEXT_MAX 4096 /* the kernel's PATH_MAX, its NUL included */
#define PATH_NAME_MAX 255
/* Folders that a configuration may name for one session. */
#define FOLDERS_MAX 16
/* The last root of a cell may be its store (cell/spec.h). */
#define ROOTS_MAX (FOLDERS_MAX + 1)

/* How many names a directory may have besides its path on the host and its path in the cell. */
#define ROOT_ALSO 2

/* One directory that a session's cell has: the workspace, or the toolhost's mounts. */
struct root {
    const char *name;   /* "workspace", "@project" */
    const char *inside; /* where the cell mounts it */
    const char *host;   /* absolute path on the host */
    bool writable;
    const char *
        also[ROOT_ALSO]; /* other absolute paths of it, links to `inside` in the cell; NULL: none */
};

struct path {
    size_t root;              /* index into the session's roots */
    char text[PATH_TEXT_MAX]; /* relative to it, "." for the root itself; may hold inner `..` */
};

/* How much of an absolute text is a name of the directory at `host` and `inside`, that has also these names; 0: it does not
 * begin with one. `also` may be NULL. */
size_t path_named(struct str text, const char *host, const char *inside,
                  const char *const also[ROOT_ALSO]);

/* Workspace grammar: relative, or absolute beneath one of the root's names. */
int path_in_workspace(struct str text, const struct root *root, struct path *ret, struct err *err);
/* Any of several folders at their own paths; relative ones begin at the absolute `base`. `..` is taken
 * as text. */
int path_in_folders(struct str text, const char *base, const struct root *roots, size_t count,
                    struct path *ret, struct err *err);
/* Mount grammar: `@name/rest`; no `..` at all, backslashes count as slashes. */
int path_in_mounts(struct str text, const struct root *roots, size_t count, struct path *ret,
                   struct err *err);

/* Without the `./` and the one slash before `@` that the mount grammar lets pass. */
struct str path_without_lead(struct str text);

bool path_is_root(const struct path *path);
/* Length of a prefix without the slashes at its end, save the one that is all of "/". */
size_t path_prefix_length(const char *prefix);
/* True when text is `prefix` or lies beneath it. */
bool path_beneath(struct str text, const char *prefix);
/* The same of texts that have no slash at their ends: whether it is beneath `folder`, or also that itself. */
bool path_lies_in(struct str path, struct str folder);
bool path_is_in(struct str path, struct str folder);
/* What is behind the last slash: all of it where there is none. */
const char *path_name(const char *path);
struct str path_name_of(struct str path);
/* Takes the first name off the path `rest`, with the slashes before it. 1; 0: there is none; -1: it is too long. */
int path_take_name(char *rest, char name[PATH_NAME_MAX + 1]);
/* Takes `.`, `..` and doubled slashes out of an absolute path, as text. */
void path_tidy(char *path);
/* Whether one lies in the other, or they are the same. */
bool path_meets(const char *a, const char *b);
/* What of `path` is beneath `prefix`: "" where it is the prefix itself, NULL where it is not beneath. */
const char *path_rest(const char *path, const char *prefix);

#endif
