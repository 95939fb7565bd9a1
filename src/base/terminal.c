#include "base/terminal.h"

#include <string.h>

enum state {
    TEXT,
    ESCAPE,       /* behind ESC */
    DESIGNATE,    /* ESC and intermediate bytes */
    CONTROL,      /* behind CSI */
    STRING,       /* OSC, DCS, APC, PM, SOS, up to ST */
    STRING_ESCAPE /* ESC in one: perhaps ST */
};

#define ESC 0x1b
#define CAN 0x18
#define SUB 0x1a
#define BEL 0x07

/* --- what passes */

/* Of a program that is typed to, the shifts between character sets too: terminfo draws boxes with them. */
static bool passes_c0(unsigned c, bool typed_to)
{
    return c >= BEL && c <= (typed_to ? 0x0f : '\r');
}

/* ESC and one byte: save and restore the cursor, index, next line, set a tab, reverse index; of a program that is typed
 * to, which keypad it wants. */
static bool passes_escape(unsigned c, bool typed_to)
{
    return c && strchr(typed_to ? "78DEHM=>" : "78DEHM", (int)c);
}

/* Character sets for text and for lines of boxes. */
static bool passes_designation(const char *sequence, size_t n)
{
    return n == 2 && strchr("()", sequence[0]) && strchr("0AB", sequence[1]);
}

static bool in_list(unsigned number, const unsigned short *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == number)
            return true;
    }
    return false;
}

/* Each of the numbers, of which there is at least one. */
static bool all_in_list(const char *text, size_t n, const unsigned short *list, size_t count)
{
    unsigned number = 0;
    bool digits = false;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && text[i] >= '0' && text[i] <= '9') {
            number = number < 10000 ? 10 * number + (unsigned)(text[i] - '0') : number;
            digits = true;
            continue;
        }
        if ((i < n && text[i] != ';') || !digits || !in_list(number, list, count))
            return false;
        number = 0;
        digits = false;
    }
    return true;
}

/* Insert mode and line feed; wrapping, a blinking and a visible cursor, the second screen, drawing at once. */
static bool passes_mode(bool private, const char *text, size_t n)
{
    static const unsigned short modes[] = {4, 20};
    static const unsigned short private_modes[] = {7, 12, 25, 47, 1047, 1048, 1049, 2026};
    return private ? all_in_list(text, n, private_modes, ARRAY_LEN(private_modes))
                   : all_in_list(text, n, modes, ARRAY_LEN(modes));
}

/* Cursor keys, the mouse, the focus, what is pasted: it says how input looks, and all input is the program's. */
static bool passes_input_mode(const char *text, size_t n)
{
    static const unsigned short modes[] = {1,    7,    12,   25,   47,   1000, 1002, 1003,
                                           1004, 1006, 1047, 1048, 1049, 2004, 2026};
    return all_in_list(text, n, modes, ARRAY_LEN(modes));
}

/* Where the cursor is, that the terminal is there, and of which kind: line editors ask, and the answer is digits. */
static bool passes_question(char last, const char *text, size_t n)
{
    static const unsigned short status[] = {5, 6};
    static const unsigned short kind[] = {0};
    if (last == 'n')
        return all_in_list(text, n, status, ARRAY_LEN(status));
    if (n && text[0] == '>') {
        text++;
        n--;
    }
    return last == 'c' && (n == 0 || all_in_list(text, n, kind, ARRAY_LEN(kind)));
}

/* What stands behind CSI, its last byte included. */
static bool passes_control(const char *text, size_t n, bool typed_to)
{
    char last = text[n - 1];
    bool private = n > 1 && text[0] == '?';
    const char *numbers = text + private;
    size_t length = n - 1 - private;
    if (last == 'h' || last == 'l')
        return passes_mode(private, numbers, length) ||
               (typed_to && private && passes_input_mode(numbers, length));
    if (last == 'n' || last == 'c')
        return typed_to && !private && passes_question(last, numbers, length);
    if (last == 'q' && length && numbers[length - 1] == ' ') /* the cursor's shape */
        length--;
    else if (!strchr(private ? "JK" : "ABCDEFGHIJKLMPSTXZ@`abdefgmrsu", last))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!strchr("0123456789;:", numbers[i]))
            return false;
    }
    return true;
}

/* --- sequences */

static void begin_terminal_state(struct terminal *t, enum state state)
{
    t->state = (uint8_t)state;
    t->n = 0;
}

static void begin_string(struct terminal *t, bool bel_ends)
{
    begin_terminal_state(t, STRING);
    t->bel_ends = bel_ends;
}

static void hold_sequence_byte(struct terminal *t, unsigned c)
{
    if (t->n < TERMINAL_SEQUENCE_MAX)
        t->sequence[t->n++] = (char)c;
}

static void pass(struct terminal *t, const char *before, struct buf *out)
{
    t->passed = true;
    buf_add_text(out, before);
    buf_add(out, t->sequence, t->n);
}

/* Behind ESC; the 8-bit controls are the same bytes, 0x40 higher. */
static void take_behind_escape(struct terminal *t, unsigned c, struct buf *out)
{
    begin_terminal_state(t, TEXT);
    if (c == '[')
        begin_terminal_state(t, CONTROL);
    else if (c == ']')
        begin_string(t, true);
    else if (c == 'P' || c == 'X' || c == '^' || c == '_')
        begin_string(t, false);
    else if (c >= 0x20 && c < 0x30) {
        begin_terminal_state(t, DESIGNATE);
        hold_sequence_byte(t, c);
    } else if (passes_escape(c, t->typed_to)) {
        hold_sequence_byte(t, c);
        pass(t, "\x1b", out);
        begin_terminal_state(t, TEXT);
    }
}

static void designate(struct terminal *t, unsigned c, struct buf *out)
{
    hold_sequence_byte(t, c);
    if (c >= 0x20 && c < 0x30)
        return;
    if (passes_designation(t->sequence, t->n))
        pass(t, "\x1b", out);
    begin_terminal_state(t, TEXT);
}

static void control(struct terminal *t, unsigned c, struct buf *out)
{
    hold_sequence_byte(t, c);
    if (c < 0x40)
        return;
    if (t->n < TERMINAL_SEQUENCE_MAX && passes_control(t->sequence, t->n, t->typed_to))
        pass(t, "\x1b[", out);
    begin_terminal_state(t, TEXT);
}

/* One 7-bit character. Controls act within sequences too, as they do on a terminal. */
static void take_ascii(struct terminal *t, unsigned c, struct buf *out)
{
    if (t->state == STRING_ESCAPE) {
        begin_terminal_state(t, ESCAPE);
        if (c == '\\') {
            begin_terminal_state(t, TEXT);
            return;
        }
    }
    if (c == CAN || c == SUB)
        begin_terminal_state(t, TEXT);
    else if (t->state == STRING && c == BEL && t->bel_ends)
        begin_terminal_state(t, TEXT);
    else if (t->state == STRING)
        t->state = c == ESC ? STRING_ESCAPE : STRING;
    else if (c == ESC)
        begin_terminal_state(t, ESCAPE);
    else if (c < 0x20) {
        if (passes_c0(c, t->typed_to)) {
            t->passed |= c > '\r';
            buf_add_char(out, (char)c);
        }
    } else if (t->state == ESCAPE)
        take_behind_escape(t, c, out);
    else if (t->state == DESIGNATE)
        designate(t, c, out);
    else if (t->state == CONTROL)
        control(t, c, out);
    else if (c != 0x7f)
        buf_add_char(out, (char)c);
}

/* 0x80 to 0x9f. ST ends a string, any other begins anew. */
static void take_c1(struct terminal *t, unsigned c, struct buf *out)
{
    if (c == 0x9c)
        begin_terminal_state(t, TEXT);
    else
        take_behind_escape(t, c - 0x40, out);
}

/* Other bytes and characters are text, and end a sequence that they cannot be part of. */
static void take_terminal_text(struct terminal *t, const char *bytes, size_t n, struct buf *out)
{
    if (t->state == STRING_ESCAPE)
        t->state = STRING;
    if (t->state == STRING)
        return;
    begin_terminal_state(t, TEXT);
    buf_add(out, bytes, n);
}

/* --- characters */

static unsigned length_of(unsigned c)
{
    return c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
}

static void take_single_byte(struct terminal *t, unsigned c, struct buf *out)
{
    char byte = (char)c;
    if (c < 0x80)
        take_ascii(t, c, out);
    else if (c < 0xa0)
        take_c1(t, c, out);
    else
        take_terminal_text(t, &byte, 1, out);
}

/* Bytes that are no character after all. */
static void give_up_character(struct terminal *t, struct buf *out)
{
    unsigned n = t->utf8_n;
    t->utf8_n = 0;
    for (unsigned i = 0; i < n; i++)
        take_single_byte(t, (unsigned char)t->utf8[i], out);
}

/* Longer than it needs to be, a surrogate, or beyond the last one. */
static bool is_wrong(const char *utf8)
{
    unsigned a = (unsigned char)utf8[0];
    unsigned b = (unsigned char)utf8[1];
    return (a == 0xe0 && b < 0xa0) || (a == 0xed && b >= 0xa0) || (a == 0xf0 && b < 0x90) ||
           (a == 0xf4 && b >= 0x90);
}

static void end_character(struct terminal *t, struct buf *out)
{
    unsigned n = t->utf8_n;
    unsigned second = (unsigned char)t->utf8[1];
    if (is_wrong(t->utf8)) {
        give_up_character(t, out);
        return;
    }
    t->utf8_n = 0;
    if (n == 2 && (unsigned char)t->utf8[0] == 0xc2 && second < 0xa0)
        take_c1(t, second, out);
    else
        take_terminal_text(t, t->utf8, n, out);
}

static void take_terminal_byte(struct terminal *t, unsigned c, struct buf *out)
{
    if (t->utf8_n && (c & 0xc0) != 0x80)
        give_up_character(t, out);
    if (t->utf8_n == 0 && length_of(c) == 0) {
        take_single_byte(t, c, out);
        return;
    }
    if (t->utf8_n == 0)
        t->utf8_length = (uint8_t)length_of(c);
    t->utf8[t->utf8_n++] = (char)c;
    if (t->utf8_n == t->utf8_length)
        end_character(t, out);
}

void terminal_filter(struct terminal *t, struct str bytes, struct buf *out)
{
    for (size_t i = 0; i < bytes.n; i++)
        take_terminal_byte(t, (unsigned char)bytes.p[i], out);
}
