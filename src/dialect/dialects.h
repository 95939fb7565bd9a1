/* The dialects there are. */
#ifndef SANDGATE_DIALECT_DIALECTS_H
#define SANDGATE_DIALECT_DIALECTS_H

#include "core/dialect.h"

extern const struct dialect dialect_native;
extern const struct dialect dialect_sidecar;
extern const struct dialect dialect_system;
extern const struct dialect dialect_toolhost;
extern const struct dialect dialect_runner;

/* By name; NULL with an error that lists them. */
const struct dialect *dialect_find(const char *name, struct err *err);

/* The `close` of a dialect that has one object around a tool's fields. */
void dialect_close_object(const struct call *call, struct json_out *j);

#endif
