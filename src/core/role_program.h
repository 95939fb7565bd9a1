/* Roles that are programs of their own: they need libraries that are large or cannot be linked statically. Each runs in a
 * cell of its own, which shows it its program, its libraries and the files of its row, and nothing else. */
#ifndef SANDGATE_CORE_ROLE_PROGRAM_H
#define SANDGATE_CORE_ROLE_PROGRAM_H

#include <stdbool.h>

/* Where an operation is carried out (core/op_list.h). */
enum op_role {
    OP_IN_WORKER, /* in the session's cell, by the gate's own file */
    OP_IN_PARSE,  /* reads web pages; has neither network nor files */
    OP_ROLES
};

struct role_program {
    const char *name;         /* of its file in libexec/sandgate; NULL: it has none */
    bool network;             /* it is in the network that the gate is in */
    const char *const *files; /* of the machine that it sees, where they are there; NULL: none */
};

extern const struct role_program role_programs[OP_ROLES];

#endif
