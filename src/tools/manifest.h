/* How a tool that comes with a manifest is done. */
#ifndef SANDGATE_TOOLS_MANIFEST_H
#define SANDGATE_TOOLS_MANIFEST_H

#include "core/manifest.h"

/* Completes the tool's row. */
void manifest_tool_init(struct manifest *manifest);

#endif
