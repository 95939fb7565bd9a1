#include "front/guest_stop.h"

#include <time.h>

#include "base/attr.h"
#include "front/front.h"

static const int signals[GUEST_STOP_SIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
static volatile sig_atomic_t asked;

static void note_stop_signal(int number)
{
    (void)number;
    asked = 1;
}

void guest_stop_begin(struct guest_stop *stop)
{
    struct sigaction noted = {.sa_handler = note_stop_signal};
    sigset_t all;
    sigemptyset(&all);
    for (size_t i = 0; i < GUEST_STOP_SIGNALS; i++) {
        bool kept = (signals[i] == SIGHUP || signals[i] == SIGQUIT) && front_ignores(signals[i]);
        sigaction(signals[i], kept ? NULL : &noted, &stop->usual[i]);
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
