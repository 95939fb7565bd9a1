/* What an agent can change. The gate executes and believes files of the operator's: programs of hooks, the anchor of the
 * audit log, the configuration. None of them may be reached through a folder that a session writes in. */
#ifndef SANDGATE_GATE_REACH_H
#define SANDGATE_GATE_REACH_H

#include <sys/types.h>

#include "gate/places.h"

struct reach {
    struct {
        const struct root *root;
        dev_t device;
        ino_t inode;
    } folders[2 * ROOTS_MAX];
    size_t n;
};

/* The folders that file tools or commands may write in. Borrows them. */
void reach_init(struct reach *ret, const struct places *places);

/* The one of them that lies on the way to `path`, itself or behind a link, whatever it is called there; NULL: none. */
const char *reach_through(const struct reach *reach, const char *path);

/* The error of a path of this field that is reached through `folder`. Returns -1. */
int reach_refuse(const char *field, const char *path, const char *folder, struct err *err);
/* Refuses a configuration by which the gate would execute or believe something that an agent can change. */
int reach_check(const struct reach *reach, const struct config *config, const char *config_file,
                struct err *err);

/* The same of a session's folders. */
void reach_init_at(struct reach *ret, const struct workplace *at);
/* A role's own program: libexec/sandgate/NAME beside the folder of `own`, the gate's, or where that was built. `path` has
 * room for PATH_MAX bytes. */
int reach_role_program(const struct reach *reach, const char *own, const char *name, char *path,
                       struct err *err);

/* The folders of `list`, as in PATH, that are absolute and out of reach. The caller's. */
char *reach_path(const struct reach *reach, const char *list);

#endif
