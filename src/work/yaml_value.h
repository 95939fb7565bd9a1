/* Between JSON values and YAML text. What is written reads back as the same value under YAML 1.2
 * and 1.1: strings that either of them takes for something else are quoted. */
#ifndef SANDGATE_WORK_YAML_VALUE_H
#define SANDGATE_WORK_YAML_VALUE_H

#include <yyjson.h>

#include "work/yaml_tree.h"

/* Longer keys are not allowed on one line with their value. */
#define YAML_KEY_MAX 1000

/* On one line, lists and mappings in brackets; `in_flow` when it stands in brackets itself. */
void yaml_write(struct buf *out, yyjson_val *value, bool in_flow);
void yaml_write_string(struct buf *out, struct str text, bool in_flow);
/* False when a key in it, or the value itself, is too long or nested too deeply to be written. */
bool yaml_can_write(yyjson_val *value);
bool yaml_can_write_key(struct str key);

/* Nothing, `~` or `null` without a tag. */
bool yaml_is_nothing(const struct yaml_node *node);
/* A scalar that YAML 1.2 reads as neither null, boolean nor number. */
bool yaml_is_string(const struct yaml_node *node);
bool yaml_reads_as(const struct yaml_tree *tree, uint32_t index, yyjson_val *value);

#endif
