#include "gate/hook_note.h"

#include <stdlib.h>

#include "base/json_out.h"
#include "base/redact.h"

static void write_note_value(yyjson_val *val, struct json_out *j);

/* Any text can be a key, and two that were hidden must not become one. */
static void write_key(struct str key, size_t number, struct json_out *j)
{
    BUF_AT_END struct buf safe = BUF_INIT(REDACT_OUT_MAX(key.n) + 32);
    if (redact(key, key.n, &safe))
        buf_addf(&safe, " %zu", number);
    jo_str(j, safe.len ? buf_str(&safe) : key);
    buf_add_char(j->out, ':');
    j->comma = false;
}

static void write_note_object(yyjson_val *object, struct json_out *j)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    jo_open(j, '{');
    yyjson_obj_foreach(object, idx, max, key, val) {
        write_key(json_str(key), idx, j);
        if (redact_is_name(json_str(key)) && !yyjson_is_null(val) && !yyjson_is_bool(val))
            jo_own(j, REDACTED);
        else
            write_note_value(val, j);
    }
    jo_close(j, '}');
}

/* `["--token", "x"]`: whether the item is the value of the one before. */
static bool is_value_of(yyjson_val *before, yyjson_val *item)
{
    struct str option = yyjson_is_str(before) ? json_str(before) : STR("");
    struct str value = json_str(item);
    if (option.n < 2 || option.p[0] != '-')
        return false;
    BUF_AT_END struct buf text = BUF_INIT(option.n + value.n + 1);
    BUF_AT_END struct buf safe = BUF_INIT(REDACT_OUT_MAX(option.n + value.n + 1));
    buf_add(&text, option.p, option.n);
    buf_add_char(&text, ' ');
    size_t at = text.len;
    size_t secret = redact_in_word(buf_str(&text), 0, value);
    buf_add(&text, value.p, value.n);
    return secret == 0 || (redact(buf_str(&text), text.len, &safe) && safe.len > at &&
                           memcmp(safe.data, text.data, at) == 0);
}

static void write_note_array(yyjson_val *array, struct json_out *j)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_val *before = NULL;
    jo_open(j, '[');
    yyjson_arr_foreach(array, idx, max, item) {
        if (yyjson_is_str(item) && yyjson_get_len(item) && is_value_of(before, item))
            jo_own(j, REDACTED);
        else
            write_note_value(item, j);
        before = item;
    }
    jo_close(j, ']');
}

static void write_note_value(yyjson_val *val, struct json_out *j)
{
    if (yyjson_is_obj(val)) {
        write_note_object(val, j);
    } else if (yyjson_is_arr(val)) {
        write_note_array(val, j);
    } else if (yyjson_is_str(val)) {
        jo_logged(j, json_str(val), yyjson_get_len(val));
    } else {
        size_t n = 0;
        char *text = yyjson_val_write(val, 0, &n);
        jo_raw(j, (struct str){text, n});
        free(text);
    }
}

void hook_note_write(yyjson_val *object, struct buf *out)
{
    struct json_out j = {.out = out};
    write_note_object(object, &j);
}
