/* Secrets that are known by the name before them. */
#include <strings.h>

#include "base/redact_parts.h"
#include "base/str.h"

static char own_names[REDACT_NAMES_MAX][REDACT_NAME_MAX];
static size_t n_own_names;

#define TOO_LONG REDACT_NAME_MAX

/* Without case and without what joins words. Returns the length, or TOO_LONG. */
static size_t squeeze(struct str name, char out[REDACT_NAME_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c == '_' || c == '-' || c == '.')
            continue;
        if (n + 1 == REDACT_NAME_MAX)
            return TOO_LONG;
        out[n++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    out[n] = '\0';
    return n;
}

bool redact_use_names(const struct str *names, size_t n)
{
    if (n > REDACT_NAMES_MAX)
        return false;
    n_own_names = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = squeeze(names[i], own_names[i]);
        if (length == 0 || length == TOO_LONG)
            return false;
        n_own_names++;
    }
    return true;
}

static bool is_own_name(const char *name)
{
    for (size_t i = 0; i < n_own_names; i++) {
        if (strcmp(name, own_names[i]) == 0)
            return true;
    }
    return false;
}

static bool ends_with_any(const char *text, size_t n, const char *const *ends)
{
    for (size_t i = 0; ends[i]; i++) {
        if (str_ends((struct str){text, n}, str_of(ends[i])))
            return true;
    }
    return false;
}

/* Says where something is, not what. */
static bool is_place(const char *name, size_t n)
{
    static const char *const ends[] = {"file", "path", "dir", "stdin", NULL};
    return ends_with_any(name, n, ends);
}

static enum redact_name kind_of_token(const char *behind)
{
    if (strncmp(behind, "iz", 2) == 0)
        return NAME_PLAIN; /* tokenizer */
    return *behind && !(*behind >= '0' && *behind <= '9') ? NAME_COUNTS : NAME_WEAK;
}

/* What a word at one place of a name makes of it. */
static enum redact_name kind_of_word(const char *at)
{
    static const char *const words[] = {"password",   "passwd",      "passphrase", "apikey",
                                        "accesskey",  "privatekey",  "credential", "secret",
                                        "accountkey", "amzsignature"};
    if (!strchr("pacst", *at))
        return NAME_PLAIN;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (*at == words[i][0] && strncmp(at, words[i], strlen(words[i])) == 0)
            return strncmp(at, "secretar", 8) == 0 ? NAME_PLAIN : NAME_SECRET;
    }
    if (strcmp(at, "authorization") == 0 || strcmp(at, "cookie") == 0)
        return NAME_LINE;
    return strncmp(at, "token", 5) == 0 ? kind_of_token(at + 5) : NAME_PLAIN;
}

static enum redact_name kind_of_squeezed(const char *name, size_t n)
{
    enum redact_name kind = NAME_PLAIN;
    for (size_t i = 0; i + 5 <= n; i++) {
        enum redact_name here = kind_of_word(name + i);
        kind = here > kind ? here : kind;
    }
    if (is_own_name(name))
        return NAME_SECRET;
    return kind == NAME_PLAIN || is_place(name, n) ? NAME_PLAIN : kind;
}

/* A word of its own: not in `bypass`. */
static bool is_pass(struct str name)
{
    return name.n >= 4 && strncasecmp(name.p + name.n - 4, "pass", 4) == 0 &&
           (name.n == 4 || strchr("_-", name.p[name.n - 5]));
}

size_t redact_name_min(void)
{
    return n_own_names ? 1 : 4;
}

enum redact_name redact_name_kind(struct str name)
{
    char squeezed[REDACT_NAME_MAX];
    if (is_pass(name))
        return NAME_SECRET;
    size_t n = squeeze(name, squeezed);
    /* What is too long to be looked up is no name that anyone reads. */
    return n == TOO_LONG ? NAME_SECRET : kind_of_squeezed(squeezed, n);
}

bool redact_is_name(struct str name)
{
    enum redact_name kind = redact_name_kind(name);
    return kind != NAME_PLAIN && kind != NAME_COUNTS;
}

bool redact_option_name(struct str name)
{
    static const char *const ends[] = {
        "password",  "passwd",     "passphrase",  "token",        "secret",      "apikey",
        "storepass", "keypass",    "passin",      "passout",      "accesskey",   "privatekey",
        "secretkey", "credential", "credentials", "secretstring", "secretvalue", NULL};
    char squeezed[REDACT_NAME_MAX];
    /* By their last letters most are told apart. */
    if (n_own_names == 0 && (name.n < 4 || !strchr("deglnsty", name.p[name.n - 1] | 0x20)))
        return false;
    if (is_pass(name))
        return true;
    size_t n = squeeze(name, squeezed);
    return n && n != TOO_LONG && (is_own_name(squeezed) || ends_with_any(squeezed, n, ends));
}
