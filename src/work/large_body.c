#include "work/large_body.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cell/frame.h"

static int tell_large_body_failure(int error, struct err *err)
{
    return err_set(err, err_code_for(error, ERR_INTERNAL), "reading the content: %s%s",
                   strerror(error), err_is_shortage(error) ? "; try again" : "");
}

int large_body_map(int fd, struct large_body *ret, struct err *err)
{
    struct stat st;
    if (fd == FRAME_FD_LOST)
        return tell_large_body_failure(EMFILE, err);
    if (fstat(fd, &st) < 0)
        return tell_large_body_failure(errno, err);
    if (st.st_size == 0)
        return 0;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return tell_large_body_failure(errno, err);
    *ret = (struct large_body){at, (size_t)st.st_size};
    return 0;
}

void large_body_done(struct large_body *body)
{
    if (body->at)
        munmap(body->at, body->n);
}
