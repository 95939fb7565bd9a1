/* Roles that are programs of their own: they need libraries that are large or cannot be linked statically. Each runs in a
 * cell of its own, which shows it its program, its libraries and the files of its row, and nothing else. */
#ifndef SANDGATE_CORE_ROLE_PROGRAM_H
#define SANDGATE_CORE_ROLE_PROGRAM_H

#include <stdbool.h>

/* Where an operation is carried out (core/op_list.h). */
enum op_role {
    OP_IN_WORKER, /* in the session's cell, by the gate's own file */
    OP_IN_NET, /* asks servers; has the network, and no file but those by which it finds and knows them */
    OP_IN_PARSE,   /* reads web pages; has neither network nor files */
    OP_IN_WASM,    /* runs a tool in WebAssembly; has neither network nor files */
    OP_IN_COMPILE, /* compiles one, the same */
    OP_ROLES
};

/* Where the net role finds the certificates of those who sign others. */
#define ROLE_NET_CA "/etc/ca.pem"

/* The first that is there of those with the same `inside`. */
struct role_file {
    const char *host;    /* NULL: what the setting says */
    const char *setting; /* a field of the configuration; NULL: none */
    const char *inside;
};

struct role_program {
    const char *name; /* of its file in libexec/sandgate; NULL: it has none */
    bool runs_tools;  /* or reads them: what can be wrong with one is told */
    bool one_a_tool;  /* each tool has a cell of its own, with its module (session/modules.h) */
    bool network;     /* it is in the network that the gate is in */
    const struct role_file
        *files; /* of the machine that it sees; ends with an empty row; NULL: none */
};

extern const struct role_program role_programs[OP_ROLES];

#endif
