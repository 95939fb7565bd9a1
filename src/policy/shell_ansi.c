/* $'..': the one quote in which escapes stand for other characters. */
#include "policy/shell_parts.h"

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static uint32_t read_escape_number(struct shell_parser *p, int base, unsigned most)
{
    uint32_t value = 0;
    for (; most && p->at < p->text.n && digit_value(p->text.p[p->at]) < base; most--)
        value = value * (uint32_t)base + (uint32_t)digit_value(p->text.p[p->at++]);
    return value;
}

static void emit_character(struct shell_parser *p, uint32_t c)
{
    if (c < 0x80) {
        buf_add_char(&p->building, (char)c);
        return;
    }
    if (c >= 0x10000)
        buf_add_char(&p->building, (char)(0xf0 | (c >> 18 & 7)));
    if (c >= 0x800)
        buf_add_char(&p->building, (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 63) : 0xe0 | c >> 12));
    buf_add_char(&p->building, (char)(c >= 0x800 ? 0x80 | (c >> 6 & 63) : 0xc0 | c >> 6));
    buf_add_char(&p->building, (char)(0x80 | (c & 63)));
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
    } else if (c && strchr("xuU", c) && digit_value(shell_peek(p, 1)) < 16) {
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
        emit_character(p, value);
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
