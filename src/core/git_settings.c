#include "core/git_settings.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/git_words.h"
#include "core/guard_pattern.h"

#define NAME_MAX_BYTES 64u

/* `*` as the key: any one. Subsections do not matter. */
static const struct {
    const char *section;
    const char *key;
    enum git_setting use;
} settings[] = {
    {"include", "path", GIT_SETTING_INCLUDE},
    {"includeif", "path", GIT_SETTING_INCLUDE},
    {"core", "hookspath", GIT_SETTING_HOOKS},
    {"core", "attributesfile", GIT_SETTING_PATH},
    {"core", "excludesfile", GIT_SETTING_PATH},
    {"init", "templatedir", GIT_SETTING_TEMPLATE},
    {"alias", "*", GIT_SETTING_WORD},
    {"branch", "pushremote", GIT_SETTING_ADDRESS},
    {"branch", "remote", GIT_SETTING_ADDRESS},
    {"browser", "cmd", GIT_SETTING_WORD},
    {"browser", "path", GIT_SETTING_WORD},
    {"core", "alternaterefscommand", GIT_SETTING_WORD},
    {"core", "askpass", GIT_SETTING_WORD},
    {"core", "editor", GIT_SETTING_WORD},
    {"core", "fsmonitor", GIT_SETTING_WORD},
    {"core", "gitproxy", GIT_SETTING_WORD},
    {"core", "pager", GIT_SETTING_WORD},
    {"core", "sshcommand", GIT_SETTING_WORD},
    {"credential", "helper", GIT_SETTING_WORD},
    {"diff", "command", GIT_SETTING_WORD},
    {"diff", "external", GIT_SETTING_WORD},
    {"diff", "textconv", GIT_SETTING_WORD},
    {"difftool", "cmd", GIT_SETTING_WORD},
    {"difftool", "path", GIT_SETTING_WORD},
    {"filter", "clean", GIT_SETTING_WORD},
    {"filter", "process", GIT_SETTING_WORD},
    {"filter", "smudge", GIT_SETTING_WORD},
    {"gc", "recentobjectshook", GIT_SETTING_WORD},
    {"gpg", "defaultkeycommand", GIT_SETTING_WORD},
    {"gpg", "program", GIT_SETTING_WORD},
    {"guitool", "cmd", GIT_SETTING_WORD},
    {"hook", "command", GIT_SETTING_WORD},
    {"imap", "tunnel", GIT_SETTING_WORD},
    {"instaweb", "httpd", GIT_SETTING_WORD},
    {"interactive", "difffilter", GIT_SETTING_WORD},
    {"lfs", "clean", GIT_SETTING_WORD},
    {"lfs", "path", GIT_SETTING_WORD},
    {"lfs", "smudge", GIT_SETTING_WORD},
    {"man", "cmd", GIT_SETTING_WORD},
    {"man", "path", GIT_SETTING_WORD},
    {"merge", "driver", GIT_SETTING_WORD},
    {"mergetool", "cmd", GIT_SETTING_WORD},
    {"mergetool", "path", GIT_SETTING_WORD},
    {"pager", "*", GIT_SETTING_WORD},
    {"remote", "pushdefault", GIT_SETTING_ADDRESS},
    {"remote", "pushurl", GIT_SETTING_ADDRESS},
    {"remote", "receivepack", GIT_SETTING_WORD},
    {"remote", "uploadpack", GIT_SETTING_WORD},
    {"remote", "url", GIT_SETTING_ADDRESS},
    {"sendemail", "*", GIT_SETTING_WORD},
    {"sequence", "editor", GIT_SETTING_WORD},
    {"submodule", "update", GIT_SETTING_WORD},
    {"submodule", "url", GIT_SETTING_ADDRESS},
    {"tar", "command", GIT_SETTING_WORD},
    {"trailer", "cmd", GIT_SETTING_WORD},
    {"trailer", "command", GIT_SETTING_WORD},
    {"uploadpack", "packobjectshook", GIT_SETTING_WORD},
    {"url", "insteadof", GIT_SETTING_BASE},
    {"url", "pushinsteadof", GIT_SETTING_BASE},
};

const char *const git_hook_names[] = {"applypatch-msg",
                                      "commit-msg",
                                      "fsmonitor-watchman",
                                      "fsmonitor-watchmanv2",
                                      "p4-changelist",
                                      "p4-post-changelist",
                                      "p4-pre-submit",
                                      "p4-prepare-changelist",
                                      "post-applypatch",
                                      "post-checkout",
                                      "post-commit",
                                      "post-index-change",
                                      "post-merge",
                                      "post-receive",
                                      "post-rewrite",
                                      "post-update",
                                      "pre-applypatch",
                                      "pre-auto-gc",
                                      "pre-commit",
                                      "pre-merge-commit",
                                      "pre-push",
                                      "pre-rebase",
                                      "pre-receive",
                                      "prepare-commit-msg",
                                      "proc-receive",
                                      "push-to-checkout",
                                      "reference-transaction",
                                      "sendemail-validate",
                                      "update",
                                      NULL};
const char *const git_template_names[] = {"HEAD",     "commondir", "config", "config.worktree",
                                          "branches", "hooks",     "info",   "objects",
                                          "remotes",  NULL};

struct reader {
    struct str rest;
    char section[NAME_MAX_BYTES];
    char key[NAME_MAX_BYTES];
    char *value;      /* has room for all of the text */
    char *subsection; /* the same */
    char *line;       /* has room for twice as much */
    git_setting_fn fn;
    void *arg;
};

static int peek_setting_byte(const struct reader *r)
{
    return r->rest.n ? (unsigned char)r->rest.p[0] : -1;
}

static int next(struct reader *r)
{
    int c = peek_setting_byte(r);
    if (c >= 0)
        r->rest = (struct str){r->rest.p + 1, r->rest.n - 1};
    return c;
}

static void skip_line(struct reader *r)
{
    for (int c = peek_setting_byte(r); c >= 0 && c != '\n'; c = peek_setting_byte(r))
        next(r);
}

static bool is_setting_word_char(int c)
{
    int small = c < 0 ? c : ascii_lower((char)c);
    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

static void read_setting_word(struct reader *r, char word[NAME_MAX_BYTES])
{
    size_t n = 0;
    for (; is_setting_word_char(peek_setting_byte(r)); next(r)) {
        if (n + 1 < NAME_MAX_BYTES)
            word[n++] = ascii_lower((char)peek_setting_byte(r));
    }
    word[n] = '\0';
}

/* Behind `[`. The name of a subsection may hold `]`, where it is quoted. */
static void read_section_heading(struct reader *r)
{
    bool quoted = false;
    size_t n = 0;
    read_setting_word(r, r->section);
    for (int c = next(r); c >= 0 && c != '\n' && (quoted || c != ']'); c = next(r)) {
        if (c == '"') {
            quoted = !quoted;
            continue;
        }
        if (c == '\\' && quoted)
            c = next(r);
        if (quoted && c > 0)
            r->subsection[n++] = (char)c;
    }
    r->subsection[n] = '\0';
}

static void add_value_byte(struct reader *r, size_t *n, int c)
{
    r->value[(*n)++] = (char)c;
}

/* Behind `=`, with quotes and escapes taken off, as git does. */
static void read_setting_value(struct reader *r)
{
    size_t n = 0;
    size_t end = 0; /* blanks behind it do not count */
    bool quoted = false;
    for (int c = next(r); c >= 0 && c != '\n'; c = next(r)) {
        if (!quoted && (c == '#' || c == ';')) {
            skip_line(r);
            next(r);
            break;
        }
        if (c == '"') {
            quoted = !quoted;
            end = n;
            continue;
        }
        if (c == '\\') {
            c = next(r);
            if (c == '\r' && peek_setting_byte(r) == '\n')
                c = next(r);
            if (c == '\n')
                continue;
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c;
            if (c < 0)
                break;
        } else if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
            if (n)
                add_value_byte(r, &n, c);
            continue;
        }
        add_value_byte(r, &n, c);
        end = n;
    }
    r->value[end] = '\0';
}

static void tell_line(const struct reader *r, const char *line)
{
    if (git_words_each(line, r->fn, r->arg))
        return;
    char name[2 * NAME_MAX_BYTES];
    snprintf(name, sizeof name, "%s.%s", r->section, r->key);
    r->fn(r->arg, GIT_SETTING_UNREAD, name);
}

/* Behind `ext::`: `% ` is a blank that parts no words, `%s` and others stand for what git asks for, and nothing is
 * special to a shell. */
static void tell_program(const struct reader *r, const char *text)
{
    char *out = r->line;
    for (const char *at = text; *at; at++) {
        bool filled = at[0] == '%' && at[1] && at[1] != ' ' && at[1] != '%';
        bool escaped = (at[0] == '%' && at[1] && !filled) || strchr("\"'`\\$;|&()<>*?[{~", *at);
        at += at[0] == '%' && at[1];
        if (escaped)
            *out++ = '\\';
        *out++ = filled ? '*' : *at;
    }
    *out = '\0';
    tell_line(r, r->line);
}

/* With remote.NAME.vcs the program stands without `ext::`, which other addresses with blanks do not look like. */
static void tell_address(const struct reader *r, const char *address)
{
    static const char program[] = "ext::";
    if (strncmp(address, program, sizeof program - 1) == 0)
        tell_program(r, address + sizeof program - 1);
    else if (strchr(address, ' ') && strchr(address, '%'))
        tell_program(r, address);
}

static void tell_one(const struct reader *r, enum git_setting use)
{
    switch (use) {
    case GIT_SETTING_ADDRESS:
        tell_address(r, r->value);
        return;
    case GIT_SETTING_BASE:
        tell_address(r, r->subsection);
        return;
    case GIT_SETTING_WORD:
        tell_line(r, r->value);
        return;
    default:
        if (r->value[0])
            r->fn(r->arg, use, r->value);
    }
}

static void tell_matching_uses(const struct reader *r)
{
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        if (strcmp(r->section, settings[i].section) != 0 ||
            (strcmp(settings[i].key, "*") != 0 && strcmp(r->key, settings[i].key) != 0))
            continue;
        /* An alias without `!` is a command of git's own. */
        if (strcmp(r->section, "alias") != 0 || r->value[0] == '!')
            tell_one(r, settings[i].use);
    }
}

static void read_setting(struct reader *r)
{
    read_setting_word(r, r->key);
    r->value[0] = '\0';
    while (peek_setting_byte(r) == ' ' || peek_setting_byte(r) == '\t')
        next(r);
    if (peek_setting_byte(r) == '=') {
        next(r);
        read_setting_value(r);
    } else {
        skip_line(r);
    }
    tell_matching_uses(r);
}

void git_settings_each(struct str text, git_setting_fn fn, void *arg)
{
    FREE_AT_END char *value = mem_zero(text.n + 1);
    FREE_AT_END char *subsection = mem_zero(text.n + 1);
    FREE_AT_END char *line = mem_zero(2 * text.n + 1);
    struct reader r = {
        .rest = text, .value = value, .subsection = subsection, .line = line, .fn = fn, .arg = arg};
    /* A mark of the byte order, as some editors write it. */
    if (text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0)
        r.rest = (struct str){text.p + 3, text.n - 3};
    for (int c = peek_setting_byte(&r); c >= 0; c = peek_setting_byte(&r)) {
        if (c == '#' || c == ';') {
            skip_line(&r);
        } else if (c == '[') {
            next(&r);
            read_section_heading(&r);
        } else if (is_setting_word_char(c)) {
            read_setting(&r);
        } else {
            next(&r);
        }
    }
}

bool git_setting_is_path(const char *word)
{
    return strchr(word, '/') || (word[0] != '.' && strchr(word, '.'));
}

int64_t git_setting_number(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        size_t n = strlen(settings[i].section);
        if (strncmp(name, settings[i].section, n) == 0 && name[n] == '.' &&
            (strcmp(settings[i].key, "*") == 0 || strcmp(name + n + 1, settings[i].key) == 0))
            return (int64_t)i + 1;
    }
    return 0;
}

char *git_setting_name(int64_t number)
{
    if (number < 1 || number > (int64_t)ARRAY_LEN(settings))
        return NULL;
    return mem_format("%s.%s", settings[number - 1].section, settings[number - 1].key);
}
