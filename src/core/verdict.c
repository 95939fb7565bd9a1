#include "core/verdict.h"

#include <stdlib.h>

#include "core/denials.h"

const char *const charge_unit_names[] = {"calls",       "bytesWritten", "seconds", "networkBytes",
                                         "modelTokens", "money",        NULL};
const char *const charge_period_names[] = {"daily", "weekly", "monthly", NULL};

void verdict_ask(struct verdict *verdict)
{
    verdict->kind = VERDICT_ASK;
    verdict->own_home = false;
    free(verdict->leaves);
    verdict->leaves = NULL;
    verdict->leaves_n = 0;
}

void verdict_done(struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->n_charges; i++)
        free(verdict->charges[i].key);
    free(verdict->charges);
    denials_unref(verdict->denied);
    free(verdict->leaves);
    *verdict = (struct verdict){0};
}
