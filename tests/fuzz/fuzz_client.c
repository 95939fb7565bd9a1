/* Any text as the arguments and as the tool of a call: the gate reads one line with the client's id,
 * in which that text is where it was put. And any bytes as an answer
 * or as an event, where a strict reader finds in it what the client found. */
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "c/approval.h"
#include "c/event.h"
#include "c/json.h"
#include "c/wire.h"
#include "target.h"

static yyjson_doc *parse(const char *text, size_t n, struct json_error *ret_why)
{
    yyjson_doc *doc = NULL;
    return json_parse(text, n, n, JSON_STRICT, &doc, ret_why) == 0 ? doc : NULL;
}

/* What the client does not look for in an object. */
static bool known_reason(const char *why)
{
    return strstr(why, "duplicate key") || strstr(why, "number is infinity") ||
           strstr(why, "memory");
}

static void check_call(const char *tool, const char *arguments, bool named)
{
    struct sandgate_text line = {0};
    struct json_error why = {0};
    bool object = sandgate_json_is_object(arguments);
    const char *other = named ? tool : arguments;
    must(sandgate_wire_add_call(&line, 7, tool, arguments) == 0);
    must(memchr(line.data, '\n', line.n) == line.data + line.n - 1);
    JSON_AT_END yyjson_doc *doc = parse(line.data, line.n - 1, &why);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *call = yyjson_obj_get(root, "tool_call");
    yyjson_val *given = yyjson_obj_get(call, "arguments");
    if (!doc) {
        must(known_reason(why.what) || !utf8_valid(other, strlen(other)));
    } else {
        must(yyjson_obj_size(root) == 2 && yyjson_equals_str(yyjson_obj_get(root, "id"), "7"));
        must(yyjson_obj_size(call) == 2 && yyjson_equals_str(yyjson_obj_get(call, "name"), tool));
        must(object ? yyjson_is_obj(given) : yyjson_equals_str(given, arguments));
    }
    sandgate_text_done(&line);
}

/* What the gate would read as an object in that place, the client takes for one. */
static void check_nothing_is_lost(const char *text)
{
    struct sandgate_text line = {0};
    struct json_error why;
    size_t n = strlen(text);
    JSON_AT_END yyjson_doc *alone = parse(text, n, &why);
    if (!alone || !yyjson_is_obj(yyjson_doc_get_root(alone)) || sandgate_json_is_object(text))
        return;
    must(sandgate_text_reserve(&line, n + 20) == 0);
    size_t length = (size_t)snprintf(line.data, n + 20, "{\"a\":{\"b\":%s}}", text);
    must(!parse(line.data, length, &why));
    sandgate_text_done(&line);
}

static void check_answer(const char *bytes, size_t size)
{
    uint64_t id;
    const char *result;
    size_t n;
    char head[64];
    if (sandgate_wire_read_answer(bytes, size, &id, &result, &n) < 0)
        return;
    size_t length = (size_t)snprintf(
        head, sizeof head,
        id ? "{\"id\":\"%llu\",\"result\":" : "{\"id\":null,\"result\":", (unsigned long long)id);
    must(size == length + n + 1 && memcmp(bytes, head, length) == 0);
    must(result == bytes + length && result[0] == '{' && result[n - 1] == '}');
}

static void check_event(const char *bytes, size_t size)
{
    struct sandgate_output output;
    struct json_error why;
    char *text = malloc(size ? size : 1);
    must(text);
    bool found = sandgate_event_read_output(bytes, size, text, &output);
    must(!found || (sandgate_event_begins(bytes, size) && output.text == text));
    must(!found || (output.length < size && text[output.length] == '\0'));
    JSON_AT_END yyjson_doc *doc = found ? parse(bytes, size, &why) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (doc) {
        const char *stream = output.stream == SANDGATE_STDOUT ? "stdout" : "stderr";
        must(yyjson_equals_str(yyjson_obj_get(root, "stream"), stream));
        must(yyjson_equals_strn(yyjson_obj_get(root, "data"), text, output.length));
        must(!output.skipped || yyjson_get_uint(yyjson_obj_get(root, "skipped")) == output.skipped);
    }
    free(text);
}

static void check_field(yyjson_val *root, const char *name, const char *text)
{
    must(!text || yyjson_equals_str(yyjson_obj_get(root, name), text));
}

static void check_question(const char *bytes, size_t size)
{
    struct sandgate_approval_event event;
    struct json_error why;
    char *text = malloc(size ? size : 1);
    must(text);
    bool found = sandgate_approval_read(bytes, size, text, &event);
    JSON_AT_END yyjson_doc *doc = found ? parse(bytes, size, &why) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (doc) {
        check_field(root, "event", event.kind);
        check_field(root, "requestId", event.request_id);
        check_field(root, "tool", event.tool);
        check_field(root, "rule", event.rule);
        check_field(root, "summary", event.summary);
        check_field(root, "detail", event.detail);
        check_field(root, "expiresAt", event.expires_at);
        check_field(root, "state", event.state);
        check_field(root, "by", event.by);
        check_field(root, "message", event.message);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    must(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    check_call("t", text, false);
    check_call(text, "{}", true);
    check_nothing_is_lost(text);
    check_answer((const char *)data, size);
    check_event((const char *)data, size);
    check_question((const char *)data, size);
    free(text);
    return 0;
}
