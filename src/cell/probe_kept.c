#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/probe.h"

#define NAME "sandbox.json"
#define FRESH "sandbox.json.new"
#define BYTES_MAX (64u << 10)

static void add_line_of(const char *path, struct buf *out)
{
    char text[256];
    FD_AT_END int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : fd_read_upto(fd, text, sizeof text);
    buf_add(out, text, n < 0 ? 0 : strnlen(text, (size_t)n));
    buf_add_char(out, ' ');
}

/* Where anything of this is different, so can be what is found. */
static void write_circumstances(struct buf *out)
{
    struct utsname name = {0};
    struct stat user = {0};
    struct stat mounts = {0};
    uname(&name);
    stat("/proc/self/ns/user", &user);
    stat("/proc/self/ns/mnt", &mounts);
    add_line_of("/proc/sys/kernel/random/boot_id", out);
    add_line_of("/proc/self/attr/current", out);
    buf_addf(out, "%s %s %u %" PRIu64 " %" PRIu64 " %d", name.release, name.version,
             (unsigned)geteuid(), (uint64_t)user.st_ino, (uint64_t)mounts.st_ino,
             prctl(PR_GET_SECCOMP));
}

static void keep_findings(int state_fd, const struct findings *f)
{
    BUF_AT_END struct buf key = BUF_INIT(2048);
    BUF_AT_END struct buf text = BUF_INIT(BYTES_MAX);
    struct json_out j = {.out = &text};
    write_circumstances(&key);
    jo_open(&j, '{');
    jo_kstr(&j, "for", buf_str(&key));
    jo_key(&j, "mechanisms");
    findings_write(f, &j);
    jo_close(&j, '}');
    unlinkat(state_fd, FRESH, 0);
    FD_AT_END int fd = openat(state_fd, FRESH, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              0600);
    if (fd < 0 || text.failed || fd_write_all(fd, text.data, text.len) < 0 ||
        renameat(state_fd, FRESH, state_fd, NAME) < 0)
        unlinkat(state_fd, FRESH, 0);
}

bool probe_kept(int state_fd, struct findings *ret)
{
    BUF_AT_END struct buf key = BUF_INIT(2048);
    BUF_AT_END struct buf text = BUF_INIT(BYTES_MAX);
    JSON_AT_END yyjson_doc *doc = NULL;
    FD_AT_END int fd = fd_open_plain(state_fd, NAME, O_RDONLY);
    ssize_t n = fd < 0 || buf_reserve(&text, BYTES_MAX) < 0
                    ? -1
                    : fd_read_upto(fd, text.data, BYTES_MAX);
    if (n < 0 || json_parse(text.data, (size_t)n, BYTES_MAX, JSON_INTERNAL, &doc, NULL) < 0)
        return false;
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct str kept = json_str(yyjson_obj_get(root, "for"));
    write_circumstances(&key);
    return kept.p && kept.n == key.len && memcmp(kept.p, key.data, key.len) == 0 &&
           findings_read(yyjson_obj_get(root, "mechanisms"), ret);
}

int probe_anew(int state_fd, struct findings *ret, struct err *err)
{
    if (probe_all(ret, err) < 0)
        return -1;
    if (state_fd >= 0)
        keep_findings(state_fd, ret);
    return 0;
}
