/* Sandgate's own: {"id":…,"tool_call":{"name":…,"arguments":{…}}}, answered {"id":…,"result":…}. What
 * a command prints meanwhile: {"id":…,"event":"output","stream":…,"data":…}. */
#include <stdlib.h>

#include "base/mem.h"
#include "dialect/format_row.h"

#define SHAPE "{\"id\":…,\"tool_call\":{\"name\":…,\"arguments\":{…}}}"

/* The older {"tool_call":{"name":…}} and {"tool_call":"name"} too. */
static int read_tool_call(yyjson_val *root, struct request *ret, struct err *err)
{
    if (format_take_id(root, "id", ret, err) < 0)
        return -1;
    yyjson_val *call = yyjson_obj_get(root, "tool_call");
    if (!yyjson_is_str(call) && !yyjson_is_obj(call))
        return err_field(err, "tool_call", "a request is " SHAPE);
    ret->arguments = yyjson_obj_get(call, "arguments");
    return format_take_name(call, SHAPE, ret, err);
}

static void write_answer(const struct request *r, struct call *call, bool bare, struct json_out *j)
{
    if (bare) {
        call_write_answer(call, j);
        return;
    }
    jo_open(j, '{');
    format_put_id(r, "id", j);
    jo_key(j, "result");
    call_write_answer(call, j);
    jo_close(j, '}');
}

static void write_output_event(const struct request *r, const struct printed *printed,
                               struct json_out *j)
{
    jo_open(j, '{');
    format_put_id(r, "id", j);
    jo_ktext(j, "event", "output");
    jo_ktext(j, "stream", stream_names[printed->stream]);
    if (printed->skipped)
        jo_kint(j, "skipped", (int64_t)printed->skipped);
    jo_kstr(j, "data", printed->bytes);
    jo_close(j, '}');
}

static void write_tool_call(const char *tool, struct str arguments, struct json_out *j)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    json_parse(arguments.p, arguments.n, arguments.n, JSON_STRICT, &doc, NULL);
    /* Written anew, because the caller's text may have line breaks between its values. */
    FREE_AT_END char *json = doc ? yyjson_write(doc, 0, NULL) : NULL;
    jo_open(j, '{');
    jo_ktext(j, "id", "1");
    jo_key(j, "tool_call");
    jo_open(j, '{');
    jo_ktext(j, "name", tool);
    jo_key(j, "arguments");
    if (json)
        jo_raw(j, (struct str){json, strlen(json)});
    else
        jo_str(j, arguments);
    jo_close(j, '}');
    jo_close(j, '}');
}

const struct format format_tool_call = {
    .name = "tool_call",
    .read = read_tool_call,
    .write = write_answer,
    .write_printed = write_output_event,
    .list = format_list_tool,
    .write_call = write_tool_call,
};
