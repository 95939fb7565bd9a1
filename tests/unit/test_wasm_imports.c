/* What a module wants, read from its bytes. */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "core/manifest.h"
#include "core/wasm_imports.h"

#define HEAD "\0asm\1\0\0\0"
#define WASI "\x16wasi_snapshot_preview1"
/* two functions, then a function `_start` that is exported */
#define TWO                                                                                        \
    "\x02\x46\x02" WASI "\x08"                                                                     \
    "fd_write\0\0" WASI "\x09path_open\0\0"
#define START "\x07\x0a\x01\x06_start\0\2"
#define BYTES(text) ((struct str){text, sizeof(text) - 1})

struct told {
    char names[200];
    size_t n;
    bool other;
};

static void keep_import(void *arg, const struct wasm_import *import)
{
    struct told *told = arg;
    told->n++;
    told->other |= !import->function;
    size_t n = strlen(told->names);
    snprintf(told->names + n, sizeof told->names - n, "%.*s ", (int)import->name.n, import->name.p);
}

static int read_module(struct str module, struct told *told, bool *start)
{
    struct err err;
    *told = (struct told){0};
    int r = wasm_imports(module, keep_import, told, start, &err);
    if (r < 0)
        assert_int_equal(err.code, ERR_NOT_SUPPORTED);
    return r;
}

static void imports_and_start_are_told(void **state)
{
    (void)state;
    struct told told;
    bool start;
    assert_int_equal(read_module(BYTES(HEAD TWO START), &told, &start), 0);
    assert_string_equal(told.names, "fd_write path_open ");
    assert_true(start && !told.other);
    assert_int_equal(read_module(BYTES(HEAD TWO), &told, &start), 0);
    assert_false(start);
    assert_int_equal(read_module(BYTES(HEAD "\x07\x0a\x01\x06_start\2\2"), &told, &start), 0);
    assert_false(start); /* a memory of that name */
}

static void what_is_no_function_ends_it(void **state)
{
    (void)state;
    struct told told;
    bool start;
    assert_int_equal(read_module(BYTES(HEAD "\x02\x0f\x01\x03"
                                            "env"
                                            "\x06memory\x02\0\1"),
                                 &told, &start),
                     0);
    assert_int_equal(told.n, 1);
    assert_true(told.other);
}

static void damaged_ones_are_refused(void **state)
{
    (void)state;
    struct told told;
    bool start;
    struct str whole = BYTES(HEAD TWO START);
    for (size_t n = 0; n < whole.n; n++) {
        bool between = n == 8 || n == 8 + sizeof TWO - 1;
        assert_int_equal(read_module((struct str){whole.p, n}, &told, &start), between ? 0 : -1);
    }
    assert_int_equal(read_module(BYTES("\0asm\x0d\0\1\0"), &told, &start), -1); /* a component */
    assert_int_equal(read_module(BYTES(HEAD "\2\xff\xff\xff\xff\x7f"), &told, &start), -1);
    assert_int_equal(read_module(BYTES(HEAD "\2\2\xe9\7"), &told, &start), -1); /* 1001 of them */
}

static void functions_have_their_capability(void **state)
{
    (void)state;
    assert_int_equal(wasm_wasi_capability(STR("fd_write")), 0);
    assert_int_equal(wasm_wasi_capability(STR("path_open")), MANIFEST_FILESYSTEM);
    assert_int_equal(wasm_wasi_capability(STR("environ_get")), MANIFEST_ENV);
    assert_int_equal(wasm_wasi_capability(STR("sock_send")), MANIFEST_NETWORK);
    assert_int_equal(wasm_wasi_capability(STR("sock_open")), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_and_start_are_told),
        cmocka_unit_test(what_is_no_function_ends_it),
        cmocka_unit_test(damaged_ones_are_refused),
        cmocka_unit_test(functions_have_their_capability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
