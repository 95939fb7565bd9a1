/* Secrets that are known by the command they are given to. */
#include "base/ascii.h"
#include "base/redact_parts.h"

/* How far before an option its command is looked for. */
#define COMMAND_MAX 256
#define CLUSTER_MAX 8
/* How far into `user:x` its separator is looked for. */
#define PAIR_MAX 512
#define NAME_FIELD_MAX 128
/* Options and their values between `config` and its key. */
#define CONFIG_WORDS_MAX 6

enum given {
    AS_WORD,     /* `-p x` or `-px` */
    AS_ATTACHED, /* only `-px` */
    AS_PAIR,     /* `-u user:x`, with the separator in it */
};

/* One option of a command, or of all whose name begins so (`*`), or of those with this subcommand. */
struct command_option {
    const char *command;
    char letter;
    const char *name; /* the same as a long option; NULL: none that is not known by its name */
    enum given given;
    char separator;
};

static const struct command_option options[] = {
    {"curl", 'u', "user", AS_PAIR, ':'},      {"curl", 'U', "proxy-user", AS_PAIR, ':'},
    {"curl", 'b', "cookie", AS_PAIR, '='},    {"http", 'a', "auth", AS_PAIR, ':'},
    {"https", 'a', "auth", AS_PAIR, ':'},     {"xh", 'a', "auth", AS_PAIR, ':'},
    {"ab", 'A', NULL, AS_PAIR, ':'},          {"ab", 'P', NULL, AS_PAIR, ':'},
    {"lftp", 'u', "user", AS_PAIR, ','},      {"smbclient", 'U', "user", AS_PAIR, '%'},
    {"rpcclient", 'U', "user", AS_PAIR, '%'}, {"curl", '\0', "oauth2-bearer", AS_WORD, 0},
    {"twine", 'p', NULL, AS_WORD, 0},         {"sshpass", 'p', NULL, AS_WORD, 0},
    {"login", 'p', NULL, AS_WORD, 0}, /* docker login, podman login, az login */
    {"mongo*", 'p', NULL, AS_WORD, 0},        {"mysql*", 'p', NULL, AS_ATTACHED, 0},
    {"mariadb*", 'p', NULL, AS_ATTACHED, 0},  {"redis-cli", 'a', NULL, AS_WORD, 0},
    {"ldap*", 'w', NULL, AS_WORD, 0},         {"zip", 'P', NULL, AS_WORD, 0},
    {"unzip", 'P', NULL, AS_WORD, 0},         {"7z*", 'p', NULL, AS_ATTACHED, 0},
    {"sqlcmd", 'P', NULL, AS_WORD, 0},        {"ipmitool", 'P', NULL, AS_WORD, 0},
};

static bool is_command_word_char(char c)
{
    return redact_is_alnum(c) || c == '_' || c == '-' || c == '.';
}

static bool is_command(struct str word, const char *name)
{
    size_t n = strlen(name);
    if (name[n - 1] == '*')
        return word.n >= n - 1 && memcmp(word.p, name, n - 1) == 0;
    return word.n == n && memcmp(word.p, name, n) == 0;
}

/* `; `, `&& `, `| ` and a line's end come between commands; without the blank it can be a part of an address. */
static bool ends_command(const struct redact_text *t, size_t i)
{
    char c = t->p[i];
    if (c == '\n')
        return i == 0 || t->p[i - 1] != '\\';
    return (c == ';' || c == '|' || c == '&') && i + 1 < t->n && ascii_is_blank(t->p[i + 1]);
}

/* Whether a word of this command stands before `at`. Of a path the last part is such a word, too. */
static bool has_command(const struct redact_text *t, size_t at, const char *name)
{
    size_t low = at > COMMAND_MAX ? at - COMMAND_MAX : 0;
    size_t i = at;
    while (i > low && !ends_command(t, i - 1)) {
        size_t end = i;
        while (i > low && is_command_word_char(t->p[i - 1]))
            i--;
        if (end > i && is_command((struct str){t->p + i, end - i}, name))
            return true;
        i -= end == i;
    }
    return false;
}

/* Where the value begins of an option whose letter is in the cluster `-abc`; 0: it has none. */
static size_t letter_value(const struct redact_text *t, size_t at, const struct command_option *o)
{
    size_t i = at + 1;
    while (i < t->n && i - at <= CLUSTER_MAX && redact_is_alnum(t->p[i]) && t->p[i] != o->letter)
        i++;
    if (i >= t->n || t->p[i] != o->letter)
        return 0;
    bool first = i == at + 1;
    size_t next = redact_argument(t, i + 1);
    if (next)
        return o->given == AS_ATTACHED ? 0 : next;
    return first || o->given == AS_PAIR ? i + 1 : 0;
}

static size_t name_value(const struct redact_text *t, size_t at, const struct command_option *o)
{
    size_t n = o->name ? strlen(o->name) : 0;
    size_t end = at + 2 + n;
    if (n == 0 || end >= t->n || memcmp(t->p + at + 2, o->name, n) != 0)
        return 0;
    return t->p[end] == '=' ? end + 1 : redact_argument(t, end);
}

static bool option_value(const struct redact_text *t, size_t value, const struct command_option *o,
                         struct redact_span *ret)
{
    struct redact_text near = *t;
    near.n = t->n - value < PAIR_MAX ? t->n : value + PAIR_MAX;
    if (o->given == AS_PAIR && (!redact_value(&near, value, ret) ||
                                !memchr(t->p + ret->from, o->separator, ret->to - ret->from)))
        return false;
    /* All of a pair: of two parts the first can be the key as well. */
    return redact_value(t, value, ret);
}

bool redact_command_option(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    bool two = t->p[at + 1] == '-';
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const struct command_option *o = &options[i];
        size_t value = two ? name_value(t, at, o) : letter_value(t, at, o);
        if (value && has_command(t, at, o->command) && option_value(t, value, o, ret))
            return true;
    }
    return false;
}

bool redact_behind_word(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    static const struct {
        const char *word;
        const char *command;
    } rows[] = {{"login", "vault"},
                {"AUTH", "redis-cli"},
                {"auth", "redis-cli"},
                {"password", "mysqladmin"},
                {"login", "cargo"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t n = strlen(rows[i].word);
        if (at > n && memcmp(t->p + at - n, rows[i].word, n) == 0 &&
            ascii_is_blank(t->p[at - n - 1]) && has_command(t, at - n, rows[i].command))
            return redact_value(t, at, ret);
    }
    return false;
}

#define PRINTED_MAX 1024

/* Behind the bracket that closes the one before `at`, as far as is looked. */
static size_t bracket_end(const struct redact_text *t, size_t at)
{
    size_t limit = t->n - at < PRINTED_MAX ? t->n : at + PRINTED_MAX;
    for (size_t depth = 1; at < limit && depth; at++) {
        depth += t->p[at] == '(';
        depth -= t->p[at] == ')';
    }
    while (at < t->n && ((unsigned char)t->p[at] & 0xc0) == 0x80)
        at++;
    return at;
}

size_t redact_printed(const struct redact_text *t, size_t from)
{
    static const char *const printers[] = {"echo ", "printf ", "<<<"};
    if (t->n - from < 4 || t->p[from] != '$' || t->p[from + 1] != '(')
        return 0;
    size_t end = bracket_end(t, from + 2);
    for (size_t i = 0; i < ARRAY_LEN(printers); i++) {
        if (memmem(t->p + from, end - from, printers[i], strlen(printers[i])))
            return end;
    }
    return 0;
}

/* --- variables */

/* The word that ends before `at`. */
static struct str command_word_before(const struct redact_text *t, size_t at)
{
    size_t from = at;
    while (from && at - from < 16 && redact_is_alnum(t->p[from - 1]))
        from--;
    return (struct str){t->p + from, at - from};
}

static bool is_upper(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] >= 'a' && name.p[i] <= 'z')
            return false;
    }
    return true;
}

/* Behind the options of `set -g -x`. */
static size_t skip_set_options(const struct redact_text *t, size_t at)
{
    size_t limit = at + NAME_FIELD_MAX;
    while (at < t->n && at < limit && t->p[at] == '-') {
        while (at < t->n && at < limit && is_command_word_char(t->p[at]))
            at++;
        while (at < t->n && at < limit && ascii_is_blank(t->p[at]))
            at++;
    }
    return at;
}

/* The last part of `//registry/:_authToken`. */
static struct str last_field_part(struct str field)
{
    size_t from = field.n;
    while (from && !strchr("/:.", field.p[from - 1]))
        from--;
    return (struct str){field.p + from, field.n - from};
}

static bool is_field_char(char c)
{
    return is_command_word_char(c) || c == '/' || c == ':' || c == '@';
}

/* `set` is a word of many texts: it sets a variable where it has options, where it belongs to `config`, or where the
 * name is one of a variable. */
static bool is_set_of_variable(const struct redact_text *t, struct str word, bool has_options,
                               struct str name)
{
    size_t at = (size_t)(word.p - t->p);
    struct str before = at ? command_word_before(t, at - 1) : (struct str){0};
    bool config = before.n >= 6 && memcmp(before.p, "config", 6) == 0;
    return has_options || config || is_upper(name);
}

static bool is_setter(struct str word)
{
    static const char *const words[] = {"set", "setenv", "putenv", "setx", "ENV", "config"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (is_command(word, words[i]))
            return true;
    }
    return false;
}

/* `git config --global --file x section.token value`: the key has a dot in it. */
static bool config_value(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    for (size_t words = 0; at && at < t->n && words < CONFIG_WORDS_MAX; words++) {
        at += t->p[at] == '"' || t->p[at] == '\'';
        size_t end = at;
        while (end < t->n && end - at < NAME_FIELD_MAX && is_field_char(t->p[end]))
            end++;
        struct str field = {t->p + at, end - at};
        struct str name = last_field_part(field);
        at = redact_argument(t, end);
        if (at && name.n && name.n < field.n && field.p[0] != '-' && redact_is_name(name))
            return redact_value(t, at, ret);
    }
    return false;
}

bool redact_setter(const struct redact_text *t, size_t at, struct redact_span *ret)
{
    if (at < 3 || !strchr("tvxVg", t->p[at - 1]))
        return false;
    struct str word = command_word_before(t, at);
    if (!is_setter(word))
        return false;
    size_t from = at + 1;
    while (from < t->n && from - at < 8 && (ascii_is_blank(t->p[from]) || t->p[from] == '"'))
        from++;
    size_t begin = skip_set_options(t, from);
    bool has_options = begin > from;
    begin += begin < t->n && (t->p[begin] == '"' || t->p[begin] == '\'');
    size_t end = begin;
    while (end < t->n && end - begin < NAME_FIELD_MAX && is_field_char(t->p[end]))
        end++;
    struct str name = last_field_part((struct str){t->p + begin, end - begin});
    if (is_command(word, "config"))
        return config_value(t, from, ret);
    size_t value = name.n && redact_is_name(name) ? redact_argument(t, end) : 0;
    if (!value ||
        (word.n == 3 && word.p[0] == 's' && !is_set_of_variable(t, word, has_options, name)))
        return false;
    return redact_value(t, value, ret);
}
