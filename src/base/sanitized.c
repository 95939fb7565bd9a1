#include "base/sanitized.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Above those that a cell's descriptors are moved to. */
#define LOWEST_FD 100

/* sanitizer/common_interface_defs.h, which is not everywhere where its library is. */
extern void __sanitizer_set_report_fd(void *fd);

/* Read by the runtimes when they start. A cell has no environment to be told there. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__ubsan_default_options(void);
int __lsan_is_turned_off(void);

static int report_fd = STDERR_FILENO;
static bool in_cell;

static void keep_report(int fd)
{
    report_fd = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD);
}

static void tell_report(void)
{
    __sanitizer_set_report_fd((void *)(intptr_t)report_fd);
}

void sanitized_open_report(void)
{
    const char *path = getenv("SANITIZER_REPORT");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    keep_report(fd);
    tell_report();
    close(fd);
}

void sanitized_enter_cell(void)
{
    in_cell = true;
    if (report_fd == STDERR_FILENO || fcntl(report_fd, F_GETFD) < 0)
        keep_report(STDERR_FILENO);
    tell_report();
}

int sanitized_report_fd(void)
{
    return report_fd;
}

const char *__asan_default_options(void)
{
    return "detect_stack_use_after_return=1:handle_abort=1";
}

const char *__tsan_default_options(void)
{
    /* The cell's helper forks the launcher, and that the worker, which starts threads. They end with it. */
    return "die_after_fork=0:report_thread_leaks=0";
}

const char *__ubsan_default_options(void)
{
    return "print_stacktrace=1";
}

/* What a cell's processes have at their end goes with them. */
int __lsan_is_turned_off(void)
{
    return in_cell;
}
