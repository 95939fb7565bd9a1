#include "dialect/format.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/reserve.h"
#include "dialect/format_row.h"

#define ID_BYTES_MAX 1024ul
#define NAME_BYTES_MAX 256

static const struct format *const formats[FORMAT_COUNT] = {
    [FORMAT_TOOL_CALL] = &format_tool_call,
    [FORMAT_OPENAI] = &format_openai,
    [FORMAT_OPENAI_RESPONSES] = &format_openai_responses,
    [FORMAT_ANTHROPIC] = &format_anthropic,
    [FORMAT_OLLAMA] = &format_ollama,
};

void request_done(struct request *r)
{
    yyjson_doc_free(r->doc);
    free(r->id_json);
    free(r->id);
    free(r->name);
    free(r->agent);
    free(r->session);
    *r = (struct request){0};
}

int format_find(const char *name, enum format_id *ret, struct err *err)
{
    BUF_AT_END struct buf names = BUF_INIT(1024);
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            *ret = (enum format_id)i;
            return 0;
        }
        buf_addf(&names, "%s%s", i ? ", " : "", formats[i]->name);
    }
    return err_set(err, ERR_INVALID_ARGUMENTS, "there is no format `%.40s`; available: %.*s", name,
                   (int)names.len, names.data);
}

/* --- reading */

char *format_id_json(yyjson_val *id)
{
    if (yyjson_is_uint(id))
        return mem_format("%llu", (unsigned long long)yyjson_get_uint(id));
    /* Only `-0` is a signed zero here, and it has to come back as it was. */
    if (yyjson_is_sint(id) && yyjson_get_sint(id) == 0)
        return mem_dup("-0");
    if (yyjson_is_sint(id))
        return mem_format("%lld", (long long)yyjson_get_sint(id));
    if (!yyjson_is_str(id) || yyjson_get_len(id) > ID_BYTES_MAX)
        return NULL;
    BUF_AT_END struct buf text = BUF_INIT(8 * ID_BYTES_MAX);
    struct json_out j = {.out = &text};
    jo_str(&j, json_str(id));
    return mem_copy(text.data, text.len);
}

static int take_id_value(yyjson_val *id, const char *key, struct request *ret, struct err *err)
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

int format_take_id(yyjson_val *root, const char *key, struct request *ret, struct err *err)
{
    return take_id_value(yyjson_obj_get(root, key), key, ret, err);
}

int format_take_name(yyjson_val *call, const char *shape, struct request *ret, struct err *err)
{
    yyjson_val *name = yyjson_is_str(call) ? call : yyjson_obj_get(call, "name");
    if (!yyjson_is_str(name))
        return err_field(err, "name", "the call names no tool; a call is %s", shape);
    if (strlen(yyjson_get_str(name)) != yyjson_get_len(name))
        return err_set(err, ERR_UNKNOWN_TOOL,
                       "there is no tool `%.60s…` with a NUL byte in its name",
                       yyjson_get_str(name));
    ret->name = mem_copy(yyjson_get_str(name), yyjson_get_len(name));
    return 0;
}

int format_take_arguments(yyjson_val *call, const char *key, struct request *ret, struct err *err)
{
    yyjson_val *val = yyjson_obj_get(call, key);
    if (!yyjson_is_str(val)) {
        ret->arguments = val;
        return 0;
    }
    struct str text = json_str(val);
    if (text.n == 0)
        return 0;
    yyjson_doc *inner = NULL;
    struct json_error why;
    int r = json_parse(text.p, text.n, text.n, JSON_STRICT, &inner, &why);
    if (r == -ENOMEM)
        return err_no_memory(err);
    if (r < 0)
        return err_field(err, key, "the arguments are not valid JSON: %s", why.what);
    yyjson_doc_free(ret->doc);
    ret->doc = inner;
    ret->arguments = yyjson_doc_get_root(inner);
    return 0;
}

/* A name beside the call; nothing where it is not there, or null. */
static int take_name(yyjson_val *object, const char *key, const char *field, char **ret,
                     struct err *err)
{
    yyjson_val *name = yyjson_obj_get(object, key);
    if (!name || yyjson_is_null(name))
        return 0;
    struct str text = json_str(name);
    if (!yyjson_is_str(name) || text.n == 0 || text.n > NAME_BYTES_MAX ||
        memchr(text.p, '\0', text.n))
        return err_field(err, field, "`%s` must be a string of 1 to %d bytes without NUL", field,
                         NAME_BYTES_MAX);
    *ret = mem_copy(text.p, text.n);
    return 0;
}

/* Who calls, where a caller speaks for several agents; and in which session. */
static int take_context(yyjson_val *root, struct request *ret, struct err *err)
{
    yyjson_val *context = yyjson_obj_get(root, "context");
    if (context && !yyjson_is_null(context) && !yyjson_is_obj(context))
        return err_field(err, "context", "`context` must be an object");
    if (take_name(context, "agentId", "context.agentId", &ret->agent, err) < 0)
        return -1;
    return take_name(root, "session", "session", &ret->session, err);
}

int format_read(enum format_id format, yyjson_doc *doc, struct request *ret, struct err *err)
{
    struct err context;
    ret->doc = doc;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root))
        return err_field(err, "", "a request must be a JSON object");
    /* First, because reading may replace the document; told last, when the id is known. */
    int r = take_context(root, ret, &context);
    if (formats[format]->read(root, ret, err) < 0)
        return -1;
    if (r < 0)
        *err = context;
    return r;
}

void format_scan_id(struct str line, struct request *ret)
{
    static const char *const keys[] = {"call_id", "id"};
    struct str text;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        JSON_AT_END yyjson_doc *doc = NULL;
        struct err ignored;
        if (!json_scan_member(line, keys[i], &text) ||
            text.p + text.n ==
                line.p + line.n || /* the line was cut, perhaps in the middle of it */
            json_parse(text.p, text.n, 8 * ID_BYTES_MAX, JSON_STRICT, &doc, NULL) < 0)
            continue;
        take_id_value(yyjson_doc_get_root(doc), keys[i], ret, &ignored);
        return;
    }
}

/* --- writing */

void format_put_id(const struct request *r, const char *key, struct json_out *j)
{
    jo_key(j, key);
    jo_raw(j, r->id_json ? (struct str){r->id_json, strlen(r->id_json)} : STR("null"));
}

void format_put_answer(struct call *call, const char *key, struct json_out *j)
{
    BUF_AT_END struct buf answer = BUF_INIT(j->out->max);
    struct json_out inner = {.out = &answer};
    call_write_answer(call, &inner);
    buf_fail_as(j->out, &answer);
    jo_key(j, key);
    if (answer.len && answer.data[0] == '"')
        jo_raw(j, buf_str(&answer));
    else
        jo_str(j, buf_str(&answer));
}

void format_write(enum format_id format, const struct request *r, struct call *call, bool bare,
                  struct buf *out)
{
    size_t mark = out->len;
    formats[format]->write(r, call, bare, &(struct json_out){.out = out});
    if (!out->failed || (call->failed && !out->no_memory))
        return;
    if (!call->failed) /* what fits as it is may not fit as a string inside another */
        call_fail_answer(call, out->no_memory, out->max - mark);
    buf_cut(out, mark);
    call_forget_body(call);
    RESERVE_OPEN_HERE;
    formats[format]->write(r, call, bare, &(struct json_out){.out = out});
}

bool format_has_printed(enum format_id format)
{
    return formats[format]->write_printed != NULL;
}

void format_write_printed(enum format_id format, const struct request *r,
                          const struct printed *printed, struct buf *out)
{
    formats[format]->write_printed(r, printed, &(struct json_out){.out = out});
}

void format_write_call(enum format_id format, const char *tool, struct str arguments,
                       struct buf *out)
{
    formats[format]->write_call(tool, arguments, &(struct json_out){.out = out});
}

/* --- lists */

void format_put_tool(const struct tool *tool, const char *name, const char *key, struct json_out *j)
{
    jo_ktext(j, "name", name);
    jo_ktext(j, "description", tool->description);
    jo_key(j, key);
    tool_write_input(tool, false, j);
}

void format_list_tool(const struct tool *tool, const char *name, struct json_out *j)
{
    format_put_tool(tool, name, "input_schema", j);
}

void format_list_function(const struct tool *tool, const char *name, struct json_out *j)
{
    jo_ktext(j, "type", "function");
    jo_key(j, "function");
    jo_open(j, '{');
    format_put_tool(tool, name, "parameters", j);
    jo_close(j, '}');
}

void format_list(enum format_id format, const struct tool *const *tools, bool dotted,
                 struct json_out *j)
{
    const struct format *row = formats[format];
    jo_open(j, '[');
    for (; *tools; tools++) {
        const struct tool *t = *tools;
        jo_open(j, '{');
        row->list(t, row->no_dots && !dotted && t->alias ? t->alias : t->name, j);
        jo_close(j, '}');
    }
    jo_close(j, ']');
}
