/* Tools that come with a manifest, from the operator's folders (`runtime.toolFolders`). */
#ifndef SANDGATE_GATE_MANIFESTS_H
#define SANDGATE_GATE_MANIFESTS_H

#include "core/config.h"
#include "core/manifest.h"

struct manifests;

/* Reads all of them and puts them into the registry. One that is wrong is warned of and left out; a folder that cannot be
 * used is an error. */
int manifests_load(const struct config *config, struct manifests **ret, struct err *err);
/* The same, and before them the one in parent/NAME, which has to be right; NULL: none. Another of its name gives way. */
int manifests_load_with(const struct config *config, const char *parent, const char *name,
                        struct manifests **ret, struct err *err);
/* Takes them out of the registry. Accepts NULL. */
void manifests_free(struct manifests *manifests);

/* Reads `folder`/NAME/manifest.json: neither file nor folder may be a link, or another user's. */
int manifests_read_one(const char *folder, const char *name, struct manifest **ret,
                       struct err *err);

#endif
