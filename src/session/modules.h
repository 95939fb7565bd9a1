/* Modules of tools: as they came, and as they were compiled. What was compiled is native code, and Wasmtime runs whatever it is
 * given: it is kept in the state folder, where no cell reaches, under the module's hash, the version and the processor, and its
 * own hash is checked each time. */
#ifndef SANDGATE_SESSION_MODULES_H
#define SANDGATE_SESSION_MODULES_H

#include "base/buf.h"
#include "core/manifest.h"

#define MODULE_BYTES_MAX ((size_t)64 << 20)

/* The module itself, which is the one that the manifest means. */
int modules_source(const struct manifest *manifest, struct buf *ret, struct err *err);
/* What it was compiled to, behind what `ret` has. False: there is none that can be used. */
bool modules_compiled(const struct manifest *manifest, struct buf *ret);
int modules_keep(const struct manifest *manifest, struct str compiled, struct err *err);

#endif
