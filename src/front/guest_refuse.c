/* A guest whose session has an owner that does not answer: each call gets an error that may be tried again, and the
 * owner is asked anew for each that comes. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/forward.h"
#include "front/front.h"
#include "front/guest_calls.h"

#define CHUNK (64u << 10)
#define ANSWERS_MAX ((size_t)1 << 30)

static bool has_input(int timeout_ms)
{
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    return poll(&in, 1, timeout_ms) > 0;
}

/* Answers what is whole. False when nobody reads that. */
static bool answer(struct guest_calls *calls, size_t *refused)
{
    BUF_AT_END struct buf out = BUF_INIT(ANSWERS_MAX);
    *refused += guest_calls_interrupt(calls, 0, true, &out);
    return !out.failed && fd_write_all(STDOUT_FILENO, out.data, out.len) == 0;
}

/* All that is there by now, to the end of a line. False at the end of the input, or when nobody reads answers. */
static bool refuse_calls(struct guest_calls *calls, size_t *refused)
{
    static char bytes[CHUNK];
    do {
        ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            log_error("reading calls: %s", strerror(errno));
        if (n > 0)
            guest_calls_take(calls, (struct str){bytes, (size_t)n});
        else
            guest_calls_take_end(calls);
        if (!answer(calls, refused) || n <= 0)
            return false;
    } while (guest_calls_in_line(calls) || has_input(0));
    return true;
}

int guest_refuse(enum format_id format, const struct dialect *dialect, bool *ret_again)
{
    *ret_again = true;
    /* Whoever asks for nothing needs no answer; the owner may be there again when a call comes. */
    if (!has_input(0)) {
        has_input(-1);
        return EXIT_OK;
    }
    CLEANUP(guest_calls_done) struct guest_calls calls;
    guest_calls_init(&calls, format, dialect);
    size_t refused = 0;
    *ret_again = refuse_calls(&calls, &refused);
    return refused ? EXIT_TOOL_ERROR : EXIT_OK;
}
