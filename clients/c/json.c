#include "json.h"

#include <stdint.h>
#include <string.h>

/* Each of these is given where something begins and returns where it ends, or NULL when it is not
 * there. The text's NUL fits nowhere, so none of them passes it. */

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

bool sandgate_json_hex4(const char *p, unsigned *ret)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = (unsigned char)p[i];
        if (c >= '0' && c <= '9')
            value = value << 4 | (c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value = value << 4 | ((c | 32) - 'a' + 10);
        else
            return false;
    }
    *ret = value;
    return true;
}

/* Behind the backslash. Half of a surrogate pair is no character. */
static const char *skip_escape(const char *p)
{
    unsigned first;
    unsigned second;
    if (*p != 'u')
        return *p && strchr("\"\\/bfnrt", *p) ? p + 1 : NULL;
    if (!sandgate_json_hex4(p + 1, &first) || (first & 0xfc00) == 0xdc00)
        return NULL;
    if ((first & 0xfc00) != 0xd800)
        return p + 5;
    bool pair = p[5] == '\\' && p[6] == 'u' && sandgate_json_hex4(p + 7, &second) &&
                (second & 0xfc00) == 0xdc00;
    return pair ? p + 11 : NULL;
}

/* A character of two to four bytes, in its shortest form. */
static const char *skip_wide(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    int n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
    if (u[0] < 0xc2 || u[0] > 0xf4)
        return NULL;
    for (int i = 1; i < n; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return NULL;
    }
    bool wrong = (u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
                 (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f);
    return wrong ? NULL : p + n;
}

static const char *skip_string(const char *p)
{
    if (*p != '"')
        return NULL;
    p++;
    while (p && *p != '"') {
        unsigned char c = (unsigned char)*p;
        if (c < 0x20)
            return NULL;
        p = c == '\\' ? skip_escape(p + 1) : c < 0x80 ? p + 1 : skip_wide(p);
    }
    return p ? p + 1 : NULL;
}

static const char *skip_digits(const char *p)
{
    size_t n = strspn(p, "0123456789");
    return n ? p + n : NULL;
}

static const char *skip_number(const char *p)
{
    p += *p == '-';
    p = *p == '0' ? p + 1 : skip_digits(p);
    if (p && *p == '.')
        p = skip_digits(p + 1);
    if (p && (*p == 'e' || *p == 'E')) {
        p++;
        p = skip_digits(p + (*p == '+' || *p == '-'));
    }
    return p;
}

static const char *skip_scalar(const char *p)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(p, words[i], strlen(words[i])) == 0)
            return p + strlen(words[i]);
    }
    return *p == '"' ? skip_string(p) : skip_number(p);
}

/* A key, its colon, and the blanks before the value. */
static const char *skip_key(const char *p)
{
    p = skip_string(p);
    p = p ? skip_blanks(p) : NULL;
    return p && *p == ':' ? skip_blanks(p + 1) : NULL;
}

bool sandgate_json_is_object(const char *text)
{
    uint64_t arrays = 0; /* one bit a level, the innermost lowest: it is an array */
    unsigned depth = 0;
    const char *p = skip_blanks(text);
    if (*p != '{')
        return false;
    while (p) {
        if (*p == '{' || *p == '[') {
            if (depth++ == SANDGATE_JSON_DEPTH)
                return false;
            arrays = arrays << 1 | (*p == '[');
            p = skip_blanks(p + 1);
            if (*p != (arrays & 1 ? ']' : '}')) {
                p = arrays & 1 ? p : skip_key(p);
                continue;
            }
        } else {
            p = skip_scalar(p);
        }
        p = p ? skip_blanks(p) : "";
        for (; depth && *p == (arrays & 1 ? ']' : '}'); depth--) {
            arrays >>= 1;
            p = skip_blanks(p + 1);
        }
        if (depth == 0)
            return *p == '\0';
        if (*p != ',')
            return false;
        p = skip_blanks(p + 1);
        p = arrays & 1 ? p : skip_key(p);
    }
    return false;
}
