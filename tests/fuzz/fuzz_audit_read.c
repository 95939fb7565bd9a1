/* Any bytes as files of the log: the reader comes to an end, what it returns are records in the order of each file, and
 * what it counts as damaged are lines. A byte 0 divides the bytes into three files. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/audit_read.h"
#include "target.h"

static const char *const names[] = {"audit/000.20240501T120000.123Z.jsonl", "audit/000.jsonl",
                                    "audit/001.jsonl"};

static int make_state(void)
{
    static char folder[] = "/tmp/fuzz-audit-read-XXXXXX";
    static int fd = -1;
    if (fd < 0) {
        must(mkdtemp(folder));
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(fd >= 0 && mkdirat(fd, "audit", 0700) == 0);
    }
    return fd;
}

static size_t write_files(int state, struct str rest)
{
    size_t lines = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *end = rest.n && i + 1 < ARRAY_LEN(names) ? memchr(rest.p, 0, rest.n) : NULL;
        size_t n = end ? (size_t)(end - rest.p) : rest.n;
        FD_AT_END int fd = openat(state, names[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        must(fd >= 0 && fd_write_all(fd, rest.p, n) == 0);
        lines++;
        for (size_t k = 0; k < n; k++)
            lines += rest.p[k] == '\n';
        n += end != NULL;
        rest = (struct str){rest.p + n, rest.n - n};
    }
    return lines;
}

static size_t read_all(int state, struct audit_read_options options, size_t lines)
{
    struct audit_reader *reader = NULL;
    struct audit_entry entry;
    struct err err;
    size_t count = 0;
    must(audit_reader_new(&reader, state, &options, &err) == 0);
    while (audit_reader_next(reader, &entry)) {
        must(yyjson_is_str(yyjson_obj_get(entry.record, "kind")));
        must(entry.line.n && !memchr(entry.line.p, '\n', entry.line.n));
        must(options.from_ms == INT64_MIN || entry.at_ms >= options.from_ms ||
             entry.line.p[1] != '"' || memcmp(entry.line.p, "{\"ts\":\"", 7) != 0);
        count++;
    }
    must(count + audit_reader_gaps(reader)->damaged <= lines);
    must(!audit_reader_next(reader, &entry));
    audit_reader_free(reader);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int state = make_state();
    size_t lines = write_files(state, (struct str){size ? (const char *)data : "", size});
    size_t all = read_all(state, (struct audit_read_options){INT64_MIN, 0}, lines);
    must(read_all(state, (struct audit_read_options){1714564800000, 0}, lines) <= all);
    must(read_all(state, (struct audit_read_options){INT64_MIN, 40}, lines) <= all);
    must(read_all(state, (struct audit_read_options){INT64_MIN, UINT64_MAX}, lines) == all);
    return 0;
}
