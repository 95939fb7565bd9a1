/* Any bytes as a module: imports that lie inside it, or an error that can be shown. */
#include <string.h>

#include "core/wasm_imports.h"
#include "target.h"

struct seen {
    struct str module;
    size_t n;
    bool other;
};

static void see_import(void *arg, const struct wasm_import *import)
{
    struct seen *seen = arg;
    const char *end = seen->module.p + seen->module.n;
    must(!seen->other && ++seen->n <= WASM_IMPORTS_MAX * (seen->module.n / 2 + 1));
    must(import->module.n == 0 ||
         (import->module.p > seen->module.p && import->module.p + import->module.n < end));
    must(import->name.n == 0 ||
         (import->name.p > seen->module.p && import->name.p + import->name.n < end));
    (void)wasm_wasi_capability(import->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    bool start;
    struct seen seen = {.module = {(const char *)data, size}};
    if (wasm_imports(seen.module, see_import, &seen, &start, &err) < 0)
        must(err.message[0] && err.code == ERR_NOT_SUPPORTED);
    return 0;
}
