#include "core/wasm_imports.h"

#include "base/str.h"
#include "core/manifest.h"

#define SECTION_IMPORT 2
#define SECTION_EXPORT 7
#define KIND_FUNCTION 0

/* --- bytes */

struct wasm_bytes {
    const unsigned char *at;
    const unsigned char *end;
    bool bad;
};

static unsigned take_wasm_byte(struct wasm_bytes *b)
{
    if (b->at == b->end)
        b->bad = true;
    return b->bad ? 0 : *b->at++;
}

/* LEB128 of 32 bits: at most five bytes, the last of four bits. */
static uint32_t take_wasm_number(struct wasm_bytes *b)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        unsigned byte = take_wasm_byte(b);
        if (shift == 28 && byte > 15)
            break;
        value |= (uint32_t)(byte & 127) << shift;
        if (!(byte & 128))
            return value;
    }
    b->bad = true;
    return 0;
}

static struct wasm_bytes take_wasm_bytes(struct wasm_bytes *b)
{
    uint32_t n = take_wasm_number(b);
    if (b->bad || n > (size_t)(b->end - b->at)) {
        b->bad = true;
        return (struct wasm_bytes){.bad = true};
    }
    b->at += n;
    return (struct wasm_bytes){.at = b->at - n, .end = b->at};
}

static struct str take_wasm_name(struct wasm_bytes *b)
{
    struct wasm_bytes name = take_wasm_bytes(b);
    return name.bad ? (struct str){"", 0}
                    : (struct str){(const char *)name.at, (size_t)(name.end - name.at)};
}

/* --- sections */

/* Up to the first that is no function: what it is made of is not read. */
static bool tell_imports(struct wasm_bytes section,
                         void (*tell)(void *arg, const struct wasm_import *import), void *arg)
{
    uint32_t n = take_wasm_number(&section);
    bool function = n <= WASM_IMPORTS_MAX;
    section.bad |= !function;
    for (uint32_t i = 0; i < n && function && !section.bad; i++) {
        struct wasm_import import = {.module = take_wasm_name(&section)};
        import.name = take_wasm_name(&section);
        function = import.function = take_wasm_byte(&section) == KIND_FUNCTION;
        if (function)
            (void)take_wasm_number(&section); /* its type */
        if (!section.bad)
            tell(arg, &import);
    }
    return !section.bad;
}

static bool find_start(struct wasm_bytes section, bool *ret_start)
{
    uint32_t n = take_wasm_number(&section);
    for (uint32_t i = 0; i < n && !section.bad; i++) {
        struct str name = take_wasm_name(&section);
        bool function = take_wasm_byte(&section) == KIND_FUNCTION;
        (void)take_wasm_number(&section);
        if (!section.bad && function && str_is(name, "_start"))
            *ret_start = true;
    }
    return !section.bad;
}

int wasm_imports(struct str module, void (*tell)(void *arg, const struct wasm_import *import),
                 void *arg, bool *ret_start, struct err *err)
{
    static const char head[] = {0, 'a', 's', 'm', 1, 0, 0, 0};
    const unsigned char *bytes = (const unsigned char *)module.p;
    *ret_start = false;
    if (!str_begins(module, (struct str){head, sizeof head}))
        return err_set(err, ERR_NOT_SUPPORTED,
                       "it is no module in WebAssembly of version 1 (a component is none)");
    struct wasm_bytes all = {.at = bytes + sizeof head, .end = bytes + module.n};
    while (all.at < all.end && !all.bad) {
        unsigned id = take_wasm_byte(&all);
        struct wasm_bytes section = take_wasm_bytes(&all);
        if (!all.bad && ((id == SECTION_IMPORT && !tell_imports(section, tell, arg)) ||
                         (id == SECTION_EXPORT && !find_start(section, ret_start))))
            all.bad = true;
    }
    return all.bad ? err_set(err, ERR_NOT_SUPPORTED, "its sections are damaged or cut off") : 0;
}

/* --- WASI preview 1 */

static const struct wasi_function {
    const char *name;
    int capability;
} wasi_functions[] = {
    {"args_get", 0},
    {"args_sizes_get", 0},
    {"clock_res_get", 0},
    {"clock_time_get", 0},
    {"environ_get", MANIFEST_ENV},
    {"environ_sizes_get", MANIFEST_ENV},
    {"fd_advise", 0},
    {"fd_allocate", 0},
    {"fd_close", 0},
    {"fd_datasync", 0},
    {"fd_fdstat_get", 0},
    {"fd_fdstat_set_flags", 0},
    {"fd_fdstat_set_rights", 0},
    {"fd_filestat_get", 0},
    {"fd_filestat_set_size", 0},
    {"fd_filestat_set_times", 0},
    {"fd_pread", 0},
    {"fd_prestat_dir_name", 0},
    {"fd_prestat_get", 0},
    {"fd_pwrite", 0},
    {"fd_read", 0},
    {"fd_readdir", 0},
    {"fd_renumber", 0},
    {"fd_seek", 0},
    {"fd_sync", 0},
    {"fd_tell", 0},
    {"fd_write", 0},
    {"path_create_directory", MANIFEST_FILESYSTEM},
    {"path_filestat_get", MANIFEST_FILESYSTEM},
    {"path_filestat_set_times", MANIFEST_FILESYSTEM},
    {"path_link", MANIFEST_FILESYSTEM},
    {"path_open", MANIFEST_FILESYSTEM},
    {"path_readlink", MANIFEST_FILESYSTEM},
    {"path_remove_directory", MANIFEST_FILESYSTEM},
    {"path_rename", MANIFEST_FILESYSTEM},
    {"path_symlink", MANIFEST_FILESYSTEM},
    {"path_unlink_file", MANIFEST_FILESYSTEM},
    {"poll_oneoff", 0},
    {"proc_exit", 0},
    {"proc_raise", 0},
    {"random_get", 0},
    {"sched_yield", 0},
    {"sock_accept", MANIFEST_NETWORK},
    {"sock_recv", MANIFEST_NETWORK},
    {"sock_send", MANIFEST_NETWORK},
    {"sock_shutdown", MANIFEST_NETWORK},
};

int wasm_wasi_capability(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(wasi_functions); i++) {
        if (str_is(name, wasi_functions[i].name))
            return wasi_functions[i].capability;
    }
    return -1;
}

size_t wasm_wasi_functions(void)
{
    return ARRAY_LEN(wasi_functions);
}
