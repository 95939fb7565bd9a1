/* A dialect: which tools there are and the shape of their answers. A table, no I/O. */
#ifndef SANDGATE_CORE_DIALECT_H
#define SANDGATE_CORE_DIALECT_H

#include "core/tool.h"

struct call;

struct dialect {
    enum dialect_id id;
    const char *name;
    bool strict; /* refuses arguments that are not in the table */
    bool text;   /* an answer is one string, not an object */
    bool adapts; /* takes arguments as models write them, see arg_adapt */
    /* Opens what stands around a tool's fields, and closes it. */
    void (*open)(const struct call *call, struct json_out *j);
    void (*close)(const struct call *call, struct json_out *j);
    /* The same for a result that stands alone, where success shows otherwise; NULL: as above. */
    void (*open_alone)(const struct call *call, struct json_out *j);
    void (*close_alone)(const struct call *call, struct json_out *j);
    struct arg_table added; /* fields of a result that stands alone, besides its tool's own */
    /* The schema of a result that stands alone; NULL: an object of the tool's own fields and those. */
    void (*result_schema)(const struct tool *tool, struct json_out *j);
    /* The answer of a call that failed. */
    void (*fail)(const struct call *call, const struct err *err, struct json_out *j);
    const char *instructions;       /* what a model should know of all the tools together */
    const char *plain_instructions; /* the same where answers are plain text; NULL: as above */
};

#endif
