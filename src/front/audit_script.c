/* `--as sh`: the commands that ran as a script for bash, in the order in which they ended.
 *
 * Each is one line, and its status is that of the command. What cannot be repeated as it was is a comment: a command that
 * was cut in the log could do something else than it did. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/shell_word.h"
#include "base/shown.h"
#include "front/audit_command.h"
#include "front/audit_write.h"

#define TEXT_SHOWN 400

const char audit_script_head[] =
    "#!/bin/bash\n"
    "# Commands from an audit log, each with its time, agent and session, result and duration.\n"
    "# They ran in a sandbox, and this script has none. With WORKSPACE set, they run in that folder\n"
    "# in place of the one they ran in.\n"
    "unset CDPATH\n"
    "IFS=\n"
    "set -f\n";

static void add_item_text(const struct audit_item *item, const char *field, const char *before,
                          struct buf *out)
{
    struct str text = audit_item_text(item, field);
    if (text.n == 0)
        return;
    buf_add_text(out, before);
    audit_write_name(text, TEXT_SHOWN, out);
}

static void write_comment(const struct audit_item *item, struct buf *out)
{
    yyjson_val *ms = yyjson_obj_get(item->record, "durationMs");
    yyjson_val *began = yyjson_obj_get(item->intent, "ts");
    buf_add_text(out, "\n# ");
    shown_line(yyjson_is_str(began) ? json_str(began) : audit_item_text(item, "ts"), TEXT_SHOWN,
               out);
    add_item_text(item, "tool", " ", out);
    buf_add_text(out, ": ");
    audit_write_result(item, out);
    if (yyjson_is_int(ms))
        buf_addf(out, ", %" PRId64 " ms", yyjson_get_sint(ms));
    add_item_text(item, "agent", ", agent ", out);
    add_item_text(item, "session", ", session ", out);
    add_item_text(item, "call", ", call ", out);
    buf_add_char(out, '\n');
}

static void write_input_comment(const struct audit_item *item, struct buf *out)
{
    size_t n = 0;
    char *text = yyjson_val_write(audit_item_field(item, "input"), 0, &n);
    if (text) {
        buf_add_text(out, "#   ");
        shown_line((struct str){text, n}, TEXT_SHOWN, out);
        buf_add_char(out, '\n');
    }
    free(text);
}

/* --- whether it can be repeated */

static bool is_variable_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
        if (!letter && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return name.n > 0;
}

static bool has_names(yyjson_val *env)
{
    size_t idx;
    size_t max;
    yyjson_val *name;
    yyjson_arr_foreach(env, idx, max, name) {
        if (!yyjson_is_str(name) || !is_variable_name(json_str(name)))
            return false;
    }
    return true;
}

static bool has_whole_stdin(yyjson_val *input)
{
    return !input || yyjson_is_true(yyjson_obj_get(input, "inherited")) ||
           audit_text_whole(yyjson_obj_get(input, "text"));
}

/* bash would leave out what follows, and no command was given one: such a record is not from a gate. */
static bool has_nul(yyjson_val *val)
{
    BUF_AT_END struct buf room;
    struct str text = audit_text(val, &room);
    return text.n && memchr(text.p, '\0', text.n);
}

static bool has_nul_in_words(yyjson_val *command)
{
    size_t idx;
    size_t max;
    yyjson_val *word;
    bool nul = has_nul(yyjson_obj_get(command, "folder")) ||
               has_nul(yyjson_obj_get(command, "workspace"));
    yyjson_arr_foreach(yyjson_obj_get(command, "argv"), idx, max, word)
        nul |= has_nul(word);
    return nul;
}

/* The end of `folder` behind `workspace`, which it lies in, in `room`; false: it does not. */
static bool part_behind(yyjson_val *command, struct buf *room, struct str *ret)
{
    BUF_AT_END struct buf root_room;
    struct str folder = audit_text(yyjson_obj_get(command, "folder"), room);
    struct str root = audit_text(yyjson_obj_get(command, "workspace"), &root_room);
    if (!root.p || !folder.p || folder.n < root.n || memcmp(folder.p, root.p, root.n) != 0)
        return false;
    *ret = (struct str){folder.p + root.n, folder.n - root.n};
    return ret->n == 0 || ret->p[0] == '/';
}

/* Why it is not in the script as a command; NULL: it is. */
static const char *why_not_in_script(const struct audit_item *item, yyjson_val *command,
                                     bool words_whole)
{
    BUF_AT_END struct buf room = BUF_INIT(0);
    struct str ignored;
    yyjson_val *by = yyjson_obj_get(yyjson_obj_get(item->record, "end"), "by");
    if (str_is(audit_item_text(item, "kind"), "call.refused") ||
        yyjson_equals_str(by, "not_started"))
        return "did not run";
    if (!yyjson_is_str(by) || yyjson_equals_str(by, "interrupted"))
        return "how far it came is not known";
    if (!audit_text_whole(yyjson_obj_get(command, "folder")) ||
        !part_behind(command, &room, &ignored))
        return "its folder is not recorded";
    if (!words_whole)
        return "not recorded as a whole";
    if (!has_whole_stdin(yyjson_obj_get(command, "stdin")))
        return "its standard input is not recorded as a whole";
    if (has_nul(yyjson_obj_get(yyjson_obj_get(command, "stdin"), "text")))
        return "its standard input has a NUL";
    if (has_nul_in_words(command))
        return "it has a NUL";
    return has_names(yyjson_obj_get(command, "env")) ? NULL : "its variables cannot be set";
}

/* --- the command */

static void write_feed(yyjson_val *input, struct buf *out)
{
    yyjson_val *text = yyjson_obj_get(input, "text");
    if (!yyjson_is_str(text))
        return;
    buf_add_text(out, "printf %s ");
    shell_word(json_str(text), out);
    buf_add_text(out, " | ");
}

/* Values are not recorded: without them it would be another command. */
static void write_variables(yyjson_val *env, struct buf *out)
{
    size_t idx;
    size_t max;
    yyjson_val *name;
    yyjson_arr_foreach(env, idx, max, name)
        buf_addf(out, ": \"${%s?set it: its value is not recorded}\" && export %s && ",
                 yyjson_get_str(name), yyjson_get_str(name));
}

static void write_script_folder(yyjson_val *command, struct buf *out)
{
    BUF_AT_END struct buf root_room;
    BUF_AT_END struct buf room = BUF_INIT(0);
    struct str behind;
    buf_add_text(out, "cd -- ${WORKSPACE:-");
    shell_word(audit_text(yyjson_obj_get(command, "workspace"), &root_room), out);
    buf_add_char(out, '}');
    if (part_behind(command, &room, &behind) && behind.n)
        shell_word(behind, out);
    buf_add_text(out, " && ");
}

/* One that was stopped would go on here. */
static void write_limit(const struct audit_item *item, struct buf *out)
{
    yyjson_val *by = yyjson_obj_get(yyjson_obj_get(item->record, "end"), "by");
    int64_t ms = yyjson_get_sint(yyjson_obj_get(item->record, "durationMs"));
    ms = ms < 1 ? 1 : ms; /* 0 would be no limit */
    if (yyjson_equals_str(by, "timeout") || yyjson_equals_str(by, "cancelled") ||
        yyjson_equals_str(by, "output_limit"))
        buf_addf(out, "timeout -k 5 %" PRId64 ".%03d ", ms / 1000, (int)(ms % 1000));
}

static void write_script_command(const struct audit_item *item, yyjson_val *command,
                                 struct buf *out)
{
    yyjson_val *input = yyjson_obj_get(command, "stdin");
    write_feed(input, out);
    buf_add_char(out, '(');
    write_variables(yyjson_obj_get(command, "env"), out);
    write_script_folder(command, out);
    /* The program itself, not a builtin of that name. */
    buf_add_text(out, "exec -- ");
    write_limit(item, out);
    audit_write_argv(command, out);
    buf_add_text(out, input ? ")\n" : ") </dev/null\n");
}

void audit_write_script(const struct audit_item *item, const struct audit_style *style,
                        struct buf *out)
{
    (void)style;
    yyjson_val *command = audit_command(item);
    BUF_AT_END struct buf words = BUF_INIT((size_t)64 << 20);
    if (!audit_item_is_call(item))
        return;
    if (item->unchained)
        buf_add_text(out, "# " AUDIT_UNCHAINED ": the record of this call was changed or added\n");
    write_comment(item, out);
    if (!command) {
        write_input_comment(item, out);
        return;
    }
    bool whole = audit_write_argv(command, &words);
    const char *why = why_not_in_script(item, command, whole);
    if (!why) {
        write_script_command(item, command, out);
        return;
    }
    buf_addf(out, "# %s: ", why);
    buf_add(out, words.data ? words.data : "", words.len);
    buf_add_char(out, '\n');
}
