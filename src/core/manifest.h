/* What a tool says of itself that comes as a file: `NAME/manifest.json` in a folder of the operator's. docs/TOOLS_AUTHORING.md
 * has the format. */
#ifndef SANDGATE_CORE_MANIFEST_H
#define SANDGATE_CORE_MANIFEST_H

#include "core/tool.h"

#define MANIFEST_BYTES_MAX (256u << 10)
#define MANIFEST_ENV_MAX 32

/* What it asks for. Nothing is granted that it does not ask for. */
enum manifest_capability {
    MANIFEST_FILESYSTEM = 1,
    MANIFEST_ENV = 2,
    MANIFEST_NETWORK = 4,
    MANIFEST_MODEL = 8,
};

struct manifest_limits {
    int64_t timeout_ms; /* 0: as configured */
    int64_t memory;     /* bytes; 0: as configured */
    int64_t fuel;       /* 0: as much as there is time for */
    int64_t output;     /* bytes */
};

struct manifest {
    struct tool tool; /* its row, first: a call's tool leads here */
    yyjson_doc *doc;  /* owns all texts */
    char *folder;     /* where it lies; NULL: nowhere */
    char *store;      /* the folder where what its module was compiled to is kept; NULL: nowhere */
    const char *version;
    const char *module; /* the name of a file beside it */
    const char *sha256; /* of that */
    yyjson_val *input;
    yyjson_val *output;   /* NULL: any JSON */
    yyjson_val *examples; /* NULL: none */
    unsigned asks;        /* enum manifest_capability */
    struct manifest_limits limits;
    struct arg *args; /* the rows of the arguments */
};

/* Reads one. The error's field is what is wrong. `tool.prepare` and all else that does something is the caller's to set. */
int manifest_read(struct str text, struct manifest **ret, struct err *err);
void manifest_free(struct manifest *manifest);

/* The name of a capability as manifests write it. */
const char *manifest_capability_name(enum manifest_capability capability);

#endif
