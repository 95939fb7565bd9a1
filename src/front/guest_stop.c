#include "front/guest_stop.h"

#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "front/front.h"

static const int signals[GUEST_STOP_SIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
static volatile sig_atomic_t asked;

static void note_stop_signal(int number)
{
    (void)number;
    asked = 1;
}

static void stop_now(int number)
{
    (void)number;
    _exit(EXIT_OK);
}

/* One that is ignored from the start stays so, but for those that always end a gate. */
static bool is_left_ignored(int number)
{
    return (number == SIGHUP || number == SIGQUIT) && front_ignores(number);
}

void guest_stop_at_once(void)
{
    for (size_t i = 0; i < GUEST_STOP_SIGNALS; i++) {
        if (!is_left_ignored(signals[i]))
            sigaction(signals[i], &(struct sigaction){.sa_handler = stop_now}, NULL);
    }
}

void guest_stop_begin(struct guest_stop *stop)
{
    struct sigaction noted = {.sa_handler = note_stop_signal};
    sigset_t all;
    sigemptyset(&all);
    for (size_t i = 0; i < GUEST_STOP_SIGNALS; i++) {
        sigaction(signals[i], is_left_ignored(signals[i]) ? NULL : &noted, &stop->usual[i]);
        sigaddset(&all, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &all, &stop->before);
}

void guest_stop_end(struct guest_stop *stop)
{
    for (size_t i = 0; i < GUEST_STOP_SIGNALS; i++)
        sigaction(signals[i], &stop->usual[i], NULL);
    sigprocmask(SIG_SETMASK, &stop->before, NULL);
}

bool guest_stop_asked(void)
{
    return asked;
}

int guest_stop_poll(const struct guest_stop *stop, struct pollfd *fds, unsigned n, int timeout_ms)
{
    struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    return ppoll(fds, n, timeout_ms < 0 ? NULL : &timeout, &stop->before);
}
