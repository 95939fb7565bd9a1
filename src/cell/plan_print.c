#include "cell/plan.h"

void plan_print(const struct plan *plan, struct buf *out)
{
    static const char *const names[] = {
        [STEP_PRIVATE] = "private", [STEP_CLONE] = "clone",     [STEP_TMPFS] = "tmpfs",
        [STEP_MKDIR] = "mkdir",     [STEP_SYMLINK] = "symlink", [STEP_FILE] = "file",
        [STEP_CLOSED] = "closed",   [STEP_SCRATCH] = "scratch", [STEP_ATTACH] = "attach",
        [STEP_PIN] = "pin",         [STEP_PROC] = "proc",       [STEP_PIVOT] = "pivot",
        [STEP_SEAL] = "seal",       [STEP_TEXT] = "text",       [STEP_COVER] = "cover",
        [STEP_WORKER] = "worker",   [STEP_KEEP] = "keep",       [STEP_LEAVE] = "leave",
        [STEP_OVERLAY] = "overlay",
    };
    for (size_t i = 0; i < plan->count; i++) {
        const struct step *s = &plan->steps[i];
        buf_add_text(out, names[s->kind]);
        if (s->slot >= 0)
            buf_addf(out, " #%d", s->slot);
        if (s->kind == STEP_OVERLAY)
            buf_addf(out, " #%d", s->layer);
        if (s->from && s->kind != STEP_TEXT)
            buf_addf(out, " %s", s->from);
        if (s->to)
            buf_addf(out, " -> %s", s->to);
        if (s->readonly)
            buf_add_text(out, " ro");
        buf_add_char(out, '\n');
    }
}
