/* What a person is shown of a change to files before saying yes. */
#ifndef SANDGATE_GATE_SUMMARY_PREVIEW_H
#define SANDGATE_GATE_SUMMARY_PREVIEW_H

#include "session/preview.h"

/* Adds the diff, or what is removed or replaced. False: not all of it is shown. */
bool summary_preview(const struct call *call, const struct preview *preview, struct buf *out);

#endif
