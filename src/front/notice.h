/* Tells on standard error that a call waits, where nobody else in this process asks a person. */
#ifndef SANDGATE_FRONT_NOTICE_H
#define SANDGATE_FRONT_NOTICE_H

#include "gate/gate.h"

struct notice {
    struct keeper_listener listener;
    struct keeper *keeper;
};

void notice_start(struct notice *notice, struct gate *gate);
void notice_stop(struct notice *notice);

#endif
