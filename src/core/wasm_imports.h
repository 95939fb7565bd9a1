/* What a module in WebAssembly wants from outside, read from its sections without Wasmtime: for what is told before anything
 * runs. Whether the module is valid is for the compiler to say, in its cell. */
#ifndef SANDGATE_CORE_WASM_IMPORTS_H
#define SANDGATE_CORE_WASM_IMPORTS_H

#include <stdbool.h>

#include "base/err.h"

#define WASM_IMPORTS_MAX 1000

struct wasm_import {
    struct str module;
    struct str name;
    bool function; /* the last one told where it is none */
};

/* Tells each import; `*ret_start`: the module exports a function `_start`. -1: it is no module, or is cut off. */
int wasm_imports(struct str module, void (*tell)(void *arg, const struct wasm_import *import),
                 void *arg, bool *ret_start, struct err *err);

/* The functions of WASI preview 1, and the capability (enum manifest_capability) without which each has nothing behind it; 0:
 * none is needed. -1: there is no such function. */
int wasm_wasi_capability(struct str name);
size_t wasm_wasi_functions(void);

#endif
