/* Any bytes as the log, and behind the first NUL as what an anchor kept: checking them ends, and what is called whole
 * is a chain from its first record to its last. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "store/audit_verify.h"
#include "target.h"

#define TAIL 74 /* "hash":"…"} */

static int state_fd = -1;
static char folder[] = "/tmp/fuzz-verify-XXXXXX";

static void remove_folder(void)
{
    unlinkat(state_fd, "audit/000.jsonl", 0);
    unlinkat(state_fd, "audit", AT_REMOVEDIR);
    rmdir(folder);
}

static void make_folder(void)
{
    must(mkdtemp(folder) != NULL);
    state_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(state_fd >= 0 && mkdirat(state_fd, "audit", 0700) == 0);
    atexit(remove_folder);
}

static void check_chain(struct str log)
{
    char before[HASH_HEX + 1];
    memset(before, '0', HASH_HEX);
    while (log.n) {
        const char *end = memchr(log.p, '\n', log.n);
        if (!end)
            return; /* one that is being written */
        must(end - log.p > TAIL);
        size_t n = (size_t)(end - log.p);
        struct hash hash;
        char now[HASH_HEX + 1];
        hash_begin(&hash);
        hash_add(&hash, before, HASH_HEX);
        hash_add(&hash, log.p, n - TAIL);
        hash_end_hex(&hash, now);
        must(memcmp(end - HASH_HEX - 2, now, HASH_HEX) == 0);
        memcpy(before, now, sizeof before);
        log.p = end + 1;
        log.n -= n + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *divider = size ? memchr(text, '\0', size) : NULL;
    struct str log = {text, divider ? (size_t)(divider - text) : size};
    struct verify_options options = {0};
    struct verify_report report = {0};
    struct err err;
    if (state_fd < 0)
        make_folder();
    if (divider)
        options.anchors = (struct str){divider + 1, size - log.n - 1};
    FD_AT_END int fd = openat(state_fd, "audit/000.jsonl", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                              0600);
    must(fd >= 0 && fd_write_all(fd, log.p, log.n) == 0);
    if (audit_verify(state_fd, &options, &report, &err) == 0 && !report.bad && !report.torn)
        check_chain(log);
    return 0;
}
