#include <stdlib.h>

#include "base/mem.h"
#include "cell/plan_parts.h"

/* Names are looked up as on a machine without services for that. */
#define NAMES_FROM "hosts: files dns\n"

/* A role's own program sees its files and nothing else. */
void plan_for_program(const struct cell_spec *spec, const char *staging, struct plan *plan)
{
    int slots[SPEC_FILES_MAX];
    plan_add(plan, STEP_PRIVATE);
    for (size_t i = 0; i < spec->n_files; i++) {
        slots[i] = plan_clone(plan, spec->files[i].host, -1, true);
        plan->steps[plan->count - 1].file = (int)i;
    }
    plan_add(plan, STEP_TMPFS)->to = mem_dup(staging);
    for (size_t i = 0; i < spec->n_files; i++) {
        const char *inside = spec->files[i].inside;
        FREE_AT_END char *folder = mem_copy(inside, (size_t)(path_name(inside) - inside));
        if (*plan_relative(folder))
            plan_add_folder(plan, folder);
        plan_add(plan, STEP_FILE)->to = mem_dup(plan_relative(inside));
        plan_attach(plan, slots[i], inside);
    }
    if (spec->network) {
        plan_add_folder(plan, "/etc");
        plan_add_text(plan, "/etc/nsswitch.conf", mem_dup(NAMES_FROM));
    }
    plan_add(plan, STEP_PIVOT);
    plan_add(plan, STEP_SEAL);
}
