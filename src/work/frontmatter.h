/* Changing the YAML front matter of a text file: the part between a first line `---` and the next
 * line `---` or `...`. Only the bytes of changed values change: comments, order, quoting, anchors,
 * line ends and everything behind the front matter stay as they are. No file is touched here. */
#ifndef SANDGATE_WORK_FRONTMATTER_H
#define SANDGATE_WORK_FRONTMATTER_H

#include <yyjson.h>

#include "base/buf.h"
#include "base/err.h"

#define FRONTMATTER_MAX ((size_t)1 << 20)

/* `update` is an object, one member a top-level key of the front matter:
 *   {"key": {"set": VALUE}}             replaces the value, or adds the key
 *   {"key": {"append": [VALUE,...]}}    adds to a list, which is made when there is none; also a
 *                                       single VALUE; "unique": true leaves out strings that are
 *                                       in the list already
 *   {"key": {"merge": {KEY: VALUE,...}}} sets keys of a mapping, which is made when there is none
 *   {"key": {"remove": true}}           removes the key, if it is there
 *
 * An empty value and null are an empty list or mapping. A list or mapping with an anchor changes
 * for all that refer to it; a value is not replaced or removed when that would leave an alias
 * without its anchor. `out` gets the whole new file, and is left alone on failure. */
int frontmatter_patch(struct str file, yyjson_val *update, struct buf *out, struct err *err);

#endif
