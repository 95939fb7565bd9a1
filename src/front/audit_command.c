#include "front/audit_command.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/redact.h"
#include "base/shell_word.h"
#include "base/shown.h"
#include "base/utf8.h"

/* Of a call, in all forms; a record is shorter. */
#define CALL_ID_SHOWN 400
#define LINE_MAX_BYTES ((size_t)64 << 20)
#define NAMES_SHOWN 160

yyjson_val *audit_command(const struct audit_item *item)
{
    yyjson_val *command = audit_item_field(item, "command");
    return yyjson_is_arr(yyjson_obj_get(command, "argv")) ? command : NULL;
}

struct str audit_text(yyjson_val *val, struct buf *room)
{
    yyjson_val *encoded = yyjson_obj_get(val, "base64");
    buf_init(room, LINE_MAX_BYTES);
    if (!yyjson_is_str(encoded))
        return json_str(val);
    return base64_decode(room, json_str(encoded)) == 0 ? buf_str(room) : (struct str){NULL, 0};
}

bool audit_text_whole(yyjson_val *val)
{
    BUF_AT_END struct buf room;
    struct str text = audit_text(val, &room);
    return text.p && !memmem(text.p, text.n, REDACTED, strlen(REDACTED));
}

/* --- the line */

/* Of a text that was too long: its beginning, and how long it was. */
static void write_cut(yyjson_val *text, struct buf *out)
{
    yyjson_val *cut = yyjson_obj_get(text, "cut");
    yyjson_val *words = yyjson_obj_get(text, "words");
    int64_t bytes = yyjson_get_sint(yyjson_obj_get(text, "bytes"));
    if (yyjson_is_str(cut))
        shell_word(json_str(cut), out);
    if (yyjson_is_int(words))
        buf_addf(out, "[%" PRId64 " more words, %" PRId64 " bytes, not recorded]",
                 yyjson_get_sint(words), bytes);
    else
        buf_addf(out, "[cut, %" PRId64 " bytes in all]", bytes);
}

bool audit_write_argv(yyjson_val *command, struct buf *out)
{
    size_t idx;
    size_t max;
    yyjson_val *word;
    bool whole = yyjson_arr_size(yyjson_obj_get(command, "argv")) > 0;
    yyjson_arr_foreach(yyjson_obj_get(command, "argv"), idx, max, word) {
        BUF_AT_END struct buf room;
        struct str text = audit_text(word, &room);
        whole &= audit_text_whole(word);
        if (idx)
            buf_add_char(out, ' ');
        if (!text.p)
            write_cut(word, out);
        else if (idx == 0)
            shell_program(text, out);
        else
            shell_word(text, out);
    }
    return whole;
}

#define LEFT_OUT " more bytes: --call "

/* One with the mark of a line that was cut would look like one. */
static bool is_plain_audit_line(struct str line)
{
    return shown_is_fit(line, false) && !memmem(line.p, line.n, LEFT_OUT, strlen(LEFT_OUT));
}

/* The line of a shell where it can be printed as it is, else the words. */
static void write_typed(yyjson_val *command, struct buf *out)
{
    yyjson_val *argv = yyjson_obj_get(command, "argv");
    yyjson_val *line = yyjson_arr_get(argv, 2);
    if (yyjson_is_true(yyjson_obj_get(command, "shell")) && yyjson_arr_size(argv) == 3 &&
        yyjson_is_str(line) && is_plain_audit_line(json_str(line)))
        buf_add(out, yyjson_get_str(line), yyjson_get_len(line));
    else
        audit_write_argv(command, out);
}

static void add_variable_names(yyjson_val *names, size_t max, struct buf *out)
{
    BUF_AT_END struct buf list = BUF_INIT(LINE_MAX_BYTES);
    size_t idx;
    size_t count;
    yyjson_val *name;
    yyjson_arr_foreach(names, idx, count, name) {
        if (idx)
            buf_add_char(&list, ',');
        if (yyjson_is_str(name))
            shell_word(json_str(name), &list);
        else
            write_cut(name, &list);
    }
    shown_line(buf_str(&list), max, out);
}

/* What else decides what a command does. It stands before the command, whose text could imitate it. */
static void write_given(const struct audit_item *item, yyjson_val *command, struct buf *out)
{
    yyjson_val *env = yyjson_obj_get(command, "env");
    yyjson_val *input = yyjson_obj_get(command, "stdin");
    yyjson_val *bytes = yyjson_obj_get(input, "bytes");
    BUF_AT_END struct buf room;
    struct str ran_in = audit_text(yyjson_obj_get(yyjson_obj_get(item->record, "end"), "folder"),
                                   &room);
    if (yyjson_is_arr(env)) {
        buf_add_text(out, "(env: ");
        add_variable_names(env, NAMES_SHOWN, out);
        buf_add_text(out, ") ");
    }
    if (yyjson_is_int(bytes))
        buf_addf(out, "(stdin: %" PRId64 " bytes) ", yyjson_get_sint(bytes));
    else if (input)
        buf_add_text(out, "(stdin: the caller's) ");
    if (ran_in.p) {
        buf_add_text(out, "(ran in ");
        shown_line(ran_in, LINE_MAX_BYTES, out);
        buf_add_text(out, ") ");
    }
}

bool audit_write_command(const struct audit_item *item, size_t max, struct buf *out)
{
    BUF_AT_END struct buf line = BUF_INIT(LINE_MAX_BYTES);
    yyjson_val *command = audit_command(item);
    BUF_AT_END struct buf room;
    struct str cwd = audit_text(yyjson_obj_get(command, "cwd"), &room);
    if (!command)
        return false;
    write_given(item, command, out);
    shell_word(cwd.p ? cwd : STR("?"), &line);
    buf_add_text(&line, "$ ");
    write_typed(command, &line);
    size_t n = line.len > max ? utf8_cut(line.data, max) : line.len;
    buf_add(out, line.data, n);
    if (n < line.len) {
        buf_addf(out, " [%zu" LEFT_OUT, line.len - n);
        shown_line(audit_item_text(item, "call"), CALL_ID_SHOWN, out);
        buf_add_char(out, ']');
    }
    return true;
}

/* --- details */

static void begin_detail(const char *name, struct buf *out)
{
    buf_addf(out, "    %s: ", name);
}

static void write_command_detail(const char *name, yyjson_val *val, struct buf *out)
{
    size_t n = 0;
    BUF_AT_END struct buf room;
    struct str plain = audit_text(val, &room);
    if (!val)
        return;
    begin_detail(name, out);
    char *text = plain.p ? NULL : yyjson_val_write(val, 0, &n);
    shown_line(text ? (struct str){text, n} : plain, LINE_MAX_BYTES, out);
    buf_add_char(out, '\n');
    free(text);
}

/* What the command read, as a word of a shell. */
static void write_command_stdin(yyjson_val *input, struct buf *out)
{
    yyjson_val *text = yyjson_obj_get(input, "text");
    yyjson_val *cut = yyjson_obj_get(input, "cut");
    if (!yyjson_is_str(text) && !yyjson_is_str(cut)) {
        write_command_detail("stdin", input, out);
        return;
    }
    begin_detail("stdin", out);
    shell_word(json_str(yyjson_is_str(text) ? text : cut), out);
    if (!yyjson_is_str(text))
        buf_addf(out, "[cut, %" PRId64 " bytes in all]",
                 yyjson_get_sint(yyjson_obj_get(input, "bytes")));
    buf_add_char(out, '\n');
}

void audit_write_details(const struct audit_item *item, struct buf *out)
{
    static const char *const of_call[] = {
        "call", "id",         "real",           "realTo", "rule",    "approvedBy", "grants",
        "end",  "violations", "violationsMore", "reason", "message", "note"};
    yyjson_val *command = audit_command(item);
    if (!audit_item_is_call(item))
        return;
    write_command_detail("folder", yyjson_obj_get(command, "folder"), out);
    write_command_detail("env", yyjson_obj_get(command, "env"), out);
    if (yyjson_obj_get(command, "stdin"))
        write_command_stdin(yyjson_obj_get(command, "stdin"), out);
    write_command_detail("network", yyjson_obj_get(command, "network"), out);
    if (command)
        write_command_detail("input", audit_item_field(item, "input"), out);
    for (size_t i = 0; i < ARRAY_LEN(of_call); i++)
        write_command_detail(of_call[i], audit_item_field(item, of_call[i]), out);
}
