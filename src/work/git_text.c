#include "work/git_text.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"

#define REF_NAME_MAX 1024
#define WORD_MAX 64
#define SHORT_ID_MIN 4

bool git_next_line(struct str *rest, struct str *ret, bool *ret_whole)
{
    if (rest->n == 0)
        return false;
    const char *end = memchr(rest->p, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    *ret = (struct str){rest->p, n};
    *ret_whole = end != NULL;
    n += end != NULL;
    *rest = (struct str){rest->p + n, rest->n - n};
    return true;
}

/* A tab is none. */
bool git_has_control(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}

static bool is_hex(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return text.n > 0;
}

bool git_is_id(struct str text, unsigned hex)
{
    return text.n == hex && is_hex(text);
}

static bool is_ref_part(struct str part)
{
    if (part.n == 0 || part.n > 255 || part.p[0] == '.' || part.p[0] == '-' ||
        part.p[part.n - 1] == '.' || str_ends(part, STR(".lock")))
        return false;
    for (size_t i = 0; i < part.n; i++) {
        unsigned char c = (unsigned char)part.p[i];
        char next = i + 1 < part.n ? part.p[i + 1] : '\0';
        if (c <= ' ' || c == 0x7f || strchr("~^:?*[\\", c) || (c == '.' && next == '.') ||
            (c == '@' && next == '{'))
            return false;
    }
    return !(part.n == 1 && part.p[0] == '@');
}

bool git_is_ref_name(struct str name)
{
    size_t parts = 0;
    if (name.n > REF_NAME_MAX || !str_begins(name, STR("refs/")))
        return false;
    for (size_t at = 0; at <= name.n; parts++) {
        const char *slash = at < name.n ? memchr(name.p + at, '/', name.n - at) : NULL;
        size_t n = slash ? (size_t)(slash - name.p) - at : name.n - at;
        if (!is_ref_part((struct str){name.p + at, n}))
            return false;
        at += n + 1;
    }
    return parts > 1;
}

bool git_replaces(struct str ref_name)
{
    return str_begins(ref_name, STR("refs/replace/"));
}

/* The only line of a file; its end may be missing. */
static bool only_line(struct str text, struct str *ret)
{
    bool whole;
    return git_next_line(&text, ret, &whole) && text.n == 0;
}

bool git_is_ref(struct str text, unsigned hex)
{
    static const char link[] = "ref: ";
    struct str line;
    if (!only_line(text, &line))
        return false;
    if (!str_begins(line, str_of(link)))
        return git_is_id(line, hex);
    return git_is_ref_name((struct str){line.p + sizeof link - 1, line.n - (sizeof link - 1)});
}

/* With its end, so that no longer line is taken for it. */
static bool is_line_in_text(struct str text, struct str line)
{
    for (const char *at = text.p; text.n > line.n;) {
        size_t left = text.n - (size_t)(at - text.p);
        at = left > line.n ? memmem(at, left, line.p, line.n + 1) : NULL;
        if (!at)
            return false;
        if (at == text.p || at[-1] == '\n')
            return true;
        at++;
    }
    return false;
}

static bool is_packed_ref(struct str line, struct str old, unsigned hex)
{
    struct str name = {line.p + hex + 1, line.n > hex ? line.n - hex - 1 : 0};
    bool known = line.n >= hex + 2 && line.p[hex] == ' ' && is_hex((struct str){line.p, hex}) &&
                 git_is_ref_name(name) && !git_replaces(name);
    return known || is_line_in_text(old, line);
}

bool git_is_packed_refs(struct str text, struct str old, unsigned hex)
{
    struct str line;
    bool whole;
    bool may_peel = false;
    for (bool first = true; git_next_line(&text, &line, &whole); first = false) {
        if (!whole || git_has_control(line))
            return false;
        if (first && str_begins(line, STR("# pack-refs with:")))
            continue;
        bool peels = line.n == hex + 1 && line.p[0] == '^';
        if (peels ? !may_peel || !is_hex((struct str){line.p + 1, hex})
                  : !is_packed_ref(line, old, hex))
            return false;
        may_peel = !peels;
    }
    return true;
}

static bool is_log_number(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
    }
    return text.n > 0 && text.n < 20;
}

/* `Name <mail> 1700000000 +0000`, and a message behind a tab. */
static bool is_signature(struct str text)
{
    const char *tab = text.n ? memchr(text.p, '\t', text.n) : NULL;
    struct str who = {text.p, tab ? (size_t)(tab - text.p) : text.n};
    const char *mail = who.n ? memrchr(who.p, '>', who.n) : NULL;
    if (!mail || !memchr(who.p, '<', (size_t)(mail - who.p)))
        return false;
    struct str time = {mail + 1, (size_t)(who.p + who.n - mail) - 1};
    if (time.n < 8 || time.p[0] != ' ' || time.p[time.n - 6] != ' ')
        return false;
    const char *zone = time.p + time.n - 5;
    return (zone[0] == '+' || zone[0] == '-') && is_log_number((struct str){zone + 1, 4}) &&
           is_log_number((struct str){time.p + 1, time.n - 7});
}

bool git_is_log(struct str text, unsigned hex)
{
    struct str line;
    bool whole;
    while (git_next_line(&text, &line, &whole)) {
        size_t names = 2 * (size_t)hex + 2;
        if (!whole || line.n < names || git_has_control(line) ||
            !is_hex((struct str){line.p, hex}) || line.p[hex] != ' ' ||
            !is_hex((struct str){line.p + hex + 1, hex}) || line.p[names - 1] != ' ' ||
            !is_signature((struct str){line.p + names, line.n - names}))
            return false;
    }
    return true;
}

bool git_is_fetch_head(struct str text, unsigned hex)
{
    struct str line;
    bool whole;
    while (git_next_line(&text, &line, &whole)) {
        if (!whole || line.n < hex + 2 || git_has_control(line) ||
            !is_hex((struct str){line.p, hex}) || line.p[hex] != '\t')
            return false;
        struct str rest = {line.p + hex + 1, line.n - hex - 1};
        if (!str_begins(rest, STR("\t")) && !str_begins(rest, STR("not-for-merge\t")))
            return false;
    }
    return true;
}

bool git_is_ids(struct str text, unsigned hex)
{
    struct str line;
    bool whole;
    bool any = false;
    for (; git_next_line(&text, &line, &whole); any = true) {
        if (!git_is_id(line, hex))
            return false;
    }
    return any;
}

bool git_is_id_or_none(struct str text, unsigned hex)
{
    struct str line;
    return text.n == 0 || (only_line(text, &line) && (line.n == 0 || git_is_id(line, hex)));
}

bool git_is_id_pairs(struct str text, unsigned hex)
{
    struct str line;
    bool whole;
    while (git_next_line(&text, &line, &whole)) {
        if (line.n != 2 * (size_t)hex + 1 || line.p[hex] != ' ' ||
            !is_hex((struct str){line.p, hex}) || !is_hex((struct str){line.p + hex + 1, hex}))
            return false;
    }
    return true;
}

bool git_is_short_id(struct str text, unsigned hex)
{
    struct str line;
    return only_line(text, &line) && line.n >= SHORT_ID_MIN && line.n <= hex && is_hex(line);
}

bool git_is_text(struct str text, unsigned hex)
{
    (void)hex;
    return text.n == 0 || !memchr(text.p, '\0', text.n);
}

bool git_is_word(struct str text, unsigned hex)
{
    (void)hex;
    struct str line;
    if (text.n == 0)
        return true;
    if (!only_line(text, &line) || line.n > WORD_MAX)
        return false;
    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '-'))
            return false;
    }
    return true;
}

static struct str without_first_blanks(struct str text)
{
    while (text.n && strchr(" \t\r=\"", text.p[0]))
        text = (struct str){text.p + 1, text.n - 1};
    return text;
}

bool git_config_has_sha256(struct str config)
{
    static const char key[] = "objectformat";
    struct str line;
    bool whole;
    while (git_next_line(&config, &line, &whole)) {
        line = without_first_blanks(line);
        if (line.n <= sizeof key - 1 || strncasecmp(line.p, key, sizeof key - 1) != 0)
            continue;
        struct str value = without_first_blanks(
            (struct str){line.p + sizeof key - 1, line.n - (sizeof key - 1)});
        if (value.n >= 6 && strncasecmp(value.p, "sha256", 6) == 0)
            return true;
    }
    return false;
}
