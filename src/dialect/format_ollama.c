/* Ollama's chat: an entry of `tool_calls` in, a message with role `tool` out. */
#include "dialect/format_row.h"

#define SHAPE "{\"function\":{\"name\":…,\"arguments\":{…}}}"

/* Newer servers add `id` and `function.index`; the client libraries know neither and drop them. */
static int read_ollama_call(yyjson_val *root, struct request *ret, struct err *err)
{
    if (format_take_id(root, "id", ret, err) < 0)
        return -1;
    yyjson_val *function = yyjson_obj_get(root, "function");
    if (!yyjson_is_obj(function))
        return err_field(err, "function", "a call is " SHAPE);
    if (format_take_name(function, SHAPE, ret, err) < 0)
        return -1;
    return format_take_arguments(function, "arguments", ret, err);
}

/* The tool as the caller named it, which is how a model knows its call again. Only a call with an
 * id gets one back: the libraries' messages have no such field. */
static void write_ollama_message(const struct request *r, struct call *call, bool bare,
                                 struct json_out *j)
{
    (void)bare;
    jo_open(j, '{');
    jo_ktext(j, "role", "tool");
    jo_ktext(j, "tool_name", call->name);
    if (r->id_json)
        format_put_id(r, "tool_call_id", j);
    format_put_answer(call, "content", j);
    jo_close(j, '}');
}

static void write_ollama_call(const char *tool, struct str arguments, struct json_out *j)
{
    jo_open(j, '{');
    jo_key(j, "function");
    jo_open(j, '{');
    jo_ktext(j, "name", tool);
    jo_kstr(j, "arguments", arguments);
    jo_close(j, '}');
    jo_close(j, '}');
}

const struct format format_ollama = {
    .name = "ollama",
    .read = read_ollama_call,
    .write = write_ollama_message,
    .list = format_list_function,
    .write_call = write_ollama_call,
};
