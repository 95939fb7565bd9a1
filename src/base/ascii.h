/* Single bytes, whatever the locale. */
#ifndef SANDGATE_BASE_ASCII_H
#define SANDGATE_BASE_ASCII_H

#include <stdbool.h>
#include <string.h>

static inline bool ascii_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool ascii_ends_line(char c)
{
    return c == '\n' || c == '\r';
}

/* Unlike strchr not for the byte 0. */
static inline bool ascii_in(char c, const char *set)
{
    return c && strchr(set, c);
}

static inline char ascii_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* The value of a hexadecimal digit, or -1. */
static inline int ascii_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char small = (char)(c | 0x20);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

#endif
