/* A command that was never started. */
#ifndef SANDGATE_SESSION_COMMAND_NOT_RUN_H
#define SANDGATE_SESSION_COMMAND_NOT_RUN_H

#include "cell/order.h"
#include "core/call.h"

/* Why, in the words for the caller. */
void command_not_run(const struct call *call, const struct ran *ran, struct err *err);

#endif
