#include "front/confirm.h"

#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

int confirm(const char *question)
{
    char line[256];
    FD_AT_END int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    /* What was typed before the question is no answer to it. */
    if (terminal < 0 || tcflush(terminal, TCIFLUSH) < 0)
        return -1;
    for (;;) {
        if (fd_write_all(terminal, question, strlen(question)) < 0)
            return -1;
        ssize_t n = read(terminal, line, sizeof line);
        if (n <= 0 || (n == 2 && memcmp(line, "n\n", 2) == 0))
            return 0;
        if (n == 2 && memcmp(line, "y\n", 2) == 0)
            return 1;
    }
}
