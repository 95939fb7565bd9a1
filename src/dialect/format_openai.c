/* OpenAI's two APIs. Their calls may come on one input: each says by itself which it is, and is
 * answered in kind. The two rows differ in their lists, and in what they take a line for that says
 * nothing. */
#include "dialect/format_row.h"

#define CHAT_SHAPE                                                                                 \
    "{\"id\":…,\"type\":\"function\",\"function\":{\"name\":…,\"arguments\":\"{…}\"}}"
#define ITEM_SHAPE "{\"type\":\"function_call\",\"call_id\":…,\"name\":…,\"arguments\":\"{…}\"}"

static int read_message_call(yyjson_val *root, struct request *ret, struct err *err)
{
    ret->kind = REQUEST_CHAT;
    if (format_take_id(root, "id", ret, err) < 0)
        return -1;
    yyjson_val *function = yyjson_obj_get(root, "function");
    if (!yyjson_is_obj(function))
        return err_field(err, "function", "a call is " CHAT_SHAPE);
    if (format_take_name(function, CHAT_SHAPE, ret, err) < 0)
        return -1;
    return format_take_arguments(function, "arguments", ret, err);
}

static int read_item(yyjson_val *root, struct request *ret, struct err *err)
{
    ret->kind = REQUEST_ITEM;
    if (format_take_id(root, "call_id", ret, err) < 0 ||
        format_take_name(root, ITEM_SHAPE, ret, err) < 0)
        return -1;
    return format_take_arguments(root, "arguments", ret, err);
}

static bool is_item(yyjson_val *root)
{
    return str_is(json_str(yyjson_obj_get(root, "type")), "function_call");
}

static int read_openai_call(yyjson_val *root, struct request *ret, struct err *err)
{
    return is_item(root) ? read_item(root, ret, err) : read_message_call(root, ret, err);
}

static int read_responses(yyjson_val *root, struct request *ret, struct err *err)
{
    if (is_item(root))
        return read_item(root, ret, err);
    if (yyjson_obj_get(root, "function"))
        return read_message_call(root, ret, err);
    if (format_take_id(root, "call_id", ret, err) < 0)
        return -1;
    return err_field(err, "type", "a call is " ITEM_SHAPE);
}

static void write_openai_message(const struct request *r, struct call *call, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "role", "tool");
    format_put_id(r, "tool_call_id", j);
    format_put_answer(call, "content", j);
    jo_close(j, '}');
}

static void write_item(const struct request *r, struct call *call, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "type", "function_call_output");
    format_put_id(r, "call_id", j);
    format_put_answer(call, "output", j);
    jo_close(j, '}');
}

static void write_chat(const struct request *r, struct call *call, bool bare, struct json_out *j)
{
    (void)bare;
    if (r->kind == REQUEST_ITEM)
        write_item(r, call, j);
    else
        write_openai_message(r, call, j);
}

static void write_responses(const struct request *r, struct call *call, bool bare,
                            struct json_out *j)
{
    (void)bare;
    if (r->kind == REQUEST_CHAT)
        write_openai_message(r, call, j);
    else
        write_item(r, call, j);
}

static void list_responses(const struct tool *tool, const char *name, struct json_out *j)
{
    jo_ktext(j, "type", "function");
    format_put_tool(tool, name, "parameters", j);
    /* Strict is that API's default, and allows no argument to be left out. */
    jo_kbool(j, "strict", false);
}

static void write_message_call(const char *tool, struct str arguments, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "type", "function");
    jo_key(j, "function");
    jo_open(j, '{');
    jo_ktext(j, "name", tool);
    jo_kstr(j, "arguments", arguments);
    jo_close(j, '}');
    jo_close(j, '}');
}

static void write_item_call(const char *tool, struct str arguments, struct json_out *j)
{
    jo_open(j, '{');
    jo_ktext(j, "type", "function_call");
    jo_ktext(j, "name", tool);
    jo_kstr(j, "arguments", arguments);
    jo_close(j, '}');
}

const struct format format_openai = {
    .name = "openai",
    .no_dots = true,
    .read = read_openai_call,
    .write = write_chat,
    .list = format_list_function,
    .write_call = write_message_call,
};

const struct format format_openai_responses = {
    .name = "openai-responses",
    .no_dots = true,
    .read = read_responses,
    .write = write_responses,
    .list = list_responses,
    .write_call = write_item_call,
};
