#include "gate/summary.h"

#include <stdint.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/shell_word.h"
#include "base/shown.h"
#include "gate/foreign.h"

/* Of the text before it is shown: more than any call may have. */
#define RAW_MAX ((size_t)1 << 30)
#define CWD_MAX 300
#define SHORTENED_MAX 300
#define PATH_CHARS "_@%+=,./-"
#define WORD_CHARS PATH_CHARS ":"

static const struct arg *first_argument_of(const struct call *call, unsigned uses)
{
    return arg_next(&call->tool->args, uses, NULL);
}

static struct str given_text(const struct call *call, const struct arg *arg)
{
    yyjson_val *value = call_given(call, arg);
    return yyjson_is_str(value) ? json_str(value) : (struct str){NULL, 0};
}

/* It says what is done, or to what, besides paths, addresses and commands. */
static bool says_what(const struct arg *arg)
{
    return arg->flags & ARG_REQUIRED && !(arg->flags & ARG_CONTENT) && arg->use == ARG_PLAIN &&
           (arg->type == ARG_CHOICE || arg->type == ARG_STRING);
}

/* The first text that is never logged: what is written. */
static const struct arg *content_of(const struct call *call)
{
    const struct arg_table *table = &call->tool->args;
    for (size_t i = 0; i < table->count; i++) {
        if (table->args[i].type == ARG_STRING && table->args[i].flags & ARG_CONTENT)
            return &table->args[i];
    }
    return NULL;
}

static bool is_plain_summary_word(struct str word, const char *plain)
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
static void add_summary_word(struct buf *out, struct str word, const char *plain)
{
    if (is_plain_summary_word(word, plain)) {
        buf_add(out, word.p, word.n);
        return;
    }
    if (!holds_one_of(word, "'") || holds_one_of(word, "\"\\$`!")) {
        shell_quoted(word, out);
        return;
    }
    buf_add_char(out, '"');
    buf_add(out, word.p, word.n);
    buf_add_char(out, '"');
}

static void add_summary_words(struct buf *out, yyjson_val *list)
{
    size_t idx;
    size_t max;
    yyjson_val *item;
    yyjson_arr_foreach(list, idx, max, item) {
        if (out->len)
            buf_add_char(out, ' ');
        add_summary_word(out, json_str(item), WORD_CHARS);
    }
}

static void add_json(struct buf *out, yyjson_val *value)
{
    size_t n = 0;
    FREE_AT_END char *text = yyjson_val_write(value, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &n);
    if (text)
        buf_add(out, text, n);
    else
        buf_add_text(out, "(cannot be shown)");
}

/* A path, or the bytes that its base64 stands for. */
static void add_summary_path(const struct call *call, const struct arg *arg, struct buf *out)
{
    BUF_AT_END struct buf bytes = BUF_INIT(PATH_TEXT_MAX);
    struct str encoded = given_text(call, arg_in_base64(&call->tool->args, arg));
    struct str text = given_text(call, arg);
    if (encoded.p && base64_decode(&bytes, encoded) == 0)
        text = buf_str(&bytes);
    else if (!text.p)
        text = STR(".");
    add_summary_word(out, text, PATH_CHARS);
}

/* ` (leads to src/main.c)`: what a path names is not what is changed. */
static void add_summary_real(const struct call *call, size_t root, struct str named,
                             const char *real, struct buf *out)
{
    struct str encoded = {real, real ? strlen(real) : 0};
    FREE_AT_END char *path = call_real_path(call, root, named, encoded);
    if (!path)
        return;
    buf_add_text(out, " (leads to ");
    add_summary_word(out, (struct str){path, strlen(path)}, PATH_CHARS);
    buf_add_char(out, ')');
}

/* Set in, so that none of its lines looks like one of ours. */
static void write_content_text(const char *name, struct str text, struct buf *out)
{
    buf_addf(out, "%s (%zu bytes):\n", name, text.n);
    shown_text(text, "    ", out);
}

/* --- the line */

/* One line. Of more than `max` bytes only a little stands there, and `detail` gets all of it under `name`; also of what
 * has several lines, which is easier to read there. */
static void add_shortened(struct str text, size_t max, const char *name, struct buf *line,
                          struct buf *detail)
{
    BUF_AT_END struct buf whole = BUF_INIT(RAW_MAX);
    shown_line(text, SIZE_MAX, &whole);
    bool fits = whole.len <= max && !whole.failed;
    if (fits)
        buf_add(line, whole.data, whole.len);
    else
        shown_line(text, SHORTENED_MAX, line);
    if (!fits || (text.n && memchr(text.p, '\n', text.n)))
        write_content_text(name, text, detail);
}

static void write_summary_folder(const struct call *call, struct buf *line, struct buf *detail)
{
    BUF_AT_END struct buf raw = BUF_INIT(RAW_MAX);
    const struct arg *arg = first_argument_of(call, ARG_FOLDER);
    struct str cwd = given_text(call, arg);
    if (!cwd.p)
        return;
    add_summary_word(&raw, cwd, PATH_CHARS);
    add_summary_real(call, call->path.root, call_path_text(call), call->pin.real, &raw);
    buf_add_text(line, " in ");
    add_shortened(buf_str(&raw), CWD_MAX, arg->name, line, detail);
    foreign_note(buf_str(&raw), detail);
}

static void add_command(const struct call *call, struct buf *raw)
{
    struct str command = given_text(call, first_argument_of(call, ARG_SHELL));
    struct str program = given_text(call, first_argument_of(call, ARG_PROGRAM));
    if (command.p)
        buf_add(raw, command.p, command.n);
    else if (program.p)
        add_summary_word(raw, program, WORD_CHARS);
    if (!command.p)
        add_summary_words(raw, call_given(call, first_argument_of(call, ARG_WORDS | ARG_ARGV)));
}

/* Whether a choice says that the content is written so. */
static bool is_content_base64(const struct call *call)
{
    const struct arg_table *table = &call->tool->args;
    for (size_t i = 0; i < table->count; i++) {
        if (table->args[i].type == ARG_CHOICE &&
            str_is(given_text(call, &table->args[i]), "base64"))
            return true;
    }
    return false;
}

static size_t content_bytes(const struct call *call, struct str content)
{
    if (!is_content_base64(call))
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
    struct str content = given_text(call, content_of(call));
    if (content.p) {
        buf_addf(raw, "%s%zu bytes", before, content_bytes(call, content));
        before = ", ";
    }
    const struct arg_table *table = &call->tool->args;
    for (size_t i = 0; i < table->count; i++) {
        yyjson_val *value = call_given(call, &table->args[i]);
        if (value && table->args[i].type == ARG_OBJECTS)
            buf_addf(raw, "%s%zu %s", before, yyjson_arr_size(value), table->args[i].name);
        else if (yyjson_is_true(value))
            buf_addf(raw, "%s%s", before, table->args[i].name);
        else
            continue;
        before = ", ";
    }
    if (*before == ',')
        buf_add_char(raw, ')');
}

/* `write `, `pattern in `; a text is joined to what follows by `joint`. */
static void add_what(const struct call *call, const char *joint, struct buf *raw)
{
    const struct arg_table *table = &call->tool->args;
    for (size_t i = 0; i < table->count; i++) {
        struct str text = given_text(call, &table->args[i]);
        if (!text.p || !says_what(&table->args[i]))
            continue;
        add_summary_word(raw, text, PATH_CHARS);
        buf_add_text(raw, table->args[i].type == ARG_CHOICE ? " " : joint);
    }
}

/* Those in lists and objects stand among the rest. */
static void add_file_summary(const struct call *call, struct buf *raw)
{
    const char *between = "";
    add_what(call, " in ", raw);
    for (const struct arg *a = NULL; (a = arg_next(&call->tool->args, ARG_ANY_PATH, a));) {
        if (a->type != ARG_STRING)
            continue;
        buf_add_text(raw, between);
        add_summary_path(call, a, raw);
        if (*between == '\0')
            add_summary_real(call, call->path.root, call_path_text(call), call->pin.real, raw);
        else if (call->op && call->op->paths == OP_PATHS_TWO)
            add_summary_real(call, (size_t)call->request.two_paths.to_root,
                             call->request.two_paths.to, call->pin.real_to, raw);
        between = " -> ";
    }
    add_manner(call, raw);
}

static void add_page(const struct call *call, struct buf *raw)
{
    struct str url = given_text(call, first_argument_of(call, ARG_URL));
    add_what(call, " ", raw);
    buf_add(raw, url.p, url.n);
}

enum kind { KIND_COMMAND, KIND_FILE, KIND_PAGE, KIND_OTHER };

static enum kind summary_kind_of(const struct call *call)
{
    if (tool_runs_programs(call->tool))
        return KIND_COMMAND;
    if (given_text(call, first_argument_of(call, ARG_URL)).p)
        return KIND_PAGE;
    const struct arg *path = first_argument_of(call, ARG_ANY_PATH);
    return path && path->type == ARG_STRING ? KIND_FILE : KIND_OTHER;
}

static bool write_summary_line(const struct call *call, struct buf *line, struct buf *detail)
{
    BUF_AT_END struct buf raw = BUF_INIT(RAW_MAX);
    enum kind kind = summary_kind_of(call);
    buf_add_text(line, call->tool->name);
    if (kind == KIND_COMMAND) {
        if (yyjson_is_true(call_given(call, first_argument_of(call, ARG_GIT))))
            buf_add_text(line, " (may write to the repository's git directory)");
        write_summary_folder(call, line, detail);
        add_command(call, &raw);
    } else if (kind == KIND_FILE) {
        add_file_summary(call, &raw);
    } else if (kind == KIND_PAGE) {
        add_page(call, &raw);
    } else if (yyjson_obj_size(call->arguments)) {
        add_json(&raw, call->arguments);
    }
    if (raw.len)
        buf_add_text(line, ": ");
    add_shortened(buf_str(&raw), SUMMARY_LINE_MAX,
                  kind == KIND_COMMAND ? "whole command" : "whole call", line, detail);
    foreign_note(buf_str(&raw), detail);
    return !raw.failed;
}

/* --- the rest */

/* Stands in the line already. */
static bool in_line(const struct call *call, enum kind kind, const struct arg *arg,
                    yyjson_val *value)
{
    static const unsigned uses[] = {
        [KIND_COMMAND] = ARG_ANY_COMMAND | ARG_FOLDER | ARG_GIT,
        [KIND_FILE] = ARG_ANY_PATH,
        [KIND_PAGE] = ARG_URL,
    };
    if (kind == KIND_OTHER)
        return true;
    if (arg->type == ARG_LIST && kind == KIND_FILE)
        return false;
    if (kind == KIND_FILE && (yyjson_is_true(value) || arg == content_of(call)))
        return true;
    return arg->use & uses[kind] || (kind != KIND_COMMAND && says_what(arg));
}

static void write_entries(const char *name, yyjson_val *object, struct buf *out)
{
    size_t idx;
    size_t max;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_obj_foreach(object, idx, max, key, value) {
        BUF_AT_END struct buf raw = BUF_INIT(RAW_MAX);
        add_summary_word(&raw, json_str(key), "_");
        buf_add_char(&raw, '=');
        add_summary_word(&raw, json_str(value), WORD_CHARS);
        buf_addf(out, "%s: ", name);
        shown_line(buf_str(&raw), SIZE_MAX, out);
        buf_add_char(out, '\n');
        foreign_note(buf_str(&raw), out);
    }
}

static void write_summary_rest(const struct arg *arg, yyjson_val *value, struct buf *out)
{
    BUF_AT_END struct buf raw = BUF_INIT(RAW_MAX);
    if (arg->type == ARG_STRING && (arg->flags & ARG_CONTENT)) {
        write_content_text(arg->name, json_str(value), out);
        if (arg->use & ARG_INPUT)
            foreign_note(json_str(value), out);
        return;
    }
    if (arg->use & ARG_ENV) {
        write_entries(arg->name, value, out);
        return;
    }
    if (arg->type == ARG_LIST && arg->items && arg->items->type == ARG_STRING)
        add_summary_words(&raw, value);
    else if (yyjson_is_str(value))
        add_summary_word(&raw, json_str(value), WORD_CHARS);
    else
        add_json(&raw, value);
    buf_addf(out, "%s: ", arg->name);
    shown_line(buf_str(&raw), SIZE_MAX, out);
    buf_add_char(out, '\n');
    foreign_note(buf_str(&raw), out);
}

static void write_detail(const struct call *call, struct buf *out)
{
    const struct arg_table *table = &call->tool->args;
    enum kind kind = summary_kind_of(call);
    for (size_t i = 0; i < table->count; i++) {
        yyjson_val *value = call_given(call, &table->args[i]);
        if (value && !in_line(call, kind, &table->args[i], value))
            write_summary_rest(&table->args[i], value, out);
    }
}

bool summary_write(const struct call *call, struct buf *line, struct buf *detail)
{
    bool whole = write_summary_line(call, line, detail);
    write_detail(call, detail);
    return whole && !line->failed && !detail->failed;
}

static void add_content_hash(struct str bytes, struct buf *out)
{
    char hex[HASH_HEX + 1];
    struct hash hash;
    hash_begin(&hash);
    hash_add(&hash, bytes.p, bytes.n);
    hash_end_hex(&hash, hex);
    buf_addf(out, "%zu bytes, sha256 %s\n", bytes.n, hex);
}

void summary_content(const struct call *call, struct buf *detail)
{
    const struct arg *arg = content_of(call);
    struct str content = given_text(call, arg);
    BUF_AT_END struct buf bytes = BUF_INIT(RAW_MAX);
    if (!content.p)
        return;
    if (is_content_base64(call) && base64_decode(&bytes, content) == 0)
        content = buf_str(&bytes);
    buf_addf(detail, "%s: ", arg->name);
    add_content_hash(content, detail);
    write_content_text(arg->name, content, detail);
}

void summary_too_long(const struct call *call, struct buf *detail)
{
    BUF_AT_END struct buf json = BUF_INIT(RAW_MAX);
    size_t shown = detail->len;
    while (shown && detail->data[shown - 1] != '\n')
        shown--;
    detail->len = shown;
    detail->failed = false;
    detail->max += 512;
    add_json(&json, call->arguments);
    buf_addf(detail,
             "\\[the rest of this text is not shown, it is too long: these are the first "
             "%zu bytes of it]\nall arguments of the call: ",
             shown);
    add_content_hash(buf_str(&json), detail);
}
