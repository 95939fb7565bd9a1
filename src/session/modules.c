#include "session/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/op_tool.h"

#ifndef SANDGATE_WASMTIME
#define SANDGATE_WASMTIME "none"
#endif
#define CPU_TEXT_MAX 8192
#define TAG_DIGITS 16
/* "sandgate-module 1 " and a hash, and the end of the line */
#define MARK "sandgate-module 1 "
#define MARK_BYTES (sizeof MARK - 1 + HASH_HEX + 1)

static int read_module_file(int fd, size_t max, struct buf *out)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size < 0 || (size_t)st.st_size > max)
        return -EFBIG;
    int r = buf_reserve(out, (size_t)st.st_size + 1);
    ssize_t n = r < 0 ? r : fd_read_upto(fd, out->data + out->len, (size_t)st.st_size + 1);
    if (n < 0)
        return (int)n;
    out->len += (size_t)n;
    return n > st.st_size ? -EFBIG : 0;
}

int modules_source(const struct manifest *m, struct buf *ret, struct err *err)
{
    char hex[HASH_HEX + 1];
    FD_AT_END int dir = open(m->folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_AT_END int fd = dir < 0 ? -1 : fd_open_plain(dir, m->module, O_RDONLY);
    int r = fd < 0 ? -errno : read_module_file(fd, MODULE_BYTES_MAX, ret);
    if (r < 0)
        return err_set(err, r == -EFBIG ? ERR_TOO_LARGE : ERR_NOT_FOUND,
                       "the tool's module %.100s/%.60s cannot be read: %s", m->folder, m->module,
                       strerror(-r));
    hash_hex(ret->data, ret->len, hex);
    if (hash_hex_equal(str_of(m->sha256), hex))
        return 0;
    err_set(err, ERR_PRECONDITION_FAILED,
            "the tool's module %.60s is not the one that its manifest names: its SHA-256 is %s",
            m->module, hex);
    return err_reason(err, "module_hash");
}

/* What code is compiled for: version and processor. */
static const char *machine_tag(void)
{
    static char tag[HASH_HEX + 1];
    char text[CPU_TEXT_MAX];
    if (tag[0])
        return tag;
    FD_AT_END int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : fd_read_upto(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    char *flags = strstr(text, "flags");
    if (!flags)
        flags = strstr(text, "Features");
    FREE_AT_END char *all = mem_format("%s %.*s", SANDGATE_WASMTIME,
                                       flags ? (int)strcspn(flags, "\n") : 0, flags ? flags : "");
    hash_hex(all, strlen(all), tag);
    tag[TAG_DIGITS] = '\0';
    return tag;
}

static char *file_of(const struct manifest *m, const char *end)
{
    return mem_format("%.64s-%s%s", m->sha256, machine_tag(), end);
}

/* Of the name too, so that no file passes for another. */
static void seal_of(const char *name, struct str code, char hex[HASH_HEX + 1])
{
    struct hash h;
    hash_begin(&h);
    hash_add(&h, name, strlen(name));
    hash_add(&h, code.p, code.n);
    hash_end_hex(&h, hex);
}

static bool is_sealed(const char *name, struct str file)
{
    char hex[HASH_HEX + 1];
    if (file.n <= MARK_BYTES || !str_begins(file, STR(MARK)))
        return false;
    seal_of(name, str_behind(file, MARK_BYTES), hex);
    return memcmp(file.p + sizeof MARK - 1, hex, HASH_HEX) == 0;
}

bool modules_compiled(const struct manifest *m, struct buf *ret)
{
    size_t before = ret->len;
    FREE_AT_END char *name = file_of(m, "");
    FD_AT_END int dir = m->store ? open(m->store, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                 : -1;
    FD_AT_END int fd = dir < 0 ? -1 : fd_open_plain(dir, name, O_RDONLY);
    if (read_module_file(fd, OP_COMPILED_MAX, ret) < 0)
        return false;
    struct str file = {ret->data + before, ret->len - before};
    if (is_sealed(name, file)) {
        memmove(ret->data + before, file.p + MARK_BYTES, file.n - MARK_BYTES);
        buf_cut(ret, ret->len - MARK_BYTES);
        return true;
    }
    log_warning("%s/%s was changed by something else than Sandgate: the module is compiled anew",
                m->store, name);
    buf_cut(ret, before);
    return false;
}

static int write_sealed(int dir, const char *temp, const char *name, struct str code)
{
    char mark[MARK_BYTES + 1];
    char hex[HASH_HEX + 1];
    seal_of(name, code, hex);
    snprintf(mark, sizeof mark, "%s%s\n", MARK, hex);
    FD_AT_END int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              0600);
    if (fd < 0)
        return -errno;
    int r = fd_write_all(fd, mark, MARK_BYTES);
    if (r == 0)
        r = fd_write_all(fd, code.p, code.n);
    if (r == 0 && renameat(dir, temp, dir, name) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(dir, temp, 0);
    return r;
}

int modules_keep(const struct manifest *m, struct str compiled, struct err *err)
{
    static unsigned count;
    FREE_AT_END char *name = file_of(m, "");
    FREE_AT_END char *temp = mem_format("%s.%ld.%u", name, (long)getpid(), count++);
    if (!m->store || (mkdir(m->store, 0700) < 0 && errno != EEXIST))
        return err_file_failed(err, "the folder of compiled modules");
    FD_AT_END int dir = open(m->store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = dir < 0 ? -errno : write_sealed(dir, temp, name, compiled);
    errno = -r;
    return r < 0 ? err_file_failed(err, "a compiled module") : 0;
}
