/* Anthropic's content blocks: `tool_use` in, `tool_result` out. */
#include "dialect/format_row.h"

#define SHAPE "{\"type\":\"tool_use\",\"id\":…,\"name\":…,\"input\":{…}}"

static int read_tool_use_block(yyjson_val *root, struct request *ret, struct err *err)
{
    if (format_take_id(root, "id", ret, err) < 0)
        return -1;
    /* Other blocks have names too: what `server_tool_use` asks for, the API's side does itself. */
    yyjson_val *type = yyjson_obj_get(root, "type");
    if (type && !str_is(json_str(type), "tool_use"))
        return err_field(err, "type", "a call is " SHAPE);
    if (format_take_name(root, SHAPE, ret, err) < 0)
        return -1;
    return format_take_arguments(root, "input", ret, err);
}

static void write_block(const struct request *r, struct call *call, bool bare, struct json_out *j)
{
    (void)bare;
    jo_open(j, '{');
    jo_ktext(j, "type", "tool_result");
    format_put_id(r, "tool_use_id", j);
    format_put_answer(call, "content", j);
    jo_kbool(j, "is_error", call->failed);
    jo_close(j, '}');
}

static void write_tool_use_block(const char *tool, struct str arguments, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "type", "tool_use");
    jo_ktext(j, "name", tool);
    jo_kstr(j, "input", arguments);
    jo_close(j, '}');
}

const struct format format_anthropic = {
    .name = "anthropic",
    .no_dots = true,
    .read = read_tool_use_block,
    .write = write_block,
    .list = format_list_tool,
    .write_call = write_tool_use_block,
};
