#include "core/runner.h"

const struct runner_kind runner_kinds[RUN_COUNT] = {
    [RUN_BUILTIN] = {"builtin", .in_prepare = true},
    [RUN_WORKER] = {"worker"},
    [RUN_COMMAND] = {"command", .programs = true},
};

bool tool_runs_programs(const struct tool *tool)
{
    return tool && runner_kinds[tool->runner].programs;
}
