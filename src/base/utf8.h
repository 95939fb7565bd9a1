/* UTF-8 as the Unicode standard has it: no overlong forms, no surrogates, at most U+10FFFF. */
#ifndef SANDGATE_BASE_UTF8_H
#define SANDGATE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Length of the valid sequence at p (1 to 4), or 0; n > 0 bytes are there. */
size_t utf8_sequence(const char *p, size_t n);
/* How many bytes at p one replacement character stands for (the maximal broken prefix). */
size_t utf8_broken(const char *p, size_t n);
bool utf8_valid(const char *p, size_t n);
/* The largest length <= n that does not cut a sequence in two. */
size_t utf8_cut(const char *p, size_t n);
/* The character that a valid sequence of n bytes stands for. */
uint32_t utf8_character(const char *p, size_t n);
/* Adds a character; of a number past U+1FFFFF its last 21 bits, in four bytes. */
void utf8_add(struct buf *out, uint32_t c);

#endif
