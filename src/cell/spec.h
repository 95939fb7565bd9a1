/* What a cell is to be: decided by the gate, sent to the launcher as its first frame. */
#ifndef SANDGATE_CELL_SPEC_H
#define SANDGATE_CELL_SPEC_H

#include <stdint.h>

#include "base/json.h"
#include "base/json_out.h"
#include "core/path.h"
#include "core/tier.h"

struct cell_root {
    char *host;            /* absolute */
    char *inside;          /* absolute */
    char *also[ROOT_ALSO]; /* absolute: links to `inside`; NULL: none */
    bool writable;
    char *protect; /* a folder in it that stays read-only, or NULL */
    bool files;    /* file tools have it */
    bool commands; /* commands have it */
    bool store;    /* Sandgate's own folder for this workspace: only launcher and worker have it */
    /* Which directory the gate meant: another one at the same path is refused. */
    uint64_t device;
    uint64_t inode;
    uint64_t born_ns; /* 0: its file system has no times of birth */
    uint32_t uid;     /* its owner */
    uint32_t gid;
};

/* A file of the machine that a role's own program sees, read-only. */
struct cell_file {
    char *host;   /* absolute */
    char *inside; /* absolute */
};

#define SHOWN_MAX 16
/* The program, what loads it, its libraries and what it reads: libcurl's closure is 32. */
#define SPEC_FILES_MAX 80
#define SPEC_PROGRAM "/program"
#define SPEC_LIBRARIES "/libraries"
#define SPEC_STORE "/.sandgate"
#define HIDDEN_MAX ((1 + SHOWN_MAX) * (2 + 2 * ROOTS_MAX))

struct cell_spec {
    enum tier_id tier;
    uint32_t uid; /* who the cell's processes are to the machine; never 0 */
    uint32_t gid; /* 0 only where the gate is a user of that group, as containers start them */
    uint32_t umask;
    uint32_t threads;       /* of several, one takes no calls */
    bool system;            /* shows the worker all that commands see */
    bool commands;          /* the same, and what commands need: devices, a home, a loopback */
    bool commits;           /* its worker takes over what lies in a session's layer */
    uint64_t home_bytes;    /* of the home that commands share */
    uint64_t tmp_bytes;     /* of the /tmp that each command has */
    char *shown[SHOWN_MAX]; /* folders and files that commands see at their own paths, read-only */
    bool shown_is_file[SHOWN_MAX];
    size_t n_shown;
    char *gitconfig;          /* what git in commands takes for the machine's; NULL: that */
    char *hidden[HIDDEN_MAX]; /* folders that commands do not see, as they would be named there */
    size_t n_hidden;
    struct cell_root roots[ROOTS_MAX];
    size_t n_roots;
    /* Sandgate's folder with the upper layer of an overlay over the first root, which is only read then; host NULL: there
     * is none. Only the launcher has it. */
    struct cell_root layer;
    /* A role's own program (core/role_program.h), which then is the worker; NULL: that is the gate's own file. */
    char *program;
    bool network; /* in the network of whoever starts it */
    struct cell_file files[SPEC_FILES_MAX];
    size_t n_files;
};

/* Notes in `ret` which directory the open `fd` is, and whose. -1 with errno. */
int spec_identify(int fd, struct cell_root *ret);
/* Whether the open `fd` is that directory: by device, inode and time of birth, since a number is given again when its file
 * is gone. */
bool spec_is_root(const struct cell_root *root, int fd);
/* Adds the directory at `host`; its identity and owner are taken now. */
int spec_add_root(struct cell_spec *spec, const struct root *root, const char *protect,
                  struct err *err);
/* Says which folders commands have; those that file tools do not have are added. */
int spec_add_command_roots(struct cell_spec *spec, const struct root *roots, size_t count,
                           struct err *err);
/* Adds the workspace's store, as the last root. It appears at SPEC_STORE. */
int spec_add_store(struct cell_spec *spec, const char *host, struct err *err);
/* The store's index among the roots; ROOTS_MAX: there is none. */
size_t spec_store(const struct cell_spec *spec);
/* Lays an overlay over the first root, whose changes go to the folder at `host`. */
int spec_add_layer(struct cell_spec *spec, const char *host, struct err *err);
/* The folder that changes of a root go to: itself, or its layer. */
const struct cell_root *spec_changed(const struct cell_spec *spec, size_t root);
/* Whether the root itself is only read. */
bool spec_root_is_readonly(const struct cell_spec *spec, size_t root);
/* The folder in a root that is only read, where no mount says so; NULL: none. */
const char *spec_kept(const struct cell_spec *spec, size_t root);
/* Adds a folder or file that commands see. */
int spec_add_shown(struct cell_spec *spec, const char *path, bool is_file, struct err *err);
/* Adds a file that the role's program sees. */
int spec_add_file(struct cell_spec *spec, const char *host, const char *inside, struct err *err);
/* Hides the folder `path` of the machine from commands. */
void spec_hide(struct cell_spec *spec, const char *path);
/* Hides it only where a shown folder contains it or lies in it. To be called when all of these are known. */
void spec_hide_in_shown(struct cell_spec *spec, const char *path);
/* Decides who the cell runs as: the first root's owner, or `spare` in the place of root or where there is none. */
void spec_choose_owner(struct cell_spec *spec, uint32_t euid, uint32_t egid, uint32_t spare);

void spec_write(const struct cell_spec *spec, struct json_out *j);
int spec_read(struct str json, struct cell_spec *ret, struct err *err);
void spec_done(struct cell_spec *spec);

#endif
