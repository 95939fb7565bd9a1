/* $'..': the one quote in which escapes stand for other characters. */
#include "base/ascii.h"
#include "base/utf8.h"
#include "policy/shell_parts.h"

static uint32_t read_escape_number(struct shell_parser *p, unsigned base, unsigned most)
{
    uint32_t value = 0;
    for (; most && p->at < p->text.n && (unsigned)ascii_hex_digit(p->text.p[p->at]) < base; most--)
        value = value * base + (uint32_t)ascii_hex_digit(p->text.p[p->at++]);
    return value;
}

/* Behind the backslash of $'..'. A byte of value 0 ends what the quote gives; returns whether it came. */
static bool read_ansi_escape(struct shell_parser *p)
{
    static const char named[] = "abeEfnrtv\\'\"?";
    static const char meaning[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
    char c = shell_peek(p, 0);
    const char *found = c ? strchr(named, c) : NULL;
    uint32_t value;
    if (found) {
        value = (unsigned char)meaning[found - named];
        p->at++;
    } else if (c >= '0' && c <= '7') {
        value = read_escape_number(p, 8, 3) & 0xff;
    } else if (c && strchr("xuU", c) && ascii_hex_digit(shell_peek(p, 1)) >= 0) {
        p->at++;
        value = read_escape_number(p, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == 'c' && shell_peek(p, 1)) {
        value = (unsigned char)shell_peek(p, 1) & 0x1f;
        p->at += 2;
    } else {
        buf_add_char(&p->building, '\\');
        return false;
    }
    if (value && (c == 'u' || c == 'U'))
        utf8_add(&p->building, value);
    else if (value)
        buf_add_char(&p->building, (char)value);
    return value == 0;
}

int shell_read_ansi(struct shell_parser *p)
{
    size_t opened = p->at++;
    size_t keep = SIZE_MAX;
    while (p->at < p->text.n) {
        char c = p->text.p[p->at++];
        if (c == '\'') {
            if (keep != SIZE_MAX)
                p->building.len = keep;
            return 0;
        }
        if (c != '\\')
            buf_add_char(&p->building, c);
        else if (read_ansi_escape(p) && keep == SIZE_MAX)
            keep = p->building.len;
    }
    return shell_fail(p, opened, "no `'` closes this quote");
}
