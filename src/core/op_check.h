/* What the tables of fields cannot say of a reply: how its fields and its body fit together. */
#ifndef SANDGATE_CORE_OP_CHECK_H
#define SANDGATE_CORE_OP_CHECK_H

#include "core/op.h"

/* A cell whose reply fails this has broken the protocol. */
bool op_check_reply(const struct call *call);

/* The last column of OP_LIST. */
#define OP_CHECK(id, name, fields, temp, waits, paths, real, body, written, preview, check)        \
    bool op_check_##check(const struct call *call);
OP_LIST(OP_CHECK)
#undef OP_CHECK
#define OP_ROLE_CHECK(id, name, role, body, check) bool op_check_##check(const struct call *call);
OP_ROLE_LIST(OP_ROLE_CHECK)
#undef OP_ROLE_CHECK

#endif
