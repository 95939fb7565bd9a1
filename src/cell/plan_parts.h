/* Steps of a plan: for plan.c, which makes cells for sessions, and plan_program.c, which makes those for roles. */
#ifndef SANDGATE_CELL_PLAN_PARTS_H
#define SANDGATE_CELL_PLAN_PARTS_H

#include "cell/plan.h"

struct step *plan_add(struct plan *plan, enum step_kind kind);
/* Inside the new root, which is the working directory, every path is relative. */
const char *plan_relative(const char *path);
/* The slot. */
int plan_clone(struct plan *plan, const char *from, int root, bool readonly);
/* No slot, nothing to attach. */
void plan_attach(struct plan *plan, int slot, const char *to);
void plan_add_folder(struct plan *plan, const char *path);
/* Takes the text. */
void plan_add_text(struct plan *plan, const char *path, char *text);

/* A role's own program sees its files and nothing else. */
void plan_for_program(const struct cell_spec *spec, const char *staging, struct plan *plan);

#endif
