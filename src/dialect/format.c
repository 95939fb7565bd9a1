#include "dialect/format.h"

#include <stdlib.h>

#include "base/mem.h"
#include "core/registry.h"

#define ID_BYTES_MAX 1024ul

static const char *const names[FORMAT_COUNT] = {
    [FORMAT_TOOL_CALL] = "tool_call",
    [FORMAT_OPENAI] = "openai",
};

void request_done(struct request *r)
{
    yyjson_doc_free(r->doc);
    free(r->id_json);
    free(r->id);
    free(r->name);
    *r = (struct request){0};
}

int format_find(const char *name, enum format_id *ret, struct err *err)
{
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret = (enum format_id)i;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID_ARGUMENTS,
                   "there is no format `%.40s`; available: tool_call, openai", name);
}

char *format_id_json(yyjson_val *id)
{
    if (yyjson_is_uint(id))
        return mem_format("%llu", (unsigned long long)yyjson_get_uint(id));
    if (yyjson_is_sint(id))
        return mem_format("%lld", (long long)yyjson_get_sint(id));
    if (!yyjson_is_str(id) || yyjson_get_len(id) > ID_BYTES_MAX)
        return NULL;
    BUF_AT_END struct buf text = BUF_INIT(8 * ID_BYTES_MAX);
    struct json_out j = {.out = &text};
    jo_str(&j, json_str(id));
    return mem_copy(text.data, text.len);
}

static int take_id(yyjson_val *id, const char *key, struct request *ret, struct err *err)
{
    if (!id || yyjson_is_null(id))
        return 0;
    ret->id_json = format_id_json(id);
    if (!ret->id_json)
        return err_field(err, key, "`%s` must be a string of at most %lu bytes or an integer", key,
                         ID_BYTES_MAX);
    ret->id = yyjson_is_str(id) ? mem_copy(yyjson_get_str(id), yyjson_get_len(id))
                                : mem_dup(ret->id_json);
    return 0;
}

static int take_name(yyjson_val *name, struct request *ret, struct err *err)
{
    if (!yyjson_is_str(name))
        return err_field(err, "name", "the call names no tool");
    if (strlen(yyjson_get_str(name)) != yyjson_get_len(name))
        return err_set(err, ERR_UNKNOWN_TOOL,
                       "there is no tool `%.60s…` with a NUL byte in its name",
                       yyjson_get_str(name));
    ret->name = mem_copy(yyjson_get_str(name), yyjson_get_len(name));
    return 0;
}

/* {"tool_call":{"name":…,"arguments":{…}}}, and the older {"tool_call":{"name":…}} and
 * {"tool_call":"name"}. */
static int read_tool_call(yyjson_val *root, struct request *ret, struct err *err)
{
    if (take_id(yyjson_obj_get(root, "id"), "id", ret, err) < 0)
        return -1;
    yyjson_val *call = yyjson_obj_get(root, "tool_call");
    if (yyjson_is_str(call))
        return take_name(call, ret, err);
    if (!yyjson_is_obj(call))
        return err_field(err, "tool_call",
                         "a request is {\"id\":…,\"tool_call\":{\"name\":…,\"arguments\":{…}}}");
    ret->arguments = yyjson_obj_get(call, "arguments");
    return take_name(yyjson_obj_get(call, "name"), ret, err);
}

/* Arguments are JSON text inside a string; a client that sends the object itself is understood. */
static int take_argument_text(yyjson_val *val, struct request *ret, struct err *err)
{
    if (!yyjson_is_str(val)) {
        ret->arguments = val;
        return 0;
    }
    struct str text = json_str(val);
    if (text.n == 0)
        return 0;
    yyjson_doc *inner = NULL;
    struct json_error why;
    if (json_parse(text.p, text.n, text.n, JSON_STRICT, &inner, &why) < 0)
        return err_field(err, "arguments", "the arguments are not valid JSON: %s", why.what);
    yyjson_doc_free(ret->doc);
    ret->doc = inner;
    ret->arguments = yyjson_doc_get_root(inner);
    return 0;
}

static int read_openai(yyjson_val *root, struct request *ret, struct err *err)
{
    yyjson_val *type = yyjson_obj_get(root, "type");
    ret->responses = str_is(json_str(type), "function_call");
    yyjson_val *id = yyjson_obj_get(root, ret->responses ? "call_id" : "id");
    if (take_id(id, ret->responses ? "call_id" : "id", ret, err) < 0)
        return -1;
    yyjson_val *function = ret->responses ? root : yyjson_obj_get(root, "function");
    if (!yyjson_is_obj(function))
        return err_field(err, "function",
                         "a call is {\"id\":…,\"type\":\"function\",\"function\":{\"name\":…,"
                         "\"arguments\":\"…\"}}");
    if (take_name(yyjson_obj_get(function, "name"), ret, err) < 0)
        return -1;
    return take_argument_text(yyjson_obj_get(function, "arguments"), ret, err);
}

int format_read(enum format_id format, yyjson_doc *doc, struct request *ret, struct err *err)
{
    ret->doc = doc;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root))
        return err_field(err, "", "a request must be a JSON object");
    return format == FORMAT_OPENAI ? read_openai(root, ret, err) : read_tool_call(root, ret, err);
}

static void write_openai(const struct request *r, struct call *call, struct buf *out)
{
    BUF_AT_END struct buf answer = BUF_INIT(out->max);
    struct json_out inner = {.out = &answer};
    call_write_answer(call, &inner);
    struct json_out j = {.out = out};
    jo_open(&j, '{');
    if (r->responses)
        jo_ktext(&j, "type", "function_call_output");
    else
        jo_ktext(&j, "role", "tool");
    jo_key(&j, r->responses ? "call_id" : "tool_call_id");
    jo_raw(&j, r->id_json ? (struct str){r->id_json, strlen(r->id_json)} : STR("null"));
    jo_key(&j, r->responses ? "output" : "content");
    if (call->dialect->text)
        jo_raw(&j, buf_str(&answer));
    else
        jo_str(&j, buf_str(&answer));
    jo_close(&j, '}');
}

void format_write(enum format_id format, const struct request *r, struct call *call, bool bare,
                  struct buf *out)
{
    if (format == FORMAT_OPENAI) {
        write_openai(r, call, out);
        return;
    }
    struct json_out j = {.out = out};
    if (!bare) {
        jo_open(&j, '{');
        jo_key(&j, "id");
        jo_raw(&j, r->id_json ? (struct str){r->id_json, strlen(r->id_json)} : STR("null"));
        jo_key(&j, "result");
    }
    call_write_answer(call, &j);
    if (!bare)
        jo_close(&j, '}');
}

static void list_one(enum format_id format, const struct tool *tool, struct json_out *j)
{
    bool openai = format == FORMAT_OPENAI;
    jo_open(j, '{');
    if (openai) {
        jo_ktext(j, "type", "function");
        jo_key(j, "function");
        jo_open(j, '{');
    }
    jo_ktext(j, "name", openai && tool->alias ? tool->alias : tool->name);
    jo_ktext(j, "description", tool->description);
    jo_key(j, openai ? "parameters" : "input_schema");
    arg_schema(&tool->args, j);
    jo_close(j, '}');
    if (openai)
        jo_close(j, '}');
}

void format_list(enum format_id format, const struct dialect *dialect, struct json_out *j)
{
    jo_open(j, '[');
    for (const struct tool *t = NULL; (t = registry_next(dialect->id, t));)
        list_one(format, t, j);
    jo_close(j, ']');
}
