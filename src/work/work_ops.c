#include "work/work.h"

#define WORK_OP(id, name, ...) [OP_##id] = work_##name,
const op_fn work_ops[OP_COUNT] = {OP_LIST(WORK_OP)};
