/* Operations for tools in WebAssembly. */
#ifndef SANDGATE_CORE_OP_TOOL_H
#define SANDGATE_CORE_OP_TOOL_H

#include "base/str.h"

/* Of what a tool wrote to standard error. */
#define OP_TOOL_LOG_MAX (16u << 10)
#define OP_COMPILED_MAX ((size_t)512 << 20)

/* The body is the compiled module, where the process does not have it yet, then the tool's standard input. */
struct op_run_tool_request {
    struct str name;
    int64_t module; /* bytes of the body that are the compiled module */
    int64_t timeout_ms;
    int64_t memory;
    int64_t fuel; /* 0: as much as there is time for */
    int64_t output;
};

/* The body is what the tool wrote to standard output, then the beginning of what it wrote to standard error. */
struct op_run_tool_reply {
    int64_t output;  /* bytes of the body that are standard output */
    int64_t dropped; /* bytes of standard error that are left out */
    int64_t fuel;
    int64_t memory;
};

/* The body is a module. */
struct op_compile_request {
    int64_t max_bytes;
};

/* The body is what it was compiled to. */
struct op_compile_reply {
    int64_t bytes;
};

#endif
