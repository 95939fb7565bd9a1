#include "cell/shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

static int map(int fd, int rights, struct shelf *ret)
{
    void *at = mmap(NULL, SHELF_BYTES, rights, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    ret->at = at;
    return 0;
}

int shelf_make(struct shelf *ret, int *ret_fd)
{
    FD_AT_END int fd = memfd_create("shelf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* Whoever could make it shorter could end the gate with a signal. */
    if (fd < 0 || ftruncate(fd, SHELF_BYTES) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        return -errno;
    int r = map(fd, PROT_READ, ret);
    if (r == 0)
        *ret_fd = TAKE_FD(fd);
    return r;
}

int shelf_map(int fd, struct shelf *ret)
{
    return map(fd, PROT_READ | PROT_WRITE, ret);
}

void shelf_done(struct shelf *shelf)
{
    if (shelf->at)
        munmap(shelf->at, SHELF_BYTES);
    shelf->at = NULL;
}

int shelved_read(struct str body, struct shelved *ret)
{
    if (body.n != sizeof *ret)
        return -1;
    memcpy(ret, body.p, sizeof *ret);
    return ret->n == 0 || ret->at > SHELF_BYTES || ret->n > SHELF_BYTES - ret->at ? -1 : 0;
}

struct str shelved_next(const struct shelf *shelf, struct shelved *rest, char *buffer, size_t size)
{
    size_t n = rest->n < size ? rest->n : size;
    memcpy(buffer, shelf->at + rest->at, n);
    /* The compiler, too, is to look at the copy from here on. */
    __asm__ volatile("" ::: "memory");
    rest->at += (uint32_t)n;
    rest->n -= (uint32_t)n;
    return (struct str){buffer, n};
}
