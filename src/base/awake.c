#include "base/awake.h"

#include "base/clock.h"

/* Those that came pay for those that did not: where nothing comes, one in so many tries. */
#define PRICE 16
#define CREDIT_MAX 128

void awake_reset(struct awake *a)
{
    a->credit = CREDIT_MAX;
}

bool awake_begin(struct awake *a, uint64_t ns)
{
    if (a->credit < CREDIT_MAX)
        a->credit++;
    if (a->credit <= 0)
        return false;
    a->until_ns = clock_mono_ns() + ns;
    return true;
}

bool awake_goes_on(const struct awake *a)
{
    return clock_mono_ns() < a->until_ns;
}

void awake_end(struct awake *a, bool came)
{
    if (!came)
        a->credit -= PRICE;
}
