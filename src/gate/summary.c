#include "gate/summary.h"

#include <inttypes.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/shown.h"

/* Of the text before it is cut: more than any command may have. */
#define RAW_MAX ((size_t)16 << 20)
#define CWD_MAX 300
#define PATH_CHARS "_@%+=,./-"
#define WORD_CHARS PATH_CHARS ":"

static const struct arg *find_arg(const struct call *call, const char *name)
{
    const struct arg_table *table = &call->tool->args;
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->args[i].name, name) == 0)
            return &table->args[i];
    }
    return NULL;
}

/* NULL for one that was not given or that the tool does not look at. */
static yyjson_val *given(const struct call *call, const char *name)
{
    yyjson_val *value = find_arg(call, name) ? yyjson_obj_get(call->arguments, name) : NULL;
    return yyjson_is_null(value) ? NULL : value;
}

static struct str given_text(const struct call *call, const char *name)
{
    yyjson_val *value = given(call, name);
    return yyjson_is_str(value) ? json_str(value) : (struct str){NULL, 0};
}

static bool all_plain(struct str word, const char *plain)
{
    for (size_t i = 0; i < word.n; i++) {
        unsigned char c = (unsigned char)word.p[i];
        bool letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!letter && c < 0x80 && (c == 0 || !strchr(plain, c)))
            return false;
    }
    return word.n > 0;
}

static bool holds_one_of(struct str word, const char *chars)
{
    for (; *chars; chars++) {
        if (word.n && memchr(word.p, *chars, word.n))
            return true;
    }
    return false;
}

/* As a shell reads it. */
static void add_word(struct buf *out, struct str word, const char *plain)
{
    if (all_plain(word, plain)) {
        buf_add(out, word.p, word.n);
        return;
    }
    bool doubled = holds_one_of(word, "'") && !holds_one_of(word, "\"\\$`!");
    char quote = doubled ? '"' : '\'';
    buf_add_char(out, quote);
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'' && !doubled)
            buf_add_text(out, "'\\'");
        buf_add_char(out, word.p[i]);
    }
    buf_add_char(out, quote);
}

static void add_words(struct buf *out, yyjson_val *list)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(list, idx, max, item) {
        if (out->len)
            buf_add_char(out, ' ');
        add_word(out, json_str(item), WORD_CHARS);
    }
}

static void add_json(struct buf *out, yyjson_val *value)
{
    size_t n = 0;
    FREE_AT_END char *text = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &n);
    if (text)
        buf_add(out, text, n);
    else
        buf_add_text(out, "(cannot be shown)");
}

/* A path, or the bytes that its base64 stands for. */
static void add_path(const struct call *call, const char *name, const char *b64, struct buf *out)
{
    BUF_AT_END struct buf bytes = BUF_INIT(PATH_TEXT_MAX);
    struct str encoded = given_text(call, b64);
    struct str text = given_text(call, name);
    if (encoded.p && base64_decode(&bytes, encoded) == 0)
        text = buf_str(&bytes);
    else if (!text.p)
        text = STR(".");
    add_word(out, text, PATH_CHARS);
}

/* --- the line */

static void write_folder(const struct call *call, struct buf *out)
{
    BUF_AT_END struct buf raw = BUF_INIT(RAW_MAX);
    struct str cwd = given_text(call, "cwd");
    if (!cwd.p)
        cwd = given_text(call, "working_directory");
    if (!cwd.p)
        return;
    add_word(&raw, cwd, PATH_CHARS);
    buf_add_text(out, " in ");
    shown_line(buf_str(&raw), CWD_MAX, out);
}

static void add_command(const struct call *call, struct buf *raw)
{
    struct str command = given_text(call, "command");
    if (command.p && find_arg(call, "args")) /* one program, without a shell */
        add_word(raw, command, WORD_CHARS);
    else if (command.p)
        buf_add(raw, command.p, command.n);
    add_words(raw, given(call, command.p ? "args" : "argv"));
}

static size_t content_bytes(const struct call *call, struct str content)
{
    if (!str_is(given_text(call, "encoding"), "base64"))
        return content.n;
    size_t padding = 0;
    while (padding < 2 && padding < content.n && content.p[content.n - 1 - padding] == '=')
        padding++;
    return content.n / 4 * 3 - (content.n < 4 ? 0 : padding);
}

/* What makes a difference besides the path: how much, and which switches are on. */
static void add_manner(const struct call *call, struct buf *raw)
{
    const char *before = " (";
    struct str content = given_text(call, "content");
    if (content.p) {
        buf_addf(raw, "%s%zu bytes", before, content_bytes(call, content));
        before = ", ";
    }
    yyjson_val *edits = given(call, "edits");
    if (edits) {
        buf_addf(raw, "%s%zu edits", before, yyjson_arr_size(edits));
        before = ", ";
    }
    const struct arg_table *table = &call->tool->args;
    for (size_t i = 0; i < table->count; i++) {
        if (!yyjson_is_true(given(call, table->args[i].name)))
            continue;
        buf_addf(raw, "%s%s", before, table->args[i].name);
        before = ", ";
    }
    if (*before == ',')
        buf_add_char(raw, ')');
}

static void add_file(const struct call *call, struct buf *raw)
{
    struct str operation = given_text(call, "operation");
    struct str pattern = given_text(call, "pattern");
    if (operation.p) {
        add_word(raw, operation, PATH_CHARS);
        buf_add_char(raw, ' ');
    }
    if (pattern.p) {
        add_word(raw, pattern, PATH_CHARS);
        buf_add_text(raw, " in ");
    }
    if (find_arg(call, "from")) {
        add_path(call, "from", "from_b64", raw);
        buf_add_text(raw, " -> ");
        add_path(call, "to", "to_b64", raw);
    } else {
        add_path(call, "path", "path_b64", raw);
    }
    add_manner(call, raw);
}

static void add_page(const struct call *call, struct buf *raw)
{
    struct str method = given_text(call, "method");
    struct str url = given_text(call, "url");
    if (find_arg(call, "method")) {
        add_word(raw, method.p ? method : STR("GET"), PATH_CHARS);
        buf_add_char(raw, ' ');
    }
    buf_add(raw, url.p, url.n);
}

enum kind { KIND_COMMAND, KIND_FILE, KIND_PAGE, KIND_OTHER };

static enum kind kind_of(const struct call *call)
{
    if (call->tool->runner == RUN_COMMAND)
        return KIND_COMMAND;
    if (given_text(call, "url").p)
        return KIND_PAGE;
    return find_arg(call, "path") || find_arg(call, "from") ? KIND_FILE : KIND_OTHER;
}

static void write_line(const struct call *call, struct buf *out)
{
    BUF_AT_END struct buf raw = BUF_INIT(RAW_MAX);
    enum kind kind = kind_of(call);
    buf_add_text(out, call->tool->name);
    if (kind == KIND_COMMAND) {
        if (yyjson_is_true(given(call, "git")))
            buf_add_text(out, " (may write to the repository's git directory)");
        write_folder(call, out);
        add_command(call, &raw);
    } else if (kind == KIND_FILE) {
        add_file(call, &raw);
    } else if (kind == KIND_PAGE) {
        add_page(call, &raw);
    } else if (yyjson_obj_size(call->arguments)) {
        add_json(&raw, call->arguments);
    }
    if (raw.len)
        buf_add_text(out, ": ");
    shown_line(buf_str(&raw), SUMMARY_LINE_MAX, out);
    if (raw.failed)
        buf_add_text(out, "\\[the rest is too long to be shown]");
}

/* --- the rest */

/* Stands in the line already. */
static bool in_line(enum kind kind, const struct arg *arg, yyjson_val *value)
{
    static const char *const names[][10] = {
        [KIND_COMMAND] = {"command", "argv", "args", "cwd", "working_directory", "git"},
        [KIND_FILE] = {"path", "path_b64", "from", "from_b64", "to", "to_b64", "operation",
                       "pattern", "content"},
        [KIND_PAGE] = {"url", "method"},
    };
    if (kind == KIND_OTHER || (kind == KIND_FILE && yyjson_is_true(value)))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(names[kind]) && names[kind][i]; i++) {
        if (strcmp(names[kind][i], arg->name) == 0)
            return true;
    }
    return false;
}

/* Set in, so that none of its lines looks like one of ours. */
static void write_text(const char *name, struct str text, struct buf *out)
{
    BUF_AT_END struct buf lines = BUF_INIT(RAW_MAX);
    buf_addf(out, "%s (%zu bytes):\n", name, text.n);
    shown_lines(text, SUMMARY_DETAIL_LINES, &lines);
    for (size_t at = 0; at < lines.len;) {
        const char *end = memchr(lines.data + at, '\n', lines.len - at);
        size_t n = (size_t)(end - lines.data) + 1 - at;
        buf_add_text(out, "    ");
        buf_add(out, lines.data + at, n);
        at += n;
    }
}

static void write_entries(const char *name, yyjson_val *object, struct buf *out)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_obj_foreach(object, idx, max, key, value) {
        BUF_AT_END struct buf raw = BUF_INIT(RAW_MAX);
        add_word(&raw, json_str(key), "_");
        buf_add_char(&raw, '=');
        add_word(&raw, json_str(value), WORD_CHARS);
        buf_addf(out, "%s: ", name);
        shown_line(buf_str(&raw), SHOWN_LINE_MAX, out);
        buf_add_char(out, '\n');
    }
}

static void write_rest(const struct arg *arg, yyjson_val *value, struct buf *out)
{
    BUF_AT_END struct buf raw = BUF_INIT(RAW_MAX);
    if (arg->type == ARG_STRING && (arg->flags & ARG_CONTENT)) {
        write_text(arg->name, json_str(value), out);
        return;
    }
    if (arg->type == ARG_OBJECT && strcmp(arg->name, "env") == 0) {
        write_entries(arg->name, value, out);
        return;
    }
    if (arg->type == ARG_LIST && arg->items && arg->items->type == ARG_STRING)
        add_words(&raw, value);
    else if (yyjson_is_str(value))
        add_word(&raw, json_str(value), WORD_CHARS);
    else
        add_json(&raw, value);
    buf_addf(out, "%s: ", arg->name);
    shown_line(buf_str(&raw), SHOWN_LINE_MAX, out);
    buf_add_char(out, '\n');
}

static void write_detail(const struct call *call, struct buf *out)
{
    const struct arg_table *table = &call->tool->args;
    enum kind kind = kind_of(call);
    for (size_t i = 0; i < table->count; i++) {
        yyjson_val *value = given(call, table->args[i].name);
        if (value && !in_line(kind, &table->args[i], value))
            write_rest(&table->args[i], value, out);
    }
}

void summary_write(const struct call *call, struct buf *line, struct buf *detail)
{
    write_line(call, line);
    write_detail(call, detail);
}
