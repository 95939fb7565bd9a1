/* The files in `audit`: slots (`000.jsonl`) and what was rotated out of them (`000.20240501T120000.123Z.jsonl`). */
#ifndef SANDGATE_STORE_AUDIT_FILES_H
#define SANDGATE_STORE_AUDIT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SLOT_NAME_MAX sizeof "000.jsonl"
#define ROTATED_NAME_MAX sizeof "000.20240501T120000.123Z.jsonl"

enum audit_slot {
    AUDIT_SLOT_FAILED = -1,
    AUDIT_SLOT_BUSY,  /* a living gate holds it */
    AUDIT_SLOT_MOVED, /* renamed meanwhile: the name is free or another file's */
    AUDIT_SLOT_OURS,
};

/* Opens and locks one file of the folder `dir`; `create` is O_CREAT or 0. */
enum audit_slot audit_slot_lock(int dir, const char *name, int create, int *ret_fd,
                                struct err *err);
/* Without the lock; -1 with errno. `create` is O_CREAT, with O_EXCL or without it, or 0. */
int audit_slot_open(int dir, const char *name, int create);
bool audit_is_slot(const char *name);
bool audit_is_rotated(const char *name);
/* Of a name that is one of these. */
unsigned audit_slot_number(const char *name);

struct audit_names {
    char (*names)[ROTATED_NAME_MAX];
    size_t n;
};
/* The files of a slot (any name that begins with its number), or all with NULL, that `wanted` takes; sorted by
 * name, which for the rotated ones of a slot is their order in the chain. -errno. */
int audit_names_list(int dir, const char *slot, bool (*wanted)(const char *name),
                     struct audit_names *ret);
void audit_names_done(struct audit_names *names);

/* The newest rotated file of the slot that has anything in it, opened for reading, or -1. */
int audit_newest_rotated(int dir, const char *slot);
/* A name for the slot's file that sorts behind every other of the slot, also when the clock was put back. */
bool audit_next_rotated(int dir, const char *slot, char ret[ROTATED_NAME_MAX]);

/* Says what the operator can do about a failed read or write; `code` is a positive errno. */
int audit_io_error(struct err *err, int code);

#endif
