/* What tools there are, as the program prints it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "process.h"
#include "wire.h"
#include "sandgate.h"

#define CHUNK ((size_t)64 << 10)

static int read_all(struct sandgate_process *process, struct sandgate_text *text, size_t max,
                    int64_t deadline)
{
    for (;;) {
        struct pollfd fd = {.fd = process->fd, .events = POLLIN};
        int ready = poll(&fd, 1, sandgate_left(deadline));
        if (ready < 0 && errno != EINTR)
            return -errno;
        if (ready == 0)
            return -ETIMEDOUT;
        if (text->n > max)
            return -EMSGSIZE;
        if (sandgate_text_reserve(text, CHUNK) < 0)
            return -ENOMEM;
        ssize_t n = recv(process->fd, text->data + text->n, text->room - text->n, MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (n == 0)
            return 0;
        text->n += n > 0 ? (size_t)n : 0;
    }
}

/* The text without its newline, which became its NUL. */
static int finish(struct sandgate_process *process, struct sandgate_text *text,
                  struct sandgate_error *ret_error)
{
    if (process->status == 0 && text->n > 1 && text->data[text->n - 1] == '\n') {
        text->data[text->n - 1] = '\0';
        return 0;
    }
    if (ret_error)
        sandgate_process_describe(process, ret_error->message, sizeof ret_error->message);
    return -EIO;
}

int sandgate_tools(const struct sandgate_options *options, const char *format, int timeout_ms,
                   char **ret_json, struct sandgate_error *ret_error)
{
    struct sandgate_options o;
    struct sandgate_process process;
    struct sandgate_text text = {0};
    int64_t deadline = sandgate_deadline(timeout_ms);
    int r = sandgate_options_read(options, &o, ret_error);
    if (r < 0)
        return r;
    o.flags = 0;
    const char *argv[] = {o.program,
                          "tools",
                          "--format",
                          format ? format : "tool_call",
                          o.dialect ? "--dialect" : NULL,
                          o.dialect,
                          NULL};
    r = sandgate_process_start(&process, &o, argv, ret_error);
    if (r < 0)
        return r;
    shutdown(process.fd, SHUT_WR);
    r = read_all(&process, &text, o.max_bytes, deadline);
    if (r < 0 && ret_error)
        snprintf(ret_error->message, sizeof ret_error->message, "%s tools: %s", o.program,
                 strerror(-r));
    sandgate_process_end(&process, r < 0 ? 0 : deadline);
    if (r == 0)
        r = finish(&process, &text, ret_error);
    if (r < 0 || !ret_json)
        sandgate_text_done(&text);
    else
        *ret_json = text.data;
    return r;
}
