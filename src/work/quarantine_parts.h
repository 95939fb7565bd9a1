/* How the quarantine's parts know each other: quarantine.c decides what goes and gives it another name, quarantine_copy.c
 * moves it to the store, quarantine_resume.c ends a move that was cut off. */
#ifndef SANDGATE_WORK_QUARANTINE_PARTS_H
#define SANDGATE_WORK_QUARANTINE_PARTS_H

#include "work/work.h"

/* The place of an entry, or of the root itself. */
int quarantine_find_place(const struct beneath_root *root, const char *path,
                          struct beneath_place *ret, struct err *err);
/* Whether a name in an open folder, or with "" the folder itself, is what was found. */
bool quarantine_is_same(int dir, const char *name, const struct op_guarded *was);
/* What git took for a repository is none under another name either. */
void quarantine_take_head(int dir, const char *name);

/* The folder of the store in which copies lie, made if need be; -errno. */
int quarantine_open(const struct beneath_root *store);
/* Removes a copy that was cut off: nothing but its own move knows of it. */
void quarantine_drop_part(struct work *w, const struct beneath_root *store,
                          const struct op_quarantine_request *q);
/* From the name that it was given aside. What cannot be copied as a whole stays there. */
enum quarantine_outcome quarantine_move_out(struct work *w, const struct beneath_root *store,
                                            const struct op_quarantine_request *q,
                                            const struct beneath_place *place, const char *aside,
                                            struct op_quarantine_reply *ret);
/* Of what was copied. */
void quarantine_remove_aside(struct work *w, const struct op_quarantine_request *q,
                             const struct beneath_place *place, const char *aside,
                             struct op_quarantine_reply *ret);

/* A request with `resume`. */
int quarantine_resume(struct work *w, const struct beneath_root *store,
                      const struct beneath_root *root, const struct op_quarantine_request *q,
                      const struct op_guarded *was, struct op_quarantine_reply *ret,
                      struct err *err);

#endif
