/* Answers on their way out, and how many of them may wait. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "front/lines_parts.h"

#define PLACES_OF_EACH 4
/* Buffers up to this size are kept for the next answer. */
#define OUT_KEEP (2u << 20)
/* With this much unsent or on its way, no more calls are taken until the other side has taken answers. For all guests of
 * a session together, too. */
#define EXPECTED_MAX ((size_t)64 << 20)
/* With this much unsent to guests, none of them gets anything. */
#define GUESTS_UNSENT_MAX ((size_t)256 << 20)
/* A guest that takes nothing for so long, while others wait for room, is given up. */
#define STUCK_NS 10000000000ull
/* With this much unsent, lines that may be left out are. */
#define UNSENT_MAX ((size_t)4 << 20)
/* An answer behind so much begins a buffer of its own. Less than what the reserve of memory is for. */
#define SEAL_BYTES ((size_t)8 << 10)

/* Where guests have not taken so much that no more may be added, one who has taken all of it gets one call at a time:
 * one who does not read does not hold up the others. */
static bool guest_must_wait(const struct lines *l)
{
    const struct gate *gate = l->gate;
    if (gate->pipeline.expected + gate->unsent <= EXPECTED_MAX)
        return false;
    return lines_unsent(l) || gate->unsent > GUESTS_UNSENT_MAX ||
           pipeline_in_flight(&gate->pipeline) > 0;
}

/* Its calls that take part in the work. */
static size_t own_in_flight(const struct lines *l)
{
    size_t n = 0;
    for (const struct lines_call *c = l->calls; c; c = c->next)
        n += c->call->state != CALL_HELD;
    return n;
}

/* Each client may have a few calls under way, however many others have: their places are kept free. */
static bool has_no_place(const struct lines *l)
{
    const struct pipeline *p = &l->gate->pipeline;
    size_t own = l->max_in_flight / (2 * p->clients);
    if (own > PLACES_OF_EACH)
        own = PLACES_OF_EACH;
    return pipeline_in_flight(p) >= l->max_in_flight - own * (p->clients - 1) &&
           own_in_flight(l) >= own;
}

bool lines_must_wait(const struct lines *l)
{
    return has_no_place(l) || l->gate->pipeline.expected + lines_unsent(l) > EXPECTED_MAX ||
           (l->guest && guest_must_wait(l));
}

/* After each change of what is unsent. */
static void lines_count_unsent(struct lines *l)
{
    if (!l->guest)
        return;
    size_t unsent = lines_unsent(l);
    l->gate->unsent += unsent - l->counted;
    l->counted = unsent;
}

size_t lines_unsent(const struct lines *l)
{
    return l->sealed_bytes + l->out.len;
}

static void drop_sealed(struct lines *l)
{
    struct sealed *first = l->sealed;
    l->sealed = first->next;
    if (!l->sealed)
        l->sealed_end = &l->sealed;
    buf_done(&first->bytes);
    free(first);
}

void lines_forget_unsent(struct lines *l)
{
    while (l->sealed)
        drop_sealed(l);
    l->sealed_bytes = 0;
    buf_reset(&l->out, 0);
    lines_count_unsent(l);
}

/* `sent` bytes of it are. */
static void seal_output(struct lines *l, size_t sent)
{
    struct sealed *last = mem_zero(sizeof *last);
    last->bytes = l->out;
    last->sent = sent;
    *l->sealed_end = last;
    l->sealed_end = &last->next;
    l->sealed_bytes += l->out.len - sent;
    buf_init(&l->out, l->max_answer);
}

void lines_are_a_guests(struct lines *l)
{
    l->guest = true;
}

void lines_check_reader(struct lines *l)
{
    if (l->gate->unsent <= EXPECTED_MAX || lines_unsent(l) == 0 || l->gone ||
        clock_mono_ns() - l->taken_ns < STUCK_NS)
        return;
    log_warning("a guest of the session is disconnected: it has not read its answers for %u s, and "
                "%zu bytes of them wait",
                (unsigned)(STUCK_NS / 1000000000ull), lines_unsent(l));
    lines_lose_reader(l);
}

struct buf *lines_begin_answer(struct lines *l)
{
    if (l->gone)
        return NULL;
    if (l->guest && lines_unsent(l) == 0)
        l->taken_ns = clock_mono_ns();
    if (l->out.len > SEAL_BYTES)
        seal_output(l, 0);
    l->out.max = l->out.len + l->max_answer;
    return &l->out;
}

void lines_end_answer(struct lines *l)
{
    RESERVE_OPEN_HERE;
    l->out.max = l->out.len + 1;
    buf_add_char(&l->out, '\n');
    if (l->out.no_memory)
        abort(); /* half an answer is none, and would spoil the next */
    lines_count_unsent(l);
}

bool lines_has_room(const struct lines *l)
{
    return lines_unsent(l) < UNSENT_MAX;
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct lines *l = poll->data;
    uv_poll_stop(poll);
    l->write_waits = false;
    lines_flush(l);
}

/* How many bytes the other side took; less than all where it takes no more now, or is lost. */
static size_t send_bytes(struct lines *l, struct str bytes)
{
    size_t sent = 0;
    while (sent < bytes.n) {
        ssize_t n = write(l->out_fd, bytes.p + sent, bytes.n - sent);
        if (n >= 0) {
            sent += (size_t)n;
        } else if (errno == EAGAIN && l->out_polls) {
            uv_poll_start(&l->writable, UV_WRITABLE, on_writable);
            l->write_waits = true;
            break;
        } else if (errno == EAGAIN) {
            /* The loop could not be told to watch it. */
            (void)!poll(&(struct pollfd){l->out_fd, POLLOUT, 0}, 1, -1);
        } else if (errno != EINTR) {
            l->out_error = errno == EPIPE || errno == ECONNRESET ? 0 : errno;
            lines_lose_reader(l);
            break;
        }
    }
    if (l->guest && sent)
        l->taken_ns = clock_mono_ns();
    return sent;
}

static void send_sealed(struct lines *l)
{
    while (l->sealed && !l->write_waits) {
        struct sealed *first = l->sealed;
        struct str rest = {first->bytes.data + first->sent, first->bytes.len - first->sent};
        size_t sent = send_bytes(l, rest);
        if (l->gone)
            return;
        first->sent += sent;
        l->sealed_bytes -= sent;
        if (sent == rest.n)
            drop_sealed(l);
    }
}

void lines_send(struct lines *l)
{
    send_sealed(l);
    if (!l->gone && !l->write_waits) {
        size_t sent = send_bytes(l, buf_str(&l->out));
        if (!l->gone && sent == l->out.len)
            buf_reset(&l->out, OUT_KEEP);
        else if (!l->gone)
            seal_output(l, sent);
    }
    lines_count_unsent(l);
}
