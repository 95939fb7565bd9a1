#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "core/git_words_parts.h"

#define COMMAND_ENDS ";|&(\n"

static void add_literal(struct line *l, char c)
{
    if (strchr("*?[]{},\\", c))
        buf_add_char(&l->pattern, '\\');
    buf_add_char(&l->pattern, c);
    buf_add_char(&l->text, c);
}

bool git_line_is_one_of(struct str text, const char *const *words)
{
    for (; *words; words++) {
        if (str_is(text, *words))
            return true;
    }
    return false;
}

static enum prefix prefix_of_name(struct str name)
{
    static const char *const tree[] = {"PWD", "GIT_WORK_TREE", NULL};
    static const char *const home[] = {"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR", NULL};
    static const char *const given[] = {"@",      "*",      "LOCAL",      "REMOTE",
                                        "MERGED", "BASE",   "GIT_PREFIX", "BROWSER",
                                        "EDITOR", "VISUAL", "PAGER",      NULL};
    bool number = name.n == 1 && name.p[0] >= '0' && name.p[0] <= '9';
    return git_line_is_one_of(name, tree)              ? PREFIX_TREE
           : git_line_is_one_of(name, home)            ? PREFIX_HOME
           : number || git_line_is_one_of(name, given) ? PREFIX_GIVEN
                                                       : PREFIX_UNKNOWN;
}

static struct str without_outer_blanks(struct str text)
{
    while (text.n && strchr(" \t\n", text.p[0]))
        text = (struct str){text.p + 1, text.n - 1};
    while (text.n && strchr(" \t\n", text.p[text.n - 1]))
        text.n--;
    return text;
}

static enum prefix prefix_of_command(struct str text)
{
    static const char *const tree[] = {"pwd", "pwd -P", "git rev-parse --show-toplevel", NULL};
    return git_line_is_one_of(without_outer_blanks(text), tree) ? PREFIX_TREE : PREFIX_UNKNOWN;
}

static void note_expansion(struct line *l, enum prefix prefix)
{
    l->joined = true;
    if (l->text.len == 0) {
        l->prefix = l->prefix == PREFIX_NONE || prefix == PREFIX_UNKNOWN ? prefix : l->prefix;
        return;
    }
    buf_add_char(&l->text, '*');
    buf_add_char(&l->pattern, '*');
    l->glob = true;
}

/* Behind the bracket that opens. */
static struct str take_until_closed(struct line *l, char open, char close)
{
    const char *from = l->at;
    int depth = 1;
    for (; *l->at; l->at++) {
        depth += (*l->at == open) - (*l->at == close);
        if (depth == 0)
            break;
    }
    struct str inside = {from, (size_t)(l->at - from)};
    l->at += *l->at != '\0';
    return inside;
}

static void read_git_substitution(struct line *l, struct str text)
{
    enum prefix prefix = prefix_of_command(text);
    note_expansion(l, prefix);
    if (prefix != PREFIX_TREE)
        git_line_inner(l, text);
}

static size_t name_length(const char *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t n = strspn(at, letters);
    return n && at[0] >= '0' && at[0] <= '9' ? 1 : n ? n : *at && strchr("@*#?$!-", *at) ? 1 : 0;
}

/* Behind `$`. */
static void read_expansion(struct line *l)
{
    if (*l->at == '(') {
        l->at++;
        read_git_substitution(l, take_until_closed(l, '(', ')'));
    } else if (*l->at == '{') {
        l->at++;
        struct str inside = take_until_closed(l, '{', '}');
        note_expansion(l, prefix_of_name((struct str){inside.p, name_length(inside.p)}));
    } else if (name_length(l->at)) {
        struct str name = {l->at, name_length(l->at)};
        l->at += name.n;
        note_expansion(l, prefix_of_name(name));
    } else {
        add_literal(l, '$');
    }
}

static void read_backticks(struct line *l)
{
    struct str inside = {l->at, strcspn(l->at, "`")};
    l->at += inside.n + (l->at[inside.n] != '\0');
    read_git_substitution(l, inside);
}

static void read_single_quotes(struct line *l)
{
    while (*l->at && *l->at != '\'')
        add_literal(l, *l->at++);
    l->at += *l->at != '\0';
}

static void read_double_quotes(struct line *l)
{
    while (*l->at && *l->at != '"') {
        char c = *l->at++;
        if (c == '$')
            read_expansion(l);
        else if (c == '`')
            read_backticks(l);
        else if (c == '\\' && *l->at && strchr("$`\"\\\n", *l->at))
            add_literal(l, *l->at++);
        else
            add_literal(l, c);
    }
    l->at += *l->at != '\0';
}

static void read_plain(struct line *l, char c)
{
    bool special = strchr("*?[{", c) != NULL;
    l->glob |= special;
    l->joined |= special;
    buf_add_char(&l->text, c);
    buf_add_char(&l->pattern, c);
}

/* The folder of an option is that of one command. */
static void end_command(struct line *l)
{
    if (l->entered) {
        l->folder.len = 0;
        buf_add(&l->folder, l->around.data, l->around.len);
    }
    l->entered = 0;
    l->given.len = 0;
    l->given_more = false;
}

bool git_line_next(struct line *l)
{
    l->text.len = l->pattern.len = 0;
    l->prefix = PREFIX_NONE;
    l->joined = l->quoted = l->glob = false;
    for (; *l->at && strchr(GIT_LINE_ENDS, *l->at); l->at++) {
        if (strchr(COMMAND_ENDS, *l->at)) {
            end_command(l);
            l->place = PLACE_PROGRAM;
            l->python = false;
            l->before = '\0';
        }
    }
    if (!*l->at)
        return false;
    while (*l->at && !strchr(GIT_LINE_ENDS, *l->at)) {
        char c = *l->at++;
        l->quoted |= c == '\'' || c == '"';
        l->joined |= c == '\'' || c == '"' || c == '\\';
        if (c == '\'')
            read_single_quotes(l);
        else if (c == '"')
            read_double_quotes(l);
        else if (c == '$')
            read_expansion(l);
        else if (c == '`')
            read_backticks(l);
        else if (c == '\\' && *l->at)
            add_literal(l, *l->at++);
        else
            read_plain(l, c);
    }
    return true;
}
