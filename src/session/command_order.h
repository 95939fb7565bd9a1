/* From a prepared call to the order that its command's first process gets. */
#ifndef SANDGATE_SESSION_COMMAND_ORDER_H
#define SANDGATE_SESSION_COMMAND_ORDER_H

#include "cell/limits.h"
#include "cell/order.h"
#include "core/call.h"

/* `strings` takes what the order borrows. Limits that control groups keep (NULL: there are none) are not asked of
 * the watcher. */
int command_order(const struct call *call, const struct limits *groups, struct buf *strings,
                  struct order *ret, struct err *err);
bool command_same_limits(const struct limits_want *a, const struct limits_want *b);
/* What is asked of control groups; with a verdict, for a call that has it. */
struct limits_want command_limits(const struct config *config, const struct verdict *verdict);

/* The PATH of commands. */
void command_path(const struct config *config, struct buf *out);

#endif
