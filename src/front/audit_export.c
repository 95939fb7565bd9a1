/* The audit log for OpenTelemetry and for the journal of systemd. */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json_out.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "front/audit_write.h"

#ifndef SANDGATE_VERSION
#define SANDGATE_VERSION "0.1.0"
#endif

#define TITLE_MAX 8192

/* As both name it. */
enum level { LEVEL_INFO, LEVEL_WARNING, LEVEL_ERROR };

static enum level level_of(const struct audit_item *item)
{
    if (audit_is_fault(item))
        return LEVEL_ERROR;
    return audit_item_failed(item) ? LEVEL_WARNING : LEVEL_INFO;
}

/* What others have a name for; every other field is ours, by its own name. */
static const struct {
    const char *field;
    const char *otel;
    const char *journal;
} names[] = {
    {"id", "gen_ai.tool.call.id", "SANDGATE_CALL_ID"},
    {"tool", "gen_ai.tool.name", "SANDGATE_TOOL"},
    {"agent", "gen_ai.agent.id", "SANDGATE_AGENT"},
    {"session", "gen_ai.conversation.id", "SANDGATE_SESSION"},
    {"code", "error.type", "SANDGATE_CODE"},
    {"message", "error.message", "SANDGATE_ERROR"},
};

#define NAME_MAX_BYTES 64

/* `durationMs` becomes `sandgate.duration_ms` or `SANDGATE_DURATION_MS`. */
static void make_export_name(struct str field, bool journal, char ret[NAME_MAX_BYTES])
{
    size_t n = (size_t)snprintf(ret, NAME_MAX_BYTES, "%s", journal ? "SANDGATE_" : "sandgate.");
    for (size_t i = 0; i < field.n && n + 3 < NAME_MAX_BYTES; i++) {
        char c = field.p[i];
        bool capital = c >= 'A' && c <= 'Z';
        bool letter = capital || (c >= 'a' && c <= 'z');
        if (capital && i)
            ret[n++] = '_';
        if (letter)
            ret[n++] = (char)(journal ? c & ~0x20 : c | 0x20);
        else if (c == '.' && !journal)
            ret[n++] = c;
        else
            ret[n++] = (char)(c >= '0' && c <= '9' ? c : '_');
    }
    ret[n] = '\0';
}

static void find_export_name(struct str field, bool journal, char ret[NAME_MAX_BYTES])
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(field, names[i].field)) {
            snprintf(ret, NAME_MAX_BYTES, "%s", journal ? names[i].journal : names[i].otel);
            return;
        }
    }
    make_export_name(field, journal, ret);
}

typedef void (*field_fn)(void *arg, const char *name, yyjson_val *val);

struct fields {
    bool journal;
    field_fn fn;
    void *arg;
};

/* What a command was and how it ended are told field by field: `sandgate.end.exit_code`, `SANDGATE_END_EXIT_CODE`. */
static bool has_parts(struct str field, yyjson_val *val)
{
    return yyjson_is_obj(val) && (str_is(field, "command") || str_is(field, "end"));
}

static void each_part(const struct fields *f, struct str field, yyjson_val *object)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *val;
    yyjson_obj_foreach(object, idx, max, key, val) {
        char name[NAME_MAX_BYTES];
        char both[NAME_MAX_BYTES];
        snprintf(both, sizeof both, "%.*s.%.*s", (int)field.n, field.p,
                 (int)(yyjson_get_len(key) < 32 ? yyjson_get_len(key) : 32), yyjson_get_str(key));
        make_export_name((struct str){both, strlen(both)}, f->journal, name);
        f->fn(f->arg, name, val);
    }
}

/* All fields of the record, then those that only the intent has. */
static void each_field(const struct audit_item *item, const struct fields *f)
{
    yyjson_val *objects[] = {item->record, item->intent};
    for (size_t i = 0; i < ARRAY_LEN(objects) && objects[i]; i++) {
        size_t idx;
        size_t max;
        yyjson_val *key;
        yyjson_val *val;
        yyjson_obj_foreach(objects[i], idx, max, key, val) {
            struct str field = json_str(key);
            if (str_is(field, "ts") || yyjson_is_null(val) ||
                (i && yyjson_obj_getn(item->record, field.p, field.n)))
                continue;
            if (has_parts(field, val)) {
                each_part(f, field, val);
                continue;
            }
            char name[NAME_MAX_BYTES];
            find_export_name(field, f->journal, name);
            f->fn(f->arg, name, val);
        }
    }
}

/* --- OpenTelemetry: the JSON of OTLP, one document a line, as the collector's file exporter writes it */

static void otel_value(struct json_out *j, yyjson_val *val)
{
    jo_open(j, '{');
    if (yyjson_is_str(val)) {
        jo_kstr(j, "stringValue", json_str(val));
    } else if (yyjson_is_bool(val)) {
        jo_kbool(j, "boolValue", yyjson_get_bool(val));
    } else if (yyjson_is_int(val)) {
        /* 64 bits are text in the JSON of protocol buffers. */
        char digits[32];
        snprintf(digits, sizeof digits, "%" PRId64, yyjson_get_sint(val));
        jo_ktext(j, "intValue", digits);
    } else {
        size_t n = 0;
        char *text = yyjson_val_write(val, 0, &n);
        jo_kstr(j, "stringValue", (struct str){text ? text : "", n});
        free(text);
    }
    jo_close(j, '}');
}

static void otel_text(struct json_out *j, const char *key, struct str text)
{
    jo_open(j, '{');
    jo_ktext(j, "key", key);
    jo_key(j, "value");
    jo_open(j, '{');
    jo_kstr(j, "stringValue", text);
    jo_close(j, '}');
    jo_close(j, '}');
}

static void otel_resource(const struct audit_item *item, struct json_out *j)
{
    struct str gate = audit_item_text(item, "gate");
    jo_key(j, "resource");
    jo_open(j, '{');
    jo_key(j, "attributes");
    jo_open(j, '[');
    otel_text(j, "service.name", STR("sandgate"));
    otel_text(j, "service.version", STR(SANDGATE_VERSION));
    if (gate.n)
        otel_text(j, "service.instance.id", gate);
    jo_close(j, ']');
    jo_close(j, '}');
}

static void otel_field(void *arg, const char *name, yyjson_val *val)
{
    struct json_out *j = arg;
    jo_open(j, '{');
    jo_ktext(j, "key", name);
    jo_key(j, "value");
    otel_value(j, val);
    jo_close(j, '}');
}

static void otel_attributes(const struct audit_item *item, struct json_out *j)
{
    jo_key(j, "attributes");
    jo_open(j, '[');
    if (audit_item_is_call(item))
        otel_text(j, "gen_ai.operation.name", STR("execute_tool"));
    if (item->unchained)
        otel_text(j, "sandgate.unchained", STR("true"));
    each_field(item, &(struct fields){false, otel_field, j});
    jo_close(j, ']');
}

static void otel_record(const struct audit_item *item, struct json_out *j)
{
    static const struct {
        int number;
        const char *text;
    } levels[] = {
        [LEVEL_INFO] = {9, "INFO"}, [LEVEL_WARNING] = {13, "WARN"}, [LEVEL_ERROR] = {17, "ERROR"}};
    enum level level = level_of(item);
    char nanos[40];
    BUF_AT_END struct buf title = BUF_INIT(TITLE_MAX);
    snprintf(nanos, sizeof nanos, "%" PRId64 "000000", item->at_ms > 0 ? item->at_ms : 0);
    audit_write_title(item, &title);
    jo_open(j, '{');
    jo_ktext(j, "timeUnixNano", nanos);
    jo_ktext(j, "observedTimeUnixNano", nanos);
    jo_kint(j, "severityNumber", levels[level].number);
    jo_ktext(j, "severityText", levels[level].text);
    jo_key(j, "body");
    jo_open(j, '{');
    jo_kstr(j, "stringValue", buf_str(&title));
    jo_close(j, '}');
    otel_attributes(item, j);
    jo_close(j, '}');
}

void audit_write_otel(const struct audit_item *item, const struct audit_style *style,
                      struct buf *out)
{
    (void)style;
    struct json_out j = {.out = out};
    jo_open(&j, '{');
    jo_key(&j, "resourceLogs");
    jo_open(&j, '[');
    jo_open(&j, '{');
    otel_resource(item, &j);
    jo_key(&j, "scopeLogs");
    jo_open(&j, '[');
    jo_open(&j, '{');
    jo_key(&j, "scope");
    jo_open(&j, '{');
    jo_ktext(&j, "name", "sandgate.audit");
    jo_ktext(&j, "version", SANDGATE_VERSION);
    jo_close(&j, '}');
    jo_key(&j, "logRecords");
    jo_open(&j, '[');
    otel_record(item, &j);
    jo_close(&j, ']');
    jo_close(&j, '}');
    jo_close(&j, ']');
    jo_close(&j, '}');
    jo_close(&j, ']');
    jo_close(&j, '}');
    buf_add_char(out, '\n');
}

/* --- the journal's export format: fields, and an empty line behind each entry */

/* Text that has no line break or other control character can stand as it is. */
static bool is_plain_export_text(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' && text.p[i] != '\t')
            return false;
    }
    return utf8_valid(text.p, text.n);
}

struct journal {
    struct buf *out;
    bool terminal;
};

/* People read it on a terminal: there a value stands in one line, without characters that would control it. */
static void journal_field(const struct journal *to, const char *name, struct str text)
{
    struct buf *out = to->out;
    buf_add_text(out, name);
    if (to->terminal) {
        buf_add_char(out, '=');
        shown_line(text, 8 * text.n, out); /* whole: each byte becomes a few */
        buf_add_char(out, '\n');
        return;
    }
    if (is_plain_export_text(text)) {
        buf_add_char(out, '=');
    } else {
        uint64_t n = htole64(text.n);
        buf_add_char(out, '\n');
        buf_add(out, &n, sizeof n);
    }
    buf_add(out, text.p, text.n);
    buf_add_char(out, '\n');
}

static void journal_value(void *arg, const char *name, yyjson_val *val)
{
    const struct journal *to = arg;
    size_t n = 0;
    if (yyjson_is_str(val)) {
        journal_field(to, name, json_str(val));
        return;
    }
    char *text = yyjson_val_write(val, 0, &n);
    if (text)
        journal_field(to, name, (struct str){text, n});
    free(text);
}

void audit_write_journal(const struct audit_item *item, const struct audit_style *style,
                         struct buf *out)
{
    /* informational, warning, error */
    static const char *const priorities[] = {
        [LEVEL_INFO] = "6", [LEVEL_WARNING] = "4", [LEVEL_ERROR] = "3"};
    struct journal to = {out, style->terminal};
    BUF_AT_END struct buf title = BUF_INIT(TITLE_MAX);
    audit_write_title(item, &title);
    buf_addf(out, "__REALTIME_TIMESTAMP=%" PRId64 "000\n", item->at_ms > 0 ? item->at_ms : 0);
    journal_field(&to, "MESSAGE", buf_str(&title));
    buf_addf(out, "PRIORITY=%s\n", priorities[level_of(item)]);
    buf_add_text(out, "SYSLOG_IDENTIFIER=sandgate\n");
    if (item->unchained)
        buf_add_text(out, "SANDGATE_UNCHAINED=true\n");
    each_field(item, &(struct fields){true, journal_value, &to});
    buf_add_char(out, '\n');
}
