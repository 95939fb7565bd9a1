#include <string.h>

#include "base/json.h"

static size_t skip_blank(struct str s, size_t at)
{
    while (at < s.n && (s.p[at] == ' ' || s.p[at] == '\t' || s.p[at] == '\r' || s.p[at] == '\n'))
        at++;
    return at;
}

/* Behind a string that begins at `at`. */
static size_t skip_string(struct str s, size_t at)
{
    for (at++; at < s.n && s.p[at] != '"'; at++)
        at += s.p[at] == '\\';
    return at < s.n ? at + 1 : s.n;
}

/* Behind a value: to the comma or bracket that ends it. */
static size_t skip_value(struct str s, size_t at)
{
    size_t depth = 0;
    while (at < s.n) {
        char c = s.p[at];
        if (c == '"') {
            at = skip_string(s, at);
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return at;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at++;
    }
    return at;
}

bool json_scan_member(struct str text, const char *key, struct str *ret)
{
    size_t at = skip_blank(text, 0);
    if (at >= text.n || text.p[at] != '{')
        return false;
    for (at = skip_blank(text, at + 1); at < text.n && text.p[at] == '"';
         at = skip_blank(text, at + 1)) {
        size_t begin = at;
        at = skip_string(text, at);
        struct str name = {text.p + begin + 1, at - begin - 1};
        name.n -= name.n > 0;
        at = skip_blank(text, at);
        if (at >= text.n || text.p[at] != ':')
            return false;
        begin = at = skip_blank(text, at + 1);
        at = skip_value(text, at);
        if (!str_is(name, key) || begin == at || text.p[begin] == '{' || text.p[begin] == '[')
            continue;
        *ret = (struct str){text.p + begin, at - begin};
        return true;
    }
    return false;
}
