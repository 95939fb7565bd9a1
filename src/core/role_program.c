#include "core/role_program.h"

#include <stddef.h>

static const struct role_file net_files[] = {
    {"/etc/resolv.conf", NULL, "/etc/resolv.conf"},
    {"/etc/hosts", NULL, "/etc/hosts"},
    {NULL, "network.caFile", ROLE_NET_CA},
    {"/etc/ssl/certs/ca-certificates.crt", NULL, ROLE_NET_CA},
    {"/etc/pki/tls/certs/ca-bundle.crt", NULL, ROLE_NET_CA},
    {"/etc/ssl/ca-bundle.pem", NULL, ROLE_NET_CA},
    {0},
};

const struct role_program role_programs[OP_ROLES] = {
    [OP_IN_NET] = {.name = "net", .network = true, .files = net_files},
    [OP_IN_WASM] = {.name = "wasm", .runs_tools = true, .one_a_tool = true},
    [OP_IN_COMPILE] = {.name = "wasm_compile", .runs_tools = true},
    [OP_IN_PARSE] = {.name = "parse"},
};
