/* Any bytes as what a dead gate left: they stay, what is added are whole lines, and a second
 * recovery finds nothing to do. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/audit_recover.h"
#include "target.h"

static off_t recovered_size(int fd)
{
    struct err err;
    struct stat st;
    struct audit_last last;
    const struct audit_recovery how = {.dir = -1, .by = "0123456789abcdef"};
    must(audit_recover(fd, "000.jsonl", &how, &last, &err) == 0);
    must(hash_is_hex((struct str){last.hash, strlen(last.hash)}));
    must(fstat(fd, &st) == 0);
    return st.st_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FD_AT_END int fd = memfd_create("000.jsonl", MFD_CLOEXEC);
    must(fd >= 0 && fcntl(fd, F_SETFL, O_APPEND) == 0);
    must(fd_write_all(fd, data, size) == 0);
    off_t after = recovered_size(fd);
    must(recovered_size(fd) == after);
    if (size == 0)
        return 0;
    char *text = mmap(NULL, (size_t)after, PROT_READ, MAP_SHARED, fd, 0);
    must(text != MAP_FAILED);
    must((size_t)after >= size && memcmp(text, data, size) == 0);
    must(text[after - 1] == '\n');
    must((size_t)after <= size + 1 || text[after - 2] == '}');
    munmap(text, (size_t)after);
    return 0;
}
