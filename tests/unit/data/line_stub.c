/* Stands for every program in tests/unit/test_line_judge.c: writes where it was started from, a line each, to the file `log`
 * beside the folder of its own file. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char path[512];
    char log[600];
    char line[600];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return 1;
    path[n] = '\0';
    const char *base = strstr(path, "/judge/");
    if (!base)
        return 1;
    snprintf(log, sizeof log, "%.*s/judge/log", (int)(base - path), path);
    int fd = open(log, O_WRONLY | O_APPEND);
    int len = snprintf(line, sizeof line, "%s\n", base + strlen("/judge/"));
    return fd >= 0 && write(fd, line, (size_t)len) == len ? 0 : 1;
}
