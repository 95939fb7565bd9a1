/* A hook's note as it may stand in the log. */
#ifndef SANDGATE_GATE_HOOK_NOTE_H
#define SANDGATE_GATE_HOOK_NOTE_H

#include "base/buf.h"
#include "base/json.h"

/* Writes the object without its secrets: values behind names of secrets, and what is found in strings and keys. */
void hook_note_write(yyjson_val *object, struct buf *out);

#endif
