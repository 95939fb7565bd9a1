/* A part of JSON Schema, for the arguments and results of tools that come with a manifest. What is not understood is refused
 * when it is read, so that no schema promises a check that is not made.
 *
 * Understood: type (one of object, array, string, integer, number, boolean, null), enum and const of scalars, properties,
 * required, additionalProperties (true or false), items, minItems, maxItems, minLength, maxLength (characters), minimum,
 * maximum, exclusiveMinimum, exclusiveMaximum. Said and not checked: title, description, default, examples, $comment,
 * $schema, deprecated. */
#ifndef SANDGATE_CORE_SCHEMA_H
#define SANDGATE_CORE_SCHEMA_H

#include "base/err.h"
#include "base/json.h"

#define SCHEMA_DEPTH_MAX 12
#define SCHEMA_PROPERTIES_MAX 64
#define SCHEMA_NAME_MAX 40

/* Whether `schema`, which stands at `way` in its file, is understood throughout. The error's field is where it is not. */
int schema_read(yyjson_val *schema, const char *way, struct err *err);
/* Holds a value against a schema that was read. The error names the place in the value; `what` is what the value is called:
 * `argument`. Its reason is `missing`, `type`, `range` or `unknown`. */
int schema_check(yyjson_val *schema, const char *what, yyjson_val *value, struct err *err);

/* Names that can stand as keys in lists, logs and rules: letters, digits, `_`, `-` and `.`. */
bool schema_is_name(struct str name);

#endif
