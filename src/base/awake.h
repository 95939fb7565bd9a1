/* Staying awake for what is about to come, in place of sleeping and being woken: on a virtual machine a wake takes longer
 * than a small call. It is worth while only as long as it does come. */
#ifndef SANDGATE_BASE_AWAKE_H
#define SANDGATE_BASE_AWAKE_H

#include <stdbool.h>
#include <stdint.h>

struct awake {
    uint64_t until_ns;
    int credit; /* 0: it is tried now and then */
};

/* Ready to try. */
void awake_reset(struct awake *a);
/* Whether to try now, for so long. */
bool awake_begin(struct awake *a, uint64_t ns);
/* Whether there is still time. */
bool awake_goes_on(const struct awake *a);
void awake_end(struct awake *a, bool came);

#endif
