#include "front/interrupt.h"

#include <signal.h>

#include "core/pipeline.h"
#include "front/front.h"

static const int signals[INTERRUPT_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void on_interrupt_signal(uv_signal_t *handle, int signum)
{
    const struct interrupt *interrupt = handle->data;
    struct call *call = *interrupt->call;
    if (!call)
        return;
    /* Who asks twice does not want to wait. A terminal that is closed may hang up more than once. */
    if (call->kill_ns && signum != SIGHUP)
        call->kill_ns = 1;
    pipeline_cancel(call, ERR_CANCELLED, "interrupted");
}

void interrupt_start(struct interrupt *interrupt, uv_loop_t *loop, struct call **call)
{
    *interrupt = (struct interrupt){.call = call};
    for (size_t i = 0; i < INTERRUPT_SIGNALS; i++) {
        uv_signal_t *handle = &interrupt->handles[i];
        /* Where that fails, the signal ends this process at once, and the kernel all that it started. */
        if (front_ignores(signals[i]) || uv_signal_init(loop, handle) < 0)
            continue;
        handle->data = interrupt;
        (void)uv_signal_start(handle, on_interrupt_signal, signals[i]);
        uv_unref((uv_handle_t *)handle);
    }
}

void interrupt_stop(struct interrupt *interrupt)
{
    for (size_t i = 0; i < INTERRUPT_SIGNALS; i++) {
        if (interrupt->handles[i].data)
            uv_close((uv_handle_t *)&interrupt->handles[i], NULL);
    }
}
