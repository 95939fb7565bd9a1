#include "gate/hook_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/logged.h"

/* Of a field's place, as a JSON pointer; more is left out. */
#define PLACE_MAX 512
/* With more of them it is longer than it may be. */
#define CUTS_MAX (HOOK_INPUT_MAX / HOOK_TEXT_MAX)

struct cut {
    char at[PLACE_MAX];
    size_t bytes;
};

struct writer {
    struct json_out *j;
    char at[PLACE_MAX];
    size_t used;
    struct buf cuts; /* struct cut, one after the other */
};

static void step_in(struct writer *w, struct str name)
{
    if (w->used + 2 * name.n + 2 >= sizeof w->at)
        return;
    w->at[w->used++] = '/';
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c == '~' || c == '/') {
            w->at[w->used++] = '~';
            c = c == '~' ? '0' : '1';
        }
        w->at[w->used++] = c;
    }
    w->at[w->used] = '\0';
}

static void step_out(struct writer *w, size_t used)
{
    w->used = used;
    w->at[used] = '\0';
}

static void write_input_text(struct writer *w, struct str text)
{
    if (text.n > HOOK_TEXT_MAX) {
        struct cut cut = {.bytes = text.n};
        memcpy(cut.at, w->at, w->used + 1);
        buf_add(&w->cuts, &cut, sizeof cut);
        text.n = utf8_cut(text.p, HOOK_TEXT_MAX);
    }
    logged_exact(w->j, text);
}

static void write_number(yyjson_val *val, struct json_out *j)
{
    size_t n = 0;
    char *text = yyjson_val_write(val, 0, &n);
    if (text)
        jo_raw(j, (struct str){text, n});
    else
        jo_null(j);
    free(text);
}

static void write_input_value(struct writer *w, yyjson_val *val, unsigned depth);

static void write_input_object(struct writer *w, yyjson_val *object, unsigned depth)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    jo_open(w->j, '{');
    yyjson_obj_foreach(object, idx, max, key, val) {
        size_t used = w->used;
        step_in(w, json_str(key));
        jo_str(w->j, json_str(key));
        buf_add_char(w->j->out, ':');
        w->j->comma = false;
        write_input_value(w, val, depth);
        step_out(w, used);
    }
    jo_close(w->j, '}');
}

static void write_input_array(struct writer *w, yyjson_val *array, unsigned depth)
{
    size_t idx;
    size_t max;
    yyjson_val *val;
    jo_open(w->j, '[');
    yyjson_arr_foreach(array, idx, max, val) {
        char number[24];
        size_t used = w->used;
        int n = snprintf(number, sizeof number, "%zu", idx);
        step_in(w, (struct str){number, (size_t)n});
        write_input_value(w, val, depth);
        step_out(w, used);
    }
    jo_close(w->j, ']');
}

static void write_input_value(struct writer *w, yyjson_val *val, unsigned depth)
{
    if (yyjson_is_str(val))
        write_input_text(w, json_str(val));
    else if (yyjson_is_obj(val) && depth < JSON_DEPTH_MAX)
        write_input_object(w, val, depth + 1);
    else if (yyjson_is_arr(val) && depth < JSON_DEPTH_MAX)
        write_input_array(w, val, depth + 1);
    else if (yyjson_is_bool(val))
        jo_bool(w->j, yyjson_get_bool(val));
    else if (yyjson_is_num(val))
        write_number(val, w->j);
    else if (!val || yyjson_is_null(val))
        jo_null(w->j);
    else
        w->j->out->failed =
            true; /* deeper than anything that is read: nothing is left out in silence */
}

static void write_cuts(const struct writer *w)
{
    if (w->cuts.len == 0)
        return;
    jo_key(w->j, "cut");
    jo_open(w->j, '[');
    for (size_t i = 0; i < w->cuts.len / sizeof(struct cut); i++) {
        struct cut cut;
        memcpy(&cut, w->cuts.data + i * sizeof cut, sizeof cut);
        jo_open(w->j, '{');
        jo_ktext(w->j, "at", cut.at);
        jo_kint(w->j, "bytes", (int64_t)cut.bytes);
        jo_close(w->j, '}');
    }
    jo_close(w->j, ']');
}

static void write_outcome(const struct call *call, struct json_out *j)
{
    jo_kbool(j, "ok", !call->failed);
    jo_ktext(j, "code", call->failed ? err_row(call->err.code)->name : NULL);
    jo_kint(j, "durationMs", call_duration_ms(call));
}

void hook_input_write(const struct call *call, bool after, struct buf *out)
{
    const struct workplace *at = call->workplace;
    struct json_out j = {.out = out};
    struct writer w = {.j = &j, .cuts = BUF_INIT(CUTS_MAX * sizeof(struct cut))};
    jo_open(&j, '{');
    jo_ktext(&j, "event", after ? "tool:after" : "tool:before");
    jo_ktext(&j, "call", call->uid);
    jo_ktext(&j, "tool", call->tool ? call->tool->name : call->name);
    jo_ktext(&j, "dialect", call->dialect->name);
    jo_ktext(&j, "agent", call->agent);
    jo_ktext(&j, "session", at->session_id);
    jo_ktext(&j, "workspace", at->n_roots ? at->roots[0].host : NULL);
    jo_key(&j, "arguments");
    write_input_value(&w, call->arguments, 0);
    write_cuts(&w);
    if (after)
        write_outcome(call, &j);
    jo_close(&j, '}');
    buf_add_char(out, '\n');
    buf_done(&w.cuts);
}
