#include "core/runner.h"

const struct runner_kind runner_kinds[RUN_COUNT] = {
    [RUN_BUILTIN] = {.in_prepare = true},
    [RUN_WORKER] = {0},
    [RUN_ROLE] = {0},
    [RUN_COMMAND] = {.programs = true},
    [RUN_SESSION] = {0},
};

bool tool_runs_programs(const struct tool *tool)
{
    return tool && runner_kinds[tool->runner].programs;
}
