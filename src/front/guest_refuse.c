/* A guest whose session has an owner that does not answer, or has no place for it: each call gets an error that may be
 * tried again, and the owner is asked anew for each that comes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "front/forward.h"
#include "front/front.h"
#include "front/guest_calls.h"
#include "front/guest_stop.h"

#define TAKEN_MAX (1u << 20)
#define CHUNK (64u << 10)
#define ANSWERS_MAX ((size_t)1 << 30)

static bool guest_has_input(const struct guest_stop *stop, int timeout_ms)
{
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    return guest_stop_poll(stop, &in, 1, timeout_ms) > 0;
}

/* Answers what is whole. False when nobody reads that. */
static bool answer_refused_calls(struct guest_calls *calls, const struct err *full, size_t *refused)
{
    BUF_AT_END struct buf out = BUF_INIT(ANSWERS_MAX);
    *refused += full ? guest_calls_refuse(calls, full, &out)
                     : guest_calls_interrupt(calls, 0, true, &out);
    return !out.failed && fd_write_all(STDOUT_FILENO, out.data, out.len) == 0;
}

/* All that is there by now, to the end of a line. What comes behind the first answer is asked of the owner anew: its caller
 * may know that it has ended. False at the end of the input, or when nobody reads answers. */
static bool refuse_calls(const struct guest_stop *stop, struct guest_calls *calls,
                         const struct err *full, size_t *refused)
{
    static char bytes[CHUNK];
    size_t taken = 0;
    ssize_t n = 1;
    do {
        if (!guest_has_input(stop, -1) && guest_stop_asked())
            break;
        n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            n = 1;
            continue;
        }
        if (n < 0)
            log_error("reading calls: %s", strerror(errno));
        if (n > 0)
            guest_calls_take(calls, (struct str){bytes, (size_t)n});
        else
            guest_calls_take_end(calls);
        taken += sizeof bytes;
    } while (n > 0 &&
             (guest_calls_in_line(calls) || (taken < TAKEN_MAX && guest_has_input(stop, 0))));
    return answer_refused_calls(calls, full, refused) && n > 0;
}

/* With signals noted. */
static int refuse_or_wait(const struct guest_stop *stop, struct guest_calls *calls,
                          const struct err *full, bool *ret_again)
{
    size_t refused = 0;
    /* Whoever asks for nothing needs no answer; the owner may be there again when a call comes. */
    if (guest_has_input(stop, 0))
        *ret_again = refuse_calls(stop, calls, full, &refused);
    else
        guest_has_input(stop, -1);
    *ret_again &= !guest_stop_asked();
    return refused ? EXIT_TOOL_ERROR : EXIT_OK;
}

int guest_refuse(enum format_id format, const struct dialect *dialect, const struct err *full,
                 bool *ret_again)
{
    *ret_again = true;
    struct guest_stop stop;
    CLEANUP(guest_calls_done) struct guest_calls calls;
    guest_calls_init(&calls, format, dialect);
    guest_stop_begin(&stop);
    int status = refuse_or_wait(&stop, &calls, full, ret_again);
    guest_stop_end(&stop);
    return status;
}
