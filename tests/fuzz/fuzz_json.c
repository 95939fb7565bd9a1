/* Any text as JSON from outside and as JSON of our own: what is accepted keeps the limits, and is the
 * same value again when it is written and read back. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "target.h"

#define OUT_MAX (64u << 20)

static void write_string(yyjson_val *val, enum json_mode mode, struct json_out *j)
{
    struct str s = json_str(val);
    must(s.p[s.n] == '\0');
    must(mode == JSON_INTERNAL || utf8_valid(s.p, s.n));
    if (mode == JSON_INTERNAL)
        jo_bytes(j, s);
    else
        jo_str(j, s);
}

static void write_number(yyjson_val *val, struct json_out *j)
{
    size_t n;
    char *text = yyjson_val_write(val, 0, &n);
    must(text);
    jo_raw(j, (struct str){text, n});
    free(text);
}

static bool has_key_before(yyjson_val *obj, yyjson_val *key)
{
    size_t idx;
    size_t max;
    yyjson_val *other;
    yyjson_val *val;
    yyjson_obj_foreach(obj, idx, max, other, val) {
        if (other == key)
            return false;
        if (yyjson_equals(other, key))
            return true;
    }
    return false;
}

static void walk(yyjson_val *val, unsigned depth, enum json_mode mode, struct json_out *j)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *item;
    must(!yyjson_is_ctn(val) || depth < JSON_DEPTH_MAX);
    if (yyjson_is_arr(val)) {
        jo_open(j, '[');
        yyjson_arr_foreach(val, idx, max, item)
            walk(item, depth + 1, mode, j);
        jo_close(j, ']');
    } else if (yyjson_is_obj(val)) {
        jo_open(j, '{');
        yyjson_obj_foreach(val, idx, max, key, item) {
            must(idx > 200 || !has_key_before(val, key));
            write_string(key, mode, j);
            buf_add_char(j->out, ':');
            j->comma = false;
            walk(item, depth + 1, mode, j);
        }
        jo_close(j, '}');
    } else if (yyjson_is_str(val)) {
        write_string(val, mode, j);
    } else if (yyjson_is_bool(val)) {
        jo_bool(j, yyjson_get_bool(val));
    } else if (yyjson_is_null(val)) {
        jo_null(j);
    } else {
        write_number(val, j);
    }
}

static bool accepted(const char *text, size_t n, enum json_mode mode)
{
    JSON_AT_END yyjson_doc *doc = NULL;
    struct json_error error = {0};
    if (json_parse(text, n, n, mode, &doc, &error) < 0) {
        must(!doc && error.what[0] && error.at <= n);
        return false;
    }
    BUF_AT_END struct buf out = BUF_INIT(OUT_MAX);
    struct json_out j = {.out = &out};
    walk(yyjson_doc_get_root(doc), 0, mode, &j);
    must(!out.failed);
    JSON_AT_END yyjson_doc *again = NULL;
    must(json_parse(out.data, out.len, out.len, mode, &again, NULL) == 0);
    must(yyjson_equals(yyjson_doc_get_root(doc), yyjson_doc_get_root(again)));
    return true;
}

/* It reads what json_parse has no memory for. Of a text that json_parse takes, what it finds is a value. */
static void look_for_member(const char *text, size_t n, bool strict)
{
    struct str found = {0};
    JSON_AT_END yyjson_doc *doc = NULL;
    if (!json_scan_member((struct str){text, n}, "id", &found))
        return;
    must(found.p >= text && found.n > 0 && found.n <= n - (size_t)(found.p - text));
    must(!strict || json_parse(found.p, found.n, found.n, JSON_STRICT, &doc, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = size ? (const char *)data : "";
    bool strict = accepted(text, size, JSON_STRICT);
    must(accepted(text, size, JSON_INTERNAL) || !strict);
    look_for_member(text, size, strict);
    yyjson_doc *doc = NULL;
    must(size == 0 || json_parse(text, size, size - 1, JSON_STRICT, &doc, NULL) == -E2BIG);
    return 0;
}
