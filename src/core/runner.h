/* The kinds of runners: who carries out a prepared call. Code that must know what a tool's kind is like asks its row here;
 * what it does, its struct runner (core/pipeline.h) knows. */
#ifndef SANDGATE_CORE_RUNNER_H
#define SANDGATE_CORE_RUNNER_H

#include "core/tool.h"

struct runner_kind {
    /* The tool's `prepare` does the work: it is called once, when all that has to be asked and paid is. */
    bool in_prepare;
    /* A call has a program of its own: rules about programs hold for it, limits of memory and processors can be kept, and
     * its time limit is the program's. */
    bool programs;
};

extern const struct runner_kind runner_kinds[RUN_COUNT];

/* Whether calls of this tool run programs; NULL: of no tool. */
bool tool_runs_programs(const struct tool *tool);

#endif
