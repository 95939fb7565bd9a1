/* The rows of list.h, for core/registry.h. */
#ifndef SANDGATE_TOOLS_ALL_H
#define SANDGATE_TOOLS_ALL_H

#include "core/tool.h"

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared */
#define TOOL(name) extern const struct tool name;
#include "tools/list.h"
#undef TOOL

static const struct tool *const tools_all[] = {
#define TOOL(name) &(name),
#include "tools/list.h"
#undef TOOL
    NULL};

#endif
