#include "roles/vm.h"

#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "base/mem.h"
#include "base/str.h"
#include "roles/vm_parts.h"

/* How deep a guest may call: far below the stack that a process has. */
#define STACK_BYTES ((size_t)512 << 10)

int vm_failed(struct err *err, enum err_code code, const char *what, wasmtime_error_t *error)
{
    wasm_name_t text;
    wasmtime_error_message(error, &text);
    size_t n = text.size < 300 ? text.size : 300;
    char shown[301];
    for (size_t i = 0; i < n; i++)
        shown[i] = (char)(text.data[i] >= ' ' && text.data[i] < 0x7f ? text.data[i] : ' ');
    shown[n] = '\0';
    err_set(err, code, "%s: %s", what, shown);
    wasm_byte_vec_delete(&text);
    wasmtime_error_delete(error);
    return -1;
}

/* The same for compiling and for loading, or what was compiled is refused. */
static wasm_config_t *engine_config(struct vm *vm)
{
    wasm_config_t *c = wasm_config_new();
    wasmtime_config_consume_fuel_set(c, true);
    wasmtime_config_epoch_interruption_set(c, true);
    wasmtime_config_max_wasm_stack_set(c, STACK_BYTES);
    wasmtime_config_wasm_multi_memory_set(c, false);
    wasmtime_config_wasm_memory64_set(c, false);
    wasmtime_config_wasm_threads_set(c, false);
    wasmtime_config_wasm_component_model_set(c, false);
    wasmtime_config_parallel_compilation_set(c, false);
    wasmtime_config_memory_init_cow_set(c, false);
    vm_memory_use(&vm->memory, c);
    return c;
}

int vm_new(struct vm **ret, struct err *err)
{
    struct vm *vm = mem_zero(sizeof *vm);
    vm->engine = wasm_engine_new_with_config(engine_config(vm));
    vm->linker = vm->engine ? wasmtime_linker_new(vm->engine) : NULL;
    if (!vm->linker || vm_wasi_define(vm, err) < 0) {
        if (!vm->linker)
            err_set(err, ERR_INTERNAL, "Wasmtime does not start");
        vm_free(vm);
        return -1;
    }
    *ret = vm;
    return 0;
}

void vm_free(struct vm *vm)
{
    if (!vm)
        return;
    if (vm->pre)
        wasmtime_instance_pre_delete(vm->pre);
    if (vm->module)
        wasmtime_module_delete(vm->module);
    if (vm->linker)
        wasmtime_linker_delete(vm->linker);
    if (vm->engine)
        wasm_engine_delete(vm->engine);
    vm_memory_done(&vm->memory);
    free(vm);
}

/* --- compiling */

static struct str name_text(const wasm_name_t *name)
{
    return (struct str){name->data, name->size};
}

static void show_import(struct str module, struct str name, char out[160])
{
    size_t n = 0;
    struct str parts[] = {module, STR("."), name};
    for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
        for (size_t i = 0; i < parts[p].n && i < 70 && n < 158; i++)
            out[n++] = (char)(parts[p].p[i] > ' ' && parts[p].p[i] < 0x7f ? parts[p].p[i] : '?');
    }
    out[n] = '\0';
}

/* What a tool asks for stands in its imports. One that is not there is told by its name, not when it is called. */
static int check_import(struct str module, struct str name, wasm_externkind_t kind, struct err *err)
{
    char shown[160];
    show_import(module, name, shown);
    bool ours = str_is(module, "wasi_snapshot_preview1");
    if (ours && kind == WASM_EXTERN_FUNC && vm_wasi_has(name))
        return 0;
    err_set(err, ERR_NOT_SUPPORTED,
            "the module imports %s, which is not there: a tool is a WASI preview 1 program%s",
            shown, ours ? "" : " and imports wasi_snapshot_preview1 alone");
    return err_reason(err, "import");
}

static int check_start(const wasm_exporttype_vec_t *exports, struct err *err)
{
    for (size_t i = 0; i < exports->size; i++) {
        const wasm_externtype_t *type = wasm_exporttype_type(exports->data[i]);
        struct str name = name_text(wasm_exporttype_name(exports->data[i]));
        if (!str_is(name, "_start") || wasm_externtype_kind(type) != WASM_EXTERN_FUNC)
            continue;
        const wasm_functype_t *fn = wasm_externtype_as_functype_const(type);
        if (wasm_functype_params(fn)->size == 0 && wasm_functype_results(fn)->size == 0)
            return 0;
    }
    err_set(err, ERR_NOT_SUPPORTED,
            "the module has no function `_start`: a tool is a program, not a library");
    return err_reason(err, "no_start");
}

/* Imports in a line of JSON. Their names were checked. */
static int write_imports(const wasmtime_module_t *module, struct buf *out, struct err *err)
{
    wasm_importtype_vec_t imports;
    wasm_exporttype_vec_t exports;
    struct json_out j = {.out = out};
    wasmtime_module_imports(module, &imports);
    wasmtime_module_exports(module, &exports);
    int r = check_start(&exports, err);
    jo_open(&j, '{');
    jo_key(&j, "imports");
    jo_open(&j, '[');
    for (size_t i = 0; i < imports.size && r == 0; i++) {
        const wasm_importtype_t *type = imports.data[i];
        struct str name = name_text(wasm_importtype_name(type));
        r = check_import(name_text(wasm_importtype_module(type)), name,
                         wasm_externtype_kind(wasm_importtype_type(type)), err);
        if (r == 0)
            jo_str(&j, name);
    }
    jo_close(&j, ']');
    jo_close(&j, '}');
    buf_add_char(out, '\n');
    wasm_importtype_vec_delete(&imports);
    wasm_exporttype_vec_delete(&exports);
    return r;
}

int vm_compile(struct vm *vm, struct str module, struct buf *ret, struct err *err)
{
    wasmtime_module_t *made = NULL;
    wasm_byte_vec_t code;
    wasmtime_error_t *error = wasmtime_module_new(vm->engine, (const uint8_t *)module.p, module.n,
                                                  &made);
    if (error)
        return vm_failed(err, ERR_NOT_SUPPORTED, "the module is not valid WebAssembly", error);
    int r = write_imports(made, ret, err);
    if (r == 0 && (error = wasmtime_module_serialize(made, &code))) {
        r = vm_failed(err, ERR_INTERNAL, "the compiled module cannot be written", error);
    } else if (r == 0) {
        buf_add(ret, code.data, code.size);
        wasm_byte_vec_delete(&code);
        if (ret->failed)
            r = err_set(err, ERR_TOO_LARGE, "the compiled module is larger than %zu bytes",
                        ret->max);
    }
    wasmtime_module_delete(made);
    return r;
}

/* --- loading */

bool vm_split(struct str compiled, struct str *ret_head, struct str *ret_code)
{
    const char *end = compiled.n ? memchr(compiled.p, '\n', compiled.n) : NULL;
    if (!end || compiled.p[0] != '{')
        return false;
    *ret_head = (struct str){compiled.p, (size_t)(end - compiled.p)};
    *ret_code = (struct str){end + 1, compiled.n - (size_t)(end + 1 - compiled.p)};
    return true;
}

int vm_load(struct vm *vm, struct str compiled, struct err *err)
{
    struct str head;
    struct str code;
    if (!vm_split(compiled, &head, &code))
        return err_set(err, ERR_INTERNAL, "this is no compiled module");
    wasmtime_error_t *error = wasmtime_module_deserialize(vm->engine, (const uint8_t *)code.p,
                                                          code.n, &vm->module);
    if (!error)
        error = wasmtime_linker_instantiate_pre(vm->linker, vm->module, &vm->pre);
    return error ? vm_failed(err, ERR_INTERNAL, "the compiled module cannot be loaded", error) : 0;
}
