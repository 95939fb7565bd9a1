/* Runs a fuzz target over the inputs kept for it in CORPUS, without a fuzzer. Prints TAP. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "target.h"

/* In memory of exactly its size, so that a sanitizer sees a read behind its end. */
static int run_file(int folder, const char *name)
{
    FD_AT_END int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    uint8_t *bytes = malloc((size_t)st.st_size ? (size_t)st.st_size : 1);
    if (!bytes)
        return -ENOMEM;
    ssize_t n = fd_read_upto(fd, bytes, (size_t)st.st_size);
    if (n >= 0)
        LLVMFuzzerTestOneInput(bytes, (size_t)n);
    free(bytes);
    return n < 0 ? (int)n : 0;
}

int main(void)
{
    DIR *folder = opendir(CORPUS);
    unsigned count = 0;
    int r = folder ? 0 : -errno;
    printf("1..1\n");
    for (struct dirent *d; r == 0 && folder && (d = readdir(folder));) {
        if (d->d_name[0] == '.')
            continue;
        /* The last one named is the one that ended the program. */
        printf("# %s\n", d->d_name);
        fflush(stdout);
        r = run_file(dirfd(folder), d->d_name);
        count++;
    }
    if (folder)
        closedir(folder);
    bool ok = r == 0 && count > 0;
    printf("%s 1 - %u inputs of " CORPUS "%s%s\n", ok ? "ok" : "not ok", count, r < 0 ? ": " : "",
           r < 0 ? strerror(-r) : "");
    return ok ? 0 : 1;
}
