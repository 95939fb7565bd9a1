#include "core/git_identity.h"

#include <string.h>

#include "base/ascii.h"

struct reader {
    struct str rest;
    bool in_user; /* behind [user] */
};

static bool at_line_end(const struct reader *r)
{
    return r->rest.n == 0 || r->rest.p[0] == '\n';
}

static char take_identity_byte(struct reader *r)
{
    char c = r->rest.p[0];
    r->rest = (struct str){r->rest.p + 1, r->rest.n - 1};
    return c;
}

static void skip_identity_line(struct reader *r)
{
    while (!at_line_end(r))
        take_identity_byte(r);
    if (r->rest.n)
        take_identity_byte(r);
}

static void skip_identity_space(struct reader *r)
{
    while (r->rest.n && strchr(" \t\r", r->rest.p[0]) && r->rest.p[0])
        take_identity_byte(r);
}

static bool is_identity_word(struct str word, const char *wanted)
{
    if (word.n != strlen(wanted))
        return false;
    for (size_t i = 0; i < word.n; i++) {
        if (ascii_lower(word.p[i]) != wanted[i])
            return false;
    }
    return true;
}

static struct str take_identity_word(struct reader *r)
{
    const char *begin = r->rest.p;
    while (r->rest.n && (r->rest.p[0] == '-' || (r->rest.p[0] >= '0' && r->rest.p[0] <= '9') ||
                         (ascii_lower(r->rest.p[0]) >= 'a' && ascii_lower(r->rest.p[0]) <= 'z')))
        take_identity_byte(r);
    return (struct str){begin, (size_t)(r->rest.p - begin)};
}

/* A subsection makes it another section. Settings may stand behind it on the same line. */
static void take_identity_heading(struct reader *r)
{
    take_identity_byte(r);
    struct str section = take_identity_word(r);
    r->in_user = is_identity_word(section, "user") && r->rest.n && r->rest.p[0] == ']';
    while (!at_line_end(r) && take_identity_byte(r) != ']')
        continue;
}

/* The character behind a backslash; 0: it is at the end of a line, which goes on in the next. */
static bool unescape_identity(char c, char *ret)
{
    static const char from[] = "nt\"\\";
    static const char to[] = "\n\t\"\\";
    const char *at = c ? strchr(from, c) : NULL;
    *ret = at ? to[at - from] : '\0';
    return at != NULL;
}

/* `keep`: how long it is without the spaces at its end. */
struct value {
    char text[GIT_IDENTITY_MAX];
    size_t n;
    size_t keep;
    bool bad;
};

static void add_identity_char(struct value *value, char c, bool quoted)
{
    value->bad |= (unsigned char)c < ' ' || c == 0x7f || value->n + 1 >= sizeof value->text;
    if (value->bad)
        return;
    value->text[value->n++] = c;
    if (quoted || c != ' ')
        value->keep = value->n;
}

static void take_identity_value(struct reader *r, struct value *value)
{
    bool quoted = false;
    *value = (struct value){.n = 0};
    skip_identity_space(r);
    while (!at_line_end(r)) {
        char c = take_identity_byte(r);
        if (!quoted && (c == '#' || c == ';'))
            break;
        if (c == '"') {
            quoted = !quoted;
        } else if (c == '\\') {
            char escaped = r->rest.n ? take_identity_byte(r) : '\0';
            if (escaped == '\n')
                continue;
            value->bad |= !unescape_identity(escaped, &c);
            add_identity_char(value, c, true);
        } else {
            add_identity_char(value, c == '\t' || c == '\r' ? ' ' : c, quoted);
        }
    }
    value->bad |= quoted;
    value->text[value->keep] = '\0';
}

static void take_identity_setting(struct reader *r, struct git_identity *identity)
{
    struct value value;
    struct str key = take_identity_word(r);
    skip_identity_space(r);
    if (at_line_end(r) || r->rest.p[0] != '=') {
        skip_identity_line(r);
        return;
    }
    take_identity_byte(r);
    take_identity_value(r, &value);
    char *slot = is_identity_word(key, "name")    ? identity->name
                 : is_identity_word(key, "email") ? identity->email
                                                  : NULL;
    if (r->in_user && slot && !value.bad)
        memcpy(slot, value.text, sizeof value.text);
    skip_identity_line(r);
}

void git_identity_read(struct str text, struct git_identity *identity)
{
    struct reader r = {.rest = text};
    while (r.rest.n) {
        skip_identity_space(&r);
        if (at_line_end(&r) || r.rest.p[0] == '#' || r.rest.p[0] == ';')
            skip_identity_line(&r);
        else if (r.rest.p[0] == '[')
            take_identity_heading(&r);
        else
            take_identity_setting(&r, identity);
    }
}

static void write_identity_value(const char *key, const char *value, struct buf *out)
{
    if (!*value)
        return;
    buf_addf(out, "\t%s = \"", key);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, *value);
    }
    buf_add_text(out, "\"\n");
}

void git_identity_write(const struct git_identity *identity, struct buf *out)
{
    buf_add_text(out, "[include]\n\tpath = /etc/gitconfig\n[user]\n");
    write_identity_value("name", identity->name, out);
    write_identity_value("email", identity->email, out);
}
