#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "front/prompt_parts.h"

#define USUAL_WIDTH 80
#define USUAL_HEIGHT 24
#define PAPER_WIDTH 100 /* of what is no terminal */
/* For a terminal that is stopped (Ctrl-S): the loop has other things to do. */
#define SAY_MS 500

bool terminal_open(struct terminal *t)
{
    char name[256];
    *t = (struct terminal){.fd = -1, .lock_fd = -1};
    if (!isatty(STDIN_FILENO) && !isatty(STDERR_FILENO))
        return false;
    t->fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (t->fd < 0)
        return false;
    /* /dev/tty is one file for all terminals, and a lock on it one for all users. */
    if (ttyname_r(STDIN_FILENO, name, sizeof name) == 0 ||
        ttyname_r(STDERR_FILENO, name, sizeof name) == 0)
        t->lock_fd = open(name, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    return true;
}

void terminal_close(struct terminal *t)
{
    fd_closep(&t->fd);
    fd_closep(&t->lock_fd);
}

static bool terminal_wants_colours(int fd)
{
    const char *none = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    return isatty(fd) && !(none && *none) && !(kind && strcmp(kind, "dumb") == 0);
}

struct approval_style terminal_style_of(int fd)
{
    struct winsize size;
    bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col;
    return (struct approval_style){.width = known        ? size.ws_col
                                            : isatty(fd) ? USUAL_WIDTH
                                                         : PAPER_WIDTH,
                                   .colours = terminal_wants_colours(fd)};
}

struct approval_style terminal_style(const struct terminal *t)
{
    return terminal_style_of(t->fd);
}

size_t terminal_height(const struct terminal *t)
{
    struct winsize size;
    return ioctl(t->fd, TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : USUAL_HEIGHT;
}

bool terminal_is_line(const struct terminal *t, const char *text)
{
    return t->n == strlen(text) && strncasecmp(t->line, text, t->n) == 0;
}

bool terminal_is_ours(const struct terminal *t)
{
    return tcgetpgrp(t->fd) == getpgrp();
}

bool terminal_take(struct terminal *t)
{
    return terminal_is_ours(t) && (t->lock_fd < 0 || flock(t->lock_fd, LOCK_EX | LOCK_NB) == 0);
}

void terminal_release(struct terminal *t)
{
    if (t->lock_fd >= 0)
        flock(t->lock_fd, LOCK_UN);
}

bool terminal_say(struct terminal *t, struct str text)
{
    for (size_t at = 0; at < text.n;) {
        ssize_t n = write(t->fd, text.p + at, text.n - at);
        struct pollfd room = {.fd = t->fd, .events = POLLOUT};
        if (n > 0)
            at += (size_t)n;
        else if ((errno != EAGAIN && errno != EINTR) ||
                 (errno == EAGAIN && poll(&room, 1, SAY_MS) <= 0))
            return false;
    }
    return true;
}

void terminal_forget_input(struct terminal *t)
{
    t->n = 0;
    tcflush(t->fd, TCIFLUSH);
}

static void trim_terminal_line(struct terminal *t)
{
    size_t from = 0;
    while (t->n && strchr(" \t\r\n", t->line[t->n - 1]))
        t->n--;
    while (from < t->n && strchr(" \t", t->line[from]))
        from++;
    t->n -= from;
    memmove(t->line, t->line + from, t->n);
}

/* The kernel hands out a line at a time; what was typed of one that is not ended stays with it. */
enum terminal_input terminal_read(struct terminal *t)
{
    char chunk[4096];
    int more = 0;
    ssize_t n = read(t->fd, chunk, sizeof chunk);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? INPUT_NONE : INPUT_END;
    if (n == 0)
        return INPUT_END;
    const char *end = memchr(chunk, '\n', (size_t)n);
    if (!end)
        end = memchr(chunk, '\r', (size_t)n);
    size_t length = end ? (size_t)(end - chunk) : (size_t)n;
    /* What is too long for an answer is none, whatever it begins with. */
    size_t room = sizeof t->line - t->n;
    memcpy(t->line + t->n, chunk, length < room ? length : room);
    t->n += length < room ? length : room;
    if (!end)
        return INPUT_NONE;
    if (end + 1 < chunk + n || (ioctl(t->fd, FIONREAD, &more) == 0 && more > 0))
        return INPUT_SEVERAL;
    if (t->n == sizeof t->line)
        t->n = 0;
    trim_terminal_line(t);
    return INPUT_LINE;
}
