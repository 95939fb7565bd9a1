#include "session/command_pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/order.h"
#include "core/command.h"

/* Descriptors that commands leave alone: for logs that are rotated, a new cell, connections, contents of files. */
#define LEFT_MIN 8
#define LEFT_MAX 64
/* Where no other command runs, waiting for one to end would be in vain. */
#define LEFT_ALONE 2

static int command_pipe_failed(const char *what, int error, struct err *err)
{
    return err_set(err, err_code_for(error, ERR_INTERNAL), "%s: %s", what, strerror(error));
}

/* A new descriptor is the lowest that is free: its number tells how many there are. */
static bool is_near_limit(int fd, bool alone)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == RLIM_INFINITY)
        return false;
    rlim_t left = files.rlim_cur / 8;
    left = left < LEFT_MIN ? LEFT_MIN : left > LEFT_MAX ? LEFT_MAX : left;
    left = alone ? LEFT_ALONE : left;
    return (rlim_t)fd + left >= files.rlim_cur;
}

/* Nobody can change it once it is given away, and reading it never waits. */
static int make_stdin_file(struct str input, struct err *err)
{
    FD_AT_END int fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r = fd < 0 ? -errno : fd_write_all(fd, input.p, input.n);
    if (r == 0 &&
        (lseek(fd, 0, SEEK_SET) < 0 ||
         fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0))
        r = -errno;
    return r < 0 ? command_pipe_failed("handing over the input", -r, err) : TAKE_FD(fd);
}

static int add_input(const struct call *call, struct frame_fds *away, struct err *err)
{
    int fd;
    if (call->input_fd >= 0) {
        fd = fcntl(call->input_fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return command_pipe_failed("standard input", errno, err);
    } else {
        fd = make_stdin_file(call->command->input, err);
        if (fd < 0)
            return -1;
    }
    away->fd[away->n++] = fd;
    return 0;
}

int command_pipes(const struct call *call, bool alone, int fds[COMMAND_PIPES],
                  struct frame_fds *away, struct err *err)
{
    for (size_t i = 0; i < COMMAND_PIPES; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return command_pipe_failed("making a pipe", errno, err);
        fds[i] = ends[0];
        away->fd[away->n++] = ends[1];
        if (is_near_limit(ends[1], alone))
            return command_pipe_failed("making a pipe", EMFILE, err);
        /* A gate of root's makes root's pipes; a command opens them again as /dev/stdout. Nobody else gets there. */
        if (i != ORDER_STATUS && fchmod(ends[1], 0666) < 0)
            return command_pipe_failed("making a pipe", errno, err);
    }
    bool input = call->command->input.p || call->input_fd >= 0;
    return input ? add_input(call, away, err) : 0;
}
