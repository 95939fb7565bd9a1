/* Keeps a program's output from doing more to a terminal than to draw on it.
 *
 * Text, colours, cursor movement and what drawing needs pass: margins, character sets, insert mode, line feed mode,
 * wrapping, the cursor, the second screen. These stay set; base/screen_reset.h takes them back. What sets the clipboard,
 * the title or another state, or makes the terminal answer as if the user had typed, is left out: strings (OSC, DCS, APC, PM, SOS), reports, window operations,
 * printing, keyboard and mouse modes, resets. The rules are a list of what passes. The 8-bit forms count, as bytes
 * and as UTF-8, and characters of UTF-8 stay whole. Output is filtered in pieces of any size; nothing of a sequence is
 * written before all of it is known, so two streams on one terminal cannot complete each other's.
 *
 * A program that is typed to, through a terminal of its own, may also say how input looks (cursor keys, mouse, focus,
 * pasted text) and ask where the cursor is and which kind of terminal this is: what is typed and answered meanwhile
 * is its own. base/screen_reset.h takes these modes back, too. */
#ifndef SANDGATE_BASE_TERMINAL_H
#define SANDGATE_BASE_TERMINAL_H

#include <stdint.h>

#include "base/buf.h"

#define TERMINAL_SEQUENCE_MAX 128

/* Begins as all zeros, save `typed_to`. */
struct terminal {
    bool typed_to; /* input goes to the program alone, until it ends */
    uint8_t state;
    uint8_t utf8_n;      /* bytes held of a character */
    uint8_t utf8_length; /* that it has */
    bool bel_ends;       /* the string at hand */
    bool passed;         /* a sequence has passed: it may have set something that stays */
    uint8_t n;           /* bytes held of a sequence; more than fit: it does not pass */
    char utf8[4];
    char sequence[TERMINAL_SEQUENCE_MAX];
};

/* Adds what passes to `out`; never more than is given and what was held before. */
void terminal_filter(struct terminal *terminal, struct str bytes, struct buf *out);

#endif
