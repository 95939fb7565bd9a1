/* Sessions with a name: what they are is kept in `<state>/sessions/<id>/`, and one gate at a time owns
 * each (an exclusive lock that ends with the gate's process). */
#ifndef SANDGATE_SESSION_NAMED_H
#define SANDGATE_SESSION_NAMED_H

#include "base/err.h"
#include "base/json_out.h"

#define NAMED_ID_MAX 33

struct named {
    char id[NAMED_ID_MAX];
    char *workspace;
    char *created;
    char *identity; /* of the workspace; NULL in records that have none */
    bool overlay;   /* changes go to `layer` */
    char *layer;    /* its folder, see layer.h; NULL in host mode */
    bool damaged;   /* its record: the three above are NULL */
    int dir_fd;
    int lock_fd; /* >= 0: this process owns it */
};

/* Makes a session of the folder and prints nothing; `id` is its new name. */
int named_create(int state_fd, const char *workspace, bool overlay, char id[NAMED_ID_MAX],
                 struct err *err);
int named_load(int state_fd, const char *id, struct named *ret, struct err *err);
/* Whether its workspace is still the folder that it was made for, reached without links. */
int named_check_workspace(const struct named *named, struct err *err);
void named_done(struct named *named);

/* 1: this process owns the session now, and no cell has its layer; 0: another one does; -1 with an error: SESSION_BUSY where
 * the cell of a gate that was killed has not ended. `patient`: that is waited for, some seconds. */
int named_lock(struct named *named, bool patient, struct err *err);
/* Whether another process, or the cell of a gate that was killed, has it; if not, it is this process's where `lock_fd` says
 * so, else `err` says why that cannot be told. */
bool named_is_owned(struct named *named, struct err *err);
/* Forgets a session that nobody owns, with the changes in its layer, also one whose record is damaged. Files of its
 * workspace stay. */
int named_remove(int state_fd, const char *id, struct err *err);

typedef void (*named_fn)(void *arg, const struct named *named, bool owned);
/* All sessions, in order of their names, damaged ones too. -1, after the others, where one could not be opened. */
int named_each(int state_fd, named_fn fn, void *arg, struct err *err);

#endif
