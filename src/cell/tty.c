#include "cell/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "cell/failed.h"
#include "cell/frame.h"

#define PTMX "/dev/pts/ptmx"
/* For a gate that sets two things. */
#define READY_MS 10000

int tty_send(int socket, enum tty_word word, int pass_fd)
{
    return frame_send(socket, &(struct frame){.type = FRAME_TERMINAL, .token = word}, pass_fd);
}

/* 0: there is nothing (for now). */
static enum tty_word receive_word(int socket, int flags)
{
    char bytes[64];
    struct frame frame;
    ssize_t n = recv(socket, bytes, sizeof bytes, flags);
    if (n <= 0 || frame_parse(bytes, (size_t)n, &frame) < 0 || frame.type != FRAME_TERMINAL)
        return 0;
    return (enum tty_word)frame.token;
}

static int wait_until_ready(int socket, struct err *err)
{
    struct pollfd look = {socket, POLLIN, 0};
    int r;
    do
        r = poll(&look, 1, READY_MS);
    while (r < 0 && errno == EINTR);
    if (r <= 0 || receive_word(socket, MSG_DONTWAIT) != TTY_READY)
        return err_set(err, ERR_INTERNAL, "the gate does not take the command's terminal");
    return 0;
}

/* The one that was opened, whatever is mounted where by then. */
static int open_tty_pair(int *ret_other, int *ret_own, struct err *err)
{
    int unlocked = 0;
    FD_AT_END int other = open(PTMX, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (other < 0 || ioctl(other, TIOCSPTLCK, &unlocked) < 0)
        return cell_failed(err, "opening a terminal");
    int own = ioctl(other, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (own < 0)
        return cell_failed(err, "opening a terminal's other end");
    *ret_other = TAKE_FD(other);
    *ret_own = own;
    return 0;
}

int tty_open(int socket, bool errors, struct err *err)
{
    FD_AT_END int other = -1;
    FD_AT_END int own = -1;
    sigset_t background;
    if (open_tty_pair(&other, &own, err) < 0)
        return -1;
    /* Whoever takes the foreground is not in it yet; blocked, the signal does not stop it. */
    sigemptyset(&background);
    sigaddset(&background, SIGTTOU);
    sigprocmask(SIG_BLOCK, &background, NULL);
    if (setsid() < 0 || ioctl(own, TIOCSCTTY, 0) < 0)
        return cell_failed(err, "taking a terminal");
    int r = tty_send(socket, TTY_OPENED, other);
    if (r < 0) {
        errno = -r;
        return cell_failed(err, "handing over a terminal");
    }
    fd_closep(&other);
    if (dup2(own, STDIN_FILENO) < 0 || dup2(own, STDOUT_FILENO) < 0 ||
        (errors && dup2(own, STDERR_FILENO) < 0))
        return cell_failed(err, "a terminal as standard input");
    return wait_until_ready(socket, err);
}

void tty_take_foreground(void)
{
    setpgid(0, 0);
    tcsetpgrp(STDIN_FILENO, getpid());
}

bool tty_obey(int socket, pid_t program)
{
    if (receive_word(socket, MSG_DONTWAIT) != TTY_RESUME)
        return false;
    kill(-program, SIGCONT);
    return true;
}
