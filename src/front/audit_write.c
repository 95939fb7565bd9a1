#include "front/audit_write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/shown.h"
#include "front/audit_command.h"

#define INPUT_SHOWN 160
/* More than any record has. */
#define INPUT_WHOLE ((size_t)64 << 20)
#define NAME_SHOWN 64

static void write_json(const struct audit_item *item, const struct audit_style *style,
                       struct buf *out)
{
    (void)style;
    size_t n = item->line.n;
    /* Behind all that the line says of itself: of two members of one name the last counts. */
    while (item->unchained && n > 0 && item->line.p[n - 1] != '}')
        n--;
    buf_add(out, item->line.p, item->unchained ? n - 1 : n);
    buf_add_text(out, item->unchained ? ",\"unchained\":true}\n" : "\n");
}

static const struct audit_writer writers[] = {
    {"text", true, true, NULL, audit_write_text},
    {"json", false, false, NULL, write_json},
    {"sh", true, true, audit_script_head, audit_write_script},
    {"otel", true, false, NULL, audit_write_otel},
    {"journald", true, false, NULL, audit_write_journal},
};

const struct audit_writer *audit_writer_find(const char *name, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
        if (strcmp(writers[i].name, name) == 0)
            return &writers[i];
    }
    err_set(err, ERR_INVALID_ARGUMENTS,
            "--as is `%.40s`: it must be one of text, json, sh, otel, journald", name);
    return NULL;
}

bool audit_is_fault(const struct audit_item *item)
{
    int code = err_code_from_name(audit_item_text(item, "code"));
    return str_is(audit_item_text(item, "kind"), "call.interrupted") ||
           (audit_item_failed(item) && code >= 0 &&
            err_row((enum err_code)code)->kind == KIND_OURS);
}

/* How its command ended, where the call itself did not fail. */
static void write_end(yyjson_val *end, struct buf *out)
{
    yyjson_val *by = yyjson_obj_get(end, "by");
    int64_t code = yyjson_get_sint(yyjson_obj_get(end, "exitCode"));
    int64_t signal = yyjson_get_sint(yyjson_obj_get(end, "signal"));
    if (yyjson_equals_str(by, "exit") && code == 0)
        buf_add_text(out, "ok");
    else if (yyjson_equals_str(by, "exit"))
        buf_addf(out, "exit %" PRId64, code);
    else if (yyjson_equals_str(by, "signal"))
        buf_addf(out, "signal %" PRId64, signal);
    else
        shown_line(yyjson_is_str(by) ? json_str(by) : STR("failed"), NAME_SHOWN, out);
}

void audit_write_result(const struct audit_item *item, struct buf *out)
{
    struct str kind = audit_item_text(item, "kind");
    struct str code = audit_item_text(item, "code");
    yyjson_val *ok = yyjson_obj_get(item->record, "ok");
    yyjson_val *end = yyjson_obj_get(item->record, "end");
    if (str_is(kind, "call.intent"))
        buf_add_text(out, "no outcome");
    else if (str_is(kind, "call.interrupted") && code.n == 0)
        buf_add_text(out, "INTERRUPTED");
    else if (yyjson_is_obj(end) && yyjson_get_bool(ok))
        write_end(end, out);
    else if (audit_item_failed(item))
        shown_line(code.n ? code : STR("failed"), NAME_SHOWN, out);
    else
        buf_add_text(out, "ok");
}

void audit_write_title(const struct audit_item *item, struct buf *out)
{
    bool call = audit_item_is_call(item);
    struct str name = audit_item_text(item, call ? "tool" : "kind");
    struct str message = audit_item_text(item, "message");
    if (item->unchained)
        buf_add_text(out, AUDIT_UNCHAINED " ");
    shown_line(name.n ? name : STR("?"), NAME_SHOWN, out);
    if (call) {
        buf_add_text(out, ": ");
        audit_write_result(item, out);
    }
    if (message.n) {
        buf_add_text(out, ": ");
        shown_line(message, 1000, out);
    }
}

/* --- for people */

void audit_write_name(struct str name, size_t max, struct buf *out)
{
    BUF_AT_END struct buf shown = BUF_INIT(INPUT_WHOLE);
    shown_line(name, max, &shown);
    struct str text = buf_str(&shown);
    bool plain = !str_is(text, "-");
    for (size_t i = 0; i < text.n; i++)
        plain &= !strchr(" ',/", text.p[i]);
    if (plain) {
        buf_add(out, text.p, text.n);
        return;
    }
    buf_add_char(out, '\'');
    for (size_t i = 0; i < text.n; i++)
        buf_addf(out, text.p[i] == '\'' ? "\\%c" : "%c", text.p[i]);
    buf_add_char(out, '\'');
}

/* `text` is fit to be shown. */
static void add_coloured(struct buf *out, const struct audit_style *style, const char *colour,
                         struct str text, int width)
{
    if (style->colours)
        buf_addf(out, "\x1b[%sm", colour);
    buf_add(out, text.p, text.n);
    if (style->colours)
        buf_add_text(out, "\x1b[0m");
    for (size_t i = text.n; i < (size_t)width; i++)
        buf_add_char(out, ' ');
    buf_add_text(out, "  ");
}

static void add_name_column(struct buf *out, const struct audit_style *style, const char *colour,
                            struct str name, int width)
{
    BUF_AT_END struct buf text = BUF_INIT(4096);
    audit_write_name(name, NAME_SHOWN, &text);
    add_coloured(out, style, colour, buf_str(&text), width);
}

static void add_who(const struct audit_item *item, const struct audit_style *style, struct buf *out)
{
    BUF_AT_END struct buf who = BUF_INIT(4096);
    struct str agent = audit_item_text(item, "agent");
    struct str session = audit_item_text(item, "session");
    if (agent.n)
        audit_write_name(agent, NAME_SHOWN, &who);
    else
        buf_add_char(&who, '-');
    if (session.n) {
        buf_add_char(&who, '/');
        audit_write_name(session, NAME_SHOWN, &who);
    }
    add_coloured(out, style, "0", buf_str(&who), 8);
}

static void add_duration_column(const struct audit_item *item, struct buf *out)
{
    char text[32] = "";
    yyjson_val *val = yyjson_obj_get(item->record, "durationMs");
    if (yyjson_is_int(val))
        snprintf(text, sizeof text, "%" PRId64 "ms", yyjson_get_sint(val));
    buf_addf(out, "%8s  ", text);
}

static void add_shown_json(yyjson_val *val, size_t max, struct buf *out)
{
    size_t n = 0;
    char *text = val ? yyjson_val_write(val, 0, &n) : NULL;
    if (text)
        shown_line((struct str){text, n}, max, out);
    free(text);
}

/* Before the input, which could imitate it. */
static void add_real_paths(const struct audit_item *item, struct buf *out)
{
    struct str real = audit_item_text(item, "real");
    struct str to = audit_item_text(item, "realTo");
    if (!real.n && !to.n)
        return;
    buf_add_text(out, "(leads to ");
    shown_line(real, INPUT_WHOLE, out);
    if (to.n) {
        buf_add_text(out, " -> ");
        shown_line(to, INPUT_WHOLE, out);
    }
    buf_add_text(out, ") ");
}

/* Of a record that is not of a call, all but what every record has. */
static void add_fields(const struct audit_item *item, struct buf *out)
{
    static const char *const usual[] = {"ts", "seq", "kind", "gate", "hash"};
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(item->record, idx, max, key, val) {
        bool wanted = true;
        for (size_t i = 0; i < ARRAY_LEN(usual); i++)
            wanted &= !str_is(json_str(key), usual[i]);
        if (!wanted)
            continue;
        shown_line(json_str(key), NAME_SHOWN, out);
        buf_add_char(out, '=');
        add_shown_json(val, INPUT_SHOWN, out);
        buf_add_char(out, ' ');
    }
}

void audit_write_text(const struct audit_item *item, const struct audit_style *style,
                      struct buf *out)
{
    bool call = audit_item_is_call(item);
    struct str began = item->intent && yyjson_is_str(yyjson_obj_get(item->intent, "ts"))
                           ? json_str(yyjson_obj_get(item->intent, "ts"))
                           : audit_item_text(item, "ts");
    if (item->unchained)
        add_coloured(out, style, "31", STR(AUDIT_UNCHAINED), 0);
    add_name_column(out, style, "2", began, 24);
    if (!call) {
        add_name_column(out, style, "36", audit_item_text(item, "kind"), 18);
        add_fields(item, out);
        buf_add_char(out, '\n');
        return;
    }
    struct str tool = audit_item_text(item, "tool");
    BUF_AT_END struct buf result = BUF_INIT(4096);
    bool unknown = str_is(audit_item_text(item, "kind"), "call.intent");
    add_name_column(out, style, "1", tool.n ? tool : STR("?"), 18);
    add_who(item, style, out);
    audit_write_result(item, &result);
    add_coloured(out, style,
                 unknown                   ? "33"
                 : audit_item_failed(item) ? "31"
                                           : "32",
                 buf_str(&result), 10);
    add_duration_column(item, out);
    add_real_paths(item, out);
    if (!audit_write_command(item, style->whole ? SIZE_MAX : INPUT_SHOWN, out))
        add_shown_json(audit_item_field(item, "input"), style->whole ? INPUT_WHOLE : INPUT_SHOWN,
                       out);
    buf_add_char(out, '\n');
    if (style->whole)
        audit_write_details(item, out);
}
