/* Asks the person at the terminal about calls that wait, one after the other, without holding up the loop. */
#ifndef SANDGATE_FRONT_PROMPT_H
#define SANDGATE_FRONT_PROMPT_H

#include "gate/gate.h"

struct prompt;

/* NULL where nobody can be asked: no controlling terminal, or neither standard input nor standard error is one. */
struct prompt *prompt_start(struct gate *gate);
/* Run the loop once more before the memory goes. Accepts NULL. */
void prompt_stop(struct prompt *prompt);

#endif
