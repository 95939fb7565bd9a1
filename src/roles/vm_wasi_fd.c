/* The part of WASI preview 1 that has descriptors: three streams, and files that are not granted.
 *
 * A folder that cannot be opened stands at descriptor 3. Without one a guest's libc answers by itself that there is no such
 * file, and nobody learns what was refused. */
#include <stdio.h>
#include <string.h>

#include "roles/vm_wasi.h"

#define DENIED_FD 3
#define FILETYPE_CHARACTER 2
#define FILETYPE_FOLDER 3

/* --- streams */

struct span {
    uint32_t at;
    uint32_t n;
};

static bool span_at(const struct vm *vm, uint32_t list, uint32_t i, struct span *ret)
{
    const uint8_t *p = vm_guest_bytes(vm, list, (uint64_t)(i + 1) * sizeof *ret);
    if (p)
        memcpy(ret, p + (size_t)i * sizeof *ret, sizeof *ret);
    return p && vm_guest_bytes(vm, ret->at, ret->n);
}

static uint32_t wasi_fd_read(struct vm *vm, const wasmtime_val_raw_t *a)
{
    uint32_t total = 0;
    struct span span;
    if (wasi_u32(a, 0) != 0)
        return WASI_BADF;
    for (uint32_t i = 0; i < wasi_u32(a, 2); i++) {
        size_t left = vm->call->input.n - vm->read;
        if (!span_at(vm, wasi_u32(a, 1), i, &span))
            return WASI_FAULT;
        size_t n = span.n < left ? span.n : left;
        if (n == 0 && left == 0)
            break;
        vm_put_bytes(vm, span.at, vm->call->input.p + vm->read, n);
        vm->read += n;
        total += (uint32_t)n;
    }
    return vm_put_u32(vm, wasi_u32(a, 3), total);
}

static void take_output(struct vm *vm, uint32_t fd, const uint8_t *bytes, size_t n)
{
    struct vm_result *r = vm->result;
    if (fd == 1) {
        if (r->output.len + n > vm->call->limits.output || buf_add(&r->output, bytes, n) < 0)
            vm->too_much_output = true;
        return;
    }
    size_t room = VM_LOG_MAX - r->log.len;
    size_t kept = n < room ? n : room;
    if (buf_add(&r->log, bytes, kept) < 0)
        kept = 0;
    r->log_dropped += n - kept;
}

static uint32_t wasi_fd_write(struct vm *vm, const wasmtime_val_raw_t *a)
{
    uint32_t fd = wasi_u32(a, 0);
    uint32_t total = 0;
    struct span span;
    if (fd != 1 && fd != 2)
        return WASI_BADF;
    for (uint32_t i = 0; i < wasi_u32(a, 2) && !vm->too_much_output; i++) {
        if (!span_at(vm, wasi_u32(a, 1), i, &span))
            return WASI_FAULT;
        if ((i & 1023) == 1023 && vm_time_is_up(vm))
            break;
        take_output(vm, fd, vm->memory.base + span.at, span.n);
        total += span.n;
    }
    return vm_put_u32(vm, wasi_u32(a, 3), total);
}

static uint32_t wasi_fd_close(struct vm *vm, const wasmtime_val_raw_t *a)
{
    (void)vm;
    return wasi_u32(a, 0) <= DENIED_FD ? WASI_OK : WASI_BADF;
}

static uint32_t wasi_fd_fdstat_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    uint32_t fd = wasi_u32(a, 0);
    uint8_t stat[24] = {fd == DENIED_FD ? FILETYPE_FOLDER : FILETYPE_CHARACTER};
    if (fd > DENIED_FD)
        return WASI_BADF;
    memset(stat + 8, fd == DENIED_FD ? 0xff : 0, 16);
    uint64_t rights = fd == 0 ? 2 : fd < DENIED_FD ? 64 : 0x1fffffff; /* fd_read, fd_write, all */
    memcpy(stat + 8, &rights, sizeof rights);
    memcpy(stat + 16, &rights, sizeof rights);
    return vm_put_bytes(vm, wasi_u32(a, 1), stat, sizeof stat) ? WASI_OK : WASI_FAULT;
}

static uint32_t wasi_fd_filestat_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    uint32_t fd = wasi_u32(a, 0);
    uint8_t stat[64] = {0};
    stat[16] = fd == DENIED_FD ? FILETYPE_FOLDER : FILETYPE_CHARACTER;
    if (fd > DENIED_FD)
        return WASI_BADF;
    return vm_put_bytes(vm, wasi_u32(a, 1), stat, sizeof stat) ? WASI_OK : WASI_FAULT;
}

static uint32_t wasi_fd_prestat_get(struct vm *vm, const wasmtime_val_raw_t *a)
{
    static const uint8_t folder[8] = {0, 0, 0, 0, 1, 0, 0, 0}; /* its name has one byte */
    if (wasi_u32(a, 0) != DENIED_FD)
        return WASI_BADF;
    return vm_put_bytes(vm, wasi_u32(a, 1), folder, sizeof folder) ? WASI_OK : WASI_FAULT;
}

static uint32_t wasi_fd_prestat_dir_name(struct vm *vm, const wasmtime_val_raw_t *a)
{
    if (wasi_u32(a, 0) != DENIED_FD)
        return WASI_BADF;
    if (wasi_u32(a, 2) < 1)
        return WASI_NAMETOOLONG;
    return vm_put_bytes(vm, wasi_u32(a, 1), "/", 1) ? WASI_OK : WASI_FAULT;
}

static uint32_t wasi_fd_seek(struct vm *vm, const wasmtime_val_raw_t *a)
{
    (void)vm;
    return wasi_u32(a, 0) < DENIED_FD ? WASI_SPIPE : WASI_BADF;
}

static uint32_t wasi_fd_other(struct vm *vm, const wasmtime_val_raw_t *a)
{
    (void)vm;
    return wasi_u32(a, 0) < DENIED_FD ? WASI_NOTSUP : WASI_BADF;
}

static uint32_t wasi_fd_flags(struct vm *vm, const wasmtime_val_raw_t *a)
{
    (void)vm;
    return wasi_u32(a, 0) <= DENIED_FD ? WASI_OK : WASI_BADF;
}

/* --- what needs a capability */

static uint32_t refuse(struct vm *vm, const char *capability, const char *what)
{
    if (!vm->denied)
        snprintf(vm->denied_what, sizeof vm->denied_what, "%s", what);
    vm->denied = vm->denied ? vm->denied : capability;
    return WASI_NOTCAPABLE;
}

static uint32_t refuse_path(struct vm *vm, uint32_t at, uint32_t n)
{
    char what[sizeof vm->denied_what];
    const uint8_t *path = vm_guest_bytes(vm, at, n);
    if (!path)
        return WASI_FAULT;
    size_t used = (size_t)snprintf(what, sizeof what, "the file `/");
    for (uint32_t i = 0; i < n && used < sizeof what - 2; i++)
        what[used++] = (char)(path[i] > ' ' && path[i] < 0x7f && path[i] != '`' ? path[i] : '?');
    what[used++] = '`';
    what[used] = '\0';
    return refuse(vm, "filesystem", what);
}

static uint32_t wasi_fd_readdir(struct vm *vm, const wasmtime_val_raw_t *a)
{
    return wasi_u32(a, 0) == DENIED_FD ? refuse(vm, "filesystem", "the folder `/`") : WASI_BADF;
}

/* Where in the list of arguments the path stands differs. */
static uint32_t wasi_path_1(struct vm *vm, const wasmtime_val_raw_t *a)
{
    return refuse_path(vm, wasi_u32(a, 1), wasi_u32(a, 2));
}

static uint32_t wasi_path_2(struct vm *vm, const wasmtime_val_raw_t *a)
{
    return refuse_path(vm, wasi_u32(a, 2), wasi_u32(a, 3));
}

static uint32_t wasi_path_symlink(struct vm *vm, const wasmtime_val_raw_t *a)
{
    return refuse_path(vm, wasi_u32(a, 3), wasi_u32(a, 4));
}

static uint32_t wasi_sock(struct vm *vm, const wasmtime_val_raw_t *a)
{
    (void)a;
    return refuse(vm, "network", "a socket");
}

static const struct wasi_row fd_rows[] = {
    {"fd_advise", "iIIi", wasi_fd_other},
    {"fd_allocate", "iII", wasi_fd_other},
    {"fd_close", "i", wasi_fd_close},
    {"fd_datasync", "i", wasi_fd_flags},
    {"fd_fdstat_get", "ii", wasi_fd_fdstat_get},
    {"fd_fdstat_set_flags", "ii", wasi_fd_flags},
    {"fd_fdstat_set_rights", "iII", wasi_fd_flags},
    {"fd_filestat_get", "ii", wasi_fd_filestat_get},
    {"fd_filestat_set_size", "iI", wasi_fd_other},
    {"fd_filestat_set_times", "iIIi", wasi_fd_other},
    {"fd_pread", "iiiIi", wasi_fd_seek},
    {"fd_prestat_dir_name", "iii", wasi_fd_prestat_dir_name},
    {"fd_prestat_get", "ii", wasi_fd_prestat_get},
    {"fd_pwrite", "iiiIi", wasi_fd_seek},
    {"fd_read", "iiii", wasi_fd_read},
    {"fd_readdir", "iiiIi", wasi_fd_readdir},
    {"fd_renumber", "ii", wasi_fd_other},
    {"fd_seek", "iIii", wasi_fd_seek},
    {"fd_sync", "i", wasi_fd_flags},
    {"fd_tell", "ii", wasi_fd_seek},
    {"fd_write", "iiii", wasi_fd_write},
    {"path_create_directory", "iii", wasi_path_1},
    {"path_filestat_get", "iiiii", wasi_path_2},
    {"path_filestat_set_times", "iiiiIIi", wasi_path_2},
    {"path_link", "iiiiiii", wasi_path_2},
    {"path_open", "iiiiiIIii", wasi_path_2},
    {"path_readlink", "iiiiii", wasi_path_1},
    {"path_remove_directory", "iii", wasi_path_1},
    {"path_rename", "iiiiii", wasi_path_1},
    {"path_symlink", "iiiii", wasi_path_symlink},
    {"path_unlink_file", "iii", wasi_path_1},
    {"sock_accept", "iii", wasi_sock},
    {"sock_recv", "iiiiii", wasi_sock},
    {"sock_send", "iiiii", wasi_sock},
    {"sock_shutdown", "ii", wasi_sock},
};

const struct wasi_row *vm_wasi_fd_row(size_t i)
{
    return i < ARRAY_LEN(fd_rows) ? &fd_rows[i] : NULL;
}
