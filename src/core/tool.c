#include "core/tool.h"

#include <stdlib.h>

#include "core/schema.h"

/* No arguments are an empty object. */
static int check_arguments(yyjson_val *schema, yyjson_val *object, struct err *err)
{
    JSON_AT_END yyjson_doc *empty = NULL;
    if (!object || yyjson_is_null(object)) {
        empty = yyjson_read("{}", 2, 0);
        object = yyjson_doc_get_root(empty);
    }
    return schema_check(schema, "argument", object, err);
}

int tool_decode(const struct tool *tool, bool strict, yyjson_val *object, void *out,
                struct err *err)
{
    return tool->input ? check_arguments(tool->input, object, err)
                       : arg_decode(&tool->args, strict, object, out, err);
}

static void write_schema_text(yyjson_val *val, struct json_out *j)
{
    size_t n = 0;
    char *text = yyjson_val_write(val, 0, &n);
    jo_raw(j, (struct str){text ? text : "{}", text ? n : 2});
    free(text);
}

void tool_write_input(const struct tool *tool, bool brief, struct json_out *j)
{
    if (tool->input)
        write_schema_text(tool->input, j);
    else if (brief)
        arg_schema_short(&tool->args, j);
    else
        arg_schema(&tool->args, j);
}
