/* Any bytes as a command line: read, judged, and the same again as the quoted text for `sh -c`. */
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "policy/command_rules.h"
#include "policy/plain_line.h"
#include "policy/shell_words.h"
#include "target.h"

static void check_error(struct str text, const struct err *err)
{
    must(err->code == ERR_INVALID_ARGUMENTS && strcmp(err->field, "command") == 0);
    must(err->message[0]);
    must(!utf8_valid(text.p, text.n) || utf8_valid(err->message, strlen(err->message)));
}

static void check_script(struct str text, const struct shell_script *script)
{
    size_t words = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < script->n; i++) {
        const struct shell_command *command = &script->commands[i];
        must(command->join < SHELL_JOIN_COUNT && shell_join_name(command->join)[0]);
        must(command->at < text.n && command->assigns <= command->n);
        must(i == 0 || command->at >= script->commands[i - 1].at);
        must(command->join != SHELL_NEWLINE || command->n == 0 ||
             script->joined_at[SHELL_NEWLINE] <= command->at);
        words += command->n;
        for (size_t k = 0; k < command->n; k++) {
            const struct shell_word *word = &command->words[k];
            must(!(word->flags & SHELL_ASSIGNS) == (k >= command->assigns));
            must(word->text.n == 0 || !memchr(word->text.p, '\0', word->text.n));
            must(word->text.n || word->flags & (SHELL_QUOTED | SHELL_EXPANDS));
            bytes += word->text.n;
        }
    }
    must(words <= text.n && bytes <= 2 * text.n);
}

static bool check_read(struct str text)
{
    SHELL_AT_END struct shell_script script = {0};
    struct err err = {.code = ERR_COUNT};
    if (shell_read(text, &script, &err) < 0) {
        check_error(text, &err);
        return false;
    }
    must(err.code == ERR_COUNT);
    check_script(text, &script);
    return true;
}

static void add_quoted(struct buf *out, struct str text)
{
    buf_add_char(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'')
            buf_add_text(out, "'\\'");
        buf_add_char(out, text.p[i]);
    }
    buf_add_char(out, '\'');
}

/* A quoted text is one word and means what it meant. */
static void check_quoted(struct str text, const struct err *before)
{
    BUF_AT_END struct buf quoted = BUF_INIT(1 << 20);
    SHELL_AT_END struct shell_script script = {0};
    struct err err = {.code = ERR_COUNT};
    buf_add_text(&quoted, "sh -c -- ");
    add_quoted(&quoted, text);
    if (quoted.len > SHELL_TEXT_MAX)
        return;
    must(shell_read(buf_str(&quoted), &script, &err) == 0);
    must(script.n == 1 && script.commands[0].n == 4);
    struct str word = script.commands[0].words[3].text;
    must(word.n == text.n && (text.n == 0 || memcmp(word.p, text.p, text.n) == 0));
    command_check(buf_str(&quoted), &command_rules_sidecar, &err);
    must(err.code == before->code || strcmp(err.reason, "nesting") == 0);
    must(err.code != ERR_COMMAND_BLOCKED || strcmp(err.reason, before->reason) == 0 ||
         strcmp(err.reason, "nesting") == 0);
}

static bool is_program(const struct plain_command *command, const struct shell_word *other)
{
    struct str text = command->words[0].text;
    return text.n == other->text.n && memcmp(text.p, other->text.p, text.n) == 0;
}

/* What is understood is read in the same way by the reader that knows more of the language. */
static void check_plain(struct str text)
{
    PLAIN_AT_END struct plain_line line = {0};
    SHELL_AT_END struct shell_script script = {0};
    struct plain_fault why = {SIZE_MAX, NULL};
    struct err err = {.code = ERR_COUNT};
    if (plain_read(text, &line, &why) < 0) {
        must(why.at <= text.n && why.construct && line.n == 0);
        return;
    }
    must(why.construct == NULL && line.n > 0);
    must(shell_read(text, &script, &err) == 0 && script.n == line.n);
    for (size_t i = 0; i < line.n; i++) {
        const struct shell_command *command = &script.commands[i];
        const struct shell_word *words = command->words + command->assigns;
        must(line.commands[i].n == command->n - command->assigns);
        must(is_program(&line.commands[i], words) && shell_word_known(&words[0]));
        for (size_t k = 0; k < line.commands[i].n; k++)
            must(!shell_word_known(&words[k]) || !(line.commands[i].words[k].flags & PLAIN_ANY));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {size ? (const char *)data : "", size};
    struct command_rules rules = command_rules_sidecar;
    struct err err = {.code = ERR_COUNT};
    struct err lenient = {.code = ERR_COUNT};
    bool readable = check_read(text);
    check_plain(text);
    bool passes = command_check(text, &rules, &err) == 0;
    must(passes == (err.code == ERR_COUNT) && (readable || err.code == ERR_INVALID_ARGUMENTS));
    must(err.code != ERR_COMMAND_BLOCKED || strstr(err.message, err.reason));
    rules.allow_chaining = true;
    must((command_check(text, &rules, &lenient) == 0) == (lenient.code == ERR_COUNT));
    must(!passes || lenient.code == ERR_COUNT);
    must(strncmp(lenient.reason, "chaining", 8) != 0);
    if (readable)
        check_quoted(text, &err);
    COMMAND_PAIRS_AT_END struct command_pairs pairs = {.n = 0};
    struct err paired = {.code = ERR_COUNT};
    if (command_pairs_read(text, &(struct command_around){"/workspace"}, &pairs, &paired) == 0)
        must(pairs.n <= COMMAND_PAIRS_MAX && paired.code == ERR_COUNT);
    return 0;
}
