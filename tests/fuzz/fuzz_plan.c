/* The plan of a cell's mounts for folders of any depth: each step's path is whole, and relative to the new root. */
#include "base/mem.h"
#include "cell/plan.h"
#include "machine.h"
#include "target.h"

static void check_steps(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct step *step = &plan->steps[i];
        must(step->slot < plan->slots);
        if (step->kind == STEP_MKDIR || step->kind == STEP_ATTACH || step->kind == STEP_PIN)
            must(step->to && step->to[0] != '/');
    }
}

static void check_plan(const struct machine *m)
{
    static const struct place places[] = {{"/bin", PLACE_LINK, "usr/bin"},
                                          {"/b", PLACE_LINK, "a/longer/place"},
                                          {"/usr", PLACE_FOLDER, ""}};
    struct cell_spec spec = {.n_roots = m->count, .commands = true, .n_shown = 1};
    for (size_t i = 0; i < m->count; i++)
        spec.roots[i] = (struct cell_root){.host = mem_dup(m->roots[i].host),
                                           .inside = mem_dup(m->roots[i].inside),
                                           .protect = mem_dup("logs/x"),
                                           .commands = i % 2 == 0,
                                           .files = true};
    spec.shown[0] = mem_dup(m->base);
    struct plan plan;
    plan_make(&spec, places, ARRAY_LEN(places), "/tmp", &plan);
    check_steps(&plan);
    BUF_AT_END struct buf out = BUF_INIT(16u << 20);
    plan_print(&plan, &out);
    must(out.len > 0 && !out.failed);
    plan_done(&plan);
    spec_done(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct machine machine;
    struct input in = {data, size};
    make_machine(&machine, &in);
    check_plan(&machine);
    return 0;
}
