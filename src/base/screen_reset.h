/* Takes back what output may have left set on a terminal: margins, modes, character sets, attributes.
 *
 * base/terminal.c lets programs draw, and what they draw with stays set when they end. Within margins of two rows, or
 * with concealed text, a question would not be seen, and a forged one could stand in its place. */
#ifndef SANDGATE_BASE_SCREEN_RESET_H
#define SANDGATE_BASE_SCREEN_RESET_H

/* Behind output. The cursor stays where it is. */
const char *screen_reset_behind_output(void);
/* The same of a program that was typed to (struct terminal). */
const char *screen_reset_behind_program(void);
/* Before a question, whoever wrote to the terminal before. The cursor goes to the last row: nothing that was drawn can
 * stand below the question. Empty where TERM says that the terminal knows no sequences. */
const char *screen_reset_before_question(void);

#endif
