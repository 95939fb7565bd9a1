/* Words that stand where a value could and are none. */
#include <strings.h>

#include "base/ascii.h"
#include "base/redact_parts.h"

/* `$1`, `$x`, `$@` and the like, with braces or without: no secret is a single character. */
static bool is_short_reference(struct str s)
{
    bool braces = s.n == 4 && s.p[1] == '{' && s.p[3] == '}';
    char name = s.p[1 + braces];
    return (s.n == 2 || braces) && (redact_is_alnum(name) || ascii_in(name, "_@*#?!$-"));
}

/* `$NAME`, `${NAME}`, `$(command)`: what the shell will put there is not in the text. */
static bool is_reference(struct str s)
{
    if (s.n < 2 || s.p[0] != '$')
        return false;
    if (is_short_reference(s))
        return true;
    if (s.p[1] == '(')
        return s.n > 2;
    bool braces = s.p[1] == '{' && s.p[s.n - 1] == '}';
    for (size_t i = 1 + braces; i < s.n - braces; i++) {
        if (!(s.p[i] >= 'A' && s.p[i] <= 'Z') && s.p[i] != '_')
            return false;
    }
    return true;
}

/* Without what closes the list or object that it stands in. */
struct str redact_bare(struct str s)
{
    while (s.n && strchr(",;)]}", s.p[s.n - 1]))
        s.n--;
    return s;
}

bool redact_says_nothing(struct str text)
{
    static const char *const words[] = {"null",      "none", "true",   "false", "nil",
                                        "undefined", "str",  "string", "bytes", "redacted"};
    struct str s = redact_bare(text);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0)
            return true;
    }
    return s.n == 0 || (s.n + 1 == sizeof REDACTED - 1 && memcmp(s.p, REDACTED, s.n) == 0) ||
           is_reference(text);
}
