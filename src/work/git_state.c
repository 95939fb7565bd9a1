#include "work/git_state.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

static struct str first_word_of_line(struct str line)
{
    size_t n = 0;
    while (n < line.n && line.p[n] != ' ' && line.p[n] != '\t')
        n++;
    return (struct str){line.p, n};
}

static bool all_commands(struct str text, const char *const *commands)
{
    struct str line;
    bool whole;
    while (git_next_line(&text, &line, &whole)) {
        while (line.n && (line.p[0] == ' ' || line.p[0] == '\t'))
            line = (struct str){line.p + 1, line.n - 1};
        if (git_has_control(line))
            return false;
        if (line.n && line.p[0] != '#' && !str_in(first_word_of_line(line), commands))
            return false;
    }
    return true;
}

bool git_is_todo(struct str text, unsigned hex)
{
    static const char *const commands[] = {
        "pick",   "p",    "revert", "edit", "e",          "reword", "r",     "fixup", "f",
        "squash", "s",    "label",  "l",    "reset",      "t",      "merge", "m",     "drop",
        "d",      "noop", "break",  "b",    "update-ref", "u",      NULL};
    (void)hex;
    return all_commands(text, commands);
}

bool git_is_pick_todo(struct str text, unsigned hex)
{
    static const char *const commands[] = {"pick", "p", "revert", NULL};
    (void)hex;
    return all_commands(text, commands);
}

/* Text in single quotes as a shell reads it; a quote and a `!` in it stand outside, behind a backslash. */
static bool is_quoted(struct str text)
{
    bool inside = false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'') {
            inside = !inside;
            continue;
        }
        if (inside)
            continue;
        bool escaped = text.p[i] == '\\' && i + 2 < text.n && strchr("'!", text.p[i + 1]) &&
                       text.p[i + 2] == '\'';
        if (!escaped)
            return false;
        i++;
    }
    return !inside && text.n >= 2 && text.p[0] == '\'';
}

bool git_is_author_script(struct str text, unsigned hex)
{
    static const char *const names[] = {
        "GIT_AUTHOR_NAME=", "GIT_AUTHOR_EMAIL=", "GIT_AUTHOR_DATE="};
    struct str line;
    bool whole;
    (void)hex;
    while (git_next_line(&text, &line, &whole)) {
        bool known = false;
        for (size_t i = 0; i < ARRAY_LEN(names) && !known; i++) {
            size_t n = strlen(names[i]);
            known = line.n > n && memcmp(line.p, names[i], n) == 0 &&
                    is_quoted((struct str){line.p + n, line.n - n});
        }
        if (!known || git_has_control(line))
            return false;
    }
    return true;
}

static const char *const strategies[] = {"ort",  "recursive", "resolve", "octopus",
                                         "ours", "subtree",   NULL};

bool git_is_strategy(struct str text, unsigned hex)
{
    (void)hex;
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    return str_in(text, strategies);
}

static bool is_plain_state_text(struct str text, const char *others)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (c == '\0' || !strchr(others, c)))
            return false;
    }
    return true;
}

static struct str without_end(struct str text)
{
    if (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    return text;
}

/* One line: git takes each for words of its own. */
bool git_is_quoted_words(struct str text, unsigned hex)
{
    (void)hex;
    return is_plain_state_text(without_end(text), " '._/+@,=:-");
}

bool git_is_sign_option(struct str text, unsigned hex)
{
    (void)hex;
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    return text.n == 0 ||
           (text.n >= 2 && memcmp(text.p, "-S", 2) == 0 && is_plain_state_text(text, "-"));
}

/* `\tname = value` */
static bool is_sequence_option(struct str line)
{
    static const char *const switches[] = {"no-commit",
                                           "edit",
                                           "allow-empty",
                                           "allow-empty-message",
                                           "keep-redundant-commits",
                                           "signoff",
                                           "record-origin",
                                           "allow-ff",
                                           "mainline",
                                           "allow-rerere-auto",
                                           "default-msg-cleanup",
                                           "drop-redundant-commits",
                                           NULL};
    while (line.n && (line.p[0] == ' ' || line.p[0] == '\t'))
        line = (struct str){line.p + 1, line.n - 1};
    struct str name = first_word_of_line(line);
    struct str value = {line.p + name.n, line.n - name.n};
    if (value.n < 4 || memcmp(value.p, " = ", 3) != 0)
        return false;
    value = (struct str){value.p + 3, value.n - 3};
    static const char *const strategy[] = {"strategy", NULL};
    return str_in(name, strategy) ? str_in(value, strategies)
                                  : str_in(name, switches) && is_plain_state_text(value, "-");
}

bool git_is_sequence_options(struct str text, unsigned hex)
{
    struct str line;
    bool whole;
    (void)hex;
    for (bool first = true; git_next_line(&text, &line, &whole); first = false) {
        if (first ? !str_is(line, "[options]") : !is_sequence_option(line))
            return false;
    }
    return true;
}

bool git_is_head_name(struct str text, unsigned hex)
{
    (void)hex;
    text = without_end(text);
    return str_is(text, "detached HEAD") || git_is_ref_name(text);
}

bool git_is_branch(struct str text, unsigned hex)
{
    static const char heads[] = "refs/heads/";
    char full[512] = "refs/heads/";
    text = without_end(text);
    if (git_is_id(text, hex))
        return true;
    if (text.n == 0 || text.n > sizeof full - sizeof heads)
        return false;
    memcpy(full + sizeof heads - 1, text.p, text.n);
    return git_is_ref_name((struct str){full, sizeof heads - 1 + text.n});
}

bool git_is_refs_or_ids(struct str text, unsigned hex)
{
    struct str line;
    bool whole;
    while (git_next_line(&text, &line, &whole)) {
        if (!git_is_id(line, hex) && (!git_is_ref_name(line) || git_replaces(line)))
            return false;
    }
    return true;
}

bool git_is_terms(struct str text, unsigned hex)
{
    struct str line;
    bool whole;
    size_t count = 0;
    for (; git_next_line(&text, &line, &whole); count++) {
        if (line.n == 0 || line.p[0] == '-' || !git_is_word(line, hex))
            return false;
    }
    return count == 2;
}

bool git_is_blank(struct str text, unsigned hex)
{
    (void)hex;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != ' ' && text.p[i] != '\n')
            return false;
    }
    return true;
}
