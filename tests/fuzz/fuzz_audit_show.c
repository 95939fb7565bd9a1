/* Any lines as records of the log, in all forms that they are shown in: text is fit for a terminal, a script has nothing
 * but comments and commands in one line each, OTLP is JSON, and no form takes more than its line many times over. */
#include <string.h>

#include "base/shown.h"
#include "front/audit_write.h"
#include "target.h"

#define OUT_MAX ((size_t)64 << 20)

struct showing {
    const struct audit_writer *writer;
    struct audit_style style;
    struct buf out;
};

static void show(void *arg, const struct audit_item *item)
{
    struct showing *s = arg;
    s->writer->write(item, &s->style, &s->out);
    must(!s->out.failed);
}

static void check_line(const char *form, struct str line)
{
    must(shown_is_fit(line, false) || strcmp(form, "text") == 0);
    for (size_t i = 0; i < line.n; i++)
        must((unsigned char)line.p[i] >= ' ' && line.p[i] != 0x7f);
    if (strcmp(form, "sh") == 0)
        must(line.n == 0 || line.p[0] == '#' || line.p[0] == '(' ||
             (line.n > 10 && memcmp(line.p, "printf %s ", 10) == 0));
}

static void check_text(const char *form, struct str text)
{
    must(text.n == 0 || text.p[text.n - 1] == '\n');
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        struct str line = {text.p + at, (size_t)(end - text.p) - at};
        yyjson_doc *doc = NULL;
        if (strcmp(form, "otel") == 0)
            must(json_parse(line.p, line.n, line.n, JSON_STRICT, &doc, NULL) == 0);
        else
            check_line(form, line);
        yyjson_doc_free(doc);
        at += line.n + 1;
    }
}

static void show_all(struct str rest, const char *form, bool whole)
{
    struct err err;
    struct audit_filter filter = {.since_ms = INT64_MIN, .until_ms = INT64_MAX, .joined = true};
    struct showing s = {.writer = audit_writer_find(form, &err),
                        .style = {.terminal = true, .whole = whole},
                        .out = BUF_INIT(OUT_MAX)};
    struct audit_view *view = audit_view_new(&filter, show, &s);
    must(s.writer);
    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct audit_entry entry = {.line = {rest.p, end ? (size_t)(end - rest.p) : rest.n}};
        yyjson_doc *doc = NULL;
        size_t taken = entry.line.n + (end != NULL);
        if (json_parse(entry.line.p, entry.line.n, entry.line.n, JSON_STRICT, &doc, NULL) == 0) {
            entry.record = yyjson_doc_get_root(doc);
            if (yyjson_is_str(yyjson_obj_get(entry.record, "kind")))
                audit_view_add(view, &entry, false);
        }
        yyjson_doc_free(doc);
        rest = (struct str){rest.p + taken, rest.n - taken};
    }
    audit_view_end(view);
    audit_view_free(view);
    check_text(form, buf_str(&s.out));
    buf_done(&s.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const forms[] = {"text", "sh", "otel", "journald"};
    struct str text = {size ? (const char *)data : "", size};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        show_all(text, forms[i], false);
        show_all(text, forms[i], true);
    }
    return 0;
}
