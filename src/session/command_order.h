/* From a prepared call to the order that its command's first process gets. */
#ifndef SANDGATE_SESSION_COMMAND_ORDER_H
#define SANDGATE_SESSION_COMMAND_ORDER_H

#include "cell/order.h"
#include "core/call.h"

/* `strings` takes what the order borrows. Limits that control groups keep are not asked of the watcher. */
int command_order(const struct call *call, bool groups, struct buf *strings, struct order *ret,
                  struct err *err);

#endif
