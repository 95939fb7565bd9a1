#include "event.h"

#include <string.h>

#include "json.h"
#include "wire.h"

static bool take_head(const char **p, const char *end, uint64_t *ret_id)
{
    *ret_id = 0;
    if (!sandgate_wire_take(p, end, "{"))
        return false;
    if (sandgate_wire_take(p, end, "\"id\":") &&
        !(sandgate_wire_take(p, end, "null,") ||
          (sandgate_wire_take(p, end, "\"") && sandgate_wire_take_id(p, end, ret_id) &&
           sandgate_wire_take(p, end, "\","))))
        return false;
    return sandgate_wire_take(p, end, "\"event\":\"");
}

bool sandgate_event_begins(const char *line, size_t n)
{
    uint64_t id;
    return take_head(&line, line + n, &id);
}

static bool take_stream(const char **p, const char *end, int *ret)
{
    if (sandgate_wire_take(p, end, "stdout\""))
        *ret = SANDGATE_STDOUT;
    else if (sandgate_wire_take(p, end, "stderr\""))
        *ret = SANDGATE_STDERR;
    else
        return false;
    return true;
}

static bool take_hex4(const char **p, const char *end, unsigned *ret)
{
    if (end - *p < 4 || !sandgate_json_hex4(*p, ret))
        return false;
    *p += 4;
    return true;
}

/* Behind `\u`. Half of a surrogate pair is no character. */
static bool take_code(const char **p, const char *end, unsigned *ret)
{
    unsigned second;
    if (!take_hex4(p, end, ret) || (*ret & 0xfc00) == 0xdc00)
        return false;
    if ((*ret & 0xfc00) != 0xd800)
        return true;
    if (!sandgate_wire_take(p, end, "\\u") || !take_hex4(p, end, &second) ||
        (second & 0xfc00) != 0xdc00)
        return false;
    *ret = 0x10000 + ((*ret & 0x3ff) << 10 | (second & 0x3ff));
    return true;
}

/* At most as many bytes as the escape has. */
static size_t put_code(char *text, unsigned code)
{
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        text[i] = (char)(0x80 | (code & 0x3f));
    text[0] = (char)(leads[n] | code);
    return n;
}

/* Behind the backslash. The bytes it stands for; 0: it is none. */
static size_t take_escape(const char **p, const char *end, char *text)
{
    static const char words[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    unsigned code;
    if (*p == end)
        return 0;
    char c = *(*p)++;
    if (c == 'u')
        return take_code(p, end, &code) ? put_code(text, code) : 0;
    const char *at = memchr(words, c, sizeof words - 1);
    if (!at)
        return 0;
    *text = meanings[at - words];
    return 1;
}

bool sandgate_event_take_string(const char **p, const char *end, char *text, size_t *ret_n)
{
    size_t n = 0;
    while (*p < end && **p != '"') {
        char c = *(*p)++;
        size_t bytes = 1;
        if (c == '\\')
            bytes = take_escape(p, end, text + n);
        else
            text[n] = c;
        if (bytes == 0)
            return false;
        n += bytes;
    }
    text[n] = '\0';
    *ret_n = n;
    return sandgate_wire_take(p, end, "\"");
}

bool sandgate_event_read_output(const char *line, size_t n, char *text, struct sandgate_output *ret)
{
    const char *p = line;
    const char *end = line + n;
    *ret = (struct sandgate_output){.text = text};
    if (!take_head(&p, end, &ret->id) || ret->id == 0 ||
        !sandgate_wire_take(&p, end, "output\",\"stream\":\"") ||
        !take_stream(&p, end, &ret->stream))
        return false;
    if (sandgate_wire_take(&p, end, ",\"skipped\":") &&
        !sandgate_wire_take_id(&p, end, &ret->skipped))
        return false;
    return sandgate_wire_take(&p, end, ",\"data\":\"") &&
           sandgate_event_take_string(&p, end, text, &ret->length) && p < end &&
           (*p == '}' || *p == ',');
}
