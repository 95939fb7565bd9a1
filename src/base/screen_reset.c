#include "base/screen_reset.h"

#include <stdlib.h>
#include <string.h>

/* Ends a string that was left open (ST), drawing that is held back, and the second screen. Not with `?1049l`: on the
 * first screen that would still move the cursor. */
#define LEAVE "\x1b\\\x1b[?2026l\x1b[?1047l\x1b[?47l"

/* Insert mode, line feed mode, wrapping, the cursor, attributes, both character sets and which of them is used. The soft
 * reset (`ESC [ ! p`) does not do all of this, and old consoles print its last letter. */
#define MODES "\x1b[4l\x1b[20l\x1b[?7h\x1b[?25h\x1b[0m\x1b(B\x1b)B\x0f"

/* To set margins moves the cursor: it is saved and put back, before the modes that come back with it. */
#define MARGINS_AND_BACK                                                                           \
    "\x1b"                                                                                         \
    "7\x1b[r\x1b"                                                                                  \
    "8"

/* Positions count from the screen's first row, not the margin's, before the last row is gone to. */
#define MARGINS_AND_LAST_ROW "\x1b[?6l\x1b[r\x1b[9999;1H"

/* Cursor keys and keypad, the mouse, the focus, pasted text. */
#define INPUT                                                                                      \
    "\x1b[?1l\x1b>\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l"

const char *screen_reset_behind_program(void)
{
    return INPUT LEAVE MARGINS_AND_BACK MODES;
}

const char *screen_reset_behind_output(void)
{
    return LEAVE MARGINS_AND_BACK MODES;
}

const char *screen_reset_before_question(void)
{
    const char *term = getenv("TERM");
    return term && strcmp(term, "dumb") == 0 ? "" : LEAVE MARGINS_AND_LAST_ROW MODES;
}
