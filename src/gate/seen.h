/* Under which other paths Sandgate's own folders are seen: a mount of one, of a folder around it or of one in it. */
#ifndef SANDGATE_GATE_SEEN_H
#define SANDGATE_GATE_SEEN_H

#include "gate/places.h"

/* Refuses a session whose cell would show the state, or the configuration, by another name than its own: in a folder of the
 * session, of commands.show, or a place of the machine that commands have. At its own path it is hidden there
 * (session/make_spec.c), and no folder of the session contains it (gate/state.h). */
int seen_refuse(const struct places *places, const struct config *config, const char *config_file,
                struct err *err);

#endif
