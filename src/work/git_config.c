#include <string.h>

#include "base/ascii.h"
#include "base/json.h"
#include "core/guard_pattern.h"
#include "work/git_plain.h"

/* `*` as the subsection: any one. */
static const struct {
    const char *section;
    const char *subsection;
    const char *key;
} plain_keys[] = {
    {"core", NULL, "repositoryformatversion"},
    {"core", NULL, "filemode"},
    {"core", NULL, "bare"},
    {"core", NULL, "logallrefupdates"},
    {"core", NULL, "ignorecase"},
    {"core", NULL, "precomposeunicode"},
    {"core", NULL, "symlinks"},
    {"extensions", NULL, "objectformat"},
    {"remote", "*", "url"},
    {"remote", "*", "fetch"},
    {"remote", "*", "tagopt"},
    {"branch", "*", "remote"},
    {"branch", "*", "merge"},
    {"branch", "*", "rebase"},
    {"submodule", NULL, "active"},
    {"submodule", "*", "active"},
    {"submodule", "*", "url"},
    {"user", NULL, "name"},
    {"user", NULL, "email"},
    {"init", NULL, "defaultbranch"},
    {"core", NULL, "autocrlf"},
    {"core", NULL, "eol"},
    {"core", NULL, "safecrlf"},
    {"pull", NULL, "rebase"},
    {"pull", NULL, "ff"},
    {"push", NULL, "default"},
    {"push", NULL, "autosetupremote"},
    {"fetch", NULL, "prune"},
    {"merge", NULL, "conflictstyle"},
    {"rebase", NULL, "autostash"},
};

struct heading {
    struct str section;
    struct str subsection; /* .p is NULL: none */
};

static bool is_config_word(struct str a, const char *b)
{
    if (a.n != strlen(b))
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (ascii_lower(a.p[i]) != b[i])
            return false;
    }
    return true;
}

static bool is_config_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct str trim_config_text(struct str s)
{
    while (s.n && is_config_space(s.p[0]))
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n && is_config_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

static struct str take_config_word(struct str *rest)
{
    size_t n = 0;
    while (n < rest->n && ((ascii_lower(rest->p[n]) >= 'a' && ascii_lower(rest->p[n]) <= 'z') ||
                           (rest->p[n] >= '0' && rest->p[n] <= '9') || rest->p[n] == '-'))
        n++;
    struct str word = {rest->p, n};
    *rest = (struct str){rest->p + n, rest->n - n};
    return word;
}

/* `[name]` or `[name "sub"]` and nothing behind it. */
static bool read_config_heading(struct str line, struct heading *ret)
{
    if (line.n < 3 || line.p[line.n - 1] != ']')
        return false;
    struct str rest = {line.p + 1, line.n - 2};
    ret->section = take_config_word(&rest);
    ret->subsection = (struct str){0};
    if (ret->section.n == 0)
        return false;
    rest = trim_config_text(rest);
    if (rest.n == 0)
        return true;
    if (rest.n < 2 || rest.p[0] != '"' || rest.p[rest.n - 1] != '"')
        return false;
    ret->subsection = (struct str){rest.p + 1, rest.n - 2};
    return !memchr(ret->subsection.p, '"', ret->subsection.n) &&
           !memchr(ret->subsection.p, '\\', ret->subsection.n);
}

static bool is_plain_key(const struct heading *at, struct str key)
{
    for (size_t i = 0; i < ARRAY_LEN(plain_keys); i++) {
        bool sub = plain_keys[i].subsection != NULL;
        if (is_config_word(at->section, plain_keys[i].section) &&
            sub == (at->subsection.p != NULL) && is_config_word(key, plain_keys[i].key))
            return true;
    }
    return false;
}

/* `ext::` and its kin name a program, and so does what looks like an option. */
static bool is_plain_value(struct str key, struct str value)
{
    if (memchr(value.p, '"', value.n) || memchr(value.p, '\\', value.n))
        return false;
    bool address = is_config_word(key, "url") || is_config_word(key, "remote");
    return !address || (value.n && value.p[0] != '-' && !memmem(value.p, value.n, "::", 2));
}

static bool is_plain_setting(const struct heading *at, struct str line)
{
    struct str key = take_config_word(&line);
    line = trim_config_text(line);
    if (key.n == 0 || !at->section.n || !is_plain_key(at, key))
        return false;
    if (line.n == 0)
        return true;
    return line.p[0] == '=' &&
           is_plain_value(key, trim_config_text((struct str){line.p + 1, line.n - 1}));
}

bool git_config_is_plain(struct str text)
{
    struct heading at = {0};
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;
        struct str line = trim_config_text((struct str){text.p, n});
        n += end != NULL;
        text = (struct str){text.p + n, text.n - n};
        if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';')
            continue;
        if (memchr(line.p, '\0', line.n))
            return false;
        if (line.p[0] == '[' ? !read_config_heading(line, &at) : !is_plain_setting(&at, line))
            return false;
    }
    return true;
}
